"""Sandboxed test runs a second, beside fresh and bare interpreters that only start.

Run as ``python -m bench.sandbox``. The programs are of this file: short functions as a model
writes them, each with five calls. ``--split`` tests them by code in the other process instead,
``--java`` runs Java programs, beside a Java machine that only starts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from memoprobe.sandbox import Program, Verdict, run_all
from memoprobe.workers import Pool

CODE = """
import math
from typing import List

def solve(numbers: List[int]) -> int:
    # {number}
    total = 0
    for value in sorted(numbers):
        total += math.gcd(value, 12) * (value % 7)
    return total
"""
JAVA = """
public class Solve {{
    // {number}
    public static int solve(int[] xs) {{
        int sum = 0;
        for (int x : xs) sum += x % 7;
        return sum;
    }}
}}
"""
INPUTS = [[], [1, 2, 3], list(range(30)), [12, 24, 7], [5] * 20]


def python_total(xs: list[int]) -> int:
    import math

    return sum(math.gcd(x, 12) * (x % 7) for x in xs)


def programs(count: int, *, split: bool, java: bool) -> list[Program]:
    answer = (lambda xs: sum(x % 7 for x in xs)) if java else python_total
    cases = [{"args": [xs], "expected": answer(xs)} for xs in INPUTS]
    lines = [f"    assert candidate({case['args'][0]}) == {case['expected']}" for case in cases]
    check = {"kind": "check", "test": "\n".join(["def check(candidate):", *lines])}
    tests = json.dumps(check if split else {"kind": "calls", "cases": cases})
    text, language = (JAVA, "java") if java else (CODE, "python")
    return [
        Program(language=language, code=text.format(number=n), tests=tests, entry_point="solve")
        for n in range(count)
    ]


def measured(name: str, count: int, action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    seconds = time.perf_counter() - began
    rate = count / seconds
    print(f"{name:34} {rate:8.1f}/s  {1000 * seconds / count:7.2f} ms")
    return rate


def bare(command: list[str], count: int, jobs: int) -> None:
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: subprocess.run(command, check=True), range(count)))


def ours(items: list[Program], jobs: int) -> list[Verdict]:
    verdicts = run_all(items, pool=Pool(jobs=jobs))
    assert {each.kind for each in verdicts} == {"passed"}, {each.detail for each in verdicts}
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--java", action="store_true")
    options = parser.parse_args()
    count, jobs = options.count, options.jobs
    items = programs(count, split=options.split, java=options.java)
    python = os.path.realpath(sys.executable)
    commands = {
        "fresh python -I": [python, "-I", "-c", "pass"],
        "fresh python -I -S": [python, "-I", "-S", "-c", "pass"],
        "fresh python -I, same program": [python, "-I", "-c", items[0].code],
    }
    if options.java:
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
        commands = {"fresh java -version": ["java", *flags, "--version"]}
    ours(programs(jobs * 4, split=options.split, java=options.java), jobs)  # workers, judges
    rates = [
        measured(name, count, lambda command=command: bare(command, count, jobs))
        for name, command in commands.items()
    ]
    rate = measured("sandboxed, a wall each", count, lambda: ours(items, jobs))
    for name, other in zip(commands, rates, strict=True):
        print(f"ratio to {name}: {rate / other:.2f}")


if __name__ == "__main__":
    main()
