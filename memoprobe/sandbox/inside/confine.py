"""Give up rights and set limits in the process that will run an untrusted program."""

from __future__ import annotations

import os
import resource

TYPE_CHECKING = False  # typing itself takes longer to import than Python to start
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Segments of System V outlive the process that fills them, and no limit counts them.
_SHARED_MEMORY = ("shmall", "shmmni", "msgmni")


def confine(limits: Mapping[str, Any]) -> None:
    """Become ``limits["uid"]`` if it is given and set the limits for good.

    No file stays open but the standard ones and ``limits["keep"]``.
    """
    for handle in set(range(3, 128)).difference(limits["keep"]):
        _close(handle)
    _write("/proc/self/oom_score_adj", "1000")
    uid = limits["uid"]
    if uid is not None:
        for name in _SHARED_MEMORY:
            _write(f"/proc/sys/kernel/{name}", "0")
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    memory = resource.RLIMIT_DATA if limits["java"] else resource.RLIMIT_AS
    _limit(memory, limits["memory"])
    _limit(resource.RLIMIT_FSIZE, limits["file"])
    _limit(resource.RLIMIT_NPROC, limits["processes"])
    _limit(resource.RLIMIT_NOFILE, 128)
    _limit(resource.RLIMIT_CORE, 0)
    # One second more for the hard limit: the soft one ends with a signal of its own.
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu"], limits["cpu"] + 1))


def _write(path: str, text: str) -> None:
    """Write to a file of the kernel, if that is allowed."""
    try:
        handle = os.open(path, os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(handle, text.encode("ascii"))
    except OSError:
        return
    finally:
        os.close(handle)


def _close(handle: int) -> None:
    """Close a file, if it is open."""
    try:
        os.close(handle)
    except OSError:
        return


def _limit(name: int, value: int) -> None:
    """Set a limit, or leave a stricter one as it is."""
    hard = resource.getrlimit(name)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (value, value))
