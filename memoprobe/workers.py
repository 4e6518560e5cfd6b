"""Share independent work among processes, through joblib and the backend that the user picks.

Jobs and results are plain data. A worker that dies costs a repetition of what it had, never a
result: Dask and Ray see to that themselves, and on this machine the jobs without a result are
given out again.
"""

import importlib.util
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeVar

from memoprobe.errors import ConfigError, WorkersLost

Result = TypeVar("Result")
Backend = Literal["loky", "dask", "ray"]

WORTH_IT = 200
"""Fewer jobs than this are done here, if the workers would be of this machine."""

TRIES = 3
"""How often workers may die, without a result in between, before that is an error."""

_PACKAGES = {"dask": "distributed", "ray": "ray"}
_RESTARTS = {"ray": {"ray_remote_args": {"max_restarts": TRIES, "max_task_retries": TRIES}}}
_LISTED = 64  # jobs a worker, where the backend gives results as a list


class Pool(NamedTuple):
    """Say who does the work."""

    backend: Backend = "loky"
    jobs: int = 0  # processes; 0 is one a processor core, or all of a cluster
    scheduler: str | None = None  # a cluster's address; None starts workers on this machine


DEFAULT = Pool()


@contextmanager
def connected(pool: Pool) -> Iterator[None]:
    """Hold the connection to a cluster, or start one on this machine, while work is shared.

    Raises:
        ConfigError: The backend's package is missing, or nobody answers at the address.
    """
    if pool.backend == "loky":
        if pool.scheduler is not None:
            msg = f"--scheduler {pool.scheduler} goes with --backend dask or ray"
            raise ConfigError(msg)
        yield
        return
    if importlib.util.find_spec(_PACKAGES[pool.backend]) is None:
        msg = f'backend {pool.backend} is not installed: pip install "memoprobe[{pool.backend}]"'
        raise ConfigError(msg)
    with _ON_CLUSTER[pool.backend](pool):
        yield


@contextmanager
def _dask(pool: Pool) -> Iterator[None]:
    from distributed import Client

    own = {} if pool.scheduler else {"n_workers": processes(pool), "threads_per_worker": 1}
    try:
        client = Client(pool.scheduler, **own, **({} if pool.scheduler else _QUIET))
    except (OSError, ValueError) as error:
        msg = f"no Dask scheduler answers at {pool.scheduler}: {error}"
        raise ConfigError(msg) from error
    with client:
        yield


_QUIET = {"dashboard_address": None, "silence_logs": "ERROR"}  # of a cluster of our own


@contextmanager
def _ray(pool: Pool) -> Iterator[None]:
    import ray
    from ray.util.joblib import register_ray

    own = {} if pool.scheduler else {"num_cpus": processes(pool), "include_dashboard": False}
    try:
        ray.init(pool.scheduler, logging_level="ERROR", log_to_driver=False, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        msg = f"no Ray cluster answers at {pool.scheduler}: {error}"
        raise ConfigError(msg) from error
    try:
        register_ray()
        yield
    finally:
        ray.shutdown()


_ON_CLUSTER = {"dask": _dask, "ray": _ray}


def processes(pool: Pool) -> int:
    """Return how many processes of this machine a pool means."""
    return pool.jobs or os.cpu_count() or 1


def each(
    work: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], pool: Pool, n_jobs: int
) -> Iterator[Result]:
    """Yield ``work(*job)`` of every job in their order; only a few jobs are in memory at once.

    Args:
        work: A function of a module, so that other processes find it.
        jobs: Its arguments, which can be sent to other processes.
        pool: Who does it; a cluster must be ``connected``.
        n_jobs: About how many jobs there are, in jobs of a millisecond.

    Raises:
        WorkersLost: Workers die again and again over the same jobs.
    """
    if pool.backend == "loky" and (processes(pool) == 1 or n_jobs < WORTH_IT):
        for job in jobs:
            yield work(*job)
        return
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left, out, lost = iter(jobs), deque[tuple[Any, ...]](), 0
    while True:
        given = chain(list(out), left)
        out.clear()
        try:
            for result in _shared(work, given, out, pool):
                out.popleft()
                lost = 0
                yield result
        except BrokenProcessPool as error:
            lost += 1
            if lost == TRIES:
                msg = "worker processes die; is there memory for all? Try fewer, by --jobs"
                raise WorkersLost(msg) from error
        else:
            return


def _shared(
    work: Callable[..., Result],
    jobs: Iterable[tuple[Any, ...]],
    out: deque[tuple[Any, ...]],
    pool: Pool,
) -> Iterator[Result]:
    """Yield the results of jobs; ``out`` holds those that were given out, in order."""
    from joblib import Parallel, delayed, effective_n_jobs, parallel_config

    def calls(some: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for job in some:
            out.append(job)
            yield delayed(work)(*job)

    with parallel_config(pool.backend, **_RESTARTS.get(pool.backend, {})):
        n = processes(pool) if pool.backend == "loky" else effective_n_jobs(pool.jobs or -1)
        if pool.backend != "ray":
            shared = Parallel(n_jobs=n, return_as="generator", pre_dispatch=4 * n)
            yield from shared(calls(jobs))
            return
        left = iter(jobs)
        with Parallel(n_jobs=n) as shared:
            while some := list(islice(left, _LISTED * n)):
                yield from shared(calls(some))
