"""Test the verdicts of programs by what they do and by how they are tested."""

import pickle

import pytest

from memoprobe.sandbox import Limits, Program, run, run_all
from memoprobe.workers import Pool
from tests.walled import CALLS, CHECK, QUICK, UNITTEST, needs_wall, program

pytestmark = needs_wall

RIGHT = "def total(xs):\n    return sum(xs)\n"
WRONG = "def total(xs):\n    return len(xs)\n"


def behaving(body, before=""):
    return f"import os, sys, time\n{before}\ndef total(xs):\n    {body}\n"


# Name: the program, and the verdicts that say what it did, in calls and split mode alike.
PROGRAMS = {
    "right": (RIGHT, {"passed"}),
    "wrong": (WRONG, {"failed"}),
    "raises": (behaving("raise RuntimeError('no')"), {"error"}),
    "syntax": ("def total(xs:\n", {"error"}),
    "missing": ("def other(xs): return sum(xs)\n", {"error"}),
    "loops": (behaving("while True: pass"), {"timeout"}),
    "sleeps": (behaving("time.sleep(1000)"), {"timeout"}),
    "loops in C": (
        "import itertools\ndef total(xs):\n    return sum(itertools.repeat(1, 10**11))\n",
        {"timeout"},
    ),
    "catches all": (
        "def total(xs):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass\n",
        {"timeout"},
    ),
    "reads input": (behaving("while True: os.read(0, 100)"), {"timeout"}),
    "takes memory": (behaving("return bytearray(1 << 30)"), {"memory"}),
    "shares memory": (
        "import mmap\ndef total(xs):\n    m = mmap.mmap(-1, 1 << 30)\n    return sum(xs)\n",
        {"memory"},
    ),
    "floods": (
        behaving("for _ in range(99): print('x' * 65536)\n    return sum(xs)"),
        {"output-limit"},
    ),
    "recurses": (behaving("return total(xs)"), {"error"}),
    "segfault": ("import ctypes\ndef total(xs):\n    ctypes.string_at(0)\n", {"crashed"}),
    "leaves at once": (behaving("return 0", before="sys.exit(0)"), {"incomplete"}),
    "leaves in a call": (behaving("os._exit(0)"), {"incomplete"}),
    "kills all": (behaving("os.kill(-1, 9)"), {"blocked"}),
    "connects": (
        "import socket\ndef total(xs):\n    socket.create_connection(('127.0.0.1', 9), 1)\n",
        {"blocked"},
    ),
    "asks for a host": (
        "import socket\ndef total(xs):\n    socket.getaddrinfo('example.org', 80)\n",
        {"blocked"},
    ),
    "threads": (
        "import threading, time\ndef total(xs):\n"
        "    for _ in range(500):\n        threading.Thread(target=time.sleep, args=(9,),"
        " daemon=True).start()\n    return sum(xs)\n",
        {"error"},
    ),
    "prints forgeries": (
        behaving(
            "return -1",
            before="for fd in range(1, 20):\n    try: os.write(fd, b'\\n[\"passed\"] OK\\n')\n"
            "    except OSError: pass",
        ),
        {"failed"},
    ),
    "equals all": (
        "class Same:\n    def __eq__(self, other): return True\n"
        "    def __hash__(self): return 0\ndef total(xs):\n    return Same()\n",
        {"failed"},
    ),
    "an int that equals all": (
        "class Same(int):\n    def __eq__(self, other): return True\n"
        "    __hash__ = int.__hash__\ndef total(xs):\n    return Same(-1)\n",
        {"failed"},
    ),
    "patches builtins": (
        "import builtins\nbuiltins.all = builtins.isinstance = lambda *a: True\n"
        "builtins.AssertionError = Warning\ndef total(xs):\n    return -1\n",
        {"failed", "error", "incomplete"},
    ),
    "deep answer": (
        "def total(xs):\n    x = []\n    for _ in range(100_000): x = [x]\n    return x\n",
        {"failed", "output-limit", "timeout"},
    ),
    "colliding answer": (
        "def total(xs):\n    return {i * (2**61 - 1) for i in range(9_000)}\n",
        {"failed", "error", "timeout"},
    ),
    "garbage": (
        "import os\ndef total(xs):\n    os.write(1, bytes(range(256)) + b'\\x1b[2J')\n"
        "    return sum(xs)\n",
        {"passed"},
    ),
    "forks and leaves": (
        behaving("if os.fork(): os._exit(0)\n    time.sleep(60)"),
        {"incomplete"},
    ),
    "ends its own process": (behaving("os.kill(os.getpid(), 9)"), {"crashed"}),
    "claims to have passed": (
        behaving(
            "for h in range(3, 9):\n"
            "        for line in lines():\n"
            "            try: os.write(h, line)\n"
            "            except OSError: pass\n"
            "    os._exit(0)",
            before="import gc\ndef lines():\n"
            "    for o in gc.get_objects():\n"
            "        start = getattr(o, '_start', None)\n"
            "        for word in ('unloaded', 'case', 'test') if isinstance(start, str) else ():\n"
            '            yield f\'{start}["{word}","passed",""]\\n\'.encode()\n',
        ),
        {"incomplete", "error"},
    ),
    "claims to lack a library": (
        behaving("raise ModuleNotFoundError('x', name='x')"),
        {"error"},
    ),
}


@pytest.fixture(scope="module")
def verdicts():
    """Run every program in calls and in split mode, on two workers."""
    programs = [
        program(code, tests, limits=QUICK)
        for code, _ in PROGRAMS.values()
        for tests in (CALLS, CHECK)
    ]
    found = run_all(programs, pool=Pool(jobs=2))
    return dict(zip(PROGRAMS, zip(found[::2], found[1::2], strict=True), strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_gets_the_verdict_of_what_it_does(verdicts, name):
    """The same verdict in both modes that cannot be forged, and in no other mode."""
    calls, split = verdicts[name]

    assert (calls.mode, split.mode) == ("calls", "split")
    assert {calls.kind, split.kind} <= PROGRAMS[name][1]
    assert calls.n_tests == split.n_tests == 3


def test_partial_passes_are_counted():
    """Tests that came before a failure, and after it, count."""
    verdict = run(program("def total(xs):\n    return len(xs) and 6\n", CALLS))

    assert (verdict.kind, verdict.n_passed, verdict.n_tests) == ("failed", 2, 3)
    assert verdict.detail == "answered 6 where 7 is expected"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (RIGHT, "passed"),
        (WRONG, "failed"),
        (behaving("return bytearray(1 << 30)"), "memory"),
        (behaving("os._exit(0)"), "incomplete"),
        ("import not_to_be_had\n" + RIGHT, "error"),
    ],
)
def test_unittest_classes_run_beside_the_program(code, kind):
    """They cannot run elsewhere, and their verdict says so."""
    verdict = run(program(code, UNITTEST))

    assert (verdict.kind, verdict.mode) == (kind, "shared")


def test_a_library_of_the_benchmark_that_is_not_here_is_no_fault_of_the_program():
    """What the tests import or name as their libraries makes a program unsupported."""
    named = run(program("import not_to_be_had\n" + RIGHT, UNITTEST | {"libs": ["not_to_be_had"]}))
    imported = run(
        program(RIGHT, {"kind": "unittest", "test": "import not_to_be_had\n" + UNITTEST["test"]})
    )

    assert (named.kind, imported.kind) == ("unsupported", "unsupported")


def test_asserts_with_literals_are_calls():
    """Types count where Python's equality sees them, and argument lists are fresh."""
    asserts = [
        "assert total([1, 2]) == 3",
        "assert total(xs=(4,)) != 5",
        "assert total([]) is not None",
        "assert not total([])",
        "assert abs(total([.1, .2]) - .3) < 1e-9",
    ]
    verdict = run(program(RIGHT, {"kind": "asserts", "setup": "", "asserts": asserts}))

    assert (verdict.kind, verdict.mode, verdict.n_passed) == ("passed", "calls", 5)


SETUP = """
class Node:
    def __init__(self, value, after=None):
        self.value = value
        self.after = after

def values(node):
    return [node.value, *values(node.after)] if node else []

chain = Node(1, Node(2, Node(3)))
"""
REVERSE = """
def turn(node):
    before = None
    while node:
        node.after, before, node = before, node, node.after
    return before
"""


@pytest.mark.parametrize(
    ("code", "kind"), [(REVERSE, "passed"), ("def turn(node): return node\n", "failed")]
)
def test_objects_of_the_tests_travel_both_ways(code, kind):
    """A graph is rebuilt for the program, and what it changed shows in the tests."""
    asserts = ["first = chain\nassert values(turn(chain)) == [3, 2, 1] and first.after is None"]
    tests = {"kind": "asserts", "setup": SETUP, "asserts": asserts}
    verdict = run(program(code, tests, entry_point="turn"))

    assert (verdict.kind, verdict.mode) == (kind, "split")


STACK = """
class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __getitem__(self, at): return self.items[at]
    def __contains__(self, item): return item in self.items
    def __eq__(self, other): return isinstance(other, Stack) and self.items == other.items
    def __lt__(self, other): return len(self) < len(other)
    def __setitem__(self, at, item): self.items[at] = item
    def __str__(self): return "/".join(self.items)
"""


def test_objects_of_the_program_stay_where_they_are():
    """Tests use them by what they do; the program's equality is asked only of its own."""
    asserts = [
        "s = Stack(); s.push('a'); s.push(item='b')\nassert len(s) == 2 and s.pop() == 'b'",
        "assert s[0] == 'a' and 'a' in s and list(s) == ['a'] and str(s) == 'a'",
        "t = Stack(); t.items = ['a']\nassert s == t and s is not t and not s < t and bool(s)",
        "assert s != ['a'] and len({s, s}) == 1",
        "s[0] = 'c'\nassert s.items == ['c']",
        "try:\n    Stack().pop()\nexcept IndexError as e:\n    assert 'empty' in str(e)",
        "assert not hasattr(s, '__len_hint__')",
    ]
    tests = {"kind": "asserts", "setup": "", "asserts": asserts}
    verdict = run(program(STACK, tests, entry_point="Stack"))

    assert (verdict.kind, verdict.mode, verdict.n_passed) == ("passed", "split", 7)


def test_tests_that_hand_over_functions_run_beside_the_program():
    """A function is no data; that depends on the tests alone."""
    tests = {"kind": "asserts", "setup": "", "asserts": ["assert total(f=lambda: 3) == 3"]}
    verdict = run(program("def total(f): return f()\n", tests))

    assert (verdict.kind, verdict.mode) == ("passed", "shared")


def test_no_answer_opens_the_mode_that_can_be_forged():
    """A program that asks for another mode by its answers stays where it is."""
    forging = behaving(
        "import gc\n"
        "    for o in gc.get_objects():\n"
        "        if type(o).__name__ == 'Host':\n"
        "            o._answer = lambda *a: ['raised', 'unsupported', '', []]\n"
        "    return -1"
    )
    verdict = run(program(forging, CHECK))

    assert (verdict.kind, verdict.mode) == ("failed", "split") or verdict.kind == "error"


def test_test_files_import_the_program_by_the_name_of_their_module():
    """Helper files are modules on both sides; pytest's few words are understood."""
    test = """
import pytest
from node import Node
if pytest.use_correct:
    from correct.turning import turn
else:
    from wrong.turning import turn

@pytest.mark.parametrize("count, expected", [(1, [1]), (2, [2, 1])])
def test_turn(count, expected):
    node = None
    for value in range(count, 0, -1):
        node = Node(value, node)
    found, node = [], turn(node)
    while node:
        found.append(node.value)
        node = node.after
    assert found == expected

def test_raises():
    with pytest.raises(AttributeError):
        turn(3)

def test_near():
    assert 1.0000000001 == pytest.approx(1)
"""
    files = {"test_turning.py": test, "node.py": SETUP, "conftest.py": ""}
    tests = {"kind": "pytest", "module": "wrong/turning.py", "files": files}
    verdict = run(program("from node import Node\n" + REVERSE, tests, entry_point="turn"))

    assert (verdict.kind, verdict.mode, verdict.n_passed) == ("passed", "split", 4)


def test_tests_may_import_the_program_as_a_module():
    """LBPP's tests import from a module ``code``."""
    tests = {
        "kind": "asserts",
        "setup": "from code import total",
        "module": "code",
        "asserts": ["xs = list(range(4))\nassert total(xs) == 6"],
    }
    verdict = run(program(RIGHT, tests))

    assert (verdict.kind, verdict.mode) == ("passed", "split")


def test_a_check_that_must_be_a_function_is_one_test():
    """A return inside it would not stand on the top level."""
    test = "def check(candidate):\n    assert candidate([1]) == 1\n    return True\n"
    verdict = run(program(RIGHT, {"kind": "check", "test": test}))

    assert (verdict.kind, verdict.n_tests) == ("passed", 1)


def test_a_check_may_use_helpers_of_the_benchmark():
    """Its setup comes before the program's functions of the same name."""
    tests = {
        "kind": "check",
        "setup": "def helper(x): return x + 1",
        "test": "def check(candidate):\n    assert helper(candidate([1])) == 2\n",
    }
    verdict = run(program(RIGHT + "def helper(x): return 2\n", tests))
    forged = run(program("def helper(x): return 2\ndef total(xs): return 9\n", tests))

    assert (verdict.kind, forged.kind) == ("passed", "failed")


def test_methods_of_a_class_are_called_on_a_fresh_object():
    """So LeetCode's classes are run; generators are listed where the tests say so."""
    code = (
        "class Solution:\n    def __init__(self): self.seen = []\n"
        "    def total(self, x):\n        self.seen.append(x)\n        yield from self.seen\n"
    )
    tests = {
        "kind": "calls",
        "class": "Solution",
        "listed": True,
        "cases": [{"args": [1], "expected": [1]}, {"args": [2], "expected": [2]}],
    }

    assert run(program(code, tests)).kind == "passed"


def test_answers_are_compared_as_json():
    """Tuples are lists, keys are texts, tolerances are absolute, slow cases are left out."""
    code = "def total(kind):\n    return {'t': (1, [2]), 'k': {1: None}, 'n': [0.5]}[kind]\n"
    tests = {
        "kind": "calls",
        "cases": [
            {"args": ["t"], "expected": [1, [2]]},
            {"args": ["k"], "expected": {"1": None}},
            {"args": ["n"], "expected": [0.55], "tolerance": 0.1},
            {"args": ["?"], "expected": 0, "slow": True},
        ],
    }
    verdict = run(program(code, tests))

    assert (verdict.kind, verdict.n_tests) == ("passed", 3)


ECHO = """
import sys
n = int(input())
print(*sorted(map(int, sys.stdin.readline().split()))[:n])
if __name__ == "__main__":
    print("done")
"""
STDIO = {
    "kind": "stdio",
    "cases": [
        {"stdin": "2\n3 1 2\n", "stdout": "1 2\ndone\n"},
        {"stdin": "1\n9\n", "stdout": " 9  done"},
        {"stdin": "1\n0.5\n", "stdout": "1 done"},
    ],
}


def test_programs_are_run_from_input_to_output():
    """Each case has a process of its own; spacing does not count; an exception is one case's."""
    verdict = run(program(ECHO, STDIO))

    assert (verdict.kind, verdict.mode) == ("error", "stdio")
    assert (verdict.n_passed, verdict.n_tests) == (2, 3)
    assert "ValueError" in verdict.detail


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("print('1 3 done')", "failed"),
        ("print(1", "error"),
        ("while True: pass", "timeout"),
        ("while True: print('x' * 9999)", "output-limit"),
        ("x = bytearray(1 << 30)", "memory"),
        ("import os; os.kill(os.getpid(), 11)", "crashed"),
        ("import os; os.kill(os.getppid(), 9)", "crashed"),
        ("import os; os.kill(-1, 9)", "crashed"),
    ],
)
def test_programs_that_print_meet_the_same_limits(code, kind):
    """Their verdicts are those of the other modes."""
    limits = Limits(wall_s=0.5)
    verdict = run(program(code, {"kind": "stdio", "cases": STDIO["cases"][:1]}, limits=limits))

    assert verdict.kind == kind


def test_threads_and_exit_handlers_of_a_script_are_waited_for():
    """As Python does; a status that is not 0 is no failure of its own."""
    code = (
        "import atexit, sys, threading, time\n"
        "atexit.register(lambda: print('third'))\n"
        "def late():\n    time.sleep(.05)\n    print('second')\n"
        "threading.Thread(target=late).start()\nprint('first')\nsys.exit(3)\n"
    )
    tests = {"kind": "stdio", "cases": [{"stdin": "", "stdout": "first second third"}]}

    assert run(program(code, tests)).kind == "passed"


def test_numbers_that_are_printed_may_differ_by_a_tolerance():
    """Only where the case says so."""
    case = {"stdin": "", "stdout": "0.3333 x"}
    near, exact = (
        run(program("print(1 / 3, 'x')", {"kind": "stdio", "cases": [case | more]}))
        for more in ({"tolerance": 1e-3}, {})
    )

    assert (near.kind, exact.kind) == ("passed", "failed")


def test_known_verdicts_are_not_run_again():
    """The cache is read and filled by key; equal programs run once."""
    cache = {}
    first = run_all([program(RIGHT, CALLS), program(RIGHT, CALLS)], cache=cache)
    key = program(RIGHT, CALLS).key
    cache[key] = known = run(program(WRONG, CALLS))

    assert first[0] is first[1]
    assert list(cache) == [key]
    assert run_all([program(RIGHT, CALLS)], cache=cache) == [known]


def test_keys_differ_by_all_that_can_change_a_verdict():
    """Code, tests, limits, language and entry point are hashed."""
    base = program(RIGHT, CALLS)
    others = [
        program(WRONG, CALLS),
        program(RIGHT, CHECK),
        program(RIGHT, CALLS, limits=QUICK),
        program(RIGHT, CALLS, entry_point="sum"),
        program(RIGHT, CALLS, language="java"),
    ]

    assert len({each.key for each in [base, *others]}) == 6
    assert pickle.loads(pickle.dumps(base)) == base


def test_stuck_programs_leave_the_workers_as_they_are():
    """Twenty programs that ignore all time limits, on two workers, then right ones (case 27)."""
    stuck = [PROGRAMS[name][0] for name in ("loops in C", "catches all")] + [
        "import signal\nfor s in (1, 2, 14, 15, 24):\n    signal.signal(s, signal.SIG_IGN)\n"
        "def total(xs):\n    while True: pass\n"
    ]
    limits = Limits(wall_s=0.2)
    programs = [
        program(f"# {number}\n{stuck[number % 3]}", CALLS, limits=limits) for number in range(20)
    ]
    after = [program(f"# {number}\n{RIGHT}", CALLS) for number in range(4)]
    verdicts = run_all([*programs, *after], pool=Pool(jobs=2))

    assert [each.kind for each in verdicts] == ["timeout"] * 20 + ["passed"] * 4


def test_tests_that_do_not_end_by_themselves_are_ended():
    """A test that loops is ended with its judge, and the next program has another."""
    test = "def check(candidate):\n    while candidate([1]) == 1: pass\n    assert True\n"
    stuck, after = run_all(
        [program(RIGHT, {"kind": "check", "test": test}, limits=QUICK), program(RIGHT, CHECK)]
    )

    assert (stuck.kind, after.kind) == ("timeout", "passed")


def test_tests_that_only_other_tools_can_run_are_not_run():
    """Defects4J's names of tests are of no use here."""
    verdict = run(program(RIGHT, {"kind": "named", "tests": ["A::b"]}))

    assert (verdict.kind, verdict.detail) == (
        "unsupported",
        "tests of the kind 'named' are not run here",
    )


def test_imports_of_the_tests_stand_before_the_program():
    """APPS' answers use what its harness imports; the one element of a list may do for it."""
    tests = {
        "kind": "calls",
        "setup": "import math\nfrom typing import List",
        "unwrap": True,
        "cases": [{"args": [[2.5]], "expected": [2]}],
    }
    code = "def total(xs: List[float]) -> int:\n    return math.floor(sum(xs))\n"

    assert run(program(code, tests)).kind == "passed"


def test_tests_that_cannot_be_read_are_no_fault_of_the_program():
    """A benchmark's broken tests make it unsupported."""
    broken = Program(code=RIGHT, tests='{"kind": "check", "test": "def check(:"}')

    assert run(broken).kind == "unsupported"
    assert run(program(RIGHT, {"kind": "calls", "cases": []})).kind == "unsupported"
