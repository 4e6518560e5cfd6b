"""Write and read what is derived from the facts; all of it can be rebuilt."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from memoprobe.records import Comparison, Curve, Failure, Score, Sensitivity
from memoprobe.store.database import Cell, Store
from memoprobe.store.rows import failure_of, from_sql, to_sql

_CELL = (
    "model = :model AND perturbation = :perturbation AND sample IN"
    " (SELECT id FROM sample_rows WHERE benchmark = :benchmark)"
)
_RESULT_CELL = "model = :model AND benchmark = :benchmark AND perturbation = :perturbation"


Treatment = Literal["exclude", "zero", "both"]
"""What was done with what was not answered; both where all was answered."""

_MEASURED = ("sensitivity_rows", "comparison_rows", "family_rows", "detection_rows")

DERIVED = frozenset({"scores", "curves", "sensitivities", "comparisons", "families", "detections"})


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
        for table in ("score_rows", "cell_rows", *_MEASURED):
            store.db.conn.execute(f"DELETE FROM {table}")


def all_metrics(store: Store) -> list[str]:
    """Return the metrics by which any cell was scored, sorted."""
    return [
        row["metric"] for row in store.query("SELECT DISTINCT metric FROM cell_rows ORDER BY 1")
    ]


def _delete(store: Store, what: str, cell: Cell, metric: str) -> None:
    where = {name: to_sql(value) for name, value in (*cell._asdict().items(), ("metric", metric))}
    store.db.conn.execute(f"DELETE FROM {what}", where)


def failures(store: Store, cell: Cell) -> dict[str, list[Failure]]:
    """Return sample id -> the failures of a cell's planned slots."""
    found: dict[str, list[Failure]] = defaultdict(list)
    sql = (
        f"SELECT * FROM planned_failure_rows WHERE {_RESULT_CELL}"
        " ORDER BY sample_id, level, repeat, answer"
    )
    for row in store.query(sql, cell._asdict()):
        found[row["sample_id"]].append(failure_of(row))
    return dict(found)


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
            score.answered,
            score.verdict,
        )
        for score in scores
    )
    with store.db.atomic():
        for metric in metrics:
            _delete(store, f"score_rows WHERE {_CELL} AND metric = :metric", cell, metric)
        store.execute(f"INSERT INTO score_rows VALUES ({_marks(11)})", rows)


def verdict(store: Store, key: str) -> str | None:
    """Return what was found of a program, None where it was never run."""
    rows = store.query("SELECT verdict FROM verdict_rows WHERE key = ?", (key,))
    return rows[0]["verdict"] if rows else None


def write_verdict(store: Store, key: str, found: str) -> None:
    """Keep what was found of a program."""
    store.execute("INSERT OR REPLACE INTO verdict_rows VALUES (?, ?)", [(key, found)])


def verdict_keys(store: Store) -> list[str]:
    """Return the keys of all programs that were run."""
    return [row["key"] for row in store.query("SELECT key FROM verdict_rows ORDER BY key")]


def scored(
    store: Store, cell: Cell, metric: str, treatment: Treatment = "exclude"
) -> Iterator[Scored]:
    """Yield the scored samples of a cell, sorted by sample id."""
    shares: dict[int, dict[int, float]] = defaultdict(dict)
    sql = (
        "SELECT sample, level, edit_share FROM variant_rows WHERE perturbation = :perturbation"
        " AND sample IN (SELECT id FROM sample_rows WHERE benchmark = :benchmark)"
    )
    place = {name: to_sql(value) for name, value in cell._asdict().items()}
    # There may be millions of scores, so no dictionary of each is made, and no list of all.
    for sample, level, share in store.db.conn.execute(sql, place):
        shares[sample][level] = share
    sql = (
        "SELECT s.id, s.sample_id, s.control, s.reference IS NOT NULL AS has_reference,"
        " r.level, r.repeat, r.value FROM sample_rows s JOIN score_rows r ON r.sample = s.id"
        " WHERE NOT s.superseded AND s.benchmark = :benchmark AND r.model = :model"
        " AND r.perturbation = :perturbation AND r.metric = :metric"
        " AND (r.answered OR :treatment = 'zero')"
        " ORDER BY s.sample_id, r.level, r.repeat, r.answer"
    )
    chosen = {**place, "metric": to_sql(metric), "treatment": treatment}
    found = store.db.conn.execute(sql, chosen)
    for head, group in groupby(found, key=itemgetter(slice(0, 4))):
        sample, sample_id, control, has_reference = head
        values: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for *_, level, repeat, value in group:
            values[level].append((repeat, value))
        yield Scored(
            str(from_sql(sample_id)),
            bool(control),
            bool(has_reference),
            shares[sample],
            dict(values),
        )


def metrics(store: Store, cell: Cell) -> list[str]:
    """Return the metrics by which a cell was scored, whether or not that gave a score, sorted."""
    sql = f"SELECT metric FROM cell_rows WHERE {_RESULT_CELL} ORDER BY metric"
    return [row["metric"] for row in store.query(sql, cell._asdict())]


class Graded(NamedTuple):
    """Hold what is known of one answer."""

    scores: tuple[tuple[str, float], ...]  # (metric, performance), sorted
    verdict: str | None  # of its tests, where they were run


def graded(store: Store, cell: Cell, sample_id: str) -> dict[tuple[int, int, int], Graded]:
    """Return (level, repeat, answer) -> what is known of each scored answer of a sample.

    Likelihoods are of no answer and left out.
    """
    sql = (
        "SELECT level, repeat, answer, metric, value, verdict FROM scores WHERE model = :model"
        " AND benchmark = :benchmark AND sample_id = :sample_id AND perturbation = :perturbation"
        " AND rule <> 'forced' ORDER BY level, repeat, answer, metric"
    )
    found = store.query(sql, {**cell._asdict(), "sample_id": sample_id})
    slots = groupby(found, key=lambda row: (row["level"], row["repeat"], row["answer"]))
    graded = {}
    for slot, group in slots:
        rows = list(group)
        verdicts = [row["verdict"] for row in rows if row["verdict"] is not None]
        scores = tuple((row["metric"], row["value"]) for row in rows)
        graded[slot] = Graded(scores, verdicts[0] if verdicts else None)
    return graded


def write_floor(store: Store, cell: Cell, metric: str, floor: float | None, version: int) -> None:
    """Store the mean performance of a cell's answers against another item's reference."""
    with store.db.atomic():
        store.execute(
            f"INSERT OR REPLACE INTO cell_rows VALUES ({_marks(8)})",
            [(*cell, metric, floor, version, 0, 0)],
        )


def versions(store: Store) -> dict[str, int]:
    """Return metric -> the version of it that the stored scores are of."""
    rows = store.query("SELECT metric, max(version) AS version FROM cell_rows GROUP BY 1")
    return {row["metric"]: row["version"] for row in rows}


def treatments(store: Store) -> tuple[Treatment, ...]:
    """Return how the scores are to be measured: both ways where some slot was not answered."""
    some = store.query("SELECT 1 FROM score_rows WHERE NOT answered LIMIT 1")
    return ("exclude", "zero") if some else ("both",)


def clear_measured(store: Store) -> None:
    """Delete sensitivities, comparisons and families."""
    for table in _MEASURED:
        store.db.conn.execute(f"DELETE FROM {table}")


def write_sensitivities(store: Store, found: Iterable[Sensitivity], treatment: Treatment) -> None:
    """Add sensitivities, measured under one treatment."""
    store.execute(
        f"INSERT INTO sensitivity_rows VALUES ({_marks(len(fields(Sensitivity)) + 1)})",
        ((*astuple(each), treatment) for each in found),
    )


def write_excluded(
    store: Store, cell: Cell, metric: str, n_samples: int, treatment: Treatment
) -> None:
    """Store how many samples of a cell have too few levels."""
    columns = {"exclude": ["excluded"], "zero": ["excluded_zero"]}
    for column in columns.get(treatment, ["excluded", "excluded_zero"]):
        store.execute(
            f"UPDATE cell_rows SET {column} = ? WHERE model = ? AND benchmark = ?"
            " AND perturbation = ? AND metric = ?",
            [(n_samples, *cell, metric)],
        )


def sensitivities(
    store: Store,
    treatment: Treatment | None = None,
    *,
    definitions: Collection[str] | None = None,
) -> list[Sensitivity]:
    """Return the sensitivities, sorted.

    Args:
        store: Where they are.
        treatment: Of what was not answered; None is the one that the database is set to.
        definitions: Only those, which of a large run is quicker; None is all.
    """
    names = [field.name for field in fields(Sensitivity)]
    source = "sensitivities WHERE 1"
    if treatment is not None:
        source = f"sensitivity_rows WHERE unanswered IN ('both', '{treatment}')"
    chosen = list(definitions or ())
    among = f"AND definition IN ({_marks(len(chosen))})" if definitions is not None else ""
    sql = (
        f"SELECT {', '.join(names)} FROM {source} {among}"
        " ORDER BY model, benchmark, perturbation, metric, definition, sample_id"
    )
    # There may be a million, so no dictionary of each is made in between.
    found = store.db.conn.execute(sql, chosen)
    n_texts = names.index("definition") + 1
    return [
        Sensitivity(
            **dict(zip(names, (*map(from_sql, row[:n_texts]), *row[n_texts:]), strict=True))
        )
        for row in found
    ]


def values_of(store: Store, cell: Cell, sample_id: str, metric: str) -> dict[str, float]:
    """Return definition -> the sensitivity of one sample, sorted."""
    sql = (
        "SELECT definition, value FROM sensitivities WHERE model = :model AND metric = :metric"
        " AND benchmark = :benchmark AND sample_id = :sample_id AND perturbation = :perturbation"
        " ORDER BY definition"
    )
    place = {**cell._asdict(), "sample_id": sample_id, "metric": metric}
    return {row["definition"]: row["value"] for row in store.query(sql, place)}


def cell_results(store: Store) -> dict[tuple[Cell, str], CellResult]:
    """Return what each metric says of each cell."""
    return {
        (Cell(row["model"], row["benchmark"], row["perturbation"]), row["metric"]): CellResult(
            row["excluded"], row["floor"]
        )
        for row in store.query("SELECT * FROM cell_rows")
    }


def curves(store: Store) -> list[Curve]:
    """Return the mean performance per level of every scored sample, sorted: the view's rows."""
    place = ("model", "benchmark", "sample_id", "perturbation", "metric")
    # The view sorts every score by its sample's names; here they are read as they lie.
    sql = (
        "SELECT r.model, s.benchmark, s.sample_id, r.perturbation, r.metric, r.level, r.mean FROM"
        " (SELECT sample, model, perturbation, metric, level, avg(value) AS mean FROM score_rows"
        "  WHERE answered OR ? = 'zero' GROUP BY sample, model, perturbation, metric, level) r"
        " JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
        f" ORDER BY {', '.join(place)}, level"
    )
    found = store.db.conn.execute(sql, (store.info().get("unanswered", "exclude"),))
    return [
        Curve(
            **dict(zip(place, map(from_sql, key), strict=True)),
            means={level: mean for *_, level, mean in group},
        )
        for key, group in groupby(found, key=itemgetter(slice(0, len(place))))
    ]


def write_comparisons(
    store: Store,
    rows: Iterable[Comparison],
    families: Iterable[Mapping[str, object]],
    treatment: Treatment,
) -> None:
    """Add comparisons and their families, made under one treatment."""
    store.execute(
        f"INSERT INTO comparison_rows ({_names(Comparison)}, unanswered)"
        f" VALUES ({_marks(len(fields(Comparison)) + 1)})",
        ((*astuple(row), treatment) for row in rows),
    )
    for family in families:
        columns = {**family, "unanswered": treatment}
        names = ", ".join(f"[{name}]" for name in columns)
        sql = f"INSERT INTO family_rows ({names}) VALUES ({_marks(len(columns))})"
        store.execute(sql, [tuple(columns.values())])


def comparisons(store: Store) -> list[Comparison]:
    """Return all comparisons in the order in which they were written."""
    sql = f"SELECT {_names(Comparison)} FROM comparisons"
    return [Comparison(**row) for row in store.query(sql)]


def families(store: Store) -> list[dict[str, Any]]:
    """Return the families in the order in which they were written."""
    rows = store.query("SELECT * FROM families")
    return [{**row, "primary": bool(row["primary"])} for row in rows]


def corrections(store: Store) -> dict[tuple[str, str], str]:
    """Return (question, test) -> the name of the correction of its p-values."""
    return {
        (family["question"], family["test"]): family["correction"] for family in families(store)
    }


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
