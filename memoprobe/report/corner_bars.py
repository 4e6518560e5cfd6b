"""Draw how the items of each benchmark fall into the four corners."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import altair as alt

from memoprobe.report.charts import INK, Drawing, Panel, drawing, file_name, filled, named
from memoprobe.report.corners import CORNERS, Placed
from memoprobe.report.text import visible

_LANE, _PLOT = 17, 170  # pixels


def panels(found: Sequence[Placed], *, legend: bool) -> list[Panel]:
    """Return a panel per model: a bar for each benchmark, parted by the share of each corner."""
    return [
        _panel(model, list(same), legend=legend)
        for model, same in groupby(found, lambda each: each.cell.model)
    ]


def _panel(model: str, members: Sequence[Placed], *, legend: bool) -> Panel:
    bars: list[dict[str, Any]] = []
    for lane, each in enumerate(members):
        total, start = sum(each.counts.values()), 0.0
        for name, count in each.counts.items():
            told = visible(f"{each.cell.benchmark}, {name}: {count} of {total}")
            end = start + count / total
            if count:
                bars.append(
                    {"y": _y(lane), "start": start, "end": end, "corner": name, "told": told}
                )
            start = end
    names = [
        {"y": _y(lane), "name": visible(each.cell.benchmark)} for lane, each in enumerate(members)
    ]
    told = "; ".join(bar["told"] for bar in bars)
    return Panel(
        file_name("corners", model),
        visible(f"Items of {model} by corner: {told}."),
        filled(
            _drawing(len(members), legend=legend),
            {"text": visible(model), "subtitle": "share of the items"},
            {"bars": bars, "names": names},
        ),
    )


def _y(lane: int) -> float:
    return (lane + 0.5) * _LANE


@lru_cache(maxsize=16)
def _drawing(n_lanes: int, *, legend: bool) -> Drawing:
    height = n_lanes * _LANE
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    scale = alt.Scale(domain=list(CORNERS), range=list(CORNERS.values()))
    key = alt.Legend(columns=2) if legend else None
    layers = [
        named("bars")
        .mark_rule(strokeWidth=11, opacity=1)
        .encode(
            x=alt.X(
                "start:Q",
                title=None,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=5),
            ),
            x2="end:Q",
            y=y,
            color=alt.Color("corner:N", scale=scale, legend=key),
            description="told:N",
        ),
        named("names")
        .mark_text(align="right", color=INK, fontSize=10.5, limit=200)
        .encode(x=alt.value(-6), y=y, text="name:N", description="name:N"),
    ]
    return drawing(layers, width=_PLOT, height=height)
