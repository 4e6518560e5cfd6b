"""Draw what a calibration found: AUC by copies, and how items of each number of copies fall."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Any

import altair as alt

from memoprobe.calibration.page import TITLES
from memoprobe.calibration.record import Calibration
from memoprobe.records import Task
from memoprobe.report.charts import MUTED, Panel, drawing, filled, named
from memoprobe.report.text import number

# Okabe and Ito's colours, as all charts here have.
SHOWN: Mapping[str, str] = MappingProxyType(
    {
        "calibrated": "#0072b2",
        "paper": "#d55e00",
        "artifact": "#e69f00",
        "recall": "#009e73",
        "logprob.calibrated": "#cc79a7",
        "cdd.warm": "#56b4e9",
    }
)
"""The detectors that are drawn."""

_COPIES: Mapping[str, str] = MappingProxyType(
    {"0": "#59636e", "1": "#56b4e9", "4": "#009e73", "16": "#0072b2", "64": "#d55e00"}
)
_WIDTH, _HEIGHT = 236, 170


def panels(found: Calibration) -> list[Panel]:
    """Return two panels a task."""
    tasks = dict.fromkeys(row.task for row in found.judged)
    return [draw(found, task) for task in tasks for draw in (_areas, _falloff)]


def _areas(found: Calibration, task: Task) -> Panel:
    rows = [row for row in found.judged if row.task == task and row.detector in SHOWN]
    points = [{"detector": r.detector, "copies": str(r.copies), "auc": r.auc} for r in rows]
    groups: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        groups[row.detector, row.copies].append(row.auc)
    means = [
        {"detector": detector, "copies": str(copies), "auc": fmean(areas)}
        for (detector, copies), areas in groups.items()
    ]
    told = "; ".join(
        f"{detector} {copies} copies {number(fmean(areas))}"
        for (detector, copies), areas in groups.items()
    )
    order = list(map(str, sorted({copies for _, copies in groups})))
    x = alt.X("copies:N", title="Copies seen", sort=order, axis=alt.Axis(labelAngle=0, grid=False))
    y = alt.Y("auc:Q", title="AUC", scale=alt.Scale(domain=[0, 1]))
    colour = _colour("detector", SHOWN)
    layers = [
        named("chance")
        .mark_rule(strokeDash=[5, 3], color=MUTED)
        .encode(y=alt.Y("auc:Q", title="AUC")),
        named("means").mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour),
        named("points")
        .mark_point(filled=True, size=22, opacity=0.8)
        .encode(x=x, y=y, color=colour),
    ]
    return _panel(
        f"auc-{task}",
        f"AUC by copies, {TITLES[task]}, mean over seeds: {told}.",
        layers,
        {"text": TITLES[task], "subtitle": "lines: mean over seeds; points: each seed"},
        {"chance": [{"auc": 0.5}], "means": means, "points": points},
    )


def _falloff(found: Calibration, task: Task) -> Panel:
    groups: dict[tuple[int, int], list[float]] = defaultdict(list)
    for row in found.levels:
        if row.task == task:
            groups[row.copies, row.level].append(row.performance)
    means = [
        {"copies": str(copies), "level": level, "performance": fmean(values)}
        for (copies, level), values in sorted(groups.items())
    ]
    told = "; ".join(
        f"{copies} copies, level {level}: {number(fmean(values))}"
        for (copies, level), values in sorted(groups.items())
    )
    x = alt.X("level:O", title="Level", axis=alt.Axis(labelAngle=0, grid=False))
    y = alt.Y("performance:Q", title="Mean performance", scale=alt.Scale(domain=[0, 1]))
    base = named("means").encode(x=x, y=y, color=_colour("copies", _COPIES))
    return _panel(
        f"falloff-{task}",
        f"Mean performance by level, {TITLES[task]}: {told}.",
        [base.mark_line(strokeWidth=1.8), base.mark_point(filled=True, size=30, opacity=1)],
        {"text": TITLES[task], "subtitle": "by copies seen; mean over items and seeds"},
        {"means": means},
    )


def _colour(name: str, colours: Mapping[str, str]) -> alt.Color:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{name}:N", scale=scale, legend=alt.Legend(columns=3))


def _panel(
    name: str,
    description: str,
    layers: Sequence[alt.Chart],
    title: Mapping[str, str],
    data: Mapping[str, list[dict[str, Any]]],
) -> Panel:
    drawn = drawing(layers, width=_WIDTH, height=_HEIGHT)
    return Panel(name, description, filled(drawn, title, data))
