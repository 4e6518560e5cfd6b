"""Draw falloff curves: mean performance at every level, one panel a cell."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt

from memoprobe.records import Curve
from memoprobe.report.charts import (
    GROUPS,
    MUTED,
    Drawing,
    Panel,
    Rows,
    colour,
    drawing,
    file_name,
    filled,
    named,
)
from memoprobe.report.data import (
    CellKey,
    Group,
    GroupKey,
    ReportData,
    cells,
    finite,
    grouped,
    labelled,
    primary_metric,
)
from memoprobe.report.text import interval, number, visible
from memoprobe.stats.interval import mean_interval


class Falloff(NamedTuple):
    """Hold the curves of one cell by one metric."""

    cell: CellKey
    metric: str
    panel: Panel


def falloffs(data: ReportData, *, legend: bool) -> list[Falloff]:
    """Return a panel per cell with curves: mean per level, 95 % t band, the metric's floor."""
    by_cell: dict[CellKey, dict[GroupKey, list[Curve]]] = {}
    for key, curves in grouped(data, data.curves).items():
        by_cell.setdefault(key.cell, {})[key] = curves
    known = cells(data)
    found = []
    for cell, groups in by_cell.items():
        metric = primary_metric(key.metric for key in groups)
        points = [
            point
            for key, curves in groups.items()
            if key.metric == metric
            for point in _level_means(key.group, curves)
        ]
        if metric and points:
            floor = finite([known[cell].floor.get(metric)])
            found.append(Falloff(cell, metric, _panel(cell, points, floor, legend=legend)))
    return found


def _level_means(group: Group, curves: Sequence[Curve]) -> Iterator[dict[str, Any]]:
    for level in sorted({level for curve in curves for level in curve.means}):
        values = finite(curve.means.get(level) for curve in curves)
        if values:
            mean = mean_interval(values)
            told = f"{group}, level {level}: {interval(*mean)}, n = {len(values)}"
            yield {"group": group, "level": level, "told": told, **mean._asdict()}


def _panel(cell: CellKey, points: Rows, floor: Sequence[float], *, legend: bool) -> Panel:
    heights = [*finite(point[name] for point in points for name in _HEIGHTS), *floor]
    floors = [{"floor": value, "told": f"floor {number(value)}"} for value in floor]
    shown = labelled(cell.perturbation)
    title = {
        "text": visible(cell.benchmark),
        "subtitle": visible(f"{cell.model} · {shown}"),
    }
    levels = tuple(sorted({point["level"] for point in points}))
    told = "; ".join(row["told"] for row in (*points, *floors))
    return Panel(
        file_name("falloff", cell.model, cell.benchmark, cell.perturbation),
        visible(f"Falloff of {cell.model} on {cell.benchmark}, {shown}: {told}."),
        filled(
            _drawing(levels, _domain(points, heights), legend=legend),
            title,
            {"points": points, "floor": floors},
        ),
    )


_HEIGHTS = ("estimate", "low", "high")


def _domain(points: Rows, heights: Sequence[float]) -> tuple[float, float] | None:
    """Return one scale for all performances, None for log-probabilities: theirs is their own."""
    if min(point["estimate"] for point in points) < 0:  # bands may leave [0, 1], means do not
        return None
    return min(0, *heights), max(1, *heights)


@lru_cache(maxsize=64)
def _drawing(
    levels: tuple[int, ...], domain: tuple[float, float] | None, *, legend: bool
) -> Drawing:
    base = named("points").encode(x=_level(levels), color=colour(legend=legend))
    scale = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale(zero=False)
    title = "Mean performance (1: perfect)" if domain else "Mean log-probability (nats)"
    axis = alt.Axis(tickCount=5)
    mean = alt.Y("estimate:Q", title=title, scale=scale, axis=axis)
    shapes = alt.Scale(domain=list(GROUPS), range=["circle", "diamond"])
    shape = alt.Shape("group:N", scale=shapes, legend=None)
    layers = [
        base.transform_filter("datum.low !== null")
        .mark_area(opacity=0.18, aria=False)
        .encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        base.mark_line(strokeWidth=1.8, aria=False).encode(y=mean),
        base.mark_point(filled=True, size=36, opacity=1).encode(
            y=mean, shape=shape, description="told:N"
        ),
        named("floor")
        .mark_rule(strokeDash=[5, 3], color=MUTED, strokeWidth=1.2)
        .encode(y="floor:Q", description="told:N"),
    ]
    return drawing(layers, width=236, height=150)


def _level(levels: Sequence[int]) -> alt.X:
    # One level alone would have a scale without width.
    scale = alt.Scale(domain=[0, max(1, *levels, 0)], nice=False, padding=8)
    axis = alt.Axis(values=list(levels), format="d", grid=False)
    return alt.X("level:Q", title="Level of perturbation (0: original)", scale=scale, axis=axis)
