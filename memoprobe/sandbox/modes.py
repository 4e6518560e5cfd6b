"""Run one Python program in one mode and give the outcome of every test."""

import ast
import secrets
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoprobe.sandbox import judging, literals
from memoprobe.sandbox.judging import Outcome
from memoprobe.sandbox.process import Ending, Running, Setting, setting
from memoprobe.sandbox.program import Mode, Program
from memoprobe.sandbox.wall import Wall, libraries

Cases = Sequence[Mapping[str, Any]]

Other = tuple[list[str], dict[str, bytes]]

_TRACED = 3  # times the limits, for a program whose lines are watched is slower
_COVERAGE_S = 2.0  # to load the library that measures
_GRACE_S = 2.0  # for a judge to reply once the program has been ended
_MOST_PRINTED = 64 << 20  # bytes that the cases of one program may print together


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Hold one run of a program: how its tests went and how its process ended.

    The outcome of a test that the process did not live to see is ``gone``.
    """

    mode: Mode
    outcomes: Sequence[Outcome]
    ending: Ending
    reached: str | None = None  # JSON: lines run, lines missed, branches taken, branches missed


def cases(tests: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the cases of calls that do not take minutes, with what holds for all of them."""
    compared = {key: tests[key] for key in ("unwrap", "formatted") if key in tests}
    return [case | compared for case in tests["cases"] if not case.get("slow")]


def base_job(program: Program, tests: "TestCode | None" = None) -> dict[str, Any]:
    """Return what every process of a program is told."""
    return {
        "code": program.code,
        "setup": _preparation(tests.setup) if tests else [],
        "helpers": dict(tests.helpers or {}) if tests else {},
        "libraries": sorted({*tests.libraries, *tests.imports()}) if tests else [],
        "path": libraries(),
    }


def _preparation(setup: str) -> list[str]:
    """Return the imports and classes of a setup, which the program may use as well.

    The rest stays with the tests: it may hold what is expected.
    """
    kinds = ast.Import | ast.ImportFrom | ast.ClassDef
    return [ast.unparse(node) for node in literals.parse(setup).body if isinstance(node, kinds)]


def run_calls(wall: Wall, program: Program, given: "Given") -> Trial:
    """Send in arguments, and compare outside what comes back."""
    job = base_job(program, given.code) | _calls_job(given)
    running = Running(wall, "candidate", job, setting(program.limits))
    ending = running.end(running.wait(given.seconds))
    cases = [call.case for call in given.calls]
    asked = {"form": "calls", "cases": cases, "as_json": given.as_json}
    return Trial(mode="calls", outcomes=judging.compare(wall, ending, asked), ending=ending)


def _calls_job(given: "Given") -> dict[str, Any]:
    return {
        "calls": [(call.arguments, call.keywords) for call in given.calls],
        "name": given.name,
        "owner": given.owner,
        "listed": given.listed,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Hold the tests of ``calls`` mode."""

    calls: Sequence[literals.Call]
    name: str
    seconds: float
    code: "TestCode | None" = None  # the same tests as code
    owner: str | None = None
    listed: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCode:
    """Hold tests that are code."""

    kind: str  # check, asserts or file
    sources: Sequence[str]
    setup: str = ""
    entry: str | None = None
    module: str | None = None  # the name by which the tests import the program
    helpers: Mapping[str, str] | None = None  # module name -> code of a file beside the tests
    libraries: Sequence[str] = ()  # that the program may import, beside those of the tests
    aliases: Sequence[str] = ()  # further modules by which the tests import the program

    def job(self) -> dict[str, Any]:
        """Return the tests as ``judge`` and ``share`` take them."""
        return {
            "kind": self.kind,
            "sources": list(self.sources),
            "setup": self.setup,
            "entry": self.entry,
            "module": self.module,
            "helpers": dict(self.helpers or {}),
        }

    def imports(self) -> Iterator[str]:
        """Yield the packages that the tests import."""
        return packages([self.setup, *self.sources])

    def needs_sharing(self) -> bool:
        """Return whether the tests use libraries, whose objects do not travel.

        The tests alone decide this: were it the program's answers, a program could choose
        the mode in which it can forge its verdict.
        """
        own = {"pytest", (self.module or "").split(".")[0], *(self.helpers or {})}
        return any(name not in sys.stdlib_module_names | own for name in self.imports())


def packages(sources: Iterable[str]) -> Iterator[str]:
    """Yield the packages that code imports, unless only if something holds."""
    for source in sources:
        nodes = [node for node in literals.parse(source).body if not isinstance(node, ast.If)]
        for node in (each for top in nodes for each in ast.walk(top)):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0]


def run_covered(wall: Wall, program: Program, given: Given | TestCode) -> Trial:
    """Run a model's test on the program it tests, and measure what it reaches.

    A test that is calls and expectations alone is run as ``calls``: its own code never runs.
    """
    end = secrets.token_hex(16)
    if isinstance(given, Given):
        job = base_job(program, given.code) | _calls_job(given)
        mode: Mode = "calls"
        asked = {"form": "calls", "cases": [call.case for call in given.calls], "as_json": False}
    else:
        told = {"tests": given.job(), "end": end, "aliases": list(given.aliases)}
        job = base_job(program, given) | told
        mode = "shared"
        asked = {"form": "shared", "end": end}
    limits = program.limits
    used = setting(limits)._replace(cpu_s=limits.cpu_s * _TRACED)
    running = Running(wall, "cover", job, used)
    ending = running.end(running.wait(limits.wall_s * _TRACED + _COVERAGE_S))
    outcomes = judging.compare(wall, ending, asked)
    reached = [words for kind, words in outcomes if kind == "coverage"]
    outcomes = [outcome for outcome in outcomes if outcome[0] != "coverage"]
    outcomes = outcomes or [("failed", "it tests nothing")]
    return Trial(
        mode=mode, outcomes=outcomes, ending=ending, reached=reached[-1] if reached else None
    )


def aliases(program: str, test: str) -> list[str]:
    """Return the modules of no library by which a test imports what the program defines."""
    defined = {getattr(node, "name", None) for node in literals.parse(program).body}
    return sorted(
        {
            node.module
            for node in ast.walk(literals.parse(test))
            if isinstance(node, ast.ImportFrom)
            and node.module
            and "." not in node.module
            and node.module not in sys.stdlib_module_names
            and {alias.name for alias in node.names} <= defined
        }
    )


def run_split(wall: Wall, program: Program, tests: TestCode) -> Trial:
    """Run the tests beside the judge, against a proxy of the program in its own process."""
    most = program.limits.output_kib << 10
    ours, theirs = socket.socketpair()
    with ours, theirs:
        job = base_job(program, tests) | {
            "channel": ours.fileno(),
            "token": (token := secrets.token_bytes(16)),
            "classes": _classes([tests.setup, *(tests.helpers or {}).values()]),
        }
        used = setting(program.limits)._replace(handles=(ours.fileno(),))
        running = Running(wall, "candidate", job, used)
        ours.close()
        told = tests.job() | {"most": most, "token": token}
        replies = judging.ask(wall, told, theirs.fileno())
    reason = running.wait(program.limits.wall_s, replies)
    if reason == "other":
        # The tests are done; a program that ended before them has its status soon.
        reason = running.wait(program.limits.wall_s)
    ending = running.end(reason)
    outcomes = [judging.ENDED] if replies is None else judging.reply(wall, _GRACE_S)
    if outcomes is None:
        outcomes = [("timeout", "the tests did not end")]
    return Trial(mode="split", outcomes=outcomes, ending=ending)


def _classes(sources: Iterable[str]) -> list[str]:
    nodes = [node for source in sources for node in literals.parse(source).body]
    return [node.name for node in nodes if isinstance(node, ast.ClassDef)]


def run_shared(wall: Wall, program: Program, tests: TestCode) -> Trial:
    """Run the tests in the program's own process."""
    end = secrets.token_hex(16)
    job = base_job(program, tests) | {"tests": tests.job(), "end": end}
    running = Running(wall, "share", job, setting(program.limits))
    ending = running.end(running.wait(program.limits.wall_s))
    asked = {"form": "shared", "end": end}
    return Trial(mode="shared", outcomes=judging.compare(wall, ending, asked), ending=ending)


def run_stdio(
    wall: Wall, program: Program, cases: Cases, used: Setting, other: Other | None = None
) -> Trial:
    """Run the program once a case, and compare outside what it prints.

    Args:
        wall: Behind which it runs.
        program: In Python, unless ``other`` is given.
        cases: With ``stdin`` and ``stdout``, and perhaps ``timeout_s``.
        used: What the process may use.
        other: The command that runs a program of another language, and the files it needs.
    """
    limits = program.limits
    most = limits.output_kib << 10
    times = [float(case.get("timeout_s", limits.wall_s)) for case in cases]
    given = [
        {"stdin": case["stdin"], "timeout_s": seconds}
        for case, seconds in zip(cases, times, strict=True)
    ]
    command, files = other or ([], {})
    job = base_job(program) | {"cases": given, "most": most, "command": command, "files": files}
    room = min(_MOST_PRINTED, 2 * most * (len(cases) + 1))
    running = Running(wall, "script", job, used._replace(file=room))
    ending = running.end(running.wait(sum(times) + _GRACE_S))
    asked = {"form": "stdio", "cases": list(cases)}
    return Trial(mode="stdio", outcomes=judging.compare(wall, ending, asked), ending=ending)
