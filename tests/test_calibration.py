"""Check on simulated answers what each definition says where nothing, or something, happens.

The answers are Gaussian around a mean per level, clipped to [0, 1]: 6 levels, 3 repeats,
3 answers. Figures are METHOD 3's.
"""

from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from memoprobe.sensitivity import Item, measure

WITH_FLOOR = ("paper", "artifact", "calibrated", "total_drop", "slope")


def measured(answers, permutations):
    """Return the sensitivities of answers, shape (n_items, 6, 3, 3), by definition."""
    items = [
        Item(
            model="m",
            benchmark="b",
            sample_id=str(i),
            perturbation="rename",
            metric="token_levenshtein",
            control=False,
            has_reference=True,
            edit_shares={level: level / 10 for level in range(6)},
            values={
                level: [(r, value) for r, drawn in enumerate(by_repeat) for value in drawn]
                for level, by_repeat in enumerate(by_level)
            },
        )
        for i, by_level in enumerate(answers.tolist())
    ]
    rows = defaultdict(list)
    for row in measure(items, seed=0, permutations=permutations).sensitivities:
        rows[row.definition].append(row)
    return rows


def simulated(n_items, level_means, answer_sd, *, prompt_sd=0.0, seed=0):
    """Return clipped Gaussian answers, prompt luck being shared by all answers of a level."""
    rng = np.random.default_rng(seed)
    luck = rng.normal(0, prompt_sd, (n_items, 6, 1, 1))
    noise = rng.normal(0, answer_sd, (n_items, 6, 3, 3))
    return np.clip(np.reshape(level_means, (-1, 1, 1)) + luck + noise, 0, 1)


def mean_in_errors(values):
    """Return the mean over its standard error."""
    return np.mean(values) / (np.std(values, ddof=1) / np.sqrt(len(values)))


def test_without_an_effect_calibrated_is_zero_and_its_p_uniform():
    """Answer noise alone: mean 0 within error, p uniform, 4 to 6 % of 4,000 items below .05."""
    rows = measured(simulated(4000, [0.6] * 6, 0.15), 1000)["calibrated"]
    p = [row.answer_noise_p for row in rows]

    assert len(rows) == 4000
    assert abs(mean_in_errors([row.value for row in rows])) < 3
    assert 0.04 <= np.mean(np.array(p) < 0.05) <= 0.06
    assert stats.kstest(p, "uniform", method="asymp").pvalue > 0.01


def test_prompt_luck_leaves_no_excess():
    """With luck of the prompt no definition has excess, while paper and artifact look large."""
    rows = measured(simulated(4000, [0.6] * 6, 0.028, prompt_sd=0.058), 1)

    for definition in WITH_FLOOR:
        assert abs(mean_in_errors([row.excess for row in rows[definition]])) < 3
    assert np.mean([row.value for row in rows["paper"]]) == pytest.approx(0.106, abs=0.003)


def test_prompt_luck_is_not_answer_noise():
    """answer_noise_p says that the prompt matters, not that anything is memorized."""
    rows = measured(simulated(400, [0.6] * 6, 0.028, prompt_sd=0.058), 400)

    for definition in ("paper", "artifact", "calibrated"):
        assert np.mean([row.answer_noise_p < 0.05 for row in rows[definition]]) > 0.15


@pytest.mark.parametrize(
    ("sd", "paper", "artifact"),
    [
        (0.05, 0.051, 0.061),
        (0.10, 0.103, 0.123),
        (0.15, 0.154, 0.183),
        (0.20, 0.201, 0.240),
        (0.30, 0.278, 0.331),
    ],
)
def test_maxima_are_positive_without_an_effect(sd, paper, artifact):
    """The null means of paper and artifact are METHOD 3's, and those of the others 0."""
    rows = measured(simulated(1500, [0.6] * 6, sd), 1)
    means = {definition: np.mean([row.value for row in rows[definition]]) for definition in rows}

    assert means["paper"] == pytest.approx(paper, abs=0.02 * paper + 0.001)
    assert means["artifact"] == pytest.approx(artifact, abs=0.02 * artifact + 0.001)
    for definition in ("calibrated", "total_drop"):
        assert abs(mean_in_errors([row.value for row in rows[definition]])) < 3


def test_pass_or_fail_has_the_largest_null():
    """With a metric of 0 or 1 at one half, paper is .51 where nothing happens."""
    coins = np.random.default_rng(0).integers(0, 2, (1500, 6, 3, 3)).astype(float)

    rows = measured(coins, 1)["paper"]

    assert np.mean([row.value for row in rows]) == pytest.approx(0.51, abs=0.01)
    assert abs(mean_in_errors([row.excess for row in rows])) < 3


@pytest.mark.parametrize(
    ("level_means", "power"),
    [
        pytest.param([0.6, 0.4, 0.4, 0.4, 0.4, 0.4], 0.84, id="cliff after level 0"),
        pytest.param([0.6, 0.6, 0.6, 0.4, 0.4, 0.4], 0.40, id="cliff after level 2"),
        pytest.param([0.6, 0.56, 0.52, 0.48, 0.44, 0.4], 0.46, id="linear"),
    ],
)
def test_power_is_that_of_the_method(level_means, power):
    """A fall of .2 at answer sd .2 is seen by AUFC as often as METHOD 3 says, by paper seldom."""
    rows = measured(simulated(600, level_means, 0.2), 400)
    seen = {d: np.mean([row.answer_noise_p < 0.05 for row in rows[d]]) for d in WITH_FLOOR}

    assert seen["calibrated"] == pytest.approx(power, abs=0.06)
    assert seen["paper"] < 0.32
