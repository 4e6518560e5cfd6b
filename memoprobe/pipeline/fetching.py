"""Bring several benchmarks, and say of each what came."""

from collections.abc import Callable, Sequence
from pathlib import Path

from memoprobe import benchmarks
from memoprobe.benchmarks import Fetched
from memoprobe.errors import MemoprobeError
from memoprobe.pipeline import settings


def fetch(
    names: Sequence[str],
    source: Path | None,
    *,
    say: Callable[[str], object],
    warn: Callable[[str], object],
) -> MemoprobeError | None:
    """Bring benchmarks one after another into the user's data folder.

    Args:
        names: Registered names.
        source: As for ``benchmarks.fetch``, for all of them.
        say: Gets the listing line by line.
        warn: Gets what went wrong, and how data were had if not as usual.

    Returns:
        The first failure, which is warned of and ends nothing; None where there is none.
    """
    first = None
    for name in names:
        try:
            fetched = benchmarks.fetch(benchmarks.find(name), source, settings.home())
        except MemoprobeError as error:
            first = first or error
            warn(str(error))
            continue
        if fetched.note is not None:
            warn(f"{name}: {fetched.note}")
        for line in _listing(fetched, source):
            say(line)
    return first


def _listing(fetched: Fetched, source: Path | None) -> list[str]:
    origin = f"{fetched.repository} ({fetched.revision}, commit {fetched.commit})"
    counts = f"{fetched.n_rows} rows read, {fetched.n_used} used"
    reasons = [f"  {count} skipped: {reason}" for reason, count in fetched.skipped.items()]
    return [f"{fetched.benchmark}: {counts}; from {source or origin}", *reasons]
