"""Check sensitivities against literal, slow transcriptions of METHOD 1 and 3."""

from dataclasses import replace
from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe.sensitivity import (
    Item,
    against_controls,
    area,
    curve,
    max_drop,
    max_jump,
    measure,
    slope,
    total_drop,
)

curves = st.lists(st.floats(0, 1), min_size=2, max_size=7)
performances = st.integers(0, 20).map(lambda twentieths: twentieths / 20)
answers = st.lists(st.tuples(st.integers(1, 3), performances), min_size=1, max_size=5)


def make_item(values, **changes):
    """Return an item of these answers, each level a tenth further than the last."""
    item = Item(
        model="m",
        benchmark="b",
        sample_id="1",
        perturbation="rename",
        metric="token_levenshtein",
        control=False,
        has_reference=True,
        edit_shares={level: level / 10 for level in values},
        values=values,
    )
    return replace(item, **changes)


def flat(*performance, **changes):
    """Return an item with one answer a level."""
    return make_item({level: [(1, value)] for level, value in enumerate(performance)}, **changes)


def by_definition(item, others=(), **options):
    """Return the item's sensitivities by definition, measured among others."""
    measured = measure([*others, item], **{"seed": 0, "permutations": 50, **options})
    return {
        row.definition: row for row in measured.sensitivities if row.sample_id == item.sample_id
    }


def algorithm_1(performance):
    """Transcribe Algorithm 1: keep the largest fall seen so far."""
    largest = None
    for k in range(len(performance) - 1):
        fall = performance[k] - performance[k + 1]
        if largest is None or fall > largest:
            largest = fall
    return largest


def largest_change(performance):
    """Return the largest fall of the curve or of the curve read backwards."""
    return max(algorithm_1(performance), algorithm_1(performance[::-1]))


def with_level_0(item):
    """Return the repeats that have an answer at level 0."""
    return {repeat for repeat, _ in item.values[0]}


def per_repeat(item, of_curve, repeats):
    """Average a definition over repeats, each on the levels it has (METHOD 1)."""
    results = []
    for repeat in repeats:
        means = []
        for level in sorted(item.values):
            own = [value for r, value in item.values[level] if r == repeat]
            if own:
                means.append(sum(own) / len(own))
        if len(means) > 1:
            results.append(of_curve(means))
    return sum(results) / len(results) if results else None


def slow(item, repeats=None):
    """Transcribe METHOD 1's definitions for one item, by default on its repeats with level 0."""
    repeats = with_level_0(item) if repeats is None else repeats
    m = [
        sum(value for _, value in item.values[level]) / len(item.values[level])
        for level in sorted(item.values)
    ]
    x = [item.edit_shares[level] for level in sorted(item.values)]
    first = [value for _, value in item.values[0]]
    values = {
        "paper": per_repeat(item, algorithm_1, repeats),
        "artifact": per_repeat(item, largest_change, repeats),
        "calibrated": m[0] - sum(m[1:]) / (len(m) - 1),
        "total_drop": m[0] - m[-1],
        "slope": -np.polyfit(x, m, 1)[0],
        "recall": m[0],
        "exact": first.count(1.0) / len(first),
        "recall_last": m[-1],
    }
    return {definition: value for definition, value in values.items() if value is not None}


def reordered(item):
    """Yield the item with whole levels in every order."""
    levels = sorted(item.values)
    for order in permutations(levels):
        moved = {place: item.values[level] for place, level in zip(levels, order, strict=True)}
        yield replace(item, values=moved)


@given(curves)
def test_max_drop_agrees_with_algorithm_1(performance):
    """max_drop is Algorithm 1."""
    assert max_drop(performance) == algorithm_1(performance)


@pytest.mark.parametrize(
    ("performance", "paper", "artifact", "calibrated", "total", "per_share"),
    [
        pytest.param([1, 1, 1], 0, 0, 0, 0, 0, id="flat"),
        pytest.param([1, 0.5, 0], 0.5, 0.5, 0.75, 1, 5, id="linear fall"),
        pytest.param([0, 0.5, 1], -0.5, 0.5, -0.75, -1, -5, id="a rise is no drop"),
        pytest.param([0.5, 1, 0.25], 0.75, 0.75, -0.125, 0.25, 1.25, id="up, then down"),
    ],
)
def test_definitions_by_hand(performance, paper, artifact, calibrated, total, per_share):
    """Each definition has the value and the sign worked out by hand; a fall is positive."""
    assert max_drop(performance) == paper
    assert max_jump(performance) == artifact
    assert area(performance) == calibrated
    assert total_drop(performance) == total
    assert slope(performance, [0, 0.1, 0.2]) == pytest.approx(per_share)


@pytest.mark.parametrize("definition", [max_drop, max_jump, area, total_drop])
def test_one_level_is_no_curve(definition):
    """Fewer than two levels have no change to measure."""
    with pytest.raises(ValueError, match="at least 2 levels, got 1"):
        definition([0.5])


@pytest.mark.parametrize(
    ("performance", "shares", "message"),
    [
        ([0.5], [0.0], "at least 2 levels"),
        ([0.5, 0.4], [0.0], "2 levels have 1 edit shares"),
        ([0.5, 0.4], [0.2, 0.2], "no slope"),
    ],
)
def test_slope_needs_edits(performance, shares, message):
    """A slope needs an edit share per level, and shares that differ."""
    with pytest.raises(ValueError, match=message):
        slope(performance, shares)


@settings(max_examples=60)
@given(st.lists(answers, min_size=3, max_size=5))
def test_values_agree_with_the_method(levels):
    """All definitions equal the transcription, with any answers missing from any repeat."""
    item = make_item(dict(enumerate(levels)))

    rows = by_definition(item)

    assert {d: row.value for d, row in rows.items()} == pytest.approx(slow(item), abs=1e-9)
    assert {row.n_levels for row in rows.values()} == {len(levels) - 1}


@settings(max_examples=25)
@given(st.lists(answers, min_size=3, max_size=4))
def test_noise_floor_is_the_mean_over_all_orders(levels):
    """Floors, also those that are 0 by symmetry, equal a walk through all orders of levels."""
    item = make_item(dict(enumerate(levels)))
    orders = [slow(other, with_level_0(item)) for other in reordered(item)]

    for definition, row in by_definition(item).items():
        if row.noise_floor is None:
            assert row.excess is None
            assert definition in {"recall", "exact", "recall_last"}
        else:
            floor = fmean(order[definition] for order in orders)
            assert row.noise_floor == pytest.approx(floor, abs=1e-9)
            assert row.excess == pytest.approx(row.value - floor, abs=1e-9)


def test_six_levels_have_a_floor_over_720_orders():
    """The floor of a full curve is the mean over its 720 orders."""
    performance = [0.9, 0.7, 0.75, 0.4, 0.2, 0.3]

    row = by_definition(flat(*performance))["paper"]

    assert row.noise_floor == pytest.approx(fmean(map(algorithm_1, permutations(performance))))


@pytest.mark.parametrize(
    "performance", [(1.0, 0.4, 0.1), (0.6, 0.6, 0.1, 0.3), (0.2, 0.4, 0.6, 0.8)]
)
def test_answer_noise_p_is_the_share_of_orders(performance):
    """With one answer a level, p is the share of orders that give at least the value seen."""
    item = flat(*performance)
    orders = [slow(other) for other in reordered(item)]

    rows = by_definition(item, permutations=20_000)

    for definition in ("paper", "artifact", "calibrated", "total_drop", "slope"):
        row = rows[definition]
        share = fmean(order[definition] >= row.value - 1e-9 for order in orders)
        assert row.answer_noise_p == pytest.approx(share, abs=0.015)
    assert rows["recall"].answer_noise_p is None


def test_answers_are_permuted_one_by_one():
    """Answers leave their level singly: a clear fall is rarer than an order of whole levels."""
    item = make_item({k: [(r, 1.0 if k == 0 else 0.1) for r in (1, 2, 3)] for k in range(3)})

    row = by_definition(item, permutations=20_000)["calibrated"]

    assert row.answer_noise_p == pytest.approx(1 / 84, abs=0.003)  # 9 choose 3


def test_equal_answers_tie_and_are_not_significant():
    """Answers that are all alike have no fall, no excess and p = 1, whatever rounding does."""
    item = make_item({k: [(r, 0.1) for r in (1, 1, 1, 2, 2, 3)] for k in range(4)})

    for definition in ("paper", "artifact", "calibrated", "total_drop", "slope"):
        row = by_definition(item)[definition]
        assert (row.value, row.noise_floor, row.excess, row.answer_noise_p) == (0, 0, 0, 1)


def test_p_depends_on_the_item_and_the_seed_alone():
    """Other items, their order and the order of answers change nothing; the seed does."""
    rng = np.random.default_rng(3)
    items = [
        make_item(
            {k: [(r, float(rng.random())) for r in (1, 2, 3)] for k in range(6)}, sample_id=str(i)
        )
        for i in range(4)
    ]
    mine = items[0]
    stored_otherwise = {level: mine.values[level][::-1] for level in reversed(mine.values)}

    alone = by_definition(mine)

    assert by_definition(mine, items[1:]) == alone
    assert by_definition(mine, items[:0:-1]) == alone
    assert by_definition(replace(mine, values=stored_otherwise)) == alone
    assert by_definition(mine, seed=1) != alone


def test_equal_answers_of_two_items_draw_differently():
    """The permutations of two items are their own, so their errors do not add up."""
    values = {k: [(r, (7 * k + r) % 10 / 10) for r in (1, 2, 3)] for k in range(6)}
    twins = [make_item(values, sample_id=name) for name in "ab"]

    rows = measure(twins, seed=0, permutations=1000).sensitivities

    p = {row.sample_id: row.answer_noise_p for row in rows if row.definition == "calibrated"}
    assert p["a"] != p["b"]
    assert p["a"] == pytest.approx(p["b"], abs=0.08)


def ranked(*items):
    """Return the sensitivities of items of any benchmarks, ranked among the controls there."""
    cells = {item.benchmark: [i for i in items if i.benchmark == item.benchmark] for item in items}
    rows = [row for c in cells.values() for row in measure(c, seed=0, permutations=1).sensitivities]
    return against_controls(rows, {(i.benchmark, i.sample_id) for i in items if i.control})


@pytest.mark.parametrize("benchmarks", ["bbbb", "bccc", "bbbc", "bcde"])
def test_control_p_ranks_among_the_controls(benchmarks):
    """An item counts the controls of all benchmarks at or above it; a control leaves itself out."""
    falls = {"item": 0.5, "c1": 0.6, "c2": 0.5, "c3": 0.1}
    items = [
        flat(fall, 0.0, 0.0, sample_id=name, benchmark=benchmark, control=name != "item")
        for (name, fall), benchmark in zip(falls.items(), benchmarks, strict=True)
    ]

    rows = ranked(*items)

    assert [row.benchmark for row in rows] == sorted(row.benchmark for row in rows)
    for definition in ("calibrated", "recall"):
        p = {row.sample_id: row.control_p for row in rows if row.definition == definition}
        assert p == {"item": 3 / 4, "c1": 1 / 3, "c2": 2 / 3, "c3": 1.0}
    assert {r.control_p for r in rows if r.definition not in {"calibrated", "recall"}} == {None}


def test_control_p_needs_another_control():
    """Without controls, or for the only one, there is no control_p; an excluded one is none.

    A control may have the id of another benchmark's item.
    """
    item, control = flat(0.5, 0.0, 0.0), flat(0.5, 0.0, 0.0, benchmark="c", control=True)
    short = flat(0.5, 0.0, sample_id="short", control=True)

    assert {row.control_p for row in ranked(item)} == {None}
    assert {row.control_p for row in ranked(item, short)} == {None}
    assert {
        row.benchmark: row.control_p
        for row in ranked(item, control)
        if row.definition == "calibrated"
    } == {"b": 1.0, "c": None}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="nothing"),
        pytest.param({0: [(1, 0.5)], 1: [(1, 0.5)]}, id="one level above 0"),
        pytest.param({0: [(1, 0.5)], 1: [(1, 0.5)], 2: []}, id="a level without answers"),
        pytest.param({1: [(1, 0.5)], 2: [(1, 0.5)], 3: [(1, 0.5)]}, id="no level 0"),
    ],
)
def test_items_with_too_few_levels_are_counted(values):
    """An item needs level 0 and two more; others are excluded and counted."""
    measured = measure([make_item(values), flat(0.9, 0.5, 0.1, sample_id="2")], seed=0)

    assert measured.excluded == 1
    assert {row.sample_id for row in measured.sensitivities} == {"2"}


def test_an_empty_cell_measures_nothing():
    """No items give no rows."""
    assert measure([], seed=0) == ([], 0)


def test_a_missing_level_is_stepped_over():
    """Steps run between neighbouring levels that have answers, and K_i counts those."""
    item = make_item({0: [(1, 0.9)], 1: [(1, 0.8)], 2: [], 4: [(1, 0.2)]})

    rows = by_definition(item)

    assert rows["paper"].value == pytest.approx(0.6)
    assert rows["recall_last"].value == 0.2
    assert rows["paper"].n_levels == 2
    assert curve(item).means == {0: 0.9, 1: 0.8, 4: 0.2}


def test_a_last_level_without_answers_has_no_total_drop():
    """Level K is meant, not the last level that was answered; the other definitions stay."""
    shares = {level: level / 10 for level in range(6)}

    rows = by_definition(flat(0.9, 0.5, 0.1, edit_shares=shares))

    assert sorted(rows) == ["artifact", "calibrated", "exact", "paper", "recall", "slope"]
    assert rows["calibrated"].n_levels == 2


def test_a_repeat_without_level_0_is_left_out():
    """Algorithm 1 starts at level 0: another repeat's fall, floor and p are of those that do."""
    answered = {0: [(1, 1.0)], 1: [(1, 0.5), (2, 0.9)], 2: [(1, 0.5), (2, 0.0)]}

    rows = by_definition(make_item(answered))

    assert (rows["paper"].value, rows["artifact"].value) == (0.5, 0.5)
    assert rows["paper"].noise_floor == pytest.approx(1 / 3)  # falls 0 0 .5 .5 0 0 of six orders
    assert rows["calibrated"].value == pytest.approx(1 - (0.7 + 0.25) / 2)


def test_without_a_reference_there_is_no_recall():
    """Answers scored against each other say nothing about recall."""
    rows = by_definition(flat(0.9, 0.5, 0.1, has_reference=False))

    assert sorted(rows) == ["artifact", "calibrated", "paper", "slope", "total_drop"]


def test_exact_is_the_share_of_perfect_originals():
    """Only level 0 counts, and only answers that equal the reference."""
    item = make_item({0: [(1, 1.0), (1, 0.99), (2, 1.0), (3, 0.2)], 1: [(1, 1.0)], 2: [(1, 1.0)]})

    assert by_definition(item)["exact"].value == 0.5


def test_edits_that_no_token_shows_have_no_slope():
    """Where every level has the same edit share, as after changes of layout, slope is left out."""
    rows = by_definition(flat(0.9, 0.5, 0.1, edit_shares={0: 0.0, 1: 0.0, 2: 0.0}))

    assert "slope" not in rows
    assert rows["calibrated"].value == pytest.approx(0.6)


def test_repeats_of_one_level_each_have_no_steps():
    """Where no repeat has level 0 and another only the pooled definitions are left."""
    rows = by_definition(make_item({0: [(1, 0.9)], 1: [(2, 0.5)], 2: [(3, 0.1)]}))

    assert "paper" not in rows
    assert "artifact" not in rows
    assert rows["calibrated"].value == pytest.approx(0.6)


def test_cells_are_not_mixed():
    """Items of two metrics are not one cell."""
    with pytest.raises(ValueError, match="one model, benchmark, perturbation and metric"):
        measure([flat(1, 1, 1), flat(1, 1, 1, metric="levenshtein")], seed=0)


def test_names_may_hold_half_surrogates():
    """An identifier that no encoding takes is measured like any other."""
    assert by_definition(flat(1, 0.5, 0, sample_id="\ud835"))["total_drop"].value == 1
