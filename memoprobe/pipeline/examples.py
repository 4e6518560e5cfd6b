"""Choose the samples that a report shows in full, and gather all that is known of them."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from memoprobe import benchmarks
from memoprobe.pipeline import settings
from memoprobe.records import Interface, Response, Sample, Sensitivity, state
from memoprobe.report.corners import corners
from memoprobe.report.data import (
    PLACEBO,
    PRIMARY_DEFINITION,
    Example,
    ExampleAnswer,
    ExampleLevel,
    primary_metric,
)
from memoprobe.store import Store, counts, results
from memoprobe.store.database import Cell

TOTAL, FEWEST, MOST = 480, 3, 24
"""About how many samples a report shows, and the bounds of those of one cell."""

WITHHELD = "(not shown: its authors ask that this benchmark's texts are not spread)"

Samples = Mapping[tuple[str, str], Sample]


def is_shown(benchmark: str) -> bool:
    """Tell whether texts of a benchmark may stand in what others will read."""
    registered = benchmarks.BENCHMARKS.get(benchmark)
    return registered is None or not registered.private


def choose(
    store: Store, samples: Samples, sensitivities: Sequence[Sensitivity]
) -> Iterator[Example]:
    """Yield of each cell, in turn, its most sensitive, random and flagged samples.

    Flagged is a sample some answers of which are cut off, empty, refused or failed. Cells
    of a placebo are left out: it shows in the tables. The most sensitive samples come first.
    """
    metric = primary_metric({each.metric for each in sensitivities})
    falls: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for each in sensitivities:
        if each.metric == metric and each.definition == PRIMARY_DEFINITION:
            cell = (each.model, each.benchmark, each.perturbation)
            falls[cell][each.sample_id] = each.value
    placed = corners(sensitivities, metric)
    cells = [cell for cell in store.cells() if cell.perturbation != PLACEBO]
    limit = max(FEWEST, min(MOST, TOTAL // max(1, len(cells))))
    models = settings.stored_settings(store).get("models", {})
    found = []
    for cell in cells:
        flaws = counts.flaws(store, cell)
        chosen = _chosen(cell, falls[cell], flaws, limit)
        for rank, (sample_id, reasons) in enumerate(chosen.items()):
            sample = samples[cell.benchmark, sample_id]
            interface = models[cell.model]["interface"]
            found.append(
                Example(
                    **cell._asdict(),
                    sample_id=sample_id,
                    metric=metric or "",
                    control=sample.control,
                    rank=rank,
                    reasons=reasons,
                    flaws=flaws.get(sample_id, {}),
                    values=results.values_of(store, cell, sample_id, metric or ""),
                    corner=placed.get((*cell, sample_id)),
                    levels=list(_levels(store, cell, sample, (interface, metric))),
                )
            )
    yield from sorted(found, key=_falling)


def _falling(each: Example) -> tuple[float, str, str, str]:
    value = each.values.get(PRIMARY_DEFINITION, float("-inf"))
    return -value, each.model, each.benchmark, each.sample_id


def _chosen(
    cell: Cell,
    falls: Mapping[str, float],
    flaws: Mapping[str, Mapping[str, int]],
    limit: int,
) -> dict[str, tuple[str, ...]]:
    """Return at most ``limit`` sample ids with the reasons for which they are shown."""

    def lot(sample_id: str) -> bytes:
        return hashlib.sha256(json.dumps([*cell, sample_id]).encode()).digest()

    queues = {
        "most sensitive": sorted(falls, key=lambda each: (-falls[each], each)),
        "random": sorted(falls, key=lot),
        "flagged": sorted(flaws, key=lambda each: (-sum(flaws[each].values()), each)),
    }
    chosen: dict[str, list[str]] = {}
    for ranks in zip_longest(*queues.values()):
        for reason, sample_id in zip(queues, ranks, strict=True):
            if sample_id in chosen:
                chosen[sample_id].append(reason)
            elif sample_id is not None and len(chosen) < limit:
                chosen[sample_id] = [reason]
        if len(chosen) == limit:
            break
    return {sample_id: tuple(reasons) for sample_id, reasons in chosen.items()}


def _levels(
    store: Store, cell: Cell, sample: Sample, asked: tuple[Interface, str | None]
) -> Iterator[ExampleLevel]:
    interface, metric = asked
    shown = is_shown(sample.benchmark)
    sent = store.prompts(cell, sample.sample_id, interface)
    graded = results.graded(store, cell, sample.sample_id)
    by_level: dict[int, list[Response]] = defaultdict(list)
    for response in store.responses_to(cell, sample.sample_id):
        by_level[response.level].append(response)
    for variant in store.variants(cell.benchmark, sample.sample_id, cell.perturbation):
        answers = [
            _answer(each, graded.get((each.level, each.repeat, each.answer)))
            for each in by_level[variant.level]
        ]
        scores = [value for each in answers for name, value in each.scores if name == metric]
        yield ExampleLevel(
            level=variant.level,
            edit_share=variant.edit_share,
            prompt=sent.get(variant.level, variant.text) if shown else WITHHELD,
            reference=sample.reference if variant.level == 0 and shown else None,
            mean=sum(scores) / len(scores) if scores else None,
            answers=answers,
        )


def _answer(response: Response, known: results.Graded | None) -> ExampleAnswer:
    scores, verdict = known or results.Graded((), None)
    text = response.text if is_shown(response.benchmark) else WITHHELD
    return ExampleAnswer(text, scores, state(response), verdict)
