"""Read benchmarks that ask to repair a program: Defects4J and ConDefects (quixbugs.py has more)."""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from memoprobe import languages
from memoprobe.benchmarks import program_repair_fragments as fragments
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample

_CATEGORY = "program repair"
# About 5,000 tokens: prompt and an answer as long fit a context of 16,384, the smallest of the
# study's models.
MAX_CHARACTERS = 16_000
MAX_TEST_BYTES = 64 * 2**10  # of input and output that each row of a task carries
_LEGACY = "latin-1"  # of old Java sources; it decodes whatever is not UTF-8


def _read_defects4j(copy: Copy) -> Iterator[Row]:
    for pattern in ("framework/projects/*/active-bugs.csv", "*/active-bugs.csv"):
        if lists := sorted(copy.root.glob(pattern)):
            return (row for path in lists for row in _of_metadata(copy, path))
    exported = [path.parents[1] for path in copy.root.glob("*_*/buggy/*") if path.is_file()]
    if exported:
        return (_of_export(copy, folder) for folder in sorted(set(exported)))
    msg = (
        f"{copy.root}: neither framework/projects/<Project>/active-bugs.csv, as in a clone of "
        "rjust/defects4j, nor <Project>_<id>/buggy/<Class>.java, as exported from checkouts"
    )
    raise BenchmarkError(msg)


def _of_metadata(copy: Copy, path: Path) -> Iterator[Row]:
    """Yield the active bugs of one project, without a checkout."""
    folder = path.parent
    for bug in csv.DictReader(copy.text(path).splitlines()):
        number = bug.get("bug.id") or ""
        yield _bug(folder.name, number) | {
            "report": bug.get("report.url") or "",
            "patch": _text(copy, folder / "patches" / f"{number}.src.patch"),
            "classes": _text(copy, folder / "modified_classes" / f"{number}.src").split(),
            "triggers": re.findall(
                r"^--- (\S+)", _text(copy, folder / "trigger_tests" / number), re.MULTILINE
            ),
        }


def _of_export(copy: Copy, folder: Path) -> Row:
    """Return one bug with whole files, in the layout of the artifact's export script."""
    project, _, number = folder.name.rpartition("_")
    told: dict[str, list[str]] = defaultdict(list)
    key = ""
    for line in _text(copy, folder / "metadata.txt").splitlines():
        if found := re.match(r"(\w+):(?!:)(.*)", line):
            key, line = found.groups()
        told[key] += filter(None, re.split(r"[\s;,]+", line))
    versions = {
        version: {
            path.relative_to(folder / version).as_posix(): _text(copy, path)
            for path in sorted((folder / version).rglob("*.java"))
        }
        for version in ("buggy", "fixed")
    }
    names = {"classes": told["modified_classes"], "triggers": told["trigger_tests"]}
    return _bug(project, number) | names | versions


def _bug(project: str, number: str) -> dict[str, Any]:
    """Return a row that holds what all layouts have."""
    row: dict[str, Any] = {"project": project, "bug": number, "report": "", "patch": ""}
    return row | {"buggy": {}, "fixed": {}}


def _text(copy: Copy, path: Path) -> str:
    return copy.text(path, fallback=_LEGACY) if path.is_file() else ""


def defects4j_sample(row: Row, _: Options) -> Sample | Skipped:
    """Return a bug of Defects4J as a sample: the changed methods, or hunks of its patch.

    Which of the two it is stands in its tests, with the tests that fail before the fix;
    running these needs the tool and a checkout.
    """
    if not row["patch"] and not row["buggy"]:
        return Skipped("no patch")
    found = (
        fragments.of_patch(row["patch"])
        if row["patch"]
        else fragments.of_files(row["buggy"], row["fixed"])
    )
    if found is None:
        return Skipped("no Java code is changed")
    if max(len(found.buggy), len(found.fixed)) > MAX_CHARACTERS:
        return Skipped(f"longer than {MAX_CHARACTERS:,} characters")
    if not found.buggy or not found.fixed:
        return Skipped("one version has nothing to show")
    return Sample(
        benchmark="defects4j",
        sample_id=f"{row['project']}-{row['bug']}",
        task="program_repair",
        language="java",
        input_kind="code",
        text=found.buggy,
        reference=found.fixed,
        tests=json.dumps({"kind": "named", "tests": row["triggers"], "text": found.kind}),
        entry_point=found.methods[0] if len(found.methods) == 1 else None,
        cluster=row["project"],
    )


def _read_condefects(copy: Copy) -> Iterator[Row]:
    if copy.root.is_file():
        msg = f"{copy.root}: a file; give the folder of a clone of appmlk/ConDefects"
        raise BenchmarkError(msg)
    dates, difficulties = (_by_task(copy, name) for name in ("date.txt", "difficulty.txt"))
    tests = cache(lambda task: _tests_of(copy, task))
    for faulty in copy.find("Code/*/*/*/faultyVersion.*"):
        task, language, program = faulty.parent.parts[-3:]
        correct = faulty.with_stem("correctVersion")
        cases, n_left_out = tests(task)
        yield {
            "task": task,
            "language": language.lower(),
            "program": program,
            "faulty": _text(copy, faulty),
            "correct": _text(copy, correct),
            "fault_line": _text(copy, faulty.with_name("faultLocation.txt")).strip(),
            "date": dates.get(task),
            "difficulty": difficulties.get(task),
            "cases": cases,
            "n_cases_left_out": n_left_out,
        }


def _by_task(copy: Copy, name: str) -> dict[str, str]:
    pairs = (line.split() for line in _text(copy, copy.root / name).splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _tests_of(copy: Copy, task: str) -> tuple[list[dict[str, str]], int]:
    """Return a task's smallest tests up to MAX_TEST_BYTES in all, and how many are left out.

    They lie as ``Test/<contest>/<LETTER>/{in,out}/<name>`` once Test.zip is unpacked in the
    clone; one row for every program of a task would carry them all else.
    """
    contest, _, letter = task.rpartition("_")
    folders = copy.root / "Test" / contest / letter.upper(), copy.root / "Test" / task
    pairs = [
        (path, folder / "out" / path.name) for folder in folders for path in folder.glob("in/*")
    ]
    sizes = {pair: sum(path.stat().st_size for path in pair) for pair in pairs if pair[1].is_file()}
    cases, total = [], 0
    for stdin, stdout in sorted(sizes, key=lambda pair: (sizes[pair], pair)):
        total += sizes[stdin, stdout]
        if total > MAX_TEST_BYTES:
            break
        cases.append({"stdin": _text(copy, stdin), "stdout": _text(copy, stdout)})
    return cases, len(sizes) - len(cases)


def condefects_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a program of ConDefects as a sample: the faulty version as it was handed in."""
    if row["language"] != options["language"]:
        return Skipped(f"not in {options['language']}")
    if options["release"] == "2023-09" and not (row["date"] and row["date"] < "2023-10"):
        return Skipped("not of the first release: dated after September 2023, or not at all")
    faulty, correct = languages.tidy(row["faulty"]), languages.tidy(row["correct"])
    if not faulty or not correct:
        return Skipped("no faulty or no correct version")
    if faulty == correct:
        return Skipped("both versions are the same")
    if max(len(faulty), len(correct)) > MAX_CHARACTERS:
        return Skipped(f"longer than {MAX_CHARACTERS:,} characters")
    return Sample(
        benchmark="condefects",
        sample_id=f"{row['task']}/{row['program']}",
        task="program_repair",
        language=row["language"],
        input_kind="code",
        text=faulty,
        reference=correct,
        tests=json.dumps({"kind": "stdio", "cases": row["cases"]}) if row["cases"] else None,
        # A Java program is found by this name when it is run.
        entry_point="Main" if re.search(r"\bclass\s+Main\b", faulty) else None,
        cluster=row["task"].rpartition("_")[0],
        date=row["date"],
    )


DEFECTS4J = Benchmark(
    name="defects4j",
    task="program_repair",
    category=_CATEGORY,
    dataset="Defects4J",
    languages=("java",),
    perturbation="rename",
    reference="the same lines or methods of the fixed program",
    tests="the names of the tests that fail before the fix; not run",
    rows=854,
    characters=700,
    hub=None,
    licence="MIT (the tool); the projects keep their own",
    source="https://github.com/rjust/defects4j",
    read=_read_defects4j,
    sample=defects4j_sample,
)

CONDEFECTS = Benchmark(
    name="condefects",
    task="program_repair",
    category=_CATEGORY,
    dataset="ConDefects",
    languages=("python", "java"),
    perturbation="rename",
    reference="the correct version of the program",
    tests="input and output, where Test.zip is unpacked in the clone",
    rows=2864,
    characters=1300,  # 7 MB in 5,728 Python files; the 70 pairs at hand were chosen short
    hub=None,
    licence="CC BY-SA 4.0",
    source="https://github.com/appmlk/ConDefects",
    options={"language": ("python", "java"), "release": ("2024-06", "2023-09")},
    read=_read_condefects,
    sample=condefects_sample,
)
