"""Say of every model and benchmark what its items show, with the contrasts that it rests on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memoprobe.records import Comparison
from memoprobe.report.claims import Claim, claim
from memoprobe.report.data import UNCLAIMED, CellKey, ReportData, primary_metric
from memoprobe.report.summary import SummaryRow
from memoprobe.report.tables import Column, Table
from memoprobe.stats.correction import holm
from memoprobe.stats.interval import Difference

SIGNIFICANT = 0.05
"""The p-value, by Holm over the map, up to which an estimate is marked."""


class Finding(NamedTuple):
    """Hold what is known of a model's items on a benchmark, by the primary metric.

    Contrasts to controls are None where there are none.
    """

    cell: CellKey
    n: int  # items
    n_controls: int
    fall: Difference
    fall_holm: float | None  # p of the fall, by Holm over all findings
    difference: Comparison | None  # fall of the items minus that of the controls
    retention: Comparison | None  # controls minus items
    recall: Comparison | None  # items minus controls
    claim: Claim
    note: str  # why controls are not comparable


def findings(data: ReportData, summary: Sequence[SummaryRow]) -> list[Finding]:
    """Return a finding for each cell whose items have a fall.

    Placebos and what changes the meaning give none.
    """
    metric = primary_metric({row.metric for row in summary if row.metric})
    contrasts = _contrasts(data, metric)
    chosen = [
        (row, row.calibrated)
        for row in summary
        if row.metric == metric and row.group == "items" and row.perturbation not in UNCLAIMED
        if row.calibrated is not None
    ]
    corrected = _corrected([fall.p_value for _, fall in chosen])
    return [
        _finding(row, fall, p, contrasts.get(row.cell, {}))
        for (row, fall), p in zip(chosen, corrected, strict=True)
    ]


def _contrasts(data: ReportData, metric: str | None) -> dict[CellKey, dict[str, Comparison]]:
    found: dict[CellKey, dict[str, Comparison]] = defaultdict(dict)
    for row in data.comparisons:
        if (row.question, row.test, row.metric) == ("memorization", "mean", metric):
            found[CellKey(row.subject, row.context, row.perturbation)][row.definition] = row
    return found


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    there = iter(holm([p for p in p_values if p is not None]))
    return [p if p is None else next(there) for p in p_values]


def _finding(
    row: SummaryRow, fall: Difference, p: float | None, contrasts: Mapping[str, Comparison]
) -> Finding:
    difference = contrasts.get("calibrated")
    return Finding(
        cell=row.cell,
        n=row.n,
        n_controls=difference.n_rest if difference else 0,
        fall=fall,
        fall_holm=p,
        difference=difference,
        retention=contrasts.get("retention"),
        recall=contrasts.get("recall"),
        claim=claim(contrasts.values(), fall),
        note=next((each.note for each in contrasts.values() if each.note), ""),
    )


COLUMNS = (
    Column("model", "Model"),
    Column("benchmark", "Benchmark"),
    Column("perturbation", "Perturbation"),
    Column("claim", "What may be said"),
    Column("n", "Items", "count"),
    Column("n_controls", "Controls", "count"),
    Column("fall", "Fall [95 %]", "interval"),
    Column("fall_p_holm", "p (Holm)", "p"),
    Column("difference", "Fall minus controls' [95 %]", "interval"),
    Column("difference_p_holm", "p (Holm)", "p"),
    Column("retention", "Retention, controls' minus items' [95 %]", "interval"),
    Column("retention_p_holm", "p (Holm)", "p"),
    Column("recall", "Recall minus controls' [95 %]", "interval"),
    Column("recall_p_holm", "p (Holm)", "p"),
    Column("note", "Note"),
)


def table(found: Sequence[Finding]) -> Table:
    """Return the findings as a table."""
    return Table(
        name="answer",
        title="What may be said",
        columns=COLUMNS,
        rows=[
            [
                *each.cell,
                each.claim,
                each.n,
                each.n_controls,
                each.fall[:3],
                each.fall_holm,
                *_contrast(each.difference),
                *_contrast(each.retention),
                *_contrast(each.recall),
                each.note,
            ]
            for each in found
        ],
    )


def _contrast(row: Comparison | None) -> tuple[object, object]:
    if row is None:
        return None, None
    return (row.effect, row.effect_low, row.effect_high), row.p_holm
