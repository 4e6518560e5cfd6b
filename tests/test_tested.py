"""Check that answers are scored by their tests: whole paths from a stored answer to a verdict."""

import json
from pathlib import Path

import pytest

from memoprobe.answers import program
from memoprobe.errors import SandboxError
from memoprobe.pipeline import derive, testing
from memoprobe.records import TEXT_SLOT
from memoprobe.sandbox import Verdict
from memoprobe.store import open_store, results
from memoprobe.store.database import Cell, PlanRow
from tests.test_store import response, sample, variant
from tests.walled import needs_wall

CELL = Cell("m", "b", "rename")
RIGHT = "def f(x):\n    return x + 1\n"
TESTS = json.dumps({"kind": "asserts", "setup": "", "asserts": ["assert f(1) == 2"]})
TEXTS = {
    1: f"```python\n{RIGHT}```",
    2: "```python\ndef f(x):\n    return x\n```",
    3: "```python\ndef f(x):\n    while True:\n        pass\n```",
}


@pytest.fixture
def store():
    """Hold a sample with a right, a wrong, an endless and a cut-off answer to its original."""
    with open_store(Path("run.db"), write=True) as opened:
        model = {"model": "m", "interface": "chat", "extra_body": {}}
        opened.set_info({
            "settings": {"seed": 0, "width": 4, "models": {"m": model}},
            "limits": {"wall_s": 0.5},
        })  # fmt: skip
        opened.add_samples([sample(text=RIGHT, reference=RIGHT, entry_point="f", tests=TESTS)])
        opened.save(variant(0, RIGHT))
        for answer, text in TEXTS.items():
            opened.save(response(level=0, answer=answer, key=b"%d" % answer, text=text))
        cut = response(level=0, answer=4, key=b"4", text="def f", finish_reason="length")
        opened.save(cut)
        opened.flush()
        opened.replace_plan({PlanRow(CELL, 1, 1, 4): ["s"]})
        yield opened


def scored(store):
    return {
        row["answer"]: (row["value"], row["verdict"])
        for row in results.rows_of(store, "scores")
        if row["metric"] == "tests"
    }


@needs_wall
def test_an_answer_is_run_against_its_tests(store):
    """It scores 1 where all tests pass, else 0, with the verdict; a cut-off one by choice."""
    derive.score(store, ["tests"])
    excluded = scored(store)
    derive.score(store, unanswered="zero")

    assert excluded == {
        1: (1.0, "passed (calls)"), 2: (0.0, "failed (calls)"), 3: (0.0, "timeout (calls)")
    }  # fmt: skip
    assert scored(store) == {**excluded, 4: (0.0, None)}


@needs_wall
def test_a_program_runs_once(store):
    """Scoring again takes the stored verdicts, and another limit is another program."""
    derive.score(store, ["tests"])
    keys = results.verdict_keys(store)
    forged = Verdict(kind="failed", mode="calls")
    known = testing.Verdicts(store)
    for key in keys:
        known[key] = forged
    store.set_info({"names_mapped_back": True})
    derive.score(store, map_back=False)

    # Three answers, and the reference at both of its levels.
    assert len(known) == len(keys) == 5
    assert list(known) == keys
    assert {verdict for _, verdict in scored(store).values()} == {"failed (calls)"}
    store.set_info({"limits": {"wall_s": 0.6}})
    derive.score(store, map_back=True)
    assert len(known) == 8
    with pytest.raises(KeyError):
        del known[keys[0]]


def test_without_a_wall_nothing_runs(store, monkeypatch):
    """By default tests are left out, and it is said; asked for by name they are an error."""

    def no_wall(*, unsafe=False):
        msg = "no bubblewrap"
        raise SandboxError(msg)

    monkeypatch.setattr("memoprobe.sandbox.find_wall", no_wall)
    monkeypatch.setattr("memoprobe.sandbox.batch.find_wall", no_wall)
    derived = derive.score(store)

    assert derived.untested == "no bubblewrap"
    assert scored(store) == {}
    with pytest.raises(SandboxError):
        derive.score(store, ["tests"])


def test_a_program_has_what_the_prompt_gave():
    """Imports and helpers of the prompt stand before the answer, the function under test not."""
    context = (
        f'import math\n\n\ndef half(x):\n    return x / 2\n\n\ndef f(x):\n    """{TEXT_SLOT}"""\n'
    )
    asked = sample(
        task="code_generation", input_kind="prose", text="Add.", context=context, entry_point="f"
    )

    given = program(RIGHT, asked)

    assert given == f"import math\n\ndef half(x):\n    return x / 2\n\n{RIGHT}"
    assert program(RIGHT, sample(text=RIGHT)) == RIGHT
