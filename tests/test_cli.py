"""Check the commands as a user meets them: output, exit codes, messages; a whole run and back."""

import csv
import io
import json
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils
from typer.testing import CliRunner

from memoprobe import cli
from memoprobe.pipeline import present
from memoprobe.store import open_store
from tests import fakes


def memoprobe(*arguments, code=0, told=False):
    """Run a command in this process and return what it prints, on request to stderr as well."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["memoprobe", *map(str, arguments)])
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        try:
            cli.main()
            found = 0
        except SystemExit as stop:
            found = stop.code or 0
    text = stdout.getvalue() + (stderr.getvalue() if code or told else "")
    assert found == code, stdout.getvalue() + stderr.getvalue()
    assert "Traceback" not in stderr.getvalue()
    return text


def run(fake, path, *more, db="run.db", code=0):
    return memoprobe(
        "run", "--base-url", fake.url, "--model", "fake", "--benchmark", path,
        "--task", "program_repair", "--db", db, *more, code=code,
    )  # fmt: skip


def rows(db, sql):
    with closing(sqlite_utils.Database(db)) as opened:
        return list(opened.query(sql))


def test_a_run_stores_every_slot_and_prints_the_summary(repairs):
    """Six samples, six levels, nine answers each, one request a variant."""
    with fakes.serve() as fake:
        text = run(fake, repairs)

    assert rows("run.db", "SELECT count(*) AS n FROM responses") == [{"n": 6 * 6 * 9}]
    assert len(fake.requests) == 36
    assert {request["n"] for request in fake.requests} == {9}
    assert {(r["temperature"], r["top_p"]) for r in fake.requests} == {(0.3, 0.5)}
    assert "token_levenshtein" in text
    assert "controls" in text
    stored = {row["prompt"] for row in rows("run.db", "SELECT prompt FROM prompts")}
    assert stored == {request["messages"][0]["content"] for request in fake.requests}


def test_a_finished_run_sends_nothing_more(repairs):
    """Not even a look at the server."""
    with fakes.serve() as fake:
        first = run(fake, repairs)
        del fake.paths[:]

        second = run(fake, repairs)

    assert fake.paths == []
    assert second == first


def test_answers_are_extended_and_never_asked_twice(repairs):
    """More samples, answers and repeats send only what is new."""
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 2, "--answers", 2, "--repeats", 1)
        before = rows("run.db", "SELECT * FROM response_rows")
        run(fake, repairs, "--limit", 3, "--answers", 3, "--repeats", 2)

    after = rows("run.db", "SELECT * FROM response_rows")
    assert before == after[: len(before)]
    assert len(after) == 3 * 6 * 6
    assert sum(request["n"] for request in fake.requests) == len(after)
    seeds = rows(
        "run.db", "SELECT count(DISTINCT seed) AS n FROM responses GROUP BY sample_id, level"
    )
    assert {row["n"] for row in seeds} == {6}


@pytest.mark.parametrize(
    ("behaviour", "n_requests"),
    [({"max_n": 4}, {4: 2, 1: 1}), ({"ignores_n": True}, {1: 8})],
    ids=["refuses above four", "ignores n"],
)
def test_fewer_choices_are_topped_up(repairs, behaviour, n_requests):
    """A capped or ignored n costs requests and never an answer."""
    with fakes.serve(**behaviour) as fake:
        run(fake, repairs, "--limit", 1, "--levels", 2, "--max-in-flight", 1)
        plain = rows("run.db", "SELECT * FROM response_rows ORDER BY level, repeat, answer")
    with fakes.serve() as whole:
        run(whole, repairs, "--limit", 1, "--levels", 2, db="whole.db")

    asked = [request["n"] for request in fake.requests]
    for n, least in n_requests.items():
        assert asked.count(n) >= 3 * least
    assert asked[0] == 9
    assert asked.count(9) == 1  # learned at once
    same = rows("whole.db", "SELECT * FROM response_rows ORDER BY level, repeat, answer")
    assert [(r["seed"], r["text"]) for r in plain] == [(r["seed"], r["text"]) for r in same]


def test_changed_settings_are_refused_by_name(repairs):
    """Answers to different questions do not mix."""
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 1)

        text = run(fake, repairs, "--limit", 1, "--temperature", 0.9, "--seed", 3, code=2)

    assert "sampling.temperature: was 0.3, is 0.9" in text
    assert "seed: was 0, is 3" in text


def test_an_edited_row_is_a_new_sample_and_moved_rows_are_none(repairs):
    """Answers follow content and id, never the place in the file."""
    with fakes.serve() as fake:
        run(fake, repairs)
        lines = repairs.read_text().splitlines()
        edited = json.loads(lines[0])
        edited["input"] += "\n# edited\n"
        lines[0] = json.dumps(edited)
        new = json.loads(lines[1]) | {"id": "new"}
        repairs.write_text("\n".join([json.dumps(new), *reversed(lines)]))
        del fake.requests[:]
        run(fake, repairs)

    assert len(fake.requests) == 12
    current = rows("run.db", "SELECT sample_id, count(*) AS n FROM responses GROUP BY 1")
    assert {row["n"] for row in current} == {54}
    assert len(current) == 7
    assert rows("run.db", "SELECT count(*) AS n FROM response_rows") == [{"n": 8 * 54}]


def test_temperature_0_asks_for_one_answer(repairs):
    """Nine greedy answers would be nine copies."""
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 1, "--temperature", 0)

    assert [request["n"] for request in fake.requests] == [1] * 6


def test_failures_are_stored_once_and_told(repairs):
    """A prompt that does not fit is asked once, is no answer, and gives exit code 3."""
    too_long = (400, {}, {"error": {"message": "exceeds the available context size"}})
    with fakes.serve(fail_if=lambda prompt: too_long if "total_0" in prompt else None) as fake:
        run(fake, repairs, code=3)
        bad = [r for r in fake.requests if "total_0" in r["messages"][0]["content"]]
        n_first = len(fake.requests)
        run(fake, repairs, code=3)

    assert len(bad) >= 1
    assert len(fake.requests) == n_first
    failed = rows("run.db", "SELECT DISTINCT kind, phase, attempts FROM failures")
    assert failed == [{"kind": "context_overflow", "phase": "status", "attempts": 1}]
    status = json.loads(memoprobe("status", "run.db", "--json"))
    assert status["failed"] == {"context_overflow": 9 * len(bad)}
    assert status["left"] == 0


def test_permanent_failures_are_retried_on_demand(repairs):
    """--retry-failed asks again what failed for good."""
    broken = (400, {}, {"error": {"message": "no"}})
    with fakes.serve(fail_if=lambda prompt: broken) as fake:
        run(fake, repairs, "--limit", 1, code=3)
        fake.fail_if = lambda prompt: None
        run(fake, repairs, "--limit", 1, code=3)
        run(fake, repairs, "--limit", 1, "--retry-failed")

    assert rows("run.db", "SELECT count(*) AS n FROM failures") == [{"n": 0}]
    assert rows("run.db", "SELECT count(*) AS n FROM responses") == [{"n": 54}]


def test_an_error_within_a_200_is_asked_again_next_time(repairs):
    """Quota errors in a success body are no answers and are not replayed."""
    broken = (200, {}, {"error": {"message": "overloaded"}})
    with fakes.serve(fail_if=lambda prompt: broken) as fake:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("memoprobe.endpoints.retry.FIRST_WAIT_S", 0.01)
            run(fake, repairs, "--limit", 1, code=3)
        fake.fail_if = lambda prompt: None
        del fake.requests[:]
        run(fake, repairs, "--limit", 1)

    assert len(fake.requests) == 6
    assert rows("run.db", "SELECT count(*) AS n FROM failures") == [{"n": 0}]


def test_states_are_kept_apart(repairs):
    """Truncated, empty and thinking-only replies are states of their own, each asked once."""
    states = {0: ("length", "def"), 1: ("length", None), 2: ("stop", ""), 3: ("stop", "def x(): 1")}
    with fakes.serve(
        text_of=lambda prompt, seed: {"content": states[seed % 4][1], "reasoning": "hm"},
        finish_of=lambda prompt, seed: states[seed % 4][0],
    ) as fake:
        run(fake, repairs, "--limit", 2)

    assert len(fake.requests) == 12
    found = rows("run.db", "SELECT DISTINCT text, finish_reason, reasoning, state FROM responses")
    assert sorted((r["state"], r["text"], r["finish_reason"]) for r in found) == [
        ("empty", "", "stop"),
        ("ok", "def x(): 1", "stop"),
        ("truncated", "def", "length"),
        ("truncated_empty", None, "length"),
    ]
    assert {r["reasoning"] for r in found} == {"hm"}
    status = json.loads(memoprobe("status", "run.db", "--json"))
    counted = rows("run.db", "SELECT state, count(*) AS n FROM responses GROUP BY 1")
    cells = rows("run.db", "SELECT excluded FROM cell_rows")
    assert {row["excluded"] for row in cells} == {0}
    by_state = {row["state"]: row["n"] for row in counted}
    assert status["answered"] == 108
    assert status["truncated"] == by_state["truncated"] + by_state["truncated_empty"]
    assert status["empty"] == by_state["empty"] + by_state["truncated_empty"]


def test_text_that_utf_8_cannot_hold_survives(repairs):
    """Half a surrogate pair and a NUL come back equal, and the export is valid JSON."""
    odd = "x = '\ud835'\x00 é"
    with fakes.serve(text_of=lambda prompt, seed: odd) as fake:
        run(fake, repairs, "--limit", 1)

    lines = memoprobe("export", "run.db", "--table", "responses", "--format", "jsonl").splitlines()
    assert {json.loads(line)["text"] for line in lines} == {odd}
    memoprobe("report", "run.db")


def test_everything_works_on_a_finished_run(repairs):
    """Status, compare, report, export and score agree with what was stored."""
    with fakes.serve() as fake:
        summary = run(fake, repairs)

    assert memoprobe("score", "run.db") == summary
    status = json.loads(memoprobe("status", "run.db", "--json"))
    assert status["planned"] == status["answered"] == 324
    assert set(status) - {"likelihoods", "cells"} == {*present.COUNTS, "failed"}
    assert "repairs" in memoprobe("status", "run.db")
    compared = json.loads(memoprobe("compare", "run.db", "--json"))
    assert {row["question"] for row in compared["rows"]} == {"memorization"}
    assert {f["size"] for f in compared["families"]} <= {0, 1}
    first = memoprobe("compare", "run.db").splitlines()[0]
    assert first == (
        "memorization · mean · calibrated · token_levenshtein · default"
        " (confirmatory, 0 tests, holm)"
    )
    memoprobe("report", "run.db", "-o", "page.html", "--figures", "figures")
    for form in ("csv", "jsonl", "parquet"):
        memoprobe("export", "run.db", "--table", "scores", "--format", form, "-o", f"s.{form}")
    scores = list(csv.DictReader(Path("s.csv").read_text(encoding="utf-8").splitlines()))
    assert len(scores) == 2 * 324
    assert memoprobe("export", "run.db", "--table", "samples").count("\n") > 6


def test_a_metric_can_be_scored_alone_and_names_left_renamed(repairs):
    """The perfect repairer is perfect only when renamed names are mapped back."""

    def perfect(prompt, seed):
        code = prompt.split("```python\n")[1].split("```")[0]
        return f"```python\n{code.replace(' - ', ' + ', 1)}```"

    with fakes.serve(text_of=perfect) as fake:
        run(fake, repairs, "--limit", 2)
    mean = "SELECT min(value) AS low FROM scores WHERE metric = 'token_levenshtein'"
    assert rows("run.db", mean) == [{"low": 1.0}]

    memoprobe("score", "run.db", "--metric", "token_levenshtein", "--no-map-back")

    assert rows("run.db", mean)[0]["low"] < 0.9


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "--model", "m", "--benchmark", "b.jsonl"], 2, "--base-url"),
        (["run", "study.toml"], 2, "no study file study.toml"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "humanevil"],
         2, "humaneval"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "humaneval"],
         2, "memoprobe fetch humaneval"),
        (["run", "--base-url", "ftp://x", "--model", "m", "--benchmark", "r.jsonl", "--task",
          "program_repair"], 2, "http://"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "r.jsonl"],
         2, "--task"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "r.jsonl",
          "--task", "program_repair"], 2, "is the server running"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "r.jsonl",
          "--task", "program_repair", "--api-key-env", "NO_SUCH"], 2, "NO_SUCH"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "bad.jsonl",
          "--task", "program_repair"], 2, "bad.jsonl"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "r.jsonl",
          "--task", "program_repair", "--perturbation", "nonsense"], 2, "rename"),
        (["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--benchmark", "r.jsonl",
          "--task", "program_repair", "--levels", "0"], 2, "levels"),
        (["status", "missing.db"], 2, "no run database missing.db"),
        (["score", "missing.db"], 2, "missing.db"),
        (["status", "text.db"], 2, "text.db"),
        (["export", "empty.db", "--table", "nonsense"], 2, "scores"),
        (["export", "empty.db", "--format", "parquet"], 2, "--out"),
        (["fetch", "humaneval", "--from", "nowhere"], 2, "nowhere"),
        (["benchmarks", "nonsense"], 2, "known"),
        (["check", "http://127.0.0.1:9/v1"], 2, "http://127.0.0.1:9/v1: Connection refused"),
        (["check", "http://127.0.0.1:9/v1", "--api-key-env", "NO_SUCH"], 2, "NO_SUCH"),
        (["nonsense"], 2, "nonsense"),
    ],
)  # fmt: skip
def test_mistakes_get_one_message_and_the_right_exit_code(repairs, arguments, code, words):
    """Each message names what is wrong and how to mend it, without a traceback."""
    repairs.rename("r.jsonl")
    Path("bad.jsonl").write_text('{"id": 1, "input": "x"}\n{"id": 2, "in', encoding="utf-8")
    Path("text.db").write_text("no database, however long it is " * 99, encoding="utf-8")
    with open_store(Path("empty.db"), write=True):
        pass

    text = memoprobe(*arguments, code=code)

    assert words in text


def test_a_wrong_model_is_told_before_anything_is_asked(repairs):
    """The message lists what the server does serve."""
    with fakes.serve(models=["other"]) as fake:
        text = run(fake, repairs, code=2)

    assert "'fake'" in text
    assert "it serves: other" in text


def test_a_refused_key_ends_the_run_at_once(repairs, monkeypatch):
    """An error that every request would meet does not burn the plan item by item."""
    monkeypatch.setenv("KEY", "sk-test-CANARY-123")
    body = {"error": "Unauthorized", "headers": {"authorization": "Bearer sk-test-CANARY-123"}}
    with fakes.serve(fail_if=lambda prompt: (401, {}, body)) as fake:
        text = run(fake, repairs, "--api-key-env", "KEY", code=2)

    assert len(fake.requests) <= 16
    assert "the server refuses the key" in text
    assert "CANARY" not in text
    assert fake.headers[0]["authorization"] == "Bearer sk-test-CANARY-123"
    assert b"CANARY" not in Path("run.db").read_bytes()


def test_a_study_file_runs_as_well(repairs):
    """The file's name names the database; flags override the file."""
    with fakes.serve() as fake:
        Path("tiny.toml").write_text(
            f"""
            levels = 3
            [sampling]
            max_tokens = 64
            [[models]]
            name = "mine"
            model = "fake"
            base_urls = ["{fake.url}", "{fake.url}/"]
            interface = "completions"
            prompt_price = 2
            completion_price = 10
            requests_per_minute = 6000
            tokens_per_minute = 60000000
            extra_body = {{ top_k = 5 }}
            [[benchmarks]]
            path = "repairs.jsonl"
            task = "program_repair"
            """,
            encoding="utf-8",
        )
        plan = json.loads(memoprobe("plan", "tiny.toml", "--json"))
        assert "samples" in memoprobe("plan", "tiny.toml")
        memoprobe("run", "tiny.toml", "--repeats", 1, "--placebo")
        pilot = json.loads(memoprobe("plan", "tiny.toml", "--json", "--db", "tiny.db"))
        stated = json.loads(memoprobe("plan", "tiny.toml", "--json", "--sd", 0.1))

    assert plan["samples"] == 6
    assert plan["answers"] == 6 * 4 * 9
    assert plan["seconds"] is None
    assert plan["price"] == pytest.approx(
        (2 * plan["prompt_tokens"] + 10 * plan["max_completion_tokens"]) / 1e6, rel=0.01
    )
    assert plan["max_completion_tokens"] == 64 * plan["answers"]
    assert pilot["seconds"] > 0
    assert plan["smallest_effect"] is None
    assert pilot["smallest_effect"] is not None
    assert stated["smallest_effect"] == pytest.approx(2.80 * 0.1 * (1 / 4 + 1 / 2) ** 0.5)
    assert {r["max_tokens"] for r in fake.requests} == {64}
    assert {r["top_k"] for r in fake.requests} == {5}
    assert all("prompt" in request for request in fake.requests)
    assert rows(
        "tiny.db", "SELECT DISTINCT perturbation AS p, count(*) AS n FROM responses GROUP BY 1"
    ) == [
        {"p": "placebo", "n": 72},
        {"p": "rename", "n": 72},
    ]
    assert "--model" in memoprobe("run", "tiny.toml", "--model", "x", code=2)


def test_check_says_what_an_endpoint_can():
    """Each lack comes with a sentence of advice."""
    with fakes.serve(ignores_n=True) as fake:
        found = {row["name"]: row for row in json.loads(memoprobe("check", fake.url, "--json"))}
        text = memoprobe("check", fake.url.removesuffix("/v1"), "--model", "other")

    assert found["chat"]["ok"]
    assert found["seed"]["ok"]
    assert not found["n > 1"]["ok"]
    assert "1 of 9 choices" in found["n > 1"]["detail"]
    assert "nothing to do" in found["n > 1"]["advice"]
    assert not found["prompt log-probabilities"]["ok"]
    assert "check the name" in text


def test_check_tells_the_server_and_what_it_adds_to_a_request():
    """llama-server's own defaults act beside ours; vLLM states a version alone."""
    params = {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05, "repeat_penalty": 1.0}
    props = {"build_info": "b1", "default_generation_settings": {"params": params}}
    with fakes.serve(owned_by="llamacpp", pages={"/props": props}) as fake:
        llama = {row["name"]: row for row in json.loads(memoprobe("check", fake.url, "--json"))}
    with fakes.serve(pages={"/version": {"version": "0.32.0"}}) as fake:
        vllm = {row["name"]: row for row in json.loads(memoprobe("check", fake.url, "--json"))}

    assert llama["server"]["detail"] == "llama.cpp b1"
    assert "top_k = 40" in llama["defaults"]["detail"]
    assert "extra_body = { top_k = 0, min_p = 0 }" in llama["defaults"]["advice"]
    assert vllm["server"]["detail"] == "vllm 0.32.0"
    assert vllm["defaults"]["detail"] == "not stated"


def test_benchmarks_lists_the_registry():
    """One object a use, with the keys that scripts rely on."""
    found = json.loads(memoprobe("benchmarks", "--json"))

    keys = "name task category dataset languages perturbation reference tests rows hub_id licence"
    assert set(found[0]) == {*keys.split(), "source", "available", "options"}
    assert len(found) == 20
    assert "humaneval" in memoprobe("benchmarks")
    assert "openai" in memoprobe("benchmarks", "humaneval")


def test_every_command_has_help_with_an_example():
    """Help shows how a command is used."""
    commands = [
        command.name or command.callback.__name__ for command in cli.app.registered_commands
    ]

    for command in commands:
        result = CliRunner().invoke(cli.app, [command, "--help"])
        assert result.exit_code == 0
        assert "Example" in result.output
    assert memoprobe("--version").startswith("memoprobe 0.")


def compare_in_another_process():
    command = [sys.executable, "-m", "memoprobe", "compare", "run.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_stopped_run_goes_on_where_it_was(repairs, number, code):
    """No stored slot is asked again, and the tables equal those of an undisturbed run."""
    with fakes.serve(delay_s=0.05) as fake:
        command = [
            sys.executable, "-m", "memoprobe", "run", "--base-url", fake.url, "--model", "fake",
            "--benchmark", str(repairs), "--task", "program_repair", "--db", "run.db",
            "--max-in-flight", "2",
        ]  # fmt: skip
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while len(fake.requests) < 12:
            time.sleep(0.01)
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == code, errors
        assert "Traceback" not in errors
        kept = rows("run.db", "SELECT key FROM response_rows")
        assert rows("run.db", "PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        early = compare_in_another_process()
        before = len(fake.requests)
        fake.delay_s = 0
        run(fake, repairs)
        asked = sum(request["n"] for request in fake.requests[before:])
        run(fake, repairs, db="whole.db")

    assert "not scored yet" in early
    assert 0 < len(kept) < 324
    assert asked == 324 - len(kept)
    for table in ("scores", "sensitivities", "comparisons", "curves"):
        assert rows("run.db", f"SELECT * FROM {table}") == rows(
            "whole.db", f"SELECT * FROM {table}"
        )


def test_a_second_writer_is_refused_politely(repairs):
    """The message names the process that holds the database."""
    with fakes.serve() as fake, open_store(Path("run.db"), write=True):
        text = run(fake, repairs, code=2)

    assert "is writing this database" in text


def test_databases_of_several_machines_become_one(repairs):
    """Other models, other samples and equal duplicates; the tables equal those of one run."""
    with fakes.serve(models=["fake", "other"]) as fake:
        run(fake, repairs, "--limit", 4, db="one.db")
        run(fake, repairs, db="two.db")
        run(fake, repairs, "--model", "other", db="three.db")
        run(fake, repairs, db="whole.db")
        run(fake, repairs, "--model", "other", db="whole.db")

    memoprobe("merge", "one.db", "two.db", "three.db", "-o", "all.db")

    for table in ("samples", "variants", "prompts", "scores", "sensitivities", "comparisons"):
        key = rows("all.db", f"SELECT * FROM {table}")
        assert sorted(map(str, key)) == sorted(map(str, rows("whole.db", f"SELECT * FROM {table}")))
    assert "there already" in memoprobe("merge", "one.db", "-o", "all.db", code=2)
    assert not list(Path().glob("*.part*"))


def test_contradictions_are_not_merged(repairs):
    """Another answer to a slot, another setting, another text of a sample: each is named."""
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 1, db="one.db")
        fake.text_of = lambda prompt, seed: "other"
        run(fake, repairs, "--limit", 1, db="two.db")
        run(fake, repairs, "--limit", 1, "--seed", 9, db="three.db")
        repairs.write_text(repairs.read_text().replace("offset", "shift"), encoding="utf-8")
        run(fake, repairs, "--limit", 1, db="four.db")

    told = {
        "two": "two answers to one slot",
        "three": "three.db: its run had other settings",
        "four": "two versions of one sample",
    }
    for db, words in told.items():
        assert words in memoprobe("merge", "one.db", f"{db}.db", "-o", f"x{db}.db", code=2)
        assert not Path(f"x{db}.db").exists()


def test_a_replica_that_drops_out_is_told_and_costs_nothing(repairs):
    """The other one does its work; the exit code is 0."""
    with fakes.serve() as fake:
        with_dead = ("--base-url", "http://127.0.0.1:9/v1")
        memoprobe_run = run(fake, repairs, *with_dead, "--limit", 3, code=0)

    assert "token_levenshtein" in memoprobe_run
    assert rows("run.db", "SELECT count(*) AS n FROM responses") == [{"n": 3 * 54}]


def test_a_sample_without_any_answer_is_counted_as_excluded(repairs):
    """Cut off at every level, it has no sensitivity and must not vanish."""
    with fakes.serve(
        finish_of=lambda prompt, seed: "length" if "total_0" in prompt else "stop"
    ) as fake:
        run(fake, repairs)

    found = rows("run.db", "SELECT excluded FROM cell_rows")
    total_0 = rows("run.db", "SELECT count(*) AS n FROM sensitivities WHERE sample_id = 'r0'")
    assert {row["excluded"] for row in found} == {1}
    assert total_0 == [{"n": 0}]


def test_a_run_reports_its_own_selection(repairs):
    """A lower limit, a removed row and another model's limit each count, and nothing is lost."""
    with fakes.serve(models=["fake", "other"]) as fake:
        whole = run(fake, repairs)
        run(fake, repairs, "--model", "other", "--limit", 2)
        assert len(fake.requests) == 36 + 12
        run(fake, repairs, "--limit", 3, "--answers", 2, "--repeats", 1)
        low = json.loads(memoprobe("status", "run.db", "--json"))
        scored = rows("run.db", "SELECT model, sample_id, count(*) AS n FROM scores GROUP BY 1, 2")
        lines = repairs.read_text().splitlines()
        repairs.write_text("\n".join(lines[:4] + lines[5:]), encoding="utf-8")
        run(fake, repairs)
        removed = rows("run.db", "SELECT DISTINCT sample_id FROM scores WHERE model = 'fake'")
        repairs.write_text("\n".join(lines), encoding="utf-8")
        run(fake, repairs, "--model", "other", "--limit", 1)
        assert run(fake, repairs).splitlines()[:4] == whole.splitlines()[:4]

    assert len(fake.requests) == 36 + 12
    assert [(c["model"], c["planned"], c["answered"], c["left"]) for c in low["cells"]] == [
        ("fake", 3 * 6 * 2, 3 * 6 * 2, 0),
        ("other", 2 * 54, 2 * 54, 0),
    ]
    assert [(r["model"], r["n"]) for r in scored] == [("fake", 24)] * 3 + [("other", 108)] * 2
    assert len(removed) == 5
    assert rows(
        "run.db", "SELECT model, count(DISTINCT sample_id) AS n FROM scores GROUP BY 1"
    ) == [
        {"model": "fake", "n": 6},
        {"model": "other", "n": 1},
    ]


def test_options_of_scoring_outlive_the_next_run_and_a_merge(repairs):
    """Only naming them changes them."""
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 2)
        memoprobe("score", "run.db", "--unanswered", "zero", "--no-map-back")
        run(fake, repairs, "--limit", 3)
    memoprobe("merge", "run.db", "-o", "all.db")

    for db in ("run.db", "all.db"):
        kept = rows(
            db, "SELECT value FROM run_info WHERE key IN ('unanswered', 'names_mapped_back')"
        )
        assert sorted(row["value"] for row in kept) == ["false", "zero"]
    memoprobe("score", "all.db", "--map-back")
    kept = rows("all.db", "SELECT value FROM run_info WHERE key = 'names_mapped_back'")
    assert kept == [{"value": "true"}]


def test_a_merge_that_fails_leaves_nothing(repairs):
    """Nor are different widths or descriptions of a sample merged, or files that are no runs."""
    Path("empty.db").touch()
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 1, "--answers", 1, db="one.db")
        run(fake, repairs, "--limit", 1, "--answers", 2, db="two.db")
        text = repairs.read_text().replace('"control": false', '"control": true')
        repairs.write_text(text.replace('"control": true', '"cluster": "c", "control": true'))
        run(fake, repairs, "--limit", 1, "--answers", 1, db="three.db")

    for db, words in (("two", "began with 2 answers"), ("three", "two descriptions"),
                      ("empty", "empty")):  # fmt: skip
        assert words in memoprobe("merge", "one.db", f"{db}.db", "-o", "all.db", code=2)
        assert not list(Path().glob("all.db*"))


class Terminal(io.StringIO):
    """Stand for standard output on a terminal."""

    def isatty(self):
        return True


def test_an_export_to_a_terminal_does_not_command_it(repairs, monkeypatch):
    """Control characters of an answer are shown; a file holds them as they are."""
    with fakes.serve(text_of=lambda prompt, seed: "\x1b]0;owned\x07\x9b2J x\ty") as fake:
        run(fake, repairs, "--limit", 1)
    monkeypatch.setattr(io, "StringIO", Terminal)
    shown = memoprobe("export", "run.db", "--table", "responses")
    memoprobe("export", "run.db", "--table", "responses", "-o", "r.csv")

    assert "\\x1b]0;owned\\x07\\x9b2J x\ty" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)
    assert "\x1b]0;owned\x07" in Path("r.csv").read_text(encoding="utf-8")


def test_output_that_cannot_be_written_is_one_message(repairs):
    """For figures and parquet as for pages."""
    with fakes.serve() as fake:
        run(fake, repairs, "--limit", 1)
    Path("file").touch()

    for arguments in (
        ("report", "run.db", "--figures", "file"),
        ("report", "run.db", "--out", "no/page.html"),
        ("export", "run.db", "--format", "parquet", "--out", "no/s.parquet"),
        ("export", "run.db", "--out", "no/s.csv"),
    ):
        assert "cannot be written" in memoprobe(*arguments, code=2)


def test_an_empty_run_database_is_told_as_such():
    """Of a run that stopped before it stored anything."""
    with open_store(Path("new.db"), write=True):
        pass
    nothing = "nothing is stored in it yet"

    assert json.loads(memoprobe("status", "new.db", "--json"))["planned"] == 0
    assert nothing in memoprobe("compare", "new.db")
    assert nothing in memoprobe("report", "new.db", code=2)
    assert nothing in memoprobe("score", "new.db", code=2)
    assert memoprobe("export", "new.db").startswith("model,benchmark,sample_id")


def test_ids_may_hold_half_a_surrogate(repairs):
    """A JSON file may say so, and every command goes on."""
    repairs.write_text(repairs.read_text().replace('"id": "r', '"id": "\\ud835'), encoding="utf-8")
    with fakes.serve() as fake:
        run(fake, repairs)
    memoprobe("report", "run.db")
    memoprobe("export", "run.db", "--table", "sensitivities")

    status = json.loads(memoprobe("status", "run.db", "--json"))
    assert status["planned"] == status["answered"] == 324


def test_a_run_that_asked_nobody_binds_nothing(repairs):
    """A wrong URL or model leaves no plan and no settings behind."""
    with fakes.serve() as fake:
        run(fakes.Fake(url="http://127.0.0.1:9/v1"), repairs, "--limit", 2, "--seed", 5, code=2)
        run(fake, repairs, "--limit", 1, "--model", "wrogn", code=2)
        run(fake, repairs, "--limit", 1)
        run(fake, repairs, "--limit", 1, "--model", "wrogn", "--interface", "completions", code=2)
        run(fake, repairs, "--limit", 1)
        status = json.loads(memoprobe("status", "run.db", "--json"))

    assert [cell["model"] for cell in status["cells"]] == ["fake"]
    assert (status["answered"], status["left"]) == (54, 0)
