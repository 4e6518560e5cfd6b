"""Hold the registered benchmarks by name; each reads a row into a Sample.

``Sample.tests`` is a JSON object; its ``kind`` says what else it holds:

- ``check``: ``test``, Python that defines ``check(candidate)``; ``entry_point``;
- ``asserts``: ``asserts``, a list of statements; ``setup``, code that runs before them;
- ``calls``: ``cases``, each with ``args`` and ``expected``, equal as JSON values, and perhaps
  ``tolerance`` (absolute), ``timeout_s`` and ``slow`` (takes minutes); ``listed``, whether
  the result is a generator to be listed first;
- ``stdio``: ``cases``, each with ``stdin`` and ``stdout``, and perhaps ``timeout_s``;
- ``pytest``: ``files``, their content by name; ``module``, the file the answer goes into.
"""

from difflib import get_close_matches

from memoprobe.benchmarks import code_generation, program_repair
from memoprobe.benchmarks.own import load as load_own
from memoprobe.benchmarks.sources import (
    Benchmark,
    Fetched,
    Loaded,
    Selection,
    complete,
    fetch,
    is_available,
    load,
)
from memoprobe.errors import BenchmarkError

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Fetched",
    "Loaded",
    "Selection",
    "complete",
    "fetch",
    "find",
    "is_available",
    "load",
    "load_own",
]

BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        code_generation.HUMANEVAL,
        code_generation.MBPP,
        program_repair.QUIXBUGS_REPAIR,
    )
}


def find(name: str) -> Benchmark:
    """Return the registered benchmark of that name.

    Raises:
        BenchmarkError: There is none; the message gives the nearest.
    """
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    near = get_close_matches(name, BENCHMARKS, n=1, cutoff=0)[0]
    msg = f"unknown benchmark {name!r}; nearest: {near!r}; known: {', '.join(BENCHMARKS)}"
    raise BenchmarkError(msg)
