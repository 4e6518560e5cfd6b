"""Choose how many edits a level makes, so that benchmarks can be compared at equal strength."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from memoprobe.errors import ConfigError


def edit_aims(strongest: Mapping[str, Sequence[float]], levels: int) -> tuple[float, ...]:
    """Return the edit share that each level above 0 aims at in every benchmark of a study.

    The top level aims at what the typical item of every benchmark can reach, the weakest
    benchmark included, and the levels below at equal steps towards it.

    Args:
        strongest: Benchmark -> edit share of each of its items with all edits made, in [0, 1].
        levels: Number of levels above 0.

    Raises:
        ConfigError: A benchmark has no item that can be altered.
    """
    for benchmark, shares in strongest.items():
        if not any(shares):
            msg = (
                f"edit shares cannot be matched: no item of {benchmark} can be altered; leave the "
                "benchmark out, or match_edit_share"
            )
            raise ConfigError(msg)
    top = min(median(filter(None, shares)) for shares in strongest.values())
    return tuple(top * level / levels for level in range(1, levels + 1))


def matched(aims: Sequence[float], n_edits: int, share: Callable[[int], float]) -> list[int]:
    """Return how many of ``n_edits`` nested edits each level makes, to come closest to its aim.

    The strongest level chooses first, for by it strengths are compared; the counts rise, so as
    many edits are left for each level as those below need to differ.

    Args:
        aims: The edit share that each level above 0 aims at, rising.
        n_edits: Number of edits there are.
        share: Number of edits made -> edit share, rising.
    """
    counts: list[int] = []
    high = n_edits
    for level in range(min(len(aims), n_edits), 0, -1):
        aim = aims[level - 1]
        above = level + bisect_left(range(level, high + 1), aim, key=share)
        near = [count for count in (above - 1, above) if level <= count <= high]
        counts.append(min(near, key=lambda count: (abs(share(count) - aim), count)))
        high = counts[-1] - 1
    return counts[::-1]
