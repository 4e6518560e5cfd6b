"""Attack the sandbox as somebody who did not write it: no forged verdict, nobody harmed."""

import pytest

from memoprobe.sandbox import Limits, run_all
from memoprobe.workers import Pool
from tests.walled import CALLS, CHECK, UNITTEST, needs_wall, program

pytestmark = needs_wall

LIMITS = Limits(wall_s=4.0, memory_mib=80)
# What a program finds of ours in its own process: the open file of its records, and the function
# that writes them.
REACH = """
import gc, os, sys, time
def files():
    for n in os.listdir("/proc/self/fd"):
        try:
            if "records" in os.readlink("/proc/self/fd/" + n): yield int(n)
        except OSError: pass
def write(*record):
    for each in gc.get_objects():
        if type(each).__name__ == "Records": return each(*record)
def ours(name):
    return sys.modules["memoprobe.sandbox.inside." + name]
"""


def body(*lines):
    """Return a program whose function under test consists of these lines."""
    return REACH + "def total(xs):\n" + "".join(f"    {line}\n" for line in lines)


# Name: the program, its tests, and the kinds that say what it did. None is ``infrastructure`` or
# ``unsupported``, which would leave the answer out of the score.
ATTACKS = {
    "empties its records": (
        body("for f in files(): os.ftruncate(f, 0)", "os._exit(0)"),
        (CALLS, CHECK),
        {"incomplete"},
    ),
    "writes over its records": (
        body("for f in files(): os.pwrite(f, b' ' * 500, 0)", "os._exit(0)"),
        (CALLS, CHECK),
        {"incomplete"},
    ),
    "says that it lacks a library": (
        REACH + "write('unloaded', 'unsupported', 'numpy')\nos._exit(0)",
        (CALLS, CHECK, UNITTEST),
        {"error"},
    ),
    "raises that it lacks a library": (
        "raise ModuleNotFoundError('x', name='pytest')",
        (UNITTEST | {"libs": ["pytest"]},),
        {"error"},
    ),
    "says that the machine failed": (
        REACH + "write('test', 'infrastructure', '')\nwrite('test', 'unsupported', '')\n"
        "os._exit(0)",
        (UNITTEST,),
        {"error"},
    ),
    "says what has no meaning": (
        REACH + "write('unloaded', [], [])\nwrite('coverage', 1)\nwrite('answer', 0)\n"
        "write('raised', 1, [])\nwrite(('test',), {}.__len__())\nos._exit(0)",
        (CALLS, CHECK, UNITTEST),
        {"error", "failed"},
    ),
    "ends the loops of the tests": (
        "def total(xs): raise StopIteration",
        (
            {
                "kind": "asserts",
                "asserts": ["assert all(map(lambda xs: total(xs) == 6, [[6], [7]]))"],
            },
        ),
        {"error"},
    ),
    "is what equals all numbers": (
        body(
            "w = ours('wire')",
            "encode = w.encode",
            "def forged(values, objects, keep):",
            "    _, rows = encode([], objects, keep)",
            "    near = ['approx', ['_expected', 0, '_tolerance', float('inf')]]",
            "    return [[len(rows)]], [*rows, ['object', near]]",
            "w.encode = forged",
        ),
        (
            {
                "kind": "pytest",
                "module": "p.py",
                "files": {
                    "test_p.py": "from p import total\nfrom pytest import approx\n"
                    "def test_p():\n    assert total([1]) == 1\n",
                },
            },
        ),
        {"error"},
    ),
    "replies before it is asked": (
        body(
            "f = sys._getframe()",
            "while f:",
            "    if 'channel' in f.f_locals and 'token' in f.f_locals:",
            "        message = b'[\"done\",[6],[]]'",
            "        head = f.f_locals['token'] + len(message).to_bytes(4, 'big')",
            "        for _ in range(9): os.write(f.f_locals['channel'], head + message)",
            "    f = f.f_back",
            "return -1",
        ),
        (CALLS, CHECK),
        {"failed"},
    ),
    "answers what is large to compare": (
        body(
            "ours('wire').encode = lambda *a: ([[0]],"
            " [['deque', [1]], ['tuple', [[2]]], ['range', [0, 10**11, 1]]])",
        ),
        (CALLS, CHECK),
        {"error", "failed", "memory"},
    ),
    "answers with a key too deep to hash": (
        body(
            "n = 30_000",
            "ours('wire').encode = lambda *a: ([[0]], [['dict', [[1], 1]],"
            " *(['tuple', [[k + 2]]] for k in range(n)), ['tuple', []]])",
        ),
        (CALLS, CHECK),
        {"error", "failed"},
    ),
    "answers with a name that is no text": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\n"
        "E.__name__ = 'caf\\xe9'\ndef total(xs): raise E",
        (CALLS, CHECK),
        {"error"},
    ),
    "holds files that nobody sees": (
        body(
            "for _ in range(3):",
            "    if not os.fork():",
            "        held = [os.memfd_create('x') for _ in range(100)]",
            "        for f in held: os.write(f, bytes((1 << 20) - 1))",
            "        time.sleep(60)",
            "time.sleep(60)",
        ),
        (CALLS,),
        {"memory"},
    ),
    "makes files without end": (
        body(
            "for n in range(1 << 22):",
            "    os.close(os.open(f'/tmp/{n}', os.O_CREAT | os.O_WRONLY))",
        ),
        (CALLS,),
        {"memory"},
    ),
    "hands over files": (
        body(
            "import array, socket",
            "for n in os.listdir('/proc/self/fd'):",
            "    try:",
            "        s = socket.socket(fileno=os.dup(int(n)))",
            "        for _ in range(50): s.sendmsg([b'x'], [(1, 1, array.array('i', [0] * 99))])",
            "    except (OSError, ValueError): pass",
            "return -1",
        ),
        (CALLS, CHECK),
        {"failed"},
    ),
}


@pytest.fixture(scope="module")
def verdicts():
    """Run every attack on all its tests, on two workers."""
    programs = [
        (name, program(code, tests, limits=LIMITS))
        for name, (code, many, _) in ATTACKS.items()
        for tests in many
    ]
    found = run_all([each for _, each in programs], pool=Pool(jobs=2))
    return [(name, verdict) for (name, _), verdict in zip(programs, found, strict=True)]


@pytest.mark.parametrize("name", ATTACKS)
def test_each_attack_gets_the_verdict_of_a_failure(verdicts, name):
    """None passes, and none gets away without counting."""
    mine = [verdict for attack, verdict in verdicts if attack == name]

    assert {each.kind for each in mine} <= ATTACKS[name][2], mine
