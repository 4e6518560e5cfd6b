"""Check which tests are made, on which values, in which families."""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from memoprobe.comparison import Group, Point, compare
from memoprobe.report.claims import claim
from memoprobe.stats.correction import benjamini_hochberg, bonferroni, holm
from memoprobe.stats.rank import cliffs_delta

RNG = np.random.default_rng(11)
VALUES = {(m, b): RNG.normal(0.1 * (b == "b2"), 0.2, 12).tolist() for m in ("m1", "m2", "m3")
          for b in ("b1", "b2", "b3")}  # fmt: skip
CONTROLS = {cell: RNG.normal(-0.1, 0.2, 9).tolist() for cell in VALUES}


def points(numbers, prefix):
    """Return the values as numbered samples, each a cluster of its own."""
    return [Point(f"{prefix}{k}", value) for k, value in enumerate(numbers)]


def make_group(model="m1", benchmark="b1", *, values=None, controls=(), **changes):
    """Return the group of a cell, without controls."""
    values = VALUES.get((model, benchmark), [0.1, 0.2]) if values is None else values
    group = Group(
        model=model,
        benchmark=benchmark,
        task="program_repair",
        perturbation="rename",
        pool="default",
        metric="token_levenshtein",
        definition="calibrated",
        items=points(values, "s"),
        controls=points(controls, "c"),
    )
    return replace(group, **changes)


def grid(**changes):
    """Return the groups of three models on three benchmarks."""
    return [make_group(*cell, **changes) for cell in VALUES]


def with_controls(**changes):
    return [make_group(*cell, controls=CONTROLS[cell], **changes) for cell in VALUES]


def rows_of(compared, question, test=None, definition=None):
    """Return rows by subject and context."""
    return {
        (r.subject, r.context): r
        for r in compared.rows
        if r.question == question and test in {None, r.test} and definition in {None, r.definition}
    }


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

    rows = rows_of(compare(grid()), question, "mann_whitney")

    row = rows[subject, context]
    assert len(rows) == 9
    assert (row.statistic, row.p_value) == (test.statistic, test.pvalue)
    assert (row.effect, row.effect_low, row.effect_high) == delta
    assert (row.n_subject, row.n_rest, row.perturbation) == (12, 24, "rename")
    assert row.p_adjusted == pytest.approx(min(1, 9 * test.pvalue))


def test_the_effect_points_to_the_subject():
    """A benchmark whose values are all above the others' has a delta of 1."""
    groups = [make_group(values=[0.8, 0.9]), make_group(benchmark="b2", values=[0.1, 0.2])]

    rows = rows_of(compare(groups), "benchmark_advantage", "mann_whitney")

    assert (rows["b1", "m1"].effect, rows["b2", "m1"].effect) == (1, -1)


def test_memorization_sets_items_against_controls():
    """The difference in differences is Welch's, within a cell, corrected by Holm over the cells."""
    groups = [replace(g, task=f"task of {g.benchmark}") for g in with_controls()]
    tests = {
        cell: stats.ttest_ind(VALUES[cell], CONTROLS[cell], equal_var=False) for cell in VALUES
    }
    expected = dict(zip(tests, holm([t.pvalue for t in tests.values()]), strict=True))

    rows = rows_of(compare(groups), "memorization", "mean", "calibrated")

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

    rows = rows_of(compare(groups), "memorization", "mean", "calibrated")

    sizes = {("m1", "b1"): 5, ("m1", "b2"): 5, ("m1", "other task"): 2, ("m1", "other text"): 2}
    assert {place: row.n_rest for place, row in rows.items()} == sizes
    mean = np.mean([0.1, 0.2, 0.3, 0.4, 0.6])
    assert rows["m1", "b2"].effect == pytest.approx(np.mean(VALUES["m1", "b2"]) - mean)


def test_controls_are_in_no_other_question():
    """Controls change nothing but memorization."""
    for question in ("benchmark_advantage", "model_advantage"):
        assert rows_of(compare(with_controls()), question) == rows_of(compare(grid()), question)


def memory(fall, recall, controls_fall, controls_recall, floor=0.2):
    """Return the groups of one cell: falls and recalls of items and of controls."""
    common = {"floor": floor}
    return [
        make_group(values=fall, controls=controls_fall, **common),
        make_group(values=recall, controls=controls_recall, definition="recall", **common),
    ]


def test_retention_is_a_ratio_of_means():
    """It is what is left above the floor, controls minus items, and positive for memory."""
    rng = np.random.default_rng(2)
    recall, controls_recall = rng.normal(0.8, 0.05, 40), rng.normal(0.7, 0.05, 30)
    fall, controls_fall = rng.normal(0.3, 0.05, 40), rng.normal(0.1, 0.05, 30)
    kept = [(np.mean(m0 - f) - 0.2) / (np.mean(m0) - 0.2)
            for m0, f in ((recall, fall), (controls_recall, controls_fall))]  # fmt: skip

    compared = compare(memory(fall, recall, controls_fall, controls_recall))
    rows = {r.definition: r for r in compared.rows if r.question == "memorization"}

    assert set(rows) == {"own_fall", "calibrated", "recall", "retention"}
    assert rows["own_fall"].effect == pytest.approx(np.mean(fall))
    assert rows["retention"].effect == pytest.approx(kept[1] - kept[0])
    assert rows["recall"].effect == pytest.approx(np.mean(recall) - np.mean(controls_recall))
    assert claim(rows.values()) == "sensitive"  # recalls a standard deviation apart
    assert "recall" in rows["calibrated"].note
    assert claim(replace(row, note="") for row in rows.values()) == "memorized"


def test_items_at_the_floor_have_no_retention():
    """Where nothing stands above the floor there is nothing to keep."""
    compared = compare(memory([0.0, 0.1], [0.2, 0.21], [0.0, 0.05], [0.5, 0.6]))

    assert "retention" not in {row.definition for row in compared.rows}
    assert compare([make_group(values=[0.5] * 3)]).rows == []  # without controls


def test_words_follow_the_intervals():
    """A fall is sensitive, and without one nothing is shown."""
    rng = np.random.default_rng(4)
    flat, steep = rng.normal(0, 0.05, 30), rng.normal(0.3, 0.05, 30)
    level = rng.normal(0.8, 0.01, 30)

    def said(fall, controls_fall):
        compared = compare(memory(fall, level, controls_fall, level))
        return claim(row for row in compared.rows if row.question == "memorization")

    assert said(steep, flat) == "memorized"
    assert said(steep, steep) == "sensitive"
    assert said(flat, steep) == "no fall shown"
    assert claim([]) == "no fall shown"


@pytest.mark.parametrize(
    ("fields", "words"),
    [({}, ""), ({"length": 4000}, "length"), ({"edit_share": 0.9}, "edit share")],
)
def test_controls_must_be_comparable(fields, words):
    """Length and edit share must lie within half a standard deviation."""
    varied = [Point(f"s{k}", k / 40, None, 100 + k, 0.3 + k / 100) for k in range(20)]
    controls = [p._replace(**fields) for p in varied]
    group = replace(make_group(), items=varied, controls=controls)

    rows = rows_of(compare([group]), "memorization", definition="calibrated")

    note = rows["m1", "b1"].note
    assert note == (f"controls not comparable: {words}" if words else "")


def test_models_are_contrasted_above_the_controls():
    """(A - B on the items) - (A - B on the controls), each paired by sample."""
    groups = [make_group(m, controls=CONTROLS[m, "b1"]) for m in ("m1", "m2")]
    items = np.subtract(VALUES["m1", "b1"], VALUES["m2", "b1"])
    controls = np.subtract(CONTROLS["m1", "b1"], CONTROLS["m2", "b1"])
    expected = stats.ttest_ind(items, controls, equal_var=False)

    row = rows_of(compare(groups), "memorization", "paired")["m1 - m2", "b1"]

    assert row.effect == pytest.approx(items.mean() - controls.mean())
    assert row.p_value == pytest.approx(expected.pvalue)


def test_items_of_one_project_are_one_cluster():
    """A contrast of clustered items is wider than that of lone ones."""
    rng = np.random.default_rng(6)
    shared = np.repeat(rng.normal(0.2, 0.2, 10), 8)
    lone = make_group(values=shared, controls=rng.normal(0, 0.1, 30))
    items = [p._replace(cluster=f"project {k // 8}") for k, p in enumerate(lone.items)]

    widths = [
        row.effect_high - row.effect_low
        for group in (lone, replace(lone, items=items))
        for row in rows_of(compare([group]), "memorization", definition="calibrated").values()
    ]

    assert widths[1] > 2 * widths[0]


def test_the_paired_tests_of_models_are_scipys():
    """A model is paired with the mean of the others; Friedman asks of all at once."""
    table = np.array([VALUES[m, "b2"] for m in ("m1", "m2", "m3")])
    differences = table[0] - table[1:].mean(axis=0)
    compared = compare(grid())

    wilcoxon = rows_of(compared, "model_advantage", "wilcoxon")["m1", "b2"]
    mean = rows_of(compared, "model_advantage", "paired_mean")["m1", "b2"]
    friedman = rows_of(compared, "model_advantage", "friedman")["all", "b2"]

    assert wilcoxon.p_value == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert mean.p_value == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert friedman.p_value == pytest.approx(stats.friedmanchisquare(*table).pvalue)
    assert friedman.effect == pytest.approx(friedman.statistic / (12 * 2))


def test_the_interaction_is_the_double_centred_mean():
    """What the model and the benchmark do not explain; the effects sum to 0 both ways."""
    cells = np.array([[np.mean(VALUES[m, b]) for b in ("b1", "b2", "b3")]
                      for m in ("m1", "m2", "m3")])  # fmt: skip
    centred = cells - cells.mean(0) - cells.mean(1)[:, None] + cells.mean()

    rows = rows_of(compare(grid()), "benchmark_advantage", "interaction")

    for (benchmark, model), row in rows.items():
        expected = centred[int(model[1]) - 1, int(benchmark[1]) - 1]
        assert row.effect == pytest.approx(expected)
        assert row.effect_low < row.effect < row.effect_high
    assert len(rows) == 9


def test_tasks_and_benchmarks_are_compared_across_models():
    """Kruskal-Wallis, the paired t test and Pearson's r are SciPy's on the same data."""
    tasks = {"b1": "program_repair", "b2": "program_repair", "b3": "code_generation"}
    compared = compare([replace(g, task=tasks[g.benchmark]) for g in grid()])
    models = ("m1", "m2", "m3")
    means = {b: [np.mean(VALUES[m, b]) for m in models] for b in tasks}

    spread = rows_of(compared, "benchmark_spread")
    h = stats.kruskal(VALUES["m1", "b1"], VALUES["m1", "b2"])
    assert spread["program_repair", "m1"].p_value == pytest.approx(h.pvalue)
    assert spread["program_repair", "m1"].effect == pytest.approx(h.statistic / 23)
    assert ("program_repair", "all") in spread
    assert ("code_generation", "m1") not in spread

    difference = rows_of(compared, "task_difference", "paired_t")
    repair = np.mean([means["b1"], means["b2"]], axis=0)
    expected = stats.ttest_rel(means["b3"], repair)
    assert difference["code_generation - program_repair", "all"].p_value == pytest.approx(
        expected.pvalue
    )

    correlation = rows_of(compared, "benchmark_correlation", "pearson")
    r = stats.pearsonr(means["b1"], means["b3"])
    assert correlation["b1 ~ b3", "all"].effect == pytest.approx(r.statistic)
    assert correlation["b1 ~ b3", "all"].p_value == pytest.approx(r.pvalue)
    assert len(correlation) == 3


def test_versions_are_compared_with_the_one_before():
    """Each version of a family is paired with its predecessor by sample, later minus earlier."""
    groups = [make_group(m, version_of=("family", k)) for m, k in (("m2", 2), ("m1", 1), ("m3", 3))]
    differences = np.subtract(VALUES["m2", "b1"], VALUES["m1", "b1"])

    rows = rows_of(compare(groups), "version_difference", "wilcoxon")
    means = rows_of(compare(groups), "version_difference", "paired_mean")

    assert list(rows) == [("m2 - m1", "family/b1"), ("m3 - m2", "family/b1")]
    row = rows["m2 - m1", "family/b1"]
    assert row.p_value == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert means["m2 - m1", "family/b1"].effect == pytest.approx(differences.mean())


def test_every_family_has_all_three_corrections():
    """The declared one, Holm's, and Benjamini and Hochberg's, over the family's p-values."""
    rows = list(rows_of(compare(grid()), "benchmark_advantage", "mann_whitney").values())
    p_values = [row.p_value for row in rows]

    assert [row.p_adjusted for row in rows] == bonferroni(p_values)
    assert [row.p_holm for row in rows] == holm(p_values)
    assert [row.p_bh for row in rows] == benjamini_hochberg(p_values)


def test_families_are_declared():
    """A family is one question, test, definition, metric and pool, with its size."""
    placebo = [replace(g, pool="placebo", perturbation="placebo") for g in grid()[:2]]
    paper = grid(definition="paper", metric="levenshtein")

    families = compare([*grid(), *placebo, *paper]).families

    whitney = {
        (f.question, f.definition, f.metric, f.perturbation): (f.size, f.correction, f.primary)
        for f in families
        if f.test == "mann_whitney"
    }
    assert whitney == {
        ("model_advantage", "paper", "levenshtein", "default"): (9, "bonferroni", False),
        ("benchmark_advantage", "paper", "levenshtein", "default"): (9, "bonferroni", False),
        ("model_advantage", "calibrated", "token_levenshtein", "default"): (9, "bonferroni", True),
        ("benchmark_advantage", "calibrated", "token_levenshtein", "default"):
            (9, "bonferroni", True),
        ("benchmark_advantage", "calibrated", "token_levenshtein", "placebo"):
            (2, "bonferroni", False),
    }  # fmt: skip
    assert {f.correction for f in families if f.test in {"mean", "wilcoxon"}} == {"holm"}
    keys = [(f.question, f.test, f.definition, f.metric, f.perturbation) for f in families]
    assert len(set(keys)) == len(keys)


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
            {"benchmark_advantage", "benchmark_spread"},
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
    groups = with_controls() + with_controls(definition="recall", floor=0.0)
    shuffled = random.Random(1).sample(groups, len(groups))

    assert compare(shuffled) == compare(groups)


def test_a_contrast_without_spread_is_no_test():
    """Where neither side varies the effect is given without p, and the family counts it not."""
    constant = make_group(values=[0.5, 0.5], controls=[0.1, 0.1])
    tested = make_group("m2", controls=CONTROLS["m2", "b1"])

    compared = compare([constant, tested])

    rows = rows_of(compared, "memorization", "mean", "calibrated")
    assert rows["m1", "b1"].effect == pytest.approx(0.4)
    assert rows["m1", "b1"].p_value is rows["m1", "b1"].p_adjusted is None
    assert rows["m2", "b1"].p_adjusted == rows["m2", "b1"].p_value is not None
    sizes = {f.definition: f.size for f in compared.families if f.test == "mean"}
    assert sizes["calibrated"] == 1
