"""Estimate means of values that come in clusters, such as the items of one project.

Items of a cluster are not independent: with 17 clusters a plain test errs in a third of its
decisions at .05. Whole clusters are resampled instead, and every resampled mean is divided by
its own standard error. The interval is symmetric (the quantile of the absolute t), which with few
clusters of uneven size covers better than one of two tails or the t of G - 1. The means of
clusters that are all as large are independent values, and are tested as such.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from memoprobe.stats.interval import Difference, Interval, mean_interval, welch_contrast
from memoprobe.stats.resample import upper_p

RESAMPLES = 1999
MIN_CLUSTERS = 3
"""Fewer say nothing of their spread."""

FEW_CLUSTERS = 10
"""Fewer are too few to resample: one cluster drawn each time has no spread at all."""

_TINY = 1e-12  # a standard error that is rounding alone
_AT_ONCE = 2**21  # clusters drawn before they are counted: 16 MB

Floats = NDArray[np.float64]


class _Sums(NamedTuple):
    totals: Floats  # of the values of each cluster, shape (n_clusters,)
    sizes: Floats  # number of its values, same shape


class _Mean(NamedTuple):
    estimate: Floats  # of the values, or of each resample
    error: Floats  # standard error, cluster-robust (CR1)


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Return the mean of ``values`` with an interval that knows their clusters.

    Where all clusters are as large it is the t interval of their means; with fewer than ten that
    of one degree of freedom less than their number, with fewer than three there is none.

    Args:
        values: Shape (n,).
        clusters: The cluster of each value.
        rng: Draws the resamples.
        confidence: Of the interval.
    """
    if _all_alone(clusters):
        return mean_interval(values, confidence=confidence)
    sums = _sums(values, clusters)
    if _balanced(sums):
        return mean_interval(_means(sums), confidence=confidence)
    mean = _mean(sums)
    estimate = float(mean.estimate)
    if _unknown(mean, sums):
        return Interval(estimate, None, None)
    if (n_clusters := sums.totals.shape[-1]) < FEW_CLUSTERS:
        quantile = float(stats.t.ppf((1 + confidence) / 2, n_clusters - 1))
    else:
        again = _resampled(sums, rng)
        quantile = float(
            np.quantile(np.abs(again.estimate - mean.estimate) / again.error, confidence)
        )
    reach = quantile * float(mean.error)
    return Interval(estimate, estimate - reach, estimate + reach)


class Group(NamedTuple):
    """Hold the values of one group and the cluster of each."""

    values: Sequence[float]
    clusters: Sequence[Hashable]


def clustered_difference(
    a: Group, b: Group, rng: np.random.Generator, *, confidence: float = 0.95
) -> Difference:
    """Return mean(a) - mean(b) with its test; Welch's where no two values share a cluster."""
    return clustered_contrast([a, b], [1.0, -1.0], rng, confidence=confidence)


def clustered_contrast(
    groups: Sequence[Group],
    weights: Sequence[float],
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
) -> Difference:
    """Return a weighted sum of group means, its interval and the test that it is 0.

    Where all clusters of a group are as large it is Welch's t test of their means with
    Satterthwaite's degrees of freedom. Else whole clusters of every group are resampled, the
    two-sided p-value is the share of resampled absolute t at least as large, and ``df`` is
    None; with fewer than ten clusters in a group it is the t of one less than their number.
    Only the sum is known where a group has fewer than three clusters (two lone values in
    Welch's case), or where nothing has any spread.

    Args:
        groups: Independent of each other.
        weights: One a group.
        rng: Draws the resamples.
        confidence: Of the interval.

    Raises:
        ValueError: A group is empty.
    """
    if all(_all_alone(group.clusters) for group in groups):
        return welch_contrast([group.values for group in groups], weights, confidence=confidence)
    sums = [_sums(*group) for group in groups]
    if all(map(_balanced, sums)):
        return welch_contrast([_means(each) for each in sums], weights, confidence=confidence)
    means = [_mean(each) for each in sums]
    estimate = _weighted(means, weights)
    error = _error(means, weights)
    few = any(each.totals.shape[-1] < MIN_CLUSTERS for each in sums)
    if few or float(error) <= _TINY:
        return Difference(float(estimate), None, None, None, None, None)
    statistic, middle = float(estimate / error), float(estimate)
    fewest = min(each.totals.shape[-1] for each in sums)
    if fewest < FEW_CLUSTERS:
        df = fewest - 1
        reach = float(stats.t.ppf((1 + confidence) / 2, df) * error)
        p_value = float(2 * stats.t.sf(abs(statistic), df))
        return Difference(middle, middle - reach, middle + reach, statistic, p_value, df)
    again = [_resampled(each, rng) for each in sums]
    drawn = np.abs(_weighted(again, weights) - estimate) / _error(again, weights)
    reach = float(np.quantile(drawn, confidence) * error)
    p_value = upper_p(abs(statistic), drawn)
    return Difference(middle, middle - reach, middle + reach, statistic, p_value, None)


def _weighted(means: Sequence[_Mean], weights: Sequence[float]) -> Floats:
    return np.asarray(sum(w * mean.estimate for w, mean in zip(weights, means, strict=True)))


def _error(means: Sequence[_Mean], weights: Sequence[float]) -> Floats:
    squares = sum((w * mean.error) ** 2 for w, mean in zip(weights, means, strict=True))
    error: Floats = np.sqrt(np.asarray(squares))
    return error


def _all_alone(clusters: Sequence[Hashable]) -> bool:
    return len(set(clusters)) == len(clusters)


def _balanced(sums: _Sums) -> bool:
    """Whether all clusters are as large: then their means are independent values of one kind."""
    return len(sums.sizes) >= MIN_CLUSTERS and bool((sums.sizes == sums.sizes[0]).all())


def _means(sums: _Sums) -> list[float]:
    means: list[float] = (sums.totals / sums.sizes).tolist()
    return means


def _sums(values: Sequence[float], clusters: Sequence[Hashable]) -> _Sums:
    index = {name: k for k, name in enumerate(dict.fromkeys(clusters))}
    place = np.array([index[name] for name in clusters])
    totals: Floats = np.bincount(place, weights=np.asarray(values, dtype=np.float64)).astype(float)
    return _Sums(totals, np.bincount(place).astype(np.float64))


def _mean(sums: _Sums) -> _Mean:
    """Return the mean with its CR1 error; without any spread that is tiny, not 0."""
    totals, sizes = sums
    n = sizes.sum()
    n_clusters = len(totals)
    estimate = totals.sum() / n
    squares = ((totals - estimate * sizes) ** 2).sum()
    error = np.sqrt(squares * n_clusters / (n_clusters - 1)) / n if n_clusters > 1 else 0.0 * n
    return _Mean(estimate, np.maximum(error, _TINY))


def _unknown(mean: _Mean, sums: _Sums) -> bool:
    return sums.totals.shape[-1] < MIN_CLUSTERS or float(mean.error) <= _TINY


def _resampled(sums: _Sums, rng: np.random.Generator) -> _Mean:
    """Return the means, shape (RESAMPLES,), of as many clusters drawn with replacement.

    A resample is how often it has each cluster; the sums over it are products with these
    numbers, of totals about the mean so that no digits are lost.
    """
    n_clusters = len(sums.totals)
    middle = sums.totals.sum() / sums.sizes.sum()
    about = sums.totals - middle * sums.sizes
    terms = np.stack([sums.sizes, about, about**2, about * sums.sizes, sums.sizes**2], axis=1)
    rows = max(1, _AT_ONCE // n_clusters)
    parts = [
        _times_drawn(min(rows, RESAMPLES - start), n_clusters, rng) @ terms
        for start in range(0, RESAMPLES, rows)
    ]
    n, total, squares, products, sizes = np.concatenate(parts).T
    shift = total / n
    spread = np.maximum(squares - 2 * shift * products + shift**2 * sizes, 0.0)
    error = np.sqrt(spread * n_clusters / (n_clusters - 1)) / n
    return _Mean(middle + shift, np.maximum(error, _TINY))


def _times_drawn(n_resamples: int, n_clusters: int, rng: np.random.Generator) -> Floats:
    """Return how often each resample has each cluster, shape (n_resamples, n_clusters)."""
    chosen = rng.integers(n_clusters, size=(n_resamples, n_clusters))
    chosen += np.arange(n_resamples)[:, None] * n_clusters
    times = np.bincount(chosen.ravel(), minlength=n_resamples * n_clusters)
    return times.reshape(n_resamples, n_clusters).astype(np.float64)
