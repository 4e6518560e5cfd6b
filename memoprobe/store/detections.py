"""Write and read how well detectors tell items from controls; all of it can be rebuilt."""

from collections.abc import Iterable
from dataclasses import astuple, fields

from memoprobe.records import Detection
from memoprobe.store.database import Store
from memoprobe.store.results import Treatment

_NAMES = ", ".join(field.name for field in fields(Detection))
_MARKS = ", ".join("?" for _ in fields(Detection))


def write(store: Store, rows: Iterable[Detection], treatment: Treatment) -> None:
    """Add rows that were made under one treatment of what was not answered."""
    sql = f"INSERT INTO detection_rows ({_NAMES}, unanswered) VALUES ({_MARKS}, ?)"
    store.execute(sql, ((*astuple(row), treatment) for row in rows))


def read(store: Store) -> list[Detection]:
    """Return the rows in the order in which they were written."""
    return [Detection(**row) for row in store.query(f"SELECT {_NAMES} FROM detections")]
