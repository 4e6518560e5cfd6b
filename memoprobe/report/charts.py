"""Hold what all charts share: their style, their form and the way into a file.

A panel is narrow enough for a phone at its own size; the page sets several side by
side. Boxes and intervals are computed in Python, so that a specification holds no
raw data but the points it shows.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import vl_convert

from memoprobe.report.data import Group

Rows = Sequence[Mapping[str, Any]]
GROUPS: tuple[Group, ...] = ("items", "controls")
COLOURS: dict[Group, str] = {"items": "#0072b2", "controls": "#d55e00"}  # Okabe and Ito
INK, MUTED, GRID = "#1f2328", "#59636e", "#e3e6ea"

COLUMN, BOTH_COLUMNS = 240, 504
"""Widths of one and of both columns of a paper, in points: 3.33 and 7 inches."""

_FITS = 4 / 3  # how much wider a drawing may be than a column: words stay at 7.5 points and more
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_LENGTH = 48  # of one part; four make a name that every file system takes
_VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
_CONFIG: dict[str, Any] = {
    "background": "white",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",  # the first is built into vl-convert
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "domainColor": MUTED,
        "gridColor": GRID,
        "labelColor": MUTED,
        "labelFlush": False,
        "labelFontSize": 10,
        "tickColor": MUTED,
        "tickSize": 4,
        "titleColor": INK,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 12,
        "frame": "group",
        "limit": 270,
        "offset": 8,
        "subtitleColor": MUTED,
        "subtitleFontSize": 11,
    },
    "legend": {
        "labelColor": INK,
        "labelFontSize": 11,
        "orient": "bottom",
        "symbolOpacity": 1,
        "title": None,
    },
}


class Panel(NamedTuple):
    """Hold one chart with the words that stand for it where it cannot be seen."""

    name: str  # of the file, without suffix
    description: str
    spec: dict[str, Any]  # Vega-Lite


Drawing = dict[str, Any]
"""A Vega-Lite specification that names its data and does not hold them."""


def drawing(layers: Sequence[alt.Chart], *, width: float, height: float) -> Drawing:
    """Return layers over one another, in the report's style.

    Altair takes a tenth of a second for it, so drawings are made once and filled often.
    """
    chart = alt.layer(*layers).properties(width=width, height=height)
    return {**chart.to_dict(), "config": _CONFIG}


def named(data: str) -> alt.Chart:
    """Return the beginning of a layer that shows the data of a name."""
    return alt.Chart(alt.NamedData(name=data))


def filled(drawn: Drawing, title: Mapping[str, Any], data: Mapping[str, Rows]) -> dict[str, Any]:
    """Return the specification of a chart from its drawing, its title and its data."""
    return {
        **drawn,
        "title": dict(title),
        "datasets": {name: list(rows) for name, rows in data.items()},
    }


def file_name(*parts: str) -> str:
    """Return a file name, without suffix, that is valid on every system."""
    return "-".join(_NOT_IN_NAMES.sub("_", part)[:_NAME_LENGTH] for part in parts)


def colour(*, legend: bool) -> alt.Color:
    """Return the colour of a group, the same in all charts."""
    scale = alt.Scale(domain=list(GROUPS), range=[COLOURS[group] for group in GROUPS])
    return alt.Color("group:N", scale=scale, legend=alt.Legend() if legend else None)


def svg(drawn: Panel) -> str:
    """Return a panel as a standalone SVG document; nothing is loaded from anywhere."""
    document: str = vl_convert.vegalite_to_svg(
        drawn.spec, vl_version=_VEGA_LITE, allowed_base_urls=[]
    )
    return document


def save(drawn: Panel, stem: Path) -> list[Path]:
    """Write a panel as SVG, PDF and PNG beside one another and return the three paths.

    As wide as ``COLUMN`` points, or up to ``BOTH_COLUMNS``.
    """
    document = svg(drawn)
    # What vl-convert calls a pixel is a point of the PDF, and of the 72 an inch of the PNG.
    contents = {
        ".svg": _sized(document, "pt").encode(),
        ".pdf": vl_convert.svg_to_pdf(_sized(document, "")),
        ".png": vl_convert.svg_to_png(_sized(document, ""), ppi=300),
    }
    paths = []
    for suffix, content in contents.items():
        path = stem.with_name(stem.name + suffix)
        path.write_bytes(content)
        paths.append(path)
    return paths


def _sized(document: str, unit: str) -> str:
    """Return a drawing of the width it has in a paper; it is never blown up."""

    def resized(found: re.Match[str]) -> str:
        width, height = float(found[1]), float(found[2])
        wanted = COLUMN if width <= _FITS * COLUMN else BOTH_COLUMNS
        scale = min(1.0, wanted / width)
        return f'width="{width * scale:g}{unit}" height="{height * scale:g}{unit}"'

    return re.sub(r'width="([\d.]+)" height="([\d.]+)"', resized, document, count=1)
