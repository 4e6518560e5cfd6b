"""Check which tests are made, on which values, in which families."""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from memoprobe.comparison import Family, Group, compare
from memoprobe.stats.correction import holm
from memoprobe.stats.rank import cliffs_delta

RNG = np.random.default_rng(11)
VALUES = {(m, b): RNG.normal(0.1 * (b == "b2"), 0.2, 12).tolist() for m in ("m1", "m2", "m3")
          for b in ("b1", "b2", "b3")}  # fmt: skip
CONTROLS = {cell: RNG.normal(-0.1, 0.2, 9).tolist() for cell in VALUES}


def make_group(model="m1", benchmark="b1", **changes):
    """Return the group of a cell, without controls."""
    values = VALUES.get((model, benchmark), [0.1, 0.2])
    group = Group(
        model=model,
        benchmark=benchmark,
        task="program_repair",
        perturbation="rename",
        pool="default",
        metric="token_levenshtein",
        definition="calibrated",
        values=values,
        sample_ids=[str(i) for i in range(len(values))],
        controls=[],
    )
    return replace(group, **changes)


def grid(**changes):
    """Return the groups of three models on three benchmarks."""
    return [make_group(*cell, **changes) for cell in VALUES]


def rows_of(compared, question):
    return {(r.subject, r.context): r for r in compared.rows if r.question == question}


@pytest.mark.parametrize(
    ("question", "subject", "context", "rest"),
    [
        ("benchmark_advantage", "b2", "m1", [("m1", "b1"), ("m1", "b3")]),
        ("model_advantage", "m1", "b2", [("m2", "b2"), ("m3", "b2")]),
    ],
)
def test_the_studys_questions_test_one_against_the_rest(question, subject, context, rest):
    """Statistic, p, effect and numbers are those of the subject's values against the rest's."""
    values, others = VALUES["m1", "b2"], [value for cell in rest for value in VALUES[cell]]
    test = stats.mannwhitneyu(values, others, alternative="two-sided", method="asymptotic")
    delta = cliffs_delta(values, others)

    rows = rows_of(compare(grid()), question)

    row = rows[subject, context]
    assert len(rows) == 9
    assert (row.statistic, row.p_value) == (test.statistic, test.pvalue)
    assert (row.effect, row.effect_low, row.effect_high) == delta
    assert (row.n_subject, row.n_rest, row.perturbation) == (12, 24, "rename")
    assert row.p_adjusted == pytest.approx(min(1, 9 * test.pvalue))


def test_the_effect_points_to_the_subject():
    """A benchmark whose values are all above the others' has a delta of 1."""
    groups = [make_group(values=[0.8, 0.9]), make_group(benchmark="b2", values=[0.1, 0.2])]

    rows = rows_of(compare(groups), "benchmark_advantage")

    assert (rows["b1", "m1"].effect, rows["b2", "m1"].effect) == (1, -1)


@pytest.mark.parametrize("definition", ["calibrated", "recall"])
def test_memorization_sets_items_against_controls(definition):
    """The contrast is Welch's, within a cell, corrected by Holm over the cells."""
    groups = [
        replace(g, controls=CONTROLS[g.model, g.benchmark], task=f"task of {g.benchmark}")
        for g in grid()
    ]
    tests = {
        cell: stats.ttest_ind(VALUES[cell], CONTROLS[cell], equal_var=False) for cell in VALUES
    }
    expected = dict(zip(tests, holm([t.pvalue for t in tests.values()]), strict=True))

    rows = rows_of(compare([replace(g, definition=definition) for g in groups]), "memorization")

    assert sorted(rows) == sorted(VALUES)
    for cell, row in rows.items():
        interval = tests[cell].confidence_interval(0.95)
        assert row.effect == pytest.approx(np.mean(VALUES[cell]) - np.mean(CONTROLS[cell]))
        assert (row.effect_low, row.effect_high) == pytest.approx((interval.low, interval.high))
        assert (row.statistic, row.p_value) == pytest.approx(
            (tests[cell].statistic, tests[cell].pvalue)
        )
        assert row.p_adjusted == pytest.approx(expected[cell])
        assert (row.n_subject, row.n_rest) == (12, 9)


def test_controls_serve_all_benchmarks_of_their_task():
    """The rest are the controls of a model's task and perturbation, from whatever benchmark."""
    groups = [
        make_group(controls=[0.1, 0.2]),
        make_group(benchmark="b2"),
        make_group(benchmark="controls", values=[], controls=[0.3, 0.4, 0.6]),
        make_group(benchmark="other task", task="code_generation", controls=[0.5, 0.6]),
        make_group(benchmark="other text", perturbation="lexical", controls=[0.5, 0.6]),
        make_group("m2"),
    ]

    rows = rows_of(compare(groups), "memorization")

    sizes = {("m1", "b1"): 5, ("m1", "b2"): 5, ("m1", "other task"): 2, ("m1", "other text"): 2}
    assert {place: row.n_rest for place, row in rows.items()} == sizes
    mean = np.mean([0.1, 0.2, 0.3, 0.4, 0.6])
    assert rows["m1", "b2"].effect == pytest.approx(np.mean(VALUES["m1", "b2"]) - mean)


def test_controls_are_in_no_other_question():
    """Controls change nothing but memorization."""
    with_controls = compare([replace(g, controls=CONTROLS[g.model, g.benchmark]) for g in grid()])

    for question in ("benchmark_advantage", "model_advantage"):
        assert rows_of(with_controls, question) == rows_of(compare(grid()), question)


def test_families_are_declared():
    """A family is one question, definition, metric and pool, with its size; one is primary."""
    placebo = [replace(g, pool="placebo", perturbation="placebo") for g in grid()[:2]]
    paper = grid(definition="paper", metric="levenshtein")

    families = compare([*grid(), *placebo, *paper]).families

    benchmark = ("benchmark_advantage", "bonferroni")
    model = ("model_advantage", "bonferroni")
    expected = [
        (model, "paper", "levenshtein", "default", 9, False),
        (benchmark, "paper", "levenshtein", "default", 9, False),
        (model, "calibrated", "token_levenshtein", "default", 9, True),
        (benchmark, "calibrated", "token_levenshtein", "default", 9, True),
        (benchmark, "calibrated", "token_levenshtein", "placebo", 2, False),
    ]
    assert {
        Family(
            question=question,
            correction=correction,
            definition=definition,
            metric=metric,
            perturbation=pool,
            size=size,
            primary=primary,
        )
        for (question, correction), definition, metric, pool, size, primary in expected
    } == set(families)
    assert len(families) == len(expected)


def test_pools_are_not_compared_with_each_other():
    """A group finds its rest in its own pool alone."""
    other = make_group(benchmark="b2", pool="placebo", perturbation="placebo")

    assert compare([make_group(), other]) == ([], [])


@pytest.mark.parametrize(
    ("groups", "questions"),
    [
        pytest.param([], set(), id="nothing"),
        pytest.param([make_group()], set(), id="one cell"),
        pytest.param(
            [make_group(), make_group("m2")], {"model_advantage"}, id="one benchmark, two models"
        ),
        pytest.param(
            [make_group(), make_group(benchmark="b2")],
            {"benchmark_advantage"},
            id="one model, two benchmarks",
        ),
        pytest.param([make_group(), make_group("m2", values=[])], set(), id="an empty group"),
        pytest.param([make_group(controls=[0.1, 0.3])], {"memorization"}, id="controls"),
        pytest.param([make_group(values=[], controls=[0.1, 0.3])], set(), id="controls alone"),
        pytest.param(
            [make_group(definition="slope"), make_group("m2", definition="slope")],
            set(),
            id="a definition that is not compared",
        ),
        pytest.param(
            [make_group(definition="paper", controls=[0.1, 0.3])],
            set(),
            id="a definition that is not contrasted",
        ),
    ],
)
def test_a_question_without_a_rest_has_no_rows(groups, questions):
    """One model, one benchmark or an empty group gives no rows, and no error."""
    compared = compare(groups)

    assert {row.question for row in compared.rows} == questions
    assert {family.question for family in compared.families} == questions


def test_the_order_of_groups_changes_nothing():
    """Rows and families come in one order."""
    groups = [replace(g, controls=CONTROLS[g.model, g.benchmark]) for g in grid()]
    groups += grid(definition="recall")
    shuffled = random.Random(1).sample(groups, len(groups))

    assert compare(shuffled) == compare(groups)


def test_a_contrast_without_spread_is_no_test():
    """Where neither side varies the effect is given without p, and the family counts it not."""
    constant = make_group(values=[0.5, 0.5], controls=[0.1, 0.1])
    tested = make_group("m2", controls=CONTROLS["m2", "b1"])

    compared = compare([constant, tested])

    rows = rows_of(compared, "memorization")
    assert rows["m1", "b1"].effect == 0.4
    assert rows["m1", "b1"].p_value is rows["m1", "b1"].p_adjusted is None
    assert rows["m2", "b1"].p_adjusted == rows["m2", "b1"].p_value is not None
    assert [f.size for f in compared.families if f.question == "memorization"] == [1]
