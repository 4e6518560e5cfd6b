"""Write the report as one HTML file that loads nothing.

Every value goes through ``_shown`` and is then escaped by Jinja; only our own style,
script and drawings are marked as safe. A content security policy allows that one
script, by its hash, and no request at all.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memoprobe.records import DEFAULT_POOL, Comparison
from memoprobe.report import text
from memoprobe.report.data import (
    PRIMARY_DEFINITION,
    PRIMARY_METRIC,
    Cell,
    Example,
    ExampleLevel,
    ReportData,
    cells,
)
from memoprobe.report.diffs import Segment, segments, shortened
from memoprobe.report.distribution import MAX_POINTS, distributions
from memoprobe.report.falloff import falloffs
from memoprobe.report.headline import headline
from memoprobe.report.inline import inline
from memoprobe.report.summary import TRUNCATION_LIMIT, rows, truncated_share

QUESTIONS = {
    "benchmark_advantage": "Which benchmarks stand out for a model?",
    "model_advantage": "Which models stand out on a benchmark?",
    "benchmark_spread": "Do the benchmarks of a task differ?",
    "task_difference": "Do two tasks differ across models?",
    "benchmark_correlation": "Do two benchmarks rank the models alike?",
    "memorization": "Do items differ from control items?",
    "version_difference": "Did a model's next version change?",
}
"""How a question of METHOD 5 is put to the reader; one without a row keeps its name."""


def render(data: ReportData) -> str:
    """Return the report as HTML, a function of ``data`` alone; it can be encoded as UTF-8."""
    environment = _environment()
    script = _template("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    summary = rows(data)
    return environment.get_template("page.html").render(
        data=data,
        style=Markup(_template("page.css")),
        script=Markup(script),
        script_hash=f"'sha256-{digest}'",
        headline=headline(data, summary),
        questions=QUESTIONS,
        summary=[(metric, list(same)) for metric, same in groupby(summary, lambda row: row.metric)],
        cells=[(cell, truncated_share(cell), _edit_shares(cell)) for cell in cells(data).values()],
        truncation_limit=TRUNCATION_LIMIT,
        falloffs=[
            (model, [(item, Markup(inline(item.panel))) for item in same])
            for model, same in groupby(falloffs(data, legend=False), lambda item: item.cell.model)
        ],
        distributions=[
            (item, [Markup(inline(panel)) for panel in item.panels])
            for item in distributions(data, legend=False)
        ],
        max_points=MAX_POINTS,
        families=list(_families(data)),
        examples=[_shown_example(example) for example in data.examples],
    )


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
    environment.filters |= {
        "number": text.number,
        "p_value": text.p_value,
        "percent": text.percent,
        "counts": text.counts,
    }
    environment.globals["interval"] = text.interval
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


def _edit_shares(cell: Cell) -> list[float]:
    return [share for level, share in sorted(cell.edit_shares.items()) if level]


class _Family(NamedTuple):
    """Hold comparisons that were corrected together."""

    question: str
    test: str
    definition: str
    metric: str
    pool: str | None  # None for the benchmarks' default perturbations
    size: int  # tests with a p-value
    primary: bool
    correction: str | None
    rows: Sequence[Comparison]


def _families(data: ReportData) -> Iterator[_Family]:
    """Yield the families, those of the primary definition and metric first in each question."""

    def key(row: Comparison) -> tuple[int, str, bool, str, str, str, str]:
        asked = list(QUESTIONS).index(row.question) if row.question in QUESTIONS else len(QUESTIONS)
        secondary = (row.definition, row.metric) != (PRIMARY_DEFINITION, PRIMARY_METRIC)
        other = row.pool != DEFAULT_POOL
        pool = row.pool if other else ""
        names = row.test, row.definition, row.metric
        return asked, row.question, secondary or other, *names, pool

    for (_, question, secondary, test, definition, metric, pool), members in groupby(
        sorted(data.comparisons, key=key), key
    ):
        family = list(members)
        yield _Family(
            question=question,
            test=test,
            definition=definition,
            metric=metric,
            pool=pool or None,
            size=sum(row.p_value is not None for row in family),
            primary=not secondary,
            correction=data.corrections.get((question, test)),
            rows=family,
        )


class _Answers(NamedTuple):
    """Hold equal answers of one level."""

    times: int
    score: float | None
    state: str
    difference: list[Segment] | None  # to the commonest answer at level 0; None without a text


class _Level(NamedTuple):
    level: int
    mean: float | None
    n_answers: int  # that have a text
    prompt: list[Segment]  # the difference to level 0
    reference: str | None  # None too where it is that of the level before
    answers: list[_Answers]


class _Example(NamedTuple):
    example: Example
    levels: list[_Level]


def _shown_example(example: Example) -> _Example:
    first = example.levels[0] if example.levels else None
    prompt = shortened(first.prompt) if first else ""
    answer = _commonest(first) if first else None
    levels = [_shown_level(level, prompt, answer) for level in example.levels]
    before = [None, *(level.reference for level in levels)]
    shown = [
        level._replace(reference=None) if level.reference == last else level
        for last, level in zip(before, levels, strict=False)
    ]
    return _Example(example, shown)


def _commonest(level: ExampleLevel) -> str | None:
    """Return the text most answers of a level share, the earliest of several."""
    texts = Counter(content for content, _, _ in level.answers if content is not None)
    return texts.most_common(1)[0][0] if texts else None


def _shown_level(level: ExampleLevel, prompt: str, answer: str | None) -> _Level:
    equal: Counter[tuple[str | None, float | None, str]] = Counter(
        (content, score, state) for content, score, state in level.answers
    )
    return _Level(
        level=level.level,
        mean=level.mean,
        n_answers=sum(content is not None for content, _, _ in level.answers),
        prompt=segments(prompt, shortened(level.prompt)),
        reference=None if level.reference is None else shortened(level.reference),
        answers=[
            _Answers(times, score, state, _difference(answer, content))
            for (content, score, state), times in equal.most_common()
        ],
    )


def _difference(before: str | None, after: str | None) -> list[Segment] | None:
    if after is None:
        return None
    shown = shortened(after)
    return segments(shown if before is None else shortened(before), shown)
