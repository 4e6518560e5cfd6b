"""Write the report as one HTML file that loads nothing.

Every value goes through ``_shown`` and is then escaped by Jinja; only our own style,
script, drawings and data are marked as safe. A content security policy allows that one
script, by its hash, and no request at all.
"""

import base64
import hashlib
import json
import math
from functools import lru_cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memoprobe.report import (
    answer,
    checks,
    corner_bars,
    corners,
    detectors,
    families,
    maps,
    run,
    samples,
    summary,
    tables,
    text,
)
from memoprobe.report.data import ReportData
from memoprobe.report.distribution import MAX_POINTS, distributions
from memoprobe.report.falloff import falloffs
from memoprobe.report.headline import headline
from memoprobe.report.inline import inline

_DIGITS = 6  # of numbers that the script formats

MANY_PANELS = 24
"""From how many falloff panels on those of a model are folded."""

MANY_ROWS = 60
"""From how many rows on a family of comparisons is folded."""


def render(data: ReportData) -> str:
    """Return the report as HTML, a function of ``data`` alone; it can be encoded as UTF-8."""
    environment = _environment()
    script = _template("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        data=data,
        style=Markup(_template("page.css")),
        script=Markup(script),
        script_hash=f"'sha256-{digest}'",
        max_points=MAX_POINTS,
        created=run.minute(data.created),
        **_found(data),
        **_drawn(data),
    )


def _found(data: ReportData) -> dict[str, Any]:
    rows = summary.rows(data)
    findings = answer.findings(data, rows)
    placed = corners.placed(data)
    compared = families.families(data)
    listed = samples.as_data(data.examples)
    return {
        "headline": headline(data, rows, findings, placed),
        "answer": answer.table(findings),
        "maps": [Markup(inline(panel)) for panel in maps.panels(findings)],
        "summaries": summary.tables(rows),
        "corners": corners.table(placed),
        "corner_colours": corners.CORNERS,
        "corner_panels": [
            Markup(inline(each)) for each in corner_bars.panels(placed, legend=False)
        ],
        "questions": [
            (families.QUESTIONS.get(question, question.replace("_", " ")), list(same))
            for question, same in groupby(
                enumerate(compared), lambda pair: compared[pair[0]].question
            )
        ],
        "many_rows": MANY_ROWS,
        "comparisons_data": embedded(families.as_data(compared)),
        "detectors": detectors.table(data),
        "likelihoods": detectors.likelihoods(data),
        "placebos": checks.placebos(rows),
        "treatments": checks.treatments(data),
        "gated": checks.gated(data),
        "gate": checks.GATE,
        "edits": checks.edits(data),
        "meaning": checks.meaning(data),
        "bookkeeping": checks.bookkeeping(data),
        "samples_data": embedded(listed),
        "n_left_out": len(data.examples) - len(listed),
        "runs": run.tables(data),
    }


def _drawn(data: ReportData) -> dict[str, Any]:
    curves = falloffs(data, legend=False)
    return {
        "folded": len(curves) > MANY_PANELS,
        "falloffs": [
            (model, [(item, Markup(inline(item.panel))) for item in same])
            for model, same in groupby(curves, lambda item: item.cell.model)
        ],
        "distributions": [
            (item, [Markup(inline(panel)) for panel in item.panels])
            for item in distributions(data, legend=False)
        ],
    }


def embedded(value: object) -> Markup:
    """Return a value as JSON that may stand in a script element: it cannot end it."""
    found = json.dumps(_rounded(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(found.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return text.visible(value)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("memoprobe.report"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "shown": tables.shown,
        "sort_key": tables.sort_key,
        "is_flagged": tables.is_flagged,
    }
    return environment


def _template(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _shown(value: object) -> object:
    """Return a value as the page shows it, before it is escaped."""
    if value is None:
        return text.MISSING
    return text.visible(value) if type(value) is str else value
