"""Correct the p-values of one family for their number.

Each function returns the adjusted values in the order given, at most 1, and an empty
list for an empty family.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def bonferroni(p_values: Sequence[float]) -> list[float]:
    """Multiply each p-value by their number (the study's correction; family-wise error)."""
    p = _checked(p_values)
    return _listed(p * len(p))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust by Holm's step-down method: family-wise error, never above Bonferroni's values."""
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    steps = p[order] * (len(p) - np.arange(len(p)))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(steps)
    return _listed(adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust by Benjamini and Hochberg's step-up method: false discovery rate."""
    p = _checked(p_values)
    falling = np.argsort(p, kind="stable")[::-1]
    steps = p[falling] * len(p) / np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[falling] = np.minimum.accumulate(steps)
    return _listed(adjusted)


def _checked(p_values: Sequence[float]) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():  # false for nan too
        msg = f"p-values must lie in [0, 1], got {list(p_values)}"
        raise ValueError(msg)
    return p


def _listed(adjusted: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in np.minimum(adjusted, 1)]
