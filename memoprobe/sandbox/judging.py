"""Ask the judge, which holds tests and expected values behind a wall of its own."""

import json
import marshal
from collections.abc import Mapping
from typing import Any

from memoprobe.sandbox.helpers import Helper, Kept, framed
from memoprobe.sandbox.process import Ending, Setting
from memoprobe.sandbox.program import Limits
from memoprobe.sandbox.wall import Wall

Outcome = tuple[str, str]

ENDED: Outcome = ("infrastructure", "the process that holds the tests has ended")

_SETTING = Setting(memory_mib=1024, cpu_s=1 << 30, file=1 << 20, scratch_mib=1, processes=8)

_judges = Kept(lambda wall: Helper(wall, "judge", {}, _SETTING))


def compare(wall: Wall, ending: Ending, asked: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcome of every test, compared behind the judge's wall.

    What a program left is never taken apart by the caller: it may be built to be slow.
    """
    request = {"data": ending.records, "secret": ending.secret, **asked}
    if ask(wall, request, None) is None:
        return [ENDED]
    outcomes = reply(wall, Limits().wall_s)
    return [("error", "its answers cannot be compared in time")] if outcomes is None else outcomes


def ask(wall: Wall, request: Mapping[str, Any], handle: int | None) -> int | None:
    """Send a request and, for tests that are code, the socket to the program.

    Returns:
        The handle on which the reply will come, or None where no judge listens.
    """
    judge = _judges.get(wall)
    if not judge.is_alive():
        dismiss()
        judge = _judges.get(wall)
    try:
        judge.send_handle(handle)
        judge.send(framed(marshal.dumps(dict(request))))
    except OSError:
        return None
    return judge.fileno()


def reply(wall: Wall, seconds: float) -> list[Outcome] | None:
    """Return the outcomes, or None where they do not come in time; that judge is ended."""
    data = _judges.get(wall).receive(seconds)
    if data is None:
        dismiss()
        return None
    return [(str(kind), str(words)) for kind, words in json.loads(data)]


def dismiss() -> None:
    """End this thread's judge; the next request starts another."""
    _judges.dismiss()
