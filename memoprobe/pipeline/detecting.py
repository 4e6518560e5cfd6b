"""Derive what the likelihoods say, and what rivals say of the same stored answers."""

from collections.abc import Iterator, Mapping

from memoprobe import likelihood, rivals
from memoprobe.pipeline import settings
from memoprobe.records import Sample, Sensitivity
from memoprobe.store import Store, probes, results
from memoprobe.store.database import Cell
from memoprobe.store.results import Treatment

VERSION = 1  # of the scores of a likelihood
Samples = Mapping[tuple[str, str], Sample]


def score(store: Store) -> None:
    """Write the scores of all planned likelihoods; there is no floor of them."""
    for plan in store.plans("likelihood"):
        found = likelihood.scores(probes.likelihoods(store, plan.cell))
        results.write_scores(store, plan.cell, likelihood.METRICS, found)
        for metric in likelihood.METRICS:
            results.write_floor(store, plan.cell, metric, None, VERSION)


def found_by_rivals(store: Store, samples: Samples, treatment: Treatment) -> Iterator[Sensitivity]:
    """Yield what every rival says of every sample of which it has what it needs.

    Args:
        store: The run, scored.
        samples: Those of it.
        treatment: Of what was not answered.
    """
    for plan in store.plans("likelihood"):
        for each in probes.likelihoods(store, plan.cell):
            if each.level == 0:
                yield from rivals.of_likelihood(each, likelihood.unpack(each.tokens))
    for plan in store.plans("answers"):
        if plan.greedy:
            yield from _cdd(store, plan.cell, samples)
        yield from _mri(store, plan.cell, treatment)


def _cdd(store: Store, cell: Cell, samples: Samples) -> Iterator[Sensitivity]:
    interface = settings.stored_settings(store)["models"][cell.model]["interface"]
    for sample_id, responses in probes.greedy(store, cell):
        original, *_ = store.variants(cell.benchmark, sample_id, cell.perturbation)
        found = rivals.cdd(samples[cell.benchmark, sample_id], original, responses, interface)
        if found is not None:
            yield found


def _mri(store: Store, cell: Cell, treatment: Treatment) -> Iterator[Sensitivity]:
    if not {"tests", rivals.METRIC_OF["mri"]} <= set(results.metrics(store, cell)):
        return
    likeness, passed = (
        {
            each.sample_id: {level: [v for _, v in pairs] for level, pairs in each.values.items()}
            for each in results.scored(store, cell, metric, treatment)
        }
        for metric in (rivals.METRIC_OF["mri"], "tests")
    )
    for sample_id in sorted(likeness.keys() & passed.keys()):
        place = rivals.Place(cell.model, cell.benchmark, sample_id, cell.perturbation)
        if (row := rivals.mri(place, likeness[sample_id], passed[sample_id])) is not None:
            yield row
