"""Scoring: edit distance, sandboxed tests, and a run database of a million answers.

Run as ``python -m bench.scoring``. Levenshtein is set beside the pure Python of textdistance on
the same pairs of programs; sandboxed tests beside fresh bare interpreters (see bench.sandbox);
then ``memoprobe score`` measures made-up answers, no two of a sample alike, by
``token_levenshtein``, and the memory of all its processes is added up.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import sandbox
from bench.scale import CODE
from memoprobe.metrics import METRICS
from memoprobe.records import Response, Sample, Variant
from memoprobe.sandbox.inside.clock import descendants
from memoprobe.store import open_store
from memoprobe.store.database import Cell, PlanRow

LEVELS, REPEATS, ANSWERS = 5, 3, 3
A_SAMPLE = (LEVELS + 1) * REPEATS * ANSWERS
NAMES = ("first", "second", "third", "total", "square")


def program(rng: random.Random, n_lines: int) -> str:
    """Return a made-up program with a name, a number and an operator drawn for each line."""
    lines = [
        f"    {rng.choice(NAMES)} = {rng.choice(NAMES)} {rng.choice('+-*%')} {rng.randrange(99)}"
        for _ in range(n_lines)
    ]
    return "\n".join(["def solve(first, second, third):", "    total = square = 0", *lines])


def edit_distance(n_pairs: int) -> None:
    import textdistance

    rng = random.Random(0)
    pairs = [(program(rng, 16), program(rng, 16)) for _ in range(n_pairs)]
    theirs = textdistance.Levenshtein(external=False).normalized_similarity
    began = time.perf_counter()
    expected = [theirs(*pair) for pair in pairs]
    middle = time.perf_counter()
    found = [METRICS["levenshtein"](*pair, "text") for pair in pairs]
    ours = time.perf_counter() - middle
    assert all(abs(a - b) < 1e-12 for a, b in zip(found, expected, strict=True))
    per_pair = [1000 * seconds / n_pairs for seconds in (middle - began, ours)]
    print(f"textdistance, pure Python   {per_pair[0]:10.3f} ms a pair")
    print(f"levenshtein                 {per_pair[1]:10.3f} ms a pair")
    print(f"ratio (goal 50)             {per_pair[0] / per_pair[1]:10.0f}")


def runs_a_second(count: int, jobs: int) -> None:
    items = sandbox.programs(count, split=False, java=False)
    python = os.path.realpath(sys.executable)
    sandbox.ours(sandbox.programs(jobs * 4, split=False, java=False), jobs)  # workers, judges
    fresh = sandbox.measured(
        "fresh python -I", count, lambda: sandbox.bare([python, "-I", "-c", "pass"], count, jobs)
    )
    ours = sandbox.measured("sandboxed, a wall each", count, lambda: sandbox.ours(items, jobs))
    print(f"ratio (goal 0.7)            {ours / fresh:10.2f}")


def samples(count: int) -> Iterator[Sample]:
    for n in range(count):
        yield Sample(
            benchmark="made",
            sample_id=str(n),
            task="program_repair",
            language="python",
            input_kind="code",
            text=CODE.format(n=n),
            reference=CODE.format(n=n),
            entry_point=f"solve_{n}",
        )


def variants(sample: Sample) -> Iterator[Variant]:
    for level in range(LEVELS + 1):
        names = {name: f"{name}_{level}" for name in NAMES[:level]}
        text = sample.text
        for old, new in names.items():
            text = text.replace(old, new)
        yield Variant(
            benchmark=sample.benchmark,
            sample_id=sample.sample_id,
            perturbation="rename",
            level=level,
            text=text,
            distance=level / 10,
            edit_share=level / 10,
            rename_map=names,
        )


def responses(sample: Sample, variant: Variant) -> Iterator[Response]:
    for number in range(REPEATS * ANSWERS):
        text = f"Here it is:\n```python\n{variant.text}    return {variant.level}{number}\n```"
        yield Response(
            key=f"{sample.sample_id} {variant.level} {number}".encode(),
            model="m",
            benchmark=sample.benchmark,
            sample_id=sample.sample_id,
            perturbation="rename",
            level=variant.level,
            repeat=1 + number // ANSWERS,
            answer=1 + number % ANSWERS,
            text=text,
            reasoning=None,
            finish_reason="stop",
            prompt_tokens=100,
            completion_tokens=80,
            latency_s=1.0,
            seed=number,
            endpoint="http://127.0.0.1/v1",
        )


def fill(path: Path, count: int) -> None:
    model = {"model": "m", "interface": "chat", "extra_body": {}}
    with open_store(path, write=True) as store:
        store.set_info({"settings": {"seed": 0, "width": ANSWERS, "models": {"m": model}}})
        store.add_samples(samples(count))
        cell = Cell("m", "made", "rename")
        store.replace_plan(
            {PlanRow(cell, LEVELS, REPEATS, ANSWERS): [s.sample_id for s in samples(count)]}
        )
        for sample in samples(count):
            for variant in variants(sample):
                store.save(variant, *responses(sample, variant))


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process and its descendants; shared pages count for each."""
    total = 0
    for each in (pid, *descendants(pid)):
        try:
            text = Path(f"/proc/{each}/status").read_text(encoding="ascii")
            total += int(text.split("VmRSS:")[1].split()[0])
        except (OSError, IndexError):  # it has just ended
            continue
    return total / 1024


def score(path: Path, n_answers: int, jobs: int) -> None:
    command = [sys.executable, "-m", "memoprobe", "score", str(path)]
    command += ["--metric", "token_levenshtein", "--jobs", str(jobs)]
    began, largest = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        largest = max(largest, resident_mb(process.pid))
        time.sleep(0.1)
    seconds = time.monotonic() - began
    assert process.returncode == 0
    print(f"answers scored and measured {n_answers:10,}")
    print(f"seconds                     {seconds:10.1f}")
    print(f"answers a second            {n_answers / seconds:10.0f}")
    print(f"largest memory (goal 500)   {largest:10.0f} MB over all processes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.pairs:
        edit_distance(options.pairs)
    if options.programs:
        runs_a_second(options.programs, options.jobs)
    count = options.answers // A_SAMPLE
    if count:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "made.db"
            fill(path, count)
            print(f"database                    {path.stat().st_size / 2**20:10.0f} MB")
            score(path, count * A_SAMPLE, options.jobs)


if __name__ == "__main__":
    main()
