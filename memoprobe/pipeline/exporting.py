"""Write any table of a run database to a stream."""

import csv
import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from memoprobe.errors import ConfigError
from memoprobe.pipeline import present
from memoprobe.store import Store, results

BATCH = 10_000


def export(store: Store, table: str, form: str, out: Path | None) -> None:
    """Write a table to a file, or to standard output where ``out`` is None.

    Raises:
        ConfigError: There is no such table, the file cannot be written, or an extra is missing.
    """
    if form == "parquet":
        if out is None:
            msg = "parquet is no text: name a file with --out"
            raise ConfigError(msg)
        write_parquet(store, table, out)
        return
    rows = rows_of(store, table)
    names = list(results.column_types(store, table))
    if out is None:
        if sys.stdout.isatty():
            rows = ({name: _shown(value) for name, value in row.items()} for row in rows)
        write_text(rows, form, sys.stdout, names)
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as stream:
            write_text(rows, form, stream, names)
    except OSError as error:
        msg = f"{out}: cannot be written: {error.strerror}"
        raise ConfigError(msg) from error


def stale(store: Store, table: str) -> str | None:
    """Return a warning where a table holds results that are not of what is stored now."""
    return present.unscored(store) if table in results.DERIVED else present.empty(store)


def rows_of(store: Store, table: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table or view, streamed.

    Raises:
        ConfigError: There is no such table.
    """
    known = results.tables(store)
    if table not in known:
        msg = f"no table {table!r} in {store.path}; known: {', '.join(known)}"
        raise ConfigError(msg)
    return results.rows_of(store, table)


def write_text(
    rows: Iterator[Mapping[str, Any]], form: str, stream: TextIO, names: Sequence[str]
) -> None:
    """Write rows as JSON Lines, or as csv under the names of the columns."""
    writer = csv.writer(stream, lineterminator="\n")
    if form == "csv":
        writer.writerow(names)
    for row in rows:
        if form == "jsonl":
            stream.write(json.dumps(row) + "\n")
        else:
            writer.writerow(map(_cell, row.values()))


def _shown(value: object) -> object:
    """Return a value for a terminal, which must not obey what a model wrote."""
    if not isinstance(value, str):
        return value
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if unicodedata.category(char) in {"Cc", "Cf"} and char not in "\n\t"
        else char
        for char in value
    )


def _cell(value: object) -> object:
    """Return a value as a CSV cell; half surrogates, which UTF-8 cannot hold, are escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def write_parquet(store: Store, table: str, path: Path) -> int:
    """Write a table as a parquet file and return the number of its rows.

    Raises:
        ConfigError: There is no such table, or the file cannot be written.
    """
    import pyarrow  # takes a third of a second
    from pyarrow import parquet

    rows = rows_of(store, table)
    first = next(rows, None)
    everything = chain([first], rows) if first else iter(())
    kinds = {"INTEGER": pyarrow.int64(), "TEXT": pyarrow.string()}

    def kind_of(name: str, declared: str) -> object:
        # A computed column has no declared type, and is a text or a number throughout.
        is_text = declared == "" and first is not None and isinstance(first[name], str)
        return kinds.get("TEXT" if is_text else declared, pyarrow.float64())

    types = results.column_types(store, table)
    schema = pyarrow.schema([(name, kind_of(name, kind)) for name, kind in types.items()])
    n = 0
    try:
        with parquet.ParquetWriter(path, schema) as writer:
            while batch := list(islice(everything, BATCH)):
                cells = [{key: _cell(value) for key, value in row.items()} for row in batch]
                n += len(batch)
                writer.write_table(pyarrow.Table.from_pylist(cells, schema=schema))
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror or error}"
        raise ConfigError(msg) from error
    return n
