"""Facts about the pages with prepared queries, served by the real Datasette."""

import json
import os
import re
import signal
import subprocess
import sys
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from memoprobe.cli import app
from memoprobe.pipeline import viewing
from tests import report_run

ITEM = {"model": "alpha", "benchmark": "repairs", "sample_id": "item-0"}
EMPTY = {"failures", "apart_from_controls"}  # in the small run


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Serve the small run's database by the command; yield its address."""
    db = report_run.once(tmp_path_factory)
    command = [sys.executable, "-m", "memoprobe", "view", os.fspath(db), "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    found = None
    while found is None and (line := process.stderr.readline()):
        found = re.search(r"running on (http://\S+)", line)
    yield f"{found[1]}/{db.stem}"
    os.killpg(process.pid, signal.SIGINT)
    with process.stderr:
        rest = process.stderr.read()
    assert process.wait(timeout=30) == 0
    assert "Traceback" not in rest


@pytest.mark.parametrize("name", viewing.QUERIES)
def test_every_prepared_query_runs(served, name):
    """Each has a page by its name, and finds rows in the small run."""
    asked = {"_shape": "objects", **ITEM}
    with urlopen(f"{served}/{name}.json?{urlencode(asked)}") as reply:
        found = json.load(reply)

    assert not found.get("error")
    assert bool(found["rows"]) or name in EMPTY


def test_query_of_one_sample(served):
    """An item's answers stand with their scores, level by level."""
    with urlopen(f"{served}/answers.json?{urlencode({'_shape': 'objects', **ITEM})}") as reply:
        rows = json.load(reply)["rows"]

    assert {row["perturbation"] for row in rows} == {"rename", "placebo"}
    assert {row["level"] for row in rows} == set(range(report_run.LEVELS + 1))
    assert all(row["text"] and row["metric"] for row in rows if row["state"] == "ok")


def test_without_datasette(tmp_path_factory, monkeypatch):
    """The message names the extra."""
    monkeypatch.setattr(viewing, "READY", "no_such_package")

    result = CliRunner().invoke(app, ["view", os.fspath(report_run.once(tmp_path_factory))])

    assert 'pip install "memoprobe[view]"' in str(result.exception)
