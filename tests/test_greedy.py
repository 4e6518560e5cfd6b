"""Plan, ask and use the greedy answers of a run; they are no answers of the design."""

import json
from contextlib import closing

import pytest
import sqlite_utils

from memoprobe import migrations
from memoprobe.records import Failure, Response, Sample, Variant
from memoprobe.store import counts, open_store, probes
from memoprobe.store.database import Cell, PlanRow
from tests import fakes
from tests.test_cli import memoprobe, rows, run

FEW = ("--levels", 2, "--answers", 2, "--repeats", 1)
TABLES = ("scores", "curves", "comparisons")


def status():
    return json.loads(memoprobe("status", "run.db", "--json"))


def ours():
    """Return the results but for what CDD says, which is filed under a metric of its own."""
    found = {table: rows("run.db", f"SELECT * FROM {table}") for table in TABLES}
    found["sensitivities"] = rows(
        "run.db", "SELECT * FROM sensitivities WHERE metric <> 'peakedness'"
    )
    return found


def test_a_greedy_answer_a_sample_is_asked_beside_the_others(repairs):
    """At temperature 0, of the original, under the perturbation and not under its placebo."""
    with fakes.serve() as fake:
        run(fake, repairs, *FEW, "--greedy", "--placebo")

    cold = [request for request in fake.requests if request["temperature"] == 0]
    assert len(cold) == 6
    assert {request["n"] for request in cold} == {1}
    assert {request["top_p"] for request in cold} == {0.5}
    stored = rows(
        "run.db",
        "SELECT answer, perturbation, level, count(*) AS n FROM responses WHERE repeat = 0"
        " GROUP BY 1, 2, 3",
    )
    assert stored == [{"answer": 0, "perturbation": "rename", "level": 0, "n": 6}]
    variants = rows("run.db", "SELECT count(*) AS n FROM variants")[0]["n"]
    assert status()["planned"] == status()["answered"] == variants * 2 + 6
    assert status()["left"] == 0


def test_it_changes_no_result_and_is_asked_once(repairs):
    """Added to a finished run it alone is sent; scores, falls and their tests stay."""
    with fakes.serve() as fake:
        run(fake, repairs, *FEW)
        before, sent = ours(), len(fake.requests)
        run(fake, repairs, *FEW, "--greedy")
        assert len(fake.requests) == sent + 6
        run(fake, repairs, *FEW, "--greedy")
        assert len(fake.requests) == sent + 6

    assert ours() == before
    cdd = "SELECT * FROM sensitivities WHERE definition = 'cdd'"
    values = {row["value"] for row in rows("run.db", cdd)}
    assert len(rows("run.db", cdd)) == 6
    assert values <= {0.0, 0.5, 1.0}


def test_cdd_stands_beside_the_fall(repairs):
    """Where all answers are alike they lie around the greedy one, of items and controls."""
    with fakes.serve(text_of=lambda prompt, seed: fakes.answer("same", 0)) as fake:
        run(fake, repairs, *FEW, "--greedy")

    compared = json.loads(memoprobe("compare", "run.db", "--json"))["detections"]
    assert [row["detector"] for row in compared] == ["calibrated", "paper", "recall", "cdd"]
    assert (compared[-1]["items"], compared[-1]["controls"], compared[-1]["auc"]) == (1, 1, 0.5)
    text = memoprobe("compare", "run.db")
    assert "detectors side by side · fake · repairs · rename" in text
    assert memoprobe("export", "run.db", "--table", "detections").count("\n") == 5


def test_without_it_in_the_next_run_it_is_no_longer_planned(repairs):
    """What is planned is what the last run says; the answers stay stored."""
    with fakes.serve() as fake:
        run(fake, repairs, *FEW, "--greedy")
        run(fake, repairs, *FEW)

    assert status()["planned"] == status()["answered"]
    assert rows("run.db", "SELECT count(*) AS n FROM responses WHERE repeat = 0") == [{"n": 6}]
    assert rows("run.db", "SELECT * FROM sensitivities WHERE definition = 'cdd'") == []


def test_a_run_that_is_greedy_itself_plans_none(repairs):
    """Its one answer a variant is the greedy one, and nothing is drawn to compare it with."""
    with fakes.serve() as fake:
        run(fake, repairs, *FEW, "--greedy", "--temperature", 0)

    assert status()["planned"] == 6 * 3
    assert rows("run.db", "SELECT * FROM responses WHERE repeat = 0") == []


def test_a_greedy_answer_that_fails_is_told_and_retried(repairs):
    """It is among the failures, and not among those of the design's answers."""
    refused = (400, {}, {"error": {"message": "no such thing", "code": 400}})
    with fakes.serve() as fake:
        whole = fake.reply
        fake.reply = lambda path, body: refused if body["temperature"] == 0 else whole(path, body)
        text = run(fake, repairs, *FEW, "--greedy", code=3)
        told = status()
        sent = len(fake.requests)
        run(fake, repairs, *FEW, "--greedy", code=3)
        assert len(fake.requests) == sent
        fake.reply = whole
        run(fake, repairs, *FEW, "--greedy", "--retry-failed")

    assert "6 answers failed" in text
    assert (told["failed"], told["left"]) == ({"bad_request": 6}, 0)
    assert rows("run.db", "SELECT * FROM failures") == []
    assert status()["answered"] == 6 * 3 * 2 + 6


def test_risk_is_found_where_answers_were_tested(repairs):
    """MRI needs no asking: likeness and verdicts of the same answers."""
    lines = [json.loads(line) for line in repairs.read_text(encoding="utf-8").splitlines()]
    with repairs.open("w", encoding="utf-8") as file:
        for row in lines:
            tests = ["assert solve(2, 1) == 3"]
            file.write(f"{json.dumps({**row, 'tests': tests})}\n")

    def text(prompt, seed):  # right as long as the name in the prompt is the one that was seen
        number = next((k for k in range(6) if f"total_{k}" in prompt), None)
        body = "return first + second" if number is not None else "return first - second"
        return f"```python\ndef solve(first, second):\n    {body}\n```"

    with fakes.serve(text_of=text) as fake:
        run(fake, repairs, *FEW)

    found = rows("run.db", "SELECT value, metric FROM sensitivities WHERE definition = 'mri'")
    alike = rows(
        "run.db", "SELECT avg(mean) AS mean FROM curves WHERE metric = 'token_levenshtein'"
        " AND level > 0",
    )[0]["mean"]  # fmt: skip
    passed = rows(
        "run.db", "SELECT avg(mean) AS mean FROM curves WHERE metric = 'tests' AND level > 0"
    )[0]["mean"]
    assert len(found) == 6
    assert {row["metric"] for row in found} == {"token_levenshtein"}
    assert 0 < passed < 1
    assert sum(row["value"] for row in found) / 6 == pytest.approx(alike * (1 - passed), abs=0.1)


CELL = Cell("m", "b", "rename")
SAMPLE = Sample(
    benchmark="b", sample_id="s", task="program_repair", language="python",
    input_kind="code", text="x = 0", reference="x = 1",
)  # fmt: skip


def response(repeat, answer, **changes):
    values = {
        "key": b"%d%d" % (repeat, answer), "model": "m", "benchmark": "b", "sample_id": "s",
        "perturbation": "rename", "level": 0, "repeat": repeat, "answer": answer, "text": "x",
        "reasoning": None, "finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1,
        "latency_s": 0.1, "seed": 0, "endpoint": "",
    }  # fmt: skip
    return Response(**{**values, **changes})


def test_a_greedy_answer_completes_nothing(tmp_path):
    """Nine answers and a greedy one are nine; eight and a greedy one are not."""
    original = Variant(
        benchmark="b", sample_id="s", perturbation="rename", level=0, text="x = 0",
        distance=0.0, edit_share=0.0, rename_map={},
    )  # fmt: skip
    slots = [(repeat, answer) for repeat in (1, 2, 3) for answer in (1, 2, 3)]
    with open_store(tmp_path / "run.db", write=True) as store:
        store.add_samples([SAMPLE])
        store.replace_plan({PlanRow(CELL, 0, 3, 3, 1): ["s"]})
        store.save(original, response(0, 0), *(response(*slot) for slot in slots[:-1]))
        store.flush()
        assert store.complete("m", 3, 3) == set()
        assert counts.status(store)[0]["left"] == 1
        store.save(response(*slots[-1]))
        store.flush()

        assert store.complete("m", 3, 3) == {("b", "s", "rename")}
        assert probes.with_greedy(store, "m") == {("b", "s", "rename")}
        assert [r.repeat for r in store.responses_to(CELL, "s")] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
        ((_, found),) = probes.greedy(store, CELL)
        assert [(r.repeat, r.answer) for r in found] == [(0, 0), *slots]
        assert counts.n_samples_answered(store, CELL) == 1


def test_an_older_database_keeps_its_plan_and_its_failures(tmp_path):
    """What was planned before there were probes are answers."""
    new, path = tmp_path / "new.db", tmp_path / "run.db"
    with open_store(new, write=True) as store:
        store.add_samples([SAMPLE])
        store.replace_plan({PlanRow(CELL, 5, 3, 3): ["s"]})
        failure = Failure(
            key=b"f", model="m", benchmark="b", sample_id="s", perturbation="rename", level=0,
            repeat=1, answer=1, kind="timeout", phase="wait", detail="", attempts=2,
            permanent=False,
        )  # fmt: skip
        store.save(response(1, 2), failure)
        store.flush()
        told = counts.status(store)
    with closing(sqlite_utils.Database(path)) as old:
        old.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
        for step in migrations.MIGRATIONS[:2]:
            step(old)
        old.execute("PRAGMA user_version = 2")
        old.attach("new", new)
        for table in ("sample", "plan", "selection", "response", "failure"):
            columns = ", ".join(old.table(f"{table}_rows").columns_dict)
            old.execute(
                f"INSERT INTO {table}_rows ({columns}) SELECT {columns} FROM new.{table}_rows"
            )
        old.conn.commit()

    with open_store(path, write=True) as store:
        assert counts.status(store) == told
        assert store.plans("answers") == store.plans() == [PlanRow(CELL, 5, 3, 3)]
        assert store.plans("likelihood") == []
        assert store.closed("m", SAMPLE, retry_failed=False) == {b"12"}
