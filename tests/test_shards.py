"""Facts about a study that several jobs share: each asks a part, and merged they are one run."""

import subprocess
import sys

import pytest

from memoprobe import plan
from memoprobe.errors import ConfigError
from tests import fakes
from tests.test_cli import memoprobe, rows, run

TABLES = {
    "responses": "model, benchmark, sample_id, perturbation, level, repeat, answer, text, seed",
    "variants": "benchmark, sample_id, perturbation, level, text",
    "scores": "model, benchmark, sample_id, perturbation, level, repeat, answer, metric, value",
    "sensitivities": "model, sample_id, perturbation, metric, definition, value, answer_noise_p,"
    " control_p",
    "comparisons": "question, test, subject, context, definition, metric, p_value, p_adjusted",
}


def contents(db):
    """Return what two equal runs have in common, sorted; times and addresses are not of it."""
    return {
        name: sorted(map(repr, rows(db, f"SELECT {columns} FROM {name}")))
        for name, columns in TABLES.items()
    }


N_SHARDS = 8


def test_shards_merge_into_one_run(repairs):
    """Processes that ask a shard each, at once, give what one process gives; none asks twice."""
    shards = range(1, N_SHARDS + 1)
    with fakes.serve() as fake:
        run(fake, repairs, db="whole.db")
        whole = len(fake.requests)
        command = [sys.executable, "-m", "memoprobe", "run", "--base-url", fake.url]
        command += ["--model", "fake", "--benchmark", repairs, "--task", "program_repair"]
        jobs = [
            subprocess.Popen(
                [*command, "--shard", f"{k}/{N_SHARDS}", "--db", f"{k}.db"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for k in shards
        ]
        assert [job.wait(timeout=240) for job in jobs] == [0] * N_SHARDS

        assert len(fake.requests) == 2 * whole
    memoprobe("merge", *(f"{k}.db" for k in shards), "-o", "merged.db")
    assert contents("merged.db") == contents("whole.db")
    parts = [rows(f"{k}.db", "SELECT DISTINCT sample_id FROM responses") for k in shards]
    assert sum(map(len, parts)) == 6
    assert sum(map(bool, parts)) > 2


def test_a_shard_is_a_part_of_the_same_study(repairs):
    """The database of one may go on to be that of all."""
    with fakes.serve() as fake:
        run(fake, repairs, "--shard", "1/3")
        part = rows("run.db", "SELECT count(*) AS n FROM responses")[0]["n"]
        run(fake, repairs)

        assert len(fake.requests) == 36
    assert 0 < part < rows("run.db", "SELECT count(*) AS n FROM responses")[0]["n"] == 6 * 6 * 9


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "a/b", "-1/2"])
def test_no_such_shard(text):
    """The message says which there are."""
    with pytest.raises(ConfigError, match="from 1/8 to 8/8"):
        plan.shard(text)
