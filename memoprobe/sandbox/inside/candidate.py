"""Load the program under test and answer calls to it, in a process of its own."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from memoprobe.sandbox.inside import wire
from memoprobe.sandbox.inside.confine import confine
from memoprobe.sandbox.inside.host import Host
from memoprobe.sandbox.inside.report import LACKING, UP, WHOLE, Records, describe, tell

TYPE_CHECKING = False  # typing itself takes longer to import than Python to start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Job = Mapping[str, Any]


def main(job: Job) -> None:
    """Confine this process, then do the job; this never returns."""
    confine(job["limits"])
    records = Records(job["records"], job["secret"])
    silence_input()
    tell(job, UP)
    program = load(job, records)
    if program is not None and "channel" in job:
        Host(program, job["helpers"], job["classes"]).serve(job["channel"], job["token"])
    elif program is not None:
        answer(program, job, records)
    # Without waiting for threads or handlers of the program.
    os._exit(0)


def silence_input() -> None:
    """Let the program read nothing: standard input held this code until now."""
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def load(job: Job, records: Callable[..., None]) -> ModuleType | None:
    """Return the program as a module, or report why it cannot be loaded.

    Imports and classes of the tests' setup come first, since the program may use them.
    """
    program = ModuleType("candidate")
    sys.modules["candidate"] = program
    sys.path.extend(job["path"])
    for name, source in job["helpers"].items():
        _helper(name, source)
    tell(job, LACKING if any(map(_is_missing, job["libraries"])) else WHOLE)
    try:
        for statement in job["setup"]:
            _attempt(statement, program)
        file = job.get("file", "candidate.py")
        exec(compile(job["code"], file, "exec"), vars(program))  # noqa: S102
    except BaseException as error:  # noqa: BLE001 - whatever an untrusted program raises
        kind, words = describe(error)
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        # A library that the benchmark asks for is not the program's to bring along.
        lacks = str(missing).split(".")[0] in job["libraries"]
        records("unloaded", "unsupported" if lacks else kind, words)
        return None
    records("loaded")
    return program


def _is_missing(library: str) -> bool:
    """Tell whether a package can neither be found nor is a file beside the tests."""
    finders = [] if library in sys.modules else sys.meta_path
    return bool(finders) and not any(finder.find_spec(library, None) for finder in finders)


def _helper(name: str, source: str) -> None:
    """Make a file that stands beside the tests a module that the program can import."""
    module = sys.modules[name] = ModuleType(name)
    _attempt(source, module)


def _attempt(statement: str, program: ModuleType) -> None:
    """Run a statement of the setup; where it fails, the tests will say so."""
    try:
        exec(compile(statement, "setup.py", "exec"), vars(program))  # noqa: S102
    except Exception:  # noqa: BLE001 - see above
        return


def answer(program: ModuleType, job: Job, records: Callable[..., None]) -> None:
    """Make every call and report its result or its exception."""
    for number, (arguments, keywords) in enumerate(job["calls"]):
        try:
            result = target(program, job)(*arguments, **keywords)
            if job["listed"]:
                result = list(result)
            slots, rows = wire.encode([result], [], lambda item, _: ["opaque", _name(item)])
        except BaseException as error:  # noqa: BLE001 - whatever an untrusted program raises
            records("raised", number, *describe(error))
        else:
            records("answer", number, slots, rows)


def target(program: ModuleType, job: Job) -> Callable[..., Any]:
    """Return what is called: a function, or a method of a fresh object of ``job["owner"]``."""
    owner = getattr(program, job["owner"])() if job["owner"] else program
    found: Callable[..., Any] = getattr(owner, job["name"])
    return found


def _name(item: object) -> str:
    return type(item).__name__[:100]
