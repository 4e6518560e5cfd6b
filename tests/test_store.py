"""Check the run database: what is kept, refused and read back."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from memoprobe.errors import StoreError, StoreUnavailable
from memoprobe.records import Failure, Response, Sample, Variant
from memoprobe.store import database, open_store, results
from memoprobe.store.database import Cell, PlanRow, connect
from memoprobe.store.writer import Writer

CELL = Cell("m", "b", "rename")


def sample(**fields):
    values = {
        "benchmark": "b",
        "sample_id": "s",
        "task": "program_repair",
        "language": "python",
        "input_kind": "code",
        "text": "x = 1",
    }
    return Sample(**(values | fields))


def response(**fields):
    values = {
        "key": b"key",
        "model": "m",
        "benchmark": "b",
        "sample_id": "s",
        "perturbation": "rename",
        "level": 0,
        "repeat": 1,
        "answer": 1,
        "text": "t",
        "reasoning": None,
        "finish_reason": "stop",
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "latency_s": 0.5,
        "seed": 3,
        "endpoint": "http://x/v1",
    }
    return Response(**(values | fields))


def failure(**fields):
    values = {
        "key": b"key",
        "model": "m",
        "benchmark": "b",
        "sample_id": "s",
        "perturbation": "rename",
        "level": 0,
        "repeat": 1,
        "answer": 1,
        "kind": "timeout",
        "phase": "wait",
        "detail": "d",
        "attempts": 2,
        "permanent": False,
    }
    return Failure(**(values | fields))


def variant(level=0, text="x = 1", **names):
    return Variant(
        benchmark="b",
        sample_id="s",
        perturbation="rename",
        level=level,
        text=text,
        distance=0.1 * level,
        edit_share=0.2 * level,
        rename_map=names,
    )


@pytest.fixture
def store():
    with open_store(Path("run.db"), write=True) as opened:
        yield opened


ODD = "half \ud835 nul \x00 é"


def test_records_come_back_equal(store):
    """Also text that SQLite cannot hold as such."""
    odd = sample(text=ODD, context=ODD, control=True, date="2026-01-01")
    store.add_samples([odd])
    answer = response(text=ODD, reasoning=ODD, completion_tokens=None)
    store.save(variant(text=ODD), variant(1, ODD + "2", x="y"), answer)
    store.flush()

    assert store.samples() == [odd]
    assert store.variants("b", "s", "rename") == [variant(text=ODD), variant(1, ODD + "2", x="y")]
    assert list(store.responses(CELL)) == [("s", [answer])]
    assert store.responses_to(CELL, "s") == [answer]


def test_a_stored_answer_is_never_changed(store):
    """The first reply to a slot stays; it replaces a failure."""
    store.add_samples([sample()])
    store.save(failure())
    store.flush()
    assert store.closed("m", sample(), retry_failed=False) == set()
    store.save(response())
    store.save(response(text="other"))
    store.flush()

    assert [r.text for _, group in store.responses(CELL) for r in group] == ["t"]
    assert store.query("SELECT * FROM failures") == []
    assert store.closed("m", sample(), retry_failed=False) == {b"key"}


def test_lasting_failures_close_a_slot_until_they_are_retried(store):
    """A failure that will not mend is not sent again by itself."""
    store.add_samples([sample()])
    store.save(failure(permanent=True))
    store.flush()

    assert store.closed("m", sample(), retry_failed=False) == {b"key"}
    assert store.closed("m", sample(), retry_failed=True) == set()


def test_an_edited_sample_supersedes_and_may_come_back(store):
    """The older one leaves the views and keeps its answers; labels are updated in place."""
    old, new = sample(), sample(text="x = 2")
    store.add_samples([old])
    store.save(response())
    store.flush()
    store.add_samples([new])
    assert store.samples() == [new]
    assert list(store.responses(CELL)) == []
    store.add_samples([replace(old, control=True, cluster="c")])

    assert store.samples("b") == [replace(old, control=True, cluster="c")]
    assert len(list(store.responses(CELL))) == 1


def test_status_counts_answers(store):
    """Planned from the levels that are there, and from the design where none are yet."""
    store.add_samples([sample(), sample(sample_id="s2"), sample(sample_id="s3", control=True)])
    store.add_plan([PlanRow(CELL, 5, 9)])
    store.save(variant(), variant(1, "y = 1", x="y"), variant(2, "z = 1", x="z"))
    store.save(response(), response(key=b"2", answer=2, finish_reason="length"))
    store.save(response(key=b"3", answer=3, finish_reason="length", text=None))
    store.save(response(key=b"4", answer=4, text=" "), failure(key=b"5", answer=5))
    store.flush()

    (row,) = results.status(store)

    assert row == {
        **CELL._asdict(),
        "samples": 3,
        "controls": 1,
        "planned": (3 + 6 + 6) * 9,
        "answered": 4,
        "truncated": 2,
        "empty": 2,
        "failed": {"timeout": 1},
        "left": 15 * 9 - 5,
    }


def test_rejections_are_counted(store):
    """By benchmark, perturbation and reason."""
    store.add_samples([sample(), sample(sample_id="s2")])
    store.save_rejected(sample(), "rename", {"lost a number": 2})
    store.save_rejected(sample(sample_id="s2"), "rename", {"lost a number": 1})
    store.flush()

    assert results.rejected(store) == {("b", "rename"): {"lost a number": 3}}


def test_info_is_read_back(store):
    """Strings as they are, other values as JSON."""
    store.set_info({"a": "text", "b": {"c": [1]}})

    assert store.info() == {"a": "text", "b": json.dumps({"c": [1]})}


def test_one_process_writes_and_readers_do_not_wait(store):
    """The second writer is refused; a reader sees what is committed."""
    with (
        pytest.raises(StoreError, match="is writing this database"),
        open_store(Path("run.db"), write=True),
    ):
        pass
    store.set_info({"a": "1"})
    with open_store(Path("run.db"), write=False) as reader:
        assert reader.info() == {"a": "1"}
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.set_info({"a": "2"})


def test_foreign_and_newer_files_are_refused():
    """Nothing is written into a database that is not a run of this version or older."""
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with sqlite3.connect("newer.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    for name, words in (("other.db", "not a memoprobe run"), ("newer.db", "upgrade memoprobe")):
        with pytest.raises(StoreError, match=words), open_store(Path(name), write=True):
            pass
    with pytest.raises(StoreError, match="schema 99"), open_store(Path("newer.db"), write=False):
        pass
    with pytest.raises(StoreError, match="cannot be used"), open_store(Path("no/x.db"), write=True):
        pass


def test_a_write_that_fails_is_told_once_and_loses_nothing_stored(store):
    """SQLite's own limit on the file's size stands for a full disk."""
    store.add_samples([sample()])
    store.save(response())
    store.flush()

    def small():
        connection = connect(Path("run.db"), read_only=False)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    store._writer.close()
    store._writer = Writer(small)
    store.save(response(key=b"2", answer=2, text="x" * 100_000))
    with pytest.raises(StoreUnavailable, match="full"):
        store.flush()
    with pytest.raises(StoreUnavailable):
        store.save(response(key=b"3", answer=3))

    assert len(list(store.responses(CELL))) == 1
    assert store.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_outside_readers_find_the_columns_they_rely_on(store):
    """The tables and columns of the outer contract are all there."""
    contract = {
        "samples": "benchmark sample_id content_hash task language input_kind text context"
        " reference tests entry_point cluster date control",
        "variants": "benchmark sample_id perturbation level text distance edit_share rename_map",
        "responses": "model benchmark sample_id perturbation level repeat answer text reasoning"
        " finish_reason prompt_tokens completion_tokens latency_s seed endpoint",
        "failures": "model benchmark sample_id perturbation level repeat answer kind phase detail"
        " attempts",
        "scores": "model benchmark sample_id perturbation level repeat answer metric value",
        "sensitivities": "model benchmark sample_id perturbation metric definition value n_levels"
        " noise_floor excess answer_noise_p control_p",
        "comparisons": "question subject context perturbation metric definition n_subject n_rest"
        " statistic p_value p_adjusted effect effect_low effect_high",
        "run_info": "key value",
    }

    for table, columns in contract.items():
        assert set(columns.split()) <= set(results.column_types(store, table))
        assert table in results.tables(store)
    with pytest.raises(ValueError, match="no table"):
        list(results.rows_of(store, "sqlite_master"))


def test_a_disk_without_room_is_told_before_anything_is_asked(monkeypatch):
    """Exit 75: it can go on when there is room."""
    monkeypatch.setattr(database, "LEAST_FREE_BYTES", 2**60)

    with (
        pytest.raises(StoreUnavailable, match="MiB are free"),
        open_store(Path("x.db"), write=True),
    ):
        pass
