"""Read benchmarks that state the problem of a programming contest and ask for a program."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.errors import BenchmarkError
from memoprobe.records import TEXT_SLOT, Sample

_CATEGORY = "code generation"
_SPLITS = ("train", "test", "valid")
_APPS_TEXTS = ("question", "solutions", "input_output", "difficulty", "url", "starter_code")
_APPS_COLUMNS = ("problem_id", "id", *_APPS_TEXTS)
# What its LeetCode solutions use without importing it.
_APPS_IMPORTS = """\
import bisect, collections, functools, heapq, itertools, math, random, re, string, sys
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import ceil, floor, gcd, inf, log, sqrt
from typing import *
"""
_CONTEST_COLUMNS = (
    *("name", "description", "public_tests", "private_tests", "generated_tests", "solutions"),
    *("cf_contest_id", "time_limit", "input_file", "output_file"),
)
_CODES = {3: "python", 2: "cpp", 4: "java", 1: "python2"}  # in the order of preference
_READS = "Read from standard input and write to standard output."
_MOST_REFERENCES = 30  # of one sample, of hundreds
_KEPT_SOLUTIONS = 5  # in each language
_KEPT_CHARACTERS = 2**16  # of the generated tests of one problem, which run to megabytes

_WORD = (
    r"(?:in-?puts?|out-?puts?|examples?|constraints?|interaction|subtasks?|scoring|notes?"
    r"|(?:sample|example)[ \t]+(?:in-?puts?|out-?puts?|cases?|tests?(?:[ \t]+cases?)?))"
)
# The lines at which the prose of a problem ends: a heading alone on its line, an example, code.
_BLOCK = re.compile(
    "|".join(
        (
            rf"^[ \t>#*_=-]*(?:the[ \t]+|for[ \t]+)?{_WORD}"
            r"(?:[ \t]+(?:format|specification|description|data|file))?[ \t]*\d*[ \t:.#*_=-]*$",
            r"^[ \t#*_]*(?:input|output|constraints|(?:for[ \t]+)?examples?[ \t\d]*)[*_]*[ \t]*:",
            r"^[ \t]*```",
            r"^[ \t]*>>>",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)


class Problem(NamedTuple):
    """Hold the prose of a problem and, with TEXT_SLOT in its place, all that surrounds it."""

    text: str
    context: str


def split_prose(statement: str) -> Problem:
    """Return a statement as the prose before its first block, and what stands around that.

    Blocks are descriptions of input and output, constraints, examples and code. A statement
    that begins with one is prose as a whole.
    """
    block = _BLOCK.search(statement)
    end = block.start() if block and statement[: block.start()].strip() else len(statement)
    text = statement[:end].strip()
    start = statement.find(text)
    return Problem(text, statement[:start] + TEXT_SLOT + statement[start + len(text) :].rstrip())


def _contest(url: str) -> str | None:
    """Return the contest that the address of a problem names, None where it names none."""
    found = re.search(
        r"(codeforces)\.com/(?:problemset/problem|contest|gym)/(\d+)"
        r"|(atcoder)\.jp/contests/([\w-]+)",
        url,
    )
    return "/".join(filter(None, found.groups())) if found else None


def _split_of(name: str) -> str:
    """Return the split that a file's name in its copy tells.

    Raises:
        BenchmarkError: It tells none.
    """
    found = re.search("|".join(_SPLITS), name)
    if found is None:
        msg = f"{name}: tells no split; name it after one of {', '.join(_SPLITS)}"
        raise BenchmarkError(msg)
    return found[0]


def _read_apps(copy: Copy) -> Iterator[Row]:
    folders = "train/*/question.txt", "test/*/question.txt", "*/question.txt"
    questions = [path for pattern in folders for path in sorted(copy.root.glob(pattern))]
    for path in questions:
        yield _apps_problem(path.parent, copy)
    patterns = "t*.jsonl", "all/t*.parquet", "*/t*/*.parquet", "*/t*/*/*.parquet"
    for path in [] if questions else copy.find(*patterns, "train/*/question.txt"):
        split = _split_of(copy.name(path))
        for place, row in copy.rows_of(path, _APPS_COLUMNS):
            yield _apps_row(row, split, place)


def _apps_problem(folder: Path, copy: Copy) -> Row:
    """Return a folder of the tarball as a row of the hub; files that are not there are empty."""

    def text(name: str) -> str:
        return copy.text(folder / name) if (folder / name).is_file() else ""

    about = files.parse_json(text("metadata.json") or "{}", f"{folder}/metadata.json")
    row = {
        "id": folder.name,
        "question": text("question.txt"),
        "solutions": text("solutions.json"),
        "input_output": text("input_output.json"),
        "starter_code": text("starter_code.py"),
        "difficulty": about.get("difficulty"),
        "url": about.get("url"),
    }
    return _apps_row(row, _split_of(folder.parent.name), str(folder))


def _apps_row(row: Row, split: str, place: str) -> Row:
    number = row.get("problem_id", row.get("id"))
    if isinstance(number, bool) or not str(number).isdecimal():
        msg = f"{place}: expected a number under 'problem_id' or 'id', found {number!r}"
        raise BenchmarkError(msg)
    texts = {key: row.get(key) or "" for key in _APPS_TEXTS}
    files.require(texts, dict.fromkeys(_APPS_TEXTS, str), place)
    files.require(row, {"question": str}, place)
    return {"id": f"{split}/{int(number or 0):04}", "split": split, **texts}


def apps_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of APPS as a sample; its references are its solutions.

    The prose before its first block is text; the blocks, the starter code and the words
    that say how input comes (as bigcode-evaluation-harness puts them) are context.
    """
    for option in ("split", "difficulty"):
        if options[option] not in {row[option], "all"}:
            return Skipped(f"of the {option} {row[option] or 'unknown'}")
    try:
        solutions = json.loads(row["solutions"] or "[]")
        given = json.loads(row["input_output"] or "{}")
        references = _distinct(filter(str.strip, solutions))
        tests = _apps_tests(given, row["starter_code"] or "\n".join(references[:1]))
    except json.JSONDecodeError:
        return Skipped("its solutions or tests are no JSON")
    except ValueError:  # of int, which takes no more digits by default
        return Skipped("its tests hold a number of thousands of digits")
    except (AttributeError, KeyError, TypeError):
        return Skipped("its solutions or tests are not in the form of the data set")
    if not references:
        return Skipped("no solution")
    problem = split_prose(row["question"])
    if not problem.text:
        return Skipped("an empty statement")
    style = "Call-Based" if tests and tests["kind"] == "calls" else "Standard Input"
    parts = (problem.context, row["starter_code"].strip("\n").rstrip(), f"Use {style} format")
    return Sample(
        benchmark="apps",
        sample_id=row["id"],
        task="code_generation",
        language="python",
        input_kind="prose",
        text=problem.text,
        context="\n\n".join(filter(str.strip, parts)),
        reference=references[0],
        alternatives=tuple(references[1:]),
        tests=json.dumps(tests) if tests else None,
        entry_point=given.get("fn_name"),
        cluster=_contest(row["url"]),
    )


def _distinct(solutions: Iterable[str]) -> list[str]:
    """Return the first solutions that are not alike in all but layout."""
    some = islice(solutions, _MOST_REFERENCES)
    return list(dict.fromkeys(map(languages.tidy, some)))


def _apps_tests(given: Mapping[str, Any], code: str) -> dict[str, Any] | None:
    """Return the tests of a problem, None where it has none.

    Args:
        given: Its inputs and outputs as in the data set.
        code: Its starter code, or else a solution: it tells whether a class is asked for.
    """
    pairs = list(zip(given.get("inputs", []), given.get("outputs", []), strict=False))
    if not pairs:
        return None
    if "fn_name" not in given:
        cases = [{"stdin": _joined(stdin), "stdout": _joined(out)} for stdin, out in pairs]
        return {"kind": "stdio", "cases": cases}
    tests = {
        "kind": "calls",
        "cases": [{"args": list(args), "expected": expected} for args, expected in pairs],
        "unwrap": True,
        "setup": _APPS_IMPORTS,
    }
    return tests | ({"class": "Solution"} if "class Solution" in code else {})


def _joined(lines: object) -> str:
    """Return an input or output as one text; a few are lists of lines."""
    return "\n".join(map(str, lines)) if isinstance(lines, list) else str(lines)


def _read_codecontests(copy: Copy) -> Iterator[Row]:
    for path in copy.find("data/*.parquet", "*.parquet", "*.jsonl", "data/*.jsonl"):
        split = _split_of(copy.name(path))
        for place, row in copy.rows_of(path, _CONTEST_COLUMNS):
            yield _contest_row(_unwrapped(row) if "prompt" in row else row, split, place)


def _unwrapped(row: Row) -> Row:
    """Return a row of CodeT's copy, statements alone in a docstring, as a row without solutions."""
    about = row.get("meta_data") or {}
    statement = str(row["prompt"]).partition("'''")[2].partition("'''")[0]
    limit = about.get("time_limit")
    return {"name": about.get("task_name"), "description": statement, "time_limit": limit}


def _contest_row(row: Row, split: str, place: str) -> Row:
    files.require(row, {"name": str, "description": str}, place)
    limit = row.get("time_limit") or {}
    seconds = (limit.get("seconds") or 0) + (limit.get("nanos") or 0) / 1e9
    solved = row.get("solutions") or {}
    solutions: dict[str, list[str]] = {}
    for number, code in zip(
        solved.get("language") or [], solved.get("solution") or [], strict=False
    ):
        if number in _CODES and code.strip():
            solutions.setdefault(_CODES[number], []).append(code)
    tests = {key: _pairs(row.get(f"{key}_tests")) for key in ("public", "private", "generated")}
    return {
        "id": row["name"],
        "split": split,
        "description": row["description"],
        "solutions": {name: codes[:_KEPT_SOLUTIONS] for name, codes in solutions.items()},
        **tests,
        "generated": _bounded(tests["generated"]),
        "contest": row.get("cf_contest_id") or None,
        "timeout_s": seconds or None,
        "reads_files": bool(row.get("input_file") or row.get("output_file")),
    }


def _pairs(tests: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return a struct of parallel lists as pairs of an input and an output."""
    both = ((tests or {}).get(key) or [] for key in ("input", "output"))
    return list(zip(*both, strict=False))


def _bounded(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the first pairs that hold no more than _KEPT_CHARACTERS together."""
    sizes = accumulate(len(stdin) + len(stdout) for stdin, stdout in pairs)
    return pairs[: sum(1 for _ in takewhile(lambda size: size <= _KEPT_CHARACTERS, sizes))]


def codecontests_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of CodeContests as a sample; its references are solutions in one language.

    In any language that is the first in Python 3, else in C++, Java or Python 2. The prose
    before the first block is text.
    """
    if options["split"] != row["split"]:
        return Skipped(f"of the split {row['split']}")
    wanted = _CODES.values() if options["language"] == "any" else (options["language"],)
    chosen = next((name for name in wanted if row["solutions"].get(name)), None)
    if chosen is None:
        of = "" if options["language"] == "any" else f" in {options['language']}"
        return Skipped(f"no solution{of}")
    problem = split_prose(row["description"])
    if not problem.text:
        return Skipped("an empty statement")
    keys = ("public", "private", *(["generated"] if options["tests"] == "generated" else []))
    limit = {"timeout_s": row["timeout_s"]} if row["timeout_s"] else {}
    cases = [
        {"stdin": stdin, "stdout": stdout, **limit} for key in keys for stdin, stdout in row[key]
    ]
    # Files cannot be given to an answer, nor can Python 2 be run.
    is_run = cases and not row["reads_files"] and chosen != "python2"
    reference, *alternatives = _distinct(row["solutions"][chosen])
    words = _READS + (" Write it in Python 2." if chosen == "python2" else "")
    return Sample(
        benchmark="codecontests",
        sample_id=row["id"],
        task="code_generation",
        language="python" if chosen == "python2" else chosen,
        input_kind="prose",
        text=problem.text,
        context=f"{problem.context}\n\n{words}",
        reference=reference,
        alternatives=tuple(alternatives),
        tests=json.dumps({"kind": "stdio", "cases": cases}) if is_run else None,
        cluster=f"codeforces/{row['contest']}" if row["contest"] else None,
    )


APPS = Benchmark(
    name="apps",
    task="code_generation",
    category=_CATEGORY,
    dataset="APPS",
    languages=("python",),
    perturbation="lexical",
    reference="the first of the solutions, or the nearest of several",
    several=True,
    tests="calls with their results, or inputs with their outputs",
    rows=5000,
    characters=1900,
    hub=Hub(
        id="codeparrot/apps",
        files=(("train.jsonl", "test.jsonl"), ("all/train-*.parquet", "all/test-*.parquet")),
        export=(("*/train/*.parquet", "*/test/*.parquet"),),
    ),
    licence="MIT",
    source="https://github.com/hendrycks/apps",
    options={
        "split": ("train", "test", "all"),  # train as the study
        "difficulty": ("all", "introductory", "interview", "competition"),
    },
    read=_read_apps,
    sample=apps_sample,
)

CODECONTESTS = Benchmark(
    name="codecontests",
    task="code_generation",
    category=_CATEGORY,
    dataset="CodeContests",
    languages=("python", "cpp", "java"),
    perturbation="lexical",
    reference="the first solution in the wanted language, or the nearest of several",
    several=True,
    tests="inputs with their outputs",
    rows=13328,
    characters=1700,
    hub=Hub(
        id="deepmind/code_contests",
        # The export branch holds a part of train only.
        files=(("data/train-*.parquet", "data/valid-*.parquet", "data/test-*.parquet"),),
    ),
    licence="CC BY 4.0",
    source="https://github.com/google-deepmind/code_contests",
    options={
        "split": _SPLITS,  # train as the study
        "language": ("any", "python", "cpp", "java", "python2"),
        "tests": ("given", "generated"),  # public and private; generated ones as well
    },
    read=_read_codecontests,
    sample=codecontests_sample,
)
