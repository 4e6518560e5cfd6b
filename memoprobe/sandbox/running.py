"""Run programs: choose the modes their tests allow, one after the other, and batch."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from memoprobe.sandbox import java, literals, modes
from memoprobe.sandbox.modes import Given, TestCode, Trial
from memoprobe.sandbox.process import setting
from memoprobe.sandbox.program import Mode, Program, Verdict, printable
from memoprobe.sandbox.verdicts import as_kind, verdict, with_coverage
from memoprobe.sandbox.wall import Wall

Attempt = Callable[[Wall, Program], Trial]


def attempts(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    """Yield the ways to run a program's tests, the least forgeable first.

    Which there are depends on the tests alone and on no answer of the program.
    """
    yield from _READERS[tests["kind"]](program, tests)


def _calls(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    cases = modes.cases(tests)
    calls = [literals.Call(case["args"], {}, case) for case in cases]
    longest = max((float(case.get("timeout_s", 0)) for case in cases), default=0.0)
    given = Given(
        calls=calls,
        name=str(tests.get("entry_point") or program.entry_point),
        code=TestCode(kind="asserts", sources=[], setup=tests.get("setup") or ""),
        owner=tests.get("class"),
        listed=bool(tests.get("listed")),
        as_json=True,
        seconds=max(program.limits.wall_s, longest),
    )
    yield partial(modes.run_calls, given=given)


def _asserts(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    code = TestCode(
        kind="asserts",
        sources=tests["asserts"],
        setup=tests.get("setup") or "",
        entry=tests.get("entry_point") or program.entry_point,
        module=tests.get("module"),
    )
    given = _given(program, code, tests.get("class"))
    if given is not None and len(given.calls) == len(code.sources):
        yield partial(modes.run_calls, given=given)
    else:
        yield from _code(code)


def _given(program: Program, code: TestCode, owner: str | None) -> Given | None:
    """Return tests as calls with literal arguments and expectations, where they are that."""
    calls = None if code.entry is None else literals.calls(code.sources, code.entry, owner)
    if not calls or code.entry is None:
        return None
    seconds = program.limits.wall_s
    return Given(calls=calls, name=code.entry, owner=owner, code=code, seconds=seconds)


def _generated(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    code = TestCode(
        kind="file",
        sources=[tests["test"]],
        entry=tests.get("entry_point") or program.entry_point,
        libraries=sorted(modes.packages([program.code])),
        aliases=modes.aliases(program.code, tests["test"]),
        helpers=_helpers(tests.get("files") or {}),
    )
    given = _given(program, code, tests.get("class"))
    yield partial(modes.run_covered, given=given or code)


def _check(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    yield from _code(
        TestCode(
            kind="check",
            sources=[tests["test"]],
            setup=tests.get("setup") or "",
            entry=tests.get("entry_point") or program.entry_point,
        )
    )


def _pytest(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    files = tests["files"]
    sources = [code for name, code in files.items() if name.startswith("test_")]
    module = tests["module"].removesuffix(".py").replace("/", ".")
    yield from _code(
        TestCode(
            kind="file",
            sources=sources,
            entry=program.entry_point,
            module=module,
            helpers=_helpers(files),
        )
    )


def _helpers(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files beside the tests by the names of their modules."""
    beside = [name for name in files if not name.startswith("test_") and name != "conftest.py"]
    return {name.removesuffix(".py"): files[name] for name in beside}


def _unittest(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    code = TestCode(
        kind="file",
        sources=[tests["test"]],
        entry=program.entry_point,
        libraries=tests.get("libs") or (),
    )
    yield partial(modes.run_shared, tests=code)


def _stdio(program: Program, tests: Mapping[str, Any]) -> Iterator[Attempt]:
    yield partial(modes.run_stdio, cases=tests["cases"], used=setting(program.limits))


def _code(tests: TestCode) -> Iterator[Attempt]:
    if not tests.needs_sharing():
        yield partial(modes.run_split, tests=tests)
    yield partial(modes.run_shared, tests=tests)


_READERS: dict[str, Callable[[Program, Mapping[str, Any]], Iterator[Attempt]]] = {
    "asserts": _asserts,
    "calls": _calls,
    "check": _check,
    "generated": _generated,
    "pytest": _pytest,
    "stdio": _stdio,
    "unittest": _unittest,
}


# What reading code may raise; a model's test is read here, although it never runs here.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_LONGEST_TEST = 200_000  # characters


def run_once(program: Program, wall: Wall) -> tuple[Verdict, bool]:
    """Return a program's verdict, and whether it was short of processor time."""
    tests = json.loads(program.tests)
    is_generated = tests["kind"] == "generated"
    if tests["kind"] not in _READERS and program.language == "python":
        return _not_run(
            "unsupported", f"tests of the kind {tests['kind']!r} are not run here", wall
        )
    if program.language == "java":
        return _run_java(program, tests, wall)
    try:
        if is_generated and len(tests["test"]) > _LONGEST_TEST:
            msg = f"it has more than {_LONGEST_TEST:,} characters"
            raise ValueError(msg)
        ways = list(attempts(program, tests))
    except _UNREADABLE as error:
        words = f"the test cannot be read: {type(error).__name__}: {error}"
        return _not_run("error" if is_generated else "unsupported", words, wall)
    trial = _first_supported(ways, wall, program)
    found = verdict(trial, program.limits, trial.mode if wall.bwrap else "bare")
    if is_generated:
        found = with_coverage(found, trial.reached, tests.get("target_lines") or [])
    return found, trial.ending.starved


def _not_run(kind: str, words: str, wall: Wall) -> tuple[Verdict, bool]:
    """Return the verdict of a program that did not come to its tests."""
    mode: Mode = "calls" if wall.bwrap else "bare"
    return Verdict(kind=as_kind(kind), mode=mode, detail=printable(words)), False


def _first_supported(ways: list[Attempt], wall: Wall, program: Program) -> Trial:
    """Return the trial of the first way that the tests can go, or of the last."""
    *earlier, last = ways
    for way in earlier:
        trial = way(wall, program)
        if all(kind != "unsupported" for kind, _ in trial.outcomes):
            return trial
    return last(wall, program)


def _run_java(program: Program, tests: Mapping[str, Any], wall: Wall) -> tuple[Verdict, bool]:
    trial = java.run(wall, program, tests)
    if not isinstance(trial, Trial):
        return _not_run(*trial, wall)
    mode = trial.mode if wall.bwrap else "bare"
    return verdict(trial, program.limits, mode), trial.ending.starved
