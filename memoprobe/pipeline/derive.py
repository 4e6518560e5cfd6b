"""Score, measure, compare: everything that follows from stored answers and asks nothing."""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from memoprobe import (
    answers,
    comparison,
    likelihood,
    metrics,
    perturbations,
    sandbox,
    scoring,
    sensitivity,
    workers,
)
from memoprobe.comparison import Group, Point
from memoprobe.comparison.detection import detect
from memoprobe.errors import SandboxError
from memoprobe.metrics import METRICS
from memoprobe.pipeline import choosing, detecting, meaning, settings, testing
from memoprobe.pipeline.testing import Asked
from memoprobe.records import DEFAULT_POOL, Sample, Score, Sensitivity
from memoprobe.sandbox import Limits
from memoprobe.scoring import Reading
from memoprobe.sensitivity import Measured
from memoprobe.store import Store, counts, detections, results
from memoprobe.store.database import Cell, as_info
from memoprobe.store.results import Treatment

ITEMS_AT_ONCE = 500
ITEMS_A_JOB = 3  # are measured in a millisecond
"""Samples whose answers are in memory together while they are measured."""

OPTIONS = ("unanswered", "names_mapped_back", "metrics")  # rows of run_info


class Derived(NamedTuple):
    """Say what scoring did that a user would not expect."""

    remade: list[str]  # metrics whose stored scores were of an older version
    untested: str | None  # why tests were not run, where they would have been by default
    lost: list[str]  # own metrics of earlier times whose files are not there


def score(
    store: Store,
    chosen: Sequence[str] = (),
    *,
    unanswered: scoring.Unanswered | None = None,
    map_back: bool | None = None,
    pool: workers.Pool = workers.DEFAULT,
    unsafe: bool = False,
) -> Derived:
    """Score the planned answers, measure the sensitivities, compare, and check the perturbations.

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
    choice = choosing.choose(before["metrics"], chosen)
    is_wanted = "tests" in (*choice.earlier, *chosen)
    untested = None if is_wanted else _untested(store, unsafe=unsafe)
    if untested is not None:
        choice = choice._replace(names=[name for name in choice.names if name != "tests"])
    if map_back is None:
        map_back = bool(json.loads(before["names_mapped_back"] or "true"))
    options = {
        "unanswered": unanswered or before["unanswered"] or "exclude",
        "names_mapped_back": map_back,
        "metrics": choice.names,
    }
    versions = results.versions(store)
    old = choice.outdated(versions)
    with store.db.atomic():
        revision = results.revision(store)
        is_current = revision.facts == revision.results
        stands = is_current and before["names_mapped_back"] == as_info(map_back)
        if not stands:
            results.clear(store)
            detecting.score(store)
        missing = list(dict.fromkeys([*old, *choice.new(versions)]))
        _score_cells(store, missing if stands else choice.usable, _Way(map_back, pool, unsafe))
        measure(store, pool)
        store.set_info(options | _kinds_of_reference(store, info))
        results.mark_current(store)
    meaning.fill(store, pool, unsafe=unsafe)
    remade = [metrics.label(name) for name in old] if stands else []
    return Derived(remade, untested or None, choice.lost)


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


def _score_cells(store: Store, names: Sequence[str], way: _Way) -> None:
    models = settings.stored_settings(store).get("models", {})
    limits = Limits(**json.loads(store.info().get("limits", "{}")))
    for plan in store.plans("answers") if names else ():
        reading = Reading(interface=models[plan.cell.model]["interface"], map_back=way.map_back)
        run = testing.Way(reading=reading, limits=limits, pool=way.pool, unsafe=way.unsafe)
        _score_cell(store, plan.cell, names, run)


def _asked(store: Store, cell: Cell, samples: Mapping[str, Sample]) -> Iterator[Asked]:
    """Yield each sample with all that was asked and answered of it in a cell."""
    for sample_id, responses in store.responses(cell):
        levels = {
            variant.level: variant
            for variant in store.variants(cell.benchmark, sample_id, cell.perturbation)
        }
        yield Asked(samples[sample_id], levels, responses)


def _score_cell(store: Store, cell: Cell, names: Sequence[str], way: testing.Way) -> None:
    samples = {sample.sample_id: sample for sample in store.samples(cell.benchmark)}
    found = {name: metrics.find(name) for name in names}
    suited = {
        name: metric for name, metric in found.items() if any(map(metric.suits, samples.values()))
    }
    labels = [metrics.label(name) for name in suited]
    originals: list[tuple[str, str, str]] = []

    def scores() -> Iterator[Score]:
        n_responses = counts.n_samples_answered(store, cell)
        known = [metrics.located(name) for name in suited]
        jobs = ((*asked, known, way.reading) for asked in _asked(store, cell, samples))
        for scored in workers.each(scoring.score_one, jobs, way.pool, n_responses):
            if scored.original is not None:
                originals.append(scored.original)
            yield from scored.scores
        for sample_id, failures in results.failures(store, cell).items():
            for failure in failures:
                yield from scoring.failed(samples[sample_id], failure, list(suited))
        if "tests" in suited:
            asked = _asked(store, cell, samples)
            tested = (each for each in asked if METRICS["tests"].suits(each.sample))
            yield from testing.scores(store, tested, way)

    results.write_scores(store, cell, labels, scores())
    references = {
        sample.sample_id: codes
        for sample in samples.values()
        if (codes := answers.reference_codes(sample))
    }
    for label, metric in zip(labels, suited.values(), strict=True):
        # By tests, a stranger's program is taken to fail.
        likeness = metric.measure
        floor = scoring.floor(originals, references, likeness) if likeness else 0.0
        results.write_floor(store, cell, label, floor, metric.version)


def measure(store: Store, pool: workers.Pool = workers.DEFAULT) -> None:
    """Measure the sensitivities of every scored cell and compare the cells.

    Twice where some slot was not answered: with these left out, and with 0 in their place.
    """
    results.clear_measured(store)
    for treatment in results.treatments(store):
        _measure(store, treatment, pool)


def _measure(store: Store, treatment: Treatment, pool: workers.Pool) -> None:
    """Measure under one treatment; controls serve all benchmarks of their model, task and so on."""
    samples = {(s.benchmark, s.sample_id): s for s in store.samples()}
    tasks = {sample.benchmark: sample.task for sample in samples.values()}
    numbers = _numbers_of_references(samples.values())
    controls = {place for place, sample in samples.items() if sample.control}
    related: dict[tuple[object, ...], list[Sensitivity]] = defaultdict(list)
    for (cell, metric), found in _measured(store, treatment, pool).items():
        number = numbers.get(cell.benchmark, 1) if metrics.is_likeness(metric) else 1
        key = (cell.model, tasks[cell.benchmark], cell.perturbation, metric, number)
        results.write_excluded(store, cell, metric, found.excluded, treatment)
        related[key] += found.sensitivities
    everything: list[Sensitivity] = []
    for rows in related.values():
        everything += sensitivity.against_controls(rows, controls)
    everything += detecting.found_by_rivals(store, samples, treatment)
    results.write_sensitivities(store, everything, treatment)
    groups = list(_groups(store, everything, samples))
    compared = comparison.compare(groups)
    results.write_comparisons(store, compared.rows, map(asdict, compared.families), treatment)
    detections.write(store, detect(groups), treatment)


def _numbers_of_references(samples: Iterable[Sample]) -> dict[str, int]:
    """Return of how many references the nearest counts, by benchmark where there are several.

    An item and a control of another number do not compare: more lie nearer by chance (METHOD 2.5).
    """
    return {each.benchmark: len(each.references) for each in samples if each.alternatives}


def _kinds_of_reference(store: Store, info: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return, for readers, which benchmarks are measured by the nearest of several references."""
    numbers = _numbers_of_references(store.samples())
    kinds = {benchmark: f"nearest of {number}" for benchmark, number in sorted(numbers.items())}
    return {"references": kinds} if kinds or "references" in info else {}


def _measured(
    store: Store, treatment: Treatment, pool: workers.Pool
) -> dict[tuple[Cell, str], Measured]:
    """Return by cell and metric the sensitivities, and how many answered samples have none."""
    seed = settings.stored_settings(store).get("seed", 0)
    places = [(cell, metric) for cell in store.cells() for metric in results.metrics(store, cell)]
    rows: dict[tuple[Cell, str], list[Sensitivity]] = {place: [] for place in places}
    n_items: Counter[tuple[Cell, str]] = Counter()
    given: deque[tuple[Cell, str]] = deque()

    def jobs(places: Iterable[tuple[Cell, str]]) -> Iterator[tuple[list[sensitivity.Item]]]:
        for cell, metric in places:
            scored = results.scored(store, cell, metric, treatment)
            while some := list(islice(scored, ITEMS_AT_ONCE)):
                given.append((cell, metric))
                n_items[cell, metric] += len(some)
                place = cell._asdict() | {"metric": metric}
                yield ([sensitivity.Item(**place, **each._asdict()) for each in some],)

    n_answered = {cell: counts.n_samples_answered(store, cell) for cell, _ in places}
    n_jobs = sum(n_answered[cell] for cell, _ in places) // ITEMS_A_JOB
    likely = [place for place in places if place[1] in likelihood.METRICS]
    for (items,) in jobs(likely):  # one number a level, nothing to share
        rows[given.popleft()] += likelihood.measure(items)
    # Workers import what they are given, and this module is large.
    measuring = partial(sensitivity.measure, seed=seed)
    for found in workers.each(measuring, jobs(p for p in places if p not in likely), pool, n_jobs):
        rows[given.popleft()] += found.sensitivities
    # Of a sample whose answers are all cut off there is not even an item.
    return {
        place: Measured(own, max(n_items[place], answered) - len({r.sample_id for r in own}))
        for place, own in rows.items()
        for answered in (0 if place[1] in likelihood.METRICS else n_answered[place[0]],)
    }


def _groups(
    store: Store, found: Sequence[Sensitivity], samples: Mapping[tuple[str, str], Sample]
) -> Iterator[Group]:
    floors = results.cell_results(store)
    shares = counts.last_edit_shares(store)
    families = settings.families(store)
    numbers = _numbers_of_references(samples.values())
    place = attrgetter("model", "benchmark", "perturbation", "metric", "definition")
    for key, group in groupby(sorted(found, key=place), key=place):
        model, benchmark, perturbation, metric, definition = key
        if metric == "logprob_total" and definition != likelihood.ADVANTAGE:
            continue  # a sum over tokens tells how long a reference is
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
            n_references=numbers.get(benchmark, 1) if metrics.is_likeness(metric) else 1,
            version_of=families.get(model),
        )
