"""Memory of fetch and load over rows of CodeContests whose tests take 20 MB each.

One parquet file of one row group, written and read in processes of their own; the last
column is the largest memory of each. Run as ``python -m bench.stream``.
"""

import argparse
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memoprobe import benchmarks
from memoprobe.benchmarks import Selection

NAME = "codecontests"
PIECE = 5_000  # characters of one test's input


def write(folder: Path, rows: int, megabytes: int) -> str:
    import pyarrow
    from pyarrow import parquet

    block = random.Random(0).randbytes(PIECE // 2).hex()
    inputs = [f"{number} {block}" for number in range(megabytes * 10**6 // PIECE // 2)]
    tests = {"input": inputs, "output": ["1\n"] * len(inputs)}
    listed = [
        {
            "name": f"{number}_A",
            "description": "Print 1.",
            "private_tests": tests,
            "generated_tests": tests,
            "solutions": {"language": [3], "solution": ["print(1)\n"]},
        }
        for number in range(rows)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(listed), folder / "train-0.parquet")
    return f"{(folder / 'train-0.parquet').stat().st_size >> 20} MB of file"


def fetch(folder: Path, _rows: int, _megabytes: int) -> str:
    got = benchmarks.fetch(benchmarks.find(NAME), folder, folder / "home")
    return f"{got.n_used} of {got.n_rows} rows"


def load(folder: Path, _rows: int, _megabytes: int) -> str:
    chosen = Selection(limit=2)
    loaded = benchmarks.load(benchmarks.find(NAME), folder / "home", chosen)
    return f"{len(loaded.samples)} samples"


def measure(step: Callable[..., str], *arguments: object) -> None:
    began = time.monotonic()
    words = step(*arguments)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line)
    seconds = time.monotonic() - began
    print(f"{step.__name__:>6} {seconds:6.1f} s {peak >> 10:6} MB  {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=36)
    parser.add_argument("--megabytes", type=int, default=20)
    options = parser.parse_args()
    fresh = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        for step in (write, fetch, load):
            arguments = (step, Path(name), options.rows, options.megabytes)
            process = fresh.Process(target=measure, args=arguments)
            process.start()
            process.join()


if __name__ == "__main__":
    main()
