"""Read benchmarks that ask to repair a program."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample

_FOLDERS = ("python_programs", "correct_python_programs", "python_testcases", "json_testcases")


def _read_quixbugs(copy: Copy) -> Iterator[Row]:
    missing = [name for name in _FOLDERS if not (copy.root / name).is_dir()]
    if missing:
        msg = f"{copy.root}: no folder {missing[0]}; give the folder of a clone of jkoppel/QuixBugs"
        raise BenchmarkError(msg)
    paths = [path for name in _FOLDERS for path in sorted((copy.root / name).iterdir())]
    paths = [path for path in [*paths, copy.root / "conftest.py"] if path.is_file()]
    texts = {copy.name(p): copy.text(p) for p in paths if p.suffix in {".py", ".json"}}
    # In the order of ids, so that rows do not depend on a file system.
    for stem in sorted(filter(None, map(_program, texts))):
        yield _row(stem, texts, copy)


def _program(name: str) -> str | None:
    """Return which program a file is; node.py is a helper, and ``_test`` marks old drivers."""
    folder, _, file = name.partition("/")
    stem = file.removesuffix(".py")
    is_program = folder == "python_programs" and not stem.endswith("_test")
    return stem if is_program and stem not in {"node", "__init__"} else None


def _row(stem: str, texts: dict[str, str], copy: Copy) -> Row:
    """Return the texts of one program, empty where a file is missing."""
    names = {
        "buggy": f"python_programs/{stem}.py",
        "correct": f"correct_python_programs/{stem}.py",
        "pytest": f"python_testcases/test_{stem}.py",
        "conftest": "conftest.py",
        "node": "python_testcases/node.py",
    }
    row: dict[str, Any] = {key: texts.get(name, "") for key, name in names.items()}
    cases = f"json_testcases/{stem}.json"
    lines = [line for line in texts.get(cases, "").split("\n") if line.strip()]
    return row | {
        "name": stem,
        "cases": [files.parse_json(line, f"{copy.root / cases}") for line in lines],
    }


def quixbugs_sample(row: Row, _: Options) -> Sample | Skipped:
    """Return a program of QuixBugs as a sample: its buggy version, to be repaired.

    The strings after the function are left out of both versions: they hold the task's
    text, which names the variables, and other solutions.
    """
    if not row["correct"]:
        return Skipped("no correct version")
    try:
        tests = _calls(row) if row["cases"] else _pytest(row)
    except (SyntaxError, TypeError, ValueError):
        return Skipped("its tests cannot be read")
    return Sample(
        benchmark="quixbugs-repair",
        sample_id=row["name"],
        task="program_repair",
        language="python",
        input_kind="code",
        text=_program_alone(row["buggy"]),
        reference=_program_alone(row["correct"]),
        tests=json.dumps(tests),
        entry_point=row["name"],
    )


def _program_alone(code: str) -> str:
    """Return ``code`` without the statements at column 0 that are strings."""
    for found in reversed(languages.statements(code, "python")):
        if found.text.startswith(('"', "'")) and found.text.endswith(('"', "'")):
            code = code[: found.start] + code[found.end :]
    return languages.tidy(code)


def _calls(row: Row) -> dict[str, Any]:
    """Return the test cases of the JSON file, read as the pytest file beside it reads them.

    ``listed``: the result is a generator and is listed before it is compared.
    ``tolerance``: absolute. ``slow``: takes minutes, left out by the pytest file itself.
    """
    tree = ast.parse(row["pytest"])
    listed = re.search(rf"\blist\({row['name']}\(", row["pytest"])
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
    return {"kind": "calls", "cases": cases} | ({"listed": True} if listed else {})


def _pytest(row: Row) -> dict[str, Any]:
    """Return the pytest file of a program on graphs; the answer goes into ``module``."""
    if not row["pytest"]:
        msg = "neither test cases nor a pytest file"
        raise ValueError(msg)
    files = {f"test_{row['name']}.py": row["pytest"], "conftest.py": row["conftest"]}
    return {
        "kind": "pytest",
        "module": f"python_programs/{row['name']}.py",
        "files": files | {"node.py": row["node"]},
    }


QUIXBUGS_REPAIR = Benchmark(
    name="quixbugs-repair",
    task="program_repair",
    category="program repair",
    dataset="QuixBugs",
    languages=("python",),
    perturbation="rename",
    reference="the correct version of the program",
    tests="calls with their results, or a pytest file",
    rows=40,
    characters=500,
    hub=Hub(id="Muennighoff/quixbugs", files=(("*.jsonl",),)),
    licence="MIT",
    source="https://github.com/jkoppel/QuixBugs",
    read=_read_quixbugs,
    sample=quixbugs_sample,
)
