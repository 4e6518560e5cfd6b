"""Count what detectors find and what they accuse wrongly; the truth is known."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from memoprobe.calibration.detectors import DETECTORS, Value
from memoprobe.records import Task
from memoprobe.stats.interval import Interval
from memoprobe.stats.rank import cliffs_delta
from memoprobe.stats.resample import TOLERANCE

FALSE_POSITIVES = 0.05  # the share of unseen items at which true positives are counted
LEVEL = 0.05  # of a p-value that calls an item
SPLITS = 200  # of the unseen items, into controls and tested

Floats = NDArray[np.float64]
Reach = tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Hold how well one detector tells items seen so many times from items never seen."""

    seed: int
    task: Task
    detector: str
    copies: int
    n: int
    n_unseen: int
    mean: float
    mean_unseen: float
    auc: float  # the chance that a seen item lies above an unseen one, ties by half
    auc_low: float | None
    auc_high: float | None
    true_positives: float  # share of seen items called, at most 5 % of the unseen being called
    true_low: float
    true_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """Hold how many items that were never seen a p-value calls all the same."""

    seed: int
    task: Task
    detector: str
    p_value: Literal["answer_noise_p", "control_p"]
    n_unseen: int
    share: float  # of them with p < .05
    low: float | None  # None for control_p, a mean over SPLITS
    high: float | None


def judge(values: Iterable[Value]) -> list[Judged]:
    """Return a row for every seed, task, detector and number of copies, in that order."""
    return [
        _judged(group[0], group, unseen)
        for by_copies in _grouped(values)
        if (unseen := by_copies.pop(0, []))
        for _, group in sorted(by_copies.items())
    ]


def _grouped(values: Iterable[Value]) -> Iterator[dict[int, list[Value]]]:
    """Yield copies -> values of every seed, task and detector."""
    order = {name: place for place, name in enumerate(DETECTORS)}
    groups: dict[tuple[int, Task, int], dict[int, list[Value]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for value in values:
        groups[value.seed, value.task, order[value.detector]][value.copies].append(value)
    for _, by_copies in sorted(groups.items()):
        yield by_copies


def _judged(first: Value, seen: Sequence[Value], unseen: Sequence[Value]) -> Judged:
    here, there = (np.array([each.value for each in group]) for group in (seen, unseen))
    area = auc(here, there)
    called = int((here > threshold(there)).sum())
    reach = _reach(called, len(here))
    return Judged(
        seed=first.seed,
        task=first.task,
        detector=first.detector,
        copies=first.copies,
        n=len(here),
        n_unseen=len(there),
        mean=float(here.mean()),
        mean_unseen=float(there.mean()),
        auc=area.estimate,
        auc_low=area.low,
        auc_high=area.high,
        true_positives=called / len(here),
        true_low=reach[0],
        true_high=reach[1],
    )


def auc(seen: Sequence[float] | Floats, unseen: Sequence[float] | Floats) -> Interval:
    """Return the chance that a seen item is above an unseen one, with its 95 % interval.

    It is Cliff's delta on another scale, and so is the interval.
    """
    delta = cliffs_delta(list(seen), list(unseen))
    low, high = (None if each is None else (1 + each) / 2 for each in (delta.low, delta.high))
    return Interval((1 + delta.estimate) / 2, low, high)


def threshold(unseen: Floats) -> float:
    """Return the value above which at most FALSE_POSITIVES of the unseen items lie."""
    ordered = np.sort(unseen)[::-1]
    return float(ordered[int(FALSE_POSITIVES * len(ordered))])


def _reach(k: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    found = stats.binomtest(k, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(found.low), float(found.high)


def accuse(values: Iterable[Value]) -> list[Accused]:
    """Return how often each p-value calls an item that was never seen."""
    rows: list[Accused] = []
    for by_copies in _grouped(values):
        if unseen := by_copies.get(0):
            rows += _accused(unseen)
    return rows


def _accused(unseen: Sequence[Value]) -> Iterator[Accused]:
    first = unseen[0]

    def row(
        name: Literal["answer_noise_p", "control_p"], n: int, share: float, reach: Reach = None
    ) -> Accused:
        return Accused(
            seed=first.seed,
            task=first.task,
            detector=first.detector,
            p_value=name,
            n_unseen=n,
            share=share,
            low=reach and reach[0],
            high=reach and reach[1],
        )

    noise = [each.noise_p < LEVEL for each in unseen if each.noise_p is not None]
    if noise:
        yield row("answer_noise_p", len(noise), fmean(noise), _reach(sum(noise), len(noise)))
    if len(unseen) > 1:
        rng = np.random.default_rng(first.seed)
        share = falsely_called(np.array([each.value for each in unseen]), rng)
        yield row("control_p", len(unseen), share)


def falsely_called(values: Floats, rng: np.random.Generator) -> float:
    """Return the share of unseen items with a ``control_p`` below .05, over SPLITS splits.

    Each time a random half are the controls, and the others are tested against them.

    Args:
        values: Of the unseen items, at least two.
        rng: Splits them.
    """
    n_controls = len(values) // 2
    shares = []
    for _ in range(SPLITS):
        mixed = rng.permutation(values)
        controls, tested = np.sort(mixed[:n_controls]), mixed[n_controls:]
        # As stats.resample.upper_p has it, for all at once.
        above = n_controls - np.searchsorted(controls, tested - TOLERANCE, side="left")
        shares.append(float(((1 + above) / (1 + n_controls) < LEVEL).mean()))
    return fmean(shares)
