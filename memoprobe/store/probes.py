"""Read what was asked beside the sampled answers: likelihoods and greedy answers."""

from collections.abc import Iterator
from itertools import groupby

from memoprobe.records import Likelihood, Response
from memoprobe.store import rows
from memoprobe.store.database import Cell, Store

_CELL = "model = ? AND benchmark = ? AND perturbation = ?"


def likelihoods(store: Store, cell: Cell) -> Iterator[Likelihood]:
    """Yield the planned likelihoods of a cell, sorted by sample id and level."""
    sql = f"SELECT * FROM planned_likelihood_rows WHERE {_CELL} ORDER BY sample_id, level"
    for row in store.db.conn.execute(sql, tuple(map(rows.to_sql, cell))):
        yield rows.likelihood_of(row)


def complete(store: Store, model: str) -> set[tuple[str, str]]:
    """Return (benchmark, sample id) of which a model has every planned likelihood.

    Nothing of them needs a look variant by variant.
    """
    counted = "SELECT sample, perturbation, count(*) AS n FROM {} GROUP BY 1, 2"
    sql = (
        "SELECT s.benchmark, s.sample_id FROM selection_rows c"
        " JOIN sample_rows s ON s.id = c.sample"
        f" LEFT JOIN ({counted.format('variant_rows')}) v USING (sample, perturbation)"
        f" LEFT JOIN ({counted.format('likelihood_rows WHERE model = :model')}) r"
        " USING (sample, perturbation)"
        " WHERE c.probe = 'likelihood' AND c.model = :model AND NOT s.superseded"
        " GROUP BY s.id HAVING min(coalesce(v.n = r.n, 0))"
    )
    found = store.query(sql, {"model": model})
    return {(row["benchmark"], row["sample_id"]) for row in found}


def greedy(store: Store, cell: Cell) -> Iterator[tuple[str, list[Response]]]:
    """Yield (sample id, the greedy answer and the sampled ones to level 0), sorted.

    Samples without a greedy answer are left out.
    """
    here = "model = :model AND benchmark = :benchmark AND perturbation = :perturbation"
    sql = " UNION ALL ".join(
        f"SELECT * FROM {view} WHERE {here} AND level = 0"
        f" AND sample IN (SELECT sample FROM planned_greedy_rows WHERE {here})"
        for view in ("planned_greedy_rows", "planned_response_rows")
    )
    place = {name: rows.to_sql(value) for name, value in cell._asdict().items()}
    found = store.db.conn.execute(f"{sql} ORDER BY sample_id, repeat, answer", place)
    for sample_id, group in groupby(found, key=lambda row: str(rows.from_sql(row["sample_id"]))):
        yield sample_id, [rows.response_of(row) for row in group]


def with_greedy(store: Store, model: str) -> set[tuple[str, str, str]]:
    """Return (benchmark, sample id, perturbation) of which a model has a greedy answer."""
    sql = (
        "SELECT DISTINCT s.benchmark, s.sample_id, r.perturbation FROM response_rows r"
        " JOIN sample_rows s ON s.id = r.sample"
        " WHERE NOT s.superseded AND r.model = ? AND r.repeat = 0"
    )
    found = store.query(sql, (model,))
    return {(row["benchmark"], row["sample_id"], row["perturbation"]) for row in found}
