"""Compare the versions of a model family, from the study file to the comparison."""

import json
from pathlib import Path

import pytest

from tests import fakes
from tests.test_cli import memoprobe, rows


def write_study(fake, benchmark, *models):
    lines = ["answers = 1", "repeats = 1", "levels = 2"]
    for model in models:
        lines += ["[[models]]", f'name = "{model}"', f'base_urls = ["{fake.url}"]']
        lines += ['family = "coder"'] if model != "stranger" else []
    lines += ["[[benchmarks]]", f'path = "{benchmark}"', 'task = "program_repair"']
    Path("family.toml").write_text("\n".join(lines), encoding="utf-8")


def test_each_version_is_compared_with_the_one_before(repairs):
    """Paired by sample, in the order of the file, controls apart; one may be added later."""
    models = ["one", "two", "stranger", "three"]
    with fakes.serve(models=models) as fake:
        whole = fake.reply

        def reply(path, body):  # each version is another server's model: its seeds differ
            body["seed"] += 1000 * models.index(body["model"])
            return whole(path, body)

        fake.reply = reply
        write_study(fake, repairs, "one", "two", "stranger")
        memoprobe("run", "family.toml")
        asked = len(fake.requests)
        write_study(fake, repairs, *models)
        memoprobe("run", "family.toml")

    assert len(fake.requests) == asked + 6 * 3
    compared = json.loads(memoprobe("compare", "family.db", "--json"))["rows"]
    found = [row for row in compared if row["question"] == "version_difference"]
    assert {(row["subject"], row["context"]) for row in found} == {
        ("two - one", "coder/repairs"),
        ("three - two", "coder/repairs"),
    }
    assert {row["n_subject"] for row in found} == {4}
    values = {
        (row["model"], row["sample_id"]): row["value"]
        for row in rows(
            "family.db",
            "SELECT model, sample_id, value FROM sensitivities"
            " WHERE metric = 'token_levenshtein' AND definition = 'calibrated'",
        )
    }
    for row in found:
        if (row["test"], row["metric"], row["definition"]) == (
            "paired_mean", "token_levenshtein", "calibrated",
        ):  # fmt: skip
            later, earlier = row["subject"].split(" - ")
            falls = [values[later, f"r{k}"] - values[earlier, f"r{k}"] for k in range(4)]
            assert row["effect"] == pytest.approx(sum(falls) / 4)
