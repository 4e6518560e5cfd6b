"""What changes the meaning is in no claim, in no corner, pooled with nothing, and labelled."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memoprobe.comparison import compare
from memoprobe.perturbations import CHANGES_MEANING, DEFAULT, PARAPHRASES
from memoprobe.report import answer, checks, corners, families, maps, samples, summary, terminal
from memoprobe.report.data import cells
from memoprobe.report.distribution import distributions
from memoprobe.report.falloff import falloffs
from memoprobe.report.files import tables
from memoprobe.report.headline import headline
from memoprobe.report.page import render
from tests import fakes
from tests.report_data import synthetic
from tests.test_cli import memoprobe
from tests.test_comparison import with_controls

LABEL = "(changes the meaning)"


def relabelled(records, name):
    return [
        replace(each, perturbation=name if each.perturbation == "paraphrase" else "rename")
        for each in records
    ]


@pytest.fixture(params=sorted(CHANGES_MEANING))
def mixed(request):
    """Return a study whose prose benchmarks were altered by what changes the meaning."""
    data = synthetic(n_items=12, n_controls=6, n_examples=1)
    changes = {
        field: relabelled(getattr(data, field), request.param)
        for field in ("cells", "sensitivities", "curves", "comparisons", "examples")
    }
    changes["comparisons"] = [
        replace(row, pool=row.perturbation if row.perturbation == request.param else row.pool)
        for row in changes["comparisons"]
    ]
    return request.param, replace(data, **changes)


def test_no_claim_rests_on_it(mixed):
    """Claims, maps, corners and the headline speak of the other benchmark alone."""
    name, data = mixed
    rows = summary.rows(data)
    found, placed = answer.findings(data, rows), corners.placed(data)
    said = " ".join(headline(data, rows, found, placed).found)

    assert {each.cell.perturbation for each in found} == {"rename"}
    assert {each.cell.perturbation for each in placed} == {"rename"}
    assert set(corners.corners(data.sensitivities, "token_levenshtein")) == {
        (s.model, s.benchmark, "rename", s.sample_id)
        for s in data.sensitivities if s.perturbation == "rename"
    }  # fmt: skip
    assert all(name not in panel.description for panel in maps.panels(found))
    assert name not in said


def test_wherever_it_is_shown_it_is_labelled(mixed):
    """Its figures keep cells of their own, and none stands without the label."""
    name, data = mixed
    label = f"{name} {LABEL}"
    shown = {str(value) for table in tables(data) for row in table.rows for value in row}
    drawn = [item.panel.description for item in falloffs(data, legend=False)]
    spread = distributions(data, legend=False)

    assert sum(each.perturbation == name for each in cells(data)) == 4
    assert label in shown
    assert name not in shown
    assert sum(label in told for told in drawn) == 4
    assert [item.perturbation for item in spread] == [label, "rename"]
    assert label in terminal.text(data)
    assert {family.pool for family in families.families(data) if LABEL in family.title} == {name}
    assert samples.as_data(data.examples)[0]["perturbation"] == label
    assert render(data).count(label) > 10
    assert [row[3] for row in checks.meaning(data).rows] == ["not checked"] * 2


@pytest.mark.parametrize("name", sorted(CHANGES_MEANING))
def test_it_is_compared_with_itself_alone(name):
    """Its groups are no contrast to controls, and change nothing in the other families."""
    others = with_controls()
    changed = with_controls(perturbation=name, pool=name)
    both = compare([*others, *changed])
    mine = [row for row in both.rows if row.pool == name]

    assert [row for row in both.rows if row.pool != name] == compare(others).rows
    assert {row.question for row in mine} == {
        "benchmark_advantage", "model_advantage", "benchmark_spread", "benchmark_correlation"
    }  # fmt: skip
    assert not any(each.primary for each in both.families if each.perturbation == name)


def test_it_is_no_default():
    """Only a default and a paraphrase are pooled across benchmarks."""
    assert CHANGES_MEANING.isdisjoint({*DEFAULT.values(), *PARAPHRASES})


def test_a_whole_run_says_so():
    """The commands label it, in words and as a field, and claim nothing."""
    text = "def f(x):\n    return [x + 1, x * 2, x - 30, x + 400, x * 5, x - 61]\n"
    rows = [
        {"id": str(k), "input": text.replace("30", str(k)), "reference": text, "control": k > 2}
        for k in range(5)
    ]
    Path("own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = ("--perturbation", "constants", "--answers", 1, "--repeats", 1, "--task",
             "program_repair", "--benchmark", "own.jsonl", "--db", "run.db")  # fmt: skip
    with fakes.serve(models=["one", "two"]) as fake:
        for model in fake.models:
            text = memoprobe("run", "--base-url", fake.url, "--model", model, *asked)
    compared = json.loads(memoprobe("compare", "run.db", "--json"))

    assert f"constants {LABEL}" in text
    assert "what may be said" not in text
    assert compared["families"]
    assert all(family["changes_meaning"] for family in compared["families"])
    assert not any(family["primary"] for family in compared["families"])
    assert "memorization" not in {row["question"] for row in compared["rows"]}
    assert f" · constants {LABEL} (exploratory" in memoprobe("compare", "run.db")
