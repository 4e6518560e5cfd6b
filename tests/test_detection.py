"""Set detectors side by side: how well each tells items from controls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.comparison import Group, Point
from memoprobe.comparison.detection import DETECTORS, detect
from memoprobe.rivals import METRIC_OF
from memoprobe.stats.rivals import found_share

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9]), min_size=2, max_size=8)


def points(values, prefix="s"):
    return [Point(f"{prefix}{k}", value) for k, value in enumerate(values)]


def group(items=(0.5,), controls=(), **changes):
    values = {
        "model": "m",
        "benchmark": "b",
        "task": "program_repair",
        "perturbation": "rename",
        "pool": "default",
        "metric": "token_levenshtein",
        "definition": "calibrated",
    }
    return Group(
        **{**values, **changes}, items=points(items), controls=points(controls, prefix="c")
    )


@given(VALUES, VALUES)
def test_auc_counts_the_pairs_in_which_the_item_is_higher(items, controls):
    """A tie counts half; the interval holds the estimate and stays a share."""
    (row,) = detect([group(items, controls)])

    wins = [(i > c) + (i == c) / 2 for i in items for c in controls]
    assert row.auc == pytest.approx(sum(wins) / len(wins))
    assert 0 <= row.auc_low <= row.auc + 1e-12
    assert row.auc - 1e-12 <= row.auc_high <= 1
    assert row.items == pytest.approx(sum(items) / len(items))
    assert row.controls == pytest.approx(sum(controls) / len(controls))


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=1, max_size=9),
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=20, max_size=60),
)
def test_items_are_found_at_no_more_than_5_percent_false_alarms(items, controls):
    """The bound is the lowest that at most a twentieth of the controls exceed."""
    found = found_share(items, controls)

    bounds = [b for b in controls if sum(c > b for c in controls) <= len(controls) / 20]
    assert found == sum(item > min(bounds) for item in items) / len(items)


@pytest.mark.parametrize(
    ("items", "n_controls"), [([0.5], 19), ([], 20)], ids=["few controls", "no items"]
)
def test_a_rate_needs_controls_that_can_show_it(items, n_controls):
    """One false alarm among 19 would be more than 5 %."""
    assert found_share(items, [0.1] * n_controls) is None
    assert found_share([0.5], [0.1] * 20) == 1.0


def test_controls_serve_every_benchmark_of_their_task():
    """Those of another task, perturbation or number of references do not."""
    rows = detect(
        [
            group([0.5, 0.6], benchmark="one"),
            group([], [0.1, 0.2], benchmark="fresh"),
            group([0.5], [0.9], benchmark="other", task="code_generation"),
            group([0.5], [0.9], benchmark="single", perturbation="single"),
            group([0.5], [0.9], benchmark="nearest", n_references=3),
        ]
    )

    by_benchmark = {row.benchmark: (row.n_controls, row.auc) for row in rows}
    assert by_benchmark.pop("one") == (2, 1.0)
    assert by_benchmark == dict.fromkeys(("other", "single", "nearest"), (1, 0.0))


def test_without_controls_rivals_alone_have_a_row():
    """What the page shows anyway is not repeated; a rival's mean stands nowhere else."""
    rows = detect([group(), group(metric="peakedness", definition="cdd")])

    assert [(row.detector, row.items, row.auc, row.auc_low, row.found) for row in rows] == [
        ("cdd", 0.5, None, None, None)
    ]


@pytest.mark.parametrize("perturbation", ["bitflip", "placebo"])
def test_nothing_is_said_where_no_claim_may_rest(perturbation):
    """Nor of a definition that is no detector."""
    assert detect([group(controls=[0.1], perturbation=perturbation)]) == []
    assert detect([group(controls=[0.1], definition="slope")]) == []


def test_rows_stand_in_the_order_of_the_detectors():
    """Our own first, whatever the order of the groups."""
    groups = [
        group(controls=[0.1], metric=detector.metric, definition=detector.definition)
        for detector in DETECTORS.values()
    ]

    assert [row.detector for row in detect(groups[::-1])] == list(DETECTORS)
    assert {
        (detector.definition, detector.metric)
        for detector in DETECTORS.values()
        if detector.definition in METRIC_OF
    } == set(METRIC_OF.items())
