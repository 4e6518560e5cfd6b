"""Open the file of a run database: locked, checked, and with one message for what can go wrong."""

import errno
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memoprobe.errors import StoreError, StoreUnavailable
from memoprobe.migrations import APPLICATION_ID, MIGRATIONS, migrate

LEAST_FREE_BYTES = 64 * 2**20
BUSY_S = 60.0  # how long to wait for another process's write

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_ID_PLACE = slice(68, 72)  # of the application id in the header of the file
_FOR_NOW = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_RUN = "not a memoprobe run"


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection that may be passed between threads, in autocommit mode."""
    connection = sqlite3.connect(
        reading_uri(path) if read_only else f"{path.resolve().as_uri()}?mode=rwc",
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


def reading_uri(path: Path) -> str:
    """Return the URI by which SQLite opens a database for reading alone.

    A reader keeps two files beside the database. Where it may not make them and no
    writer has left any, the file is whole by itself and cannot change.
    """
    whole = path.resolve()
    log = Path(f"{whole}-wal")
    idle = not log.exists() or log.stat().st_size == 0
    fixed = "&immutable=1" if idle and not os.access(whole.parent, os.W_OK) else ""
    return f"{whole.as_uri()}?mode=ro{fixed}"


def prepare(path: Path, *, make: bool) -> None:
    """Look at a file without opening it as a database, and mark a new one as ours.

    The mark goes in before anything else, so that even what is left of a process
    killed while it made the database is known as ours.

    Raises:
        StoreError: The file is no run database; nothing in it was changed.
    """
    header = b""
    if path.is_file():
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    if not header:
        if not make:
            msg = "the file is empty, no run database: give the path of one"
            raise StoreError(msg)
        connection = sqlite3.connect(path.resolve(), isolation_level=None)
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        finally:
            connection.close()
    elif not header.startswith(_MAGIC):
        msg = f"the file is no SQLite database, so {_NO_RUN}"
        raise StoreError(msg)
    elif int.from_bytes(header[_ID_PLACE]) != APPLICATION_ID:
        msg = f"the file is an SQLite database, but {_NO_RUN}"
        raise StoreError(msg)


def check_version(connection: sqlite3.Connection, *, write: bool) -> None:
    """Bring a database to this version's schema, or see that it has it.

    Raises:
        StoreError: It has another, and is only to be read, or is newer.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if write:
        migrate(connection)
    elif version == 0:
        msg = "nothing is stored in it yet: start its `memoprobe run` again"
        raise StoreError(msg)
    elif version != len(MIGRATIONS):
        older = "run `memoprobe score` on it to bring it up to date"
        mend = older if version < len(MIGRATIONS) else "upgrade memoprobe"
        msg = f"it has schema {version}, this memoprobe reads {len(MIGRATIONS)}: {mend}"
        raise StoreError(msg)


def check_room(path: Path) -> None:
    """Refuse a disk that is nearly full, before anything is asked."""
    with translated(path):
        free = shutil.disk_usage(path.parent).free
    if free < LEAST_FREE_BYTES:
        msg = f"{path}: only {free // 2**20} MiB are free on its disk; make room, then try again"
        raise StoreUnavailable(msg)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what goes wrong while opening into one message that names the file."""
    try:
        with told(path):
            yield
    except StoreError as error:
        if str(error).startswith(f"{path}: "):
            raise
        msg = f"{path}: {error}"
        raise type(error)(msg) from error
    except OSError as error:
        kind = StoreUnavailable if error.errno in _NO_ROOM else StoreError
        msg = f"{path}: cannot be used as a run database: {error.strerror or error}"
        raise kind(msg) from error


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one message that names the file.

    Raises:
        StoreUnavailable: The disk is full or fails, or another process holds the file.
        StoreError: Anything else, damaged pages for example.
    """
    try:
        yield
    except sqlite3.Error as error:
        # The lowest byte is the class of the error, the others say more.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind = StoreUnavailable if code in _FOR_NOW else StoreError
        msg = f"{path}: cannot be used as a run database: {error}"
        raise kind(msg) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a database, by whatever name it is reached; it ends with the process."""
    with translated(path):
        lock = Path(f"{path.resolve()}.lock").open("a+", encoding="ascii")  # noqa: SIM115 - closed below
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _held(path, lock) from error
        with translated(path):
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)


def _held(path: Path, lock: IO[str]) -> StoreError:
    lock.seek(0)
    holder = lock.read().strip() or "unknown"
    return StoreError(
        f"{path}: process {holder} is writing this database; wait for it, or use another file"
    )


SIDE_FILES = ("-wal", "-shm", "-journal", ".lock")


def remove(path: Path) -> None:
    """Remove a database that nobody has open, with the files beside it."""
    for end in ("", *SIDE_FILES):
        Path(f"{path}{end}").unlink(missing_ok=True)
