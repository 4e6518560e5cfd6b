"""Write and read what is derived from the facts; all of it can be rebuilt."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import groupby
from typing import Any, NamedTuple

from memoprobe.records import Comparison, Curve, Score, Sensitivity
from memoprobe.store.database import Cell, PlanRow, Store
from memoprobe.store.rows import from_sql, to_sql

_CELL = (
    "model = :model AND perturbation = :perturbation AND sample IN"
    " (SELECT id FROM sample_rows WHERE benchmark = :benchmark)"
)
_RESULT_CELL = "model = :model AND benchmark = :benchmark AND perturbation = :perturbation"

_PLANNED = (  # of a row r that belongs to sample s, by whichever model
    "NOT s.superseded AND EXISTS (SELECT 1 FROM selection_rows c WHERE c.sample = r.sample"
    " AND c.perturbation = r.perturbation)"
)


DERIVED = frozenset({"scores", "curves", "sensitivities", "comparisons", "families"})


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


class Revision(NamedTuple):
    """Tell how often the facts have changed, and after how many changes they were scored."""

    facts: int
    results: int


def revision(store: Store) -> Revision:
    """Return which state of the facts there is, and which one the results describe."""
    (row,) = store.query("SELECT facts, results FROM revision_rows")
    return Revision(**row)


def mark_current(store: Store) -> None:
    """Note that the results follow from the facts as they are."""
    store.db.conn.execute("UPDATE revision_rows SET results = facts")


def clear(store: Store) -> None:
    """Delete all that is derived, of cells, samples and metrics that are no longer as well."""
    with store.db.atomic():
        for table in ("score_rows", "cell_rows", "sensitivities", "comparisons", "families"):
            store.db.conn.execute(f"DELETE FROM {table}")


def all_metrics(store: Store) -> list[str]:
    """Return the metrics by which any cell was scored, sorted."""
    return [
        row["metric"] for row in store.query("SELECT DISTINCT metric FROM cell_rows ORDER BY 1")
    ]


def _delete(store: Store, what: str, cell: Cell, metric: str) -> None:
    where = {name: to_sql(value) for name, value in (*cell._asdict().items(), ("metric", metric))}
    store.db.conn.execute(f"DELETE FROM {what}", where)


def write_scores(store: Store, cell: Cell, metrics: Sequence[str], scores: Iterable[Score]) -> None:
    """Replace a cell's scores by the given metrics."""
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
            _delete(store, f"score_rows WHERE {_CELL} AND metric = :metric", cell, metric)
        store.execute(f"INSERT INTO score_rows VALUES ({_marks(9)})", rows)


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
    """Return the metrics by which a cell was scored, whether or not that gave a score, sorted."""
    sql = f"SELECT metric FROM cell_rows WHERE {_RESULT_CELL} ORDER BY metric"
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
        store.execute(
            f"INSERT OR REPLACE INTO cell_rows VALUES ({_marks(6)})", [(*cell, metric, 0, floor)]
        )


def write_sensitivities(
    store: Store, cell: Cell, metric: str, found: Iterable[Sensitivity], excluded: int
) -> None:
    """Replace a cell's sensitivities by one metric; ``excluded`` samples have too few levels."""
    with store.db.atomic():
        _delete(store, f"sensitivities WHERE {_RESULT_CELL} AND metric = :metric", cell, metric)
        store.execute(
            f"INSERT INTO sensitivities VALUES ({_marks(12)})", (astuple(each) for each in found)
        )
        store.execute(
            "UPDATE cell_rows SET excluded = ? WHERE model = ? AND benchmark = ?"
            " AND perturbation = ? AND metric = ?",
            [(excluded, *cell, metric)],
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
        store.execute(
            f"INSERT INTO comparisons ({_names(Comparison)})"
            f" VALUES ({_marks(len(fields(Comparison)))})",
            (astuple(row) for row in rows),
        )
        for family in families:
            names = ", ".join(f"[{name}]" for name in family)
            sql = f"INSERT INTO families ({names}) VALUES ({_marks(len(family))})"
            store.execute(sql, [tuple(family.values())])


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
        "SELECT s.benchmark, r.perturbation, r.level, avg(r.edit_share) AS share"
        f" FROM variant_rows r JOIN sample_rows s ON s.id = r.sample WHERE {_PLANNED}"
        " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
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


def _counts(store: Store, cell: Cell, plan: PlanRow) -> dict[str, Any]:
    where = cell._asdict()
    chosen = (
        "FROM selection_rows c JOIN sample_rows s ON s.id = c.sample {more} WHERE NOT s.superseded"
        " AND c.model = :model AND s.benchmark = :benchmark AND c.perturbation = :perturbation"
    )
    (total,) = store.query(
        "SELECT count(*) AS samples, coalesce(sum(s.control), 0) AS controls "
        + chosen.format(more=""),
        where,
    )
    made_of = "JOIN variant_rows r ON r.sample = c.sample AND r.perturbation = c.perturbation"
    (made,) = store.query(
        f"SELECT count(*) AS n, count(DISTINCT r.sample) AS samples {chosen.format(more=made_of)}",
        where,
    )
    variants = made["n"] + (total["samples"] - made["samples"]) * (plan.levels + 1)
    states = _tally(store, "state", "planned_response_rows", cell)
    failed = _tally(store, "kind", "planned_failure_rows", cell)
    planned, answered = variants * plan.repeats * plan.answers, sum(states.values())
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


def _tally(store: Store, column: str, table: str, cell: Cell) -> dict[str, int]:
    sql = f"SELECT {column}, count(*) AS n FROM {table} WHERE {_RESULT_CELL} GROUP BY 1 ORDER BY 1"
    return {row[column]: row["n"] for row in store.query(sql, cell._asdict())}


def characters_a_token(store: Store) -> float | None:
    """Return how many characters of a prompt make a token, None where no server told."""
    (row,) = store.query(
        "SELECT sum(length(p.prompt)) AS characters, sum(r.prompt_tokens) AS tokens FROM prompts p"
        " JOIN responses r USING (benchmark, sample_id, perturbation, level)"
        " WHERE r.repeat = 1 AND r.answer = 1 AND r.prompt_tokens > 0"
    )
    return row["characters"] / row["tokens"] if row["tokens"] else None


def n_samples_answered(store: Store, cell: Cell) -> int:
    """Return how many planned samples of a cell have any response."""
    sql = f"SELECT count(DISTINCT sample) AS n FROM planned_response_rows WHERE {_RESULT_CELL}"
    (row,) = store.query(sql, cell._asdict())
    return int(row["n"])


def rejected(store: Store) -> dict[tuple[str, str], dict[str, int]]:
    """Return (benchmark, perturbation) -> how many candidates were rejected, by reason."""
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    sql = (
        "SELECT s.benchmark, r.perturbation, r.reason, sum(r.n) AS n FROM rejection_rows r"
        f" JOIN sample_rows s ON s.id = r.sample WHERE {_PLANNED} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
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
