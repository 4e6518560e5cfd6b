"""Say what a run would take, without sending anything."""

from math import sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

from memoprobe import plan
from memoprobe.pipeline import settings
from memoprobe.pipeline.asking import names_of, read_benchmark, variants_of
from memoprobe.report.data import PRIMARY_DEFINITION, PRIMARY_METRIC
from memoprobe.store import open_store, results
from memoprobe.study import Study

CHARACTERS_A_TOKEN = 4.0  # of prompts, roughly; servers' tokenizers differ
BYTES_A_TOKEN = 4.0
BYTES_A_ROW = 250  # of an answer beside its text, indices included
POWER_FACTOR = 2.80  # z(.975) + z(.80), METHOD 5


def numbers(study: Study, pilot: Path | None, sd: float | None) -> dict[str, Any]:
    """Return the shape of ``plan --json``; what is unknown is None, never 0.

    Args:
        study: What would be run.
        pilot: A run database, whose sensitivities tell their spread.
        sd: That spread where the user states it.
    """
    samples = controls = variants = requests = answers = characters = 0
    spread = sd if sd is not None else _spread(pilot)
    for spec in study.benchmarks:
        for sample in read_benchmark(spec, study.seed).samples:
            samples += 1
            controls += sample.control
            levels = [
                variant
                for name in names_of(study, sample)
                for variant in variants_of(study, sample, name).variants
            ]
            variants += len(levels)
            for model in study.models:
                design = settings.design_of(study, model, study.answers)
                asked = [plan.request(sample, variant, design) for variant in levels]
                requests += len(asked)
                answers += sum(len(request.slots) for request in asked)
                characters += sum(len(request.prompt) for request in asked)
    completion = answers * study.sampling.max_tokens
    items = samples - controls
    effect = None
    if spread is not None and controls and items:
        effect = POWER_FACTOR * spread * sqrt(1 / items + 1 / controls)
    return {
        "samples": samples,
        "variants": variants,
        "requests": requests,
        "answers": answers,
        "prompt_tokens": round(characters / CHARACTERS_A_TOKEN),
        "max_completion_tokens": completion,
        "disk_bytes": round(completion * BYTES_A_TOKEN + answers * BYTES_A_ROW),
        "seconds": None,
        "price": None,
        "smallest_effect": effect,
    }


def _spread(pilot: Path | None) -> float | None:
    """Return the standard deviation of a pilot's sensitivities, None without a pilot."""
    if pilot is None or not pilot.is_file():
        return None
    with open_store(pilot, write=False) as store:
        values = [
            each.value
            for each in results.sensitivities(store)
            if each.metric == PRIMARY_METRIC and each.definition == PRIMARY_DEFINITION
        ]
    return stdev(values) if len(values) > 1 else None
