"""Run the demo in small, through the command."""

from pathlib import Path

import pytest

from memoprobe.demo import benchmark
from tests.test_cli import memoprobe, rows


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(benchmark, "N_ITEMS", 12)
    monkeypatch.setattr(benchmark, "N_SIBLINGS", 150)


def test_the_demo_is_an_ordinary_run_that_tells_its_halves_apart(small):
    """What the model has seen it recalls better, and a second demo replaces the first."""
    memoprobe("demo", "--out", "d", "--seed", 5)
    text = memoprobe("demo", "--out", "d", "--seed", 4)

    (recalls,) = rows(
        "d/demo.db",
        "SELECT avg(CASE WHEN control THEN NULL ELSE value END) AS items,"
        " avg(CASE WHEN control THEN value END) AS controls"
        " FROM sensitivities JOIN samples USING (benchmark, sample_id)"
        " WHERE definition = 'recall' AND perturbation <> 'placebo'",
    )
    assert recalls["items"] > recalls["controls"] + 0.1
    assert "minus controls'" in text
    assert "d/report.html" in text
    assert Path("d/report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_folder_that_cannot_be_made_is_told(small):
    """One message and exit code 2."""
    Path("file").touch()

    assert "file/d" in memoprobe("demo", "--out", "file/d", code=2)


def test_the_fall_of_what_was_seen_exceeds_that_of_the_controls():
    """At full size: controls above the floor, and the interval of the difference above 0."""
    memoprobe("demo", "--out", "d", "--seed", 3)

    (did,) = rows(
        "d/demo.db",
        "SELECT min(effect_low) AS low, count(*) AS n FROM comparisons WHERE pool = 'default'"
        " AND question = 'memorization' AND definition = 'calibrated'"
        " AND metric = 'token_levenshtein' AND test = 'mean'",
    )
    (controls,) = rows(
        "d/demo.db",
        "SELECT min(above) AS above FROM (SELECT avg(value) - max(c.floor) AS above"
        " FROM sensitivities JOIN samples USING (benchmark, sample_id)"
        " JOIN cell_rows c USING (benchmark, perturbation, metric)"
        " WHERE definition = 'recall' AND control AND metric <> 'tests'"
        " GROUP BY benchmark, perturbation, metric)",
    )
    assert did["n"] == 2
    assert did["low"] > 0
    assert controls["above"] > 0.1
