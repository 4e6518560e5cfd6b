"""Hold the history of the run database's schema: append a function, never edit a shipped one.

Tables named ``*_rows`` are normalized storage; the views beside them carry the
names and columns that outside readers rely on, superseded samples left out.
"""

import sqlite3
from collections.abc import Callable

import sqlite_utils

from memoprobe import tracks
from memoprobe.errors import StoreError

APPLICATION_ID = 0x6D656D70  # "memp", in the header of the file: the database is ours

_SLOT = {
    "sample": int,
    "model": str,
    "perturbation": str,
    "level": int,
    "repeat": int,
    "answer": int,
}
_CHOSEN = "coalesce((SELECT value FROM run_info WHERE key = 'unanswered'), 'exclude')"
_PLACE = "s.benchmark, s.sample_id, r.perturbation, r.level, r.repeat, r.answer"


def first(db: sqlite_utils.Database) -> None:
    """Create the tables and views of version 1."""
    db.table("run_info").create({"key": str, "value": str}, pk="key")
    db.table("sample_rows").create(
        {
            "id": int,
            "benchmark": str,
            "sample_id": str,
            "content_hash": str,
            "task": str,
            "language": str,
            "input_kind": str,
            "text": str,
            "context": str,
            "reference": str,
            "tests": str,
            "entry_point": str,
            "cluster": str,
            "date": str,
            "control": int,
            "superseded": int,
        },
        pk="id",
    ).create_index(["benchmark", "sample_id", "content_hash"], unique=True)
    db.table("plan_rows").create(
        {
            "model": str,
            "benchmark": str,
            "perturbation": str,
            "levels": int,
            "repeats": int,
            "answers": int,
        },
        pk=("model", "benchmark", "perturbation"),
    )
    # The samples that each plan takes in: not all that are stored need be of the newest run.
    db.table("selection_rows").create(
        {"model": str, "perturbation": str, "sample": int}, pk=("model", "perturbation", "sample")
    )
    # Facts counts every change of samples, plan and answers; results is the count that the
    # stored results were made from.
    revision = db.table("revision_rows")
    revision.create({"facts": int, "results": int})
    revision.insert({"facts": 0, "results": 0})
    db.table("variant_rows").create(
        {
            "sample": int,
            "perturbation": str,
            "level": int,
            "text": str,
            "distance": float,
            "edit_share": float,
            "rename_map": str,
        },
        pk=("sample", "perturbation", "level"),
    )
    db.table("prompt_rows").create(
        {"sample": int, "perturbation": str, "level": int, "interface": str, "prompt": str},
        pk=("sample", "perturbation", "level", "interface"),
    )
    db.table("rejection_rows").create(
        {"sample": int, "perturbation": str, "reason": str, "n": int},
        pk=("sample", "perturbation", "reason"),
    )
    _create_outcomes(db)
    _create_results(db)
    _create_views(db)


def _create_outcomes(db: sqlite_utils.Database) -> None:
    db.table("response_rows").create(
        {
            "key": bytes,
            **_SLOT,
            "text": str,
            "reasoning": str,
            "finish_reason": str,
            "prompt_tokens": int,
            "completion_tokens": int,
            "latency_s": float,
            "seed": int,
            "endpoint": str,
            "state": str,
        }
    ).create_index(
        # Covers resuming and counting: neither reads the wide rows of a large run.
        ["model", "sample", "perturbation", "level", "repeat", "answer", "state"]
    )
    db.table("response_rows").create_index(["key"], unique=True)
    db.table("failure_rows").create(
        {
            "key": bytes,
            **_SLOT,
            "kind": str,
            "phase": str,
            "detail": str,
            "attempts": int,
            "permanent": int,
        },
        pk="key",
    ).create_index(["sample", "model"])


def _create_results(db: sqlite_utils.Database) -> None:
    db.table("score_rows").create(
        {
            "sample": int,
            "model": str,
            "perturbation": str,
            "metric": str,
            "level": int,
            "repeat": int,
            "answer": int,
            "value": float,
            "rule": str,
        },
        pk=("sample", "model", "perturbation", "metric", "level", "repeat", "answer"),
    )
    place = {"model": str, "benchmark": str, "sample_id": str, "perturbation": str}
    db.table("sensitivities").create(
        {
            **place,
            "metric": str,
            "definition": str,
            "value": float,
            "n_levels": int,
            "noise_floor": float,
            "excess": float,
            "answer_noise_p": float,
            "control_p": float,
        },
        pk=("model", "benchmark", "sample_id", "perturbation", "metric", "definition"),
    )
    db.table("cell_rows").create(
        {
            "model": str,
            "benchmark": str,
            "perturbation": str,
            "metric": str,
            "excluded": int,
            "floor": float,
        },
        pk=("model", "benchmark", "perturbation", "metric"),
    )
    text = ("question", "subject", "context", "perturbation", "pool", "metric", "definition")
    numbers = ("statistic", "p_value", "p_adjusted", "effect", "effect_low", "effect_high")
    db.table("comparisons").create(
        dict.fromkeys(text, str) | {"n_subject": int, "n_rest": int} | dict.fromkeys(numbers, float)
    )
    db.table("families").create(
        {
            "question": str,
            "definition": str,
            "metric": str,
            "perturbation": str,
            "correction": str,
            "size": int,
            "primary": int,
        }
    )


def _create_views(db: sqlite_utils.Database) -> None:
    current = "JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
    db.create_view(
        "samples",
        "SELECT benchmark, sample_id, content_hash, task, language, input_kind, text, context,"
        " reference, tests, entry_point, cluster, date, control"
        " FROM sample_rows WHERE NOT superseded",
    )
    db.create_view(
        "variants",
        "SELECT s.benchmark, s.sample_id, r.perturbation, r.level, r.text, r.distance,"
        f" r.edit_share, r.rename_map FROM variant_rows r {current}",
    )
    db.create_view(
        "prompts",
        "SELECT s.benchmark, s.sample_id, r.perturbation, r.level, r.interface, r.prompt"
        f" FROM prompt_rows r {current}",
    )
    db.create_view(
        "responses",
        f"SELECT r.model, {_PLACE}, r.text, r.reasoning, r.finish_reason, r.prompt_tokens,"
        " r.completion_tokens, r.latency_s, r.seed, r.endpoint, r.state"
        f" FROM response_rows r {current}",
    )
    db.create_view(
        "failures",
        f"SELECT r.model, {_PLACE}, r.kind, r.phase, r.detail, r.attempts, r.permanent"
        f" FROM failure_rows r {current}",
    )
    for kind in ("response", "failure"):
        # A cross join keeps this order, in which the rows of a cell come sample by sample.
        db.create_view(
            f"planned_{kind}_rows",
            "SELECT r.*, s.benchmark, s.sample_id FROM sample_rows s"
            " CROSS JOIN plan_rows p ON p.benchmark = s.benchmark"
            " CROSS JOIN selection_rows c ON c.model = p.model"
            " AND c.perturbation = p.perturbation AND c.sample = s.id"
            f" CROSS JOIN {kind}_rows r ON r.model = c.model AND r.sample = s.id"
            " AND r.perturbation = c.perturbation"
            " AND r.repeat <= p.repeats AND r.answer <= p.answers WHERE NOT s.superseded",
        )
    db.create_view(
        "scores",
        f"SELECT r.model, {_PLACE}, r.metric, r.value, r.rule FROM score_rows r {current}",
    )
    db.create_view(
        "curves",
        "SELECT model, benchmark, sample_id, perturbation, metric, level, avg(value) AS mean,"
        " count(*) AS n FROM scores"
        " GROUP BY model, benchmark, sample_id, perturbation, metric, level",
    )


def second(db: sqlite_utils.Database) -> None:
    """Keep results both with and without what was not answered; verdicts; more of each test.

    All that is derived is dropped, and made again by the next ``score``.
    """
    for view in ("scores", "curves"):
        db.view(view).drop()
    for table in ("score_rows", "cell_rows", "sensitivities", "comparisons", "families"):
        db.table(table).drop()
    place = {"model": str, "benchmark": str, "perturbation": str, "metric": str}
    db.table("score_rows").create(
        {
            "sample": int,
            "model": str,
            "perturbation": str,
            "metric": str,
            "level": int,
            "repeat": int,
            "answer": int,
            "value": float,
            "rule": str,
            "answered": int,
            "verdict": str,
        },
        pk=("sample", "model", "perturbation", "metric", "level", "repeat", "answer"),
    )
    db.table("cell_rows").create(
        {**place, "floor": float, "version": int, "excluded": int, "excluded_zero": int},
        pk=tuple(place),
    )
    # In "unanswered": "exclude" where what was not answered is left out, "zero" where it
    # counts as 0, "both" where everything was answered.
    numbers = ("noise_floor", "excess", "answer_noise_p", "control_p", "control_q")
    db.table("sensitivity_rows").create(
        {
            "model": str,
            "benchmark": str,
            "sample_id": str,
            "perturbation": str,
            "metric": str,
            "definition": str,
            "value": float,
            "n_levels": int,
            **dict.fromkeys(numbers, float),
            "unanswered": str,
        },
        pk=(
            *("model", "benchmark", "sample_id", "perturbation"),
            *("metric", "definition", "unanswered"),
        ),
    )
    test = ("question", "test", "subject", "context")
    over = ("perturbation", "pool", "metric", "definition")
    numbers = ("statistic", "p_value", "p_adjusted", "p_holm", "p_bh")
    effect = ("effect", "effect_low", "effect_high")
    db.table("comparison_rows").create(
        dict.fromkeys((*test, *over), str)
        | {"n_subject": int, "n_rest": int}
        | dict.fromkeys((*numbers, *effect), float)
        | {"note": str, "unanswered": str}
    )
    db.table("family_rows").create(
        dict.fromkeys(("question", "test", "definition", "metric", "perturbation"), str)
        | {"correction": str, "size": int, "primary": int, "unanswered": str}
    )
    db.execute("UPDATE revision_rows SET results = -1")  # so that the next score makes them all
    db.table("verdict_rows").create({"key": str, "verdict": str}, pk="key")
    _create_result_views(db)


def _create_result_views(db: sqlite_utils.Database) -> None:
    current = "JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
    db.create_view(
        "scores",
        f"SELECT r.model, {_PLACE}, r.metric, r.value, r.rule, r.verdict,"
        " CASE WHEN r.metric <> 'tests' AND s.reference IS NULL THEN 'self' ELSE 'given' END"
        f" AS reference FROM score_rows r {current} AND (r.answered OR {_CHOSEN} = 'zero')",
    )
    db.create_view(
        "curves",
        "SELECT model, benchmark, sample_id, perturbation, metric, level, avg(value) AS mean,"
        " count(*) AS n FROM scores"
        " GROUP BY model, benchmark, sample_id, perturbation, metric, level",
    )
    for view, table in (
        ("sensitivities", "sensitivity_rows"),
        ("comparisons", "comparison_rows"),
        ("families", "family_rows"),
    ):
        columns = ", ".join(
            f"[{name}]" for name in db.table(table).columns_dict if name != "unanswered"
        )
        db.create_view(
            view, f"SELECT {columns} FROM {table} WHERE unanswered IN ('both', {_CHOSEN})"
        )


def third(db: sqlite_utils.Database) -> None:
    """Keep whether perturbed code still means the same, and likelihoods and greedy answers.

    Level 0 of perturbed code says whether it counts at all.
    """
    tracks.create(db)
    db.table("meaning_rows").create(
        {"sample": int, "perturbation": str, "level": int, "way": str, "holds": int},
        pk=("sample", "perturbation", "level"),
    )
    db.create_view(
        "meaning_checks",
        "SELECT s.benchmark, r.perturbation, s.language, r.way, r.level, count(*) AS n,"
        " sum(r.holds) AS passed, avg(r.holds) AS share"
        " FROM meaning_rows r JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
        " GROUP BY 1, 2, 3, 4, 5",
    )


def fourth(db: sqlite_utils.Database) -> None:
    """Keep further references, and tell of every score what it was measured against."""
    db.table("sample_rows").add_column("alternatives", str)  # JSON; null where there is none
    db.view("samples").drop()
    db.create_view(
        "samples",
        "SELECT benchmark, sample_id, content_hash, task, language, input_kind, text, context,"
        " reference, alternatives, tests, entry_point, cluster, date, control"
        " FROM sample_rows WHERE NOT superseded",
    )
    db.view("scores").drop()
    db.create_view(
        "scores",
        f"SELECT r.model, {_PLACE}, r.metric, r.value, r.rule, r.verdict,"
        " CASE WHEN r.metric = 'tests' THEN 'given' WHEN s.reference IS NULL THEN 'self'"
        " WHEN s.alternatives IS NULL THEN 'given'"
        " ELSE 'nearest of ' || (1 + json_array_length(s.alternatives)) END AS reference"
        " FROM score_rows r JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
        f" AND (r.answered OR {_CHOSEN} = 'zero')",
    )


MIGRATIONS: tuple[Callable[[sqlite_utils.Database], None], ...] = (first, second, third, fourth)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to the newest schema, each step in a transaction of its own.

    Raises:
        StoreError: A newer memoprobe wrote it.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        known = f"this memoprobe knows up to {len(MIGRATIONS)}: upgrade memoprobe"
        msg = f"the database has schema {version}, {known}"
        raise StoreError(msg)
    db = sqlite_utils.Database(connection)
    for number, step in enumerate(MIGRATIONS[version:], version + 1):
        with db.atomic():
            step(db)
            connection.execute(f"PRAGMA user_version = {number}")
