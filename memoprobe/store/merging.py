"""Bring run databases of several machines into one; contradictions are an error."""

from pathlib import Path

from memoprobe.errors import StoreError
from memoprobe.store.database import BUMP, Store
from memoprobe.store.opening import reading_uri, told
from memoprobe.store.rows import from_sql

SAME_A_TOKEN = 1e-3  # nats by which two machines' log-probabilities of a token may differ

_SAME = "m.benchmark = o.benchmark AND m.sample_id = o.sample_id"
_MAPPED = (
    "JOIN source.sample_rows o ON o.id = r.sample"
    f" JOIN sample_rows m ON {_SAME} AND m.content_hash = o.content_hash"
)
_PLACE = "t.sample = m.id AND t.perturbation = r.perturbation AND t.level = r.level"

# What would be lost or mixed: (what differs, query that yields one example).
_CONFLICTS = (
    (
        "two versions of one sample",
        "SELECT o.benchmark, o.sample_id"
        f" FROM source.sample_rows o JOIN sample_rows m ON {_SAME}"
        " WHERE NOT o.superseded AND NOT m.superseded AND o.content_hash <> m.content_hash",
    ),
    (
        "two descriptions (cluster, date, control) of one sample",
        "SELECT o.benchmark, o.sample_id"
        f" FROM source.sample_rows o JOIN sample_rows m ON {_SAME}"
        " AND m.content_hash = o.content_hash WHERE NOT o.superseded AND NOT m.superseded"
        " AND (o.cluster IS NOT m.cluster OR o.date IS NOT m.date OR o.control IS NOT m.control)",
    ),
    (
        "two texts for one variant",
        "SELECT o.benchmark, o.sample_id, 'level', r.level"
        f" FROM source.variant_rows r {_MAPPED} JOIN variant_rows t ON {_PLACE}"
        " WHERE t.text IS NOT r.text",
    ),
    (
        "two answers to one slot",
        "SELECT o.benchmark, o.sample_id, 'level', r.level, 'answer', r.answer"
        f" FROM source.response_rows r {_MAPPED} JOIN response_rows t ON t.key = r.key"
        " WHERE t.text IS NOT r.text",
    ),
    (
        # Two machines reckon alike, but not to the last digit.
        "two likelihoods of one reference",
        "SELECT o.benchmark, o.sample_id, 'level', r.level"
        f" FROM source.likelihood_rows r {_MAPPED} JOIN likelihood_rows t ON t.key = r.key"
        " WHERE t.n_tokens <> r.n_tokens"
        f" OR abs(t.total - r.total) > {SAME_A_TOKEN} * r.n_tokens",
    ),
)
_SAMPLE_COLUMNS = (
    "benchmark, sample_id, content_hash, task, language, input_kind, text, context, reference,"
    " alternatives, tests, entry_point, cluster, date, control, superseded"
)
_ANSWER = "r.model, r.perturbation, r.level, r.repeat, r.answer"
_COPIES = (
    f"INSERT OR IGNORE INTO sample_rows ({_SAMPLE_COLUMNS})"
    f" SELECT {_SAMPLE_COLUMNS} FROM source.sample_rows",
    "INSERT OR REPLACE INTO plan_rows SELECT r.probe, r.model, r.benchmark, r.perturbation,"
    " r.levels, max(r.repeats, coalesce(t.repeats, 0)), max(r.answers, coalesce(t.answers, 0)),"
    " max(r.greedy, coalesce(t.greedy, 0))"
    " FROM source.plan_rows r LEFT JOIN plan_rows t USING (probe, model, benchmark, perturbation)",
    "INSERT OR IGNORE INTO selection_rows SELECT r.probe, r.model, r.perturbation, m.id"
    f" FROM source.selection_rows r {_MAPPED}",
    "INSERT OR IGNORE INTO variant_rows SELECT m.id, r.perturbation, r.level, r.text, r.distance,"
    f" r.edit_share, r.rename_map FROM source.variant_rows r {_MAPPED}",
    "INSERT OR IGNORE INTO prompt_rows SELECT m.id, r.perturbation, r.level, r.interface, r.prompt"
    f" FROM source.prompt_rows r {_MAPPED}",
    "INSERT OR IGNORE INTO rejection_rows SELECT m.id, r.perturbation, r.reason, r.n"
    f" FROM source.rejection_rows r {_MAPPED}",
    f"INSERT OR IGNORE INTO response_rows SELECT r.key, m.id, {_ANSWER}, r.text, r.reasoning,"
    " r.finish_reason, r.prompt_tokens, r.completion_tokens, r.latency_s, r.seed, r.endpoint,"
    " r.state"
    f" FROM source.response_rows r {_MAPPED}",
    f"INSERT OR IGNORE INTO failure_rows SELECT r.key, m.id, {_ANSWER}, r.kind, r.phase, r.detail,"
    f" r.attempts, r.permanent, r.probe FROM source.failure_rows r {_MAPPED}",
    "INSERT OR IGNORE INTO likelihood_rows SELECT r.key, m.id, r.model, r.perturbation, r.level,"
    " r.total, r.n_tokens, r.n_bytes, r.tokens, r.endpoint"
    f" FROM source.likelihood_rows r {_MAPPED}",
    "DELETE FROM failure_rows WHERE key IN"
    " (SELECT key FROM response_rows UNION ALL SELECT key FROM likelihood_rows)",
)


def add(store: Store, source: Path) -> None:
    """Copy the facts of another run database into an open one; equal duplicates count once.

    Results are not copied: they follow from the facts.

    Raises:
        StoreError: The two contradict each other; the message names where.
    """
    connection = store.db.conn
    with told(source):
        connection.execute("ATTACH ? AS source", (reading_uri(source),))
        try:
            for what, query in _CONFLICTS:
                if (row := connection.execute(f"{query} LIMIT 1").fetchone()) is not None:
                    where = " ".join(str(from_sql(value)) for value in row)
                    msg = f"{source}: cannot be merged with the others: {what}: {where}"
                    raise StoreError(msg)
            with store.db.atomic():
                for statement in (*_COPIES, BUMP):
                    connection.execute(statement)
        finally:
            connection.execute("DETACH source")
    store.forget_ids()
