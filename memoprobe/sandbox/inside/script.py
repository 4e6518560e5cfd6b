"""Run a program once for every case, from standard input to standard output."""

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any, NoReturn

from memoprobe.sandbox.inside import clock
from memoprobe.sandbox.inside.candidate import silence_input
from memoprobe.sandbox.inside.confine import confine
from memoprobe.sandbox.inside.launch import write_files
from memoprobe.sandbox.inside.report import UP, Records, describe, tell

_WORDS = 300  # of an exception


Job = Mapping[str, Any]


def main(job: Job) -> None:
    """Confine this process and run every case in a fork of its own; this never returns."""
    confine(job["limits"])
    records = Records(job["records"], job["secret"])
    silence_input()
    tell(job, UP)
    sys.path.extend(job["path"])
    write_files(job["files"])
    try:
        code = None if job["command"] else compile(job["code"], "candidate.py", "exec")
    except Exception as error:  # noqa: BLE001 - whatever an untrusted program raises
        records("unloaded", *describe(error))
        os._exit(0)
    for number, case in enumerate(job["cases"]):
        record = _run(job, code, case)
        records("case", number, *record)
        if record[0] == "timeout":
            break
    os._exit(0)


def _run(job: Job, code: CodeType | None, case: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return how a case ended, words about it, and what it printed, as hexadecimal digits."""
    output, said = (os.memfd_create(name) for name in ("output", "said"))
    child = os.fork()
    if not child:
        _become(job, code, case["stdin"], output, said)
    waiter = os.pidfd_open(child)
    poll = select.poll()
    poll.register(waiter, select.POLLIN)
    watch = clock.Watch(child, time.monotonic(), case["timeout_s"])
    in_time = False
    while not in_time and (left := watch.left_s()) > 0:
        in_time = bool(poll.poll(left * 1000))
    # Whatever the case left behind: all of this wall, or without one its own group.
    with suppress(ProcessLookupError):
        os.kill(-1 if job["walled"] else -child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    printed = os.pread(output, job["most"] + 1, 0)
    kind, _, words = os.pread(said, _WORDS * 4, 0).decode("utf-8", "replace").partition("\n")
    for handle in (waiter, output, said):
        os.close(handle)
    if not in_time:
        return "timeout", "", ""
    if len(printed) >= job["most"]:
        return "output-limit", "", ""
    if os.WIFSIGNALED(status):
        return _by_signal(os.WTERMSIG(status)), f"signal {os.WTERMSIG(status)}", ""
    return kind or "ended", words, printed.hex()


def _by_signal(number: int) -> str:
    return "timeout" if number == signal.SIGXCPU else "crashed"


def _become(job: Job, code: CodeType | None, stdin: str, output: int, said: int) -> NoReturn:
    """Turn this fork into the program."""
    os.setsid()
    os.close(job["records"])
    given = os.memfd_create("input")
    data = stdin.encode("utf-8")
    while data:
        data = data[os.write(given, data) :]
    os.lseek(given, 0, os.SEEK_SET)
    os.dup2(given, 0)
    os.dup2(output, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (job["most"], job["most"]))
    try:
        if code is None:
            os.execv(job["command"][0], job["command"])
        _execute(code)
    except BaseException as error:  # noqa: BLE001 - whatever an untrusted program raises
        if not isinstance(error, SystemExit):
            kind, words = describe(error)
            os.write(said, f"{kind}\n{words[:_WORDS]}".encode("utf-8", "replace"))
    finally:
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os._exit(0)


def _execute(code: CodeType) -> None:
    """Run the program as Python runs a script: its threads and exit handlers too."""
    program = ModuleType("__main__")
    sys.modules["__main__"] = program
    try:
        exec(code, vars(program))  # noqa: S102
    finally:
        for module, finish in (("threading", "_shutdown"), ("atexit", "_run_exitfuncs")):
            if module in sys.modules:
                getattr(sys.modules[module], finish)()
