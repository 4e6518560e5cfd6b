"""Test tests that a model wrote, and reading tests as calls."""

import json

import pytest

from memoprobe.sandbox import Limits, Program, literals, run
from memoprobe.sandbox import verdicts as verdicts_module
from memoprobe.sandbox.modes import Trial
from memoprobe.sandbox.process import Ending
from tests.walled import needs_wall

PROGRAM = """class Solution:
    def sign(self, n):
        if n < 0:
            return -1
        for each in range(n):
            return 1
        return 0
"""


def generated(test, code=PROGRAM, **more):
    """Return the verdict of a model's test of a program."""
    tests = {"kind": "generated", "test": test, "entry_point": "sign", **more}
    tests |= {"class": "Solution"} if code == PROGRAM else {}
    return run(Program(code=code, tests=json.dumps(tests), limits=Limits(wall_s=0.5)))


@needs_wall
def test_a_test_of_calls_is_run_as_calls_under_coverage():
    """Its own code does not run, and what it reaches of the program is measured."""
    test = "def test_sign():\n    solution = Solution()\n    assert solution.sign(-3) == -1\n"
    verdict = generated(test, target_lines=[4, 6])

    assert (verdict.kind, verdict.mode, verdict.n_tests) == ("passed", "calls", 1)
    assert (verdict.lines, verdict.branches, verdict.target_lines) == (4 / 7, 1 / 4, 1 / 2)


@needs_wall
def test_a_test_that_does_not_hold_of_the_program_fails():
    """It counts as performance 0, with its coverage beside it."""
    verdict = generated("s = Solution()\nassert s.sign(2) == 1\nassert s.sign(0) == 1\n")

    assert (verdict.kind, verdict.n_passed, verdict.n_tests) == ("failed", 1, 2)
    assert verdict.lines == 6 / 7


@needs_wall
@pytest.mark.parametrize(
    ("test", "kind", "n_tests"),
    [
        ("from anything import Solution\nimport sys\ndef test_s():\n    for n in (1, 2):\n"
         "        assert Solution().sign(n) == 1\n", "passed", 1),
        ("import pytest\n@pytest.mark.parametrize('n', [1, -2])\ndef test_s(n):\n"
         "    assert abs(Solution().sign(n)) == 1\n", "passed", 2),
        ("import unittest\nclass T(unittest.TestCase):\n"
         "    def test_s(self): self.assertEqual(Solution().sign(0), 1)\n", "failed", 1),
        ("x = 1", "failed", 1),
        ("def test_s(:", "error", 0),
        ("assert True\x00", "error", 0),
        ("x = [" + "0," * 200_000 + "]", "error", 0),
        ("def test_s():\n    raise SystemExit", "incomplete", 1),
        ("import os\nos._exit(0)", "incomplete", 1),
        ("import not_to_be_had\nassert True", "unsupported", 1),
        ("while True: pass", "timeout", 1),
    ],
)  # fmt: skip
def test_other_tests_run_beside_the_program(test, kind, n_tests):
    """A model may write any code; a test that tests nothing has failed."""
    verdict = generated(test)

    assert (verdict.kind, verdict.n_tests) == (kind, n_tests)
    assert verdict.mode == ("shared" if n_tests else "calls")


@needs_wall
def test_a_program_that_lacks_its_libraries_is_no_fault_of_the_test():
    """TestEval's programs import more than Python brings."""
    verdict = generated("assert sign(1) == 1", code="import not_to_be_had\ndef sign(n): return 1\n")

    assert (verdict.kind, verdict.lines) == ("unsupported", None)


@needs_wall
def test_a_test_may_use_files_beside_it():
    """As the graph tests of QuixBugs use ``node.py``."""
    test = "from side import one\ndef test_sign():\n    assert Solution().sign(one()) == 1\n"

    assert generated(test, files={"side.py": "def one(): return 1"}).kind == "passed"


def ending(records=b"", **more):
    fields = {"status": 0, "reason": "", "starved": False, "printed": 0, "said": "", "seconds": 1.0}
    fields |= {"secret": "s", "is_full": False, "came_up": True, "lacks_library": False}
    return Ending(records=records, **(fields | more))


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (ending(), "incomplete"),
        (ending(status=1), "incomplete"),
        (ending(status=139), "crashed"),
        (ending(status=152), "timeout"),
        (ending(status=153), "output-limit"),
        (ending(reason="memory", status=137), "memory"),
        (ending(printed=1 << 30), "output-limit"),
        (ending(b'\ns ["unloaded","memory","m"]\n'), "memory"),
        (ending(b'\ns ["unloaded",'), "error"),
        (ending(b'\ns ["unloaded",[],"m"]\n'), "error"),
        (ending(b'\ns ["unloaded","passed","m"]\n'), "error"),
        (ending(b'\ns ["unloaded","unsupported","m"]\n'), "error"),
        (ending(b'\ns ["unloaded","unsupported","m"]\n', lacks_library=True), "unsupported"),
        (ending(came_up=False, said="bwrap: no"), "infrastructure"),
        (ending(is_full=True), "output-limit"),
    ],
)
def test_how_a_process_ended_decides_what_it_did_not_report(ended, kind):
    """A test that was passed before still counts, and never makes a pass of the rest."""
    trial = Trial(mode="calls", outcomes=[("passed", ""), ("gone", "")], ending=ended)

    assert verdicts_module.verdict(trial, Limits(), "calls").kind == kind


def test_shares_are_left_out_where_nothing_was_measured():
    """Without branches there is no share of them."""
    verdict = verdicts_module.Verdict(kind="passed", mode="calls")

    assert verdicts_module.with_coverage(verdict, None, []) == verdict
    found = verdicts_module.with_coverage(verdict, "[[1, 1, 2], [], 0, 0]", [2, 3])
    assert (found.lines, found.branches, found.target_lines) == (1.0, None, 0.5)


def read(*sources, name="f", owner=None):
    calls = literals.calls(sources, name, owner)
    return None if calls is None else [tuple(call) for call in calls]


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("assert f(1, k=(2,)) == [3]", ([1], {"k": (2,)}, {"expected": [3]})),
        ("assert [3] == f()", ([], {}, {"expected": [3]})),
        ("assert f() != {1}", ([], {}, {"expected": {1}, "negated": True})),
        ("assert f() is True", ([], {}, {"expected": True, "identical": True})),
        (
            "assert f() is not None",
            ([], {}, {"expected": None, "identical": True, "negated": True}),
        ),
        ("assert f(-1)", ([-1], {}, {"expected": True, "truth": True})),
        ("assert not f()", ([], {}, {"expected": False, "truth": True})),
        ("assert abs(f() - 2) <= .5", ([], {}, {"expected": 2.0, "tolerance": 0.5})),
        ('"""Text."""\nimport a\nx = [1]\ny = {"k": x}\nassert f(y) == 1', None),
        ("x = 1\nr = f(x)\nx = 2\nassert r == x", ([1], {}, {"expected": 2})),
        ("def test_f():\n    want = 4\n    assert f(3) == want", ([3], {}, {"expected": 4})),
    ],
)
def test_straight_tests_are_calls(source, call):
    """Names hold literals and results; what an assert says of a result is its case."""
    call = call or ([{"k": [1]}], {}, {"expected": 1})

    assert read(source) == [call]


def test_strict_tolerances_are_a_little_less():
    """The largest number that is smaller."""
    ((_, _, case),) = read("assert abs(f() - 1) < 0.5")

    assert 0.5 - 1e-15 < case["tolerance"] < 0.5


@pytest.mark.parametrize("made", ["Solution().f(1)", "s.f(1)"])
def test_methods_are_calls_of_fresh_or_named_objects(made):
    """As LeetCode's tests call them."""
    assert read(f"s = Solution()\nassert {made} == 2", owner="Solution") == [
        ([1], {}, {"expected": 2})
    ]


@pytest.mark.parametrize(
    "source",
    [
        "assert g(1) == 2",
        "assert f(1) == g()",
        "assert f(x) == 2",
        "assert f(1) > 2",
        "assert f(1) == 2 == 3",
        "assert f(*[1]) == 2",
        "assert f(**{'a': 1}) == 2",
        "assert f() is 3",
        "assert f(f(1)) == 2",
        "assert abs(f()) < 1",
        "assert 1 == 1",
        "x, y = 1, 2\nassert f(x) == y",
        "r = f(1)",
        "r = f(1)\nr = f(2)\nassert r == 1",
        "x = [1]\nassert f(x) == 1\nassert f(x) == 1",
        "for n in (1, 2):\n    assert f(n) == n",
        "def test_f(n):\n    assert f(n) == n",
        "f(1)",
        "assert f(1) == 2, 3\nprint()",
        "assert f(",
        "\n".join(["x = [1]", *["x = [x, x]"] * 40, "assert f(x) == 1"]),
    ],
)
def test_whatever_else_a_test_does_makes_it_code(source):
    """Also lists that a call may have changed before the next, and nested names without end."""
    assert read(source) is None
