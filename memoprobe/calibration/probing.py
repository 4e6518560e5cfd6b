"""Ask the reference model of one seed for items of known membership, by the ordinary pipeline."""

import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import monotonic, process_time
from typing import NamedTuple

from memoprobe.calibration.detectors import DETECTORS, FILED, METRIC, Value
from memoprobe.calibration.warm import MAX_TOKENS, Show, peaked
from memoprobe.engine import Progress
from memoprobe.errors import complete
from memoprobe.perturbations import DEFAULT
from memoprobe.pipeline import asking, derive, progress, settings
from memoprobe.records import Sample, Sampling, Sensitivity, Task
from memoprobe.reference import corpus
from memoprobe.reference.corpus import CELLS, Target
from memoprobe.reference.model import FOLDER, fingerprint, load
from memoprobe.reference.server import serve
from memoprobe.store import Store, open_store, probes, results
from memoprobe.study import BenchmarkSpec, ModelSpec, Study

N_WARMED = 64  # unseen items of a task that are asked for warm answers too


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Hold how well the items of one number of copies are answered at one level."""

    seed: int
    task: Task
    copies: int
    level: int
    performance: float  # mean over items


class Probed(NamedTuple):
    """Hold what came of one seed."""

    values: list[Value]
    levels: list[Level]
    seconds: float  # of processor time


def first(targets: Iterable[Target], seen: int, unseen: int) -> list[Target]:
    """Return the first targets, mixed as they are.

    Args:
        targets: Of one task and seed.
        seen: The most of each number of copies.
        unseen: The most that the model has not seen.
    """
    room = dict.fromkeys(CELLS, seen) | {0: unseen}
    found = []
    for target in targets:
        if room[target.copies] > 0:
            room[target.copies] -= 1
            found.append(target)
    return found


def probe(
    seed: int,
    targets: Mapping[Task, Sequence[Target]],
    out: Path,
    show: Show | None,
    folder: Path = FOLDER,
) -> Probed:
    """Return what every detector says of the targets, and how they fall.

    Args:
        seed: Of the model, whose targets they are.
        targets: By task.
        out: A folder that is there. The run database stays in it: a stopped run goes on.
        show: Called about once a second; None logs a line a minute.
        folder: Where the models are.

    Raises:
        Interrupted: A signal came.
        MemoprobeError: There is no such model, or something was not answered.
    """
    started = process_time()
    show = show or _log(seed)
    # The same items asked of other weights are another run.
    own = out / f"seed{seed}-{fingerprint(seed, folder)}"
    own.mkdir(exist_ok=True)
    paths = [_written(group, own / f"{task}.jsonl") for task, group in targets.items()]
    known = {t.sample_id: t for group in targets.values() for t in group}
    model = load(seed, folder)
    with serve(model) as url:
        study = _study(model.name, url, zip(targets, paths, strict=True))
        asked = asking.ask(study, own / "run.db", retry_failed=True, show=show)
        complete(asked.signal, asked.fault, asked.failed)
        with open_store(own / "run.db", write=True) as store:
            few = {t.sample_id for g in targets.values() for t in first(g, len(g), N_WARMED)}
            found = [("cdd.warm", row) for row in _warm(store, study, few, show)]
            derive.score(store, (METRIC,))
            found += _stored(store)
            levels = list(_levels(store, seed, known))
    values = [
        Value(
            seed=seed,
            task=known[row.sample_id].item.task,
            sample_id=row.sample_id,
            copies=known[row.sample_id].copies,
            detector=detector,
            value=row.value,
            noise_p=row.answer_noise_p,
        )
        for detector, row in found
    ]
    return Probed(values, levels, process_time() - started)


def _log(seed: int) -> Show:
    told = monotonic() - progress.EVERY_S

    def log(asked: Progress) -> None:
        nonlocal told
        if monotonic() - told >= progress.EVERY_S:
            told = monotonic()
            sys.stderr.write(f"seed {seed}: {progress.line(asked)}\n")

    return log


def _written(targets: Iterable[Target], path: Path) -> Path:
    # Without tests: a thousand programs a second would be needed to run them all.
    rows = ({k: v for k, v in corpus.row(t).items() if k != "tests"} for t in targets)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def _study(name: str, url: str, paths: Iterable[tuple[Task, Path]]) -> Study:
    spec = ModelSpec(name=name, base_urls=(url,), interface="completions", max_in_flight=32)
    return Study(
        name="calibrate",
        probe="both",
        greedy=True,
        sampling=Sampling(max_tokens=MAX_TOKENS),
        models=(spec,),
        # A benchmark is called as its file is: by its task.
        benchmarks=tuple(BenchmarkSpec(path=str(path), task=task) for task, path in paths),
    )


def _warm(store: Store, study: Study, few: Collection[str], show: Show) -> Iterator[Sensitivity]:
    """Yield CDD on warm answers, of some samples."""
    (spec,) = study.models
    items = [
        (sample, store.variants(sample.benchmark, sample.sample_id, _perturbation(sample))[0])
        for sample in store.samples()
        if sample.sample_id in few
    ]
    greedy = {
        sample_id: answers[0]
        for plan in store.plans("answers")
        for sample_id, answers in probes.greedy(store, plan.cell)
    }
    design = settings.design_of(study, spec, study.answers)
    yield from peaked(spec, design, items, greedy, show)


def _perturbation(sample: Sample) -> str:
    return DEFAULT[sample.input_kind]


def _stored(store: Store) -> Iterator[tuple[str, Sensitivity]]:
    """Yield what the run itself derived, and the excess where there is one."""
    for row in results.sensitivities(store):
        detector = FILED.get((row.metric, row.definition))
        if detector is not None:
            yield detector, row
            if f"{detector}.excess" in DETECTORS and row.excess is not None:
                yield f"{detector}.excess", replace(row, value=row.excess, answer_noise_p=None)


def _levels(store: Store, seed: int, known: Mapping[str, Target]) -> Iterator[Level]:
    """Yield the means of every task, number of copies and level."""
    groups: dict[tuple[Task, int, int], list[float]] = defaultdict(list)
    for curve in results.curves(store):
        target = known[curve.sample_id]
        for level, mean in curve.means.items() if curve.metric == METRIC else ():
            groups[target.item.task, target.copies, level].append(mean)
    for (task, copies, level), means in sorted(groups.items()):
        yield Level(seed=seed, task=task, copies=copies, level=level, performance=fmean(means))
