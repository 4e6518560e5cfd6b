"""How often tests and claims are wrong where nothing is memorized: simulated studies.

Run as ``python -m bench.simulation`` (about ten minutes); the tests run the same functions with
fewer trials.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from memoprobe.comparison import Group, Point, compare
from memoprobe.records import Comparison
from memoprobe.report import claims
from memoprobe.sensitivity import Item, measure

Floats = NDArray[np.float64]

METRIC, FLOOR = "token_levenshtein", 0.3
MODELS = ("m1", "m2", "m3")
BENCHMARKS = {"b1": "code_generation", "b2": "code_generation", "b3": "program_repair"} | {
    "b4": "program_repair"
}
LEVEL = 0.05


def group(values: Floats, controls: Floats, **place: str) -> Group:
    """Return a group whose samples have the same names in every model."""
    named = {"perturbation": "rename", "pool": "default", "metric": METRIC, "model": "m1"}
    named |= {"benchmark": "b1", "task": "program_repair", **place}
    points = [
        [Point(f"{kind}{k}", float(value)) for k, value in enumerate(each)]
        for kind, each in (("item", values), ("control", controls))
    ]
    return Group(**named, items=points[0], controls=points[1], floor=FLOOR)


def null_study(rng: np.random.Generator, n_items: int = 30, n_controls: int = 15) -> list[Group]:
    """Return 3 models on 4 benchmarks whose items and controls fall alike."""
    return [
        group(
            rng.normal(0.1, 0.1, n_items),
            rng.normal(0.1, 0.1, n_controls),
            model=model,
            benchmark=benchmark,
            task=task,
            definition="calibrated",
        )
        for model in MODELS
        for benchmark, task in BENCHMARKS.items()
    ]


def type_one_errors(trials: int, seed: int = 0) -> dict[tuple[str, str, str], tuple[float, int]]:
    """Return by question, test and definition the share of p-values up to .05, and their number.

    ``own_fall`` is left out: the items do fall.
    """
    rng = np.random.default_rng(seed)
    small: Counter[tuple[str, str, str]] = Counter()
    n: Counter[tuple[str, str, str]] = Counter()
    for _ in range(trials):
        for row in compare(null_study(rng)).rows:
            if row.p_value is not None and row.definition != "own_fall":
                key = row.question, row.test, row.definition
                n[key] += 1
                small[key] += row.p_value <= LEVEL
    return {key: (small[key] / n[key], n[key]) for key in sorted(n)}


def falls(answer_sd: float, n_items: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return by definition the values of items whose answers are noise alone: 6 levels of 9."""
    answers = np.clip(rng.normal(0.6, answer_sd, (n_items, 6, 3, 3)), 0, 1).tolist()
    items = [
        Item(
            model="m",
            benchmark="b",
            sample_id=str(k),
            perturbation="rename",
            metric=METRIC,
            control=False,
            has_reference=True,
            edit_shares={level: level / 10 for level in range(6)},
            values={
                level: [(r, value) for r, drawn in enumerate(by_repeat) for value in drawn]
                for level, by_repeat in enumerate(by_level)
            },
        )
        for k, by_level in enumerate(answers)
    ]
    found = defaultdict(list)
    for row in measure(items, seed=0, permutations=1).sensitivities:
        found[row.definition].append(row.value)
    return {name: np.array(values) for name, values in found.items()}


def told_apart(trials: int, n_drawn: int = 4000, n_items: int = 40) -> dict[str, float]:
    """Return how often two clean benchmarks of answer sd .10 and .15 are told apart.

    By the study's Mann-Whitney test of 40 items each, by definition; a trial's items are
    drawn from ``n_drawn``.
    """
    rng = np.random.default_rng(1)
    quiet, loud = (falls(sd, n_drawn, rng) for sd in (0.10, 0.15))
    none = np.array([])
    found = {}
    for definition in ("calibrated", "paper", "artifact"):
        small = []
        for _ in range(trials):
            pair = [rng.choice(each[definition], n_items, False) for each in (quiet, loud)]
            groups = [
                group(values, none, benchmark=f"b{k}", definition=definition)
                for k, values in enumerate(pair)
            ]
            small += [
                row.p_value is not None and row.p_value <= LEVEL
                for row in compare(groups).rows
                if row.test == "mann_whitney" and row.context == "m1" and row.subject == "b0"
            ]
        found[definition] = fmean(small)
    return found


def additive(m_0: Floats) -> Floats:
    """Return the fall of a cost that takes the same from every sample."""
    return np.full_like(m_0, 0.1)


def proportional(m_0: Floats) -> Floats:
    """Return the fall of a cost that takes a fifth of what is above the floor."""
    return 0.2 * (m_0 - FLOOR)


def clean(
    cost: Callable[[Floats], Floats], controls_m_0: float, rng: np.random.Generator, n: int = 100
) -> list[Comparison]:
    """Return the contrasts of a benchmark that nobody has seen; only the controls' m_0 differs."""
    groups = []
    drawn = [rng.normal(mean, 0.15, n) for mean in (0.75, controls_m_0)]
    fallen = [cost(m_0) + rng.normal(0, 0.05, n) for m_0 in drawn]
    for definition, (items, controls) in (("calibrated", fallen), ("recall", drawn)):
        groups.append(group(items, controls, definition=definition))
    return [row for row in compare(groups).rows if row.question == "memorization"]


def accusations(
    cost: Callable[[Floats], Floats], controls_m_0: float, trials: int, seed: int = 0
) -> dict[str, float]:
    """Return how often a clean benchmark is called memorized, by the rule and by DiD alone.

    ``unmatched`` is the rule without its condition that controls are comparable.
    """
    rng = np.random.default_rng(seed)
    by_rule, by_did, unmatched = [], [], []
    for _ in range(trials):
        rows = clean(cost, controls_m_0, rng)
        by_rule.append(claims.claim(rows) == "memorized")
        by_name = {row.definition: row for row in rows}
        by_did.append((by_name["calibrated"].effect_low or 0) > 0)
        unmatched.append(all((by_name[name].effect_low or 0) > 0 for name in claims.NEEDED))
    return {"rule": fmean(by_rule), "unmatched": fmean(unmatched), "DiD": fmean(by_did)}


def lines(trials: int) -> Iterator[str]:
    """Yield what the simulations found, as text."""
    yield f"share of p-values up to .05 where nothing differs, {trials} studies"
    for (question, test, definition), (share, n) in type_one_errors(trials).items():
        yield f"  {question:22} {test:20} {definition:12} {share:6.3f} of {n:6}"
    yield f"two clean benchmarks of answer sd .10 and .15 told apart, {2 * trials} trials"
    for definition, share in told_apart(2 * trials).items():
        yield f"  {definition:12} {share:6.3f}"
    yield f"a clean benchmark called memorized, {trials} trials: rule, rule without matching, DiD"
    for cost in (additive, proportional):
        for m_0 in (0.75, 0.65, 0.55):
            shares = accusations(cost, m_0, trials).values()
            told = "".join(f"{share:8.3f}" for share in shares)
            yield f"  {cost.__name__:13} controls' m_0 {m_0:.2f} (items' .75) {told}"


def main() -> None:
    """Print every line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    for line in lines(parser.parse_args().trials):
        print(line, flush=True)


if __name__ == "__main__":
    main()
