"""Estimate a mean, and a difference of means, with its t interval."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats


class Interval(NamedTuple):
    """Hold an estimate and its interval; None where nothing is known of the spread."""

    estimate: float
    low: float | None
    high: float | None


class Difference(NamedTuple):
    """Hold a sum of weighted means, its interval and the two-sided test that it is 0."""

    estimate: float
    low: float | None
    high: float | None
    statistic: float | None  # Welch's t
    p_value: float | None
    df: float | None


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Return the mean of independent ``values`` with its t interval.

    The interval is None for a single value and for values that are all equal: they
    show no spread, and an interval of no width would claim certainty.

    Raises:
        ValueError: There are no values.
    """
    array = _array(values)
    mean = float(array.mean())
    if _without_spread(array):
        return Interval(mean, None, None)
    n = len(array)
    reach = float(stats.t.ppf((1 + confidence) / 2, n - 1) * array.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - reach, mean + reach)


def welch_difference(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> Difference:
    """Return mean(a) - mean(b) by Welch's unequal-variances t test, see ``welch_contrast``."""
    return welch_contrast([a, b], [1.0, -1.0], confidence=confidence)


def welch_contrast(
    groups: Sequence[Sequence[float]], weights: Sequence[float], *, confidence: float = 0.95
) -> Difference:
    """Return a weighted sum of the means of independent groups, by a t test.

    Degrees of freedom are Welch and Satterthwaite's. Only the sum is known where a group
    has a single value or no group has any spread.

    Raises:
        ValueError: A group is empty.
    """
    arrays = [_array(group) for group in groups]
    total = sum(w * float(group.mean()) for w, group in zip(weights, arrays, strict=True))
    if min(map(len, arrays)) < 2 or all(map(_without_spread, arrays)):
        return Difference(total, None, None, None, None, None)
    shares = [
        w**2 * float(group.var(ddof=1)) / len(group)
        for w, group in zip(weights, arrays, strict=True)
    ]
    error = float(np.sqrt(sum(shares)))
    df = sum(shares) ** 2 / sum(
        share**2 / (len(group) - 1) for share, group in zip(shares, arrays, strict=True)
    )
    reach = float(stats.t.ppf((1 + confidence) / 2, df)) * error
    statistic = total / error
    p_value = float(2 * stats.t.sf(abs(statistic), df))
    return Difference(total, total - reach, total + reach, statistic, p_value, df)


def _array(values: Sequence[float]) -> NDArray[np.float64]:
    if not len(values):
        msg = "an empty group has no mean"
        raise ValueError(msg)
    return np.asarray(values, dtype=np.float64)


def _without_spread(values: NDArray[np.float64]) -> bool:
    """Tell whether all values are equal but for rounding, whose variance would be noise."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())
