"""Score, measure, compare: everything that follows from stored answers and asks nothing."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from memoprobe import answers, comparison, perturbations, scoring, sensitivity
from memoprobe.comparison import Compared, Group
from memoprobe.errors import ConfigError
from memoprobe.metrics import METRICS
from memoprobe.pipeline import settings
from memoprobe.records import DEFAULT_POOL, Response, Sample, Sensitivity, Variant, state
from memoprobe.scoring import Reading
from memoprobe.sensitivity import Measured
from memoprobe.store import Store, results
from memoprobe.store.database import Cell, as_info

OPTIONS = ("unanswered", "names_mapped_back", "metrics")  # rows of run_info
DEFAULT_METRICS = ("token_levenshtein", "levenshtein")


def metric_names(chosen: Sequence[str]) -> Sequence[str]:
    """Return the metrics to score with, the defaults where none is chosen.

    Raises:
        ConfigError: One is unknown.
    """
    for name in chosen:
        if name not in METRICS:
            msg = f"unknown metric {name!r}; known: {', '.join(METRICS)}"
            raise ConfigError(msg)
    return chosen or DEFAULT_METRICS


def score(
    store: Store,
    chosen: Sequence[str] = (),
    *,
    unanswered: scoring.Unanswered | None = None,
    map_back: bool | None = None,
) -> None:
    """Score the planned answers, then measure the sensitivities and compare.

    All results of a database are made under the same options, which it remembers:
    what is not given is as it was, and a metric chosen once stays. Readers see the
    old results until all of the new ones are there.
    """
    info = store.info()
    before = {name: info.get(name) for name in OPTIONS}
    known = [name for name in json.loads(before["metrics"] or "[]") if name in METRICS]
    metrics = metric_names(list(dict.fromkeys([*known, *chosen])))
    options = {
        "unanswered": unanswered or before["unanswered"] or "exclude",
        "names_mapped_back": json.loads(before["names_mapped_back"] or "true")
        if map_back is None
        else map_back,
        "metrics": metrics,
    }
    with store.db.atomic():
        # Under the same options, what was scored by other metrics stands.
        revision = results.revision(store)
        stands = revision.facts == revision.results and all(
            before[name] == as_info(options[name]) for name in OPTIONS[:2]
        )
        if not (chosen and stands):
            results.clear(store)
        _score_cells(store, chosen if chosen and stands else metrics, options)
        measure(store)
        store.set_info(options)
        results.mark_current(store)


def _score_cells(store: Store, metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    models = settings.stored_settings(store).get("models", {})
    for plan in store.plans():
        reading = Reading(
            interface=models[plan.cell.model]["interface"],
            unanswered=options["unanswered"],
            map_back=options["names_mapped_back"],
        )
        _score_cell(store, plan.cell, metrics, reading)


def _score_cell(store: Store, cell: Cell, metrics: Sequence[str], reading: Reading) -> None:
    samples = {sample.sample_id: sample for sample in store.samples(cell.benchmark)}
    originals: list[tuple[Sample, Variant, list[Response]]] = []
    scores = []
    for sample_id, responses in store.responses(cell):
        sample = samples[sample_id]
        levels = {
            variant.level: variant
            for variant in store.variants(cell.benchmark, sample_id, cell.perturbation)
        }
        scores += scoring.score_sample(sample, levels, responses, metrics, reading)
        first = [each for each in responses if each.level == 0 and state(each) == "ok"][:1]
        originals.append((sample, levels[0], first))
    results.write_scores(store, cell, metrics, scores)
    references = {
        sample.sample_id: code
        for sample, _, _ in originals
        if (code := answers.reference_code(sample)) is not None
    }
    codes = [
        (
            sample.sample_id,
            scoring.read(response, sample, variant, reading).code,
            answers.answer_language(sample),
        )
        for sample, variant, first in originals
        for response in first
    ]
    for metric in metrics:
        floor = scoring.floor(codes, references, METRICS[metric])
        results.write_floor(store, cell, metric, floor)


def measure(store: Store) -> None:
    """Measure the sensitivities of every scored cell and compare the cells.

    Controls serve all benchmarks of their model, task, perturbation and metric.
    """
    samples = list(store.samples())
    tasks = {sample.benchmark: sample.task for sample in samples}
    controls = {(sample.benchmark, sample.sample_id) for sample in samples if sample.control}
    related: dict[tuple[str, ...], list[tuple[Cell, Measured]]] = defaultdict(list)
    for plan in store.plans():
        cell = plan.cell
        for metric in results.metrics(store, cell):
            key = (cell.model, tasks[cell.benchmark], cell.perturbation, metric)
            related[key].append((cell, _measure_cell(store, cell, metric)))
    for (*_, metric), cells in related.items():
        ranked: dict[str, list[Sensitivity]] = defaultdict(list)
        rows = (row for _, found in cells for row in found.sensitivities)
        for row in sensitivity.against_controls(rows, controls):
            ranked[row.benchmark].append(row)
        for cell, found in cells:
            own = ranked[cell.benchmark]
            results.write_sensitivities(store, cell, metric, own, found.excluded)
    compared = compare(store)
    results.write_comparisons(store, compared.rows, map(asdict, compared.families))


def _measure_cell(store: Store, cell: Cell, metric: str) -> Measured:
    """Return a cell's sensitivities and how many of its answered samples have none."""
    items = [
        sensitivity.Item(**cell._asdict(), metric=metric, **scored._asdict())
        for scored in results.scored(store, cell, metric)
    ]
    seed = settings.stored_settings(store).get("seed", 0)
    found = sensitivity.measure(items, seed=seed)
    # Of a sample whose answers are all cut off there is not even an item.
    without = results.n_samples_answered(store, cell) - len(items)
    return found._replace(excluded=found.excluded + without)


def compare(store: Store) -> Compared:
    """Return the comparisons of the cells of a database."""
    samples = {(s.benchmark, s.sample_id): s for s in store.samples()}
    return comparison.compare(list(_groups(results.sensitivities(store), samples)))


def _groups(
    found: Iterable[Sensitivity], samples: dict[tuple[str, str], Sample]
) -> Iterable[Group]:
    grouped: dict[tuple[str, ...], list[Sensitivity]] = defaultdict(list)
    for each in found:
        key = (each.model, each.benchmark, each.perturbation, each.metric, each.definition)
        grouped[key].append(each)
    for (model, benchmark, perturbation, metric, definition), members in grouped.items():
        controls = [m.value for m in members if samples[benchmark, m.sample_id].control]
        items = [m for m in members if not samples[benchmark, m.sample_id].control]
        first = samples[benchmark, members[0].sample_id]
        usual = perturbations.DEFAULT[first.input_kind] == perturbation
        yield Group(
            model=model,
            benchmark=benchmark,
            task=first.task,
            perturbation=perturbation,
            pool=DEFAULT_POOL if usual else perturbation,
            metric=metric,
            definition=definition,
            values=[m.value for m in items],
            sample_ids=[m.sample_id for m in items],
            controls=controls,
        )
