"""Share independent work among processes, through joblib and the backend that the user picks.

Jobs and results are plain data. A worker that dies costs a repetition of what it had, never a
result: Dask and Ray see to that themselves, and on this machine the jobs without a result are
given out again.
"""

import importlib.util
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeVar

from memoprobe.errors import ConfigError, WorkersLost

Result = TypeVar("Result")
Backend = Literal["loky", "dask", "ray"]

WORTH_IT = 200
"""Less work than this, in milliseconds, is done here: to send it takes longer."""

TRIES = 3
"""How often workers may die, without a result in between, before that is an error."""

_PACKAGES = {"dask": "distributed", "ray": "ray"}
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

    own: dict[str, Any] = {"n_workers": processes(pool), "threads_per_worker": 1} | _QUIET
    try:
        client = Client(  # type: ignore[no-untyped-call]
            pool.scheduler, **({} if pool.scheduler else own)
        )
    except (OSError, ValueError) as error:
        msg = f"no Dask scheduler answers at {pool.scheduler}: {error}"
        raise ConfigError(msg) from error
    with client:
        yield


_QUIET = {"dashboard_address": None, "silence_logs": "ERROR"}  # of a cluster of our own


@contextmanager
def _ray(pool: Pool) -> Iterator[None]:
    import ray
    from joblib import Parallel, parallel_config
    from ray.util.joblib import register_ray

    own: dict[str, Any] = {"num_cpus": processes(pool), "include_dashboard": False}
    try:
        ray.init(
            pool.scheduler,
            logging_level=logging.ERROR,
            log_to_driver=False,
            **({} if pool.scheduler else own),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        msg = f"no Ray cluster answers at {pool.scheduler}: {error}"
        raise ConfigError(msg) from error
    try:
        register_ray()  # type: ignore[no-untyped-call]
        # Actors take seconds to start, and joblib would start them for every call.
        with (
            parallel_config("ray", ray_remote_args=_RESTARTS),
            Parallel(n_jobs=pool.jobs or -1) as shared,
        ):
            _held.append(shared)
            yield
    finally:
        _held.clear()
        ray.shutdown()


_RESTARTS = {"max_restarts": TRIES, "max_task_retries": TRIES}
_held: list[Any] = []  # joblib's connection to Ray's actors, while there is one


_ON_CLUSTER = {"dask": _dask, "ray": _ray}


def processes(pool: Pool) -> int:
    """Return how many processes of this machine a pool means."""
    return pool.jobs or os.cpu_count() or 1


def count(pool: Pool) -> int:
    """Return how many processes share the work; a cluster must be ``connected``."""
    if pool.backend == "loky":
        return processes(pool)
    from joblib import effective_n_jobs, parallel_config

    with parallel_config(pool.backend):
        return int(effective_n_jobs(pool.jobs or -1))


def each(
    work: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], pool: Pool, milliseconds: int
) -> Iterator[Result]:
    """Yield ``work(*job)`` of every job in their order; only a few jobs are in memory at once.

    Args:
        work: A function of a module, so that other processes find it.
        jobs: Its arguments, which can be sent to other processes.
        pool: Who does it; a cluster must be ``connected``.
        milliseconds: About how many milliseconds all of them take.

    Raises:
        WorkersLost: Workers die again and again over the same jobs.
    """
    if milliseconds < WORTH_IT or (pool.backend == "loky" and processes(pool) == 1):
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
    from joblib import Parallel, delayed, parallel_config

    def calls(some: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for job in some:
            out.append(job)
            yield delayed(work)(*job)

    n, left = count(pool), iter(jobs)
    if pool.backend == "ray":
        while some := list(islice(left, _LISTED * n)):
            yield from _held[0](calls(some))
        return
    if pool.backend == "loky":
        work = partial(_followed, os.getpid(), work)
    with parallel_config(pool.backend):
        yield from Parallel(n_jobs=n, return_as="generator", pre_dispatch=4 * n)(calls(left))


def _followed(parent: int, work: Callable[..., Result], *job: object) -> Result:
    """Do a job in a process that does not outlive ``parent``, even if that is killed."""
    _follow(parent)
    return work(*job)


@cache
def _follow(parent: int) -> None:
    def wait() -> None:
        never = threading.Event()
        while os.getppid() == parent:
            never.wait(1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
