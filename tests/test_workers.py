"""Facts about work that is shared among processes of this machine, of Dask and of Ray."""

import importlib.util
import math
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoprobe import workers
from memoprobe.errors import ConfigError, WorkersLost
from memoprobe.pipeline import derive
from memoprobe.store import open_store
from memoprobe.workers import Pool
from tests import report_run

BACKENDS = {"dask": "distributed", "ray": "ray"}
INSTALLED = [name for name, package in BACKENDS.items() if importlib.util.find_spec(package)]
NUMBERS = [(n,) for n in range(400)]
ROOTS = [math.sqrt(n) for n in range(400)]


def root_unless_first(n, marker):
    """Return a root; the first worker that gets number 150 is killed over it."""
    if n == 150 and marker and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return math.sqrt(n)


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def cluster(backend):
    """Start two workers, of a Dask cluster that is there already where it is Dask."""
    if backend != "dask":
        yield Pool(backend, 2)
        return
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    ) as local:
        yield Pool("dask", scheduler=local.scheduler_address)


@pytest.mark.filterwarnings("ignore")  # of Dask and Ray themselves
@pytest.mark.parametrize("backend", ["loky", *INSTALLED])
def test_results_and_a_killed_worker(backend, tmp_path):
    """Results come in the jobs' order, also where a worker is killed in the middle."""
    with cluster(backend) as pool, workers.connected(pool):
        results = list(workers.each(math.sqrt, NUMBERS, pool, len(NUMBERS)))
        jobs = [(n, os.fspath(tmp_path / "killed")) for (n,) in NUMBERS]
        again = list(workers.each(root_unless_first, jobs, pool, len(jobs)))

    assert results == again == ROOTS
    assert (tmp_path / "killed").exists()


@pytest.mark.filterwarnings("ignore")  # of Dask and Ray themselves
@pytest.mark.parametrize("backend", INSTALLED)
def test_a_cluster_scores_as_this_machine_does(backend, tmp_path, monkeypatch):
    """Scores and sensitivities of a whole run are equal to the bit, whoever worked them out."""
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    paths = [report_run.make(tmp_path / f"{name}.db") for name in ("here", backend)]
    with cluster(backend) as pool:
        for path, chosen in zip(paths, (workers.DEFAULT, pool), strict=True):
            with workers.connected(chosen), open_store(path, write=True) as store:
                derive.score(store, ["levenshtein", "rougeL"], pool=chosen)

    queries = "SELECT * FROM scores", "SELECT * FROM sensitivities", "SELECT * FROM comparisons"
    found = []
    for path in paths:
        with open_store(path, write=False) as store:
            found.append([sorted(map(repr, map(tuple, store.query(q)))) for q in queries])
    assert all(found[0])
    assert found[0] == found[1]


def test_workers_end_with_a_killed_parent():
    """Nobody goes on to hold a database: the pipe that all write to is closed."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, start_new_session=True
    )
    assert parent.stdout.readline() == b"at work\n"
    parent.kill()

    assert parent.communicate(timeout=60)[0].replace(b"at work\n", b"") == b""


_PARENT = """
from memoprobe import workers
from tests.test_workers import work_for_long
list(workers.each(work_for_long, [(1,), (2,)], workers.Pool(jobs=2), workers.WORTH_IT))
"""


def work_for_long(_):
    os.write(1, b"at work\n")
    threading.Event().wait(600)


def test_few_jobs_are_done_here():
    """No process is started for them."""
    (found,) = workers.each(os.getpid, [()], Pool(jobs=2), 1)

    assert found == os.getpid()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of loky
def test_workers_that_always_die():
    """After three tries without a result it is an error that says what to try."""
    with pytest.raises(WorkersLost, match="--jobs"):
        list(workers.each(die, NUMBERS, Pool(jobs=2), len(NUMBERS)))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of loky
def test_mistakes_of_work_are_its_own():
    """What a job raises is raised, and nothing is repeated."""
    with pytest.raises(ValueError, match="math domain error"):
        list(workers.each(math.sqrt, [(-1.0,)] * 400, Pool(jobs=2), 400))


def test_package_that_is_missing(monkeypatch):
    """The message names the extra."""
    monkeypatch.setitem(workers._PACKAGES, "dask", "no_such_package")

    with pytest.raises(ConfigError, match=r"memoprobe\[dask\]"), workers.connected(Pool("dask")):
        pass


def test_scheduler_without_a_cluster():
    """An address goes with a cluster's backend."""
    with (
        pytest.raises(ConfigError, match="goes with --backend dask or ray"),
        workers.connected(Pool(scheduler="tcp://127.0.0.1:1")),
    ):
        pass
