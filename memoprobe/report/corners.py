"""Sort items into the four corners: falls or not, recalls or not (METHOD 4)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import altair as alt

from memoprobe.records import Sensitivity
from memoprobe.report.charts import INK, Drawing, Panel, drawing, file_name, filled, named
from memoprobe.report.data import (
    PLACEBO,
    PRIMARY_DEFINITION,
    CellKey,
    ReportData,
    cells,
    primary_metric,
)
from memoprobe.report.tables import Column, Table
from memoprobe.report.text import visible

LIMIT = 0.05
"""Up to which ``control_q`` an item falls, or recalls."""

CORNERS = {
    "falls and recalls": "#d55e00",
    "recalls only": "#e69f00",
    "falls only": "#56b4e9",
    "neither": "#8c959f",
}
"""Name -> colour, by Okabe and Ito; ordered from what speaks most for memory to least."""

_NAMES = {(True, True): 0, (False, True): 1, (True, False): 2, (False, False): 3}
_LANE, _PLOT = 17, 170  # pixels


class Placed(NamedTuple):
    """Count a cell's items by corner."""

    cell: CellKey
    counts: Mapping[str, int]
    unplaced: int  # items without a control_q of both fall and recall


def corner(fall_q: float | None, recall_q: float | None) -> str | None:
    """Return an item's corner, None where either is not known for want of controls."""
    if fall_q is None or recall_q is None:
        return None
    return list(CORNERS)[_NAMES[fall_q <= LIMIT, recall_q <= LIMIT]]


Place = tuple[str, str, str, str]
"""Model, benchmark, perturbation and sample id."""


def corners(sensitivities: Iterable[Sensitivity], metric: str | None) -> dict[Place, str | None]:
    """Return the corner of every sample that has a fall by the metric."""
    fall: dict[Place, float | None] = {}
    recall: dict[Place, float | None] = {}
    for each in sensitivities:
        if each.metric == metric:
            place = (each.model, each.benchmark, each.perturbation, each.sample_id)
            if each.definition == PRIMARY_DEFINITION:
                fall[place] = each.control_q
            elif each.definition == "recall":
                recall[place] = each.control_q
    return {place: corner(q, recall.get(place)) for place, q in fall.items()}


def placed(data: ReportData) -> list[Placed]:
    """Return how the items of each cell fall into corners, sorted; placebos are left out."""
    metric = primary_metric({each.metric for each in data.sensitivities})
    found: dict[CellKey, Counter[str | None]] = defaultdict(Counter)
    for place, name in corners(data.sensitivities, metric).items():
        model, benchmark, perturbation, sample_id = place
        if perturbation != PLACEBO and data.group(benchmark, sample_id) == "items":
            found[CellKey(model, benchmark, perturbation)][name] += 1
    return [
        Placed(cell, {name: found[cell][name] for name in CORNERS}, found[cell][None])
        for cell in cells(data)
        if any(found[cell][name] for name in CORNERS)
    ]


def table(found: Sequence[Placed]) -> Table:
    """Return the counts as a table."""
    return Table(
        name="corners",
        title="Four corners",
        columns=(
            Column("model", "Model"),
            Column("benchmark", "Benchmark"),
            Column("perturbation", "Perturbation"),
            *(
                Column(name.replace(" ", "_"), name[0].upper() + name[1:], "count")
                for name in CORNERS
            ),
            Column("unplaced", "Not placed", "count"),
        ),
        rows=[[*each.cell, *each.counts.values(), each.unplaced] for each in found],
    )


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
