"""Make the database of a small run: two models, two benchmarks, controls, flaws, a placebo."""

import random

from memoprobe.pipeline import derive
from memoprobe.records import Failure, Response, Sample, Variant
from memoprobe.store import open_store
from memoprobe.store.database import Cell, PlanRow

MODELS = {"alpha": 0.35, "beta": 0.1}
"""Model -> how much more likely a seen item's answer breaks with each level."""

BENCHMARKS = {"repairs": 7, "fixes": 10}
"""Benchmark -> number of its items; each has as many controls, less one."""

LEVELS, REPEATS, ANSWERS = 3, 1, 3
METRIC = "token_levenshtein"

_made = []  # the path, once it is there: several modules look at the same run


def once(tmp_path_factory):
    """Return the path of the database, made at the first call."""
    if not _made:
        _made.append(make(tmp_path_factory.mktemp("run") / "run.db"))
    return _made[0]


_CODE = """def {name}(values, limit):
    total = 0
    for value in values:
        if value > limit:
            total = total + value * {k}
    return total
"""


def make(path):
    """Write the database, score it, and return its path."""
    with open_store(path, write=True) as store:
        models = {
            name: {"model": f"lab/{name}", "interface": "chat", "extra_body": {}} for name in MODELS
        }
        store.set_info(
            {
                "settings": {"seed": 3, "width": ANSWERS, "levels": LEVELS, "models": models},
                "study": "small",
                "benchmark/repairs": {"fingerprint": "a1b2", "skipped": {}, "commit": "c0ffee"},
                "server/alpha/http://gpu1/v1": {"dialect": "vllm", "version": "0.11.0"},
            }
        )
        plans = {}
        for benchmark, n in BENCHMARKS.items():
            samples = [_sample(benchmark, k, control=k >= n) for k in range(2 * n - 1)]
            store.add_samples(samples)
            for perturbation in ("rename", "placebo"):
                for sample in samples:
                    store.save(*(_variant(sample, perturbation, k) for k in range(LEVELS + 1)))
                    store.save_rejected(sample, perturbation, {"lost a name": 1})
                    for model in MODELS:
                        store.save(*_outcomes(model, sample, perturbation))
                for model in MODELS:
                    plan = PlanRow(Cell(model, benchmark, perturbation), LEVELS, REPEATS, ANSWERS)
                    plans[plan] = [sample.sample_id for sample in samples]
        store.flush()
        store.replace_plan(plans)
        derive.score(store, [METRIC])
    return path


def _sample(benchmark, k, *, control):
    code = _CODE.format(name=f"f{k}", k=k)
    return Sample(
        benchmark=benchmark,
        sample_id=f"{'control' if control else 'item'}-{k}",
        task="program_repair",
        language="python",
        input_kind="code",
        text=code.replace(">", "<"),
        reference=code,
        entry_point=f"f{k}",
        cluster=f"project-{k // 2}" if benchmark == "fixes" and not control else None,
        control=control,
    )


def _variant(sample, perturbation, level):
    return Variant(
        benchmark=sample.benchmark,
        sample_id=sample.sample_id,
        perturbation=perturbation,
        level=level,
        text=f"{sample.text}# {perturbation} {level}\n" if level else sample.text,
        distance=0.1 * level,
        edit_share=(0.02 if perturbation == "placebo" else 0.1) * level,
        rename_map={},
    )


def _outcomes(model, sample, perturbation):
    """Yield the outcome of every slot: the reference, spoiled the more the higher the level."""
    for level in range(LEVELS + 1):
        for answer in range(1, ANSWERS + 1):
            slot = (model, sample.benchmark, sample.sample_id, perturbation, level, answer)
            rng = random.Random(repr(slot))
            odds = 0.25 if sample.control else 0.05
            if perturbation == "rename" and not sample.control:
                odds += MODELS[model] * level
            code = sample.reference
            for old, new in (
                ("total", "result"),
                ("value * ", ""),
                ("if value > limit", "if True"),
            ):
                code = code.replace(old, new) if rng.random() < odds else code
            yield _outcome(slot, code, rng)


def _outcome(slot, code, rng):
    model, benchmark, sample_id, perturbation, level, answer = slot
    place = {
        "key": repr(slot).encode(),
        "model": model,
        "benchmark": benchmark,
        "sample_id": sample_id,
        "perturbation": perturbation,
        "level": level,
        "repeat": 1,
        "answer": answer,
    }
    if rng.random() < 0.02:
        failed = {"kind": "refused", "phase": "reply", "detail": "no", "attempts": 1}
        return Failure(**place, **failed, permanent=True)
    return Response(
        **place,
        text=f"```python\n{code}```",
        reasoning=None,
        finish_reason="length" if rng.random() < 0.03 else "stop",
        prompt_tokens=9,
        completion_tokens=9,
        latency_s=0.1,
        seed=answer,
        endpoint="http://gpu1/v1",
    )
