"""Turn outcomes and the ending of a process into one verdict."""

import json
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from memoprobe.sandbox.inside.report import admitted
from memoprobe.sandbox.judging import Outcome
from memoprobe.sandbox.modes import Trial
from memoprobe.sandbox.process import Ending
from memoprobe.sandbox.program import Kind, Limits, Mode, Verdict, printable

_LONGEST_RECORD = 4096  # of those that are read here, in bytes
_BY_SIGNAL: dict[int, Outcome] = {
    signal.SIGXCPU: ("timeout", "used more processor time than it may"),
    signal.SIGXFSZ: ("output-limit", "wrote more than it may"),
}


def verdict(trial: Trial, limits: Limits, mode: Mode) -> Verdict:
    """Return the verdict: the first test that was not passed decides its kind."""
    ending = trial.ending
    if not ending.came_up:
        detail = f"the process did not come up: {ending.said}"
        return Verdict(kind="infrastructure", mode=mode, detail=printable(detail))
    fate = _unloaded(ending) or _fate(ending)
    outcomes = [fate if kind == "gone" else (kind, words) for kind, words in trial.outcomes]
    outcomes = outcomes or [("unsupported", "there are no tests")]
    if trial.mode == "shared" and not ending.lacks_library:
        outcomes = [_charged(*outcome) for outcome in outcomes]
    if ending.printed >= limits.output_kib << 10:
        outcomes = [("output-limit", "printed more than it may"), *outcomes[1:]]
    kind, words = next((each for each in outcomes if each[0] != "passed"), ("passed", ""))
    return Verdict(
        kind=as_kind(kind),
        mode=mode,
        n_passed=sum(outcome[0] == "passed" for outcome in outcomes),
        n_tests=len(outcomes),
        detail=printable(words),
        seconds=round(ending.seconds, 3),
    )


def as_kind(name: str) -> Kind:
    """Return a kind by its name; what is none is an error."""
    return next((kind for kind in get_args(Kind) if kind == name), "error")


def _unloaded(ending: Ending) -> Outcome | None:
    """Return why the program could not be loaded, if it says so."""
    start = f"\n{ending.secret} ".encode("ascii")
    place = ending.records.find(start + b'["unloaded"')
    if place < 0:
        return None
    line = ending.records[place + len(start) :][:_LONGEST_RECORD].split(b"\n")[0]
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    # The program's process wrote this, perhaps the program itself.
    match found:
        case [_, "unsupported", str(words)] if ending.lacks_library:
            return "unsupported", words
        case [_, str(kind), str(words)]:
            return admitted(kind, words)
    return "error", "it could not be loaded"


def _charged(kind: str, words: str) -> Outcome:
    """Return an outcome that a program may have written, without an excuse for a lack of ours."""
    return ("error" if kind == "unsupported" else kind), words


def _fate(ending: Ending) -> Outcome:
    """Return what kept a process from reporting all its tests."""
    if ending.reason:
        return ending.reason, f"ended from outside after {ending.seconds:.1f} s"
    if ending.is_full:
        return "output-limit", "answered more than it may"
    number = ending.status - 128
    if number in _BY_SIGNAL:
        return _BY_SIGNAL[number]
    if number > 0:
        return "crashed", f"ended by signal {number}"
    return "incomplete", f"left with status {ending.status} before its tests were done"


def with_coverage(found: Verdict, reached: str | None, target_lines: Sequence[int]) -> Verdict:
    """Return a verdict with the shares of the program that its test reached.

    Args:
        found: The verdict.
        reached: JSON of the lines run and missed and the numbers of branches taken and
            missed, as the judge admitted it.
        target_lines: Lines that the benchmark asks a test to reach.
    """
    if reached is None:
        return found
    run, missed, taken, untaken = json.loads(reached)
    return replace(
        found,
        lines=_share(len(set(run)), len(set(missed))),
        branches=_share(taken, untaken),
        target_lines=_share(*_hits(set(run), target_lines)),
    )


def _hits(lines: set[int], wanted: Sequence[int]) -> tuple[int, int]:
    hits = sum(line in lines for line in wanted)
    return hits, len(wanted) - hits


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None
