"""Serve a database as pages with prepared queries, by Datasette (the extra ``view``)."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from memoprobe.errors import ConfigError

READY = "datasette"


class Query(NamedTuple):
    """Hold a query that a page is made for; ``:names`` in it are the page's fields."""

    title: str
    sql: str


_ITEM = "model, benchmark, sample_id, perturbation"
_ONE = "benchmark = :benchmark AND sample_id = :sample_id"
_SLOT = "perturbation, level, repeat, answer"

QUERIES: Mapping[str, Query] = MappingProxyType(
    {
        "falls": Query(
            "Items whose performance falls most, by the calibrated definition",
            f"SELECT {_ITEM}, metric, value AS fall, noise_floor, answer_noise_p, control_p,"
            " control_q FROM sensitivities WHERE definition = 'calibrated'"
            " AND perturbation <> 'placebo' ORDER BY value DESC LIMIT 200",
        ),
        "apart_from_controls": Query(
            "Items that fall or recall beyond the named controls (control_q up to 0.05)",
            f"SELECT {_ITEM}, metric, definition, value, control_p, control_q FROM sensitivities"
            " WHERE control_q <= 0.05 ORDER BY control_q, value DESC",
        ),
        "levels": Query(
            "Mean performance of one sample at every level",
            "SELECT model, perturbation, metric, level, mean, n FROM curves"
            f" WHERE {_ONE} ORDER BY model, perturbation, metric, level",
        ),
        "texts": Query(
            "One sample's text at every level",
            "SELECT perturbation, level, edit_share, distance, text, rename_map FROM variants"
            f" WHERE {_ONE} ORDER BY perturbation, level",
        ),
        "answers": Query(
            "What a model answered to one sample, with its scores",
            f"SELECT r.{_SLOT.replace(', ', ', r.')}, r.state, s.metric, s.value, s.rule,"
            " s.verdict, r.text FROM responses r LEFT JOIN scores s"
            f" USING ({_ITEM}, level, repeat, answer) WHERE r.model = :model"
            " AND r.benchmark = :benchmark AND r.sample_id = :sample_id"
            " ORDER BY r.perturbation, r.level, r.repeat, r.answer, s.metric",
        ),
        "failures": Query(
            "What failed, by kind, with an example of each",
            "SELECT model, benchmark, kind, phase, count(*) AS n, min(detail) AS example"
            " FROM failures GROUP BY model, benchmark, kind, phase ORDER BY n DESC",
        ),
        "states": Query(
            "How the answers of each model and level ended",
            "SELECT model, benchmark, level, state, count(*) AS n, avg(completion_tokens) AS"
            " tokens FROM responses GROUP BY model, benchmark, level, state"
            " ORDER BY model, benchmark, level, n DESC",
        ),
        "claims": Query(
            "The comparisons, smallest adjusted p first",
            "SELECT question, subject, context, perturbation, metric, definition, n_subject,"
            " n_rest, effect, effect_low, effect_high, p_value, p_adjusted FROM comparisons"
            " ORDER BY p_adjusted",
        ),
    }
)
"""Name in the address -> query."""


def metadata(name: str) -> dict[str, object]:
    """Return what Datasette shall know of the database called ``name``."""
    queries = {key: query._asdict() for key, query in QUERIES.items()}
    return {"title": f"memoprobe: {name}", "databases": {name: {"queries": queries}}}


def serve(db: Path, host: str, port: int, *, opens: bool) -> int:
    """Serve the database until interrupted, and return Datasette's exit code.

    Raises:
        ConfigError: Datasette is not installed.
    """
    if importlib.util.find_spec(READY) is None:
        msg = 'view needs Datasette: pip install "memoprobe[view]"'
        raise ConfigError(msg)
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "metadata.json"
        described.write_text(json.dumps(metadata(db.stem)), encoding="utf-8")
        command = [sys.executable, "-m", READY, "serve", os.fspath(db.absolute())]
        command += ["--host", host, "--port", str(port), "--metadata", os.fspath(described)]
        # No prepared query of a full-size run may end after Datasette's second.
        command += ["--setting", "sql_time_limit_ms", "60000", *(["--open"] if opens else [])]
        with subprocess.Popen(command) as process:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the terminal has sent it to both
                process.wait()
                return 0
