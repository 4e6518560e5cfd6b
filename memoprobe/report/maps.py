"""Draw the map of models and benchmarks: shaded by size, marked where significant.

Shades are one colour each for positive and negative values, told apart by the sign as well;
their strength, and not their hue, is the size.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt

from memoprobe.records import Comparison
from memoprobe.report.answer import SIGNIFICANT, Finding
from memoprobe.report.charts import (
    COLOURS,
    INK,
    MUTED,
    Drawing,
    Panel,
    drawing,
    file_name,
    filled,
    named,
)
from memoprobe.report.text import interval, number, p_value, visible

_WIDTH, _HEIGHT, _LABELS = 56, 20, 220  # pixels: a cell, and the names beside it
_STRONGEST = 0.55  # opacity: the number stays readable on it
_FAINT = 0.1  # where all values are smaller, none has the strongest shade


class _Value(NamedTuple):
    estimate: float
    low: float | None
    high: float | None
    holm: float | None
    n: str


class Quantity(NamedTuple):
    """Name what a map shows."""

    name: str
    title: str
    value: Callable[[Finding], _Value | None]


def _fall(found: Finding) -> _Value:
    return _Value(*found.fall[:3], found.fall_holm, f"{found.n} items")


def _of(row: Comparison | None) -> _Value | None:
    if row is None or row.effect is None:
        return None
    n = f"{row.n_subject} items, {row.n_rest} controls"
    return _Value(row.effect, row.effect_low, row.effect_high, row.p_holm, n)


QUANTITIES = (
    Quantity("fall", "Fall of the items", _fall),
    Quantity("difference", "Fall of the items minus the controls'", lambda f: _of(f.difference)),
    Quantity("recall", "Recall of the items minus the controls'", lambda f: _of(f.recall)),
)


def panels(findings: Sequence[Finding]) -> list[Panel]:
    """Return a map for each quantity that is known of any cell."""
    found = []
    for quantity in QUANTITIES:
        pairs = [(each, value) for each in findings if (value := quantity.value(each))]
        if pairs:
            found.append(_panel(quantity, pairs))
    return found


def _panel(quantity: Quantity, pairs: Sequence[tuple[Finding, _Value]]) -> Panel:
    models = sorted({each.cell.model for each, _ in pairs})
    lanes = sorted({each.cell[1:] for each, _ in pairs})
    largest = max(_FAINT, *(abs(value.estimate) for _, value in pairs))
    cells: list[dict[str, Any]] = [
        {
            **_place(models.index(each.cell.model), lanes.index(each.cell[1:])),
            "strength": _STRONGEST * abs(value.estimate) / largest,
            "sign": "items" if value.estimate >= 0 else "controls",
            "shown": number(value.estimate) + ("*" if _is_significant(value) else ""),
            "told": _told(each, value),
        }
        for each, value in pairs
    ]
    told = "; ".join(cell["told"] for cell in cells)
    names = [
        {"y": (row + 0.5) * _HEIGHT, "name": visible(f"{benchmark} ({perturbation})")}
        for row, (benchmark, perturbation) in enumerate(lanes)
    ]
    return Panel(
        file_name("map", quantity.name),
        visible(f"{quantity.title}: {told}."),
        filled(
            _drawing(len(models), len(lanes)),
            {"text": quantity.title, "frame": "bounds"},
            {"cells": cells, "benchmarks": names, "models": list(_heads(models))},
        ),
    )


def _place(column: int, row: int) -> dict[str, float]:
    x, y = column * _WIDTH, row * _HEIGHT
    return {"x": x + 1, "x2": x + _WIDTH - 1, "y": y + 1, "y2": y + _HEIGHT - 1}


def _heads(models: Sequence[str]) -> Iterator[dict[str, Any]]:
    for column, model in enumerate(models):
        yield {"x": (column + 0.5) * _WIDTH, "name": visible(model)}


def _is_significant(value: _Value) -> bool:
    return value.holm is not None and value.holm <= SIGNIFICANT


def _told(found: Finding, value: _Value) -> str:
    around = interval(value.estimate, value.low, value.high)
    cell = found.cell
    return visible(
        f"{cell.model} on {cell.benchmark}, {cell.perturbation}: {around}, {value.n}, "
        f"p by Holm {p_value(value.holm)}, {found.claim}"
    )


@lru_cache(maxsize=16)
def _drawing(n_models: int, n_lanes: int) -> Drawing:
    width, height = n_models * _WIDTH, n_lanes * _HEIGHT
    x_scale = alt.Scale(domain=[0, width], nice=False, zero=False)
    y_scale = alt.Scale(domain=[height, 0], nice=False, zero=False)
    y = alt.Y("y:Q", axis=None, scale=y_scale)
    x = alt.X("x:Q", axis=None, scale=x_scale)
    colours = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    strength = alt.Scale(domain=[0, 1], range=[0, 1])
    cells = named("cells").transform_calculate(
        middle="(datum.x + datum.x2) / 2", centre="(datum.y + datum.y2) / 2"
    )
    layers = [
        cells.mark_rect(cornerRadius=2, stroke=MUTED, strokeWidth=0.4).encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            fill=alt.Fill("sign:N", scale=colours, legend=None),
            fillOpacity=alt.FillOpacity("strength:Q", scale=strength, legend=None),
            description="told:N",
        ),
        cells.mark_text(color=INK, fontSize=10.5, aria=False).encode(
            x=alt.X("middle:Q", axis=None, scale=x_scale),
            y=alt.Y("centre:Q", axis=None, scale=y_scale),
            text="shown:N",
        ),
        named("benchmarks")
        .mark_text(align="right", color=INK, fontSize=10.5, limit=_LABELS)
        .encode(x=alt.value(-6), y=y, text="name:N", description="name:N"),
        named("models")
        .mark_text(align="left", angle=315, color=INK, fontSize=10.5, limit=130)
        .encode(x=x, y=alt.value(-6), text="name:N", description="name:N"),
    ]
    return drawing(layers, width=width, height=height)
