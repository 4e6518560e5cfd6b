"""Check what a run says across benchmarks: whose controls serve whom, and what is left out."""

import json
import sqlite3
from pathlib import Path
from statistics import fmean

import pytest
from typer.testing import CliRunner

from memoprobe import cli
from tests import fakes
from tests.test_cli import memoprobe, rows

QUICK = ("--levels", "2", "--answers", "2", "--repeats", "1")


def split(path, name, **changes):
    """Write the rows of a benchmark under another name, changed; None takes a key away."""
    found = [json.loads(line) | changes for line in path.read_text().splitlines()]
    kept = [{key: value for key, value in row.items() if value is not None} for row in found]
    other = path.with_name(f"{name}.jsonl")
    other.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    return other


def run(*paths, more=()):
    """Ask the fake server about benchmarks and return what the run prints."""
    chosen = [word for path in paths for word in ("--benchmark", path)]
    with fakes.serve() as fake:
        return memoprobe(
            "run", "--base-url", fake.url, "--model", "fake", *chosen,
            "--task", "program_repair", "--db", "run.db", *QUICK, *more,
        )  # fmt: skip


def test_a_benchmark_of_controls_serves_the_items_of_another(repairs):
    """Items rank among the controls of every file, and are contrasted with all of them."""
    items = split(repairs, "items", control=False)
    controls = split(repairs, "controls", control=True)

    text = run(repairs, items, controls)

    found = rows(
        "run.db",
        "SELECT benchmark, control, min(control_p) AS least, count(control_p) AS known"
        " FROM sensitivities JOIN samples USING (benchmark, sample_id)"
        " WHERE definition = 'recall' AND metric = 'levenshtein' GROUP BY 1, 2",
    )
    known = {(row["benchmark"], row["control"]): row["known"] for row in found}
    assert known == {("controls", 1): 6, ("items", 0): 6, ("repairs", 0): 4, ("repairs", 1): 2}
    assert all(round(row["least"] * (8 if row["control"] else 9), 9) % 1 == 0 for row in found)
    contrasts = rows(
        "run.db",
        "SELECT DISTINCT context, n_subject, n_rest FROM comparisons"
        " WHERE question = 'memorization' AND definition = 'calibrated' AND test = 'mean'"
        " ORDER BY context",
    )
    assert [tuple(row.values()) for row in contrasts] == [("items", 6, 8), ("repairs", 4, 8)]
    assert "items' minus controls'" in text


def test_samples_without_a_reference_are_named(repairs):
    """It is said once of which benchmark they are and what they are compared with."""
    bare = split(repairs, "bare", reference=None)

    run(repairs, bare)
    said = CliRunner().invoke(cli.app, ["score", "run.db"]).stderr

    assert said.startswith("memoprobe: bare: 6 of its samples have no reference; their answers")
    definitions = rows(
        "run.db", "SELECT DISTINCT definition FROM sensitivities WHERE benchmark = 'bare'"
    )
    found = {row["definition"] for row in definitions}
    assert "calibrated" in found
    assert found.isdisjoint({"recall", "exact", "recall_last"})


def test_a_pilots_spread_is_that_within_a_cell(repairs):
    """Neither what sets benchmarks or controls apart nor a placebo is part of it."""
    run(repairs, split(repairs, "others"), more=["--placebo"])
    with sqlite3.connect("run.db") as connection:
        connection.execute(
            "UPDATE sensitivity_rows SET value = rowid % 7 * .01 + (benchmark = 'others')"
            " + 2 * (sample_id IN ('r4', 'r5')) + rowid % 3 * (perturbation = 'placebo')"
        )
    connection.close()
    cells = {}
    for row in rows(
        "run.db",
        "SELECT benchmark, control, value FROM sensitivities"
        " JOIN samples USING (benchmark, sample_id) WHERE perturbation = 'rename'"
        " AND metric = 'token_levenshtein' AND definition = 'calibrated'",
    ):
        cells.setdefault((row["benchmark"], row["control"]), []).append(row["value"])
    squares = sum((value - fmean(cell)) ** 2 for cell in cells.values() for value in cell)
    expected = 2.80 * (squares / (12 - 4) * (1 / 4 + 1 / 2)) ** 0.5
    Path("next.toml").write_text(
        '[[models]]\nname = "m"\nbase_urls = ["http://127.0.0.1:9/v1"]\n'
        '[[benchmarks]]\npath = "repairs.jsonl"\ntask = "program_repair"\n'
    )

    plan = json.loads(memoprobe("plan", "next.toml", "--json", "--db", "run.db"))

    assert len(cells) == 4
    assert squares > 0
    assert plan["smallest_effect"] == pytest.approx(expected)
