"""Print how many items a second get their sensitivities, and how long comparisons take."""

import time

import numpy as np

from memoprobe.comparison import STUDY_DEFINITIONS, Group, Point, compare
from memoprobe.sensitivity import Item, measure

N_ITEMS = 500
N_MODELS, N_BENCHMARKS = 8, 20
GOAL_S = 60


def cell(*, missing: bool) -> list[Item]:
    """Return a cell of 6 levels, 3 repeats and 3 answers, a tenth of them missing on request."""
    rng = np.random.default_rng(0)
    answers = np.clip(rng.normal(0.6, 0.1, (N_ITEMS, 6, 3, 3)), 0, 1)
    there = rng.random(answers.shape) > (0.1 if missing else -1)
    return [
        Item(
            model="m",
            benchmark="b",
            sample_id=str(i),
            perturbation="rename",
            metric="token_levenshtein",
            control=i % 10 == 0,
            has_reference=True,
            edit_shares={level: level / 10 for level in range(6)},
            values={
                level: [
                    (repeat, float(answers[i, level, repeat, j]))
                    for repeat, j in zip(*np.nonzero(there[i, level]), strict=True)
                ]
                for level in range(6)
            },
        )
        for i in range(N_ITEMS)
    ]


def groups() -> list[Group]:
    """Return the groups of all models and benchmarks by one metric."""
    rng = np.random.default_rng(0)
    return [
        Group(
            model=f"m{m}",
            benchmark=f"b{b}",
            task="code_generation",
            perturbation="rename",
            pool="default",
            metric="token_levenshtein",
            definition=definition,
            items=[Point(f"s{i}", value) for i, value in enumerate(rng.normal(size=N_ITEMS))],
            controls=[Point(f"c{i}", value) for i, value in enumerate(rng.normal(size=50))],
        )
        for m in range(N_MODELS)
        for b in range(N_BENCHMARKS)
        for definition in STUDY_DEFINITIONS
    ]


def seconds(items: list[Item], permutations: int) -> float:
    """Return the shortest of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        measure(items, seed=0, permutations=permutations)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure a cell with and without the permutations, then all comparisons."""
    whole, gaps = cell(missing=False), cell(missing=True)
    start = time.perf_counter()
    compare(groups())
    compare_s = time.perf_counter() - start
    full_s = seconds(whole, 1000)
    study_s = full_s * N_MODELS * N_BENCHMARKS + compare_s
    print(f"noise floors, items/s                     {N_ITEMS / seconds(whole, 1):8.0f}")
    print(f"  and 1,000 permutations, items/s         {N_ITEMS / full_s:8.0f}")
    print(f"  a tenth of the answers missing, items/s {N_ITEMS / seconds(gaps, 1000):8.0f}")
    print(f"comparisons of {N_MODELS} x {N_BENCHMARKS} x {N_ITEMS}, s            {compare_s:8.1f}")
    print(
        f"all of {N_MODELS} x {N_BENCHMARKS} x {N_ITEMS}, s (goal {GOAL_S})          {study_s:8.1f}"
    )


if __name__ == "__main__":
    main()
