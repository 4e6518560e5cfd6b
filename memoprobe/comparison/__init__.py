"""Ask every question of METHOD 5, and declare which tests are corrected together.

A family is one question, test, definition, metric and pool of groups that may be compared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memoprobe.comparison.groups import STUDY_DEFINITIONS, Group, Point
from memoprobe.comparison.memory import memorization, version_difference
from memoprobe.comparison.standing import (
    benchmark_advantage,
    benchmark_correlation,
    benchmark_spread,
    model_advantage,
    task_difference,
)
from memoprobe.records import CHANGES_MEANING, DEFAULT_POOL, Comparison
from memoprobe.stats.correction import benjamini_hochberg, bonferroni, holm

__all__ = ["CORRECTIONS", "STUDY_DEFINITIONS", "Compared", "Family", "Group", "Point", "compare"]

Correction = Callable[[Sequence[float]], list[float]]

CORRECTIONS: dict[str, Correction] = {"bonferroni": bonferroni, "holm": holm}
"""How a family's p-values are corrected, by the name its declaration gives."""

_STUDYS_OWN = frozenset({"mann_whitney", "kruskal_wallis", "paired_t", "pearson"})

_QUESTIONS: dict[str, Callable[[Sequence[Group]], Iterator[Comparison]]] = {
    "benchmark_advantage": benchmark_advantage,
    "model_advantage": model_advantage,
    "benchmark_spread": benchmark_spread,
    "task_difference": task_difference,
    "benchmark_correlation": benchmark_correlation,
    "version_difference": version_difference,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Name tests that are corrected together."""

    question: str
    test: str
    definition: str
    metric: str
    perturbation: str  # the pool
    correction: str
    size: int  # tests that have a p-value
    primary: bool  # confirmatory; the rest is exploratory


class Compared(NamedTuple):
    """Hold the families and the tests of all questions."""

    families: list[Family]
    rows: list[Comparison]


def compare(groups: Sequence[Group]) -> Compared:
    """Answer every question that ``groups`` allow, in a fixed order.

    One model, or one benchmark, gives a question no rows and no error. The study's own
    tests are corrected as it did, by Bonferroni; all others by Holm. Every row also has
    the values of Holm and of Benjamini and Hochberg.
    """
    families: list[Family] = []
    rows: list[Comparison] = []
    pools = _pools(groups)
    for (pool, metric, definition), members in sorted(pools.items()):
        found = [
            row
            for ask in _QUESTIONS.values()
            if definition in STUDY_DEFINITIONS
            for row in ask(members)
        ]
        # After these the reference is no longer what a model without memory would answer.
        if definition == "calibrated" and pool not in CHANGES_MEANING:
            found += memorization(members, pools.get((pool, metric, "recall"), []))
        for tests in _families(found):
            corrected = _corrected(tests)
            first = corrected[0]
            is_primary = (pool, metric) == (DEFAULT_POOL, "token_levenshtein")
            families.append(
                Family(
                    question=first.question,
                    test=first.test,
                    definition=first.definition,
                    metric=metric,
                    perturbation=pool,
                    correction=_correction(first),
                    size=sum(row.p_value is not None for row in corrected),
                    primary=is_primary and first.definition == "calibrated",
                )
            )
            rows += corrected
    return Compared(families, rows)


def _pools(groups: Iterable[Group]) -> dict[tuple[str, str, str], list[Group]]:
    pools: dict[tuple[str, str, str], list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda g: (g.model, g.benchmark, g.perturbation)):
        if group.items or group.controls:
            pools[group.pool, group.metric, group.definition].append(group)
    return pools


def _families(rows: Iterable[Comparison]) -> Iterable[list[Comparison]]:
    families: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in rows:
        families.setdefault((row.question, row.test, row.definition), []).append(row)
    return families.values()


def _correction(row: Comparison) -> str:
    return "bonferroni" if row.test in _STUDYS_OWN else "holm"


def _corrected(tests: Sequence[Comparison]) -> list[Comparison]:
    p_values = [row.p_value for row in tests if row.p_value is not None]
    own = iter(CORRECTIONS[_correction(tests[0])](p_values))
    stepped, rate = iter(holm(p_values)), iter(benjamini_hochberg(p_values))
    return [
        row
        if row.p_value is None
        else replace(row, p_adjusted=next(own), p_holm=next(stepped), p_bh=next(rate))
        for row in tests
    ]
