"""Check the statistics against slow transcriptions, SciPy and published examples."""

import tracemalloc
from collections import Counter
from itertools import pairwise, permutations
from math import factorial, prod, sqrt
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from memoprobe.stats.cluster import (
    RESAMPLES,
    Group,
    clustered_contrast,
    clustered_difference,
    clustered_mean,
)
from memoprobe.stats.correction import benjamini_hochberg, bonferroni, holm
from memoprobe.stats.interval import mean_interval, welch_difference
from memoprobe.stats.paired import (
    friedman,
    kruskal_wallis,
    paired_t,
    pearson,
    spearman,
    wilcoxon,
)
from memoprobe.stats.rank import cliffs_delta, mann_whitney
from memoprobe.stats.resample import mean_largest_steps, permute, shuffles, upper_p

tied_values = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=12)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def dominance(a, b):
    return np.sign(np.subtract.outer(np.array(a), np.array(b)))


@given(tied_values, tied_values)
def test_u_counts_the_pairs_won(a, b):
    """U is the number of pairs in which a is larger, ties by half."""
    won = dominance(a, b)

    assert mann_whitney(a, b).statistic == (won == 1).sum() + (won == 0).sum() / 2


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        pytest.param([1, 2], [3, 4, 5], 0.2, id="exact: 2 of 10 splits are as extreme"),
        pytest.param([1], [2, 3], 2 / 3, id="exact: 2 of 3 splits are as extreme"),
        pytest.param([0.1] * 3, [0.1] * 4, 1.0, id="all equal"),
    ],
)
def test_u_test_by_hand(a, b, p):
    """Small U tests agree with counting by hand."""
    assert mann_whitney(a, b).p_value == pytest.approx(p)


@pytest.mark.parametrize(("n", "m"), [(5, 400), (8, 251), (9, 9), (60, 70)])
def test_u_test_is_scipys(n, m):
    """SciPy's exact test is used up to 8 values and 2,000 pairs, its approximation above."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.3, 1, n), rng.normal(0, 1, m)
    method = "exact" if n * m == 2000 else "asymptotic"

    expected = stats.mannwhitneyu(a, b, alternative="two-sided", method=method)

    assert mann_whitney(a, b) == (expected.statistic, expected.pvalue)


def test_cliffs_delta_of_a_published_example():
    """Delta and interval are those that R's effsize documents for Hess and Kromrey's data."""
    treatment = [10, 10, 20, 20, 20, 30, 30, 30, 40, 50]
    control = [10, 20, 30, 40, 40, 50]

    assert cliffs_delta(treatment, control) == pytest.approx((-0.25, -0.7265846, 0.3890062))


@given(tied_values, tied_values)
def test_cliffs_interval_is_the_formula_on_the_dominance_matrix(a, b):
    """Delta and its interval equal Feng and Cliff's formula, written on the whole matrix."""
    d_ij = dominance(a, b)
    n, m = d_ij.shape
    d = d_ij.mean()
    assume(abs(d) < 1)
    rows = ((d_ij.mean(axis=1) - d) ** 2).sum()
    columns = ((d_ij.mean(axis=0) - d) ** 2).sum()
    s2 = (m**2 * rows + n**2 * columns - ((d_ij - d) ** 2).sum()) / (n * m * (n - 1) * (m - 1))
    s2 = max(s2, (1 - d**2) / (n * m - 1))
    t = stats.t.ppf(0.975, n + m - 2)
    reach = t * sqrt(s2) * sqrt((1 - d**2) ** 2 + t**2 * s2)

    low, high = ((d - d**3 + sign * reach) / (1 - d**2 + t**2 * s2) for sign in (-1, 1))

    assert cliffs_delta(a, b) == pytest.approx((d, low, high), abs=1e-9)


@given(tied_values, tied_values)
def test_cliffs_delta_turns_round_with_its_groups(a, b):
    """Swapping the groups mirrors the estimate and its interval, which hold each other."""
    delta, low, high = cliffs_delta(a, b)

    assert cliffs_delta(b, a) == pytest.approx((-delta, -high, -low))
    assert -1 <= low <= delta <= high <= 1


def test_groups_apart_have_wilsons_interval():
    """Where nothing overlaps, the share of pairs won is bounded by the smaller group's Wilson."""
    t2 = stats.t.ppf(0.975, 10 + 5 - 2) ** 2

    delta = cliffs_delta(range(10, 20), range(5))

    assert delta == pytest.approx((1, (5 - t2) / (5 + t2), 1))


def test_cliffs_interval_covers():
    """The 95 % interval holds the true delta in about 95 % of trials, with unequal spreads too."""
    rng = np.random.default_rng(5)
    truth = 2 * stats.norm.cdf(0.5 / sqrt(1 + 2**2)) - 1

    covered = 0
    for _ in range(1000):
        _, low, high = cliffs_delta(rng.normal(0.5, 1, 30), rng.normal(0, 2, 40))
        covered += low <= truth <= high

    assert 930 <= covered <= 975


def test_large_groups_need_no_matrix():
    """Two groups of 20,000 are compared without their 400 million pairs in memory."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20_000), rng.normal(size=20_000)

    tracemalloc.start()
    cliffs_delta(a, b)
    mann_whitney(a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20e6


def test_a_single_value_has_a_delta_and_no_interval():
    """One value against others gives an estimate alone."""
    assert cliffs_delta([3], [1, 2, 4]) == (pytest.approx(1 / 3), None, None)


@pytest.mark.parametrize("compare", [mann_whitney, cliffs_delta, welch_difference])
@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], [])])
def test_an_empty_group_is_refused(compare, a, b):
    """Nothing is invented for an empty group."""
    with pytest.raises(ValueError, match="group"):
        compare(a, b)


@pytest.mark.parametrize(
    ("correct", "adjusted"),
    [
        (bonferroni, [0.05, 0.2, 0.15, 0.025, 1.0]),
        (holm, [0.04, 0.09, 0.09, 0.025, 0.5]),
        (benjamini_hochberg, [0.025, 0.05, 0.05, 0.025, 0.5]),
    ],
)
def test_corrections_by_hand(correct, adjusted):
    """Each correction of five p-values is the one worked out by hand, in their order."""
    assert correct([0.01, 0.04, 0.03, 0.005, 0.5]) == pytest.approx(adjusted)


@given(p_values)
def test_benjamini_hochberg_is_scipys(p):
    """The false discovery rate is controlled as SciPy does."""
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p, method="bh"))


@given(p_values)
def test_holm_is_its_definition(p):
    """Holm's value is the largest of (n - rank) times p over all p-values that are no larger."""
    n, ordered = len(p), sorted(p)
    expected = [
        min(1, max((n - rank) * q for rank, q in enumerate(ordered) if q <= value)) for value in p
    ]

    assert holm(p) == pytest.approx(expected)


@pytest.mark.parametrize("correct", [bonferroni, holm, benjamini_hochberg])
def test_corrections_refuse_what_is_no_probability(correct):
    """A value outside [0, 1] or none at all is a mistake; an empty family is not."""
    assert correct([]) == []
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            correct([0.5, wrong])


@given(st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=9))
def test_mean_interval_is_the_t_interval(values):
    """The interval is that of SciPy's one-sample t test."""
    assume(len(set(values)) > 1)

    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)

    assert mean_interval(values) == pytest.approx((fmean(values), expected.low, expected.high))


@given(
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=9),
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=9),
)
def test_welch_is_scipys(a, b):
    """Difference, interval, t, p and degrees of freedom are those of SciPy's unequal-variance t."""
    assume(len(set(a)) > 1 and len(set(b)) > 1)
    test = stats.ttest_ind(a, b, equal_var=False)
    interval = test.confidence_interval(0.95)

    expected = (
        fmean(a) - fmean(b), interval.low, interval.high, test.statistic, test.pvalue, test.df,
    )  # fmt: skip

    assert welch_difference(a, b) == pytest.approx(expected, abs=1e-12)


def test_welch_needs_the_spread_of_one_group_only():
    """Against a constant group Welch's test is the one-sample t test."""
    a = [0.1, 0.4, 0.3]

    difference = welch_difference(a, [0.1] * 4)

    assert difference.df == pytest.approx(2)
    assert difference.statistic == pytest.approx((fmean(a) - 0.1) / (stdev(a) / sqrt(3)))


@pytest.mark.parametrize("a", [[0.7], [0.7, 0.7, 0.7], [0.1 + 0.2, 0.3, 0.3]])
def test_without_spread_there_is_an_estimate_alone(a):
    """One value, or values equal but for rounding, have a mean and no interval."""
    assert mean_interval(a) == (pytest.approx(fmean(a)), None, None)
    assert welch_difference(a, [0.1, 0.1])[1:] == (None,) * 5
    assert welch_difference(a, [0.1, 0.1]).estimate == pytest.approx(fmean(a) - 0.1)


def test_an_empty_sample_has_no_mean():
    """The mean of nothing is refused."""
    with pytest.raises(ValueError, match="empty"):
        mean_interval([])


@settings(max_examples=30)
@given(st.integers(2, 5).flatmap(lambda n: st.lists(
    st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1, max_size=3)))  # fmt: skip
def test_largest_steps_are_means_over_all_orders(curves):
    """The means equal a walk through every order of every curve."""
    falls, changes = mean_largest_steps(np.array(curves))

    for curve, fall, change in zip(curves, falls, changes, strict=True):
        orders = list(permutations(curve))
        assert fall == pytest.approx(fmean(max(a - b for a, b in pairwise(o)) for o in orders))
        assert change == pytest.approx(
            fmean(max(abs(a - b) for a, b in pairwise(o)) for o in orders)
        )


def mean_fall_by_counting(curve):
    """Return the mean largest fall of distinct values by counting orders instead of visiting them.

    Inserted in rising order, a value may stand last or before any value at most t below it.
    """
    ordered = sorted(curve)

    def share_of_orders_with_falls_up_to(t):
        return prod(
            1 + sum(value - lower <= t for lower in ordered[:rank])
            for rank, value in enumerate(ordered)
        ) / factorial(len(ordered))

    steps = sorted(high - low for low, high in permutations(ordered, 2) if high > low)
    total = -min(b - a for a, b in pairwise(ordered)) / factorial(len(ordered))
    before = 1 / factorial(len(ordered))
    for step in steps:
        share = share_of_orders_with_falls_up_to(step + 1e-12)
        total += step * (share - before)
        before = share
    return total


@pytest.mark.parametrize(("length", "tolerance"), [(6, 1e-9), (8, 1e-9), (9, 0.002), (12, 0.002)])
def test_long_curves_are_sampled(length, tolerance):
    """Up to 8 values every order counts; of a longer curve 40,320 random ones stand for all."""
    curve = np.random.default_rng(length).random(length)

    falls, _ = mean_largest_steps(curve[None])

    assert falls[0] == pytest.approx(mean_fall_by_counting(curve), abs=tolerance)


def test_many_curves_are_each_on_their_own():
    """Working in blocks changes nothing."""
    curves = np.random.default_rng(0).random((250, 6))

    together = mean_largest_steps(curves)

    for i in (0, 90, 91, 249):
        alone = mean_largest_steps(curves[i : i + 1])
        assert (together.fall[i], together.change[i]) == (alone.fall[0], alone.change[0])


def test_shuffles_are_orders_of_all_values():
    """Every column holds every position once, and first places are evenly taken."""
    table = shuffles(6, 6000, np.random.default_rng(1))

    assert (np.sort(table, axis=0) == np.arange(6)[:, None]).all()
    assert stats.chisquare(np.bincount(table[0])).pvalue > 0.001


def deal(sizes, values):
    """Give every cell its values: one each, then a second to those with room, fullest first."""
    left = iter(values)
    cells = {cell: [] for cell in sizes}
    for turn in range(max(sizes.values())):
        for cell in sorted(sizes, key=lambda cell: -sizes[cell]):
            if sizes[cell] > turn:
                cells[cell].append(next(left))
    return cells


def repeat_falls(cells):
    """Return each repeat's falls between the levels it has; none for one, or without level 0."""
    curves = {}
    for (_, repeat), dealt in sorted(cells.items()):
        if (0, repeat) in cells:
            curves.setdefault(repeat, []).append(fmean(dealt))
    return [[a - b for a, b in pairwise(c)] for _, c in sorted(curves.items()) if len(c) > 1]


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=5), min_size=2, max_size=4))
def test_dealing_anew_fills_every_place_once(repeats):
    """Means and falls are those of a literal dealing of the shuffled values over the places."""
    sizes = Counter((level, repeat) for level, places in enumerate(repeats) for repeat in places)
    values = np.random.default_rng(0).random(sizes.total())
    table = shuffles(len(values), 5, np.random.default_rng(1))

    permuted = permute(values, tuple(map(tuple, repeats)), table)

    for column in range(5):
        cells = deal(sizes, values[table[:, column]])
        for level in range(len(repeats)):
            pooled = [value for cell, dealt in cells.items() if cell[0] == level for value in dealt]
            assert permuted.means[level, column] == pytest.approx(fmean(pooled))
        falls = [list(rows[:, column]) for rows in permuted.falls]
        assert [pytest.approx(fall) for fall in repeat_falls(cells)] == falls


@pytest.mark.parametrize(
    ("null", "p"),
    [
        ([0.1, 0.2, 0.4], 1 / 4),
        ([0.1, 0.5, 0.9], 3 / 4),
        ([0.1 + 0.2 + 0.2], 1.0),
        ([], 1.0),
    ],
)
def test_upper_p_counts_ties_and_itself(null, p):
    """The p-value of .5 is (1 + as large) / (1 + all), and rounding breaks no tie."""
    assert upper_p(0.5, np.array(null)) == p


UNEVEN = np.repeat(np.arange(17), [40, 30, 25, 20, 15, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 2, 1])


def in_clusters(rng, icc=0.2):
    """Return values of 17 uneven clusters of the given correlation, with mean 0."""
    shared = rng.normal(0, sqrt(icc), 17)[UNEVEN]
    return (shared + rng.normal(0, sqrt(1 - icc), len(UNEVEN))).tolist()


def test_clustered_intervals_cover():
    """With 17 uneven clusters 93 to 97 % of the intervals hold the truth, and p is its level."""
    rng = np.random.default_rng(5)
    clusters = UNEVEN.tolist()
    means, differences, small = [], [], []

    for _ in range(800):
        a, b = in_clusters(rng), in_clusters(rng)
        mean = clustered_mean(a, clusters, rng)
        difference = clustered_difference(Group(a, clusters), Group(b, clusters), rng)
        means.append(mean.low <= 0 <= mean.high)
        differences.append(difference.low <= 0 <= difference.high)
        small.append(difference.p_value <= 0.05)

    assert 0.93 <= fmean(means) <= 0.97
    assert 0.93 <= fmean(differences) <= 0.97
    assert 0.03 <= fmean(small) <= 0.07


def test_lone_items_need_no_clusters():
    """Where every value is its own cluster, intervals are Student's and Welch's."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=9).tolist(), rng.normal(size=7).tolist()

    assert clustered_mean(a, list(range(9)), rng) == mean_interval(a)
    found = clustered_difference(Group(a, list("abcdefghi")), Group(b, list("abcdefg")), rng)
    assert found == welch_difference(a, b)


def test_two_clusters_are_too_few():
    """They give an estimate, and no interval; nor do clusters without any spread."""
    rng = np.random.default_rng(0)

    assert clustered_mean([1, 2, 3], ["a", "a", "b"], rng) == (2, None, None)
    assert clustered_mean([1, 1, 1, 1], ["a", "a", "b", "c"], rng) == (1, None, None)
    found = clustered_difference(Group([1, 2, 3], [0, 0, 1]), Group([1, 2, 4], [0, 1, 2]), rng)
    assert (found.estimate, found.p_value) == (pytest.approx(-1 / 3), None)


@given(st.lists(st.integers(-8, 8).map(float), min_size=1, max_size=40))
def test_wilcoxon_is_scipys(differences):
    """Statistic and p are SciPy's; the rank-biserial correlation is its definition."""
    found = wilcoxon(differences)
    values = [d for d in differences if d]
    assume(values)
    exact = len({abs(d) for d in values}) == len(values)
    method = "exact" if exact else "asymptotic"
    expected = stats.wilcoxon(values, correction=not exact, method=method)
    ranks = stats.rankdata(np.abs(values))
    won = ranks[np.array(values) > 0].sum()

    assert (found.statistic, found.p_value) == (expected.statistic, expected.pvalue)
    assert found.effect.estimate == pytest.approx((2 * won - ranks.sum()) / ranks.sum())


def test_wilcoxon_of_a_published_example():
    """Hollander and Wolfe's depression scores: T = 40 of 45, p = .039."""
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = wilcoxon([x - y for x, y in zip(before, after, strict=True)])

    assert found.statistic == 5
    assert found.p_value == pytest.approx(0.0390625)
    assert found.effect.estimate == pytest.approx((40 - 5) / 45)
    assert 0 < found.effect.low < found.effect.estimate < found.effect.high < 1


def test_subjects_that_do_not_differ_are_not_tested():
    """There is an effect of 0 and no p."""
    assert wilcoxon([0.0, 0.0]).p_value is None
    assert paired_t([0.5, 0.5]) == (None, None, (0.5, None, None))
    assert paired_t([0.5]).p_value is None
    assert kruskal_wallis([[1, 1], [1]]) == (None, None, None)
    assert friedman([[1, 2], [1, 2], [1, 2]]) is None
    assert friedman([[1, 2], [2, 1]]) is None
    assert pearson([1, 1, 1], [1, 2, 3]).p_value is None
    assert pearson([1, 2], [1, 2]).p_value is None
    with pytest.raises(ValueError, match="empty"):
        wilcoxon([])
    with pytest.raises(ValueError, match="two groups"):
        kruskal_wallis([[1.0], []])


def test_several_groups_are_tested_as_scipy_does():
    """Paired t, Friedman, Kruskal-Wallis, Pearson and Spearman are SciPy's."""
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 12)) + np.array([[0.0], [0.4], [1.0]])

    expected = stats.ttest_rel(a, b)
    low, high = expected.confidence_interval(0.95)
    paired = paired_t(a - b)
    assert paired.effect == pytest.approx((np.mean(a - b), low, high))
    assert (paired.statistic, paired.p_value) == pytest.approx(
        (expected.statistic, expected.pvalue)
    )
    assert friedman([a, b, c]) == tuple(stats.friedmanchisquare(a, b, c))
    h = stats.kruskal(a, b, c)
    assert kruskal_wallis([a, b, c]) == (h.statistic, h.pvalue, h.statistic / 35)
    r = stats.pearsonr(a, b)
    assert pearson(a, b).p_value == r.pvalue
    assert pearson(a, b).effect == pytest.approx((r.statistic, *r.confidence_interval(0.95)))
    rho = spearman(a, b)
    assert (rho.effect.estimate, rho.p_value) == tuple(stats.spearmanr(a, b))
    assert rho.effect.low < rho.effect.estimate < rho.effect.high
    assert pearson(a, 2 * a + 1).effect == (pytest.approx(1), None, None)
    assert spearman([1, 2, 3], [1, 3, 2]).effect == (0.5, None, None)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=5))
def test_few_ranks_are_tested_exactly(pairs):
    """Up to eight pairs the p-value of Spearman's rho is that of all orders, as SciPy counts."""
    x, y = map(list, zip(*pairs, strict=True))
    assume(len(set(x)) > 1 and len(set(y)) > 1)

    null = [abs(stats.spearmanr(x, order).statistic) for order in permutations(y)]

    rho = spearman(x, y)
    assert rho.statistic == pytest.approx(stats.spearmanr(x, y).statistic)
    expected = np.mean(np.array(null) >= abs(rho.statistic) - 1e-9)
    assert rho.p_value == pytest.approx(expected)


def test_few_clusters_are_not_resampled():
    """With 3 to 9 clusters the interval is the t of one less, and of a usual width."""
    rng = np.random.default_rng(0)
    values, clusters = [1.0, 1.2, 2.0, 2.4, 3.0, 2.8], ["a", "a", "b", "b", "c", "c"]
    means = [1.1, 2.2, 2.9]
    error = stdev(means) / sqrt(3)

    found = clustered_mean(values, clusters, rng)
    contrast = clustered_difference(Group(values, clusters), Group([0.0, 0.1, 0.2], "abc"), rng)

    reach = stats.t.ppf(0.975, 2) * error
    assert found == pytest.approx((fmean(means), fmean(means) - reach, fmean(means) + reach))
    assert contrast.high - contrast.low < 6
    uneven = clustered_difference(
        Group(values, ["a", "a", "b", "b", "c", "d"]), Group([0.0, 0.1, 0.2], "abc"), rng
    )
    assert uneven.df == 2


def test_equal_clusters_are_values():
    """The means of clusters that are all as large are independent values: Student's and Welch's."""
    rng = np.random.default_rng(0)
    a, b = [1.0, 1.2, 2.0, 2.4, 3.0, 2.8, 4.0, 4.4], [0.0, 0.3, 0.2]
    means, clusters = [1.1, 2.2, 2.9, 4.2], np.repeat(np.arange(4), 2).tolist()

    assert clustered_mean(a, clusters, rng) == pytest.approx(mean_interval(means))
    found = clustered_difference(Group(a, clusters), Group(b, "xyz"), rng)
    assert found == pytest.approx(welch_difference(means, b))


def test_resamples_are_those_of_whole_clusters():
    """Quantile and p-value equal those of resamples that are put together cluster by cluster."""
    rng = np.random.default_rng(3)
    values, clusters = np.array(in_clusters(rng)) + 0.2, UNEVEN

    def t(parts, middle):
        sizes, totals = np.array([len(p) for p in parts]), np.array([p.sum() for p in parts])
        mean = totals.sum() / sizes.sum()
        squares = ((totals - mean * sizes) ** 2).sum() * len(parts) / (len(parts) - 1)
        error = np.sqrt(squares) / sizes.sum()
        return mean, error, abs(mean - middle) / error

    own = [values[clusters == k] for k in range(17)]
    mean, error, statistic = t(own, 0)
    drawn = np.random.default_rng(9).integers(17, size=(RESAMPLES, 17))
    null = np.array([t([own[k] for k in chosen], mean)[2] for chosen in drawn])

    group = Group(values.tolist(), clusters.tolist())
    found = clustered_contrast([group], [1.0], np.random.default_rng(9))
    assert found.p_value == pytest.approx((1 + (null >= statistic - 1e-9).sum()) / (1 + RESAMPLES))
    reach = np.quantile(null, 0.95) * error
    assert (found.low, found.high) == pytest.approx((mean - reach, mean + reach))
