"""Create what a run database needs for likelihoods and greedy answers beside sampled ones.

What is planned is planned by ``probe``: a model may be asked for answers to some samples and
for likelihoods of others. Called by a migration, so it never changes once that has shipped.
"""

import sqlite_utils

_PLAN = {
    "probe": str,  # records.Probe
    "model": str,
    "benchmark": str,
    "perturbation": str,
    "levels": int,
    "repeats": int,
    "answers": int,
    "greedy": int,  # answers at temperature 0, a sample
}
_SELECTION = {"probe": str, "model": str, "perturbation": str, "sample": int}
_PLACE = "s.benchmark, s.sample_id, r.perturbation, r.level"
_CURRENT = "JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"


def create(db: sqlite_utils.Database) -> None:
    """Plan by probe, keep likelihoods and how well detectors do, and read all of it back."""
    for view in ("planned_response_rows", "planned_failure_rows", "failures"):
        db.view(view).drop()
    for table, columns, key in (
        ("plan_rows", _PLAN, ("probe", "model", "benchmark", "perturbation")),
        ("selection_rows", _SELECTION, ("probe", "model", "perturbation", "sample")),
    ):
        db.execute(f"ALTER TABLE {table} RENAME TO old_rows")
        old = ", ".join(db.table("old_rows").columns_dict)
        db.table(table).create(columns, pk=key)
        db.execute(f"INSERT INTO {table} (probe, {old}) SELECT 'answers', {old} FROM old_rows")
        db.table("old_rows").drop()
    db.execute("UPDATE plan_rows SET greedy = 0")
    db.table("failure_rows").add_column("probe", str, not_null_default="answers")
    place = {"sample": int, "model": str, "perturbation": str, "level": int}
    db.table("likelihood_rows").create(
        {
            "key": bytes,
            **place,
            "total": float,
            "n_tokens": int,
            "n_bytes": int,
            "tokens": bytes,
            "endpoint": str,
        }
    ).create_index(["model", "sample", "perturbation", "level"])
    db.table("likelihood_rows").create_index(["key"], unique=True)
    _create_views(db)
    _create_detections(db)


def _create_views(db: sqlite_utils.Database) -> None:
    db.create_view(
        "failures",
        f"SELECT r.model, {_PLACE}, r.repeat, r.answer, r.kind, r.phase, r.detail, r.attempts,"
        f" r.permanent, r.probe FROM failure_rows r {_CURRENT}",
    )
    db.create_view(
        "likelihoods",
        f"SELECT r.model, {_PLACE}, r.total, r.n_tokens, r.n_bytes,"
        f" lower(hex(r.tokens)) AS tokens, r.endpoint FROM likelihood_rows r {_CURRENT}",
    )
    sampled = " AND r.repeat BETWEEN 1 AND p.repeats AND r.answer <= p.answers"
    for view, probe, table, among in (
        ("planned_response_rows", "answers", "response_rows", sampled),
        (
            "planned_failure_rows",
            "answers",
            "failure_rows",
            f" AND r.probe = 'answers'{sampled}",
        ),
        ("planned_greedy_rows", "answers", "response_rows", " AND r.repeat = 0 AND p.greedy"),
        (
            "planned_greedy_failure_rows",
            "answers",
            "failure_rows",
            " AND r.probe = 'answers' AND r.repeat = 0 AND p.greedy",
        ),
        ("planned_likelihood_rows", "likelihood", "likelihood_rows", ""),
        (
            "planned_likelihood_failure_rows",
            "likelihood",
            "failure_rows",
            " AND r.probe = 'likelihood'",
        ),
    ):
        # A cross join keeps this order, in which the rows of a cell come sample by sample.
        db.create_view(
            view,
            "SELECT r.*, s.benchmark, s.sample_id FROM sample_rows s"
            f" CROSS JOIN plan_rows p ON p.benchmark = s.benchmark AND p.probe = '{probe}'"
            " CROSS JOIN selection_rows c ON c.probe = p.probe AND c.model = p.model"
            " AND c.perturbation = p.perturbation AND c.sample = s.id"
            f" CROSS JOIN {table} r ON r.model = c.model AND r.sample = s.id"
            f" AND r.perturbation = c.perturbation{among} WHERE NOT s.superseded",
        )


def _create_detections(db: sqlite_utils.Database) -> None:
    names = ("model", "benchmark", "perturbation", "detector", "metric", "definition")
    numbers = ("items", "controls", "auc", "auc_low", "auc_high", "found")
    shown = (*names, "n_items", "n_controls", *numbers)
    db.table("detection_rows").create(
        dict.fromkeys(names, str)
        | {"n_items": int, "n_controls": int}
        | dict.fromkeys(numbers, float)
        | {"unanswered": str}
    )
    chosen = "coalesce((SELECT value FROM run_info WHERE key = 'unanswered'), 'exclude')"
    db.create_view(
        "detections",
        f"SELECT {', '.join(shown)} FROM detection_rows WHERE unanswered IN ('both', {chosen})",
    )
