"""Read QuixBugs, which serves two uses: to repair its buggy programs and to test its correct ones.

A clone holds every program in Python and Java, its tests as JSON cases, for pytest and for
JUnit; the hub's mirror holds the Python programs and asserts only. What both hold gives the
same ids, texts and references.
"""

import ast
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample

_FOLDERS = ("python_programs", "correct_python_programs", "python_testcases", "json_testcases")
_JAVA_FOLDERS = ("java_programs", "correct_java_programs", "java_testcases/junit")
_TEXTS = {  # a row's texts and their files in a clone; the program's name is in two spellings
    "buggy": "python_programs/{0}.py",
    "correct": "correct_python_programs/{0}.py",
    "pytest": "python_testcases/test_{0}.py",
    "conftest": "conftest.py",
    "node": "python_testcases/node.py",
    "java_buggy": "java_programs/{1}.java",
    "java_correct": "correct_java_programs/{1}.java",
    "junit": "java_testcases/junit/{1}_TEST.java",
    "junit_helper": "java_testcases/junit/QuixFixOracleHelper.java",
    "java_node": "java_programs/Node.java",
    "java_edge": "java_programs/WeightedEdge.java",
}
_COLUMNS = {"name": str, "buggy_program": str, "solution": str, "tests": str}
_IMPORTS_NODE = re.compile(r"^(?:from|import)\s+node\b", re.MULTILINE)
# The two versions lie in two packages, so they differ in these lines, which are no part of a fix.
_PACKAGES = re.compile(r"^(package\s[^;]*|import\s+java_programs\.\w+)\s*;[ \t]*\n?", re.MULTILINE)


def _read(copy: Copy) -> Iterator[Row]:
    if any((copy.root / folder).is_dir() for folder in _FOLDERS):
        return _of_clone(copy)
    return _of_mirror(copy)


def _of_clone(copy: Copy) -> Iterator[Row]:
    missing = [name for name in _FOLDERS if not (copy.root / name).is_dir()]
    if missing:
        msg = f"{copy.root}: no folder {missing[0]}; give the folder of a clone of jkoppel/QuixBugs"
        raise BenchmarkError(msg)
    paths = [
        path for name in (*_FOLDERS, *_JAVA_FOLDERS) for path in sorted(copy.root.glob(f"{name}/*"))
    ]
    paths = [path for path in [*paths, copy.root / "conftest.py"] if path.is_file()]
    texts = {copy.name(p): copy.text(p) for p in paths if p.suffix in {".py", ".json", ".java"}}
    # In the order of ids, so that rows do not depend on a file system.
    for stem in sorted(filter(None, map(_program, texts))):
        row = {key: texts.get(name.format(stem, stem.upper()), "") for key, name in _TEXTS.items()}
        cases = f"json_testcases/{stem}.json"
        lines = [line for line in texts.get(cases, "").split("\n") if line.strip()]
        yield row | {
            "name": stem,
            "cases": [files.parse_json(line, f"{copy.root / cases}") for line in lines],
            "asserts": "",
        }


def _program(name: str) -> str | None:
    """Return which program a file is; node.py is a helper, and ``_test`` marks old drivers."""
    folder, _, file = name.partition("/")
    stem = file.removesuffix(".py")
    is_program = folder == "python_programs" and not stem.endswith("_test")
    return stem if is_program and stem not in {"node", "__init__"} else None


def _of_mirror(copy: Copy) -> Iterator[Row]:
    patterns = "quixbugs_python.jsonl", "*.jsonl", "**/train/*.parquet"
    for place, row in copy.rows(*patterns, columns=tuple(_COLUMNS)):
        files.require(row, _COLUMNS, place)
        yield dict.fromkeys(_TEXTS, "") | {
            "name": row["name"],
            "buggy": row["buggy_program"],
            "correct": row["solution"],
            "cases": [],
            "asserts": row["tests"],
        }


class _Version(NamedTuple):
    """Say how a row is read in one of the two languages."""

    buggy: str  # key of the row
    correct: str
    alone: Callable[[str], str]  # the program without what is no code of it
    tests: Callable[[Row], dict[str, Any]]
    reference: Callable[[Row], str]  # a test of the program


def _python_alone(code: str) -> str:
    """Return ``code`` without comments, docstrings and the statements at column 0 that are strings.

    The latter hold the task's text, which names the variables, and other solutions.
    """
    for found in reversed(languages.statements(code, "python")):
        if found.text.startswith(('"', "'")) and found.text.endswith(('"', "'")):
            code = code[: found.start] + code[found.end :]
    return languages.tidy(languages.undocumented(code, "python"))


def _java_alone(code: str) -> str:
    """Return ``code`` without comments, some of which tell the fix, and without its package."""
    return languages.tidy(languages.undocumented(_unpacked(code), "java"))


def _unpacked(code: str) -> str:
    return _PACKAGES.sub("", code.replace("\r\n", "\n")).replace("java_programs.", "")


def _python_tests(row: Row) -> dict[str, Any]:
    if row["cases"]:
        listed = re.search(rf"\blist\({row['name']}\(", row["pytest"])
        return {"kind": "calls", "cases": _cases(row)} | ({"listed": True} if listed else {})
    return _asserts(row["asserts"]) if row["asserts"] else _pytest(row)


def _cases(row: Row) -> list[dict[str, Any]]:
    """Return the test cases of the JSON file, read as the pytest file beside it reads them.

    ``tolerance``: absolute. ``slow``: takes minutes, left out by the pytest file itself.
    """
    tree = ast.parse(row["pytest"])
    slow = [
        ast.literal_eval(node.comparators[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.List)
    ]
    cases = []
    for args, expected in row["cases"]:
        case: dict[str, Any] = {"args": args if isinstance(args, list) else [args]}
        case["expected"] = expected
        if "approx(" in row["pytest"]:
            case["tolerance"] = case["args"][-1]
        if args in slow:
            case["slow"] = True
        cases.append(case)
    return cases


def _asserts(code: str) -> dict[str, Any]:
    """Return the asserts of the mirror; where others stand between them, all are one block."""
    body = ast.parse(code).body
    is_assert = [isinstance(statement, ast.Assert) for statement in body]
    first = is_assert.index(True)
    setup, asserts = "\n".join(map(ast.unparse, body[:first])), list(map(ast.unparse, body[first:]))
    return {
        "kind": "asserts",
        "setup": setup,
        "asserts": asserts if all(is_assert[first:]) else ["\n".join(asserts)],
    }


def _pytest(row: Row) -> dict[str, Any]:
    """Return the pytest file of a program on graphs; the answer goes into ``module``."""
    if not row["pytest"]:
        msg = "neither test cases nor a pytest file"
        raise ValueError(msg)
    return {
        "kind": "pytest",
        "module": f"python_programs/{row['name']}.py",
        "files": {
            f"test_{row['name']}.py": row["pytest"],
            "conftest.py": row["conftest"],
            "node.py": row["node"],
        },
    }


def _java_tests(row: Row) -> dict[str, Any]:
    """Return the JSON cases for the Java method, or the JUnit file where there are none."""
    name = row["name"].upper()
    if row["cases"]:
        tests = {"kind": "calls", "class": name, "cases": _cases(row)}
        return tests | ({"formatted": True} if "Helper.format(" in row["junit"] else {})
    if not row["junit"]:
        msg = "neither test cases nor a JUnit file"
        raise ValueError(msg)
    return {
        "kind": "junit",
        "module": f"java_programs/{name}.java",
        "files": {
            f"java_testcases/junit/{name}_TEST.java": row["junit"],
            "java_programs/Node.java": row["java_node"],
            "java_programs/WeightedEdge.java": row["java_edge"],
        },
    }


def _python_reference(row: Row) -> str:
    """Return a test of the program: its cases as asserts, or the functions of its pytest file."""
    if not row["cases"] and not row["asserts"]:
        return _test_functions(_pytest(row)["files"][f"test_{row['name']}.py"])
    asserts = row["asserts"]
    if row["cases"]:
        tests = _python_tests(row)
        cases = [case for case in tests["cases"] if "slow" not in case]
        if "tuple(" in row["pytest"]:  # the file makes tuples of what JSON has as lists
            cases = [case | {"expected": list(map(tuple, case["expected"]))} for case in cases]
        listed = "listed" in tests
        asserts = "\n".join(_assertion(row["name"], case, listed=listed) for case in cases)
    body = ast.unparse(ast.parse(asserts))  # in one layout, whoever wrote them
    return f"def test_{row['name']}():\n{textwrap.indent(body, '    ')}"


def _assertion(name: str, case: Mapping[str, Any], *, listed: bool) -> str:
    call = f"{name}({', '.join(map(repr, case['args']))})"
    call = f"list({call})" if listed else call
    if "tolerance" in case:
        return f"assert abs({call} - {case['expected']!r}) <= {case['tolerance']!r}"
    return f"assert {call} == {case['expected']!r}"


def _test_functions(code: str) -> str:
    """Return a pytest file without what chooses the version to test."""
    lines = code.split("\n")
    for node in reversed(ast.parse(code).body):
        if isinstance(node, ast.If | ast.Import):
            del lines[node.lineno - 1 : node.end_lineno]
    return languages.tidy("\n".join(lines))


def _java_reference(row: Row) -> str:
    if not row["junit"]:
        msg = "no JUnit file"
        raise ValueError(msg)
    return languages.tidy(_unpacked(row["junit"]))


_VERSIONS = {
    "python": _Version("buggy", "correct", _python_alone, _python_tests, _python_reference),
    "java": _Version("java_buggy", "java_correct", _java_alone, _java_tests, _java_reference),
}


def repair_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a program of QuixBugs as a sample: its buggy version, to be repaired.

    A Java program is its whole class without the package.
    """
    version = _VERSIONS[options["language"]]
    if not row[version.buggy] or not row[version.correct]:
        return Skipped(f"no buggy or no correct version in {options['language']}")
    try:
        tests = version.tests(row)
    except (SyntaxError, TypeError, ValueError):
        return Skipped("its tests cannot be read")
    return Sample(
        benchmark="quixbugs-repair",
        sample_id=row["name"],
        task="program_repair",
        language=options["language"],
        input_kind="code",
        text=version.alone(row[version.buggy]),
        reference=version.alone(row[version.correct]),
        tests=json.dumps(tests),
        entry_point=row["name"],
    )


def tests_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a program of QuixBugs as a sample: its correct version, to be tested.

    The task's text is left out, since it names the parameters. The tests name the class
    of a method, which is therefore not renamed. Graphs are made of the class in ``node.py``,
    which stands beside every test of a program on them.
    """
    version, name = _VERSIONS[options["language"]], row["name"]
    beside = {"files": {"node.py": row["node"]}} if _IMPORTS_NODE.search(row["pytest"]) else {}
    within = {"class": name.upper()} if options["language"] == "java" else beside
    if not row[version.correct]:
        return Skipped(f"no correct version in {options['language']}")
    try:
        reference = version.reference(row)
    except (SyntaxError, TypeError, ValueError):
        return Skipped("its tests cannot be read")
    return Sample(
        benchmark="quixbugs-tests",
        sample_id=name,
        task="test_generation",
        language=options["language"],
        input_kind="code",
        text=version.alone(row[version.correct]),
        reference=reference,
        tests=json.dumps({"kind": "generated"} | within),
        entry_point=name,
    )


_HUB = Hub(
    id="Muennighoff/quixbugs",
    files=(("quixbugs_python.jsonl",), ("*.jsonl",)),
    export=(("*/train/*.parquet",),),
)

REPAIR = Benchmark(
    name="quixbugs-repair",
    task="program_repair",
    category="program repair",
    dataset="QuixBugs",
    languages=("python", "java"),
    perturbation="rename",
    reference="the correct version of the program",
    tests="calls with their results, or a pytest or JUnit file; through the hub asserts",
    rows=40,
    characters=400,
    hub=_HUB,
    licence="MIT",
    source="https://github.com/jkoppel/QuixBugs",
    options={"language": ("python", "java")},
    read=_read,
    sample=repair_sample,
)

TESTS = Benchmark(
    name="quixbugs-tests",
    task="test_generation",
    category="test generation",
    dataset="QuixBugs",
    languages=("python", "java"),
    perturbation="rename",
    reference="the program's test cases as asserts, or its pytest or JUnit file",
    tests="the generated test is run against the program",
    rows=40,
    characters=640,
    hub=_HUB,
    licence="MIT",
    source="https://github.com/jkoppel/QuixBugs",
    options={"language": ("python", "java")},
    read=_read,
    sample=tests_sample,
)
