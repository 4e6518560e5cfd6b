"""Read a user's own benchmark: JSON Lines (or an array) or parquet, one item a row.

A row has ``id`` and ``input``, and may have the other KEYS; null is the same as absent. Files
with other names are read by a mapping, in the study file::

    [[benchmarks]]
    paths = ["part1.parquet", "part2.parquet"]
    task = "code_generation"
    fields = { id = "task_id", input = "question", reference = "answer" }

On the left stands our key, on the right the column that takes its place. A key that is not
mapped keeps its own name, and columns that are neither are ignored; without ``fields`` they
are errors. A column that no row has is an error too. Nothing stands in for an ``id``: a row's
number would tie its answers to another row once the file is sorted, cut or extended.

``references`` is a list of answers that are equally right, of which the nearest counts, in the
place of ``reference``. Every row has as many, and controls too: the nearest of more is nearer
by chance alone.

``tests`` may also be the JSON text of the list, as parquet has no lists of mixed values.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.sources import EVERYTHING, Loaded, Selection, collect
from memoprobe.errors import BenchmarkError
from memoprobe.records import ANSWERED_WITH_CODE, Sample, Task

_TEXTS = ("reference", "entry_point", "language", "context", "cluster", "date")
KEYS = ("id", "input", "references", "tests", "control", *_TEXTS)
_LANGUAGES = {"c++": "cpp", "c#": "csharp", "js": "javascript", "py": "python", "golang": "go"}
_CASES: dict[str, Mapping[str, type]] = {
    "calls": {"args": list, "expected": object},
    "stdio": {"stdin": str, "stdout": str},
}


def load(
    name: str,
    paths: Sequence[Path],
    task: Task,
    fields: Mapping[str, str] = MappingProxyType({}),
    selection: Selection = EVERYTHING,
) -> Loaded:
    """Return samples of a user's own files.

    Args:
        name: Of the benchmark.
        paths: Files of objects with ``id`` and ``input``, and optionally others of KEYS.
        task: What its items ask for. A code generation's input is prose, every other
            task's is code.
        fields: Key -> the files' own name for it, see the module's docstring.
        selection: Which of the samples.

    Raises:
        BenchmarkError: A file cannot be read, a row is no such object, or an id stands
            twice; the message names file and line.
    """
    samples = _samples(name, paths, task, fields)
    loaded = collect(samples if selection.references else _as_many(samples), selection)
    if not loaded.samples and not loaded.skipped:
        listed = ", ".join(map(str, paths))
        msg = f"{listed}: no rows; expected one JSON object a line with at least id and input"
        raise BenchmarkError(msg)
    return loaded


def _samples(
    name: str, paths: Sequence[Path], task: Task, fields: Mapping[str, str]
) -> Iterator[Sample]:
    for key in fields.keys() - set(KEYS):
        msg = f"fields: unknown key {key!r}; known: {', '.join(KEYS)}"
        raise BenchmarkError(msg)
    seen: dict[str, str] = {}
    missing = set(fields.values())
    for path in paths:
        for place, row in Copy(path, "your own benchmark").rows_of(path):
            missing -= row.keys()
            sample = _sample(_renamed(row, fields, place), place, name, task)
            if sample.sample_id in seen:
                msg = f"{place}: id {sample.sample_id!r} stands already in {seen[sample.sample_id]}"
                raise BenchmarkError(msg)
            seen[sample.sample_id] = place
            yield sample
    if missing and seen:
        listed = ", ".join(map(str, paths))
        msg = f"{listed}: fields name columns that no row has: {', '.join(sorted(missing))}"
        raise BenchmarkError(msg)


def _as_many(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield the samples, all of which have as many references, or none.

    Raises:
        BenchmarkError: One has another number of them.
    """
    first: Sample | None = None
    for sample in samples:
        first = first or (sample if sample.references else None)
        if first and sample.references and len(sample.references) != len(first.references):
            msg = (
                f"{sample.benchmark}: {len(sample.references)} references of"
                f" {sample.sample_id!r} where {first.sample_id!r} has {len(first.references)};"
                " the nearest of more is nearer by chance alone: give each row as many, or write"
                ' reference = "nearest" and references = N in the study to use the first N'
            )
            raise BenchmarkError(msg)
        yield sample


def _renamed(row: Row, fields: Mapping[str, str], place: str) -> Row:
    """Return a row under our names; with a mapping, what it does not name is ignored."""
    if not fields:
        return row
    for key in ("id", "input"):
        if fields.get(key, key) not in row:
            has = ", ".join(map(repr, row))
            msg = (
                f"{place}: no {fields.get(key, key)!r}, the {key}; name it in fields; it has {has}"
            )
            raise BenchmarkError(msg)
    kept = {key: row[key] for key in KEYS if key in row and key not in fields}
    return kept | {key: row[theirs] for key, theirs in fields.items() if theirs in row}


def _holds_code(text: str, language: str) -> bool:
    """Tell whether there is more than blanks, comments and docstrings in a text."""
    first = text.lstrip()[:1]
    # What begins with a name is neither; only the rest needs a look at its tokens.
    return first.isalpha() or bool(languages.tokens(text, language))


def _sample(row: Row, place: str, benchmark: str, task: Task) -> Sample:
    for key in sorted(row.keys() - set(KEYS)):
        near = get_close_matches(key, KEYS, n=1, cutoff=0)[0]
        msg = f"{place}: unknown key {key!r}, nearest known: {near!r}; known: {', '.join(KEYS)}"
        raise BenchmarkError(msg)
    row = {key: value for key, value in row.items() if value is not None}
    if isinstance(row.get("date"), date):  # parquet has dates
        row["date"] = row["date"].isoformat()
    if isinstance(row.get("tests"), str) and row["tests"].lstrip().startswith("["):
        row["tests"] = files.parse_json(row["tests"], f"{place}: 'tests'")
    day = _checked(row, place)
    texts = {key: row[key] for key in _TEXTS if key in row and key != "reference"}
    texts["date"] = day
    language = row.get("language", "python").lower()
    texts["language"] = _LANGUAGES.get(language, language)
    is_code = task in ANSWERED_WITH_CODE
    references = _references(row, place)
    # An answer of nothing but comments would be perfect.
    if is_code and not all(_holds_code(each, texts["language"]) for each in references):
        msg = f"{place}: 'reference' holds no code; without a reference leave it out"
        raise BenchmarkError(msg)
    tests = _tests(row, place) if row.get("tests") else None
    return Sample(
        benchmark=benchmark,
        sample_id=str(row["id"]),
        task=task,
        input_kind="prose" if task == "code_generation" else "code",
        text=row["input"],
        reference=references[0] if references else None,
        alternatives=tuple(references[1:]),
        tests=None if tests is None else json.dumps(tests),
        control=row.get("control", False),
        **texts,
    )


def _references(row: Row, place: str) -> list[str]:
    """Return the references of a row, which gives one or several.

    Raises:
        BenchmarkError: It gives both, or what are no texts.
    """
    several = row.get("references", [])
    if "reference" in row and several:
        msg = f"{place}: give either 'reference' or 'references'"
        raise BenchmarkError(msg)
    if not all(isinstance(each, str) for each in several):
        msg = f"{place}: expected texts under 'references', found {several!r:.80}"
        raise BenchmarkError(msg)
    return [row["reference"]] if "reference" in row else list(several)


def _checked(row: Row, place: str) -> str | None:
    """Return the day of a row's date, None without one, if the values have their types.

    Raises:
        BenchmarkError: A value has not, or is empty where it must not be.
    """
    identity = row.get("id")
    if isinstance(identity, bool) or not isinstance(identity, str | int | float) or identity == "":
        msg = f"{place}: expected a text or a number under 'id', which must not be the row's number"
        raise BenchmarkError(msg)
    optional = dict.fromkeys(_TEXTS, str) | {"tests": list, "control": bool, "references": list}
    kinds = {key: kind for key, kind in optional.items() if key in row}
    files.require(row, {"input": str, **kinds}, place)
    if not row["input"].strip():
        msg = f"{place}: 'input' is empty"
        raise BenchmarkError(msg)
    try:
        return datetime.fromisoformat(row["date"]).date().isoformat() if "date" in row else None
    except ValueError as error:
        msg = f"{place}: expected a date such as 2024-05-31 under 'date', found {row['date']!r}"
        raise BenchmarkError(msg) from error


def _tests(row: Row, place: str) -> dict[str, Any]:
    """Return the tests in the form of ``Sample.tests``."""
    # Parquet gives every test of a file the same keys, null where it has none of its own.
    tests = [_without_null(test, "timeout_s") for test in row["tests"]]
    if all(isinstance(test, str) for test in tests):
        return {"kind": "asserts", "setup": "", "asserts": tests}
    for kind, keys in _CASES.items():
        if all(isinstance(test, dict) and _fits(test, keys) for test in tests):
            if kind == "calls" and "entry_point" not in row:
                msg = f"{place}: 'tests' with args need 'entry_point', the function to call"
                raise BenchmarkError(msg)
            return {"kind": kind, "cases": tests}
    msg = (
        f"{place}: expected 'tests' to be a list of assert statements,"
        ' of {"args": [...], "expected": ...} or of {"stdin": "...", "stdout": "..."}'
        " (and timeout_s, a number of seconds)"
    )
    raise BenchmarkError(msg)


def _without_null(test: Any, key: str) -> Any:  # noqa: ANN401  any JSON value
    is_null = isinstance(test, dict) and key in test and test[key] is None
    return {k: v for k, v in test.items() if k != key} if is_null else test


def _fits(test: Row, keys: Mapping[str, type]) -> bool:
    timeout = test.get("timeout_s", 1)
    return (
        test.keys() - {"timeout_s"} == keys.keys()
        and all(isinstance(test[key], kind) for key, kind in keys.items())
        and isinstance(timeout, int | float)
        and timeout > 0
    )
