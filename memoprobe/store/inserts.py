"""Say how records of a run become rows."""

from collections.abc import Sequence

from memoprobe.records import Failure, Likelihood, Response, Variant
from memoprobe.store import rows
from memoprobe.store.writer import Statement

Record = Response | Likelihood | Failure | Variant


def statements(record: Record, sample: int) -> list[Statement]:
    """Return what stores a record of a sample; what was asked once is never changed.

    Args:
        record: What is stored.
        sample: The sample's number.
    """
    if isinstance(record, Variant):
        return [_insert("IGNORE", "variant_rows", rows.variant_row(record, sample))]
    if isinstance(record, Failure):
        return [_insert("REPLACE", "failure_rows", rows.failure_row(record, sample))]
    if isinstance(record, Likelihood):
        stored = _insert("IGNORE", "likelihood_rows", rows.likelihood_row(record, sample))
    else:
        stored = _insert("IGNORE", "response_rows", rows.response_row(record, sample))
    return [stored, ("DELETE FROM failure_rows WHERE key = ?", (record.key,))]


def _insert(otherwise: str, table: str, row: Sequence[object]) -> Statement:
    marks = ", ".join("?" for _ in row)
    return f"INSERT OR {otherwise} INTO {table} VALUES ({marks})", tuple(row)
