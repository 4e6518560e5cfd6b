"""Say what a run would take, without sending anything."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import sqrt
from pathlib import Path
from statistics import variance
from typing import Any, NamedTuple

from memoprobe import benchmarks, prompts
from memoprobe.likelihood import is_askable
from memoprobe.pipeline import paraphrasing, settings
from memoprobe.pipeline.asking import read_benchmark
from memoprobe.pipeline.perturbing import names_of, variants_of
from memoprobe.pipeline.scheduling import n_greedy_answers
from memoprobe.records import Interface, Sample
from memoprobe.report.data import PLACEBO, PRIMARY_DEFINITION, PRIMARY_METRIC
from memoprobe.store import Store, counts, open_store, results
from memoprobe.study import BenchmarkSpec, ModelSpec, Study

CHARACTERS_A_TOKEN = 4.0  # of prompts, roughly, where no pilot tells
BYTES_A_TOKEN = 4.0
BYTES_A_ROW = 250  # of an answer beside its text, indices included
POWER_FACTOR = 2.80  # z(.975) + z(.80), METHOD 5


def numbers(
    study: Study, pilot: Path | None, sd: float | None, tokens_per_second: float | None = None
) -> dict[str, Any]:
    """Return the shape of ``plan --json``; what is unknown is None, never 0.

    Args:
        study: What would be run.
        pilot: A run database, which tells the spread of the sensitivities, the rate of
            answers and how long a token is.
        sd: That spread where the user states it.
        tokens_per_second: What one GPU writes, all requests together.
    """
    known = _pilot(pilot)
    spread = sd if sd is not None else known.spread
    total = sum((_size(study, spec) for spec in study.benchmarks), start=_Size())
    loads = [_load(study, model, total) for model in study.models]
    tokens = {
        load.model.name: Tokens(
            load.characters / known.characters_a_token,
            load.answers * study.sampling.max_tokens + load.likelihoods,
        )
        for load in loads
    }
    answers = sum(load.answers for load in loads)
    likelihoods = sum(load.likelihoods for load in loads)
    prompt = sum(each.prompt for each in tokens.values())
    completion = sum(each.completion for each in tokens.values())
    # How long a server reckons on a likelihood no run has noted.
    rate = None if likelihoods else known.answers_per_second
    items = total.samples - total.controls
    effect = None
    if spread is not None and total.controls and items:
        effect = POWER_FACTOR * spread * sqrt(1 / items + 1 / total.controls)
    return {
        "samples": total.samples,
        "variants": total.variants,
        "requests": sum(load.requests for load in loads),
        "answers": answers,
        "likelihoods": likelihoods,
        "prompt_tokens": round(prompt),
        "max_completion_tokens": round(completion),
        "disk_bytes": round(completion * BYTES_A_TOKEN + (answers + likelihoods) * BYTES_A_ROW),
        "seconds": answers / rate if rate else None,
        "gpu_hours": completion / tokens_per_second / 3600 if tokens_per_second else None,
        "price": _price(study, tokens),
        "smallest_effect": effect,
        "estimated": [spec.label for spec in study.benchmarks if not _is_here(spec)],
    }


class _Load(NamedTuple):
    """Count what one model is asked."""

    model: ModelSpec
    requests: int
    answers: int
    likelihoods: int
    characters: int  # of all prompts, and of the references behind them


def _load(study: Study, model: ModelSpec, total: "_Size") -> _Load:
    design = settings.design_of(study, model, study.answers)
    by = model.interface
    likelihoods = total.likelihoods[by] if "likelihood" in study.probes else 0
    forced = total.forced[by] if "likelihood" in study.probes else 0
    if "answers" not in study.probes:
        return _Load(model, likelihoods, 0, likelihoods, forced)
    greedy = n_greedy_answers(study, design)
    return _Load(
        model,
        total.variants + greedy * total.samples + likelihoods,
        total.variants * len(design.slots()) + greedy * total.samples,
        likelihoods,
        total.characters[by] + greedy * total.originals[by] + forced,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """Count what a benchmark, or several, would be asked."""

    samples: int = 0
    controls: int = 0
    variants: int = 0
    characters: Counter[str] = field(default_factory=Counter)  # of all prompts, by interface
    originals: Counter[str] = field(default_factory=Counter)  # of those at level 0, likewise
    likelihoods: Counter[str] = field(default_factory=Counter)  # that can be asked, likewise
    forced: Counter[str] = field(default_factory=Counter)  # characters that tell them, likewise

    def __add__(self, other: "_Size") -> "_Size":
        pairs = ((each.name, getattr(self, each.name)) for each in fields(self))
        return _Size(**{name: value + getattr(other, name) for name, value in pairs})


def _is_here(spec: BenchmarkSpec) -> bool:
    """Tell whether a benchmark's data is here, so that nothing need be estimated."""
    return bool(spec.files) or benchmarks.is_available(benchmarks.find(spec.label), settings.home())


def _size(study: Study, spec: BenchmarkSpec) -> _Size:
    """Return the size of a benchmark, of its registered numbers where its data is not here."""
    interfaces = sorted({model.interface for model in study.models})
    if not _is_here(spec):
        return _estimate(study, spec, interfaces)
    samples = read_benchmark(spec, study.seed).samples
    return sum((_size_of(study, sample, interfaces) for sample in samples), start=_Size())


def _size_of(study: Study, sample: Sample, interfaces: list[Interface]) -> _Size:
    texts: list[str] = []
    for name in names_of(study, sample):
        made = [variant.text for variant in variants_of(study, sample, name).variants]
        # What a paraphraser will say only asking tells.
        texts += [sample.text] * (study.levels + 1) if name == paraphrasing.ASKED else made
    size = _Size(samples=1, controls=int(sample.control), variants=len(texts))
    for interface in interfaces:
        lengths = [len(prompts.fill(sample, text, interface)) for text in texts]
        size.characters[interface] = sum(lengths)
        size.originals[interface] = lengths[0]
        if is_askable(sample, interface):
            size.likelihoods[interface] = len(texts)
            size.forced[interface] = sum(lengths) + len(texts) * len(sample.reference or "")
    return size


def _estimate(study: Study, spec: BenchmarkSpec, interfaces: list[Interface]) -> _Size:
    """Return the size of a benchmark whose rows all make samples with all their levels."""
    registered = benchmarks.find(spec.label)
    samples = registered.rows if spec.limit is None else min(spec.limit, registered.rows)
    n_perturbations = 1 + (study.placebo and study.perturbation != PLACEBO)
    variants = samples * (study.levels + 1) * n_perturbations
    names: list[str] = [*interfaces]
    characters = Counter(dict.fromkeys(names, variants * registered.characters))
    has_references = bool(registered.reference)
    return _Size(
        samples=samples,
        controls=samples if spec.control else 0,
        variants=variants,
        characters=characters,
        originals=Counter(dict.fromkeys(names, samples * registered.characters)),
        likelihoods=Counter(dict.fromkeys(names, variants * has_references)),
        forced=characters if has_references else Counter(),
    )


class Tokens(NamedTuple):
    """Count tokens of one model; the prompt's are sent once for all choices."""

    prompt: float
    completion: float  # at most

    def __add__(self, other: object) -> "Tokens":
        """Return the sums."""
        if not isinstance(other, Tokens):
            return NotImplemented
        return Tokens(self.prompt + other.prompt, self.completion + other.completion)


def _price(study: Study, tokens: Mapping[str, Tokens]) -> float | None:
    """Return the most that the run can cost, None where a model has no price."""
    total = 0.0
    for model in study.models:
        if model.prompt_price is None or model.completion_price is None:
            return None
        count = tokens[model.name]
        total += count.prompt * model.prompt_price + count.completion * model.completion_price
    return total / 1e6


class _Pilot(NamedTuple):
    spread: float | None = None  # standard deviation of the sensitivities within a cell
    answers_per_second: float | None = None
    characters_a_token: float = CHARACTERS_A_TOKEN


def _spread(store: Store) -> float | None:
    """Return the standard deviation of the sensitivities within a cell, None where none tells.

    It is pooled over models, benchmarks and perturbations, items and controls apart: what
    sets these apart is no part of it. A placebo's falls are luck alone and are left out.
    """
    controls = {(s.benchmark, s.sample_id) for s in store.samples() if s.control}
    groups: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for each in results.sensitivities(store):
        is_primary = (each.metric, each.definition) == (PRIMARY_METRIC, PRIMARY_DEFINITION)
        if is_primary and each.perturbation != PLACEBO:
            is_control = (each.benchmark, each.sample_id) in controls
            cell = (each.model, each.benchmark, each.perturbation, is_control)
            groups[cell].append(each.value)
    told = [values for values in groups.values() if len(values) > 1]
    degrees = sum(len(values) - 1 for values in told)
    squares = sum((len(values) - 1) * variance(values) for values in told)
    return sqrt(squares / degrees) if degrees else None


def _pilot(path: Path | None) -> _Pilot:
    """Return what a run that was made tells of one to make."""
    if path is None or not path.is_file():
        return _Pilot()
    with open_store(path, write=False) as store:
        spread = _spread(store)
        rate = store.info().get("answers_per_second")
        characters = counts.characters_a_token(store)
    return _Pilot(
        spread,
        float(rate) if rate else None,
        characters or CHARACTERS_A_TOKEN,
    )
