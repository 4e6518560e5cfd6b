"""Set detectors of memorization side by side: how well each tells items from controls."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from memoprobe.comparison.groups import Group, values
from memoprobe.records import CHANGES_MEANING, Detection
from memoprobe.stats.interval import Interval
from memoprobe.stats.rank import cliffs_delta
from memoprobe.stats.rivals import found_share

SILENT = CHANGES_MEANING | {"placebo"}
"""Perturbations under which no detector is asked."""


class Detector(NamedTuple):
    """Say where a detector's values are filed, and whether it is a rival of the fall."""

    metric: str
    definition: str
    is_rival: bool


DETECTORS: Mapping[str, Detector] = MappingProxyType(
    {
        "calibrated": Detector("token_levenshtein", "calibrated", is_rival=False),
        "paper": Detector("token_levenshtein", "paper", is_rival=False),
        "recall": Detector("token_levenshtein", "recall", is_rival=False),
        "logprob.calibrated": Detector("logprob_token", "calibrated", is_rival=True),
        "ma": Detector("logprob_total", "ma", is_rival=True),
        "level0_logprob": Detector("logprob_token", "level0_logprob", is_rival=True),
        "min_k": Detector("logprob_token", "min_k", is_rival=True),
        "cdd": Detector("peakedness", "cdd", is_rival=True),
        "mri": Detector("token_levenshtein", "mri", is_rival=True),
    }
)
"""Name -> what it rests on, in the order in which they are shown."""


def detect(groups: Sequence[Group]) -> list[Detection]:
    """Return a row per model, benchmark, perturbation and detector that has values there.

    The controls are those of the model, task and perturbation, in whichever benchmark, that
    have as many references. Without any, only rivals have a row: the others' means stand in
    the summary. Under a placebo, or what changes the meaning, nothing is said.
    """
    named = {detector[:2]: name for name, detector in DETECTORS.items()}
    chosen = [
        group
        for group in groups
        if (group.metric, group.definition) in named and group.perturbation not in SILENT
    ]
    controls: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for group in chosen:
        controls[_shared(group)] += values(group.controls)
    rows = []
    for group in chosen:
        name = named[group.metric, group.definition]
        rest = controls[_shared(group)]
        if group.items and (rest or DETECTORS[name].is_rival):
            rows.append(_row(group, name, rest))
    order = list(DETECTORS)
    return sorted(
        rows, key=lambda r: (r.model, r.benchmark, r.perturbation, order.index(r.detector))
    )


def _shared(group: Group) -> tuple[object, ...]:
    place = (group.model, group.task, group.perturbation, group.n_references)
    return (*place, group.metric, group.definition)


def _row(group: Group, detector: str, controls: Sequence[float]) -> Detection:
    delta = cliffs_delta(group.values, controls) if controls else Interval(0.0, None, None)
    return Detection(
        model=group.model,
        benchmark=group.benchmark,
        perturbation=group.perturbation,
        detector=detector,
        metric=group.metric,
        definition=group.definition,
        n_items=len(group.items),
        n_controls=len(controls),
        items=sum(group.values) / len(group.items),
        controls=sum(controls) / len(controls) if controls else None,
        auc=(1 + delta.estimate) / 2 if controls else None,
        auc_low=None if delta.low is None else (1 + delta.low) / 2,
        auc_high=None if delta.high is None else (1 + delta.high) / 2,
        found=found_share(group.values, controls),
    )
