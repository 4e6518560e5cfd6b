"""Draw the distributions of sensitivities, as boxes with points: one set of panels a task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from memoprobe.records import Sensitivity
from memoprobe.report.charts import (
    GROUPS,
    INK,
    Drawing,
    Panel,
    colour,
    drawing,
    file_name,
    filled,
    named,
)
from memoprobe.report.data import (
    PRIMARY_DEFINITION,
    GroupKey,
    ReportData,
    cells,
    finite,
    grouped,
    labelled,
    primary_metric,
)
from memoprobe.report.text import number, visible

MAX_POINTS = 600
"""How many points one panel shows; a box with more shows evenly spaced ranks of them."""

_LANE, _HEADING, _GAP = 13, 20, 5  # heights in pixels: one box, a benchmark's name, between models
_PLOT = 150  # width in pixels
_NARROWEST, _WIDEST, _LETTER = 124, 220, 6  # widths of names and of a letter


class Quantity(NamedTuple):
    """Name a value of a sensitivity whose distribution is drawn."""

    name: str
    definition: str
    field: str
    title: str
    floor: str | None = None  # the field whose mean is drawn beside the box


QUANTITIES = (
    Quantity("calibrated", PRIMARY_DEFINITION, "value", "calibrated: area under the falloff"),
    Quantity("paper", "paper", "value", "paper: largest drop", floor="noise_floor"),
    Quantity("paper-excess", "paper", "excess", "paper: excess over its noise floor"),
)


class Distributions(NamedTuple):
    """Hold the panels of one task under one perturbation, one a quantity."""

    task: str
    perturbation: str
    metric: str
    panels: tuple[Panel, ...]


_Values = dict[GroupKey, list[tuple[float, str]]]
"""Values with their sample_id, in rising order, of each group."""


def distributions(data: ReportData, *, legend: bool) -> list[Distributions]:
    """Return the panels of every task and perturbation that has sensitivities."""
    tasks = {key: (cell.task, cell.perturbation) for key, cell in cells(data).items()}
    groups = grouped(data, data.sensitivities)
    found = []
    for task, perturbation in sorted(set(tasks.values())):
        here = {
            key: members
            for key, members in groups.items()
            if tasks[key.cell] == (task, perturbation)
        }
        metric = primary_metric(key.metric for key in here)
        if metric is None:
            continue
        here = {key: members for key, members in here.items() if key.metric == metric}
        values = {quantity: _values(here, quantity) for quantity in QUANTITIES}
        domain = _domain([value for each in values.values() for value in _all(each)])
        panels = tuple(
            _panel((task, perturbation), quantity, each, (domain, _floors(here, quantity)), legend)
            for quantity, each in values.items()
            if each
        )
        if panels:
            found.append(Distributions(task, labelled(perturbation), metric, panels))
    return found


def _values(groups: Mapping[GroupKey, Sequence[Sensitivity]], quantity: Quantity) -> _Values:
    found = {}
    for key, members in groups.items():
        pairs = [
            (value, member.sample_id)
            for member in members
            if member.definition == quantity.definition
            if (value := getattr(member, quantity.field)) is not None and np.isfinite(value)
        ]
        if pairs:
            found[key] = sorted(pairs)
    return found


def _all(values: _Values) -> Iterator[float]:
    for pairs in values.values():
        yield from (value for value, _ in pairs)


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """Return the scale all panels of a task share, so that they can be compared."""
    return min([0, *values]), max([0.1, *values])


def _floors(
    groups: Mapping[GroupKey, Sequence[Sensitivity]], quantity: Quantity
) -> dict[GroupKey, float]:
    """Return the mean of each group's noise floors, where the quantity has them."""
    found = {}
    for key, members in groups.items() if quantity.floor else ():
        floors = finite(
            getattr(each, quantity.floor or "")
            for each in members
            if each.definition == quantity.definition
        )
        if floors:
            found[key] = fmean(floors)
    return found


_Frame = tuple[tuple[float, float], Mapping[GroupKey, float]]
"""The scale that a task's panels share, and the noise floors of one panel."""


def _panel(
    where: tuple[str, str], quantity: Quantity, values: _Values, frame: _Frame, legend: bool
) -> Panel:
    layout = _layout(values)
    domain, floors = frame
    limit = max(2, MAX_POINTS // len(values))
    points = [
        point
        for key, pairs in values.items()
        for point in _points(key, pairs, layout.lanes[key], limit)
    ]
    boxes = [_box(key, [value for value, _ in values[key]], layout.lanes[key]) for key in values]
    task, perturbation = visible(where[0].replace("_", " ")), visible(labelled(where[1]))
    told = "; ".join(box["told"] for box in boxes)
    return Panel(
        file_name("distribution", *where, quantity.name),
        visible(f"Distribution of {quantity.title}, {task}, {perturbation}: {told}."),
        filled(
            _drawing(layout.height, layout.labels, domain, legend=legend),
            {"text": quantity.title, "subtitle": f"{task} · {perturbation}", "dx": -layout.labels},
            {
                "points": points,
                "boxes": boxes,
                "models": layout.models,
                "benchmarks": layout.benchmarks,
                "zero": [{"zero": 0}],
                "floors": [
                    {
                        "y": layout.lanes[key],
                        "floor": value,
                        "told": f"noise floor {number(value)}",
                    }
                    for key, value in floors.items()
                    if key in layout.lanes
                ],
            },
        ),
    )


@lru_cache(maxsize=64)
def _drawing(height: float, labels: float, domain: tuple[float, float], *, legend: bool) -> Drawing:
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    scale = alt.Scale(domain=list(domain))
    x = alt.X("value:Q", scale=scale, title="Fall in performance", axis=alt.Axis(tickCount=5))
    shade = colour(legend=legend)
    box = named("boxes").encode(y=y, color=shade)
    layers = [
        named("zero").mark_rule(color=INK, aria=False).encode(x=alt.X("zero:Q", scale=scale)),
        named("points")
        .mark_circle(size=9, opacity=0.45)
        .encode(x=x, y=y, color=shade, description="told:N"),
        box.mark_rule(strokeWidth=1.2, aria=False).encode(x="low:Q", x2="high:Q"),
        box.mark_rule(strokeWidth=7, opacity=0.45, aria=False).encode(x="q1:Q", x2="q3:Q"),
        box.mark_tick(thickness=2, size=11, opacity=1, orient="vertical").encode(
            x="median:Q", description="told:N"
        ),
        named("floors")
        .mark_tick(thickness=2, size=13, opacity=1, color=INK, orient="vertical", strokeDash=[3, 2])
        .encode(x="floor:Q", y=y, description="told:N"),
        _words("models", y, x=-8, limit=labels - 8),
        _words("benchmarks", y, x=-labels, limit=labels + _PLOT, bold=True),
    ]
    return drawing(layers, width=_PLOT, height=height)


def _words(data: str, y: alt.Y, *, x: float, limit: float, bold: bool = False) -> alt.Chart:
    """Return words left of the plot: bold ones begin at ``x`` pixels, others end there."""
    text = named(data).mark_text(
        align="left" if bold else "right",
        color=INK,
        fontSize=10.5,
        fontWeight="bold" if bold else "normal",
        limit=limit,
    )
    placed: alt.Chart = text.encode(x=alt.value(x), y=y, text="name:N", description="name:N")
    return placed


class _Layout(NamedTuple):
    """Hold heights in pixels from the top, and the width of the names."""

    height: float
    labels: float
    lanes: dict[GroupKey, float]
    models: list[dict[str, Any]]
    benchmarks: list[dict[str, Any]]


def _layout(keys: Iterable[GroupKey]) -> _Layout:
    lanes: dict[GroupKey, float] = {}
    models: list[dict[str, Any]] = []
    benchmarks: list[dict[str, Any]] = []
    y = 0.0
    order = sorted(keys, key=lambda key: (key.benchmark, key.model, GROUPS.index(key.group)))
    for benchmark, of_benchmark in groupby(order, lambda key: key.benchmark):
        benchmarks.append({"y": y + _HEADING / 2, "name": visible(benchmark)})
        y += _HEADING
        for model, of_model in groupby(of_benchmark, lambda key: key.model):
            top = y
            for key in of_model:
                lanes[key] = y + _LANE / 2
                y += _LANE
            models.append({"y": (top + y) / 2, "name": visible(model)})
            y += _GAP
    longest = _LETTER * max(len(each["name"]) for each in models)
    labels = min(_WIDEST, max(_NARROWEST, longest + 8))
    return _Layout(y, labels, lanes, models, benchmarks)


def _box(key: GroupKey, values: Sequence[float], lane: float) -> dict[str, Any]:
    """Return Tukey's box: whiskers end at the last value within 1.5 interquartile ranges."""
    q1, median, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    told = (
        f"{key.model} on {key.benchmark}, {key.group}: median {number(median)}, quartiles "
        f"{number(q1)} and {number(q3)}, n = {len(values)}"
    )
    return {
        "y": lane,
        "group": key.group,
        "low": min(value for value in values if value >= q1 - reach),
        "q1": q1,
        "median": median,
        "q3": q3,
        "high": max(value for value in values if value <= q3 + reach),
        "told": visible(told),
    }


def _points(
    key: GroupKey, pairs: Sequence[tuple[float, str]], lane: float, limit: int
) -> Iterator[dict[str, Any]]:
    """Yield at most ``limit`` points, both ends among them, spread over the height of the lane."""
    ranks = np.unique(np.linspace(0, len(pairs) - 1, min(limit, len(pairs))).round().astype(int))
    for place, rank in enumerate(ranks):
        value, sample_id = pairs[rank]
        # The golden ratio spreads neighbours without a random number.
        height = lane + ((place * 0.618034) % 1 - 0.5) * 0.75 * _LANE
        told = visible(f"{sample_id}: {number(value)}")
        yield {"y": height, "group": key.group, "value": value, "told": told}
