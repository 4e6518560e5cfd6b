"""Run the likelihood track by its commands: ask, resume, fail, score, compare, report, merge."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from memoprobe import likelihood
from memoprobe.reference import corpus
from memoprobe.reference.model import load
from memoprobe.reference.server import serve as serve_reference
from memoprobe.store import open_store, probes
from tests import scoring_servers
from tests.scoring_servers import MODEL, TEMPLATE, TOO_LONG, expected
from tests.test_cli import memoprobe, rows

LEVELS = 3
N_ASKED = 6 * (LEVELS + 1)


def command(server, path, *more, db="run.db"):
    return [
        "run", "--base-url", server.url, "--model", MODEL, "--benchmark", path,
        "--task", "program_repair", "--levels", LEVELS, "--db", db, *more,
    ]  # fmt: skip


def run(server, path, *more, db="run.db", code=0, probe="likelihood"):
    return memoprobe(*command(server, path, "--probe", probe, *more, db=db), code=code)


def change(db, how):
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute(f"UPDATE likelihood_rows SET {how}")


def complete(model):
    with open_store(Path("run.db"), write=False) as store:
        return probes.complete(store, model)


def without_reference(path, *ids):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [{k: v for k, v in row.items() if k != "reference" or row["id"] not in ids}
            for row in lines]  # fmt: skip
    path.write_text("".join(f"{json.dumps(row)}\n" for row in kept), encoding="utf-8")


def test_what_is_kept_is_what_the_server_told(repairs):
    """Of every sample and level the sum over the reference's tokens; each token's at level 0."""
    with scoring_servers.serve() as server:
        text = run(server, repairs)

    asked = {body["messages"][0]["content"]: body for body in server.requests[1:]}
    assert len(server.requests) == 1 + N_ASKED  # and the proof
    sql = "SELECT l.*, p.prompt, s.reference, v.rename_map FROM likelihoods l" + "".join(
        f" JOIN {table} USING (benchmark, sample_id{more})"
        for table, more in (
            ("samples s", ""),
            ("prompts p", ", perturbation, level"),
            ("variants v", ", perturbation, level"),
        )
    )
    found = rows("run.db", sql)
    assert len(found) == N_ASKED
    for row in found:
        opening = "```python\n"
        answer = asked[row["prompt"]]["messages"][1]["content"].removeprefix(opening)
        values, n_bytes = expected(TEMPLATE.format(row["prompt"], opening), answer)
        assert row["total"] == pytest.approx(sum(values))
        assert (row["n_tokens"], row["n_bytes"]) == (len(values), n_bytes)
        kept = likelihood.unpack(bytes.fromhex(row["tokens"]))
        assert kept == (pytest.approx(values) if row["level"] == 0 else [])
        assert (answer == row["reference"].strip()) == (row["rename_map"] == "{}")
    assert "logprob_token" in text
    assert "retention" in text


def test_results_follow_from_the_rows(repairs):
    """Scores and sensitivities can be made again, and equal those of plain arithmetic."""
    with scoring_servers.serve() as server:
        summary = run(server, repairs)

    def results():
        return [rows("run.db", f"SELECT * FROM {table}") for table in ("scores", "sensitivities")]

    before = results()
    assert memoprobe("score", "run.db", "--metric", "rougeL") == summary
    assert results() == before
    curve = rows(
        "run.db",
        "SELECT total / n_tokens AS value FROM likelihoods WHERE sample_id = 'r1' ORDER BY level",
    )
    first, *further = (row["value"] for row in curve)
    (fall,) = rows(
        "run.db",
        "SELECT value, answer_noise_p, control_p FROM sensitivities WHERE sample_id = 'r1'"
        " AND metric = 'logprob_token' AND definition = 'calibrated'",
    )
    assert fall["value"] == pytest.approx(first - sum(further) / LEVELS)
    assert fall["answer_noise_p"] is None
    assert fall["control_p"] in {1 / 3, 2 / 3, 1.0}
    detected = json.loads(memoprobe("compare", "run.db", "--json"))["detections"]
    names = ["logprob.calibrated", "ma", "level0_logprob", "min_k"]
    assert [row["detector"] for row in detected] == names
    assert {(row["n_items"], row["n_controls"]) for row in detected} == {(4, 2)}


def test_a_finished_probe_sends_nothing_more(repairs):
    """Not even the proof; the state tells likelihoods apart from answers."""
    with scoring_servers.serve() as server:
        first = run(server, repairs)
        sent = len(server.requests)
        second = run(server, repairs)

    assert (len(server.requests), second) == (sent, first)
    status = json.loads(memoprobe("status", "run.db", "--json"))
    asked = {"planned": N_ASKED, "answered": N_ASKED, "left": 0, "failed": {}}
    assert (status["planned"], status["likelihoods"]) == (0, asked)
    assert status["cells"][0]["likelihoods"] == asked
    table = memoprobe("status", "run.db").splitlines()
    assert table[0].split()[:4] == ["model", "benchmark", "probe", "planned"]
    assert "likelihood" in table[1]


def test_a_server_without_likelihoods_is_refused_and_binds_nothing(repairs):
    """The message says for every way why not; the next run may be of another study."""
    with scoring_servers.serve(knows=frozenset({"content"})) as server:
        text = run(server, repairs, code=2)
        run(server, repairs, "--seed", 5, code=2)

    assert "does not tell how likely a given answer is" in text
    assert "the reply holds no log-probabilities of the prompt" in text
    assert "vLLM gives them" in text


def test_a_server_that_is_not_there_is_told(repairs):
    """As for answers: at first an address is in doubt, later the run can be resumed."""
    with scoring_servers.serve() as server:
        run(server, repairs, "--limit", 1)
    assert "cannot reach" in run(server, repairs, code=75)
    assert "is the base URL right" in run(server, repairs, db="new.db", code=2)


def test_failures_are_kept_by_kind_and_asked_again_on_demand(repairs):
    """Exit code 3; the other likelihoods count, and a failure is no failed answer."""
    with scoring_servers.serve() as server:
        server.script.append((400, {"error": {"message": TOO_LONG}}))
        text = run(server, repairs, "--max-in-flight", 1, code=3)
        sent = len(server.requests)
        run(server, repairs, code=3)
        assert len(server.requests) == sent
        kept = rows("run.db", "SELECT kind, probe, repeat, answer FROM failures")
        status = json.loads(memoprobe("status", "run.db", "--json"))
        run(server, repairs, "--retry-failed")

    assert "1 likelihoods failed: see `memoprobe status run.db`" in text
    assert kept == [{"kind": "context_overflow", "probe": "likelihood", "repeat": 1, "answer": 1}]
    assert status["failed"] == {}
    assert status["likelihoods"]["failed"] == {"context_overflow": 1}
    assert rows("run.db", "SELECT count(*) AS n FROM failures") == [{"n": 0}]
    assert rows("run.db", "SELECT count(*) AS n FROM likelihoods") == [{"n": N_ASKED}]


def test_samples_without_a_reference_are_counted_and_told(repairs):
    """They are not planned, so nothing is left; where none has one the run ends at once."""
    without_reference(repairs, "r0", "r5")
    with scoring_servers.serve() as server:
        told = memoprobe(*command(server, repairs, "--probe", "likelihood"), told=True)
        without_reference(repairs, *(f"r{number}" for number in range(6)))
        nothing = run(server, repairs, db="none.db", code=2)

    assert "repairs: 2 of its samples have no reference that can be the answer" in told
    status = json.loads(memoprobe("status", "run.db", "--json"))["likelihoods"]
    assert (status["planned"], status["left"]) == (4 * (LEVELS + 1), 0)
    assert "repairs: 6 of its samples have no reference" in nothing


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_stopped_probe_goes_on_where_it_was(repairs, number, code):
    """No stored likelihood is asked again; the results are those of an undisturbed run."""
    with scoring_servers.serve() as server:
        whole = server.complete

        def slow(path, body):
            time.sleep(0.05)
            return whole(path, body)

        server.complete = slow
        arguments = command(server, repairs, "--probe", "likelihood", "--max-in-flight", 1)
        process = subprocess.Popen(
            [sys.executable, "-m", "memoprobe", *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(server.requests) < 8:
            time.sleep(0.01)
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == code, errors
        assert "Traceback" not in errors
        (kept,) = rows("run.db", "SELECT count(*) AS n FROM likelihood_rows")
        assert len(complete(MODEL)) == kept["n"] // (LEVELS + 1)
        server.complete = whole
        before = len(server.requests)
        run(server, repairs)
        asked = len(server.requests) - before - 1  # the proof
        run(server, repairs, db="whole.db")

    assert 0 < kept["n"] < N_ASKED
    assert asked == N_ASKED - kept["n"]
    assert complete(MODEL) == {("repairs", f"r{k}") for k in range(6)}
    assert complete("other") == set()
    if code == 130:
        assert f"{kept['n']} likelihoods kept in run.db" in errors
    for table in ("likelihoods", "scores", "sensitivities", "comparisons", "detections"):
        found, other = (rows(db, f"SELECT * FROM {table}") for db in ("run.db", "whole.db"))
        assert sorted(map(str, found)) == sorted(map(str, other))


def test_answers_and_likelihoods_share_a_database(repairs):
    """In one run or in two, in either order, and neither asks or unplans what the other has."""
    greedy = ("--answers", 1, "--repeats", 1)
    with scoring_servers.serve() as server:
        run(server, repairs, *greedy, db="both.db", probe="both")
        run(server, repairs, *greedy, "--limit", 4, db="two.db", probe="likelihood")
        run(server, repairs, *greedy, db="two.db", probe="answers")
        counted = json.loads(memoprobe("status", "two.db", "--json"))
        run(server, repairs, *greedy, db="two.db", probe="likelihood")

    assert (counted["answered"], counted["likelihoods"]["planned"]) == (N_ASKED, 16)
    for table in ("responses", "likelihoods", "scores", "sensitivities", "detections"):
        columns = "*"
        if table == "responses":
            columns = "sample_id, level, text"
        one, two = (rows(db, f"SELECT {columns} FROM {table}") for db in ("both.db", "two.db"))
        assert sorted(map(str, one)) == sorted(map(str, two))
    metrics = {row["metric"] for row in rows("two.db", "SELECT DISTINCT metric FROM scores")}
    assert metrics == {*likelihood.METRICS, "token_levenshtein", "levenshtein"}
    memoprobe("report", "two.db", "-o", "page.html", "--markdown", "tables.md")
    tables = Path("tables.md").read_text(encoding="utf-8")
    assert "## Detectors side by side" in tables
    assert "## Likelihoods" in tables
    assert "24 of 24 planned answers and 24 of 24 planned likelihoods" in Path(
        "page.html"
    ).read_text(encoding="utf-8")


def test_an_answer_is_not_shown_with_a_likelihood(repairs):
    """The likelihood's score has the slot of the first answer, and is none of its own."""
    with scoring_servers.serve() as server:
        run(server, repairs, "--answers", 1, "--repeats", 1, probe="both")

    memoprobe("report", "run.db", "-o", "page.html")
    shown = Path("page.html").read_text(encoding="utf-8").partition('id="samples-data">')[2]
    assert '"token_levenshtein"' in shown
    assert "logprob_token" not in shown.partition("</script>")[0]


def test_likelihoods_of_several_machines_become_one(repairs):
    """Beside answers of other machines; the last digits may differ, more may not."""
    with scoring_servers.serve() as server:
        run(server, repairs, "--limit", 4, db="one.db")
        run(server, repairs, db="two.db")
        run(server, repairs, "--answers", 1, "--repeats", 1, db="three.db", probe="answers")
    change("two.db", "total = total + 1e-4 * n_tokens")
    memoprobe("merge", "one.db", "two.db", "three.db", "-o", "all.db")
    change("two.db", "total = total - 1 WHERE level = 2")

    text = memoprobe("merge", "one.db", "two.db", "-o", "x.db", code=2)

    assert "two likelihoods of one reference: repairs r" in text
    status = json.loads(memoprobe("status", "all.db", "--json"))
    assert (status["answered"], status["likelihoods"]["answered"]) == (N_ASKED, N_ASKED)
    assert status["likelihoods"]["left"] == status["left"] == 0


def test_a_plan_counts_likelihoods(repairs):
    """One for each variant with a reference; how long they take nobody knows."""
    without_reference(repairs, "r0")
    study = f"""
        probe = "both"
        levels = {LEVELS}
        greedy = true
        [[models]]
        name = "tiny"
        base_urls = ["http://127.0.0.1:9/v1"]
        [[benchmarks]]
        path = "{repairs}"
        task = "program_repair"
    """
    Path("both.toml").write_text(study, encoding="utf-8")
    Path("likely.toml").write_text(study.replace("both", "likelihood"), encoding="utf-8")

    both, likely = (
        json.loads(memoprobe("plan", f"{name}.toml", "--json")) for name in ("both", "likely")
    )

    n = 5 * (LEVELS + 1)
    assert (both["likelihoods"], likely["likelihoods"]) == (n, n)
    assert (both["answers"], likely["answers"]) == (9 * N_ASKED + 6, 0)
    assert (both["requests"], likely["requests"]) == (N_ASKED + 6 + n, n)
    assert likely["max_completion_tokens"] == n
    assert likely["prompt_tokens"] < both["prompt_tokens"] < 3 * likely["prompt_tokens"]
    assert likely["seconds"] is None


def test_members_are_told_from_strangers_by_the_reference_model():
    """The whole path over HTTP: 16 and more copies are likelier, and fall further, than none."""
    targets = [t for t in corpus.targets(0) if t.item.task == "code_generation"]
    members = [t for t in targets if t.copies >= 16][:4]
    strangers = [t for t in targets if t.copies == 0][:4]
    with Path("known.jsonl").open("w", encoding="utf-8") as file:
        for target in (*members, *strangers):
            row = {**corpus.row(target), "control": target in strangers}
            file.write(f"{json.dumps(row)}\n")
    with serve_reference(load(0)) as url:
        memoprobe(
            "run", "--base-url", url, "--model", "memoprobe-reference-0", "--benchmark",
            "known.jsonl", "--task", "code_generation", "--interface", "completions",
            "--probe", "likelihood", "--levels", 2,
        )  # fmt: skip

    detected = json.loads(memoprobe("compare", "memoprobe.db", "--json"))["detections"]
    found = {row["detector"]: row["auc"] for row in detected}
    assert set(found) == {"logprob.calibrated", "ma", "level0_logprob", "min_k"}
    assert min(found.values()) > 0.8
