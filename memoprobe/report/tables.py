"""Hold a table once, for the page, for Markdown and for CSV."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from memoprobe.report.text import count, interval, number, p_value, percent, visible

Kind = Literal["text", "count", "number", "share", "truncated", "p", "interval"]
"""What a column holds: an interval is (estimate, low, high) or None, a share lies in [0, 1]."""

TRUNCATION_LIMIT = 0.02
"""The share of truncated answers from which a cell is flagged (METHOD 2.6)."""


_FORMS: dict[str, Callable[[Any], str]] = {
    "count": count,
    "number": number,
    "share": percent,
    "p": p_value,
}


class Column(NamedTuple):
    """Hold what a column is called, in files and for people, and what is in it."""

    key: str
    title: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Hold rows of values under columns; a value is None where there is none."""

    name: str  # of the file, without suffix
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    note: str = ""


def shown(value: Any, kind: Kind) -> str:  # noqa: ANN401 - whatever the kind says
    """Return a value as people read it."""
    if kind == "interval":
        return interval(*(value or (None, None, None)))
    if kind == "truncated":
        return percent(value, 1) + ("!" if is_flagged(value, kind) else "")
    if kind == "text":
        return visible(str(value)) if value is not None else number(None)
    return _FORMS[kind](value)


def is_flagged(value: Any, kind: Kind) -> bool:  # noqa: ANN401 - whatever the kind says
    """Tell whether a value puts its row in doubt: too many answers were cut off."""
    return kind == "truncated" and value is not None and value >= TRUNCATION_LIMIT


def sort_key(value: Any, kind: Kind) -> object:  # noqa: ANN401 - whatever the kind says
    """Return what rows are ordered by, None where there is nothing."""
    if kind == "interval":
        return value and value[0]
    return value


def markdown(tables: Sequence[Table]) -> str:
    """Return tables as GitHub's Markdown, each under a heading."""
    return "\n\n".join(map(_markdown, tables)) + "\n"


def _markdown(table: Table) -> str:
    rule = ["---" if column.kind == "text" else "---:" for column in table.columns]
    lines = [
        [column.title for column in table.columns],
        rule,
        *(_texts(table, row) for row in table.rows),
    ]
    listed = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    note = f"\n\n{table.note}" if table.note else ""
    return f"## {_escaped(table.title)}\n\n{listed}{note}"


def _texts(table: Table, row: Sequence[Any]) -> list[str]:
    pairs = zip(row, table.columns, strict=True)
    return [_escaped(shown(value, column.kind)) for value, column in pairs]


_MARKUP = str.maketrans(
    {"\n": " ", "<": "&lt;", "&": "&amp;", **{sign: f"\\{sign}" for sign in "\\|`*_[]"}}
)


def _escaped(text: str) -> str:
    return text.translate(_MARKUP)


def as_csv(table: Table) -> str:
    """Return a table as CSV with full precision; an interval fills three columns."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _names(column)])
    for row in table.rows:
        pairs = zip(row, table.columns, strict=True)
        writer.writerow([part for value, column in pairs for part in _parts(value, column)])
    return stream.getvalue()


def _names(column: Column) -> Iterator[str]:
    yield column.key
    if column.kind == "interval":
        yield f"{column.key}_low"
        yield f"{column.key}_high"


def _parts(value: Any, column: Column) -> Iterator[object]:  # noqa: ANN401 - whatever its kind says
    if column.kind == "interval":
        yield from value or (None, None, None)
    else:
        # A file holds texts as they are, but for half surrogates, which UTF-8 cannot.
        yield value.encode("utf-8", "backslashreplace").decode() if type(value) is str else value
