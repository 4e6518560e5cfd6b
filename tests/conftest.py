"""Share fixtures: a small benchmark of our own and a data folder of the test's own."""

import json
import os

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")

BUGGY = """def solve(first, second):
    total = first - second
    for index in range(second):
        square = index * index
        total = total + square
    offset = abs(total)
    return offset
"""
FIXED = BUGGY.replace("first - second", "first + second")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOPROBE_HOME", str(tmp_path / "home"))
    for name in list(os.environ):
        if name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def repairs(tmp_path):
    """Write six repair items, the last two of them controls."""
    path = tmp_path / "repairs.jsonl"
    rows = [
        {
            "id": f"r{number}",
            "input": BUGGY.replace("total", f"total_{number}"),
            "reference": FIXED.replace("total", f"total_{number}"),
            "entry_point": "solve",
            "language": "python",
            "control": number >= 4,
        }
        for number in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
