"""Run the demo in small, through the command."""

from pathlib import Path

import pytest
import sqlite_utils

from memoprobe.demo import benchmark
from tests.test_cli import memoprobe


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(benchmark, "N_ITEMS", 12)
    monkeypatch.setattr(benchmark, "N_SIBLINGS", 150)


def test_the_demo_is_an_ordinary_run_that_tells_its_halves_apart(small):
    """What the model has seen it recalls better, and a second demo replaces the first."""
    memoprobe("demo", "--out", "d", "--seed", 5)
    text = memoprobe("demo", "--out", "d", "--seed", 4)

    (recalls,) = sqlite_utils.Database("d/demo.db").query(
        "SELECT avg(CASE WHEN control THEN NULL ELSE value END) AS items,"
        " avg(CASE WHEN control THEN value END) AS controls"
        " FROM sensitivities JOIN samples USING (benchmark, sample_id)"
        " WHERE definition = 'recall' AND perturbation <> 'placebo'"
    )
    assert recalls["items"] > recalls["controls"] + 0.1
    assert "items minus controls · calibrated · token_levenshtein" in text
    assert "d/report.html" in text
    assert Path("d/report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_folder_that_cannot_be_made_is_told(small):
    """One message and exit code 2."""
    Path("file").touch()

    assert "file/d" in memoprobe("demo", "--out", "file/d", code=2)
