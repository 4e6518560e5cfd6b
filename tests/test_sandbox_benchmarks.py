"""Run the benchmarks' own solutions and programs that are built to do harm."""

import ast
import gzip
import json
import os
import re
from pathlib import Path

import pytest

from memoprobe.benchmarks.quixbugs import TESTS
from memoprobe.sandbox import Limits, literals, run_all
from memoprobe.workers import Pool
from tests.benchmark_data import sampled
from tests.local import SHARED, needs_shared
from tests.walled import CALLS, CHECK, needs_java, needs_wall, program

pytestmark = [needs_shared, needs_wall]

DATA = SHARED / "data"
HOSTILE = SHARED / "hostile"
QUIXBUGS = DATA / "quixbugs"
ALIKE = {"error": {"error", "incomplete", "memory"}}  # verdicts of one meaning
SLOW = {"knapsack", "levenshtein", "sqrt"}


def lines(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def humaneval():
    for row in lines(DATA / "humaneval/HumanEval.jsonl.gz"):
        code = row["prompt"] + row["canonical_solution"]
        tests = {"kind": "check", "test": row["test"]}
        yield program(code, tests, entry_point=row["entry_point"])


def mbpp():
    for row in lines(DATA / "mbpp/mbpp.jsonl"):
        defined = {getattr(node, "name", None) for node in literals.parse(row["code"]).body}
        names = [
            n.id for n in ast.walk(literals.parse(row["test_list"][0])) if isinstance(n, ast.Name)
        ]
        tests = {"kind": "asserts", "setup": row["test_setup_code"], "asserts": row["test_list"]}
        entry = next(name for name in names if name in defined)
        yield program(row["code"], tests, entry_point=entry)


def names():
    folder = QUIXBUGS / "python_testcases"
    return [path.stem.removeprefix("test_") for path in sorted(folder.glob("test_*.py"))]


def quixbugs_calls(name):
    """Return the tests of a program from its JSON file, read as the pytest file reads it."""
    test = (QUIXBUGS / f"python_testcases/test_{name}.py").read_text(encoding="utf-8")
    slow = [
        ast.literal_eval(node.comparators[0])
        for node in ast.walk(literals.parse(test))
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.List)
    ]
    cases = []
    for given, expected in lines(QUIXBUGS / f"json_testcases/{name}.json"):
        args = given if isinstance(given, list) else [given]
        case = {"args": args, "expected": expected, "slow": given in slow}
        cases.append(case | ({"tolerance": args[-1]} if "approx(" in test else {}))
    return {"kind": "calls", "cases": cases, "listed": f"list({name}(" in test}


def quixbugs(folder, **options):
    texts = {path.name: path.read_text("utf-8") for path in QUIXBUGS.glob("python_testcases/*.py")}
    for name in names():
        if (QUIXBUGS / f"json_testcases/{name}.json").exists():
            tests = quixbugs_calls(name)
        else:
            files = {file: texts[file] for file in (f"test_{name}.py", "node.py")}
            tests = {"kind": "pytest", "module": f"python_programs/{name}.py", "files": files}
        code = (QUIXBUGS / folder / f"{name}.py").read_text(encoding="utf-8")
        yield program(code, tests, entry_point=name, **options)


def quixbugs_java(folder, **options):
    junit = QUIXBUGS / "java_testcases/junit"
    helpers = [QUIXBUGS / "java_programs/Node.java", QUIXBUGS / "java_programs/WeightedEdge.java"]
    for name in names():
        code = (QUIXBUGS / folder / f"{name.upper()}.java").read_text(encoding="utf-8")
        code = re.sub(r"package \w+;", "package java_programs;", code)
        if (QUIXBUGS / f"json_testcases/{name}.json").exists():
            tests = quixbugs_calls(name) | {"listed": False}
        else:
            paths = [*helpers, junit / f"{name.upper()}_TEST.java"]
            files = {path.name: path.read_text(encoding="utf-8") for path in paths}
            tests = {"kind": "junit", "files": files}
        yield program(code, tests, entry_point=name, language="java", **options)


def kinds(programs):
    return [each.kind for each in run_all(list(programs), pool=Pool(jobs=2))]


def hostile():
    paths = sorted(HOSTILE.glob("*.py")) if HOSTILE.is_dir() else []
    return [path.name for path in paths]


@pytest.fixture(scope="module")
def verdicts():
    """Run the hostile programs in both modes that cannot be forged."""
    programs = [
        program((HOSTILE / name).read_text(encoding="utf-8"), tests, limits=Limits(wall_s=4.0))
        for name in hostile()
        for tests in (CALLS, CHECK)
    ]
    found = run_all(programs, pool=Pool(jobs=2))
    return dict(zip(hostile(), zip(found[::2], found[1::2], strict=True), strict=True))


@pytest.mark.parametrize("name", hostile())
def test_hostile_programs_get_the_verdict_in_their_first_line(verdicts, name):
    """Or one of the same meaning; none passes that should not."""
    first = (HOSTILE / name).read_text(encoding="utf-8").partition("\n")[0]
    expected = first.removeprefix("# expect: ").strip()

    assert {each.kind for each in verdicts[name]} <= ALIKE.get(expected, {expected})


def test_hostile_programs_leave_nothing_behind(verdicts):
    """Neither in the folders that they try nor in this one."""
    assert not Path("/tmp/loot").exists()
    assert os.listdir() == []  # noqa: PTH208


def test_the_solutions_of_humaneval_pass():
    """In the mode that cannot be forged."""
    found = run_all(list(humaneval()), pool=Pool(jobs=2))

    assert {(each.kind, each.mode) for each in found} == {("passed", "split")}
    assert len(found) == 154


def test_the_solutions_of_mbpp_pass():
    """Nearly all by calls."""
    found = run_all(list(mbpp()), pool=Pool(jobs=2))

    assert {each.kind for each in found} == {"passed"}
    assert sum(each.mode == "calls" for each in found) > 0.95 * len(found) == 0.95 * 280


def test_right_programs_of_quixbugs_pass():
    """Graphs among them, whose objects are the tests' own."""
    assert kinds(quixbugs("correct_python_programs")) == ["passed"] * 30


def test_buggy_programs_of_quixbugs_fail():
    """Each fails a test, or does not end."""
    found = kinds(quixbugs("python_programs", limits=Limits(wall_s=4.0)))

    assert set(found) == {"failed", "error", "timeout"}


def test_the_own_tests_of_quixbugs_programs_on_graphs_run():
    """As tests that a model wrote would: ``node.py`` stands beside them."""
    samples, _ = sampled(TESTS, QUIXBUGS)
    graphs = [each for each in samples if "node" in each.tests]
    found = run_all(
        [
            program(
                each.text,
                {**json.loads(each.tests), "test": each.reference},
                entry_point=each.entry_point,
            )
            for each in graphs
        ],
        pool=Pool(jobs=2),
    )

    assert sorted(each.sample_id for each in graphs) == [
        "breadth_first_search",
        "depth_first_search",
        "reverse_linked_list",
        "topological_ordering",
    ]
    assert {(each.kind, each.lines) for each in found} == {("passed", 1.0)}


@needs_java
def test_right_java_programs_of_quixbugs_pass():
    """By calls, and by JUnit tests for graphs."""
    assert kinds(quixbugs_java("correct_java_programs")) == ["passed"] * 30


@needs_java
def test_buggy_java_programs_of_quixbugs_fail():
    """Each fails a test, or does not end."""
    found = kinds(quixbugs_java("java_programs", limits=Limits(wall_s=2.0)))

    assert set(found) == {"failed", "error", "timeout"}
