"""Compare values of the same subjects, and several groups at once."""

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from memoprobe.stats.interval import Interval
from memoprobe.stats.rank import RankTest

_EXACT_UP_TO = 8  # pairs; nine have 362,880 orders

TIED = 1e-12
"""Differences nearer to 0 than this are none: sums of the same numbers differ by rounding."""


class Tested(NamedTuple):
    """Hold a test and its effect."""

    statistic: float | None
    p_value: float | None
    effect: Interval


NOTHING = Tested(None, None, Interval(0.0, None, None))
"""What a test says of subjects that do not differ at all."""


def wilcoxon(differences: Sequence[float], *, confidence: float = 0.95) -> Tested:
    """Return Wilcoxon's signed-rank test that differences lie about 0, two-sided.

    Differences of 0 are left out (Wilcoxon's own treatment); the p-value is exact for up to
    50 without ties, else by the normal approximation with correction for continuity. The
    effect is the matched-pairs rank-biserial correlation, the rank sum of the positive minus
    that of the negative differences over both, in [-1, 1]; its interval is Fisher's on its
    null variance. All differences 0: nothing is tested.

    Raises:
        ValueError: There are no differences.
    """
    values = _array(differences)
    values = values[np.abs(values) > TIED]
    n = len(values)
    if n == 0:
        return NOTHING
    exact = n <= 50 and len(np.unique(np.abs(values))) == n
    found = stats.wilcoxon(  # type: ignore[call-overload]  # the stubs lack "asymptotic"
        values,
        zero_method="wilcox",
        alternative="two-sided",
        # SciPy's own "auto" permutes where values tie, which takes a third of a second.
        method="exact" if exact else "asymptotic",
        correction=not exact,
    )
    ranks = stats.rankdata(np.abs(values))
    total = n * (n + 1) / 2
    effect = float((ranks * np.sign(values)).sum() / total)
    error = np.sqrt(n * (n + 1) * (2 * n + 1) / 6) / total
    return Tested(
        float(found.statistic), float(found.pvalue), _fisher(effect, float(error), confidence)
    )


def paired_t(differences: Sequence[float], *, confidence: float = 0.95) -> Tested:
    """Return the paired t test that differences have mean 0, two-sided; the effect is the mean.

    Raises:
        ValueError: There are no differences.
    """
    values = _array(differences)
    mean = float(values.mean())
    if len(values) < 2 or np.ptp(values) <= TIED * max(1.0, np.abs(values).max()):
        return Tested(None, None, Interval(mean, None, None))
    found = stats.ttest_1samp(values, popmean=0.0, alternative="two-sided")
    low, high = found.confidence_interval(confidence)
    return Tested(
        float(found.statistic), float(found.pvalue), Interval(mean, float(low), float(high))
    )


def friedman(columns: Sequence[Sequence[float]]) -> RankTest | None:
    """Return Friedman's test that columns of the same subjects do not differ.

    Args:
        columns: One a treatment, shape (n_treatments, n_subjects), at least three.

    Returns:
        None for fewer than three columns, or where every subject ties in all of them.
    """
    table = np.asarray(columns, dtype=np.float64)
    if len(table) < 3 or not np.ptp(table, axis=0).any():
        return None
    found = stats.friedmanchisquare(*table)
    return RankTest(float(found.statistic), float(found.pvalue))


class Spread(NamedTuple):
    """Hold a test that groups differ in location."""

    statistic: float | None
    p_value: float | None
    epsilon_squared: float | None  # share of the rank variance between groups, in [0, 1]


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> Spread:
    """Return the Kruskal-Wallis H test of two or more groups, ties corrected.

    Epsilon squared is H / (n - 1). Where all values are equal nothing is tested.

    Raises:
        ValueError: There are fewer than two groups, or one is empty.
    """
    if len(groups) < 2 or not all(len(group) for group in groups):
        msg = f"need two groups with values, got sizes {[len(group) for group in groups]}"
        raise ValueError(msg)
    everything = np.concatenate([np.asarray(group, dtype=np.float64) for group in groups])
    if np.ptp(everything) == 0:
        return Spread(None, None, None)
    found = stats.kruskal(*groups)
    statistic = float(found.statistic)
    return Spread(statistic, float(found.pvalue), statistic / (len(everything) - 1))


def pearson(x: Sequence[float], y: Sequence[float], *, confidence: float = 0.95) -> Tested:
    """Return Pearson's r of pairs with Fisher's interval; nothing is known of fewer than three.

    The interval needs four pairs, and a column without spread has no correlation.
    """
    return _correlation(stats.pearsonr, x, y, (1.0, 3, confidence))


def spearman(x: Sequence[float], y: Sequence[float], *, confidence: float = 0.95) -> Tested:
    """Return Spearman's rho, as ``pearson``; the interval has Bonett and Wright's error.

    Up to eight pairs the p-value is exact, of all orders of one side: by the t distribution
    three pairs in perfect order, every third of all chances, would have a p of 0.
    """
    rho = _correlation(stats.spearmanr, x, y, (1.0, 3, confidence))
    if rho.statistic is None:
        return rho
    if rho.effect.low is not None:
        widened = np.sqrt(1 + rho.effect.estimate**2 / 2)
        rho = _correlation(stats.spearmanr, x, y, (float(widened), 3, confidence))
    if len(x) > _EXACT_UP_TO:
        return rho
    first, second = (stats.rankdata(side) - (len(x) + 1) / 2 for side in (x, y))
    null = np.abs(second[_orders(len(x))] @ first)
    return rho._replace(p_value=float(np.mean(null >= abs(first @ second) - TIED)))


@cache
def _orders(n: int) -> NDArray[np.intp]:
    """Return all orders of n things, shape (n!, n)."""
    return np.array(list(permutations(range(n))))


def _correlation(
    test: object, x: Sequence[float], y: Sequence[float], scale: tuple[float, int, float]
) -> Tested:
    first, second = _array(x), _array(y)
    if len(first) < 3 or np.ptp(first) <= TIED or np.ptp(second) <= TIED:
        return Tested(None, None, Interval(0.0, None, None))
    found = test(first, second)  # type: ignore[operator]
    r = float(found.statistic)
    widening, lost, confidence = scale
    if len(first) <= lost or abs(r) > 1 - TIED:
        return Tested(r, float(found.pvalue), Interval(r, None, None))
    return Tested(
        r, float(found.pvalue), _fisher(r, widening / np.sqrt(len(first) - lost), confidence)
    )


def _fisher(r: float, error: float, confidence: float) -> Interval:
    """Return an interval of a correlation, symmetric on Fisher's scale."""
    if abs(r) > 1 - TIED:
        return Interval(r, None, None)
    reach = float(stats.norm.ppf((1 + confidence) / 2)) * error
    low, high = np.tanh(np.arctanh(r) + np.array([-reach, reach]))
    return Interval(r, float(low), float(high))


def _array(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not len(values):
        msg = "an empty group has nothing to compare"
        raise ValueError(msg)
    return np.asarray(values, dtype=np.float64)
