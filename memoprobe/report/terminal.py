"""Write the summary of a run for a terminal: two tables a model, the rest is in the report."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from memoprobe.report.answer import Finding, findings
from memoprobe.report.data import ReportData, labelled, primary_metric
from memoprobe.report.summary import SummaryRow, rows
from memoprobe.report.tables import is_flagged, shown
from memoprobe.report.text import interval, number, visible

_NARROW: dict[str, Callable[[SummaryRow], str]] = {
    "benchmark": lambda row: visible(row.benchmark),
    "perturbation": lambda row: visible(labelled(row.perturbation)),
    "group": lambda row: row.group,
    "n": lambda row: str(row.n),
    "recall": lambda row: number(row.recall),
    "floor": lambda row: number(row.floor),
    "calibrated [95 %]": lambda row: shown(row.calibrated and row.calibrated[:3], "interval"),
    "excess": lambda row: number(row.excess),
    "p<.05": lambda row: shown(row.noise_share, "share"),
    "trunc": lambda row: shown(row.truncated, "truncated"),
    "excl": lambda row: str(row.excluded),
}
"""Heading -> what stands below it."""

_CONTRASTS: dict[str, Callable[[Finding], str]] = {
    "fall of items": lambda found: interval(*found.fall[:3]),
    "minus controls'": lambda found: _effect(found.difference),
    "retention": lambda found: _effect(found.retention),
    "recall": lambda found: _effect(found.recall),
}


def text(data: ReportData) -> str:
    """Return the summary by the primary metric as plain text, under 120 columns as a rule."""
    summary = rows(data)
    metric = primary_metric({row.metric for row in summary if row.metric})
    others = sorted({row.metric for row in summary if row.metric} - {metric})
    found = {
        model: list(same)
        for model, same in groupby(findings(data, summary), lambda each: each.cell.model)
    }
    blocks = []
    mine = sorted(
        (row for row in summary if row.metric in {metric, None}), key=lambda row: row.model
    )
    for model, members in groupby(mine, lambda row: row.model):
        lines = [[cell(row) for cell in _NARROW.values()] for row in members]
        title = visible(f"{model} · {metric or 'nothing scored'}")
        blocks.append(f"{title}\n{_table([list(_NARROW), *lines], 3)}")
        if found.get(model):
            blocks.append(_said(found[model]))
    if any(is_flagged(row.truncated, "truncated") for row in mine):
        blocks.append(
            "! 2 % or more of the answers were cut off; a higher max_tokens takes another --db"
        )
    if others:
        blocks.append(f"(scored too, see the report: {', '.join(map(visible, others))})")
    return "\n\n".join(blocks)


def _said(found: Sequence[Finding]) -> str:
    """Return what may be said of a model's benchmarks, with the contrasts it rests on."""
    has_controls = any(each.difference for each in found)
    contrasts = _CONTRASTS if has_controls else {}
    head = ["benchmark", "what may be said", *contrasts]
    lines = [
        [visible(each.cell.benchmark), each.claim, *(cell(each) for cell in contrasts.values())]
        for each in found
    ]
    notes = [f"{visible(each.cell.benchmark)}: {each.note}" for each in found if each.note]
    if has_controls:
        notes.append("retention: controls' minus items'; recall: items' minus controls'")
    return "\n".join([_table([head, *lines], 2), *notes])


def _effect(row: Any) -> str:  # noqa: ANN401 - a Comparison or None
    return interval(row.effect, row.effect_low, row.effect_high) if row else number(None)


def _table(lines: Sequence[Sequence[str]], n_names: int) -> str:
    """Return aligned columns, the first ``n_names`` to the left as words, the others as numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < n_names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
