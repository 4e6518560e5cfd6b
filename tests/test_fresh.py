"""Facts about fresh items: they are right, varied, and the same for a seed."""

import ast
import json
import random
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from memoprobe import benchmarks, perturbations
from memoprobe.benchmarks import fresh
from memoprobe.benchmarks.fresh_shapes import NOUNS, PROPERTIES, SHAPES, TABLES
from memoprobe.errors import BenchmarkError
from memoprobe.records import TEXT_SLOT
from tests.benchmark_data import copied

N = 400


@pytest.fixture(scope="module")
def items():
    return {task: list(fresh.rows(task, N, 7)) for task in fresh.TASKS}


def failures(row, code):
    """Return how many tests of a row the function in ``code`` fails."""
    space = {}
    exec(code, space)  # noqa: S102  our own generated code

    def passes(test):
        try:
            if isinstance(test, str):
                exec(test, dict(space))  # noqa: S102
                return True
            return space[row["entry_point"]](*test["args"]) == test["expected"]
        except (AssertionError, IndexError, TypeError):
            return False

    return sum(not passes(test) for test in row["tests"])


@pytest.mark.parametrize("task", fresh.TASKS)
def test_every_reference_passes_its_tests(items, task):
    """The expected values do not come from the reference, and agree with it on all inputs."""
    assert [row["id"] for row in items[task] if failures(row, row["reference"])] == []
    assert all(len(row["tests"]) == 6 for row in items[task])


def test_every_buggy_function_fails_a_test(items):
    """It is the reference but for one step, of the same length in lines."""
    rows = items["program_repair"]

    assert [row["id"] for row in rows if not failures(row, row["input"])] == []
    for row in rows:
        assert row["input"].count("\n") == row["reference"].count("\n")
        assert row["input"].split("\n")[0] == row["reference"].split("\n")[0]


@pytest.mark.parametrize("task", fresh.TASKS)
def test_items_are_varied(items, task):
    """No text and no reference occurs twice, and every shape and opening occurs often."""
    rows = items[task]

    assert len({row["input"] for row in rows}) == N
    assert len({row["reference"] for row in rows}) == N
    assert len({row["entry_point"] for row in rows}) > 100
    lines = Counter(row["reference"].count("\n") for row in rows)
    assert len(lines) >= 6
    trees = {ast.dump(ast.parse(row["reference"])) for row in rows}
    assert len(trees) == N


def test_every_shape_is_drawn():
    """Each shape, kind and style is among a few hundred items."""
    drawn = [fresh._meaning(random.Random(seed)) for seed in range(600)]
    known = {(name, kind) for name, shape in SHAPES.items() for kind in shape.kinds}

    assert {(meaning.shape, meaning.kind) for meaning in drawn} == known
    assert len(set(drawn)) > 500


@pytest.mark.parametrize("name", SHAPES)
def test_all_styles_of_a_shape_agree(name):
    """Every style and spelling of a meaning gives what its own function gives."""
    rng = random.Random(name)
    meanings = (fresh._meaning(rng) for _ in iter(int, 1))
    for meaning in islice((each for each in meanings if each.shape == name), 40):
        inputs = fresh._inputs(meaning, rng)
        form = fresh._form(meaning, rng)
        for style in range(len(SHAPES[name].styles)):
            code = fresh._code(meaning, replace(form, style=style))
            space = {}
            exec(code, space)  # noqa: S102  our own generated code
            for values in inputs or [[]]:
                assert space[form.function](list(values)) == meaning.run(values)


def test_a_mistake_that_no_input_shows_makes_no_item():
    """Groups of nothing are nothing, whatever is taken of them: there is no test to fail."""
    rng = random.Random(0)
    steps = ("key", fresh.Step("square", None)), ("total", fresh.Step("sum", None))
    meaning = fresh.Meaning(shape="groups", kind="numbers", steps=steps)

    assert fresh._broken(meaning, [[]], rng) is None
    assert fresh._broken(meaning, [[1, 2, -2]], rng) is not None


def test_a_result_that_may_be_missing_is_told():
    """Where the largest of nothing is asked for by a test, the text says what it is."""
    rows = [row for row in fresh.rows("code_generation", N, 1) if row["tests"][-1].endswith("None")]

    assert len(rows) > 10
    assert all("If there is none, it should return None." in row["input"] for row in rows)


def test_every_step_has_its_words():
    """A phrase that names a step as a property or a noun finds one for each of its table."""
    for shape in SHAPES.values():
        phrases = "".join(shape.phrases)
        for slot, table in shape.slots.items():
            names = {name for kind in shape.kinds for name in TABLES[kind][table]}
            if f"{{{slot}_is}}" in phrases:
                assert names <= PROPERTIES.keys()
            if f"{{{slot}_of}}" in phrases:
                assert names <= NOUNS.keys()


@pytest.mark.parametrize("task", fresh.TASKS)
def test_a_seed_fixes_the_items(task):
    """The same seed gives the same, more items extend fewer, another seed gives others."""
    first = list(fresh.rows(task, 5, 1))

    assert list(fresh.rows(task, 9, 1))[:5] == first
    assert {row["reference"] for row in fresh.rows(task, 5, 2)}.isdisjoint(
        row["reference"] for row in first
    )


def test_tasks_of_a_seed_share_no_item(items):
    """A repair's reference is not what a generation asks for."""
    asked, repaired = (
        {row["reference"].partition("\n")[2] for row in items[task]} for task in fresh.TASKS
    )

    assert asked.isdisjoint(repaired)


@pytest.mark.parametrize("task", fresh.TASKS)
def test_items_are_controls_of_an_own_benchmark(items, task, tmp_path):
    """As JSON Lines they load, all as controls without a date, with tests of two kinds."""
    path = copied(tmp_path, "fresh.jsonl", items[task])

    samples, skipped, _ = benchmarks.load_own("fresh", [path], task)

    kinds = {json.loads(sample.tests)["kind"] for sample in samples}
    assert (len(samples), skipped) == (N, {})
    assert all(sample.control and sample.date is None for sample in samples)
    assert all(TEXT_SLOT in sample.context for sample in samples)
    assert kinds == ({"asserts"} if task == "code_generation" else {"asserts", "calls"})


@pytest.mark.parametrize("task", fresh.TASKS)
def test_items_can_be_perturbed(items, task, tmp_path):
    """Nearly all have three levels above 0 or more, as an item of a benchmark has."""
    samples = benchmarks.load_own(
        "x", [copied(tmp_path, "x.jsonl", items[task][:60])], task
    ).samples
    perturb = perturbations.PERTURBATIONS[perturbations.DEFAULT[samples[0].input_kind]]

    levels = [
        len(perturb(each, 5, random.Random(1), intensity="share").variants) for each in samples
    ]

    assert sum(n >= 4 for n in levels) >= 57


def test_other_tasks_have_no_fresh_items():
    """The message says which tasks have, and tells a wrong name from a task without."""
    with pytest.raises(
        BenchmarkError, match=r"'summary' is no task; .*code_generation and program_"
    ):
        next(fresh.rows("summary", 1, 0))
    with pytest.raises(BenchmarkError, match="'test_generation' has no fresh items"):
        next(fresh.rows("test_generation", 1, 0))
