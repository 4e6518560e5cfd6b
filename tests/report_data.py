"""Make the data of a report: seeded, with a seen half that falls and controls that hardly do."""

import random
from itertools import pairwise
from statistics import fmean

from memoprobe.records import Comparison, Curve, Sensitivity
from memoprobe.report import data as d

PROMPT = (
    "Write a function first_even(numbers) that returns the first even number of a list, or None "
    "where the list holds none.\n\n>>> first_even([3, 8, 5])\n8\n"
)
REWORDED = (
    "Implement first_even(numbers). For a given list it gives back the earliest even value; it "
    "gives None where no value is even.\n\n>>> first_even([3, 8, 5])\n8\n"
)
ANSWER = """def first_even(numbers):
    for n in numbers:
        if n % 2 == 0:
            return n
"""
OTHER = "def first_even(numbers):\n    return next((x for x in numbers if not x & 1), None)\n"
TASKS = {"humaneval": "code_generation", "mbpp": "code_generation", "quixbugs": "program_repair"}


def synthetic(
    models=("codellama-13b", "qwen2.5-coder-14b"),
    tasks=TASKS,
    *,
    n_items=40,
    n_controls=20,
    metrics=("token_levenshtein", "levenshtein"),
    n_examples=10,
):
    """Return the data of a whole study; benchmark and model decide how far the items fall."""
    rng = random.Random(7)
    cells, curves, sensitivities = [], [], []
    controls = {(b, f"control/{i}") for b in tasks for i in range(n_controls)}
    for m, model in enumerate(models):
        for b, (benchmark, task) in enumerate(tasks.items()):
            perturbation = "rename" if task == "program_repair" else "paraphrase"
            cells.append(cell(model, benchmark, task, perturbation, n_items, n_controls, m))
            for i in range(n_items + n_controls):
                control = i >= n_items
                sample_id = f"control/{i - n_items}" if control else f"{benchmark}/{i}"
                fall = 0.04 if control else 0.05 + 0.12 * ((m + b) % 3)
                start = rng.gauss(0.62 if control else 0.78, 0.09)
                for metric in metrics:
                    means = {
                        k: min(
                            1, max(0, start - fall * (k > 0) * (0.7 + 0.1 * k) + rng.gauss(0, 0.04))
                        )
                        for k in range(6)
                    }
                    names = {
                        "model": model,
                        "benchmark": benchmark,
                        "sample_id": sample_id,
                        "perturbation": perturbation,
                        "metric": metric,
                    }
                    curves.append(Curve(**names, means=means))
                    sensitivities += measured(names, means, rng)
    return d.ReportData(
        title="local-vllm",
        created="2025-11-29T12:00:00+00:00",
        info={
            "memoprobe": "0.1.0",
            "sampling": "temperature 0.3, top_p 0.5, max_tokens 1024",
            "answers": "3, 3 repeats",
            "seed": "0",
            "server": "vLLM 0.11.0 at gpu1:8000",
            "humaneval": "openai/openai_humaneval, content hash 8b1f3a52c0",
        },
        cells=cells,
        controls=frozenset(controls),
        sensitivities=sensitivities,
        curves=curves,
        comparisons=compared(models, tasks, metrics) if n_controls else [],
        examples=[example(i, models[-1]) for i in range(n_examples)],
    )


def cell(model, benchmark, task, perturbation, n_items, n_controls, m):
    """Return the bookkeeping of one cell; that of the second model has truncated answers."""
    planned = (n_items + n_controls) * 54
    return d.Cell(
        model=model,
        benchmark=benchmark,
        task=task,
        perturbation=perturbation,
        n_samples=n_items + n_controls,
        n_controls=n_controls,
        planned=planned,
        answered=planned - 3,
        truncated=planned // 30 if m else 2,
        empty=1,
        failed={"timeout": 2, "context_overflow": 1},
        excluded=m,
        rejected={"lost number": 14, "equal to an earlier one": 5},
        floor={"token_levenshtein": 0.31, "levenshtein": 0.28},
        edit_shares={k: 0.07 * k for k in range(6)},
    )


def measured(names, means, rng):
    """Return a few definitions of one curve."""
    levels = [means[k] for k in range(6)]
    largest = max(a - b for a, b in pairwise(levels))
    noise = abs(rng.gauss(0.07, 0.02))
    values = {
        "calibrated": (means[0] - fmean(levels[1:]), 0.0, rng.random() ** 3, rng.random()),
        "paper": (largest, noise, None, None),
        "recall": (means[0], None, None, rng.random()),
    }
    return [
        Sensitivity(
            **names,
            definition=name,
            value=value,
            n_levels=5,
            noise_floor=floor,
            excess=None if floor is None else value - floor,
            answer_noise_p=noise_p,
            control_p=control_p,
        )
        for name, (value, floor, noise_p, control_p) in values.items()
    ]


def compared(models, tasks, metrics):
    """Return comparisons of two questions."""
    return [
        Comparison(
            pool="default",
            question=question,
            test="mean" if question == "memorization" else "mann_whitney",
            subject=model if question == "memorization" else benchmark,
            context=benchmark if question == "memorization" else model,
            perturbation="rename" if task == "program_repair" else "paraphrase",
            metric=metric,
            definition=definition,
            n_subject=40,
            n_rest=20 if question == "memorization" else 80,
            statistic=1234.5,
            p_value=0.0001 * (1 + b),
            p_adjusted=0.0006 * (1 + b),
            p_holm=0.0005 * (1 + b),
            p_bh=0.0002 * (1 + b),
            effect=0.05 + 0.12 * ((m + b) % 3) - 0.04,
            effect_low=0.12 * ((m + b) % 3) - 0.02,
            effect_high=0.12 * ((m + b) % 3) + 0.06,
        )
        for question in ("benchmark_advantage", "memorization")
        for definition in ("calibrated", "paper")
        for metric in metrics
        for m, model in enumerate(models)
        for b, (benchmark, task) in enumerate(tasks.items())
    ]


def example(i, model, levels=6):
    """Return one sample in full."""
    return d.Example(
        model=model,
        benchmark="humaneval",
        sample_id=f"humaneval/{i}",
        perturbation="paraphrase",
        metric="token_levenshtein",
        value=0.6 - 0.03 * i,
        control=i == 3,
        levels=[
            d.ExampleLevel(
                level=k,
                prompt=PROMPT if k == 0 else REWORDED if k > 2 else PROMPT.replace("Write", "Make"),
                reference=ANSWER,
                mean=0.97 - 0.12 * k,
                answers=[
                    *[(ANSWER, 1.0, "answered")] * (9 - k),
                    *[(OTHER, 0.41, "answered")] * max(0, k - 1),
                    *([(None, None, "timeout")] if k else []),
                ],
            )
            for k in range(levels)
        ],
    )
