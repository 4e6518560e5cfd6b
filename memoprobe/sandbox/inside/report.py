"""Report from inside the wall: records in a file, and what an exception says of itself."""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # typing itself takes longer to import than Python to start
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

try:
    from _json import encode_basestring_ascii as quote
except ImportError:  # the accelerator is optional
    from json.encoder import py_encode_basestring_ascii as quote

# What a program meets that reaches for what the wall keeps from it.
_BLOCKED = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ESRCH,
        errno.ECONNREFUSED,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EHOSTUNREACH,
        errno.EADDRNOTAVAIL,
    }
)


def to_json(value: Any) -> str:  # noqa: ANN401
    """Return JSON of lists of plain values; importing ``json`` would double the start-up time."""
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is list or kind is tuple:
        return "[" + ",".join([to_json(each) for each in value]) + "]"
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    text: str = (int if kind is int else float).__repr__(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


# What a program may say of its own exceptions. None of them opens another mode.
_ADMITTED = frozenset(
    {"error", "memory", "output-limit", "blocked", "incomplete", "timeout", "crashed"}
)


def admitted(kind: object, words: object) -> tuple[str, str]:
    """Return an outcome that the program's process reports, as far as it may report it."""
    return (str(kind) if kind in _ADMITTED else "error"), str(words)


UP = b"u"  # the process has come up
WHOLE, LACKING = b"w", b"l"  # the libraries that the tests ask for are all here, or are not


def tell(job: Mapping[str, Any], what: bytes) -> None:
    """Say something before any of the program runs: UP first, then WHOLE or LACKING.

    It is said to a socket, for a program can write over its records, but takes nothing back
    that was sent before it ran.
    """
    os.write(job["alive"], what)


class Records:
    """Write records to an open file, each on a line that begins with a secret.

    The secret only keeps what a program prints by accident apart from the records: a program
    that finds it can change its own answers and nothing else.
    """

    def __init__(self, handle: int, secret: str) -> None:
        self._handle = handle
        self._start = f"\n{secret} "

    def __call__(self, *record: Any) -> None:  # noqa: ANN401
        """Append one record at once, so that it is there whatever comes after."""
        data = (self._start + to_json(record) + "\n").encode("ascii")
        while data:
            data = data[os.write(self._handle, data) :]


def describe(error: BaseException) -> tuple[str, str]:
    """Return the kind of verdict that an exception calls for, and its words."""
    try:
        words = f"{type(error).__name__}: {error}"[:300]
    except BaseException:  # noqa: BLE001 - the exception is the program's own class
        words = "an exception without words"
    return _kind(error), words


def _kind(error: BaseException) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return "memory"
    if isinstance(error, SystemExit | GeneratorExit):
        return "incomplete"
    if number == errno.EFBIG:
        return "output-limit"
    if number in _BLOCKED or _is_name_lookup(error):
        return "blocked"
    return "error"


def _is_name_lookup(error: BaseException) -> bool:
    """Return whether a host name could not be looked up, for there is no network."""
    failure = getattr(sys.modules.get("socket"), "gaierror", None)
    return failure is not None and isinstance(error, failure)
