"""Check that results are of what is planned and stored now, all under the same options."""

from pathlib import Path

import pytest

from memoprobe.errors import StoreError
from memoprobe.metrics import METRICS
from memoprobe.pipeline import derive, present, settings
from memoprobe.store import open_store, results
from memoprobe.store.database import Cell, PlanRow
from memoprobe.store.results import DERIVED
from tests.test_store import response, sample, variant

CELL = Cell("m", "b", "rename")
CODE = "def f(x):\n    y = x\n    return y\n"
LEVELS = 3


def plan(store, *ids, repeats=1, answers=2):
    store.replace_plan({PlanRow(CELL, LEVELS, repeats, answers): ids})


def fill(store, *ids):
    """Store two answers at every level of each sample, the worse the higher the level."""
    model = {"model": "m", "interface": "chat", "extra_body": {}}
    store.set_info({"settings": {"seed": 0, "width": 2, "models": {"m": model}}})
    store.add_samples(
        [sample(sample_id=each, text=CODE, reference=CODE, entry_point="f") for each in ids]
    )
    for each in ids:
        for level in range(LEVELS + 1):
            shape = variant(level, CODE + "\n" * level)
            store.save(
                type(shape)(
                    **{**{n: getattr(shape, n) for n in shape.__slots__}, "sample_id": each}
                )
            )
            for answer in (1, 2):
                key = f"{each} {level} {answer}".encode()
                text = f"```python\n{CODE}{'    y = 1' * level}\n```"
                store.save(response(sample_id=each, level=level, answer=answer, key=key, text=text))
    store.flush()


@pytest.fixture
def store():
    with open_store(Path("run.db"), write=True) as opened:
        fill(opened, "s1", "s2", "s3")
        plan(opened, "s1", "s2", "s3")
        yield opened


def tables(store):
    return {name: list(results.rows_of(store, name)) for name in sorted(DERIVED)}


def ids(store, table):
    return sorted({row["sample_id"] for row in results.rows_of(store, table)})


def test_results_are_of_the_planned_samples_and_slots(store):
    """Lowering the plan takes results out, raising it again brings the very same back."""
    derive.score(store)
    whole = tables(store)
    plan(store, "s2", answers=1)
    derive.score(store)

    assert ids(store, "scores") == ids(store, "sensitivities") == ["s2"]
    assert {row["answer"] for row in results.rows_of(store, "scores")} == {1}
    assert [row["n_samples"] for row in cells(store)] == [1]
    plan(store, "s1", "s2", "s3")
    derive.score(store)
    assert tables(store) == whole


def cells(store):
    return [
        {"n_samples": cell.n_samples, "excluded": cell.excluded}
        for cell in present.report_data(store, "t").cells
    ]


def test_nothing_stays_of_a_cell_without_scores(store):
    """Its sensitivities, curves and comparisons go with its last answer."""
    derive.score(store)
    store.add_samples([sample(sample_id=each, text="edited") for each in ("s1", "s2", "s3")])
    derive.score(store)

    assert tables(store) == {name: [] for name in DERIVED}


def test_options_are_remembered_and_hold_for_all_metrics(store):
    """What a later scoring does not name is as it was; run_info tells the truth."""
    store.save(response(sample_id="s1", level=0, key=b"cut", finish_reason="length", answer=3))
    store.flush()
    plan(store, "s1", "s2", "s3", answers=3)
    derive.score(store)
    n_before = len(list(results.rows_of(store, "scores")))
    derive.score(store, ["levenshtein"], unanswered="zero", map_back=False)
    derive.score(store)

    zeros = [row for row in results.rows_of(store, "scores") if row["answer"] == 3]
    assert sorted(row["metric"] for row in zeros) == ["levenshtein", "token_levenshtein"]
    assert len(list(results.rows_of(store, "scores"))) == n_before + 2
    assert {name: store.info()[name] for name in derive.OPTIONS} == {
        "unanswered": "zero",
        "names_mapped_back": "false",
        "metrics": '["token_levenshtein", "levenshtein", "label"]',
    }
    derive.score(store, unanswered="exclude", map_back=True)
    assert len(list(results.rows_of(store, "scores"))) == n_before


def test_a_scoring_that_fails_leaves_the_old_results_whole(store, monkeypatch):
    """Results change all at once, and a warning tells that they are of an earlier state."""

    def broken(answer, reference, language):
        raise StoreError("no")  # noqa: EM101 - any fault

    derive.score(store)
    whole = tables(store)
    assert present.unscored(store) is None
    monkeypatch.setitem(METRICS, "broken", type(METRICS["levenshtein"])(measure=broken, version=1))
    plan(store, "s1")
    with pytest.raises(StoreError):
        derive.score(store, ["token_levenshtein", "broken"])

    assert tables(store) == whole
    assert "not scored yet" in present.unscored(store)
    assert "broken" not in settings.stored_settings(store)
    assert "broken" not in store.info()["metrics"]


def test_a_change_that_leaves_the_count_of_answers_is_told(store):
    """One sample for another, or fewer answers: never a negative number, always a warning."""
    derive.score(store)
    plan(store, "s1", "s2")
    fewer = present.unscored(store)
    derive.score(store)
    plan(store, "s2", "s3")

    assert "not scored yet" in fewer
    assert "not scored yet" in present.unscored(store)
