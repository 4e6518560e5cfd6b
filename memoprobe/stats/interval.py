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
    """Hold a difference of means, its interval and the two-sided test that it is 0."""

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
    """Return mean(a) - mean(b) by Welch's unequal-variances t test.

    Degrees of freedom are Welch and Satterthwaite's. Only the difference is known
    where a group has a single value or neither group has any spread.

    Raises:
        ValueError: A group is empty.
    """
    first, second = _array(a), _array(b)
    difference = float(first.mean() - second.mean())
    one_is_single = min(len(first), len(second)) < 2
    if one_is_single or (_without_spread(first) and _without_spread(second)):
        return Difference(difference, None, None, None, None, None)
    shares = [float(group.var(ddof=1)) / len(group) for group in (first, second)]
    error = float(np.sqrt(sum(shares)))
    df = sum(shares) ** 2 / (shares[0] ** 2 / (len(first) - 1) + shares[1] ** 2 / (len(second) - 1))
    reach = float(stats.t.ppf((1 + confidence) / 2, df)) * error
    statistic = difference / error
    p_value = float(2 * stats.t.sf(abs(statistic), df))
    return Difference(difference, difference - reach, difference + reach, statistic, p_value, df)


def _array(values: Sequence[float]) -> NDArray[np.float64]:
    if not len(values):
        msg = "an empty group has no mean"
        raise ValueError(msg)
    return np.asarray(values, dtype=np.float64)


def _without_spread(values: NDArray[np.float64]) -> bool:
    """Tell whether all values are equal but for rounding, whose variance would be noise."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())
