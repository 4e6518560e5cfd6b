"""Say in plain words what was asked and what was found, and no more than METHOD 4 allows."""

from collections.abc import Sequence
from typing import NamedTuple

from memoprobe.records import Comparison
from memoprobe.report.data import PLACEBO, PRIMARY_DEFINITION, ReportData, primary_metric
from memoprobe.report.summary import SummaryRow
from memoprobe.report.text import interval, plural

_SPELLED_OUT = 4
"""Up to how many cells the headline names each; more are counted."""

_NO_BREAK = "\u00a0"
_INTERVAL = f"95{_NO_BREAK}% interval"

ASKED = (
    "How far does performance fall when an item moves away from its published form, "
    "and does it fall further than on control items, which the model cannot have seen?"
)
LIMITS = (
    "“Sensitive” means that performance falls, not why: the model may know the published wording, "
    "lack the skill, or meet a perturbation that makes the task harder for everybody. And an item "
    "known very well may not fall at all, so read recall beside the fall."
)


class Headline(NamedTuple):
    """Hold the report's answer: each part a few sentences."""

    asked: str
    done: str
    found: tuple[str, ...]
    limits: str


class _Finding(NamedTuple):
    where: str
    estimate: float
    low: float | None
    high: float | None
    n: str

    @property
    def positive(self) -> bool:
        return self.low is not None and self.low > 0

    def __str__(self) -> str:
        around = interval(self.estimate, self.low, self.high).replace(" ", _NO_BREAK)
        return f"{around} (n{_NO_BREAK}={_NO_BREAK}{self.n})"


def headline(data: ReportData, summary: Sequence[SummaryRow]) -> Headline:
    """Return what was asked, done and found, by rule and for the primary metric alone.

    A cell is called sensitive where the 95 % interval of its items' mean calibrated
    fall lies above 0.
    """
    metric = primary_metric({row.metric for row in summary if row.metric})
    falls = [
        _Finding(_where(row.model, row.benchmark, row.perturbation), *row.calibrated, str(row.n))
        for row in summary
        if row.metric == metric and row.group == "items" and row.perturbation != PLACEBO
        if row.calibrated
    ]
    contrasts = [
        _Finding(
            _where(item.subject, item.context, item.perturbation),
            item.effect,
            item.effect_low,
            item.effect_high,
            f"{item.n_subject} items and {item.n_rest} controls",
        )
        for item in data.comparisons
        if item.effect is not None and _is_contrast(item, metric)
    ]
    return Headline(ASKED, _done(data), (*_falls(falls), _contrasts(data, contrasts)), LIMITS)


def _where(subject: str, context: str, perturbation: str) -> str:
    return f"{' on '.join(filter(None, (subject, context)))} ({perturbation})"


def _is_contrast(item: Comparison, metric: str | None) -> bool:
    return (item.question, item.test, item.definition, item.metric) == (
        "memorization",
        "mean",
        PRIMARY_DEFINITION,
        metric,
    )


def _done(data: ReportData) -> str:
    models = {cell.model for cell in data.cells}
    sizes = {cell.benchmark: cell.n_samples for cell in data.cells}
    answered = sum(cell.answered for cell in data.cells)
    planned = sum(cell.planned for cell in data.cells)
    return (
        f"{plural(len(models), 'model')} on {plural(len(sizes), 'benchmark')} with "
        f"{plural(sum(sizes.values()), 'sample')}: {answered:,} of {planned:,} planned answers."
    )


def _falls(falls: Sequence[_Finding]) -> list[str]:
    if not falls:
        return ["There is nothing to report yet: no sample has enough scored levels."]
    if len(falls) <= _SPELLED_OUT:
        return [
            f"{fall.where} {'is' if fall.positive else 'is not shown to be'} sensitive: averaged "
            f"over the levels, performance falls by {fall}."
            for fall in falls
        ]
    n_positive = sum(fall.positive for fall in falls)
    largest = max(falls, key=lambda fall: fall.estimate)
    return [
        f"{n_positive} of {len(falls)} pairs of model and benchmark are sensitive: the {_INTERVAL} "
        "of their mean fall, not corrected for the number of pairs, lies above 0. "
        f"The largest fall is that of {largest.where}: {largest}."
    ]


def _contrasts(data: ReportData, contrasts: Sequence[_Finding]) -> str:
    if not data.controls:
        return (
            "There are no control items, so a fall of this model cannot be told from one that "
            "every model shows."
        )
    if not contrasts:
        return "Items and controls have not been compared: too few of them have a value."
    if len(contrasts) <= _SPELLED_OUT:
        differences = "; ".join(f"{item.where} {item}" for item in contrasts)
        return f"Fall of the items minus fall of the controls: {differences}."
    n_positive = sum(item.positive for item in contrasts)
    largest = max(contrasts, key=lambda item: item.estimate)
    return (
        f"In {n_positive} of {len(contrasts)} pairs with controls the items fall further than the "
        f"controls: the {_INTERVAL} of the difference lies above 0. The largest difference is "
        f"that of {largest.where}: {largest}."
    )
