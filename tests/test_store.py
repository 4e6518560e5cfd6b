"""Check the run database: what is kept, refused and read back."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from memoprobe.errors import StoreError, StoreUnavailable
from memoprobe.records import Failure, Response, Sample, Variant
from memoprobe.store import counts, open_store, opening, results
from memoprobe.store.database import Cell, PlanRow, connect
from memoprobe.store.writer import Writer

CELL = Cell("m", "b", "rename")
PLAN = {PlanRow(CELL, 5, 3, 3): ["s"]}


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
    store.replace_plan(PLAN)
    store.save(variant(text=ODD), variant(1, ODD + "2", x="y"), answer)
    store.flush()

    assert store.samples() == [odd]
    assert store.variants("b", "s", "rename") == [variant(text=ODD), variant(1, ODD + "2", x="y")]
    assert list(store.responses(CELL)) == [("s", [answer])]
    assert store.responses_to(CELL, "s") == [answer]


def test_a_stored_answer_is_never_changed(store):
    """The first reply to a slot stays; it replaces a failure."""
    store.add_samples([sample()])
    store.replace_plan(PLAN)
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


@pytest.mark.parametrize("kind", ["cancelled", "internal"])
def test_what_is_no_server_s_doing_is_asked_again_and_told_meanwhile(store, kind):
    """Without being asked to retry; it also takes the place of a failure that closed the slot."""
    store.add_samples([sample()])
    store.save(failure(permanent=True))
    store.save(failure(permanent=False, kind=kind))
    store.flush()

    assert store.query("SELECT kind FROM failures") == [{"kind": kind}]
    assert store.closed("m", sample(), retry_failed=False) == set()


def test_an_edited_sample_supersedes_and_may_come_back(store):
    """The older one leaves the views and keeps its answers; labels are updated in place."""
    old, new = sample(), sample(text="x = 2")
    store.add_samples([old])
    store.replace_plan(PLAN)
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
    store.replace_plan({PlanRow(CELL, 5, 3, 3): ["s", "s2", "s3"]})
    store.save(variant(), variant(1, "y = 1", x="y"), variant(2, "z = 1", x="z"))
    store.save(response(), response(key=b"2", repeat=2, finish_reason="length"))
    store.save(response(key=b"3", answer=3, finish_reason="length", text=None))
    store.save(response(key=b"4", repeat=3, text=" "), failure(key=b"5", repeat=3, answer=2))
    store.flush()

    (row,) = counts.status(store)

    assert row == {
        "probe": "answers",
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
    store.replace_plan({PlanRow(CELL, 5, 3, 3): ["s", "s2"]})
    store.save_rejected(sample(), "rename", {"lost a number": 2})
    store.save_rejected(sample(sample_id="s2"), "rename", {"lost a number": 1})
    store.flush()

    assert counts.rejected(store) == {("b", "rename"): {"lost a number": 3}}


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
    with open_store(Path("newer.db"), write=True):
        pass
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
    store.replace_plan(PLAN)
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
    monkeypatch.setattr(opening, "LEAST_FREE_BYTES", 2**60)

    with (
        pytest.raises(StoreUnavailable, match="MiB are free"),
        open_store(Path("x.db"), write=True),
    ):
        pass


def test_any_fault_of_the_writer_ends_the_run_and_nobody_waits(store):
    """A number that SQLite cannot take is no error of SQLite's; what was committed stays."""
    store.add_samples([sample()])
    store.replace_plan(PLAN)
    store.save(response())
    store.flush()
    store.save(response(key=b"2", answer=2, prompt_tokens=2**70))

    with pytest.raises(StoreUnavailable, match=r"run\.db: cannot be written: .*too large"):
        store.flush()
    with pytest.raises(StoreUnavailable):
        store.save(response(key=b"3", answer=3))
    assert len(list(store.responses(CELL))) == 1


def test_a_writer_that_cannot_open_the_file_is_told():
    """Neither a flush nor a save waits for it."""

    def broken():
        msg = "no thread-local memory"
        raise RuntimeError(msg)

    writer = Writer(broken, "x.db")

    with pytest.raises(StoreUnavailable, match=r"x\.db: .*no thread-local memory"):
        writer.flush()
    writer.close()
    with pytest.raises(StoreUnavailable):
        writer.flush()


def test_a_last_write_that_fails_is_told_on_closing():
    """Nobody flushed, and it must not pass for stored."""

    def leave():
        with open_store(Path("run.db"), write=True) as store:
            store.add_samples([sample()])
            store.save(response(prompt_tokens=2**70))

    with pytest.raises(StoreUnavailable, match="too large"):
        leave()


def test_the_lock_holds_for_every_name_of_a_file(store):
    """A link to a database is the database."""
    Path("link.db").symlink_to("run.db")

    with (
        pytest.raises(StoreError, match="is writing this database"),
        open_store(Path("link.db"), write=True),
    ):
        pass


def test_a_foreign_database_stays_as_it_is():
    """Not a byte of it changes, and nothing but the lock lies beside it, for writing or reading."""
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = Path("other.db").read_bytes()

    for write in (True, False):
        with (
            pytest.raises(StoreError, match="not a memoprobe run"),
            open_store(Path("other.db"), write=write),
        ):
            pass
    assert Path("other.db").read_bytes() == before
    assert {path.name for path in Path().glob("other*")} <= {"other.db", "other.db.lock"}


def test_an_empty_file_is_no_run_database_until_a_run_makes_it_one():
    """A reader, and who scores, are told; so is the reader of one whose making was cut short."""
    Path("empty.db").touch()

    for write in (True, False):
        with (
            pytest.raises(StoreError, match=r"empty\.db: the file is empty"),
            open_store(Path("empty.db"), write=write, make=False),
        ):
            pass
    opening.prepare(Path("empty.db"), make=True)
    with (
        pytest.raises(StoreError, match="nothing is stored in it yet"),
        open_store(Path("empty.db"), write=False),
    ):
        pass
    with open_store(Path("empty.db"), write=True):
        pass
    with open_store(Path("empty.db"), write=False) as store:
        assert store.samples() == []


def test_a_database_in_a_folder_that_may_not_be_written_can_be_read(monkeypatch):
    """The file is whole by itself, so a reader needs no files beside it."""
    with open_store(Path("run.db"), write=True) as store:
        store.add_samples([sample()])
    Path("run.db.lock").unlink()
    monkeypatch.setattr(opening.os, "access", lambda *_: False)

    with open_store(Path("run.db"), write=False) as store:
        assert store.samples() == [sample()]
        assert [path.name for path in Path().glob("run*")] == ["run.db"]


def test_damaged_pages_are_one_message_that_names_the_file():
    """An error of SQLite after opening is no traceback either."""
    with open_store(Path("run.db"), write=True) as store:
        store.add_samples([sample(sample_id=str(n), text="x" * 3000) for n in range(50)])
    content = Path("run.db").read_bytes()
    Path("run.db").write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))

    with (
        pytest.raises(StoreError, match=r"run\.db: cannot be used"),
        open_store(Path("run.db"), write=False) as store,
    ):
        store.samples()


def test_names_may_hold_half_a_surrogate(store):
    """Of samples, benchmarks, models and settings: nothing of it can be bound as text."""
    half = "half \udcff"
    cell = Cell(half, half, "rename")
    odd = sample(benchmark=half, sample_id=half, cluster=half)
    answer = response(model=half, benchmark=half, sample_id=half)
    shape = replace(variant(), benchmark=half, sample_id=half)
    store.add_samples([odd])
    store.replace_plan({PlanRow(cell, 5, 1, 1): [half]})
    store.set_info({half: half})
    store.save(
        shape, answer, replace(failure(key=b"2"), model=half, benchmark=half, sample_id=half)
    )
    store.flush()

    assert store.samples(half) == [odd]
    assert store.info()[half] == half
    assert store.variants(half, half, "rename") == [shape]
    assert list(store.responses(cell)) == [(half, [answer])]
    assert store.complete(half, 1, 1) == {(half, half, "rename")}
    assert [row["benchmark"] for row in counts.status(store)] == [half]
    assert next(results.rows_of(store, "responses"))["sample_id"] == half


def test_a_plan_is_replaced_for_the_model_and_benchmark_it_names(store):
    """Fewer samples, repeats and answers leave facts where they are, and out of every count."""
    other = Cell("m2", "b", "rename")
    store.add_samples([sample(), sample(sample_id="s2")])
    store.replace_plan({PlanRow(CELL, 0, 2, 2): ["s", "s2"], PlanRow(other, 0, 1, 1): ["s2"]})
    places = [(s, r, a) for s in ("s", "s2") for r in (1, 2) for a in (1, 2)]
    for n, (sample_id, repeat, answer) in enumerate(places):
        store.save(response(key=b"%d" % n, sample_id=sample_id, repeat=repeat, answer=answer))
    store.flush()
    names = ("samples", "planned", "answered", "left")
    before = {row["model"]: [row[name] for name in names] for row in counts.status(store)}
    store.replace_plan({PlanRow(CELL, 0, 1, 2): ["s2"]})
    after = {row["model"]: [row[name] for name in names] for row in counts.status(store)}

    assert before == {"m": [2, 8, 8, 0], "m2": [1, 1, 0, 1]}
    assert after == {"m": [1, 2, 2, 0], "m2": [1, 1, 0, 1]}
    assert [(s, len(group)) for s, group in store.responses(CELL)] == [("s2", 2)]
    assert store.query("SELECT count(*) AS n FROM responses") == [{"n": 8}]


def test_results_know_the_facts_they_were_made_from(store):
    """Each change of samples, plan or answers is one; the same again is none."""
    seen = [results.revision(store)]
    for change in (
        lambda: store.add_samples([sample()]),
        lambda: store.replace_plan(PLAN),
        lambda: (store.save(response()), store.flush()),
        lambda: store.add_samples([sample(control=True)]),
        lambda: store.replace_plan({PlanRow(CELL, 5, 1, 1): ["s"]}),
    ):
        change()
        seen.append(results.revision(store))
        results.mark_current(store)
    store.add_samples([sample(control=True)])
    store.replace_plan({PlanRow(CELL, 5, 1, 1): ["s"]})

    assert [each.facts for each in seen] == list(range(6))
    assert results.revision(store) == results.Revision(5, 5)


def test_a_full_disk_is_told_by_whatever_writes():
    """Exit 75 with the file's name, also where no writer thread stands between."""

    def fill():
        with open_store(Path("run.db"), write=True) as store:
            store.query("PRAGMA max_page_count = 40")
            store.add_samples([sample(sample_id=str(n), text="x" * 4000) for n in range(99)])

    with pytest.raises(StoreUnavailable, match=r"run\.db: .* full"):
        fill()
    with open_store(Path("run.db"), write=False) as store:
        assert store.samples() == []
