"""Perturbed code is checked: by its tests where it has some that run, else by its tokens."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from memoprobe import workers
from memoprobe.errors import SandboxError
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.pipeline import derive, meaning
from memoprobe.records import MeaningCheck, Variant
from memoprobe.report import checks
from memoprobe.sandbox import Verdict
from memoprobe.store import meaning as kept
from memoprobe.store import open_store
from memoprobe.store.database import Cell, PlanRow
from memoprobe.study import Study
from tests.report_data import cell, small
from tests.test_cli import memoprobe
from tests.test_store import sample
from tests.walled import needs_wall

PROGRAM = "def total(values, start):\n    result = start\n    for value in values:\n        "
RIGHT = PROGRAM + "result += value\n    return result\n"
BUGGY = PROGRAM + "result -= value\n    return result\n"
CASES = json.dumps({"kind": "calls", "cases": [{"args": [[1, 2, 3], 1], "expected": 7}]})
UNITTEST = (
    "import unittest\n\n\nclass TestTotal(unittest.TestCase):\n    def test_total(self):\n"
    "        self.assertEqual(total([1, 2], 3), 6)\n"
)
LEVELS = 3
SERIAL = workers.Pool(jobs=1)

REPAIR = sample(text=BUGGY, reference=RIGHT, tests=CASES, entry_point="total")
ASKED_FOR_A_TEST = sample(
    task="test_generation",
    text=RIGHT,
    reference=UNITTEST,
    tests=json.dumps({"kind": "generated"}),
    entry_point="total",
)


def variant(level, text, perturbation="rename", rename_map=None):
    return Variant(
        benchmark="b",
        sample_id="s",
        perturbation=perturbation,
        level=level,
        text=text,
        distance=0.1 * level,
        edit_share=0.1 * level,
        rename_map=rename_map or {},
    )


def altered(asked, perturbation="rename"):
    """Return a sample with its levels by a registered perturbation."""
    return asked, PERTURBATIONS[perturbation](asked, LEVELS, random.Random(0)).variants


def found(*each, **options):
    """Return (level, way, holds) of everything that is found of samples."""
    way = meaning.Way(study=Study(levels=LEVELS), pool=SERIAL, **options)
    return [(row.level, row.way, row.holds) for row in meaning.checks(each, way)]


@needs_wall
@pytest.mark.parametrize(
    ("asked", "name"),
    [(REPAIR, "rename"), (REPAIR, "dead-code"), (REPAIR, "placebo"), (ASKED_FOR_A_TEST, "rename")],
    ids=["rename", "dead-code", "placebo", "rename, a test asked for"],
)
def test_references_run_against_their_tests(asked, name):
    """The buggy program of a repair is not run: its reference is, perturbed as it was."""
    assert found(altered(asked, name)) == [(k, "tests", True) for k in range(LEVELS + 1)]


@needs_wall
def test_a_reference_test_names_arguments_as_the_program_does():
    """A call by keyword follows the rename map, for the program's own function alone."""
    test = UNITTEST.replace(
        "total([1, 2], 3), 6", 'total([1, 2], start=sum([], start=3)), int("6", base=10)'
    )
    levels = altered(replace(ASKED_FOR_A_TEST, reference=test))

    assert "start" in levels[1][-1].rename_map
    assert found(levels) == [(k, "tests", True) for k in range(LEVELS + 1)]
    assert found((replace(levels[0], reference=f"{test}\n)"), levels[1])) == [(0, "tests", False)]


@needs_wall
def test_code_that_breaks_is_found():
    """An own perturbation of a program under test is run as it was stored."""
    broken = RIGHT.replace("+=", "-=")
    levels = [variant(k, text, "mine.py:f") for k, text in enumerate((RIGHT, RIGHT, broken))]

    assert found((ASKED_FOR_A_TEST, levels)) == [
        (0, "tests", True), (1, "tests", True), (2, "tests", False)
    ]  # fmt: skip


@needs_wall
def test_a_reference_that_fails_unperturbed_counts_at_no_level():
    """It says nothing of the perturbation."""
    assert found(altered(replace(REPAIR, reference=BUGGY))) == [(0, "tests", False)]


@needs_wall
def test_tests_that_cannot_run_here_leave_the_parser():
    """A program whose language is not run, or whose tests are of a kind that is not, is parsed."""
    foreign = "function total($start) {\n    $sum = $start;\n    return $sum;\n}\n"
    php = replace(REPAIR, language="php", text=foreign, reference=foreign)
    unknown = replace(REPAIR, tests=json.dumps({"kind": "junit", "files": {}}))

    assert found(altered(php))[:2] == [(0, "parsed", True), (1, "parsed", True)]
    assert found(altered(unknown)) == [(k, "parsed", True) for k in range(LEVELS + 1)]


@pytest.mark.parametrize(
    ("level", "rename_map", "holds"),
    [
        (BUGGY.replace("start", "fadu"), {"start": "fadu"}, True),
        (BUGGY.replace("    ", "\t") + "# done\n", {}, True),
        (BUGGY.replace("start", "fadu"), {}, False),
        (BUGGY.replace("-=", "+="), {}, False),
        (BUGGY.replace("):", ")"), {}, False),
    ],
    ids=["renamed", "layout", "renamed beside the map", "another token", "no program"],
)
def test_without_tests_tokens_must_be_the_same(level, rename_map, holds):
    """Names are taken back by the rename map; comments and layout are no tokens."""
    asked = replace(REPAIR, tests=None)

    assert found((asked, [variant(0, BUGGY), variant(1, level, rename_map=rename_map)])) == [
        (0, "parsed", True), (1, "parsed", holds)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["format", "comments", "dead-code", "reorder", "function-name"])
def test_our_own_edits_are_taken_back(name):
    """Lines that were put in or moved count for no change; a renamed function is not run."""
    text = f"FIRST = 1\nSECOND = 2\n\n\n{RIGHT}"
    asked = replace(REPAIR, text=text, tests=CASES if name == "function-name" else None)
    levels = altered(asked, name)

    assert len(levels[1]) > 1
    assert found(levels) == [(k, "parsed", True) for k in range(len(levels[1]))]


def test_what_is_not_checked():
    """Prose, what changes the meaning, and an own perturbation, of which nothing is known."""
    asked = replace(REPAIR, tests=None)

    assert found((replace(asked, input_kind="prose"), [variant(0, BUGGY, "lexical")])) == []
    assert found(altered(asked, "constants"), altered(asked, "bitflip")) == []
    assert found((asked, [variant(0, BUGGY, "mine.py:f"), variant(1, "x", "mine.py:f")])) == []
    unknown = replace(ASKED_FOR_A_TEST, language="php")
    assert found((unknown, [variant(0, "$x;", "mine.py:f"), variant(1, "$y;", "mine.py:f")])) == []
    assert found((replace(asked, text="def f(:"), [variant(0, "def f(:")])) == [
        (0, "parsed", False)
    ]


@needs_wall
def test_a_sandbox_that_failed_says_nothing():
    """Nothing is kept of such a sample, so that it is tried again."""
    programs = {}
    found(altered(REPAIR), known=programs)
    last = [*programs][-1]
    programs[last] = Verdict(kind="infrastructure", mode="calls")

    assert len(programs) == LEVELS + 1
    assert found(altered(REPAIR), known=programs) == []


@pytest.fixture
def store():
    """Hold a run of three repairs: one with tests, one without, and one that does not parse."""
    with open_store(Path("run.db"), write=True) as opened:
        models = {"m": {"model": "m", "interface": "chat", "extra_body": {}}}
        opened.set_info({"settings": {"seed": 0, "levels": LEVELS, "width": 3, "models": models}})
        samples = [
            replace(REPAIR, sample_id="tested"),
            replace(REPAIR, sample_id="untested", tests=None),
            replace(REPAIR, sample_id="broken", tests=None, text="def f(:"),
        ]
        opened.add_samples(samples)
        for each in samples:
            opened.save(*altered(each)[1])
        opened.flush()
        opened.replace_plan({PlanRow(Cell("m", "b", "rename"), LEVELS, 1, 3): [
            each.sample_id for each in samples
        ]})  # fmt: skip
        yield opened


def shares(store):
    """Return way -> level -> how many pass of how many."""
    result = {}
    for each in kept.checks(store):
        result.setdefault(each.way, {})[each.level] = (each.passed, each.n)
    return result


@needs_wall
def test_scoring_checks_what_is_missing(store):
    """What was found is kept, with those that failed by name; another score adds nothing."""
    derive.score(store)
    first = kept.checks(store)
    store.db.execute("UPDATE meaning_rows SET holds = 0 WHERE level = 2")
    derive.score(store, ["levenshtein"])

    assert [(each.benchmark, each.language, each.perturbation) for each in first] == [
        ("b", "python", "rename")
    ] * len(first)
    assert [each.broken for each in first if each.broken] == [("broken",)]
    assert shares(store)["tests"] == {0: (1, 1), 1: (1, 1), 2: (0, 1), 3: (1, 1)}
    assert shares(store)["parsed"] == {0: (1, 2), 1: (1, 1), 2: (0, 1), 3: (1, 1)}
    table = memoprobe("export", "run.db", "--table", "meaning_checks", "--format", "csv")
    assert table.startswith("benchmark,perturbation,language,way,level,n,passed,share\n")


def test_without_a_wall_tests_wait(store, monkeypatch):
    """What has none is parsed all the same, and the rest follows once there is a wall."""

    def no_wall(*, unsafe=False):
        msg = "no bubblewrap"
        raise SandboxError(msg)

    monkeypatch.setattr("memoprobe.sandbox.find_wall", no_wall)
    derive.score(store)

    assert shares(store) == {"parsed": {0: (1, 2), 1: (1, 1), 2: (1, 1), 3: (1, 1)}}
    assert kept.unchecked(store) == [("b", "rename", "tested")]


@needs_wall
def test_figures_show_the_shares(store):
    """Here and now, or as a run has found them; without running anything where that is asked."""
    derive.score(store)
    rows = [{"id": "r", "input": BUGGY, "reference": RIGHT, "entry_point": "total",
             "tests": json.loads(CASES)["cases"]}]  # fmt: skip
    Path("own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    own = ("perturb", "own.jsonl", "--task", "program_repair", "--stats", "--json")

    def columns(*arguments):
        (figure,) = json.loads(memoprobe(*arguments))
        return [(row["passed"], row["parsed"]) for row in figure["rows"]][:LEVELS]

    assert columns("perturb", "b", "--db", "run.db", "--stats", "--json") == [(1.0, 1.0)] * LEVELS
    assert columns(*own) == [(1.0, None)] * LEVELS
    assert columns(*own, "--no-tests") == [(None, None)] * LEVELS


def test_figures_say_why_nothing_was_run(monkeypatch):
    """Without a wall there is a message, and no share."""

    def no_wall(*, unsafe=False):
        msg = "no bubblewrap"
        raise SandboxError(msg)

    monkeypatch.setattr("memoprobe.sandbox.find_wall", no_wall)
    Path("own.jsonl").write_text(json.dumps({"id": "r", "input": BUGGY}))

    memoprobe("perturb", "own.jsonl", "--task", "program_repair", "--stats")
    assert meaning.why_not() == "no bubblewrap"


def test_the_report_tells_both_ways_apart():
    """Tests and parsing have rows of their own, and what changes the meaning is labelled."""

    def check(way, level, n, passed, *broken):
        return MeaningCheck(benchmark="humaneval", perturbation="rename", language="python",
                            way=way, level=level, n=n, passed=passed, broken=broken)  # fmt: skip

    changed = cell("m", "humaneval", "program_repair", "constants", 4, 3, 0)
    data = small(
        cells=[*small().cells, changed],
        meaning=[
            check("tests", 0, 9, 8, "bad"), check("tests", 1, 8, 8),
            check("tests", 2, 8, 1, *"abcdefg"), check("parsed", 0, 2, 2), check("parsed", 1, 2, 2),
        ],
    )  # fmt: skip
    table = checks.meaning(data)

    assert [column.key for column in table.columns] == [
        *("benchmark", "perturbation", "language", "way", "samples", "unsound"),
        *("share_1", "share_2", "broken"),
    ]
    assert table.rows == [
        ["humaneval", "rename", "python", "parsed only", 2, 0, 1.0, None, ""],
        ["humaneval", "rename", "python", "run against tests", 9, 1, 1.0, 0.125,
         "a, b, c, d, e and 2 more"],
        ["humaneval", "constants (changes the meaning)", None, "not checked", None, None, None,
         None, None],
    ]  # fmt: skip
