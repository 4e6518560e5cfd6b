"""Check on simulated studies how often tests and claims are wrong where nothing is memorized.

``bench/simulation.py`` has the studies, and runs them for longer.
"""

from math import sqrt

import pytest

from bench import simulation

TRIALS = 200


def at_most(share, trials):
    """Return the largest share that four standard errors of so many trials explain."""
    return share + 4 * sqrt(share * (1 - share) / trials)


def test_every_p_value_keeps_its_level():
    """Where models and benchmarks are alike each test of METHOD 5 is small in 5 % or less."""
    trials = 60
    found = simulation.type_one_errors(trials)

    assert {question for question, _, _ in found} == {
        *("benchmark_advantage", "model_advantage", "benchmark_spread"),
        *("task_difference", "benchmark_correlation", "memorization"),
    }
    assert all(n >= trials for _, n in found.values())
    # Tests of one study share its values: the studies are counted, not the tests.
    assert {k: share for k, (share, _) in found.items() if share > at_most(0.05, trials)} == {}
    many = [share for share, n in found.values() if n >= 5 * trials]
    assert 0.03 <= sum(many) / len(many) <= 0.07


def test_benchmarks_of_unlike_noise_are_told_apart_by_the_maximum_alone():
    """METHOD 3: of two clean benchmarks ``paper`` says they differ, ``calibrated`` does not."""
    found = simulation.told_apart(800, n_drawn=2000)

    assert found["calibrated"] <= 0.07
    assert found["paper"] >= 0.99


@pytest.mark.parametrize("cost", [simulation.additive, simulation.proportional])
@pytest.mark.parametrize("controls_m_0", [0.75, 0.65, 0.55])
def test_a_clean_benchmark_is_not_accused(cost, controls_m_0):
    """METHOD 4: "memorized" is said in 5 % of trials at most, whatever the cost."""
    found = simulation.accusations(cost, controls_m_0, TRIALS)

    assert found["rule"] <= 0.05


def test_the_difference_of_falls_alone_accuses():
    """With controls of lower level-0 performance it is wrong in nearly all trials."""
    found = simulation.accusations(simulation.proportional, 0.55, TRIALS)

    assert found["DiD"] >= 0.95
    assert found["rule"] <= found["unmatched"] <= at_most(0.025, TRIALS)
