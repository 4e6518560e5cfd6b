"""Open a run database and read and extend its facts."""

import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, Any, NamedTuple

import sqlite_utils

from memoprobe.errors import StoreError, StoreUnavailable
from memoprobe.migrations import MIGRATIONS, migrate
from memoprobe.records import Failure, Request, Response, Sample, Variant
from memoprobe.store import rows
from memoprobe.store.writer import Statement, Writer

LEAST_FREE_BYTES = 64 * 2**20
BUSY_S = 60.0  # how long to wait for another process's write


class Cell(NamedTuple):
    """Name a model, a benchmark and a perturbation that meet in the run."""

    model: str
    benchmark: str
    perturbation: str


class PlanRow(NamedTuple):
    """Hold what is planned for a cell: per sample, ``levels`` above 0 and answers a variant."""

    cell: Cell
    levels: int
    answers: int


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection that may be passed between threads, in autocommit mode."""
    mode = "ro" if read_only else "rwc"
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    if not read_only:
        connection.execute("PRAGMA journal_mode=wal")
        connection.execute("PRAGMA synchronous=normal")
    return connection


@contextmanager
def open_store(path: Path, *, write: bool) -> "Iterator[Store]":
    """Open a run database; for writing it is made if missing, and locked.

    Raises:
        StoreError: It is missing, no run database, or another process writes it.
    """
    if not write and not path.is_file():
        msg = f"no run database {path}: give the path of one, or make it with `memoprobe run`"
        raise StoreError(msg)
    if write:
        _check_room(path)
    lock = _lock(path) if write else None
    try:
        with _translated(path):
            connection = connect(path, read_only=not write)
            try:
                _check(connection, write=write)
            except BaseException:
                connection.close()
                raise
        store = Store(path, connection)
        try:
            yield store
        finally:
            store.close()
    finally:
        if lock is not None:
            lock.close()


def _check_room(path: Path) -> None:
    with _translated(path):
        free = shutil.disk_usage(path.parent).free
    if free < LEAST_FREE_BYTES:
        msg = f"{path}: only {free // 2**20} MiB are free on its disk; make room, then try again"
        raise StoreUnavailable(msg)


def _check(connection: sqlite3.Connection, *, write: bool) -> None:
    if write:
        migrate(connection)
    elif (version := connection.execute("PRAGMA user_version").fetchone()[0]) != len(MIGRATIONS):
        mend = "run `memoprobe score` on it to bring it up to date"
        msg = f"it has schema {version}, this memoprobe reads {len(MIGRATIONS)}: {mend}"
        raise StoreError(msg)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into one message that names the file."""
    try:
        yield
    except StoreError as error:
        msg = f"{path}: {error}"
        raise type(error)(msg) from error
    except (sqlite3.Error, OSError) as error:
        full = "full" in str(error).lower()
        kind = StoreUnavailable if full else StoreError
        msg = f"{path}: cannot be used as a run database: {error}"
        raise kind(msg) from error


def _lock(path: Path) -> IO[str]:
    """Return the open lock file of a database; the lock ends with the process."""
    with _translated(path):
        lock = Path(f"{path}.lock").open("a+", encoding="ascii")  # noqa: SIM115 - held while open
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        msg = f"{path}: process {holder} is writing this database; wait for it, or use another file"
        raise StoreError(msg) from error
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


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

    # Settings ---------------------------------------------------------------------------

    def info(self) -> dict[str, str]:
        """Return the rows of ``run_info``."""
        return {row["key"]: row["value"] for row in self.db.query("SELECT * FROM run_info")}

    def set_info(self, values: Mapping[str, object]) -> None:
        """Write rows of ``run_info``; what is no string is written as JSON."""
        rows_ = (
            (key, value if isinstance(value, str) else json.dumps(value, sort_keys=True))
            for key, value in values.items()
        )
        with self.db.atomic():
            self._connection.executemany("INSERT OR REPLACE INTO run_info VALUES (?, ?)", rows_)

    # Facts ------------------------------------------------------------------------------

    def add_samples(self, samples: Iterable[Sample]) -> None:
        """Add samples; one whose content changed supersedes its older self."""
        with self.db.atomic():
            for sample in samples:
                row = rows.sample_row(sample)
                names = ", ".join(row)
                marks = ", ".join("?" for _ in row)
                self._connection.execute(
                    "UPDATE sample_rows SET superseded = 1 WHERE benchmark = ? AND sample_id = ?"
                    " AND content_hash <> ?",
                    (sample.benchmark, sample.sample_id, row["content_hash"]),
                )
                self._connection.execute(
                    f"INSERT INTO sample_rows ({names}) VALUES ({marks})"
                    " ON CONFLICT (benchmark, sample_id, content_hash)"
                    " DO UPDATE SET superseded = 0, cluster = excluded.cluster,"
                    " date = excluded.date, control = excluded.control",
                    tuple(row.values()),
                )
        self._ids.clear()

    def samples(self, benchmark: str | None = None) -> list[Sample]:
        """Return the current samples, of one benchmark or of all, sorted."""
        where = "" if benchmark is None else "AND benchmark = :benchmark"
        sql = (
            f"SELECT * FROM sample_rows WHERE NOT superseded {where} ORDER BY benchmark, sample_id"
        )
        return [rows.sample_of(row) for row in self.db.query(sql, {"benchmark": benchmark})]

    def sample_id(self, benchmark: str, sample_id: str) -> int:
        """Return the number of a current sample, by which other rows refer to it."""
        if not self._ids:
            sql = "SELECT id, benchmark, sample_id FROM sample_rows WHERE NOT superseded"
            for row in self.db.query(sql):
                self._ids[row["benchmark"], row["sample_id"]] = row["id"]
        return self._ids[benchmark, sample_id]

    def add_plan(self, plans: Iterable[PlanRow]) -> None:
        """Record what is planned, replacing an older plan for the same cells."""
        values = ((*plan.cell, plan.levels, plan.answers) for plan in plans)
        with self.db.atomic():
            self._connection.executemany(
                "INSERT OR REPLACE INTO plan_rows VALUES (?, ?, ?, ?, ?)", values
            )

    def plans(self) -> list[PlanRow]:
        """Return what is planned, sorted by cell."""
        sql = "SELECT * FROM plan_rows ORDER BY model, benchmark, perturbation"
        return [
            PlanRow(
                Cell(row["model"], row["benchmark"], row["perturbation"]),
                row["levels"],
                row["answers"],
            )
            for row in self.db.query(sql)
        ]

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
        return [rows.variant_of(row) for row in self.db.query(sql, values)]

    def complete(self, model: str, repeats: int, answers: int) -> set[tuple[str, str, str]]:
        """Return (benchmark, sample id, perturbation) of which a model has answered every slot.

        That is the first ``answers`` of the first ``repeats`` at every level; nothing of
        them needs a look slot by slot.
        """
        sql = (
            "SELECT s.benchmark, s.sample_id, r.perturbation FROM"
            " (SELECT sample, perturbation, count(*) AS n FROM response_rows"
            "  WHERE model = ? AND repeat <= ? AND answer <= ? GROUP BY sample, perturbation) r"
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

        A slot is closed by a response, and by a failure that will not mend, unless
        those are to be retried.
        """
        place = {"model": model, "sample": self.sample_id(sample.benchmark, sample.sample_id)}
        sql = "SELECT key FROM response_rows WHERE sample = :sample AND model = :model"
        if not retry_failed:
            sql += (
                " UNION ALL SELECT key FROM failure_rows"
                " WHERE sample = :sample AND model = :model AND permanent"
            )
        return {bytes(row["key"]) for row in self.db.query(sql, place)}

    def save(self, *records: Response | Failure | Variant) -> None:
        """Hand records to the writer; those of one call are committed together.

        Raises:
            StoreUnavailable: Writing has failed.
        """
        self._put([statement for record in records for statement in self._insert(record)])

    def _put(self, statements: list[Statement]) -> None:
        if self._writer is None:
            self._writer = Writer(lambda: connect(self.path, read_only=False))
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

    def _insert(self, record: Response | Failure | Variant) -> list[Statement]:
        sample = self.sample_id(record.benchmark, record.sample_id)
        if isinstance(record, Variant):
            sql = "INSERT OR IGNORE INTO variant_rows VALUES (?, ?, ?, ?, ?, ?, ?)"
            return [(sql, rows.variant_row(record, sample))]
        if isinstance(record, Failure):
            row = rows.failure_row(record, sample)
            return [(f"INSERT OR REPLACE INTO failure_rows VALUES ({_marks(row)})", row)]
        row = rows.response_row(record, sample)
        return [
            (f"INSERT OR IGNORE INTO response_rows VALUES ({_marks(row)})", row),
            ("DELETE FROM failure_rows WHERE key = ?", (record.key,)),
        ]

    # Reading back -----------------------------------------------------------------------

    def responses_to(self, cell: Cell, sample_id: str) -> list[Response]:
        """Return the responses of a cell to one sample, in design order."""
        sql = (
            "SELECT *, :benchmark AS benchmark, :sample_id AS sample_id FROM response_rows"
            " WHERE sample = :sample AND model = :model AND perturbation = :perturbation"
            " ORDER BY level, repeat, answer"
        )
        sample = self.sample_id(cell.benchmark, sample_id)
        values = {**cell._asdict(), "sample_id": sample_id, "sample": sample}
        return [rows.response_of(row) for row in self.db.query(sql, values)]

    def responses(self, cell: Cell) -> Iterator[tuple[str, list[Response]]]:
        """Yield (sample id, its responses in design order) of a cell, sorted by sample id."""
        sql = (
            "SELECT r.*, s.benchmark, s.sample_id FROM sample_rows s"
            " JOIN response_rows r ON r.sample = s.id"
            " WHERE NOT s.superseded AND s.benchmark = ? AND r.model = ? AND r.perturbation = ?"
            " ORDER BY s.sample_id, r.level, r.repeat, r.answer"
        )
        cursor = self._connection.execute(sql, (cell.benchmark, cell.model, cell.perturbation))
        for sample_id, group in groupby(cursor, key=lambda row: row["sample_id"]):
            yield sample_id, [rows.response_of(row) for row in group]

    def forget_ids(self) -> None:
        """Look the samples' numbers up anew, since others were added."""
        self._ids.clear()

    def compact(self) -> None:
        """Leave one file, without a write-ahead log beside it."""
        self._connection.execute("PRAGMA wal_checkpoint(truncate)")

    def answered(self, model: str) -> bool:
        """Tell whether a model has any response."""
        return bool(self.query("SELECT 1 FROM response_rows WHERE model = ? LIMIT 1", (model,)))

    def query(
        self, sql: str, values: Mapping[str, object] | Sequence[object] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        return [dict(row) for row in self._connection.execute(sql, values)]


def _marks(row: Sequence[object]) -> str:
    return ", ".join("?" for _ in row)
