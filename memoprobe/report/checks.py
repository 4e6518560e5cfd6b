"""Tabulate what tells whether the figures can be trusted: placebo, gate, treatments, counts."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from statistics import fmean

from memoprobe.records import Sensitivity
from memoprobe.report import estimates
from memoprobe.report.data import (
    PLACEBO,
    GroupKey,
    ReportData,
    cells,
    finite,
    grouped,
    is_changed,
    labelled,
    primary_metric,
)
from memoprobe.report.summary import SummaryRow, truncated_share
from memoprobe.report.tables import Column, Table
from memoprobe.report.text import counts
from memoprobe.stats.interval import Difference

GATE = 0.05
"""How far above the metric's floor an item's mean over all levels must lie to pass the gate."""

_PLACE = (
    Column("model", "Model"),
    Column("benchmark", "Benchmark"),
    Column("perturbation", "Perturbation"),
)
_GROUP = (*_PLACE, Column("group", "Group"))


def gated(data: ReportData) -> Table:
    """Return the falls with and without items that were too near the floor to fall.

    The gate looks at the mean over all levels: on level 0 alone it would choose the lucky.
    """
    metric = primary_metric({each.metric for each in data.sensitivities})
    levels = {
        (each.model, each.benchmark, each.perturbation, each.sample_id): fmean(means)
        for each in data.curves
        if each.metric == metric and (means := finite(each.means.values()))
    }
    known, floors = estimates.own_falls(data), cells(data)
    rows = []
    for key, members in _primary(data).items():
        floor = floors[key.cell].floor.get(key.metric)
        if key.perturbation == PLACEBO or floor is None:
            continue
        passed = [
            each for each in members if levels.get((*key.cell, each.sample_id), 0) > floor + GATE
        ]
        whole = estimates.fall(data, key, members, known)
        part = estimates.mean(data, passed, (*key.cell, key.metric, key.group, "gated"))
        taken = len(members) - len(passed)
        rows.append([*_named(key), len(members), _shown(whole), taken, _shown(part)])
    return Table(
        name="gate",
        title="With and without a gate",
        columns=(
            *_GROUP,
            Column("n", "n", "count"),
            Column("fall", "Fall of all [95 %]", "interval"),
            Column("taken", "Taken by the gate", "count"),
            Column("gated", "Fall of the rest [95 %]", "interval"),
        ),
        rows=rows,
    )


def placebos(summary: Sequence[SummaryRow]) -> Table:
    """Return the falls under the placebo beside those under the perturbation."""
    metric = primary_metric({row.metric for row in summary if row.metric})
    mine = [row for row in summary if row.metric == metric and row.n]
    beside = {
        (row.model, row.benchmark, row.group): row for row in mine if row.perturbation == PLACEBO
    }
    return Table(
        name="placebo",
        title="Placebo",
        columns=(
            *_GROUP,
            Column("fall", "Fall [95 %]", "interval"),
            Column("placebo", "Fall under the placebo [95 %]", "interval"),
            Column("n_placebo", "n of the placebo", "count"),
        ),
        rows=[
            [
                *_place(row.cell),
                row.group,
                _shown(row.calibrated),
                _shown(other.calibrated),
                other.n,
            ]
            for row in mine
            if row.perturbation != PLACEBO
            if (other := beside.get((row.model, row.benchmark, row.group)))
        ],
    )


def treatments(data: ReportData) -> Table:
    """Return the falls with what was not answered left out, and with 0 in its place."""
    both = {data.treatment: _primary(data), _other(data): _primary(data, data.treated_otherwise)}
    known = {data.treatment: estimates.own_falls(data)}
    rows = []
    keys = dict.fromkeys(key for found in both.values() for key in found)
    for key in sorted(keys, key=lambda key: (*key[:4], key.group != "items")):
        row: list[object] = _named(key)
        for name in ("exclude", "zero"):
            members = both.get(name, {}).get(key, [])
            mean = estimates.fall(data, key, members, known.get(name, {})) if members else None
            row += [len(members), _shown(mean)]
        rows.append(row)
    return Table(
        name="unanswered",
        title="What was not answered",
        columns=(
            *_GROUP,
            Column("n_exclude", "n, left out", "count"),
            Column("exclude", "Fall, left out [95 %]", "interval"),
            Column("n_zero", "n, as 0", "count"),
            Column("zero", "Fall, as 0 [95 %]", "interval"),
        ),
        rows=rows if data.treated_otherwise else [],
    )


def _other(data: ReportData) -> str:
    return "zero" if data.treatment == "exclude" else "exclude"


def bookkeeping(data: ReportData) -> Table:
    """Return what was planned, answered, cut off, empty, failed and excluded in every cell."""
    return Table(
        name="answers",
        title="Answers",
        columns=(
            *_PLACE,
            Column("samples", "Samples", "count"),
            Column("controls", "Controls among them", "count"),
            Column("planned", "Planned answers", "count"),
            Column("answered", "Answered", "count"),
            Column("truncated", "Truncated", "truncated"),
            Column("empty", "Empty", "count"),
            Column("failed", "Failed"),
            Column("excluded", "Samples excluded", "count"),
        ),
        rows=[
            [
                *_place(key),
                cell.n_samples,
                cell.n_controls,
                cell.planned,
                cell.answered,
                truncated_share(cell),
                cell.empty,
                counts(cell.failed),
                cell.excluded,
            ]
            for key, cell in cells(data).items()
        ],
    )


def edits(data: ReportData) -> Table:
    """Return per benchmark how much each level edits, and which candidates were rejected."""
    known = {(cell.benchmark, cell.perturbation): cell for cell in cells(data).values()}
    levels = sorted({level for cell in known.values() for level in cell.edit_shares if level})
    return Table(
        name="edits",
        title="Perturbations",
        columns=(
            *_PLACE[1:],
            *(Column(f"edit_share_{level}", f"Level {level}", "share") for level in levels),
            Column("rejected", "Candidates rejected"),
        ),
        rows=[
            [
                *_place(key),
                *(cell.edit_shares.get(level) for level in levels),
                counts(cell.rejected),
            ]
            for key, cell in sorted(known.items())
        ],
    )


NAMED = 5
"""How many samples whose code is broken a table names."""

_WAYS = {"tests": "run against tests", "parsed": "parsed only"}
_CHANGED = "not checked"


def meaning(data: ReportData) -> Table:
    """Return at each level the share of samples whose perturbed code still does what it did.

    Only those count whose unperturbed code passes. Code that has no tests that can be run
    is parsed only, in rows of its own.
    """
    rows = sorted(data.meaning, key=attrgetter("benchmark", "perturbation", "language", "way"))
    levels = sorted({each.level for each in rows if each.level})
    listed: list[list[object]] = []
    for place, group in groupby(rows, attrgetter("benchmark", "perturbation", "language", "way")):
        found = {each.level: each for each in group}
        shares = (
            found[level].passed / found[level].n if level in found else None for level in levels
        )
        broken = sorted(
            {name for level in levels if level in found for name in found[level].broken}
        )
        first = found[0]
        listed.append(
            [*place[:3], _WAYS[place[3]], first.n, first.n - first.passed, *shares, _listed(broken)]
        )
    listed += [
        [
            benchmark,
            labelled(perturbation),
            None,
            _CHANGED,
            None,
            None,
            *(None for _ in levels),
            None,
        ]
        for benchmark, perturbation in sorted({key[1:] for key in cells(data)})
        if is_changed(perturbation)
    ]
    return Table(
        name="meaning",
        title="Meaning kept",
        columns=(
            *_PLACE[1:],
            Column("language", "Language"),
            Column("way", "Checked"),
            Column("samples", "Samples", "count"),
            Column("unsound", "Fail unperturbed", "count"),
            *(Column(f"share_{level}", f"Level {level}", "share") for level in levels),
            Column("broken", "Broken"),
        ),
        rows=listed,
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _primary(
    data: ReportData, sensitivities: Sequence[Sensitivity] | None = None
) -> Mapping[GroupKey, list[Sensitivity]]:
    """Return the calibrated sensitivities by group, of the primary metric alone."""
    records = data.sensitivities if sensitivities is None else sensitivities
    metric = primary_metric({each.metric for each in records})
    groups = grouped(data, estimates.calibrated(records))
    return {key: members for key, members in groups.items() if key.metric == metric}


def _named(key: GroupKey) -> list[object]:
    return [*_place(key.cell), key.group]


def _place(key: Sequence[str]) -> list[str]:
    """Return what names a cell, whose last part is its perturbation."""
    return [*key[:-1], labelled(key[-1])]


def _shown(found: Difference | None) -> tuple[float | None, ...] | None:
    return found and found[:3]
