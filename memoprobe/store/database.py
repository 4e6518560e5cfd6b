"""Read and extend the facts of a run database."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import sqlite_utils

from memoprobe.errors import StoreError
from memoprobe.records import Likelihood, Probe, Request, Response, Sample, Variant
from memoprobe.store import inserts, opening, rows
from memoprobe.store.opening import connect
from memoprobe.store.writer import Statement, Writer

BUMP = "UPDATE revision_rows SET facts = facts + 1"  # results made before are older than the facts


class Cell(NamedTuple):
    """Name a model, a benchmark and a perturbation that meet in the run."""

    model: str
    benchmark: str
    perturbation: str


class PlanRow(NamedTuple):
    """Hold what is planned for a cell: of each of its samples, so many levels and answers."""

    cell: Cell
    levels: int  # above 0
    repeats: int  # 1 of a likelihood, as are answers
    answers: int  # a repeat
    greedy: int = 0  # answers at temperature 0, to level 0 of each sample
    probe: Probe = "answers"


@contextmanager
def open_store(path: Path, *, write: bool, make: bool = True) -> "Iterator[Store]":
    """Open a run database; for writing it is locked, and made if missing unless told not to.

    Raises:
        StoreError: It is missing, no run database, or another process writes it; or
            SQLite fails while it is open.
    """
    make = write and make
    if not make and not path.is_file():
        msg = f"no run database {path}: give the path of one, or make it with `memoprobe run`"
        raise StoreError(msg)
    with ExitStack() as stack:
        if write:
            opening.check_room(path)
            stack.enter_context(opening.locked(path))
        with opening.translated(path):
            opening.prepare(path, make=make)
            connection = connect(path, read_only=not write)
            stack.callback(connection.close)
            opening.check_version(connection, write=write)
        store = Store(path, connection)
        stack.callback(store.close)
        with opening.told(path):
            yield store
            store.finish()


FACT_TABLES = ("sample_rows", "variant_rows", "prompt_rows", "rejection_rows", "run_info")


class Store:
    """Hold an open run database."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.db = sqlite_utils.Database(connection)
        self._connection = connection
        self._writer: Writer | None = None
        self._ids: dict[tuple[str, str], int] = {}

    def close(self) -> None:
        """Commit what was saved and close."""
        if self._writer is not None:
            self._writer.close()
        self._connection.close()

    def execute(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement for each of some rows of values."""
        self._connection.executemany(sql, (tuple(map(rows.to_sql, each)) for each in values))

    # Settings ---------------------------------------------------------------------------

    def info(self) -> dict[str, str]:
        """Return the rows of ``run_info``."""
        found = self._connection.execute("SELECT key, value FROM run_info")
        return {rows.from_sql(key): rows.from_sql(value) for key, value in found}

    def set_info(self, values: Mapping[str, object]) -> None:
        """Write rows of ``run_info``; what is no string is written as JSON."""
        with self.db.atomic():
            self.execute(
                "INSERT OR REPLACE INTO run_info VALUES (?, ?)",
                ((key, as_info(value)) for key, value in values.items()),
            )

    # Facts ------------------------------------------------------------------------------

    def add_samples(self, samples: Iterable[Sample]) -> None:
        """Add samples; one whose content changed supersedes its older self."""
        with self.db.atomic():
            before = self._connection.total_changes
            for sample in samples:
                row = rows.sample_row(sample)
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                self._connection.execute(
                    "UPDATE sample_rows SET superseded = 1 WHERE benchmark = ? AND sample_id = ?"
                    " AND content_hash <> ? AND NOT superseded",
                    (row["benchmark"], row["sample_id"], row["content_hash"]),
                )
                self._connection.execute(
                    f"INSERT INTO sample_rows ({names}) VALUES ({marks})"
                    " ON CONFLICT (benchmark, sample_id, content_hash)"
                    " DO UPDATE SET superseded = 0, cluster = excluded.cluster,"
                    " date = excluded.date, control = excluded.control"
                    " WHERE superseded OR cluster IS NOT excluded.cluster"
                    " OR date IS NOT excluded.date OR control IS NOT excluded.control",
                    tuple(row.values()),
                )
            if self._connection.total_changes > before:
                self._connection.execute(BUMP)
        self._ids.clear()

    def samples(self, benchmark: str | None = None) -> list[Sample]:
        """Return the current samples, of one benchmark or of all, sorted."""
        where = "" if benchmark is None else "AND benchmark = :benchmark"
        sql = (
            f"SELECT * FROM sample_rows WHERE NOT superseded {where} ORDER BY benchmark, sample_id"
        )
        return [rows.sample_of(row) for row in self.query(sql, {"benchmark": benchmark})]

    def sample_id(self, benchmark: str, sample_id: str) -> int:
        """Return the number of a current sample, by which other rows refer to it."""
        if not self._ids:
            sql = "SELECT id, benchmark, sample_id FROM sample_rows WHERE NOT superseded"
            for row in self.query(sql):
                self._ids[row["benchmark"], row["sample_id"]] = row["id"]
        return self._ids[benchmark, sample_id]

    def forget_unasked(self) -> None:
        """Forget the models that were planned and never asked, all where no model was.

        A run that found no server, or the wrong one, leaves no trace that binds the next.
        """
        tables = ("response_rows", "likelihood_rows", "failure_rows")
        asked = " UNION ".join(f"SELECT model FROM {table}" for table in tables)
        with self.db.atomic():
            for table in ("plan_rows", "selection_rows"):
                self._connection.execute(f"DELETE FROM {table} WHERE model NOT IN ({asked})")
            if not self.query(f"{asked} LIMIT 1"):
                for table in FACT_TABLES:
                    self._connection.execute(f"DELETE FROM {table}")
        self.forget_ids()

    def replace_plan(self, plans: Mapping[PlanRow, Iterable[str]]) -> None:
        """Plan these cells, each for the samples with the given ids.

        What was planned before for a probe, model and benchmark that are named is no longer;
        other probes, models and benchmarks keep their plan.
        """
        wanted = {
            plan: {self.sample_id(plan.cell.benchmark, sample_id) for sample_id in chosen}
            for plan, chosen in plans.items()
        }
        named = sorted({(plan.probe, plan.cell.model, plan.cell.benchmark) for plan in plans})
        if wanted == self._planned(named):
            return
        with self.db.atomic():
            self.execute(
                "DELETE FROM plan_rows WHERE probe = ? AND model = ? AND benchmark = ?", named
            )
            self.execute(
                "DELETE FROM selection_rows WHERE probe = ? AND model = ? AND sample IN"
                " (SELECT id FROM sample_rows WHERE benchmark = ?)",
                named,
            )
            self.execute(
                "INSERT INTO plan_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((plan.probe, *plan.cell, *plan[1:-1]) for plan in wanted),
            )
            self.execute(
                "INSERT INTO selection_rows VALUES (?, ?, ?, ?)",
                (
                    (plan.probe, plan.cell.model, plan.cell.perturbation, sample)
                    for plan, chosen in wanted.items()
                    for sample in sorted(chosen)
                ),
            )
            self._connection.execute(BUMP)

    def _planned(self, named: Sequence[tuple[str, str, str]]) -> dict[PlanRow, set[int]]:
        sql = (
            "SELECT sample FROM selection_rows WHERE probe = :probe AND model = :model"
            " AND perturbation = :perturbation AND sample IN"
            " (SELECT id FROM sample_rows WHERE benchmark = :benchmark)"
        )
        found = {}
        for plan in self.plans():
            if (plan.probe, plan.cell.model, plan.cell.benchmark) in named:
                place = {"probe": plan.probe, **plan.cell._asdict()}
                found[plan] = {row["sample"] for row in self.query(sql, place)}
        return found

    def plans(self, probe: Probe | None = None) -> list[PlanRow]:
        """Return what is planned, of one probe or of all, sorted by cell."""
        sql = (
            "SELECT model, benchmark, perturbation, levels, repeats, answers, greedy, probe"
            " FROM plan_rows WHERE probe = coalesce(?, probe)"
            " ORDER BY model, benchmark, perturbation, probe"
        )
        found = (tuple(row.values()) for row in self.query(sql, (probe,)))
        return [PlanRow(Cell(*row[:3]), *row[3:]) for row in found]

    def cells(self) -> list[Cell]:
        """Return the cells for which anything is planned, sorted."""
        return sorted({plan.cell for plan in self.plans()})

    def variants(self, benchmark: str, sample_id: str, perturbation: str) -> list[Variant]:
        """Return the stored levels of a sample, weakest first; empty before they are made."""
        sql = (
            "SELECT r.*, :benchmark AS benchmark, :sample_id AS sample_id FROM variant_rows r"
            " WHERE sample = :sample AND perturbation = :perturbation ORDER BY level"
        )
        values = {
            "benchmark": benchmark,
            "sample_id": sample_id,
            "sample": self.sample_id(benchmark, sample_id),
            "perturbation": perturbation,
        }
        return [rows.variant_of(row) for row in self.query(sql, values)]

    def complete(self, model: str, repeats: int, answers: int) -> set[tuple[str, str, str]]:
        """Return (benchmark, sample id, perturbation) of which a model has answered every slot.

        That is the first ``answers`` of the first ``repeats`` at every level; nothing of
        them needs a look slot by slot.
        """
        sql = (
            "SELECT s.benchmark, s.sample_id, r.perturbation FROM"
            " (SELECT sample, perturbation, count(*) AS n FROM response_rows"
            "  WHERE model = ? AND repeat BETWEEN 1 AND ? AND answer <= ?"
            "  GROUP BY sample, perturbation) r"
            " JOIN (SELECT sample, perturbation, count(*) AS n FROM variant_rows"
            "  GROUP BY sample, perturbation) v"
            " ON v.sample = r.sample AND v.perturbation = r.perturbation"
            " JOIN sample_rows s ON s.id = r.sample"
            " WHERE NOT s.superseded AND r.n = v.n * ?"
        )
        found = self.query(sql, (model, repeats, answers, repeats * answers))
        return {(row["benchmark"], row["sample_id"], row["perturbation"]) for row in found}

    def closed(self, model: str, sample: Sample, *, retry_failed: bool) -> set[bytes]:
        """Return the keys of a sample's slots that need not be asked of a model.

        A slot is closed by a response or a likelihood, and by a failure that will not mend,
        unless those are to be retried.
        """
        place = {"model": model, "sample": self.sample_id(sample.benchmark, sample.sample_id)}
        sources = ["response_rows WHERE", "likelihood_rows WHERE"]
        if not retry_failed:
            sources.append("failure_rows WHERE permanent AND")
        sql = " UNION ALL ".join(
            f"SELECT key FROM {source} sample = :sample AND model = :model" for source in sources
        )
        return {bytes(row["key"]) for row in self.query(sql, place)}

    def save(self, *records: inserts.Record) -> None:
        """Hand records to the writer; those of one call are committed together.

        Raises:
            StoreUnavailable: Writing has failed.
        """
        statements: list[Statement] = []
        for record in records:
            sample = self.sample_id(record.benchmark, record.sample_id)
            statements += inserts.statements(record, sample)
        statements.sort(key=itemgetter(0))  # equal ones are run together, which is quicker
        if any(isinstance(record, Response | Likelihood) for record in records):
            statements.append((BUMP, ()))
        self._put(statements)

    def _put(self, statements: list[Statement]) -> None:
        if self._writer is None:
            self._writer = Writer(lambda: connect(self.path, read_only=False), str(self.path))
        self._writer.put(statements)

    def save_rejected(self, sample: Sample, perturbation: str, rejected: Mapping[str, int]) -> None:
        """Record how many candidates of a perturbation were rejected, by reason."""
        place = (self.sample_id(sample.benchmark, sample.sample_id), perturbation)
        sql = "INSERT OR REPLACE INTO rejection_rows VALUES (?, ?, ?, ?)"
        self._put([(sql, (*place, reason, n)) for reason, n in sorted(rejected.items())])

    def save_prompt(self, request: Request) -> None:
        """Record what is sent, once for all answers and models that share it."""
        place = (self.sample_id(request.benchmark, request.sample_id), request.perturbation)
        row = (*place, request.level, request.interface, rows.to_sql(request.prompt))
        self._put([("INSERT OR IGNORE INTO prompt_rows VALUES (?, ?, ?, ?, ?)", row)])

    def prompts(self, cell: Cell, sample_id: str, interface: str) -> dict[int, str]:
        """Return level -> the prompt that was sent for a sample."""
        sql = (
            "SELECT level, prompt FROM prompt_rows"
            " WHERE sample = ? AND perturbation = ? AND interface = ?"
        )
        values = (self.sample_id(cell.benchmark, sample_id), cell.perturbation, interface)
        return {row["level"]: rows.from_sql(row["prompt"]) for row in self.query(sql, values)}

    def start(self) -> None:
        """Start the writer; the first save does so too, but not from two threads at once."""
        self.save()

    def flush(self) -> None:
        """Wait until all that was saved is committed."""
        if self._writer is not None:
            self._writer.flush()

    def finish(self) -> None:
        """Wait until all is committed, unless it was told already that this cannot be."""
        if self._writer is not None and not self._writer.told:
            self._writer.flush()

    # Reading back -----------------------------------------------------------------------

    def responses_to(self, cell: Cell, sample_id: str) -> list[Response]:
        """Return the responses to the planned slots of one sample, in design order."""
        sql = (
            "SELECT * FROM planned_response_rows"
            " WHERE sample = :sample AND model = :model AND perturbation = :perturbation"
            " ORDER BY level, repeat, answer"
        )
        values = {**cell._asdict(), "sample": self.sample_id(cell.benchmark, sample_id)}
        return [rows.response_of(row) for row in self.query(sql, values)]

    def responses(self, cell: Cell) -> Iterator[tuple[str, list[Response]]]:
        """Yield (sample id, the responses to its planned slots in design order), sorted.

        A sample or slot that is stored and no longer planned is left out.
        """
        sql = (
            "SELECT * FROM planned_response_rows"
            " WHERE model = ? AND benchmark = ? AND perturbation = ?"
            " ORDER BY sample_id, level, repeat, answer"
        )
        cursor = self._connection.execute(sql, tuple(map(rows.to_sql, cell)))
        for sample_id, group in groupby(cursor, key=lambda row: rows.from_sql(row["sample_id"])):
            yield sample_id, [rows.response_of(row) for row in group]

    def forget_ids(self) -> None:
        """Look the samples' numbers up anew, since others were added."""
        self._ids.clear()

    def compact(self) -> None:
        """Leave one file, without a write-ahead log beside it."""
        self._connection.execute("PRAGMA wal_checkpoint(truncate)")

    def answered(self, model: str) -> bool:
        """Tell whether a model has any response, or any likelihood."""
        sql = " UNION ALL ".join(
            f"SELECT 1 FROM {table} WHERE model = :model"
            for table in ("response_rows", "likelihood_rows")
        )
        return bool(self.query(f"{sql} LIMIT 1", {"model": model}))

    def query(
        self, sql: str, values: Mapping[str, object] | Sequence[object] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        if isinstance(values, Mapping):
            cursor = self._connection.execute(
                sql, {name: rows.to_sql(value) for name, value in values.items()}
            )
        else:
            cursor = self._connection.execute(sql, tuple(map(rows.to_sql, values)))
        names = [column[0] for column in cursor.description]
        return [
            {
                # A slot's key is bytes and no text that SQLite could not hold.
                name: value if name == "key" else rows.from_sql(value)
                for name, value in zip(names, row, strict=True)
            }
            for row in cursor
        ]


def as_info(value: object) -> str:
    """Return a value as ``run_info`` holds it."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
