"""Check what a run shows of itself."""

import io
from time import monotonic

import pytest

from memoprobe.engine import Progress
from memoprobe.pipeline import progress


class Terminal(io.StringIO):
    """Stand for a terminal."""

    def isatty(self):
        return True


def running():
    found = Progress(left=100, answered=40, truncated=3, retries=2, tokens=400)
    found.failed["timeout"] = 10
    found.started = monotonic() - 20
    found.in_flight[1] = (monotonic() - 7, "b s level 2 (m)")
    return found


def test_the_line_says_where_a_run_stands():
    """Done and planned, rates, what is open, what went wrong, how long it takes, what is old."""
    assert progress.line(running()) == (
        "40/100 answers, 2.0/s, 20 tokens/s, 1 in flight, 2 retries, 3 truncated, 10 timeout,"
        " 25 s left, oldest 7 s: b s level 2 (m)"
    )
    assert progress.line(Progress()).startswith("0/0 answers, 0.0/s")


def test_a_terminal_has_one_live_line():
    """Each replaces the last."""
    stream = Terminal()

    show = progress.shower(stream)
    show(running())
    show(running())

    assert stream.getvalue().count("\r\033[K40/100") == 2
    assert "\n" not in stream.getvalue()


def test_elsewhere_there_is_a_line_a_minute(monkeypatch):
    """A log is not flooded."""
    stream = io.StringIO()
    show = progress.shower(stream)
    show(running())
    show(running())
    assert stream.getvalue().count("\n") == 1

    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    stopping = running()
    stopping.stopping = True
    show(stopping)

    first, second = stream.getvalue().splitlines()
    assert first.startswith("40/100")
    assert "Ctrl-C again ends at once" in second


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7300, "2 h 1 min")]
)
def test_durations_have_two_units(seconds, text):
    """The largest two."""
    assert progress.duration(seconds) == text
