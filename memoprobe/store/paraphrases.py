"""Read back what a paraphraser replied; its replies are rows beside the models' answers."""

from memoprobe.records import Response, Sample
from memoprobe.store import rows
from memoprobe.store.database import Store


def replies(store: Store, model: str, sample: Sample, perturbation: str) -> list[Response]:
    """Return a paraphraser's replies about a sample, by level, repeat and answer.

    No plan holds them, so they are in no result.
    """
    sql = (
        "SELECT r.*, s.benchmark, s.sample_id FROM response_rows r"
        " JOIN sample_rows s ON s.id = r.sample"
        " WHERE r.sample = ? AND r.model = ? AND r.perturbation = ?"
        " ORDER BY r.level, r.repeat, r.answer"
    )
    place = (store.sample_id(sample.benchmark, sample.sample_id), model, perturbation)
    cursor = store.db.conn.execute(sql, tuple(map(rows.to_sql, place)))
    return [rows.response_of(row) for row in cursor]
