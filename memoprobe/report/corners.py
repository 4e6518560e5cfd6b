"""Sort items into the four corners: falls or not, recalls or not (METHOD 4)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memoprobe.records import Sensitivity
from memoprobe.report.data import (
    PRIMARY_DEFINITION,
    UNCLAIMED,
    CellKey,
    ReportData,
    cells,
    primary_metric,
)
from memoprobe.report.tables import Column, Table

LIMIT = 0.05
"""Up to which ``control_q`` an item falls, or recalls."""

CORNERS = {
    "falls and recalls": "#d55e00",
    "recalls only": "#e69f00",
    "falls only": "#56b4e9",
    "neither": "#8c959f",
}
"""Name -> colour, by Okabe and Ito; ordered from what speaks most for memory to least."""

_NAMES = {(True, True): 0, (False, True): 1, (True, False): 2, (False, False): 3}


class Placed(NamedTuple):
    """Count a cell's items by corner."""

    cell: CellKey
    counts: Mapping[str, int]
    unplaced: int  # items without a control_q of both fall and recall


def corner(fall_q: float | None, recall_q: float | None) -> str | None:
    """Return an item's corner, None where either is not known for want of controls."""
    if fall_q is None or recall_q is None:
        return None
    return list(CORNERS)[_NAMES[fall_q <= LIMIT, recall_q <= LIMIT]]


Place = tuple[str, str, str, str]
"""Model, benchmark, perturbation and sample id."""


def corners(sensitivities: Iterable[Sensitivity], metric: str | None) -> dict[Place, str | None]:
    """Return the corner of every sample that has a fall by the metric.

    Under a placebo, or what changes the meaning, it has none.
    """
    fall: dict[Place, float | None] = {}
    recall: dict[Place, float | None] = {}
    for each in sensitivities:
        if each.metric == metric and each.perturbation not in UNCLAIMED:
            place = (each.model, each.benchmark, each.perturbation, each.sample_id)
            if each.definition == PRIMARY_DEFINITION:
                fall[place] = each.control_q
            elif each.definition == "recall":
                recall[place] = each.control_q
    return {place: corner(q, recall.get(place)) for place, q in fall.items()}


def placed(data: ReportData) -> list[Placed]:
    """Return how the items of each cell fall into corners, sorted."""
    metric = primary_metric({each.metric for each in data.sensitivities})
    found: dict[CellKey, Counter[str | None]] = defaultdict(Counter)
    for place, name in corners(data.sensitivities, metric).items():
        model, benchmark, perturbation, sample_id = place
        if data.group(benchmark, sample_id) == "items":
            found[CellKey(model, benchmark, perturbation)][name] += 1
    return [
        Placed(cell, {name: found[cell][name] for name in CORNERS}, found[cell][None])
        for cell in cells(data)
        if any(found[cell][name] for name in CORNERS)
    ]


def table(found: Sequence[Placed]) -> Table:
    """Return the counts as a table."""
    return Table(
        name="corners",
        title="Four corners",
        columns=(
            Column("model", "Model"),
            Column("benchmark", "Benchmark"),
            Column("perturbation", "Perturbation"),
            *(
                Column(name.replace(" ", "_"), name[0].upper() + name[1:], "count")
                for name in CORNERS
            ),
            Column("unplaced", "Not placed", "count"),
        ),
        rows=[[*each.cell, *each.counts.values(), each.unplaced] for each in found],
    )
