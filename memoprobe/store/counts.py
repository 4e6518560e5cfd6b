"""Count what is in a run database: where the run stands, and what its variants are like."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from memoprobe.records import Probe
from memoprobe.store.database import Cell, PlanRow, Store

_CELL = "model = :model AND benchmark = :benchmark AND perturbation = :perturbation"
_PLANNED = (  # of a row r that belongs to sample s, by whichever model
    "NOT s.superseded AND (r.sample, r.perturbation) IN"
    " (SELECT sample, perturbation FROM selection_rows)"
)


def edit_shares(store: Store) -> dict[tuple[str, str], dict[int, float]]:
    """Return (benchmark, perturbation) -> level -> mean share of tokens edited."""
    shares: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    sql = (
        "SELECT s.benchmark, r.perturbation, r.level, avg(r.edit_share) AS share"
        f" FROM variant_rows r JOIN sample_rows s ON s.id = r.sample WHERE {_PLANNED}"
        " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    for row in store.query(sql):
        shares[row["benchmark"], row["perturbation"]][row["level"]] = row["share"]
    return dict(shares)


def last_edit_shares(store: Store) -> dict[tuple[str, str, str], float]:
    """Return (benchmark, perturbation, sample id) -> edit share of the last level, in [0, 1]."""
    sql = (
        "SELECT s.benchmark, r.perturbation, s.sample_id, r.edit_share, max(r.level)"
        " FROM variant_rows r JOIN sample_rows s ON s.id = r.sample WHERE NOT s.superseded"
        " GROUP BY 1, 2, 3"
    )
    return {
        (row["benchmark"], row["perturbation"], row["sample_id"]): row["edit_share"]
        for row in store.query(sql)
    }


_VIEWS: Mapping[Probe, Sequence[tuple[str, str]]] = {
    "answers": (
        ("planned_response_rows", "planned_failure_rows"),
        ("planned_greedy_rows", "planned_greedy_failure_rows"),
    ),
    "likelihood": (("planned_likelihood_rows", "planned_likelihood_failure_rows"),),
}
"""Probe -> the views of what came of its slots, and of what failed."""

_STATES: Mapping[Probe, str] = {"answers": "state", "likelihood": "'ok'"}


def status(store: Store, probe: Probe | None = None) -> list[dict[str, Any]]:
    """Return per probe and cell what was planned, answered, truncated, empty, failed and is left.

    Counts are answers, or likelihoods. ``truncated`` and ``empty`` are part of ``answered``;
    samples without stored levels yet are planned with all of them.
    """
    return [
        {"probe": plan.probe, **plan.cell._asdict(), **_counts(store, plan)}
        for plan in store.plans(probe)
    ]


def _counts(store: Store, plan: PlanRow) -> dict[str, Any]:
    where = {"probe": plan.probe, **plan.cell._asdict()}
    chosen = (
        "FROM selection_rows c JOIN sample_rows s ON s.id = c.sample {more} WHERE NOT s.superseded"
        " AND c.probe = :probe AND c.model = :model AND s.benchmark = :benchmark"
        " AND c.perturbation = :perturbation"
    )
    (total,) = store.query(
        "SELECT count(*) AS samples, coalesce(sum(s.control), 0) AS controls "
        + chosen.format(more=""),
        where,
    )
    made_of = "JOIN variant_rows r ON r.sample = c.sample AND r.perturbation = c.perturbation"
    (made,) = store.query(
        f"SELECT count(*) AS n, count(DISTINCT r.sample) AS samples {chosen.format(more=made_of)}",
        where,
    )
    variants = made["n"] + (total["samples"] - made["samples"]) * (plan.levels + 1)
    states, failed = Counter[str](), Counter[str]()
    for outcomes, failures in _VIEWS[plan.probe]:
        states += _tally(store, _STATES[plan.probe], outcomes, plan.cell)
        failed += _tally(store, "kind", failures, plan.cell)
    planned = variants * plan.repeats * plan.answers + total["samples"] * plan.greedy
    answered = states.total()
    return {
        "samples": total["samples"],
        "controls": total["controls"],
        "planned": planned,
        "answered": answered,
        "truncated": states.get("truncated", 0) + states.get("truncated_empty", 0),
        "empty": states.get("empty", 0) + states.get("truncated_empty", 0),
        "failed": dict(sorted(failed.items())),
        "left": max(0, planned - answered - failed.total()),
    }


def _tally(store: Store, column: str, table: str, cell: Cell) -> Counter[str]:
    sql = f"SELECT {column} AS what, count(*) AS n FROM {table} WHERE {_CELL} GROUP BY 1"
    return Counter({row["what"]: row["n"] for row in store.query(sql, cell._asdict())})


def flaws(store: Store, cell: Cell) -> dict[str, dict[str, int]]:
    """Return sample id -> state, or kind of failure -> how many of its answers are none."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    sql = (
        f"SELECT sample_id, state AS kind, count(*) AS n FROM planned_response_rows WHERE {_CELL}"
        " AND state <> 'ok' GROUP BY 1, 2 UNION ALL"
        f" SELECT sample_id, kind, count(*) FROM planned_failure_rows WHERE {_CELL} GROUP BY 1, 2"
        " ORDER BY 1, 2"
    )
    for row in store.query(sql, cell._asdict()):
        found[row["sample_id"]][row["kind"]] = row["n"]
    return dict(found)


def characters_a_token(store: Store) -> float | None:
    """Return how many characters of a prompt make a token, None where no server told."""
    (row,) = store.query(
        "SELECT sum(length(p.prompt)) AS characters, sum(r.prompt_tokens) AS tokens FROM prompts p"
        " JOIN responses r USING (benchmark, sample_id, perturbation, level)"
        " WHERE r.repeat = 1 AND r.answer = 1 AND r.prompt_tokens > 0"
    )
    return row["characters"] / row["tokens"] if row["tokens"] else None


def n_samples_answered(store: Store, cell: Cell) -> int:
    """Return how many planned samples of a cell have any response."""
    sql = f"SELECT count(DISTINCT sample) AS n FROM planned_response_rows WHERE {_CELL}"
    (row,) = store.query(sql, cell._asdict())
    return int(row["n"])


def rejected(store: Store) -> dict[tuple[str, str], dict[str, int]]:
    """Return (benchmark, perturbation) -> how many candidates were rejected, by reason."""
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    sql = (
        "SELECT s.benchmark, r.perturbation, r.reason, sum(r.n) AS n FROM rejection_rows r"
        f" JOIN sample_rows s ON s.id = r.sample WHERE {_PLANNED} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    for row in store.query(sql):
        counts[row["benchmark"], row["perturbation"]][row["reason"]] = row["n"]
    return dict(counts)
