"""Say in three sentences what was found, and no more than METHOD 4 allows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memoprobe.records import Comparison
from memoprobe.report.answer import SIGNIFICANT, Finding
from memoprobe.report.claims import is_positive
from memoprobe.report.corners import Placed
from memoprobe.report.data import ReportData
from memoprobe.report.summary import SummaryRow
from memoprobe.report.text import interval, number, plural

_SPELLED_OUT = 3
"""Up to how many pairs of model and benchmark each are named; more are counted."""

_FURTHER = "the items' fall exceeds the controls'"
_MORE = "recall on the items exceeds the controls'"
_COUNTED = ("answered", "planned")
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
    """Hold the report's answer: each part a sentence or a few."""

    asked: str
    done: str
    found: tuple[str, str, str]
    limits: str


def headline(
    data: ReportData,
    summary: Sequence[SummaryRow],
    findings: Sequence[Finding],
    placed: Sequence[Placed],
) -> Headline:
    """Return what was asked, done and found, by rule and for the primary metric alone.

    Args:
        data: What the report is made of.
        summary: Its rows.
        findings: What is known of each model's items on each benchmark.
        placed: Their items by corner.
    """
    found = (
        _falls(findings),
        _against_controls(data, findings),
        _recalls(summary, findings, placed),
    )
    return Headline(ASKED, _done(data), found, LIMITS)


def _done(data: ReportData) -> str:
    models = {cell.model for cell in data.cells}
    sizes = {cell.benchmark: cell.n_samples for cell in data.cells}
    answered = sum(cell.answered for cell in data.cells)
    planned = sum(cell.planned for cell in data.cells)
    said = [f"{answered:,} of {planned:,} planned answers"]
    if data.likelihoods:
        told, wanted = (sum(row[name] for row in data.likelihoods) for name in _COUNTED)
        said = [*(said if planned else ()), f"{told:,} of {wanted:,} planned likelihoods"]
    return (
        f"{plural(len(models), 'model')} on {plural(len(sizes), 'benchmark')} with "
        f"{plural(sum(sizes.values()), 'sample')}: {' and '.join(said)}."
    )


def _falls(findings: Sequence[Finding]) -> str:
    if not findings:
        return "There is nothing to report yet: no sample has enough scored levels."
    if len(findings) <= _SPELLED_OUT:
        listed = "; ".join(
            f"{_fall(each)} for {_where(each)}: "
            f"{'sensitive' if is_positive(each.fall) else 'no fall shown'}"
            for each in findings
        )
        return f"Averaged over the altered levels, performance falls by {listed}."
    n = sum(is_positive(each.fall) for each in findings)
    n_holm = sum(
        is_positive(each.fall) and (each.fall_holm or 0) <= SIGNIFICANT for each in findings
    )
    largest = max(findings, key=lambda each: each.fall.estimate)
    return (
        f"{n} of {len(findings)} pairs of model and benchmark are sensitive: the {_INTERVAL} "
        f"of their mean fall lies above 0 ({n_holm} of them after Holm's correction), and the "
        f"largest fall is that of {_where(largest)}, {_fall(largest)}."
    )


def _against_controls(data: ReportData, findings: Sequence[Finding]) -> str:
    if not data.controls:
        return (
            "There are no control items, so a fall of this model cannot be told from one that "
            "every model shows."
        )
    known = [each for each in findings if each.difference is not None]
    if not known:
        return "Items and controls have not been compared: too few of them have a value."
    said = _contrasts(known, lambda each: each.difference, _FURTHER)
    claimed = [each for each in known if each.claim == "memorized"]
    unlike = sum(bool(each.note) for each in known)
    unmatched = f" (in {unlike} of {len(known)} the controls are not comparable)" if unlike else ""
    if not claimed:
        return (
            f"{said}; none meets all three conditions for saying more than “sensitive”{unmatched}."
        )
    names = ", ".join(_where(each) for each in claimed[:_SPELLED_OUT])
    more = f" and {len(claimed) - _SPELLED_OUT} more" if len(claimed) > _SPELLED_OUT else ""
    return f"{said}; “{claimed[0].claim}” may be said of {names}{more}{unmatched}."


def _recalls(
    summary: Sequence[SummaryRow], findings: Sequence[Finding], placed: Sequence[Placed]
) -> str:
    known = [each for each in findings if each.recall is not None]
    if not known:
        cells = {each.cell for each in findings}
        recalls = [
            row.recall
            for row in summary
            if row.cell in cells and row.group == "items" and row.recall is not None
        ]
        if not recalls:
            return "Recall is not known: there is no reference to compare the answers with."
        return (
            f"Recall, the performance on the original items, lies between {number(min(recalls))} "
            f"and {number(max(recalls))}; it too needs controls before it says anything of memory."
        )
    said = _contrasts(known, lambda each: each.recall, _MORE)
    totals = {
        name: sum(each.counts[name] for each in placed)
        for name in (placed[0].counts if placed else ())
    }
    if not totals:
        return f"{said}."
    listed = ", ".join(f"{n:,} {name}" for name, n in totals.items())
    return f"{said}; of {plural(sum(totals.values()), 'item')}: {listed}."


def _contrasts(
    known: Sequence[Finding], contrast: Callable[[Finding], Comparison | None], what: str
) -> str:
    pairs = [(each, row) for each in known if (row := contrast(each)) and row.effect is not None]
    if len(pairs) <= _SPELLED_OUT:
        listed = "; ".join(f"by {_effect(row)} for {_where(each)}" for each, row in pairs)
        return f"{what[0].upper()}{what[1:]} {listed}"
    n = sum((row.effect_low or 0) > 0 for _, row in pairs)
    each, row = max(pairs, key=lambda pair: pair[1].effect or 0)
    return (
        f"In {n} of {len(pairs)} pairs {what}, its {_INTERVAL} above 0, most so for "
        f"{_where(each)}, by {_effect(row)}"
    )


def _where(found: Finding) -> str:
    return f"{found.cell.model} on {found.cell.benchmark} ({found.cell.perturbation})"


def _fall(found: Finding) -> str:
    around = interval(*found.fall[:3]).replace(" ", _NO_BREAK)
    return f"{around} (n{_NO_BREAK}={_NO_BREAK}{found.n})"


def _effect(row: Comparison) -> str:
    around = interval(row.effect, row.effect_low, row.effect_high).replace(" ", _NO_BREAK)
    return f"{around} ({row.n_subject} items, {row.n_rest} controls)"
