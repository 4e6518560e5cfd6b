"""Make the data of a report: seeded, with a seen half that falls and controls that hardly do."""

import json
import random
from dataclasses import replace
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


INFO = {
    "memoprobe_version": "0.1.0",
    "study": "local-vllm",
    "started": "2025-11-28T09:30:00+00:00",
    "ended": "2025-11-29T11:59:30+00:00",
    "settings": json.dumps(
        {
            "seed": 0,
            "levels": 5,
            "width": 3,
            "sampling": {"temperature": 0.3, "top_p": 0.5, "max_tokens": 1024},
            "models": {
                "codellama-13b": {
                    "model": "codellama/CodeLlama-13b-hf",
                    "interface": "completions",
                    "extra_body": {"chat_template_kwargs": {"thinking": False}},
                }
            },
        }
    ),
    "server/codellama-13b/http://gpu1:8000/v1": json.dumps(
        {
            "dialect": "vllm",
            "version": "0.11.0",
            "context_tokens": {"codellama/CodeLlama-13b-hf": 16384},
            "defaults": {"top_k": 20},
        }
    ),
    "benchmark/humaneval": json.dumps(
        {
            "fingerprint": "8b1f3a52c0",
            "skipped": {"too long": 2},
            "repository": "openai/openai_humaneval",
            "commit": "7dce6050",
        }
    ),
    "metrics": '["token_levenshtein", "levenshtein"]',
    "answers_per_second": "123.456",
    "note": "a pilot",
}


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
        info=INFO,
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
        "calibrated": (means[0] - fmean(levels[1:]), 0.0, rng.random() ** 3, rng.random() ** 3),
        "paper": (largest, noise, None, None),
        "recall": (means[0], None, None, rng.random() ** 3),
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
            control_q=control_p,
        )
        for name, (value, floor, noise_p, control_p) in values.items()
    ]


def compared(models, tasks, metrics):
    """Return comparisons of two questions; the last model lacks a retention above 0."""
    asked = [("benchmark_advantage", "mann_whitney", each) for each in ("calibrated", "paper")]
    asked += [
        ("memorization", "mean", each) for each in ("calibrated", "own_fall", "retention", "recall")
    ]
    return [
        comparison(question, test, definition, metric, (model, benchmark, task), m + b)
        for question, test, definition in asked
        for metric in metrics
        for m, model in enumerate(models)
        for b, (benchmark, task) in enumerate(tasks.items())
        if not (definition == "retention" and model == models[-1])
    ]


def comparison(question, test, definition, metric, place, size):
    """Return one test."""
    model, benchmark, task = place
    is_memory = question == "memorization"
    return Comparison(
        pool="default",
        question=question,
        test=test,
        subject=model if is_memory else benchmark,
        context=benchmark if is_memory else model,
        perturbation="rename" if task == "program_repair" else "paraphrase",
        metric=metric,
        definition=definition,
        n_subject=40,
        n_rest=0 if definition == "own_fall" else 20 if is_memory else 80,
        statistic=1234.5,
        p_value=0.0001 * (1 + size),
        p_adjusted=0.0006 * (1 + size),
        p_holm=0.0005 * (1 + size),
        p_bh=0.0002 * (1 + size),
        effect=0.05 + 0.12 * (size % 3) - 0.04,
        effect_low=0.12 * (size % 3) - 0.02,
        effect_high=0.12 * (size % 3) + 0.06,
    )


def example(i, model, levels=6):
    """Return one sample in full."""
    right = d.ExampleAnswer(ANSWER, (("token_levenshtein", 1.0),), "ok", "passed")
    other = d.ExampleAnswer(OTHER, (("token_levenshtein", 0.41),), "ok", "failed")
    return d.Example(
        model=model,
        benchmark="humaneval",
        sample_id=f"humaneval/{i}",
        perturbation="paraphrase",
        metric="token_levenshtein",
        control=i == 3,
        rank=i,
        reasons=("random",) if i % 2 else ("most sensitive", "flagged"),
        flaws={} if i % 2 else {"timeout": 5},
        values={"calibrated": 0.6 - 0.03 * i, "recall": 0.97},
        corner="falls and recalls" if i < 5 else "neither",
        levels=[
            d.ExampleLevel(
                level=k,
                prompt=PROMPT if k == 0 else REWORDED if k > 2 else PROMPT.replace("Write", "Make"),
                reference=None if k else ANSWER,
                edit_share=0.07 * k,
                mean=0.97 - 0.12 * k,
                answers=[
                    *[right] * (9 - k),
                    *[other] * max(0, k - 1),
                    *([d.ExampleAnswer(None, (), "timeout")] if k else []),
                ],
            )
            for k in range(levels)
        ],
    )


def small(**changes):
    """Return the data of one model on one benchmark with the given fields replaced."""
    one = synthetic(
        models=("m",), tasks={"humaneval": "code_generation"}, n_items=4, n_controls=3, n_examples=1
    )
    return replace(one, **changes)


def without_anything(**changes):
    """Return the data of a run that has nothing yet."""
    empty = {"controls": frozenset(), "sensitivities": [], "curves": [], "comparisons": []}
    return small(**{"cells": [], "examples": [], **empty, **changes})
