"""Write and read what is derived from the facts; all of it can be rebuilt."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import groupby
from typing import Any, NamedTuple

from memoprobe.records import Comparison, Curve, Score, Sensitivity
from memoprobe.store.database import Cell, Store
from memoprobe.store.rows import from_sql

_CELL = (
    "model = :model AND perturbation = :perturbation AND sample IN"
    " (SELECT id FROM sample_rows WHERE benchmark = :benchmark)"
)
_RESULT_CELL = "model = :model AND benchmark = :benchmark AND perturbation = :perturbation"


class Scored(NamedTuple):
    """Hold one sample's performance by one metric, level by level."""

    sample_id: str
    control: bool
    has_reference: bool
    edit_shares: Mapping[int, float]
    values: Mapping[int, Sequence[tuple[int, float]]]  # level -> (repeat, performance)


class CellResult(NamedTuple):
    """Hold what one metric says of a whole cell."""

    excluded: int  # samples with too few levels
    floor: float | None  # mean performance against another item's reference


def write_scores(store: Store, cell: Cell, metrics: Sequence[str], scores: Iterable[Score]) -> None:
    """Replace a cell's scores by the given metrics."""
    connection = store.db.conn
    samples = {
        sample.sample_id: store.sample_id(cell.benchmark, sample.sample_id)
        for sample in store.samples(cell.benchmark)
    }
    rows = (
        (
            samples[score.sample_id],
            score.model,
            score.perturbation,
            score.metric,
            score.level,
            score.repeat,
            score.answer,
            score.value,
            score.rule,
        )
        for score in scores
    )
    with store.db.atomic():
        for metric in metrics:
            connection.execute(
                f"DELETE FROM score_rows WHERE {_CELL} AND metric = :metric",
                {**cell._asdict(), "metric": metric},
            )
        connection.executemany(f"INSERT INTO score_rows VALUES ({_marks(9)})", rows)


def scored(store: Store, cell: Cell, metric: str) -> Iterator[Scored]:
    """Yield the scored samples of a cell, sorted by sample id."""
    shares: dict[int, dict[int, float]] = defaultdict(dict)
    sql = (
        "SELECT sample, level, edit_share FROM variant_rows WHERE perturbation = :perturbation"
        " AND sample IN (SELECT id FROM sample_rows WHERE benchmark = :benchmark)"
    )
    for row in store.query(sql, cell._asdict()):
        shares[row["sample"]][row["level"]] = row["edit_share"]
    sql = (
        "SELECT s.id, s.sample_id, s.control, s.reference IS NOT NULL AS has_reference,"
        " r.level, r.repeat, r.value FROM sample_rows s JOIN score_rows r ON r.sample = s.id"
        " WHERE NOT s.superseded AND s.benchmark = :benchmark AND r.model = :model"
        " AND r.perturbation = :perturbation AND r.metric = :metric"
        " ORDER BY s.sample_id, r.level, r.repeat, r.answer"
    )
    found = store.query(sql, {**cell._asdict(), "metric": metric})
    for sample_id, group in groupby(found, key=lambda row: str(row["sample_id"])):
        values: dict[int, list[tuple[int, float]]] = defaultdict(list)
        head: dict[str, Any] = {}
        for row in group:
            head = row
            values[row["level"]].append((row["repeat"], row["value"]))
        yield Scored(
            sample_id,
            bool(head["control"]),
            bool(head["has_reference"]),
            shares[head["id"]],
            dict(values),
        )


def metrics(store: Store, cell: Cell) -> list[str]:
    """Return the metrics by which a cell has scores, sorted."""
    sql = f"SELECT DISTINCT metric FROM score_rows WHERE {_CELL} ORDER BY metric"
    return [row["metric"] for row in store.query(sql, cell._asdict())]


def scores_of(
    store: Store, cell: Cell, sample_id: str, metric: str
) -> dict[tuple[int, int, int], float]:
    """Return (level, repeat, answer) -> performance of one sample's answers."""
    sql = (
        "SELECT level, repeat, answer, value FROM score_rows WHERE sample = ? AND model = ?"
        " AND perturbation = ? AND metric = ?"
    )
    sample = store.sample_id(cell.benchmark, sample_id)
    found = store.query(sql, (sample, cell.model, cell.perturbation, metric))
    return {(row["level"], row["repeat"], row["answer"]): row["value"] for row in found}


def write_floor(store: Store, cell: Cell, metric: str, floor: float | None) -> None:
    """Store the mean performance of a cell's answers against another item's reference."""
    with store.db.atomic():
        store.db.conn.execute(
            f"INSERT OR REPLACE INTO cell_rows VALUES ({_marks(6)})", (*cell, metric, 0, floor)
        )


def write_sensitivities(
    store: Store, cell: Cell, metric: str, found: Iterable[Sensitivity], excluded: int
) -> None:
    """Replace a cell's sensitivities by one metric; ``excluded`` samples have too few levels."""
    with store.db.atomic():
        where = {**cell._asdict(), "metric": metric}
        store.db.conn.execute(
            f"DELETE FROM sensitivities WHERE {_RESULT_CELL} AND metric = :metric", where
        )
        store.db.conn.executemany(
            f"INSERT INTO sensitivities VALUES ({_marks(12)})", (astuple(each) for each in found)
        )
        store.db.conn.execute(
            f"UPDATE cell_rows SET excluded = :excluded WHERE {_RESULT_CELL} AND metric = :metric",
            {**where, "excluded": excluded},
        )


def sensitivities(store: Store) -> list[Sensitivity]:
    """Return all sensitivities, sorted."""
    sql = (
        "SELECT * FROM sensitivities"
        " ORDER BY model, benchmark, perturbation, metric, definition, sample_id"
    )
    return [Sensitivity(**row) for row in store.query(sql)]


def cell_results(store: Store) -> dict[tuple[Cell, str], CellResult]:
    """Return what each metric says of each cell."""
    return {
        (Cell(row["model"], row["benchmark"], row["perturbation"]), row["metric"]): CellResult(
            row["excluded"], row["floor"]
        )
        for row in store.query("SELECT * FROM cell_rows")
    }


def curves(store: Store) -> list[Curve]:
    """Return the mean performance per level of every scored sample, sorted."""
    place = ("model", "benchmark", "sample_id", "perturbation", "metric")
    sql = f"SELECT * FROM curves ORDER BY {', '.join(place)}, level"
    grouped = groupby(store.query(sql), key=lambda row: tuple(row[name] for name in place))
    return [
        Curve(**dict(zip(place, key, strict=True)), means={r["level"]: r["mean"] for r in group})
        for key, group in grouped
    ]


def write_comparisons(
    store: Store, rows: Iterable[Comparison], families: Iterable[Mapping[str, object]]
) -> None:
    """Replace all comparisons and their families."""
    with store.db.atomic():
        store.db.conn.execute("DELETE FROM comparisons")
        store.db.conn.execute("DELETE FROM families")
        store.db.conn.executemany(
            f"INSERT INTO comparisons ({_names(Comparison)})"
            f" VALUES ({_marks(len(fields(Comparison)))})",
            (astuple(row) for row in rows),
        )
        store.db.table("families").insert_all(dict(family) for family in families)


def comparisons(store: Store) -> list[Comparison]:
    """Return all comparisons in the order in which they were written."""
    sql = f"SELECT {_names(Comparison)} FROM comparisons ORDER BY rowid"
    return [Comparison(**row) for row in store.query(sql)]


def families(store: Store) -> list[dict[str, Any]]:
    """Return the families in the order in which they were written."""
    rows = store.query("SELECT * FROM families ORDER BY rowid")
    return [{**row, "primary": bool(row["primary"])} for row in rows]


def corrections(store: Store) -> dict[str, str]:
    """Return question -> the name of the correction of its p-values."""
    return {family["question"]: family["correction"] for family in families(store)}


def edit_shares(store: Store) -> dict[tuple[str, str], dict[int, float]]:
    """Return (benchmark, perturbation) -> level -> mean share of tokens edited."""
    shares: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    sql = (
        "SELECT benchmark, perturbation, level, avg(edit_share) AS share FROM variants"
        " GROUP BY benchmark, perturbation, level ORDER BY benchmark, perturbation, level"
    )
    for row in store.query(sql):
        shares[row["benchmark"], row["perturbation"]][row["level"]] = row["share"]
    return dict(shares)


def status(store: Store) -> list[dict[str, Any]]:
    """Return per cell what was planned, answered, truncated, empty, failed and is left.

    Counts are answers. ``truncated`` and ``empty`` are part of ``answered``; samples
    without stored levels yet are planned with all of them.
    """
    return [{**plan.cell._asdict(), **_counts(store, plan.cell, plan)} for plan in store.plans()]


def _counts(store: Store, cell: Cell, plan: Any) -> dict[str, Any]:  # noqa: ANN401
    current = (
        "FROM {table} r JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
        " AND s.benchmark = :benchmark AND r.perturbation = :perturbation"
    )
    where = cell._asdict()
    (total,) = store.query(
        "SELECT count(*) AS samples, coalesce(sum(control), 0) AS controls FROM sample_rows"
        " WHERE NOT superseded AND benchmark = :benchmark",
        where,
    )
    (made,) = store.query(
        f"SELECT count(*) AS n, count(DISTINCT r.sample) AS samples"
        f" {current.format(table='variant_rows')}",
        where,
    )
    variants = made["n"] + (total["samples"] - made["samples"]) * (plan.levels + 1)
    states = {
        row["state"]: row["n"]
        for row in store.query(
            f"SELECT r.state, count(*) AS n {current.format(table='response_rows')}"
            " AND r.model = :model GROUP BY r.state",
            where,
        )
    }
    failed = {
        row["kind"]: row["n"]
        for row in store.query(
            f"SELECT r.kind, count(*) AS n {current.format(table='failure_rows')}"
            " AND r.model = :model GROUP BY r.kind ORDER BY r.kind",
            where,
        )
    }
    planned, answered = variants * plan.answers, sum(states.values())
    return {
        "samples": total["samples"],
        "controls": total["controls"],
        "planned": planned,
        "answered": answered,
        "truncated": states.get("truncated", 0) + states.get("truncated_empty", 0),
        "empty": states.get("empty", 0) + states.get("truncated_empty", 0),
        "failed": failed,
        "left": max(0, planned - answered - sum(failed.values())),
    }


def characters_a_token(store: Store) -> float | None:
    """Return how many characters of a prompt make a token, None where no server told."""
    (row,) = store.query(
        "SELECT sum(length(p.prompt)) AS characters, sum(r.prompt_tokens) AS tokens FROM prompts p"
        " JOIN responses r USING (benchmark, sample_id, perturbation, level)"
        " WHERE r.repeat = 1 AND r.answer = 1 AND r.prompt_tokens > 0"
    )
    return row["characters"] / row["tokens"] if row["tokens"] else None


def n_samples_answered(store: Store, cell: Cell) -> int:
    """Return how many current samples of a cell have any response."""
    (row,) = store.query(
        "SELECT count(DISTINCT sample_id) AS n FROM responses"
        " WHERE model = :model AND benchmark = :benchmark AND perturbation = :perturbation",
        cell._asdict(),
    )
    return int(row["n"])


def n_answered(store: Store) -> int:
    """Return how many responses there are to current samples."""
    (row,) = store.query("SELECT count(*) AS n FROM responses")
    return int(row["n"])


def rejected(store: Store) -> dict[tuple[str, str], dict[str, int]]:
    """Return (benchmark, perturbation) -> how many candidates were rejected, by reason."""
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    sql = (
        "SELECT s.benchmark, r.perturbation, r.reason, sum(r.n) AS n FROM rejection_rows r"
        " JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
        " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    for row in store.query(sql):
        counts[row["benchmark"], row["perturbation"]][row["reason"]] = row["n"]
    return dict(counts)


def _names(record: type) -> str:
    return ", ".join(field.name for field in fields(record))


def _marks(n: int) -> str:
    return ", ".join("?" * n)


def tables(store: Store) -> list[str]:
    """Return the names of the tables and views that are made for readers, sorted."""
    names = [*store.db.table_names(), *store.db.view_names()]
    return sorted(name for name in names if not name.endswith("_rows"))


def column_types(store: Store, table: str) -> dict[str, str]:
    """Return column -> declared SQLite type, empty for a computed column."""
    return {row["name"]: row["type"] for row in store.query(f"PRAGMA table_info([{table}])")}


def rows_of(store: Store, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one of ``tables``, streamed."""
    if table not in tables(store):
        msg = f"no table {table}"
        raise ValueError(msg)
    for row in store.db.query(f"SELECT * FROM [{table}]"):
        yield {name: from_sql(value) for name, value in row.items()}
