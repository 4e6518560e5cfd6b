"""Keep whether perturbed code still means the same, sample by sample; all of it can be rebuilt."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from memoprobe.records import CheckedBy, MeaningCheck
from memoprobe.store.database import Store
from memoprobe.store.rows import from_sql


class Checked(NamedTuple):
    """Hold whether one sample's code at one level means what it meant."""

    benchmark: str
    sample_id: str
    perturbation: str
    level: int
    way: CheckedBy
    holds: bool


def unchecked(store: Store) -> list[tuple[str, str, str]]:
    """Return (benchmark, perturbation, sample id) of planned code that is perturbed, not checked.

    Sorted by benchmark and perturbation.
    """
    sql = (
        "SELECT DISTINCT s.benchmark, v.perturbation, s.sample_id FROM sample_rows s"
        " JOIN variant_rows v ON v.sample = s.id AND v.level = 0"
        " WHERE NOT s.superseded AND s.input_kind = 'code'"
        " AND (s.id, v.perturbation) IN (SELECT sample, perturbation FROM selection_rows)"
        " AND (s.id, v.perturbation) NOT IN (SELECT sample, perturbation FROM meaning_rows)"
        " ORDER BY 1, 2, 3"
    )
    found = (tuple(map(from_sql, row.values())) for row in map(dict, store.query(sql)))
    return [(benchmark, perturbation, sample) for benchmark, perturbation, sample in found]


def write(store: Store, found: Iterable[Checked]) -> None:
    """Add what was found of samples."""
    store.execute(
        "INSERT OR REPLACE INTO meaning_rows VALUES (?, ?, ?, ?, ?)",
        ((store.sample_id(each.benchmark, each.sample_id), *each[2:]) for each in found),
    )


def checks(store: Store) -> list[MeaningCheck]:
    """Return what was found per benchmark, perturbation, language, way and level, sorted."""
    broken: dict[tuple[str, ...], list[str]] = defaultdict(list)
    place = ("benchmark", "perturbation", "language", "way", "level")
    sql = (
        "SELECT s.benchmark, r.perturbation, s.language, r.way, r.level, s.sample_id"
        " FROM meaning_rows r JOIN sample_rows s ON s.id = r.sample"
        " WHERE NOT s.superseded AND NOT r.holds ORDER BY s.sample_id"
    )
    for row in store.query(sql):
        broken[tuple(row[name] for name in place)].append(from_sql(row["sample_id"]))
    return [
        MeaningCheck(
            **{name: row[name] for name in (*place, "n", "passed")},
            broken=tuple(broken[tuple(row[name] for name in place)]),
        )
        for row in store.query("SELECT * FROM meaning_checks ORDER BY 1, 2, 3, 4, 5")
    ]
