"""Try to break out: the program of the self-test, which answers what it could do."""

import os
import signal
import socket
import time
from contextlib import suppress

_MOST_PROCESSES = 200


def breaches(canary: str, port: int, caller: int) -> list[str]:
    """Return the names of the walls that do not hold.

    Args:
        canary: A file outside.
        port: Of a listener on loopback.
        caller: The number of a process outside.
    """
    attempts = {
        "reading": lambda: _open(canary, os.O_RDONLY),
        "writing": lambda: _open(canary, os.O_WRONLY),
        "creating": lambda: _open(f"{canary}.new", os.O_WRONLY | os.O_CREAT),
        "system": lambda: _open("/usr/lib/memoprobe-canary", os.O_WRONLY | os.O_CREAT),
        "network": lambda: socket.create_connection(("127.0.0.1", port), timeout=1),
        "processes outside": lambda: _open(f"/proc/{caller}/cmdline", os.O_RDONLY),
        "number of processes": _multiply,
    }
    found = []
    for name, attempt in attempts.items():
        with suppress(OSError):
            attempt()
            found.append(name)
    return found


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags, 0o600))


def _multiply() -> None:
    """Start processes until one is refused, which raises OSError."""
    children = []
    try:
        for _ in range(_MOST_PROCESSES):
            child = os.fork()
            if not child:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
