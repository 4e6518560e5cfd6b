"""Test the code that runs behind the wall where no wall is needed: data, proxies, comparing."""

import array
import collections
import datetime
import decimal
import fractions
import json
import math
import os
import socket
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.sandbox.inside import (
    candidate,
    channel,
    clock,
    host,
    judge,
    remote,
    report,
    trial,
    wire,
)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
    | st.dates()
    | st.times().map(lambda moment: moment.replace(fold=0))
    | st.timedeltas()
)
HASHABLE = SCALARS | st.tuples(SCALARS, SCALARS) | st.frozensets(SCALARS, max_size=3)
VALUES = st.recursive(
    HASHABLE | st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.just(2)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(HASHABLE, max_size=3)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.builds(collections.deque, st.lists(inner, max_size=3))
        | st.builds(bytearray, st.binary())
    ),
    max_leaves=12,
)


def refuse(item, slot=None):
    msg = "no data"
    raise ValueError(msg)


def travel(values):
    """Return values as they arrive, through JSON of our own writing."""
    message = report.to_json(list(wire.encode(values, [], refuse)))
    slots, rows = json.loads(message)
    return wire.decode(slots, rows, [], refuse)


def typed(value):
    """Return a value as text in which types show and no order of a set counts."""
    if isinstance(value, dict):
        return type(value).__name__, [(typed(k), typed(v)) for k, v in value.items()]
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [typed(each) for each in value]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(map(repr, map(typed, value)))
    return type(value).__name__, repr(value)


@given(VALUES)
def test_values_arrive_with_their_types(value):
    """Nothing is lost on the way, not even the sign of a zero."""
    assert typed(travel([value])[0]) == typed(value)


def test_numbers_that_json_does_not_have_arrive():
    """NaN and the infinities."""
    nan, high, low = travel([math.nan, math.inf, -math.inf])

    assert math.isnan(nan)
    assert (high, low) == (math.inf, -math.inf)


def test_counters_and_the_like_arrive_as_what_equals_them():
    """A defaultdict is a dict, for its factory is code."""
    counter, ordered, default = travel(
        [
            collections.Counter("aab"),
            collections.OrderedDict(a=1),
            collections.defaultdict(list, a=[1]),
        ]
    )

    assert (counter, ordered) == (collections.Counter("aab"), collections.OrderedDict(a=1))
    assert (type(counter), type(ordered)) == (collections.Counter, collections.OrderedDict)
    assert (type(default), default) == (dict, {"a": [1]})


def test_subclasses_of_values_arrive_as_their_base():
    """So none of their methods decides a comparison."""
    point = collections.namedtuple("point", "x y")(1, 2)
    sly = [
        type("Sly", (base,), {"__eq__": lambda *_: True, "__hash__": lambda _: 0})
        for base in (str, int, float, bytes)
    ]
    arrived = travel([point, sly[0]("a"), sly[1](2), sly[2](0.5), sly[3](b"x"), True])

    assert [type(each) for each in arrived] == [tuple, str, int, float, bytes, bool]
    assert arrived == [(1, 2), "a", 2, 0.5, b"x", True]


def test_sharing_and_cycles_arrive():
    """One list in two places is one list; a list may hold itself, also within a tuple."""
    shared = [1]
    cycle = [shared, shared]
    cycle.append((cycle,))
    (arrived,) = travel([cycle])

    assert arrived[0] is arrived[1]
    assert arrived[2][0] is arrived


def test_depth_is_no_depth_of_the_message():
    """A list twenty thousand deep is a flat message."""
    deep = []
    for _ in range(20_000):
        deep = [deep]
    (arrived,) = travel([deep])
    depth = 0
    while arrived:
        (arrived,), depth = arrived, depth + 1

    assert depth == 20_000


@pytest.mark.parametrize(
    ("slots", "rows"),
    [
        ([[5]], []),
        ([["zz"]], []),
        ([[0]], [["tuple", [[0]]]]),
        ([[0]], [["Popen", [1]]]),
        ([[0]], [["dict", [1]]]),
        ([[0]], [["dict", [[1], 2]], ["list", []]]),
        ([[0, 1]], []),
        ([[0]], [["Fraction", [[1]]], ["tuple", [1, 0]]]),
        ([[0]], [["list"]]),
    ],
)
def test_malformed_messages_raise_what_is_caught(slots, rows):
    """Whatever a program sends is a value or one of the named exceptions."""
    with pytest.raises(wire.MALFORMED):
        wire.decode(slots, rows, [], refuse)


def test_known_objects_are_brought_up_to_date():
    """What the other side did to a list, set or dict shows in the one that was handed over."""
    items, names, table = [1], {"a"}, {}
    objects = []
    wire.encode([items, names, table, (1,)], objects, refuse)
    rows = [["list", [2, [4]]], ["set", []], ["dict", ["k", 1]], ["tuple", []], ["list", []]]
    wire.decode([[0]], rows, objects, refuse)

    assert (items, names, table, objects[3]) == ([2, []], set(), {"k": 1}, (1,))


def test_messages_are_found_among_what_was_printed():
    """Only what follows the token counts; a long or broken one is refused."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        receive = channel.Receiver(ours.fileno(), b"token", 100)
        os.write(theirs.fileno(), b"noise tok")
        channel.send(theirs.fileno(), b"one", b"token")
        channel.send(theirs.fileno(), b"two", b"token")
        assert (receive(), receive()) == (b"one", b"two")
        channel.send(theirs.fileno(), b"x" * 101, b"token")
        with pytest.raises(channel.TooLong):
            receive()
        flooded = channel.Receiver(ours.fileno(), b"other", 10)
        theirs.sendall(b"x" * 80_000)
        with pytest.raises(channel.TooLong):
            flooded()
        theirs.close()
        with pytest.raises(channel.Hung):
            channel.Receiver(ours.fileno(), b"late")()
    channel.send(ours.fileno(), b"to nobody")
    with pytest.raises(channel.Hung):
        channel.Receiver(ours.fileno())()


def test_exceptions_are_told_by_their_kind():
    """What a program meets at the wall is not its own error; words are short."""
    found = {
        report.describe(error)[0]
        for error in (MemoryError(), OSError(12, "no memory"), type("E", (MemoryError,), {})())
    }
    lookup = report.describe(socket.gaierror(-3, "no name"))

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert found == {"memory"}
    assert lookup[0] == "blocked"
    assert report.describe(PermissionError(13, "no"))[0] == "blocked"
    assert report.describe(OSError(27, "big"))[0] == "output-limit"
    assert report.describe(SystemExit(0)) == ("incomplete", "SystemExit: 0")
    assert report.describe(Mute()) == ("error", "an exception without words")
    assert len(report.describe(ValueError("x" * 999))[1]) == 300


def test_a_program_cannot_report_what_would_open_another_mode():
    """Its word for a verdict counts among those that are no advantage."""
    assert report.admitted("memory", 3) == ("memory", "3")
    assert [report.admitted(kind, "")[0] for kind in ("passed", "unsupported", "gone")] == [
        "error"
    ] * 3


def test_records_are_lines_with_a_secret():
    """JSON of ASCII alone, written at once."""
    handle = os.memfd_create("records")
    report.Records(handle, "secret")("kind", 1, [None, True, 0.5, math.inf, "é\n"])
    written = os.pread(handle, 999, 0)
    os.close(handle)

    assert written == b'\nsecret ["kind",1,[null,true,0.5,Infinity,"\\u00e9\\n"]]\n'


def program(code, name="candidate"):
    module = ModuleType(name)
    exec(code, vars(module))  # noqa: S102 - our own
    return module


def ask(code, tests, classes=()):
    """Run tests against a program on a thread at the other end of a socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        hosted = host.Host(program(code), [], classes)
        thread = threading.Thread(target=hosted.serve, args=(theirs.fileno(), b"t"))
        thread.start()
        job = {"helpers": {}, "token": b"t", "most": 1 << 16, "setup": "", "module": None}
        outcomes = judge.run_tests(job | tests, ours.fileno())
        ours.shutdown(socket.SHUT_RDWR)
        thread.join()
    return outcomes


def asserts(*texts, **more):
    return {"kind": "asserts", "sources": texts, "entry": "f", **more}


PASSED = ("passed", "")


@pytest.mark.parametrize(
    ("code", "test", "kind"),
    [
        ("def f(x): return [x, (x,)]", "assert f(1) == [1, (1,)]", "passed"),
        ("def f(x, *, y): return x - y", "assert f(3, y=1) == 2", "passed"),
        ("def f(x): x.append(1)", "x = []\nf(x)\nassert x == [1]", "passed"),
        ("def f(t): return t('3')", "assert f(int) == 3", "passed"),
        ("def f(): return int", "assert f() is int", "passed"),
        ("def f(): return f", "assert f() is f()", "passed"),
        ("def f(): return (n for n in range(3))", "assert list(f()) == [0, 1, 2]", "passed"),
        ("class f:\n    def __eq__(self, o): return True", "assert f() == 3", "failed"),
        ("class f:\n    def __eq__(self, o): return True", "assert 3 == f()", "failed"),
        ("class f:\n    def __lt__(self, o): return True", "assert f() < f()", "passed"),
        ("class f:\n    def __lt__(self, o): return True", "assert f() < 3", "failed"),
        ("class f: pass", "assert {f(): 1}", "passed"),
        ("class f:\n    def __bool__(self): return False", "assert f()", "failed"),
        ("class f(dict): pass", "d = f()\nd['k'] = 1\nassert d['k'] == 1 and 'k' in d", "passed"),
        ("class f:\n    n = 3", "x = f()\nx.n = 4\nassert x.n == 4 and len(str(x)) > 3", "passed"),
        ("class f(list): pass", "assert len(f()) == 0", "passed"),
        ("def f(): raise KeyError('k')", "try:\n    f()\nexcept KeyError: pass", "passed"),
        ("def f(): raise AssertionError", "assert f()", "error"),
        ("class E(Exception): pass\ndef f(): raise E('e')", "assert f()", "error"),
        ("class E(BaseException): pass\ndef f(): raise E('e')", "assert f()", "error"),
        ("def f(): raise SystemExit", "assert f()", "incomplete"),
        ("def f(): raise MemoryError", "assert f()", "memory"),
        ("def g(): pass", "assert f()", "error"),
        ("def f(x): pass", "assert f(lambda: 1)", "unsupported"),
        ("def f(): return 'x' * 70_000", "assert f()", "output-limit"),
        ("def f(): return 1", "import not_to_be_had", "unsupported"),
        ("def f(): return 1", "assert f.__wrapped__", "error"),
        ("def f(): return 1", "raise SystemExit", "incomplete"),
    ],
)
def test_tests_use_a_program_through_its_proxy(code, test, kind):
    """Data is compared here, objects are used there, and no __eq__ of theirs is asked."""
    (outcome,) = ask(code, asserts(test))

    assert outcome[0] == kind


def test_classes_of_the_tests_are_rebuilt_on_both_sides():
    """An object that the program makes of such a class arrives as one of ours."""
    setup = "class Box:\n    def __init__(self, n): self.n = n\nb = Box([1])"
    code = setup + "\ndef f(b):\n    b.n.append(2)\n    b.m = b\n    return Box(b)"
    test = "c = f(b)\nassert type(c) is Box and c.n is b and b.n == [1, 2] and b.m is b"

    assert ask(code, asserts(test, setup=setup), ["Box"]) == [PASSED]


def test_a_program_without_the_class_gets_one_in_its_place():
    """What has no class of that name there is still an object with its attributes."""
    setup = "class Box: pass\nb = Box()\nb.n = 1"

    assert ask("def f(b): return b.n", asserts("assert f(b) == 1", setup=setup)) == [PASSED]


@pytest.mark.parametrize(
    "reply",
    [
        b"{}",
        b"[",
        b'["done"]',
        b'["done", [[1]], [["list", []], ["object", ["Popen", []]]]]',
        b'["done", [[1]], [["list", []], ["builtin", "print"]]]',
        b'["done", [[1]], [["list", []], ["kept", "x"]]]',
        b'["raised"]',
        b'["done", [[0]], [["list", []]]]',
        b'["done", [[0]], [["object", ["Remote", []]]]]',
    ],
)
def test_garbled_replies_end_the_tests(reply):
    """What is no reply is the program's error."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel.send(theirs.fileno(), reply)
        asking = remote.Channel(ours.fileno(), channel.Receiver(ours.fileno()), [{}])
        with pytest.raises(channel.Garbled):
            asking.named("f")()


def test_preparation_that_fails_fails_every_test():
    """The tests after it have its outcome, and are counted."""
    outcomes = ask("def f(): pass", asserts("assert 1", "assert 1", setup="raise ValueError('v')"))

    assert outcomes == [("error", "ValueError: v")] * 2


def test_checks_are_taken_apart_into_their_asserts():
    """Loops with asserts are one test; preparation is none."""
    check = (
        "import math\ndef check(c):\n    n = 3\n    assert c(n) == 3\n"
        "    for i in range(3):\n        assert c(i) == i\n    assert c(1) == 2, 'no'\n"
    )
    tests = {"kind": "check", "sources": [check], "entry": "f"}

    assert ask("def f(x): return x", tests) == [PASSED, PASSED, ("failed", "AssertionError: no")]


FILE = """
import unittest
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_n(n): assert f(n) == n

class TestF(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.n = 4
    def test_right(self): self.assertEqual(f(self.n), 4)
    def test_wrong(self): self.assertEqual(f(self.n), 5)
    @unittest.skip("not here")
    def test_skipped(self): raise ValueError

class TestPlain:
    def test_plain(self): assert f(1) == 1

def helper(): raise ValueError
"""


def test_test_files_are_taken_apart_into_their_tests(monkeypatch):
    """Functions with their cases, methods of test cases and of plain classes."""
    monkeypatch.delitem(sys.modules, "pytest")
    kinds = [
        kind
        for kind, _ in ask("def f(x): return x", {"kind": "file", "sources": [FILE], "entry": "f"})
    ]

    assert kinds == ["passed", "passed", "passed", "passed", "failed", "passed"]


def test_tests_import_files_and_the_program_by_name():
    """A helper is a module of its own; a check that returns is one test."""
    tests = {
        "kind": "check",
        "sources": [
            "from program_of_tests import f as g\nfrom beside import n\n"
            "def check(c):\n    assert c(n) == g(n)\n    return 1"
        ],
        "entry": "f",
        "module": "program_of_tests",
        "helpers": {"beside": "n = 3"},
    }

    assert ask("def f(x): return x", tests) == [PASSED]


def test_files_without_tests_are_their_asserts_and_broken_ones_fail():
    """A file that cannot be run is one test that failed."""
    plain, broken = (
        ask("def f(x): return x", {"kind": "file", "sources": [code], "entry": "f"})
        for code in ("x = 1\nassert f(x) == 1", "def test_f(): pass\nf(y=1)")
    )

    assert plain == [PASSED]
    assert broken[0][0] == "error"


def test_the_words_of_pytest_mean_what_they_mean_there():
    """Benchmarks use few of them."""
    words = trial._pytest()
    with words.raises(ValueError, match="no"):
        raise ValueError("no")  # noqa: EM101
    with pytest.raises(AssertionError, match="did not raise"), words.raises(ValueError):
        pass
    with pytest.raises(KeyError), words.raises(ValueError):
        raise KeyError

    assert words.approx(1.0) == 1 + 1e-9
    assert words.approx(1.0, abs=0.1) != 1.2
    assert words.approx(1.0) != "1"
    marked = words.mark.parametrize("a, b", [(1, 2)])(lambda a, b: None)
    assert marked.cases == [{"a": 1, "b": 2}]


def test_modules_give_whatever_is_imported_from_them():
    """Also a module in a package; names of Python's own are not asked for."""
    trial.proxy_module("some_package.part", lambda name: name.upper())
    space = {}
    exec("from some_package.part import one", space)  # noqa: S102

    assert space["one"] == "ONE"
    assert not hasattr(sys.modules["some_package.part"], "__path_of__")


def read(*records, cases=({"expected": 1},), form="calls", **more):
    lines = "".join(f"\ns {json.dumps(record)}\n" for record in records)
    request = {"data": lines.encode(), "secret": "s", "cases": cases, "form": form, "as_json": True}
    return judge.read_outcomes(request | more)


def test_the_first_record_of_a_case_counts():
    """Lines that are none, and cases that there are not, are passed over."""
    request = {
        "data": b'noise\ns [\ns {}\ns ["answer", 5, [1], []]\ns ["answer", 0, [1], []]\n'
        b'other ["answer", 0, [1], []]\ns ["answer", 0, [2], []]\ns ["raised", -1, "error", ""]',
        "secret": "s",
        "cases": [{"expected": 1}, {"expected": 1}],
        "form": "calls",
        "as_json": False,
    }

    assert judge.read_outcomes(request) == [PASSED, judge.MISSING]


@pytest.mark.parametrize(
    ("record", "case", "kind"),
    [
        (["answer", 0, [1], []], {"expected": 1}, "passed"),
        (["answer", 0, [True], []], {"expected": 1}, "passed"),
        (["answer", 0, [1], []], {"expected": True, "identical": True}, "failed"),
        (["answer", 0, [1], []], {"expected": 2, "negated": True}, "passed"),
        (["answer", 0, [3], []], {"expected": True, "truth": True}, "passed"),
        (["answer", 0, [0], []], {"expected": False, "truth": True}, "passed"),
        (["answer", 0, [1.1], []], {"expected": 1, "tolerance": 0.2}, "passed"),
        (["answer", 0, ["1"], []], {"expected": 1, "tolerance": 0.2}, "passed"),
        (["answer", 0, ["x"], []], {"expected": 1, "tolerance": 0.2}, "failed"),
        (["answer", 0, ["[1"], []], {"expected": [1]}, "failed"),
        (["answer", 0, [[0]], [["opaque", "Popen"]]], {"expected": 1}, "failed"),
        (["answer", 0, [[0]], [["kept", 0]]], {"expected": 1}, "failed"),
        (["answer", 0, [["0x1" + "0" * 9000]], []], {"expected": 1}, "failed"),
        (["answer", 0], {"expected": 1}, "failed"),
        (["raised", 0, "memory", "m"], {"expected": 1}, "memory"),
        (["raised", 0, "passed", ""], {"expected": 1}, "error"),
        (["raised", 0], {"expected": 1}, "failed"),
        (["value", 0, [1, 2.0]], {"expected": [1, 2]}, "passed"),
        (["value", 0, [1]], {"expected": [[1]], "unwrap": True}, "passed"),
        (["value", 0, [1]], {"expected": [[1]]}, "failed"),
        (["value", 0, "[(a, 1)]"], {"expected": [["a", 1.0]], "formatted": True}, "passed"),
        (["value", 0, "[(a, 1)]"], {"expected": [["a", 1]], "formatted": True}, "passed"),
        (["value", 0, [["a", True]]], {"expected": [["a", 1]], "formatted": True}, "failed"),
        (["value", 0, {"a": 1}], {"expected": {"a": 1}}, "passed"),
        (["value", 0, [0.1, 2]], {"expected": [0, 2], "tolerance": 0.2}, "passed"),
        (["value", 0, [0.1]], {"expected": [0, 2], "tolerance": 0.2}, "failed"),
        (["case", 0, "ended", "", "61"], {"stdout": " a\n"}, "passed"),
        (["case", 0, "ended", "", "61"], {"stdout": "a b"}, "failed"),
        (["case", 0, "ended", "", "312e31"], {"stdout": "1", "tolerance": 0.2}, "passed"),
        (["case", 0, "ended", "", "61"], {"stdout": "1", "tolerance": 0.2}, "failed"),
        (["case", 0, "ended", "", "zz"], {"stdout": "1"}, "failed"),
        (["case", 0, "crashed", "signal 11", ""], {"stdout": "1"}, "crashed"),
    ],
)
def test_answers_are_compared_with_what_is_expected(record, case, kind):
    """Whatever a record holds, it has an outcome."""
    assert read(record, cases=[case])[0][0] == kind


def test_shared_tests_count_only_to_the_end():
    """Without the marker after the last test something is missing."""
    tests = [["test", "passed", ""], ["coverage", [1], [2], 0, 0]]

    assert read(*tests, ["end", "e"], form="shared", end="e") == [
        ("coverage", "[[1], [2], 0, 0]"),
        PASSED,
    ]
    assert read(*tests[:1], ["end", "x"], form="shared", end="e") == [PASSED, judge.MISSING]


def test_long_and_deep_values_are_shown_in_short():
    """So a verdict's detail stays one line."""
    deep = []
    for _ in range(50_000):
        deep = [deep]

    assert len(judge._short("x" * 999)) == 100
    assert judge._short(deep) == "a value too deep or too large to write"


def answering(code, **job):
    """Return the records of a program that answers calls in this process."""
    found = []
    base = {
        "code": code,
        "setup": [],
        "helpers": {},
        "path": [],
        "libraries": [],
        "calls": [([1], {})],
        "name": "f",
        "owner": None,
        "listed": False,
    }
    with Path(os.devnull).open("wb") as alive:
        job = base | job | {"alive": alive.fileno()}
        loaded = candidate.load(job, lambda *record: found.append(record))
    if loaded is not None:
        candidate.answer(loaded, job, lambda *record: found.append(record))
    return found[1:] if loaded is not None else found


def test_programs_answer_every_call():
    """With a result, an exception, or the name of what is no data."""
    code = "def f(x):\n    if x == 2: raise KeyError(x)\n    return [x] if x else f"
    found = answering(code, calls=[([1], {}), ([2], {}), ([], {"x": 0})])

    assert found == [
        ("answer", 0, [[0]], [["list", [1]]]),
        ("raised", 1, "error", "KeyError: 2"),
        ("answer", 2, [[0]], [["opaque", "function"]]),
    ]


def test_programs_may_use_the_imports_and_helpers_of_their_tests():
    """A setup that fails there is left to the tests."""
    code = "from side import n\ndef f(x):\n    yield math.floor(x) + n"
    found = answering(
        code, setup=["import math", "import not_there"], helpers={"side": "n = 1"}, listed=True
    )

    assert found == [("answer", 0, [[0]], [["list", [2]]])]


def test_programs_that_cannot_be_loaded_say_why():
    """A library that the tests ask for is not theirs to bring."""
    missing, own = (
        answering("import not_there", libraries=libraries)[0][1]
        for libraries in (["not_there"], [])
    )

    assert (missing, own) == ("unsupported", "error")
    assert answering("1 / 0")[0] == ("unloaded", "error", "ZeroDivisionError: division by zero")


def test_time_spent_waiting_for_a_processor_does_not_count():
    """A process that never waited has its time; one that is gone is not known about."""
    fresh = clock.Watch(os.getpid(), time.monotonic(), 1000.0)
    past = clock.Watch(os.getpid(), time.monotonic() - 4000.0, 1000.0)
    gone = clock.Watch(2**22 + 1, time.monotonic() - 1.0, 0.5)

    assert 999 < fresh.left_s() <= 1000
    assert past.left_s() < 0
    assert (gone.left_s() < 0, gone.starved) == (True, True)
    assert list(clock.descendants(2**22 + 1)) == []


def test_values_of_no_known_type_are_left_to_the_caller():
    """Modules of the standard library beyond the named ones are foreign."""
    with pytest.raises(ValueError, match="no data"):
        travel([array.array("i", [1])])
    assert travel(
        [decimal.Decimal("1.10"), fractions.Fraction(1, 3), datetime.date(2020, 1, 2)]
    ) == [
        decimal.Decimal("1.10"),
        fractions.Fraction(1, 3),
        datetime.date(2020, 1, 2),
    ]
