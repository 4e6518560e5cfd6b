"""Choose the words for what a model's items show: by rule, never by eye (METHOD 4)."""

from collections.abc import Iterable
from typing import Literal

from memoprobe.records import Comparison
from memoprobe.stats.interval import Difference

Claim = Literal["memorized", "sensitive", "no fall shown"]

NEEDED = ("own_fall", "calibrated", "retention")
"""The three contrasts that "memorized" needs, each with an interval above 0."""


def claim(contrasts: Iterable[Comparison], own: Difference | None = None) -> Claim:
    """Return what the ``memorization`` rows of one model on one benchmark allow to say.

    "Memorized" where the items fall, fall more than the controls and keep less than they,
    each interval above 0, and the controls are comparable; "sensitive" where they fall.

    Args:
        contrasts: Of one metric and perturbation.
        own: The items' fall where there are no contrasts, for want of controls; then there
            is nothing beyond "sensitive".
    """
    by_definition = {each.definition: each for each in contrasts}
    if all(_is_above(by_definition.get(name)) for name in NEEDED):
        return "sensitive" if any(row.note for row in by_definition.values()) else "memorized"
    falls = _is_above(by_definition.get("own_fall")) or is_positive(own)
    return "sensitive" if falls else "no fall shown"


def is_positive(found: Difference | None) -> bool:
    """Tell whether the interval of an estimate lies above 0."""
    return found is not None and found.low is not None and found.low > 0


def _is_above(contrast: Comparison | None) -> bool:
    return contrast is not None and contrast.effect_low is not None and contrast.effect_low > 0
