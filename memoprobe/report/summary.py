"""Sum a run up: one row per cell, metric and group, for the terminal and for the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from memoprobe.records import Comparison, Sensitivity
from memoprobe.report.claims import claim
from memoprobe.report.data import (
    PLACEBO,
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
)
from memoprobe.report.text import interval, number, p_value, percent, visible
from memoprobe.stats.interval import Interval, mean_interval

TRUNCATION_LIMIT = 0.02
"""The share of truncated answers from which a cell is flagged (METHOD 2.6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """Sum up one group of samples; a mean is None where no sample has a value."""

    model: str
    benchmark: str
    task: str
    perturbation: str
    metric: str | None  # None where nothing was scored
    group: Group
    n: int  # samples with a calibrated sensitivity
    recall: float | None  # mean m_0, performance on the unperturbed samples
    floor: float | None  # the metric's floor on the benchmark
    calibrated: Interval | None  # mean with its 95 % t interval
    paper: float | None
    noise_floor: float | None  # of the paper definition, as is excess
    excess: float | None
    noise_share: float | None  # share of samples whose calibrated answer_noise_p is below .05
    truncated: float | None  # share of the cell's answers
    excluded: int  # samples of the cell with too few levels

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


def by_definition(members: Iterable[Sensitivity]) -> dict[str, list[Sensitivity]]:
    """Return the sensitivities of a group by definition."""
    ordered = sorted(members, key=lambda member: member.definition)
    return {name: list(same) for name, same in groupby(ordered, lambda item: item.definition)}


def rows(data: ReportData) -> list[SummaryRow]:
    """Return one row per metric, model, benchmark, perturbation and group, in this order.

    The primary metric comes first. A cell without any sensitivity keeps a row without
    numbers, so that it is missed.
    """
    groups = grouped(data, data.sensitivities)
    filled: dict[CellKey, list[GroupKey]] = {key: [] for key in cells(data)}
    for group in groups:
        filled[group.cell].append(group)
    found = [
        row
        for key, cell in cells(data).items()
        for row in (
            [_row(cell, group, by_definition(groups[group])) for group in filled[key]]
            or [_empty_row(cell)]
        )
    ]
    return sorted(found, key=lambda row: _rank(row.metric))


def _row(cell: Cell, key: GroupKey, defined: Mapping[str, Sequence[Sensitivity]]) -> SummaryRow:
    calibrated = defined.get(PRIMARY_DEFINITION, ())
    paper = defined.get("paper", ())
    values = finite(member.value for member in calibrated)
    noise = finite(member.answer_noise_p for member in calibrated)
    return SummaryRow(
        model=cell.model,
        benchmark=cell.benchmark,
        task=cell.task,
        perturbation=cell.perturbation,
        metric=key.metric,
        group=key.group,
        n=len(values),
        recall=mean(member.value for member in defined.get("recall", ())),
        floor=cell.floor.get(key.metric),
        calibrated=mean_interval(values) if values else None,
        paper=mean(member.value for member in paper),
        noise_floor=mean(member.noise_floor for member in paper),
        excess=mean(member.excess for member in paper),
        noise_share=mean(float(p < 0.05) for p in noise),
        truncated=truncated_share(cell),
        excluded=cell.excluded,
    )


def _empty_row(cell: Cell) -> SummaryRow:
    return SummaryRow(
        model=cell.model,
        benchmark=cell.benchmark,
        task=cell.task,
        perturbation=cell.perturbation,
        metric=None,
        group="items",
        n=0,
        recall=None,
        floor=None,
        calibrated=None,
        paper=None,
        noise_floor=None,
        excess=None,
        noise_share=None,
        truncated=truncated_share(cell),
        excluded=cell.excluded,
    )


_HEADER = (
    *("benchmark", "group", "n", "recall", "floor", "calibrated [95 %]", "paper", "noise"),
    *("excess", "p<.05", "trunc", "excl"),
)


def text(summary: Sequence[SummaryRow], comparisons: Iterable[Comparison] = ()) -> str:
    """Return the summary as plain text, under 120 columns for benchmark names of usual length.

    Args:
        summary: What ``rows`` returns.
        comparisons: Those of the question "memorization" follow in tables of their own.
    """
    blocks = []
    order = sorted(summary, key=lambda row: (row.model, row.perturbation, *_rank(row.metric)))
    for (model, perturbation, metric), members in groupby(
        order, lambda row: (row.model, row.perturbation, row.metric)
    ):
        title = visible(f"{model} · {perturbation} · {metric or 'nothing scored'}")
        blocks.append(f"{title}\n{_table([_HEADER, *map(_texts, members)])}")
    if any(row.flagged for row in summary):
        blocks.append("! 2 % or more of the answers were cut off at max_tokens")
    memorization = [item for item in comparisons if item.question == "memorization"]
    blocks += _contrasts([item for item in memorization if item.test == "mean"])
    blocks += _claims(memorization)
    return "\n\n".join(blocks)


def _texts(row: SummaryRow) -> tuple[str, ...]:
    return (
        visible(row.benchmark),
        row.group,
        str(row.n),
        number(row.recall),
        number(row.floor),
        interval(*row.calibrated) if row.calibrated else number(None),
        number(row.paper),
        number(row.noise_floor),
        number(row.excess),
        percent(row.noise_share),
        percent(row.truncated, 1) + ("!" if row.flagged else ""),
        str(row.excluded),
    )


def _table(lines: Sequence[Sequence[str]], n_names: int = 2) -> str:
    """Return aligned columns, the first ``n_names`` to the left as words, the others as numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < n_names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _rank(metric: str | None) -> tuple[bool, str]:
    return metric != PRIMARY_METRIC, metric or ""


_CONTRASTS = {
    "own_fall": "fall of the items",
    "retention": "retention above the floor, controls minus items",
}
_place = attrgetter("subject", "context", "perturbation")

_CONTRAST_HEADER = (
    *("model", "benchmark", "perturbation", "difference [95 %]", "p", "adjusted"),
    *("items", "controls"),
)


def _contrasts(memorization: Sequence[Comparison]) -> list[str]:
    """Return a table per metric and definition of the differences of items and controls."""
    tables = []
    order = sorted(memorization, key=lambda item: (*_rank(item.metric), item.definition))
    for (metric, definition), members in groupby(
        order, lambda item: (item.metric, item.definition)
    ):
        lines = [_CONTRAST_HEADER, *map(_contrast, members)]
        what = _CONTRASTS.get(definition, "items minus controls")
        tables.append(f"{what} · {definition} · {metric}\n{_table(lines, 3)}")
    return tables


def _claims(memorization: Sequence[Comparison]) -> list[str]:
    """Return a line per model and benchmark with what may be said by the primary metric."""
    own = [row for row in memorization if row.metric == PRIMARY_METRIC and row.test == "mean"]
    own = [row for row in own if row.perturbation != PLACEBO]
    lines = []
    for (model, benchmark, perturbation), members in groupby(sorted(own, key=_place), key=_place):
        contrasts = list(members)
        note = next((f" ({row.note})" for row in contrasts if row.note), "")
        where = visible(f"{model} on {benchmark} ({perturbation})")
        lines.append(f"{where}: {claim(contrasts)}{note}")
    return ["what may be said\n" + "\n".join(lines)] if lines else []


def _contrast(item: Comparison) -> tuple[str, ...]:
    return (
        visible(item.subject),
        visible(item.context),
        item.perturbation,
        interval(item.effect, item.effect_low, item.effect_high),
        p_value(item.p_value),
        p_value(item.p_adjusted),
        str(item.n_subject),
        str(item.n_rest),
    )
