"""Write outcomes from one thread, in batches; the rest of the run never waits for the disk."""

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from time import monotonic

from memoprobe.errors import StoreUnavailable

BATCH_ROWS = 200
BATCH_S = 0.25  # what a killed process may lose
QUEUE_ROWS = 20_000
LOOK_S = 1.0  # how often one who waits looks whether the thread still lives
_ENDED = "its writer has ended"
Statement = tuple[str, tuple[object, ...]]


@dataclass(slots=True)
class Writer:
    """Run statements, given as (SQL, values), in the order in which they come."""

    connect: Callable[[], sqlite3.Connection]
    name: str = "the run database"  # in messages
    error: StoreUnavailable | None = field(default=None, init=False)
    told: bool = field(default=False, init=False)  # the error, to whoever put something
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
        self._tell()
        self._hand_over(statements)

    def flush(self) -> None:
        """Wait until all that was put is committed.

        Raises:
            StoreUnavailable: A write failed.
        """
        done = threading.Event()
        self._hand_over(done)
        while not done.wait(LOOK_S) and self._thread.is_alive():
            pass
        self._tell()
        if not done.is_set():
            raise self._fault(_ENDED)

    def _tell(self) -> None:
        if self.error is not None:
            self.told = True
            raise self.error

    def close(self) -> None:
        """Commit what was put and end the thread."""
        if self._thread.is_alive():
            self._hand_over(None)
        self._thread.join()

    def _hand_over(self, item: "Sequence[Statement] | threading.Event | None") -> None:
        """Put an item into the queue, however long it is full, while somebody empties it."""
        while self._thread.is_alive():
            try:
                self._queue.put(item, timeout=LOOK_S)
            except queue.Full:
                continue
            return
        raise self.error or self._fault(_ENDED)

    def _fault(self, why: object) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.name}: cannot be written: {why}; nothing stored is lost:"
            " make room or mend the disk, then run the same command again"
        )

    def _work(self) -> None:
        """Commit batch after batch; after a fault, empty the queue so that nobody waits for it."""
        connection: sqlite3.Connection | None = None
        try:
            connection = self.connect()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must reach the run
            self.error = self._fault(error)
        going = True
        while going:
            batch, waiting, going = self._collect()
            if batch and self.error is None and connection is not None:
                self._commit(connection, batch)
            for event in waiting:
                event.set()
        if connection is not None:
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
            for sql, same in groupby(batch, itemgetter(0)):
                connection.executemany(sql, map(itemgetter(1), same))
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - a value that SQLite cannot take, for example
            self.error = self._fault(error)
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
