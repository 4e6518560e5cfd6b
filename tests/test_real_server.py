"""Run the straight line against a real server, where the environment names one."""

import os
from pathlib import Path

import pytest

from tests.test_cli import memoprobe, rows

URL = os.environ.get("MEMOPROBE_TEST_BASE_URL", "")
MODEL = os.environ.get("MEMOPROBE_TEST_MODEL", "")

pytestmark = pytest.mark.skipif(
    not (URL and MODEL), reason="MEMOPROBE_TEST_BASE_URL and MEMOPROBE_TEST_MODEL name no server"
)


def test_a_run_on_a_real_server(repairs):
    """Every slot gets an answer, whatever the server makes of n; a second run sends nothing."""
    arguments = (
        "run", "--base-url", URL, "--model", MODEL, "--benchmark", repairs, "--task",
        "program_repair", "--limit", 1, "--levels", 2, "--max-tokens", 80,
    )  # fmt: skip

    first = memoprobe(*arguments)
    second = memoprobe(*arguments)

    assert first == second
    stored = rows("memoprobe.db", "SELECT * FROM responses")
    assert len(stored) == 27
    assert {row["state"] for row in stored} <= {"ok", "truncated"}
    assert memoprobe("check", URL, "--model", MODEL)
    memoprobe("report", "memoprobe.db")
    assert Path("report.html").stat().st_size > 10_000
