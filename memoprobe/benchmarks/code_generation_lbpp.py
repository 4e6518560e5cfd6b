"""Read LBPP, whose authors ask that its texts not be spread: rows stay packed until they are used.

Both versions have the same fields: the first (2024, Python alone) readable, the second
(2025, six languages) with its code packed against scrapers.
"""

import ast
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Placed, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.benchmarks.unpack import unpack
from memoprobe.records import TEXT_SLOT, Sample

_TEXTS = ("task_id", "instruction", "completion")
_OTHERS = ("language", "title", "signature", "test_setup", "test_list", "test_file")
_PACKED = ("completion", *_OTHERS[2:])
_LANGUAGES = ("python", "cpp", "java", "javascript", "rust", "go")
_ALIASES = {"js": "javascript", "c++": "cpp", "py": "python"}
_HUB = (("*/test.parquet",),)
_CANARY = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_CANARIES = frozenset({"lbpp/python/042", "lbpp/41"})
# The second version's tests import the answer from a module of this name.
_OWN_IMPORT = re.compile(r"^\s*(?:from|import) code\b", re.MULTILINE)
_DEFINED = {
    "python": r"\b(?:def|class)\s+(\w+)",
    "javascript": r"\b(?:function\*?|class)\s+(\w+)|\b(?:const|let|var)\s+(\w+)\s*=",
    "rust": r"\b(?:fn|struct)\s+(\w+)",
    "go": r"\bfunc\s+(?:\([^)]*\)\s*)?(\w+)",
}
_DECLARED = r"\b(\w+)\s*\("  # in a language that puts the type first
# When the tasks were made public; the day is not known, and the first of the month is the earliest.
_DATES = {"python": "2024-07-01"}
_LATER_DATE = "2025-04-01"


def _read_lbpp(copy: Copy) -> Iterator[Row]:
    patterns = "*/test.parquet", "*/*/test.parquet", "lbpp.jsonl", "*.parquet", "lbpp.csv"
    for path in copy.find(*patterns):
        is_table = path.suffix == ".csv"
        found = _csv_rows(path, copy) if is_table else copy.rows_of(path, (*_TEXTS, *_OTHERS))
        for place, row in found:
            files.require(row, dict.fromkeys(_TEXTS, str), place)
            others = {key: row.get(key) or "" for key in _OTHERS}
            language = (others["language"] or "python").lower()
            known = {"language": _ALIASES.get(language, language)}
            yield {key: row[key] for key in _TEXTS} | others | known


def _csv_rows(path: Path, copy: Copy) -> Iterator[Placed]:
    table = csv.DictReader(io.StringIO(copy.text(path), newline=""))
    for number, row in enumerate(table, start=1):
        yield f"{path}, row {number}", row


def lbpp_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of LBPP as a sample: the instruction is text, the signature context.

    The row that only marks the data set, its canary, is left out.
    """
    if options["language"] != row["language"]:
        return Skipped(f"in {row['language']}")
    try:
        texts = _unpacked(row)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return Skipped("its packed code cannot be read")
    if row["task_id"] in _CANARIES or _CANARY.search(texts["completion"]):
        return Skipped("the canary, which only marks the data set")
    reference = languages.tidy(texts["completion"])
    if not reference or not row["instruction"].strip():
        return Skipped("no solution or no instruction")
    signature = texts["signature"].rstrip()
    if reference[:1].isspace():  # the body alone
        reference = f"{signature}\n{reference}"
    pattern = _DEFINED.get(row["language"], _DECLARED)
    named = re.search(pattern, signature) or re.search(pattern, reference)
    tests = _tests(texts) if row["language"] == "python" else None
    return Sample(
        benchmark="lbpp",
        sample_id=row["task_id"],
        task="code_generation",
        language=row["language"],
        input_kind="prose",
        text=row["instruction"].strip(),
        context=f"{TEXT_SLOT}\n\n{signature}" if signature else "",
        reference=reference,
        tests=json.dumps(tests) if tests else None,
        entry_point=next(filter(None, named.groups())) if named else None,
        date=_DATES.get(row["language"], _LATER_DATE),
    )


def _unpacked(row: Row) -> dict[str, Any]:
    """Return the readable texts of a row, and its tests as a list.

    Raises:
        ValueError: One cannot be unpacked, or is of another type.
        SyntaxError: The tests are no list.
    """
    texts: dict[str, Any] = {key: unpack(row[key]) or "" for key in _PACKED}
    if not all(isinstance(texts[key], str) for key in _PACKED if key != "test_list"):
        msg = "a packed value that is no text"
        raise ValueError(msg)
    return texts | {"test_list": _listed(texts["test_list"])}


def _listed(tests: object) -> list[str]:
    """Return a list of tests, which a table without lists holds as its text.

    Raises:
        ValueError: It is no list of texts.
        SyntaxError: Its text is no list.
    """
    if isinstance(tests, str) and tests.strip():
        try:
            tests = json.loads(tests)
        except json.JSONDecodeError:
            tests = ast.literal_eval(str(tests).strip())
    if tests and not (isinstance(tests, list) and all(isinstance(test, str) for test in tests)):
        msg = "tests that are no list of texts"
        raise ValueError(msg)
    return list(tests) if isinstance(tests, list) else []


def _tests(texts: dict[str, Any]) -> dict[str, Any] | None:
    """Return the tests of a row in Python, None where it has none."""
    if texts["test_list"]:
        tests = {"kind": "asserts", "setup": texts["test_setup"], "asserts": texts["test_list"]}
        return tests | ({"module": "code"} if _OWN_IMPORT.search(texts["test_setup"]) else {})
    if texts["test_file"].strip():
        test_file = {"test_code.py": texts["test_file"]}
        return {"kind": "pytest", "module": "code.py", "files": test_file}
    return None


LBPP = Benchmark(
    name="lbpp",
    task="code_generation",
    category="code generation",
    dataset="LBPP",
    languages=_LANGUAGES,
    perturbation="lexical",
    reference="the completion of the row",
    tests="assert statements",
    rows=162,
    characters=700,  # a guess: no row of it is kept here, as its authors ask
    hub=Hub(id="CohereLabs/lbpp", files=_HUB, mirror=Hub(id="CohereForAI/lbpp", files=_HUB)),
    licence="Apache-2.0",
    source="https://huggingface.co/datasets/CohereLabs/lbpp",
    private=True,
    options={"language": _LANGUAGES},
    read=_read_lbpp,
    sample=lbpp_sample,
)
