"""Run many programs on many workers, with the verdicts that are known left out."""

from collections.abc import MutableMapping, Sequence
from functools import partial
from itertools import chain

from memoprobe import workers
from memoprobe.sandbox.program import Program, Verdict
from memoprobe.sandbox.running import run_once
from memoprobe.sandbox.selftest import find_wall
from memoprobe.workers import Pool

ALONE = Pool(jobs=1)

_LARGEST_BATCH = 300
_BATCHES_PER_WORKER = 4  # so that a slow batch does not leave the other workers without work
_MILLISECONDS = 20  # of a program, at least


def run(program: Program, *, unsafe: bool = False) -> Verdict:
    """Run one program and return its verdict.

    Raises:
        SandboxError: There is no wall to run it behind, and ``unsafe`` is not given.
    """
    return run_all([program], unsafe=unsafe)[0]


def run_all(
    programs: Sequence[Program],
    *,
    pool: Pool = ALONE,
    cache: MutableMapping[str, Verdict] | None = None,
    unsafe: bool = False,
) -> list[Verdict]:
    """Run programs on the workers of ``pool`` and return their verdicts in the same order.

    Equal programs run once. A program that ran out of time while it waited for a processor
    runs once more, alone, before that counts.

    Args:
        programs: What to run.
        pool: Who runs them; each worker raises a wall of its own.
        cache: Verdicts by ``Program.key``; it is read and added to.
        unsafe: Run without a wall, as the user; every verdict says so.

    Raises:
        SandboxError: There is no wall to run them behind, and ``unsafe`` is not given.
    """
    known = {} if cache is None else cache
    prefix = "bare:" if unsafe else ""  # a verdict without a wall never stands for one behind it
    keys = [prefix + program.key for program in programs]
    wanted = {key: each for key, each in zip(keys, programs, strict=True) if key not in known}
    if wanted and pool.backend == "loky":
        find_wall(unsafe=unsafe)
    found = _run_in_batches(wanted, pool, unsafe=unsafe)
    known.update(
        {key: verdict for key, verdict in found.items() if verdict.kind != "infrastructure"}
    )
    return [found[key] if key in found else known[key] for key in keys]


def _run_in_batches(wanted: dict[str, Program], pool: Pool, *, unsafe: bool) -> dict[str, Verdict]:
    items = list(wanted.items())
    size = -(-len(items) // (_BATCHES_PER_WORKER * workers.count(pool))) if items else 1
    size = max(1, min(_LARGEST_BATCH, size))
    batches = (
        ([program for _, program in items[start : start + size]],)
        for start in range(0, len(items), size)
    )
    run_them = partial(run_batch, unsafe=unsafe)
    results = list(workers.each(run_them, batches, pool, _MILLISECONDS * len(items)))
    found = {}
    for (key, program), ran in zip(items, chain.from_iterable(results), strict=True):
        verdict, starved = ran
        if verdict.kind == "infrastructure" or (verdict.kind == "timeout" and starved):
            (((verdict, _),),) = workers.each(run_them, [([program],)], pool, 1)
        found[key] = verdict
    return found


def run_batch(programs: Sequence[Program], *, unsafe: bool) -> list[tuple[Verdict, bool]]:
    """Return the verdicts of a batch, each with whether it was short of processor time."""
    behind = find_wall(unsafe=unsafe)
    return [run_once(program, behind) for program in programs]
