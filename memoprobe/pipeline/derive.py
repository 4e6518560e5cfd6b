"""Score, measure, compare: everything that follows from stored answers and asks nothing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial

from memoprobe import answers, comparison, perturbations, scoring, sensitivity
from memoprobe.comparison import Compared, Group
from memoprobe.errors import ConfigError
from memoprobe.metrics import METRICS
from memoprobe.pipeline import settings
from memoprobe.records import DEFAULT_POOL, Response, Sample, Sensitivity, Variant, state
from memoprobe.scoring import Reading
from memoprobe.store import Store, results
from memoprobe.store.database import Cell

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
    store: Store, chosen: Sequence[str], unanswered: scoring.Unanswered, *, map_back: bool = True
) -> None:
    """Score all stored answers, then measure the sensitivities and compare."""
    metrics = metric_names(chosen)
    models = settings.stored_settings(store).get("models", {})
    for plan in store.plans():
        reading = Reading(
            interface=models[plan.cell.model]["interface"],
            unanswered=unanswered,
            map_back=map_back,
        )
        _score_cell(store, plan.cell, metrics, reading)
    measure(store)
    store.set_info(
        {
            "unanswered": unanswered,
            "names_mapped_back": map_back,
            "scored_answers": results.n_answered(store),
        }
    )


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
        (sample.sample_id, scoring.read(response, sample, variant, reading).code)
        for sample, variant, first in originals
        for response in first
    ]
    language = next((answers.answer_language(sample) for sample, _, _ in originals), "")
    for metric in metrics:
        against = partial(METRICS[metric], language=language)
        results.write_floor(store, cell, metric, scoring.floor(codes, references, against))


def measure(store: Store) -> None:
    """Measure the sensitivities of every scored cell and compare the cells."""
    seed = settings.stored_settings(store).get("seed", 0)
    for plan in store.plans():
        for metric in results.metrics(store, plan.cell):
            items = [
                sensitivity.Item(**plan.cell._asdict(), metric=metric, **scored._asdict())
                for scored in results.scored(store, plan.cell, metric)
            ]
            found = sensitivity.measure(items, seed=seed)
            # Of a sample whose answers are all cut off there is not even an item.
            without = results.n_samples_answered(store, plan.cell) - len(items)
            results.write_sensitivities(
                store, plan.cell, metric, found.sensitivities, found.excluded + without
            )
    compared = compare(store)
    results.write_comparisons(store, compared.rows, map(asdict, compared.families))


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
