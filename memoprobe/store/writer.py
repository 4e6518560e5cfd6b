"""Write outcomes from one thread, in batches; the rest of the run never waits for the disk."""

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from memoprobe.errors import StoreUnavailable

BATCH_ROWS = 200
BATCH_S = 0.25  # what a killed process may lose
QUEUE_ROWS = 20_000
Statement = tuple[str, tuple[object, ...]]


@dataclass(slots=True)
class Writer:
    """Run statements, given as (SQL, values), in the order in which they come."""

    connect: Callable[[], sqlite3.Connection]
    error: StoreUnavailable | None = field(default=None, init=False)
    _queue: "queue.Queue[Sequence[Statement] | threading.Event | None]" = field(
        default_factory=lambda: queue.Queue(QUEUE_ROWS), init=False
    )
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._work, name="memoprobe-writer", daemon=True)
        self._thread.start()

    def put(self, statements: Sequence[Statement]) -> None:
        """Hand over statements that are committed together.

        Raises:
            StoreUnavailable: An earlier write failed.
        """
        if self.error is not None:
            raise self.error
        self._queue.put(statements)

    def flush(self) -> None:
        """Wait until all that was put is committed.

        Raises:
            StoreUnavailable: A write failed.
        """
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Commit what was put and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        connection = self.connect()
        going = True
        while going:
            batch, waiting, going = self._collect()
            if batch and self.error is None:
                self._commit(connection, batch)
            for event in waiting:
                event.set()
        connection.close()

    def _collect(self) -> tuple[list[Statement], list[threading.Event], bool]:
        """Return what came within one batch's time, who waits for it, and whether to go on."""
        batch: list[Statement] = []
        item = self._queue.get()
        deadline = monotonic() + BATCH_S
        while True:
            if item is None:
                return batch, [], False
            if isinstance(item, threading.Event):
                return batch, [item], True
            batch.extend(item)
            try:
                if len(batch) >= BATCH_ROWS:
                    return batch, [], True
                item = self._queue.get(timeout=max(0.0, deadline - monotonic()))
            except queue.Empty:
                return batch, [], True

    def _commit(self, connection: sqlite3.Connection, batch: list[Statement]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for sql, values in batch:
                connection.execute(sql, values)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self.error = StoreUnavailable(
                f"the run database cannot be written: {error}; nothing stored is lost:"
                " make room or mend the disk, then run the same command again"
            )
