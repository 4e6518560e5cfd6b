"""Hold what a report is made of; the pipeline fills it: no database and no clock is read here."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar

from memoprobe.records import (
    CHANGES_MEANING,
    Comparison,
    Curve,
    Detection,
    MeaningCheck,
    Sensitivity,
    Task,
)

Group = Literal["items", "controls"]
Record = TypeVar("Record", Sensitivity, Curve)

PRIMARY_METRIC = "token_levenshtein"
PRIMARY_DEFINITION = "calibrated"
PLACEBO = "placebo"
UNCLAIMED = CHANGES_MEANING | {PLACEBO}
"""The perturbations on which no claim rests: a fall under them says nothing of memory."""

SHOWN = (PRIMARY_DEFINITION, "paper", "recall")
"""The definitions whose sensitivities a report is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Hold the bookkeeping of one model on one benchmark under one perturbation.

    ``planned``, ``answered``, ``truncated``, ``empty`` and ``failed`` count answers;
    ``truncated`` and ``empty`` are among ``answered``. ``excluded`` counts samples.
    """

    model: str
    benchmark: str
    task: Task
    perturbation: str
    n_samples: int  # controls are among them
    n_controls: int
    planned: int
    answered: int
    truncated: int
    empty: int
    failed: Mapping[str, int]  # kind of failure -> answers
    excluded: int  # samples with too few levels for a sensitivity
    rejected: Mapping[str, int]  # reason -> candidates of the perturbation that were redrawn
    floor: Mapping[str, float | None]  # metric -> mean performance against another item's reference
    edit_shares: Mapping[int, float]  # level -> mean share of tokens edited, in [0, 1]


class ExampleAnswer(NamedTuple):
    """Hold one answer of an example."""

    text: str | None  # None where there is no answer text
    scores: tuple[tuple[str, float], ...] = ()  # (metric, performance), those it was scored by
    state: str = "ok"  # records.State, or the kind of failure
    verdict: str | None = None  # of the answer's tests, where they were run


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleLevel:
    """Hold what was asked and answered at one level of an example."""

    level: int
    prompt: str
    reference: str | None
    edit_share: float  # of tokens that differ from level 0, in [0, 1]
    mean: float | None  # mean performance over the answers of the level
    answers: Sequence[ExampleAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Hold one sample to be shown in full."""

    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    metric: str
    control: bool
    rank: int  # among the samples chosen of its cell: the last ones may be left out
    reasons: tuple[str, ...]  # why it is shown: "most sensitive", "random", "flagged"
    flaws: Mapping[str, int]  # state or kind of failure -> answers that are none
    values: Mapping[str, float]  # definition -> sensitivity; empty with too few levels
    corner: str | None  # one of ``corners.CORNERS``, None without controls
    levels: Sequence[ExampleLevel]  # in rising order


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """Hold everything a report shows."""

    title: str
    created: str  # ISO 8601
    info: Mapping[str, str]  # rows of run_info: versions, settings, servers, dataset fingerprints
    cells: Sequence[Cell]
    controls: frozenset[tuple[str, str]]  # (benchmark, sample_id)
    sensitivities: Sequence[Sensitivity]
    curves: Sequence[Curve]
    comparisons: Sequence[Comparison]
    examples: Sequence[Example]  # in the order in which they are shown
    corrections: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(Question, test) -> name of the correction of p_adjusted."""
    treatment: str = "both"
    """What was done with slots not answered: "exclude", "zero", "both" where all were answered."""
    treated_otherwise: Sequence[Sensitivity] = ()
    """The calibrated sensitivities under the other treatment; none where all were answered."""
    clusters: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(Benchmark, sample_id) -> project, repository or contest, of the samples that have one."""
    meaning: Sequence[MeaningCheck] = ()
    """Of how many samples the perturbed code was found to do what it did."""
    detections: Sequence[Detection] = ()
    """How well each detector tells items from controls, in the order in which they are shown."""
    likelihoods: Sequence[Mapping[str, Any]] = ()
    """What was planned, answered, failed and is left of each cell's likelihoods."""

    def group(self, benchmark: str, sample_id: str) -> Group:
        """Return whether a sample is a control or one of the benchmark's own items."""
        return "controls" if (benchmark, sample_id) in self.controls else "items"


class CellKey(NamedTuple):
    """Name a cell."""

    model: str
    benchmark: str
    perturbation: str


class GroupKey(NamedTuple):
    """Name one group of a cell's samples, seen by one metric."""

    model: str
    benchmark: str
    perturbation: str
    metric: str
    group: Group

    @property
    def cell(self) -> CellKey:
        """Return the cell the group lies in."""
        return CellKey(self.model, self.benchmark, self.perturbation)


def cells(data: ReportData) -> dict[CellKey, Cell]:
    """Return the cells by name, sorted."""
    named = {CellKey(cell.model, cell.benchmark, cell.perturbation): cell for cell in data.cells}
    return dict(sorted(named.items()))


def grouped(data: ReportData, records: Iterable[Record]) -> dict[GroupKey, list[Record]]:
    """Return sensitivities or curves by group, items before controls, samples in sorted order.

    Raises:
        ValueError: A record belongs to no cell, so that it would be lost.
    """
    groups: dict[tuple[str, str, str, str, bool], list[Record]] = defaultdict(list)
    for each in records:
        control = (each.benchmark, each.sample_id) in data.controls
        key = (each.model, each.benchmark, each.perturbation, each.metric, control)
        groups[key].append(each)
    known = cells(data)
    found: dict[GroupKey, list[Record]] = {}
    for key in sorted(groups):
        named = GroupKey(*key[:4], "controls" if key[4] else "items")
        if named.cell not in known:
            msg = f"no cell for {named.cell}"
            raise ValueError(msg)
        found[named] = sorted(groups[key], key=attrgetter("sample_id"))
    return found


def primary_metric(metrics: Iterable[str]) -> str | None:
    """Return the metric that charts and headline speak of: the primary one where it is there."""
    return min(metrics, key=_rank, default=None)


def _rank(metric: str) -> tuple[bool, bool, bool, str]:
    """Return what metrics are ranked by: answers before likelihoods, these a token first."""
    is_likelihood = metric.startswith("logprob_")
    return metric != PRIMARY_METRIC, is_likelihood, metric != "logprob_token", metric


def labelled(perturbation: str) -> str:
    """Return a perturbation's name, with a word of warning where it changes the meaning."""
    return f"{perturbation} (changes the meaning)" if is_changed(perturbation) else perturbation


def is_changed(perturbation: str) -> bool:
    """Tell whether a perturbation changes what is asked for."""
    return perturbation in CHANGES_MEANING


def finite(values: Iterable[float | None]) -> list[float]:
    """Return the values that are numbers."""
    return [value for value in values if value is not None and math.isfinite(value)]
