"""Compute what a statistic would be if order did not matter: means over orders, permutation p."""

from collections import Counter
from functools import lru_cache, reduce
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_EXACT = 8
"""Longest curve whose orders are all visited (40,320); a longer one gets as many random orders."""

TOLERANCE = 1e-9
"""Values nearer than this count as tied: sums of the same numbers differ by rounding."""


class LargestSteps(NamedTuple):
    """Hold, per curve, the mean over all orders of its largest step; shape (n_curves,)."""

    fall: NDArray[np.float64]  # signed: value minus the next
    change: NDArray[np.float64]  # absolute


def mean_largest_steps(curves: NDArray[np.float64]) -> LargestSteps:
    """Return what the largest step between neighbours is on average over all orders of a curve.

    Args:
        curves: Shape (n_curves, length), length at least 2.
    """
    n_curves, length = curves.shape
    orders = _orders(length)
    steps = orders[:, :-1] * length + orders[:, 1:]
    falls = (curves[:, :, None] - curves[:, None, :]).reshape(n_curves, -1)
    means = LargestSteps(np.empty(n_curves), np.empty(n_curves))
    width = max(1, 2**16 // len(orders))  # curves at a time, so that a block stays in the cache
    for start in range(0, n_curves, width):
        block = slice(start, start + width)
        for mean, values in zip(means, (falls[block], np.abs(falls[block])), strict=True):
            largest = reduce(np.maximum, (values.take(step, axis=1) for step in steps.T))
            mean[block] = largest.mean(axis=1)
    return means


@lru_cache(maxsize=16)
def _orders(length: int) -> NDArray[np.intp]:
    """Return orders of ``range(length)``, one a row."""
    if length <= MAX_EXACT:
        return np.array(list(permutations(range(length))), dtype=np.intp)
    rows = np.tile(np.arange(length), (40_320, 1))
    return np.random.default_rng(length).permuted(rows, axis=1)


def shuffles(n: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return ``count`` random orders of ``range(n)``, one a column; shape (n, count)."""
    rows = np.tile(np.arange(n, dtype=np.intp), (count, 1))
    return np.ascontiguousarray(rng.permuted(rows, axis=1).T)


class Permuted(NamedTuple):
    """Hold what permuted values give in every shuffle."""

    means: NDArray[np.float64]  # per level, shape (n_levels, n_shuffles)
    falls: list[NDArray[np.float64]]  # per repeat, level mean minus the next; one row a step


def permute(
    values: NDArray[np.float64],
    repeats: tuple[tuple[int, ...], ...],
    table: NDArray[np.intp],
) -> Permuted:
    """Deal ``values`` anew over all places of a design, as often as ``table`` has columns.

    Args:
        values: As many as there are places, in any order, shape (n,).
        repeats: For every level the repeat of each of its places. A repeat may lack a
            level, its falls then run between the levels it has; a repeat with a single
            level, or without the first, has none.
        table: From ``shuffles``, shape (n, n_shuffles).
    """
    design = _design(repeats)
    dealt = values[table]
    # One value for every cell, then a second for every cell that has two places, and so on:
    # adding blocks takes a third of the time of a matrix that averages single places.
    sums, start = dealt[: design.rounds[0]], design.rounds[0]
    for width in design.rounds[1:]:
        sums[:width] += dealt[start : start + width]
        start += width
    results = design.matrix @ sums
    return Permuted(results[: len(repeats)], [results[rows] for rows in design.falls])


class _Design(NamedTuple):
    rounds: list[int]  # how many cells (level, repeat) have a first place, a second, ...
    matrix: NDArray[np.float64]  # sums of cells -> level means, then each repeat's falls
    falls: list[slice]  # the rows of each repeat


@lru_cache(maxsize=1024)
def _design(repeats: tuple[tuple[int, ...], ...]) -> _Design:
    places = Counter((level, r) for level, repeat in enumerate(repeats) for r in repeat)
    cells = places.most_common()
    level_of, repeat_of = np.array([cell for cell, _ in cells]).T
    sizes = np.array([size for _, size in cells])
    totals = np.array([[len(repeat)] for repeat in repeats])
    rows = [(level_of == np.arange(len(repeats))[:, None]) / totals]
    falls: list[slice] = []
    end = len(repeats)
    for repeat in np.unique(repeat_of):
        own = repeat_of == repeat
        means = (own & (level_of == np.unique(level_of[own])[:, None])) / sizes
        if level_of[own].min() == 0 and len(means) > 1:
            rows.append(means[:-1] - means[1:])
            falls.append(slice(end, end + len(means) - 1))
            end += len(means) - 1
    rounds = [int((sizes > turn).sum()) for turn in range(sizes.max())]
    return _Design(rounds, np.concatenate(rows), falls)


def upper_p(observed: float, null: NDArray[np.float64]) -> float:
    """Return the one-sided p-value (1 + #{null >= observed}) / (1 + #null); ties count."""
    return (1 + int(np.count_nonzero(null >= observed - TOLERANCE))) / (1 + len(null))
