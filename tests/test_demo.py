"""Run the demo through the command, at full size: it must show what it says."""

import os
import re
import signal
from pathlib import Path

import pytest

from memoprobe.pipeline import progress
from memoprobe.store import open_store
from tests.test_cli import memoprobe, rows

MEMORIZATION = (
    "SELECT context AS benchmark, definition, effect, effect_low FROM comparisons"
    " WHERE pool = 'default' AND question = 'memorization' AND test = 'mean'"
    " AND metric = 'token_levenshtein' AND definition IN ('calibrated', 'recall')"
)
CONTROLS = (
    "SELECT min(above) AS above FROM (SELECT avg(value) - max(c.floor) AS above"
    " FROM sensitivities JOIN samples USING (benchmark, sample_id)"
    " JOIN cell_rows c USING (benchmark, perturbation, metric)"
    " WHERE definition = 'recall' AND control AND metric = 'token_levenshtein'"
    " GROUP BY benchmark, perturbation)"
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return the folder of a demo that replaces an older one, and what it prints."""
    out = tmp_path_factory.mktemp("demo")
    with open_store(out / "demo.db", write=True) as store:
        store.set_info({"of": "an earlier demo"})
    return out, memoprobe("demo", "--out", out)


def test_the_demo_tells_what_there_is_to_see(shown):
    """Table, contrasts, explanation and report are there."""
    out, text = shown

    assert "minus controls'" in text
    assert "What to see" in text
    assert str(out / "report.html") in text
    assert Path(out, "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_what_was_seen_often_falls_more_than_the_controls(shown):
    """The interval of the difference of falls is above 0, in every task."""
    found = rows(shown[0] / "demo.db", MEMORIZATION)
    lows = {(row["benchmark"], row["definition"]): row["effect_low"] for row in found}

    for task in ("code_generation", "program_repair", "code_summarization"):
        assert lows[f"demo_{task}", "calibrated"] > 0


def test_what_was_seen_once_shows_nothing(shown):
    """The honest negative: neither fall nor recall come near those of what was seen often."""
    found = rows(shown[0] / "demo.db", MEMORIZATION)
    effects = {(row["benchmark"], row["definition"]): row["effect"] for row in found}

    for definition in ("calibrated", "recall"):
        often = effects["demo_code_generation", definition]
        assert abs(effects["demo_seen_once", definition]) < often / 2


def test_controls_have_something_to_lose(shown):
    """The model has learned of such items: unseen ones lie above the metric's floor."""
    ((controls,),) = (tuple(row.values()) for row in rows(shown[0] / "demo.db", CONTROLS))

    assert controls > 0.05


def test_the_worked_example_is_of_this_demo(shown):
    """docs/statistics.md reads lines of the demo; machines differ by roundings of a draw or two."""
    page = (Path(__file__).parents[1] / "docs" / "statistics.md").read_text(encoding="utf-8")
    example, printed = page.split("## A worked example")[1].split("```")[1], shown[1]
    read = [line for line in example.splitlines() if line.startswith("demo_")]

    assert len(read) == 5
    for line in read:
        title, values = words_and_figures(line)
        (now,) = (
            figures
            for words, figures in map(words_and_figures, printed.splitlines())
            if words == title
        )
        assert values == pytest.approx(now[: len(values)], abs=0.05)


def words_and_figures(line):
    """Return what a line of a table is about, and its numbers without the percentages."""
    line = line.replace("\N{MINUS SIGN}", "-")
    title = re.split(r"  +(?=-?\d)", line)[0].split()
    return title, [float(n) for n in re.findall(r"(?<!\w)-?\d+(?:\.\d+)?(?![\d.%])", line)]


def test_only_a_database_that_nobody_writes_is_replaced():
    """A demo neither takes the file from under another one nor removes what is not its own."""
    Path("d").mkdir()
    db = Path("d", "demo.db")
    with open_store(db, write=True):
        assert "is writing this database" in memoprobe("demo", "--out", "d", code=2)
        assert db.exists()
    db.write_text("a letter")
    assert "demo.db" in memoprobe("demo", "--out", "d", code=2)
    assert db.read_text() == "a letter"


def test_a_stopped_demo_ends_with_the_signal(monkeypatch):
    """Ctrl-C is told as such, and its exit code is the shell's."""

    def stop(asked):
        if not asked.stopping:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(progress, "shower", lambda _: stop)

    assert "stopped" in memoprobe("demo", "--out", "d", code=130)


def test_a_folder_that_cannot_be_made_is_told():
    """One message and exit code 2."""
    Path("file").touch()

    assert "file/d" in memoprobe("demo", "--out", "file/d", code=2)
