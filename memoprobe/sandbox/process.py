"""Start a process behind the wall, watch it and end it from outside."""

import marshal
import os
import secrets
import select
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from memoprobe.sandbox.inside import clock
from memoprobe.sandbox.inside.report import LACKING, UP
from memoprobe.sandbox.program import Limits
from memoprobe.sandbox.wall import Wall, interpreter

_PACKAGE = "memoprobe.sandbox.inside"
# What each entry needs, in the order of imports; every module costs start-up time.
_BASE = ("report", "channel", "wire", "confine", "host", "candidate")
_TESTS = (*_BASE, "remote", "trial")
_MODULES = {
    "candidate": _BASE,
    "cover": (*_TESTS, "cover"),
    "judge": (*_TESTS, "judge"),
    "launch": (*_BASE, "launch"),
    "script": (*_BASE, "clock", "launch", "script"),
    "share": (*_TESTS, "share"),
}
# Compiled here and handed in: compiling inside would cost more than the interpreter's start.
_BOOT = """
import marshal, sys
modules, entry, job = marshal.loads(open(0, "rb", closefd=False).read())
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = []
    exec(code, module.__dict__)
sys.modules[entry].main(job)
"""
# With hashing the same in every run, an order of a set is too, and so is the verdict.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8")
_GONE_S = 2.0  # for killed processes to be gone
_SCRATCH = ("/tmp", "/dev/shm")  # that can be written
_LOOK_S = 0.1  # between two looks at a running program's memory


class Ending(NamedTuple):
    """Hold how a process ended and what it left."""

    status: int  # exit status, above 128 for a signal
    reason: str  # timeout or memory where it was ended from outside, else empty
    starved: bool  # it ran out of time for want of a processor, or that is not known
    printed: int  # bytes
    said: str  # the beginning of what it printed
    records: bytes
    is_full: bool  # the records reached their limit
    secret: str  # begins every line that is a record
    seconds: float
    came_up: bool  # the program was about to run
    lacks_library: bool  # one that its tests ask for


class Running:
    """Hold a process behind the wall, from its start to its end."""

    def __init__(self, wall: Wall, entry: str, job: Mapping[str, Any], setting: "Setting") -> None:
        self._printed, self._records, given = map(os.memfd_create, ("out", "records", "in"))
        self._secret = secrets.token_hex(16)
        self._setting = setting
        # Every process in the wall holds the other end: all have ended when it is closed. What
        # ours say before the program runs comes this way too.
        self._alive, alive = socket.socketpair()
        self._scratch = None if wall.bwrap else tempfile.TemporaryDirectory()
        walled = {
            "limits": setting.confinement(wall)
            | {"keep": [self._records, alive.fileno(), *setting.handles]},
            "alive": alive.fileno(),
            "records": self._records,
            "secret": self._secret,
            "walled": wall.bwrap is not None,
        }
        code = marshal.dumps((_compiled(entry), f"{_PACKAGE}.{entry}", {**job, **walled}))
        with os.fdopen(given, "wb") as file:
            file.write(code)
            file.seek(0)
            self._process = subprocess.Popen(
                wall.command(
                    [interpreter(), *_FLAGS, "-c", _BOOT], setting.scratch_mib, setting.seen
                ),
                stdin=given,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=(self._records, alive.fileno(), *wall.handles, *setting.handles),
                env=_ENVIRONMENT,
                cwd=self._scratch.name if self._scratch else "/",
                start_new_session=True,
            )
        alive.close()
        self._began = time.monotonic()
        self._starved = False
        self._waiter = os.pidfd_open(self._process.pid)

    def is_alive(self) -> bool:
        """Return whether the process has not ended."""
        return not select.select([self._waiter], [], [], 0)[0]

    def wait(self, seconds: float, other: int | None = None) -> str:
        """Wait until the process ends; return ``ended``, ``timeout``, ``memory`` or ``other``.

        ``other`` says that this file can be read. The time counts from the start, without
        what the process waited for a processor.
        """
        watch = clock.Watch(self._process.pid, self._began, seconds)
        poll = select.poll()
        for handle in (self._waiter,) if other is None else (self._waiter, other):
            poll.register(handle, select.POLLIN)
        while True:
            left = watch.left_s()
            if left <= 0:
                self._starved = watch.starved
                return "timeout"
            ready = poll.poll(min(left, _LOOK_S) * 1000)
            if ready:
                return "other" if any(one == other for one, _ in ready) else "ended"
            if memory_kib(self._process.pid) > 2 * 1024 * self._setting.memory_mib:
                return "memory"

    def end(self, reason: str) -> Ending:
        """Kill whatever is left, and return how it went."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        # bubblewrap does not wait for the processes that it leaves to the kernel to kill.
        told = self._told()
        seconds = time.monotonic() - self._began
        records = os.pread(self._records, self._setting.file, 0)
        ending = Ending(
            status=128 - status if status < 0 else status,
            reason=reason if reason in {"timeout", "memory"} else "",
            starved=self._starved,
            printed=os.fstat(self._printed).st_size,
            said=os.pread(self._printed, 2000, 0).decode("utf-8", "replace"),
            records=records,
            is_full=len(records) >= self._setting.file,
            secret=self._secret,
            seconds=seconds,
            came_up=told.startswith(UP),
            lacks_library=told.startswith(UP + LACKING),
        )
        self._alive.close()
        for handle in (self._printed, self._records, self._waiter):
            os.close(handle)
        if self._scratch:
            self._scratch.cleanup()
        return ending

    def _told(self) -> bytes:
        """Return the first bytes that were said, once nobody is left to say more."""
        first, deadline = b"", time.monotonic() + _GONE_S
        while select.select([self._alive], [], [], max(0.0, deadline - time.monotonic()))[0]:
            try:
                piece = self._alive.recv(1 << 16)
            except ConnectionError:
                break
            if not piece:
                break
            first = (first + piece)[:2]
        return first


class Setting(NamedTuple):
    """Hold what a process may use and is given."""

    memory_mib: int
    cpu_s: int
    file: int  # bytes of any file, records among them
    scratch_mib: int
    processes: int
    java: bool = False
    handles: tuple[int, ...] = ()  # open files that it inherits
    seen: tuple[str, ...] = ()  # further places that it can read

    def confinement(self, wall: Wall) -> dict[str, Any]:
        """Return what ``confine`` takes."""
        return {
            "uid": secrets.choice(wall.ids) if wall.ids else None,
            "java": self.java,
            "memory": self.memory_mib << 20,
            "file": self.file,
            "processes": self.processes,
            "cpu": self.cpu_s,
        }


def setting(limits: Limits) -> Setting:
    """Return the setting of one program."""
    return Setting(
        memory_mib=limits.memory_mib,
        cpu_s=limits.cpu_s,
        file=limits.output_kib << 10,
        scratch_mib=limits.scratch_mib,
        processes=limits.processes,
    )


@cache
def _compiled(entry: str) -> list[tuple[str, Any]]:
    """Return the code of the modules inside, their packages first."""
    folder = resources.files(_PACKAGE)
    parts = _PACKAGE.split(".")
    packages = [(".".join(parts[: n + 1]), compile("", "", "exec")) for n in range(len(parts))]
    modules = [
        (f"{_PACKAGE}.{name}", compile((folder / f"{name}.py").read_bytes(), f"{name}.py", "exec"))
        for name in _MODULES[entry]
    ]
    return packages + modules


def memory_kib(pid: int) -> int:
    """Return the memory that the descendants of a process use; what they share counts once.

    That is what they have mapped, files that are in no folder, and what the names in their
    scratch folders cost the kernel: a million of empty files take as much as 1 GiB.
    """
    mapped = 0
    held: dict[tuple[int, int], int] = {}
    names: dict[int, int] = {}
    for child in clock.descendants(pid):
        with suppress(OSError, IndexError, ValueError):
            text = Path(f"/proc/{child}/smaps_rollup").read_text(encoding="ascii")
            mapped += int(text.split("\nPss:")[1].split()[0])
        with suppress(OSError):
            held |= dict(_nameless(Path(f"/proc/{child}/fd")))
        for folder in _SCRATCH:
            with suppress(OSError):
                place = Path(f"/proc/{child}/root{folder}")
                if not place.samefile(folder):  # without a wall it is everybody's
                    found = os.statvfs(place)
                    names[place.stat().st_dev] = found.f_files - found.f_ffree
    return mapped + sum(held.values()) + sum(names.values())


def _nameless(handles: Path) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield which files without a name a process holds open, and their sizes in KiB."""
    for handle in handles.iterdir():
        with suppress(OSError):
            found = handle.stat()
            if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                yield (found.st_dev, found.st_ino), found.st_blocks // 2
