"""Share independent work among processes, through joblib and the backend that the user picks."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar

Result = TypeVar("Result")
Backend = Literal["loky", "dask", "ray"]

WORTH_IT = 200
"""Fewer jobs than this are done here: starting workers takes longer."""


class Pool(NamedTuple):
    """Say who does the work."""

    backend: Backend = "loky"
    jobs: int = 0  # processes; 0 is one a processor core


DEFAULT = Pool()


def each(
    work: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], pool: Pool, n_jobs: int
) -> Iterator[Result]:
    """Yield ``work(*job)`` of every job in their order; only a few jobs are in memory at once.

    Args:
        work: A function of a module, so that other processes find it.
        jobs: Its arguments, which can be sent to other processes.
        pool: Who does it.
        n_jobs: About how many jobs there are.
    """
    processes = pool.jobs or os.cpu_count() or 1
    if processes == 1 or n_jobs < WORTH_IT:
        for job in jobs:
            yield work(*job)
        return
    from joblib import Parallel, delayed  # takes a tenth of a second

    parallel = Parallel(
        n_jobs=processes, backend=pool.backend, return_as="generator", pre_dispatch=4 * processes
    )
    yield from parallel(delayed(work)(*job) for job in jobs)
