"""Show how a run stands: one live line on a terminal, one log line a minute elsewhere."""

from collections.abc import Callable
from time import monotonic
from typing import TextIO

from memoprobe.engine import Progress

EVERY_S = 60.0


def shower(stream: TextIO) -> Callable[[Progress], None]:
    """Return a function that shows a Progress on ``stream``, as often as suits it."""
    if stream.isatty():
        return lambda progress: _live(progress, stream)
    told = -EVERY_S

    def log(progress: Progress) -> None:
        nonlocal told
        if monotonic() - told >= EVERY_S:
            told = monotonic()
            print(line(progress), file=stream, flush=True)

    return log


def _live(progress: Progress, stream: TextIO) -> None:
    stream.write(f"\r\033[K{line(progress)[:200]}")
    stream.flush()


def line(progress: Progress) -> str:
    """Return how a run stands, in one line; counts are of its unit."""
    seconds = max(monotonic() - progress.started, 1e-9)
    failed = sum(progress.failed.values())
    rate = progress.answered / seconds
    left = max(progress.left - progress.answered - failed, 0)
    parts = [
        f"{progress.answered}/{progress.left} {progress.unit}",
        f"{rate:.1f}/s",
        f"{progress.tokens / seconds:.0f} tokens/s",
        f"{len(progress.in_flight)} in flight",
        f"{progress.retries} retries",
    ]
    if progress.truncated:
        parts.append(f"{progress.truncated} truncated")
    parts += [f"{n} {kind}" for kind, n in sorted(progress.failed.items())]
    if progress.stopping:
        parts.append("stopping: replies in flight have 10 s, Ctrl-C again ends at once")
    elif rate and left:
        parts.append(f"{duration(left / rate)} left")
    if progress.oldest is not None:
        age, item = progress.oldest
        parts.append(f"oldest {age:.0f} s: {item}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time span in its two largest units."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
