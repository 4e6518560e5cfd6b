"""Show the probe what it should find: run it on models whose membership is known, and count."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from memoprobe import __version__, workers
from memoprobe.calibration import probing
from memoprobe.calibration.detectors import Value
from memoprobe.calibration.judging import accuse, judge
from memoprobe.calibration.record import Calibration
from memoprobe.calibration.warm import Show
from memoprobe.errors import ConfigError, Interrupted
from memoprobe.records import Task
from memoprobe.reference import corpus
from memoprobe.reference.corpus import Target
from memoprobe.reference.items import TASKS
from memoprobe.reference.model import FOLDER, fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Hold how many items of a task are asked of a model."""

    seen: int  # at most, of each number of copies
    unseen: int


EXTENTS: Mapping[Task, Extent] = MappingProxyType(
    {
        "code_generation": Extent(seen=32, unseen=120),
        "program_repair": Extent(seen=16, unseen=64),
        "code_summarization": Extent(seen=16, unseen=64),
    }
)
"""What fits into a quarter of an hour on two cores, for three seeds."""

MANY = Extent(seen=32, unseen=520)
"""Of code_generation and the first seed: what p-values say of unseen items needs hundreds."""


def seeds_in(folder: Path = FOLDER) -> list[int]:
    """Return the seeds whose models a folder holds.

    Raises:
        ConfigError: It holds none.
    """
    found = [seed for seed in corpus.SEEDS if (folder / f"seed{seed}.safetensors").is_file()]
    if not found:
        names = ", ".join(f"seed{seed}.safetensors" for seed in corpus.SEEDS)
        state = f"holds none of {names}" if folder.is_dir() else "is no folder"
        msg = (
            f"{folder}: {state}; give a folder that `python -m "
            "memoprobe.reference.train FOLDER` has filled"
        )
        raise ConfigError(msg)
    return found


class Found(NamedTuple):
    """Hold the outcome, and what it was counted from."""

    calibration: Calibration
    values: list[Value]


def calibrate(
    out: Path, seeds: Sequence[int], show: Show, folder: Path = FOLDER, limit: int | None = None
) -> Found:
    """Ask the models of some seeds and count what each detector finds.

    Args:
        out: A folder for the run databases, made if missing; a stopped run goes on in it.
        seeds: Of the models.
        show: Called about once a second where there is one seed; several are asked in processes
            of their own, and each logs a line a minute.
        folder: Where the models are.
        limit: The most items of each number of copies, for a quick look; None is EXTENTS.

    Raises:
        ConfigError: The folder cannot be made, or there is no such model.
        Interrupted: A signal came.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{out}: cannot be used as a folder: {error.strerror}"
        raise ConfigError(msg) from error
    models = {seed: fingerprint(seed, folder) for seed in seeds}
    asked = {}
    for seed in seeds:
        extents = dict(EXTENTS) | ({"code_generation": MANY} if seed == seeds[0] else {})
        asked[seed] = {task: _targets(seed, task, extents[task], limit) for task in TASKS}
    if len(seeds) == 1:
        probed = [probing.probe(seed, asked[seed], out, show, folder) for seed in seeds]
    else:
        # The matrices are too small for two cores to share one; two models keep both busy.
        jobs = ((seed, asked[seed], out, None, folder) for seed in seeds)
        with _stopped_by_signals():
            probed = list(workers.each(probing.probe, jobs, workers.DEFAULT, workers.WORTH_IT))
    values = [value for each in probed for value in each.values]
    calibration = Calibration(
        version=__version__,
        models=models,
        limit=limit,
        seconds=sum(each.seconds for each in probed),
        judged=judge(values),
        accused=accuse(values),
        levels=[level for each in probed for level in each.levels],
    )
    return Found(calibration, values)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Raise ``Interrupted`` where a signal would end the process: its workers end with it."""

    def stop(number: int, _frame: object) -> None:
        raise Interrupted(number)

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _targets(seed: int, task: Task, extent: Extent, limit: int | None) -> list[Target]:
    most = [n if limit is None else min(n, limit) for n in (extent.seen, extent.unseen)]
    known = (target for target in corpus.targets(seed) if target.item.task == task)
    return probing.first(known, *most)
