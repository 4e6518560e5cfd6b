"""Score, measure, compare: everything that follows from stored answers and asks nothing."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from memoprobe import answers, comparison, perturbations, sandbox, scoring, sensitivity
from memoprobe.comparison import Compared, Group, Point
from memoprobe.errors import ConfigError, SandboxError
from memoprobe.metrics import METRICS
from memoprobe.pipeline import settings, testing, workers
from memoprobe.pipeline.testing import Asked
from memoprobe.records import DEFAULT_POOL, Sample, Score, Sensitivity, state
from memoprobe.sandbox import Limits
from memoprobe.scoring import Reading
from memoprobe.sensitivity import Measured
from memoprobe.store import Store, counts, results
from memoprobe.store.database import Cell, as_info
from memoprobe.store.results import Treatment

OPTIONS = ("unanswered", "names_mapped_back", "metrics")  # rows of run_info
DEFAULT_METRICS = ("token_levenshtein", "levenshtein", "label", "tests")


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


class Derived(NamedTuple):
    """Say what scoring did that a user would not expect."""

    remade: list[str]  # metrics whose stored scores were of an older version
    untested: str | None  # why tests were not run, where they would have been by default


def score(
    store: Store,
    chosen: Sequence[str] = (),
    *,
    unanswered: scoring.Unanswered | None = None,
    map_back: bool | None = None,
    pool: workers.Pool = workers.DEFAULT,
    unsafe: bool = False,
) -> Derived:
    """Score the planned answers, then measure the sensitivities and compare.

    All results of a database are made under the same options, which it remembers:
    what is not given is as it was, and a metric chosen once stays. Only what is missing is
    scored: another metric leaves the stored ones, and a metric whose values changed with a
    newer memoprobe is scored again. Readers see the old results until all of the new ones
    are there.

    Args:
        store: The run database.
        chosen: Metrics to score by, beside those of earlier times; the defaults at first.
            Tests that are not chosen by name are left out where no wall holds.
        unanswered: What a slot without an answer is.
        map_back: Whether names are mapped back.
        pool: Who shares the work.
        unsafe: Whether tests may run without a wall.

    Raises:
        ConfigError: A metric is unknown.
        SandboxError: Tests are chosen by name and there is no wall to run them behind.
    """
    info = store.info()
    before = {name: info.get(name) for name in OPTIONS}
    known = [name for name in json.loads(before["metrics"] or "[]") if name in METRICS]
    metrics = metric_names(list(dict.fromkeys([*known, *chosen])))
    untested = None if "tests" in (*known, *chosen) else _untested(store, unsafe=unsafe)
    if untested is not None:
        metrics = [name for name in metrics if name != "tests"]
    if map_back is None:
        map_back = bool(json.loads(before["names_mapped_back"] or "true"))
    options = {
        "unanswered": unanswered or before["unanswered"] or "exclude",
        "names_mapped_back": map_back,
        "metrics": metrics,
    }
    versions = results.versions(store)
    old = [
        name
        for name in metrics
        if versions.get(name, METRICS[name].version) != METRICS[name].version
    ]
    with store.db.atomic():
        revision = results.revision(store)
        is_current = revision.facts == revision.results
        stands = is_current and before["names_mapped_back"] == as_info(map_back)
        if not stands:
            results.clear(store)
        missing = [name for name in metrics if not stands or name in old or name not in known]
        _score_cells(store, missing, _Way(map_back, pool, unsafe))
        measure(store)
        store.set_info(options)
        results.mark_current(store)
    return Derived(old if stands else [], untested or None)


def _untested(store: Store, *, unsafe: bool) -> str | None:
    """Return why tests cannot be run; an empty text where there are none, None where they can."""
    if not any(METRICS["tests"].suits(sample) for sample in store.samples()):
        return ""
    try:
        sandbox.find_wall(unsafe=unsafe)
    except SandboxError as error:
        return str(error)
    return None


class _Way(NamedTuple):
    map_back: bool
    pool: workers.Pool
    unsafe: bool


def _score_cells(store: Store, metrics: Sequence[str], way: _Way) -> None:
    models = settings.stored_settings(store).get("models", {})
    limits = Limits(**json.loads(store.info().get("limits", "{}")))
    for plan in store.plans() if metrics else ():
        reading = Reading(interface=models[plan.cell.model]["interface"], map_back=way.map_back)
        run = testing.Way(reading=reading, limits=limits, pool=way.pool, unsafe=way.unsafe)
        _score_cell(store, plan.cell, metrics, run)


def _asked(store: Store, cell: Cell) -> Iterator[Asked]:
    """Yield each sample with all that was asked and answered of it in a cell."""
    samples = {sample.sample_id: sample for sample in store.samples(cell.benchmark)}
    for sample_id, responses in store.responses(cell):
        levels = {
            variant.level: variant
            for variant in store.variants(cell.benchmark, sample_id, cell.perturbation)
        }
        yield Asked(samples[sample_id], levels, responses)


class _Scored(NamedTuple):
    scores: list[Score]
    original: tuple[str, str, str] | None  # sample id, code and language of a level-0 answer


def _score_one(asked: Asked, metrics: Sequence[str], reading: Reading) -> _Scored:
    sample, levels, responses = asked
    scores = list(scoring.score_sample(sample, levels, responses, metrics, reading))
    original = None
    for response in responses:
        if response.level == 0 and state(response) == "ok":
            code = scoring.read(response, sample, levels[0], reading).code
            original = sample.sample_id, code, answers.answer_language(sample)
            break
    return _Scored(scores, original)


def _score_cell(store: Store, cell: Cell, metrics: Sequence[str], way: testing.Way) -> None:
    samples = {sample.sample_id: sample for sample in store.samples(cell.benchmark)}
    suited = [
        name for name in metrics if any(METRICS[name].suits(sample) for sample in samples.values())
    ]
    originals: list[tuple[str, str, str]] = []

    def scores() -> Iterator[Score]:
        n_responses = counts.n_samples_answered(store, cell)
        jobs = ((asked, suited, way.reading) for asked in _asked(store, cell))
        for found in workers.each(_score_one, jobs, way.pool, n_responses):
            if found.original is not None:
                originals.append(found.original)
            yield from found.scores
        for sample_id, failures in results.failures(store, cell).items():
            for failure in failures:
                yield from scoring.failed(samples[sample_id], failure, suited)
        if "tests" in suited:
            tested = (a for a in _asked(store, cell) if METRICS["tests"].suits(a.sample))
            yield from testing.scores(store, tested, way)

    results.write_scores(store, cell, suited, scores())
    references = {
        sample.sample_id: code
        for sample in samples.values()
        if (code := answers.reference_code(sample)) is not None
    }
    for metric in suited:
        # By tests, a stranger's program is taken to fail.
        likeness = METRICS[metric].measure
        floor = scoring.floor(originals, references, likeness) if likeness else 0.0
        results.write_floor(store, cell, metric, floor, METRICS[metric].version)


def measure(store: Store) -> None:
    """Measure the sensitivities of every scored cell and compare the cells.

    Twice where some slot was not answered: with these left out, and with 0 in their place.
    """
    results.clear_measured(store)
    for treatment in results.treatments(store):
        _measure(store, treatment)


def _measure(store: Store, treatment: Treatment) -> None:
    """Measure under one treatment; controls serve all benchmarks of their model, task and so on."""
    samples = {(s.benchmark, s.sample_id): s for s in store.samples()}
    tasks = {sample.benchmark: sample.task for sample in samples.values()}
    controls = {place for place, sample in samples.items() if sample.control}
    related: dict[tuple[str, ...], list[Sensitivity]] = defaultdict(list)
    for plan in store.plans():
        cell = plan.cell
        for metric in results.metrics(store, cell):
            key = (cell.model, tasks[cell.benchmark], cell.perturbation, metric)
            found = _measure_cell(store, cell, metric, treatment)
            results.write_excluded(store, cell, metric, found.excluded, treatment)
            related[key] += found.sensitivities
    everything: list[Sensitivity] = []
    for rows in related.values():
        everything += sensitivity.against_controls(rows, controls)
    results.write_sensitivities(store, everything, treatment)
    compared = compare(store, everything, samples)
    results.write_comparisons(store, compared.rows, map(asdict, compared.families), treatment)


def _measure_cell(store: Store, cell: Cell, metric: str, treatment: Treatment) -> Measured:
    """Return a cell's sensitivities and how many of its answered samples have none."""
    items = [
        sensitivity.Item(**cell._asdict(), metric=metric, **scored._asdict())
        for scored in results.scored(store, cell, metric, treatment)
    ]
    seed = settings.stored_settings(store).get("seed", 0)
    found = sensitivity.measure(items, seed=seed)
    # Of a sample whose answers are all cut off there is not even an item.
    without = max(0, counts.n_samples_answered(store, cell) - len(items))
    return found._replace(excluded=found.excluded + without)


def compare(
    store: Store, found: Sequence[Sensitivity], samples: Mapping[tuple[str, str], Sample]
) -> Compared:
    """Return the comparisons of sensitivities."""
    return comparison.compare(list(_groups(store, found, samples)))


def _groups(
    store: Store, found: Sequence[Sensitivity], samples: Mapping[tuple[str, str], Sample]
) -> Iterator[Group]:
    floors = results.cell_results(store)
    shares = counts.last_edit_shares(store)
    families = settings.families(store)
    place = attrgetter("model", "benchmark", "perturbation", "metric", "definition")
    for key, group in groupby(sorted(found, key=place), key=place):
        model, benchmark, perturbation, metric, definition = key
        points: dict[bool, list[Point]] = {True: [], False: []}
        sample: Sample | None = None
        for each in group:
            sample = samples[benchmark, each.sample_id]
            share = shares.get((benchmark, perturbation, each.sample_id), 0.0)
            point = Point(each.sample_id, each.value, sample.cluster, len(sample.text), share)
            points[sample.control].append(point)
        if sample is None:
            continue
        # Prose has one paraphrase a database, whichever the study's source is.
        usual = perturbation in (
            perturbations.DEFAULT[sample.input_kind],
            *perturbations.PARAPHRASES,
        )
        cell = floors.get((Cell(model, benchmark, perturbation), metric))
        yield Group(
            model=model,
            benchmark=benchmark,
            task=sample.task,
            perturbation=perturbation,
            pool=DEFAULT_POOL if usual else perturbation,
            metric=metric,
            definition=definition,
            items=points[False],
            controls=points[True],
            floor=cell and cell.floor,
            version_of=families.get(model),
        )
