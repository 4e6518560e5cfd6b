"""Measure a program's time without what it waited for a processor.

So a busy machine does not make a program too slow.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PATIENCE = 3  # times the limit, after which a program is ended however long it waited


class Watch:
    """Hold until when a process may run."""

    def __init__(self, pid: int, began: float, seconds: float) -> None:
        self._pid = pid
        self._began = began
        self._seconds = seconds
        self.starved = False  # it was not given its time

    def left_s(self) -> float:
        """Return how long to go on waiting; 0 or less where the time is up."""
        passed = time.monotonic() - self._began
        if passed < self._seconds:
            return self._seconds - passed
        waited = waited_s(self._pid)
        self.starved = waited is None or self._seconds * _PATIENCE < self._seconds + waited
        return min(self._seconds + (waited or 0), self._seconds * _PATIENCE) - passed


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process started, and theirs."""
    with suppress(OSError, ValueError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_bytes().split()):
                yield child
                yield from descendants(child)


def waited_s(pid: int) -> float | None:
    """Return how long a process and its descendants waited for a processor, if that is known.

    Of threads, the longest wait counts.
    """
    total = 0
    try:
        for each in (pid, *descendants(pid)):
            tasks = Path(f"/proc/{each}/task").iterdir()
            total += max(int((task / "schedstat").read_bytes().split()[1]) for task in tasks)
    except (OSError, ValueError, IndexError):
        return None
    return total / 1e9
