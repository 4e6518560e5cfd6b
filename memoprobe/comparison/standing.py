"""Ask which benchmarks and models stand out (METHOD 5); controls are in none of these groups."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoprobe.comparison.groups import (
    Group,
    Place,
    Point,
    Sizes,
    clustered,
    generator,
    row,
    tested,
    values,
)
from memoprobe.records import Comparison
from memoprobe.stats.cluster import clustered_contrast, clustered_difference
from memoprobe.stats.interval import Interval
from memoprobe.stats.paired import (
    Tested,
    friedman,
    kruskal_wallis,
    paired_t,
    pearson,
    spearman,
    wilcoxon,
)
from memoprobe.stats.rank import cliffs_delta, mann_whitney

ALL = "all"
"""The subject or context of a test of everything at once."""


def benchmark_advantage(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Test each benchmark against all others of its model.

    ``mann_whitney`` is the study's, with Cliff's delta; ``mean`` the difference of means;
    ``interaction`` what is left of the cell's mean after the model's and the benchmark's own
    (double centring), for benchmarks differ anyway.
    """
    for group in pool:
        others = [g for g in pool if g.model == group.model and g.benchmark != group.benchmark]
        rest = [point for other in others for point in other.items]
        if group.items and rest:
            place = Place("benchmark_advantage", "", group.benchmark, group.model)
            sizes = Sizes(len(group.items), len(rest))
            yield row(group, place._replace(test="mann_whitney"), sizes, _ranked(group.items, rest))
            yield row(group, place._replace(test="mean"), sizes, _means(group, rest, place))
    yield from _interactions(pool)


def model_advantage(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Test each model against all others on its benchmark.

    ``mann_whitney`` is the study's; all models answer the same samples, so ``wilcoxon`` and
    ``paired_mean`` pair a sample's value with the mean of the other models'; ``friedman``
    asks first whether the models differ at all.
    """
    for benchmark in _names(g.benchmark for g in pool):
        groups = [g for g in pool if g.benchmark == benchmark and g.items]
        if len(groups) < 2:
            continue
        shared = _Shared.of(groups)
        for group in groups:
            rest = [point for other in groups if other is not group for point in other.items]
            place = Place("model_advantage", "", group.model, benchmark)
            sizes = Sizes(len(group.items), len(rest))
            yield row(group, place._replace(test="mann_whitney"), sizes, _ranked(group.items, rest))
            if shared.ids:
                yield from _paired(group, shared, place)
        everything = friedman(shared.table.tolist()) if len(shared.ids) > 1 else None
        if everything is not None:
            place = Place("model_advantage", "friedman", ALL, benchmark)
            sizes = Sizes(len(shared.ids), len(shared.ids) * (len(groups) - 1))
            concordance = everything.statistic / (len(shared.ids) * (len(groups) - 1))
            effect = Interval(concordance, None, None)  # Kendall's W, in [0, 1]
            yield row(groups[0], place, sizes, Tested(*everything, effect))


def benchmark_spread(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Test whether the benchmarks of a task differ, for each model and for all together.

    ``kruskal_wallis`` is the study's; its effect is epsilon squared, without an interval.
    """
    for task in _names(g.task for g in pool):
        own = [g for g in pool if g.task == task and g.items]
        for model in [*_names(g.model for g in own), ALL]:
            groups = [g for g in own if model in {g.model, ALL}]
            by_benchmark = [
                [value for g in groups if g.benchmark == name for value in g.values]
                for name in _names(g.benchmark for g in groups)
            ]
            is_repeated = model == ALL and len({g.model for g in groups}) < 2
            if len(by_benchmark) < 2 or is_repeated:
                continue
            spread = kruskal_wallis(by_benchmark)
            effect = Interval(spread.epsilon_squared or 0.0, None, None)
            place = Place("benchmark_spread", "kruskal_wallis", task, model)
            sizes = Sizes(sum(map(len, by_benchmark)), len(by_benchmark))
            yield row(groups[0], place, sizes, Tested(spread.statistic, spread.p_value, effect))


def task_difference(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Test whether two tasks differ across models, a model's value being its mean on the task.

    ``paired_t`` is the study's; ``wilcoxon`` stands beside it.
    """
    means: dict[str, dict[str, float]] = {}
    for task in _names(g.task for g in pool):
        found = {
            model: [v for g in pool if (g.task, g.model) == (task, model) for v in g.values]
            for model in _names(g.model for g in pool)
        }
        means[task] = {model: fmean(each) for model, each in found.items() if each}
    for one, other in combinations(sorted(means), 2):
        models = sorted(means[one].keys() & means[other].keys())
        if len(models) < 2:
            continue
        differences = [means[one][model] - means[other][model] for model in models]
        sizes = Sizes(len(models), len(models))
        for test, found_test in (("paired_t", paired_t), ("wilcoxon", wilcoxon)):
            place = Place("task_difference", test, f"{one} - {other}", ALL)
            yield row(_alike(pool), place, sizes, found_test(differences))


def benchmark_correlation(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Ask whether two benchmarks rank the models alike: ``pearson`` is the study's."""
    means = {(g.benchmark, g.model): fmean(g.values) for g in pool if g.items}
    benchmarks = _names(g.benchmark for g in pool)
    for one, other in combinations(benchmarks, 2):
        models = [
            m for m in _names(g.model for g in pool) if {(one, m), (other, m)} <= means.keys()
        ]
        if len(models) < 3:
            continue
        x, y = ([means[name, model] for model in models] for name in (one, other))
        for test, correlate in (("pearson", pearson), ("spearman", spearman)):
            place = Place("benchmark_correlation", test, f"{one} ~ {other}", ALL)
            yield row(_alike(pool), place, Sizes(len(models), len(models)), correlate(x, y))


def _ranked(points: Sequence[Point], rest: Sequence[Point]) -> Tested:
    test = mann_whitney(values(points), values(rest))
    return Tested(test.statistic, test.p_value, cliffs_delta(values(points), values(rest)))


def _means(group: Group, rest: Sequence[Point], place: Place) -> Tested:
    rng = generator(*place, group.metric, group.definition, group.perturbation)
    return tested(clustered_difference(clustered(group.items), clustered(rest), rng))


class _Shared(NamedTuple):
    """Hold the values of the samples that all models of a benchmark have."""

    models: list[str]
    ids: list[str]
    clusters: list[str | None]
    table: NDArray[np.float64]  # one row a model

    @classmethod
    def of(cls, groups: Sequence[Group]) -> "_Shared":
        by_model = {g.model: {p.sample_id: p for p in g.items} for g in groups}
        ids = sorted(set.intersection(*(set(points) for points in by_model.values())))
        first = next(iter(by_model.values()))
        table = np.array([[points[k].value for k in ids] for points in by_model.values()])
        return cls(list(by_model), ids, [first[name].cluster for name in ids], table)

    def against_the_others(self, model: str) -> list[Point]:
        """Return each sample's value for a model minus the mean of the other models'."""
        own = self.models.index(model)
        others = np.delete(self.table, own, axis=0)
        differences = (self.table[own] - others.mean(axis=0)).tolist()
        return list(map(Point, self.ids, differences, self.clusters))


def _paired(group: Group, shared: _Shared, place: Place) -> Iterator[Comparison]:
    differences = shared.against_the_others(group.model)
    sizes = Sizes(len(differences), len(differences) * (len(shared.models) - 1))
    yield row(group, place._replace(test="wilcoxon"), sizes, wilcoxon(values(differences)))
    rng = generator(*place, group.metric, group.definition, group.perturbation)
    mean = clustered_contrast([clustered(differences)], [1.0], rng)
    yield row(group, place._replace(test="paired_mean"), sizes, tested(mean))


def _interactions(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Yield each cell's double-centred mean, over the samples that all models share.

    With e a sample's value minus its mean over models, the cell's is (1 - 1/B) times the
    mean of e on its benchmark minus 1/B times the sum of those on the B - 1 others.
    """
    filled = [g for g in pool if g.items]
    benchmarks = _names(g.benchmark for g in filled)
    models = _names(g.model for g in filled)
    cells = {(g.benchmark, g.model): g for g in filled}
    if min(len(benchmarks), len(models)) < 2 or len(cells) < len(benchmarks) * len(models):
        return
    shared = {name: _Shared.of([cells[name, m] for m in models]) for name in benchmarks}
    if not all(each.ids for each in shared.values()):
        return
    n = len(benchmarks)
    for model in models:
        centred = []
        for name in benchmarks:
            share = 1 - 1 / len(models)  # of the distance to the other models' mean
            away = shared[name].against_the_others(model)
            centred.append([point._replace(value=point.value * share) for point in away])
        groups = [clustered(points) for points in centred]
        for k, name in enumerate(benchmarks):
            weights = [1 - 1 / n if j == k else -1 / n for j in range(n)]
            group = cells[name, model]
            place = Place("benchmark_advantage", "interaction", name, model)
            rng = generator(*place, group.metric, group.definition, group.perturbation)
            contrast = clustered_contrast(groups, weights, rng)
            sizes = Sizes(len(centred[k]), sum(map(len, centred)) - len(centred[k]))
            yield row(group, place, sizes, tested(contrast))


def _alike(pool: Sequence[Group]) -> Group:
    """Return a group that stands for a whole pool: its perturbation is the pool's name."""
    return replace(pool[0], perturbation=pool[0].pool)


def _names(found: Iterable[str]) -> list[str]:
    return sorted(set(found))
