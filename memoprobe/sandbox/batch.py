"""Run many programs on many workers, with the verdicts that are known left out."""

from collections.abc import MutableMapping, Sequence

import joblib

from memoprobe.sandbox.program import Program, Verdict
from memoprobe.sandbox.running import run_once
from memoprobe.sandbox.selftest import find_wall

_LARGEST_BATCH = 300
_BATCHES_PER_JOB = 4  # so that a slow batch does not leave the other workers without work


def run(program: Program, *, unsafe: bool = False) -> Verdict:
    """Run one program and return its verdict.

    Raises:
        SandboxError: There is no wall to run it behind, and ``unsafe`` is not given.
    """
    return run_all([program], unsafe=unsafe)[0]


def run_all(
    programs: Sequence[Program],
    *,
    jobs: int = 1,
    backend: str = "loky",
    cache: MutableMapping[str, Verdict] | None = None,
    unsafe: bool = False,
) -> list[Verdict]:
    """Run programs on ``jobs`` workers and return their verdicts in the same order.

    Equal programs run once. A program that ran out of time while it waited for a processor
    runs once more, alone, before that counts.

    Args:
        programs: What to run.
        jobs: How many at a time; -1 for one a processor.
        backend: Any that joblib knows; its workers raise a wall of their own.
        cache: Verdicts by ``Program.key``; it is read and added to.
        unsafe: Run without a wall, as the user; every verdict says so.

    Raises:
        SandboxError: There is no wall to run them behind, and ``unsafe`` is not given.
    """
    known = {} if cache is None else cache
    prefix = "bare:" if unsafe else ""  # a verdict without a wall never stands for one behind it
    keys = [prefix + program.key for program in programs]
    wanted = {key: each for key, each in zip(keys, programs, strict=True) if key not in known}
    if wanted:
        find_wall(unsafe=unsafe)
    found = _run_in_batches(wanted, jobs, backend, unsafe=unsafe)
    known.update(
        {key: verdict for key, verdict in found.items() if verdict.kind != "infrastructure"}
    )
    return [found[key] if key in found else known[key] for key in keys]


def _run_in_batches(
    wanted: dict[str, Program], jobs: int, backend: str, *, unsafe: bool
) -> dict[str, Verdict]:
    items = list(wanted.items())
    workers = joblib.effective_n_jobs(jobs) if items else 1
    size = max(1, min(_LARGEST_BATCH, -(-len(items) // (_BATCHES_PER_JOB * workers))))
    batches = [items[start : start + size] for start in range(0, len(items), size)]
    results = joblib.Parallel(n_jobs=min(workers, max(1, len(batches))), backend=backend)(
        joblib.delayed(run_batch)([program for _, program in batch], unsafe=unsafe)
        for batch in batches
    )
    ran = zip(items, (each for batch in results for each in batch), strict=True)
    found = {}
    for (key, program), (verdict, starved) in ran:
        again = verdict.kind == "infrastructure" or (verdict.kind == "timeout" and starved)
        found[key] = run_batch([program], unsafe=unsafe)[0][0] if again else verdict
    return found


def run_batch(programs: Sequence[Program], *, unsafe: bool) -> list[tuple[Verdict, bool]]:
    """Return the verdicts of a batch, each with whether it was short of processor time."""
    behind = find_wall(unsafe=unsafe)
    return [run_once(program, behind) for program in programs]
