"""Compare two groups by the ranks of their values."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from memoprobe.stats.interval import Interval

_EXACT_UP_TO = 8
"""Largest smaller group of an exact U test, SciPy's own rule."""

_EXACT_PAIRS = 2000
"""Most pairs of an exact U test: 8 values against 9,500 would take half a second."""


class RankTest(NamedTuple):
    """Hold a rank statistic and its two-sided p-value."""

    statistic: float
    p_value: float


class _Dominance(NamedTuple):
    shares: NDArray[np.float64]  # per value: share of the other group below it minus that above
    n_untied: int  # pairs that differ


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> RankTest:
    """Return the Mann-Whitney U of ``a`` against ``b``, two-sided.

    U counts the pairs in which the value of ``a`` is the larger, ties by half. The
    p-value is exact where no value is tied, the smaller group has at most 8 values and
    there are at most 2,000 pairs; else by the normal approximation with corrections for
    ties and continuity. It is 1 where all values are equal.

    Raises:
        ValueError: A group is empty.
    """
    first, second = _groups(a, b)
    n, m = len(first), len(second)
    n_distinct = len(np.unique(np.concatenate([first, second])))
    if n_distinct == 1:
        return RankTest(n * m / 2, 1.0)
    exact = n_distinct == n + m and min(n, m) <= _EXACT_UP_TO and n * m <= _EXACT_PAIRS
    result = stats.mannwhitneyu(
        first,
        second,
        alternative="two-sided",
        method="exact" if exact else "asymptotic",
        use_continuity=True,
    )
    return RankTest(float(result.statistic), float(result.pvalue))


def cliffs_delta(a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Return Cliff's delta, the share of pairs with a > b minus that with a < b, in [-1, 1].

    The interval is the asymmetric one of Cliff (1996) and Feng and Cliff (2004) from the
    unbiased variance, with t quantiles; it stays inside [-1, 1]. That variance vanishes
    where the groups do not overlap; there the interval is Wilson's for the smaller group,
    as Cliff proposes. It is None where a group has a single value.

    Raises:
        ValueError: A group is empty.
    """
    first, second = _groups(a, b)
    rows, columns = _dominance(first, second), _dominance(second, first)
    delta = float(rows.shares.mean())
    n, m = len(first), len(second)
    if min(n, m) < 2:
        return Interval(delta, None, None)
    t2 = float(stats.t.ppf((1 + confidence) / 2, n + m - 2)) ** 2
    if abs(delta) == 1:
        bound = delta * (min(n, m) - t2) / (min(n, m) + t2)
        return Interval(delta, min(delta, bound), max(delta, bound))
    variance = _variance(rows, columns, delta)
    reach = float(np.sqrt(t2 * variance * ((1 - delta**2) ** 2 + t2 * variance)))
    middle, scale = delta - delta**3, 1 - delta**2 + t2 * variance
    return Interval(delta, (middle - reach) / scale, (middle + reach) / scale)


def _variance(rows: _Dominance, columns: _Dominance, delta: float) -> float:
    """Return the unbiased variance of delta, at least Cliff's bound, without the n x m matrix."""
    n, m = len(rows.shares), len(columns.shares)
    row_squares = float(((rows.shares - delta) ** 2).sum())
    column_squares = float(((columns.shares + delta) ** 2).sum())
    pair_squares = rows.n_untied - n * m * delta**2
    unbiased = (m**2 * row_squares + n**2 * column_squares - pair_squares) / (
        n * m * (n - 1) * (m - 1)
    )
    return max(unbiased, (1 - delta**2) / (n * m - 1))


def _dominance(values: NDArray[np.float64], others: NDArray[np.float64]) -> _Dominance:
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left")
    above = len(ordered) - np.searchsorted(ordered, values, side="right")
    return _Dominance((below - above) / len(ordered), int((below + above).sum()))


def _groups(
    a: Sequence[float], b: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not len(a) or not len(b):
        msg = f"need two groups with values, got {len(a)} and {len(b)}"
        raise ValueError(msg)
    return np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
