"""Sum a run up: one row per cell, metric and group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from memoprobe.records import Sensitivity
from memoprobe.report import estimates
from memoprobe.report.data import (
    PRIMARY_DEFINITION,
    PRIMARY_METRIC,
    Cell,
    CellKey,
    Group,
    GroupKey,
    ReportData,
    cells,
    finite,
    grouped,
    labelled,
)
from memoprobe.report.tables import TRUNCATION_LIMIT, Column, Table
from memoprobe.stats.interval import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """Sum up one group of samples; a mean is None where no sample has a value."""

    model: str
    benchmark: str
    task: str
    perturbation: str
    metric: str | None  # None where nothing was scored
    group: Group
    n: int = 0  # samples with a calibrated sensitivity
    recall: float | None = None  # mean m_0, performance on the unperturbed samples
    floor: float | None = None  # the metric's floor on the benchmark
    calibrated: Difference | None = None  # mean with its 95 % interval and the test that it is 0
    quantile: float | None = None  # 95 % quantile of the calibrated sensitivities
    paper: float | None = None
    noise_floor: float | None = None  # of the paper definition, as is excess
    excess: float | None = None
    noise_share: float | None = None  # share of samples whose answer_noise_p is below .05
    truncated: float | None  # share of the cell's answers
    excluded: int  # samples of the cell with too few levels

    @property
    def cell(self) -> CellKey:
        """Return the cell that the row is of."""
        return CellKey(self.model, self.benchmark, self.perturbation)

    @property
    def flagged(self) -> bool:
        """Return whether so many answers are truncated that the row is in doubt."""
        return self.truncated is not None and self.truncated >= TRUNCATION_LIMIT


def truncated_share(cell: Cell) -> float | None:
    """Return the share of a cell's answers that were cut off, None without answers."""
    return cell.truncated / cell.answered if cell.answered else None


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are numbers, None where there are none."""
    numbers = finite(values)
    return sum(numbers) / len(numbers) if numbers else None


def rows(data: ReportData) -> list[SummaryRow]:
    """Return one row per metric, model, benchmark, perturbation and group, in this order.

    The primary metric comes first. A cell without any sensitivity keeps a row without
    numbers, so that it is missed.
    """
    groups = grouped(data, data.sensitivities)
    known = estimates.own_falls(data)
    filled: dict[CellKey, list[GroupKey]] = {key: [] for key in cells(data)}
    for group in groups:
        filled[group.cell].append(group)
    found = []
    for key, cell in cells(data).items():
        if not filled[key]:
            found.append(_row(cell, None, "items", {}))
        for group in filled[key]:
            fall = estimates.fall(data, group, estimates.calibrated(groups[group]), known)
            values = _numbers(cell, group, groups[group])
            found.append(_row(cell, group.metric, group.group, {**values, "calibrated": fall}))
    return sorted(found, key=lambda row: rank(row.metric))


def rank(metric: str | None) -> tuple[bool, str]:
    """Return what metrics are sorted by: the primary one is first."""
    return metric != PRIMARY_METRIC, metric or ""


def _row(cell: Cell, metric: str | None, group: Group, values: Mapping[str, object]) -> SummaryRow:
    return SummaryRow(
        model=cell.model,
        benchmark=cell.benchmark,
        task=cell.task,
        perturbation=cell.perturbation,
        metric=metric,
        group=group,
        truncated=truncated_share(cell),
        excluded=cell.excluded,
        **values,  # type: ignore[arg-type]
    )


def _numbers(cell: Cell, key: GroupKey, members: Iterable[Sensitivity]) -> dict[str, object]:
    ordered = sorted(members, key=lambda member: member.definition)
    defined = {name: list(same) for name, same in groupby(ordered, lambda item: item.definition)}
    calibrated = defined.get(PRIMARY_DEFINITION, ())
    paper = defined.get("paper", ())
    values = finite(member.value for member in calibrated)
    noise = finite(member.answer_noise_p for member in calibrated)
    return {
        "n": len(values),
        "recall": mean(member.value for member in defined.get("recall", ())),
        "floor": cell.floor.get(key.metric),
        "quantile": float(np.quantile(values, 0.95)) if values else None,
        "paper": mean(member.value for member in paper),
        "noise_floor": mean(member.noise_floor for member in paper),
        "excess": mean(member.excess for member in paper),
        "noise_share": mean(float(p < 0.05) for p in noise),
    }


COLUMNS = (
    Column("model", "Model"),
    Column("benchmark", "Benchmark"),
    Column("perturbation", "Perturbation"),
    Column("group", "Group"),
    Column("n", "n", "count"),
    Column("recall", "Recall m₀", "number"),
    Column("floor", "Floor", "number"),
    Column("calibrated", "Calibrated [95 %]", "interval"),
    Column("quantile", "95 % quantile", "number"),
    Column("paper", "Paper", "number"),
    Column("noise_floor", "Noise floor", "number"),
    Column("excess", "Excess", "number"),
    Column("noise_share", "Beyond answer noise", "share"),
    Column("truncated", "Truncated", "truncated"),
    Column("excluded", "Excluded", "count"),
)


def tables(summary: Sequence[SummaryRow]) -> list[Table]:
    """Return the summary as one table a metric."""
    return [
        Table(
            name=f"summary-{metric}" if metric else "not-scored",
            title=f"Summary by {metric}" if metric else "Nothing scored",
            columns=COLUMNS,
            rows=[_values(row) for row in same],
        )
        for metric, same in groupby(summary, lambda row: row.metric)
    ]


def _values(row: SummaryRow) -> list[object]:
    shown = replace(row, perturbation=labelled(row.perturbation))
    values = [getattr(shown, column.key) for column in COLUMNS]
    return [value[:3] if isinstance(value, Difference) else value for value in values]
