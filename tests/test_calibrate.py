"""What is known to be seen and unseen is counted right, and calibrate is an ordinary run."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import calibration, sensitivity
from memoprobe.calibration import drawing, page, probing, record, seeds_in, warm, writing
from memoprobe.calibration.detectors import DETECTORS, Value
from memoprobe.calibration.judging import (
    FALSE_POSITIVES,
    SPLITS,
    accuse,
    auc,
    falsely_called,
    judge,
    threshold,
)
from memoprobe.errors import Interrupted
from memoprobe.reference import corpus
from memoprobe.reference.model import fingerprint
from memoprobe.report.charts import svg
from tests.docs import ROOT
from tests.test_cli import memoprobe

SOME = st.lists(st.integers(0, 6), min_size=2, max_size=12)


def value(number, **changes):
    known = {
        "seed": 0,
        "task": "program_repair",
        "sample_id": "s1",
        "copies": 0,
        "detector": "recall",
    }
    return Value(**known | {"value": float(number)} | changes)


def group(numbers, **changes):
    return [value(each, sample_id=f"s{k}", **changes) for k, each in enumerate(numbers)]


@given(SOME, SOME)
def test_auc_is_the_share_of_pairs_in_the_right_order(seen, unseen):
    """Ties count half, and the interval holds the estimate."""
    wins = sum((a > b) + 0.5 * (a == b) for a in seen for b in unseen)
    found = auc(seen, unseen)

    assert found.estimate == pytest.approx(wins / (len(seen) * len(unseen)))
    assert 0 <= found.low <= found.estimate + 1e-9 <= found.high + 2e-9 <= 1 + 3e-9


@given(st.lists(st.integers(0, 30), min_size=1, max_size=90))
def test_the_threshold_lets_few_unseen_items_pass(unseen):
    """No lower one among the values would keep to 5 %."""
    values = np.array(unseen, dtype=float)
    found = threshold(values)
    lower = [each for each in unseen if each < found]

    assert np.mean(values > found) <= FALSE_POSITIVES
    assert all(np.mean(values > each) > FALSE_POSITIVES for each in lower)


def test_a_detector_is_judged_per_seed_task_and_number_of_copies():
    """Perfect, blind and turned round; what no control stands beside is not judged."""
    values = [
        *group(range(40)),
        *group([50, 60, 70], copies=16),
        *group([5.5, 19.5, 33.5], copies=4),
        *group([-1, -2], copies=1),
        *group([1, 2], copies=1, seed=1),
    ]
    rows = judge(values)

    assert [(row.seed, row.copies, row.n, row.n_unseen) for row in rows] == [
        (0, 1, 2, 40),
        (0, 4, 3, 40),
        (0, 16, 3, 40),
    ]
    assert [row.auc for row in rows] == [0, pytest.approx(0.5), 1]
    assert [row.true_positives for row in rows] == [0, 0, 1]
    assert rows[2].true_low < 1 == rows[2].true_high
    assert (rows[2].mean, rows[2].mean_unseen) == (60, 19.5)


def test_alarms_are_counted_on_unseen_items_alone():
    """Those of seen items are none; a detector without noise p has only control_p."""
    values = [
        *group(range(20), noise_p=0.01),
        *group(range(20), noise_p=0.5, task="code_summarization"),
        *group(range(20), detector="cdd"),
        *group(range(20), copies=16, noise_p=0.01),
    ]
    rows = {(row.task, row.detector, row.p_value): row for row in accuse(values)}

    assert len(rows) == 5
    assert rows["program_repair", "recall", "answer_noise_p"].share == 1
    assert rows["code_summarization", "recall", "answer_noise_p"].share == 0
    assert rows["program_repair", "cdd", "control_p"].low is None
    assert {row.n_unseen for row in rows.values()} == {20}


def test_false_calls_are_those_of_control_p():
    """Split by split they are what the pipeline's own ranking among controls calls."""
    values = np.round(np.random.default_rng(3).normal(size=60), 1)
    rng, shares = np.random.default_rng(8), []
    for _ in range(SPLITS):
        mixed = rng.permutation(values)
        rows = [_sensitivity(number, each) for number, each in enumerate(mixed)]
        ranked = sensitivity.against_controls(rows, {("b", str(k)) for k in range(30)})
        shares.append(np.mean([row.control_p < 0.05 for row in ranked[30:]]))

    assert falsely_called(values, np.random.default_rng(8)) == pytest.approx(np.mean(shares))


def _sensitivity(number, found):
    place = {"model": "m", "benchmark": "b", "perturbation": "p", "metric": "x"}
    nothing = {"noise_floor": None, "excess": None, "answer_noise_p": None, "control_p": None}
    return sensitivity.Sensitivity(
        sample_id=str(number),
        definition="recall",
        value=float(found),
        n_levels=5,
        **place | nothing,
    )


def test_the_first_targets_are_taken_of_every_number_of_copies():
    """In their order, no more than asked for."""
    known = [t for t in corpus.targets(1) if t.item.task == "program_repair"]
    found = probing.first(known, 3, 5)
    counts = {n: sum(t.copies == n for t in found) for n in (0, 1, 4, 16, 64)}

    assert counts == {0: 5, 1: 3, 4: 3, 16: 3, 64: 3}
    assert found == [t for t in known if t in found]


@pytest.fixture
def small(monkeypatch):
    """Ask of one task only."""
    monkeypatch.setattr(calibration, "TASKS", ("code_summarization",))
    monkeypatch.setattr(warm, "N_WARM", 3)


def test_calibrate_asks_judges_and_writes(small):
    """Every detector is judged, and the files agree with what is printed."""
    text = memoprobe("calibrate", "--out", "c", "--limit", "2", "--seed", "0", "--json")

    printed = json.loads(text)
    found = record.read(Path("c") / writing.FIGURES)
    with Path("c", writing.ITEMS).open(encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    assert record.as_json(found) == printed
    assert Path("c", writing.PAGE).read_text(encoding="utf-8") == page.render(found)
    assert "**A quick look**, at no more than 2 items" in page.render(found)
    assert {row.detector for row in found.judged} == set(DETECTORS)
    assert {(row.n, row.n_unseen) for row in found.judged} == {(2, 2)}
    assert {row["sample_id"] for row in items if row["copies"] == "64"} == {
        t.sample_id
        for t in probing.first(
            (t for t in corpus.targets(0) if t.item.task == "code_summarization"), 2, 2
        )
        if t.copies == 64
    }
    (recall,) = (r for r in found.judged if (r.detector, r.copies) == ("recall", 64))
    assert recall.mean > 0.9 > recall.mean_unseen
    assert "recall" in page.summary(found)
    assert sorted(path.name for path in Path("c/validity").glob("*.svg")) == [
        "auc-code_summarization.svg",
        "falloff-code_summarization.svg",
    ]


def test_models_are_asked_side_by_side(small):
    """Two seeds in processes of their own are judged like one, each on its own items."""
    found = calibration.calibrate(Path("c"), [1, 2], lambda _: None, limit=2)
    known = {t.sample_id: t.copies for t in corpus.targets(2)}

    assert {(row.seed, row.detector) for row in found.calibration.judged} == {
        (seed, name) for seed in (1, 2) for name in DETECTORS
    }
    assert all(v.copies == known[v.sample_id] for v in found.values if v.seed == 2)
    assert found.calibration.seconds > 0


def test_a_stopped_calibration_keeps_its_answers(small):
    """Ctrl-C ends it with the signal, and what was answered is there for the next time."""

    def stop(progress):
        if not progress.stopping:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted) as stopped:
        writing.run(Path("c"), None, [0], 2, stop)

    assert stopped.value.signal == signal.SIGINT
    assert list(Path("c").glob("seed0-*/run.db"))


def test_several_models_are_stopped_together(tmp_path):
    """A signal to the command alone ends its workers too, and is told."""
    command = [sys.executable, "-m", "memoprobe", "calibrate", "--limit", "2", "--out", "c"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    first = running.stderr.readline()
    running.terminate()
    _, rest = running.communicate(timeout=120)

    assert first.startswith(b"seed ")
    assert running.returncode == 128 + signal.SIGTERM
    assert b"memoprobe: stopped; the same command takes it up again" in rest


def test_a_place_that_cannot_be_written_is_told(small):
    """A file where a folder is to be is named, not a traceback."""
    Path("c").mkdir()
    Path("c", "seed0-" + fingerprint(0)).touch()

    assert "cannot be written" in memoprobe("calibrate", "--seed", 0, "--out", "c", code=2)


def test_models_that_are_not_there_are_told(tmp_path):
    """A folder without models, a seed without one, and a folder that cannot be made."""
    Path("file").touch()

    assert "seed0.safetensors" in memoprobe("calibrate", "--weights", tmp_path, code=2)
    assert "file: is no folder" in memoprobe("calibrate", "--weights", "file", code=2)
    assert "--seed 7" in memoprobe("calibrate", "--seed", 7, code=2)
    assert "file/c" in memoprobe("calibrate", "--out", "file/c", code=2)


@pytest.fixture(scope="module")
def published():
    return record.read(ROOT / "docs" / writing.FIGURES)


def test_the_published_figures_are_what_is_promised(published):
    """Prose to code at 16 copies: the fall tells members, above paper and artifact."""
    rows = {
        (row.seed, row.detector): row
        for row in published.judged
        if (row.task, row.copies) == ("code_generation", 16)
    }
    alarms = {
        row.detector: row
        for row in published.accused
        if (row.seed, row.task, row.p_value) == (0, "code_generation", "control_p")
    }

    assert sorted(published.models) == seeds_in() == list(corpus.SEEDS)
    for seed in published.models:
        assert rows[seed, "calibrated"].auc >= 0.90
        assert rows[seed, "calibrated"].auc > rows[seed, "paper"].auc
        assert rows[seed, "calibrated"].auc > rows[seed, "artifact"].auc
        assert rows[seed, "logprob.calibrated"].auc >= 0.98
    for name in sensitivity.AGAINST_CONTROLS:
        assert alarms[name].n_unseen >= 500
        assert alarms[name].share <= 0.06


def test_the_page_names_every_detector_and_its_drawings_are_there(published):
    """Nothing that is judged is left unexplained, and no drawing is missing."""
    text = page.render(published)
    drawn = [f"validity/{panel.name}.svg" for panel in drawing.panels(published)]

    assert all(f"`{row.detector}`" in text for row in published.judged)
    assert all(f"({name})" in text and (ROOT / "docs" / name).is_file() for name in drawn)


def test_drawings_hold_what_they_show(published):
    """The words that stand for a drawing tell its numbers."""
    panel = drawing.panels(published)[0]

    assert "calibrated 16 copies" in panel.description
    assert "calibrated" in svg(panel)
