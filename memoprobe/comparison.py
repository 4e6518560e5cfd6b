"""Ask which benchmarks and which models stand out, and whether items differ from controls.

The first two questions are the study's, by its test; ``memorization`` is METHOD 5's
contrast of items and controls. Every test belongs to a family, corrected together.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from memoprobe.records import DEFAULT_POOL, Comparison
from memoprobe.stats.correction import bonferroni, holm
from memoprobe.stats.interval import Interval, welch_difference
from memoprobe.stats.rank import cliffs_delta, mann_whitney

Correction = Callable[[Sequence[float]], list[float]]

CORRECTIONS: dict[str, Correction] = {"bonferroni": bonferroni, "holm": holm}
"""How a family's p-values can be corrected, by the name its declaration gives."""

STUDY_DEFINITIONS = ("artifact", "calibrated", "paper", "recall", "total_drop")
"""The definitions whose groups are compared with one another."""

CONTRASTED = ("calibrated", "recall")
"""The definitions in which items are set against controls: the fall (DiD) and the recall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Hold the values of one model on one benchmark by one definition."""

    model: str
    benchmark: str
    task: str
    perturbation: str
    pool: str  # groups of one pool may be compared with each other
    metric: str
    definition: str
    values: Sequence[float]  # of the samples that are no controls
    sample_ids: Sequence[str]  # likewise
    controls: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Name tests that are corrected together."""

    question: str
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

    - ``benchmark_advantage``: each benchmark against all others of its model.
    - ``model_advantage``: each model against all others on its benchmark.
    - ``memorization``: a group's items minus the controls of its model, task and
      perturbation, whichever benchmarks these stand in.

    The first two are Mann-Whitney U tests with Cliff's delta as effect, without controls.
    The last is Welch's t test with the difference of means as effect, hence the
    difference in differences where the definition is a fall. A group of controls alone is
    no subject; one model, or one benchmark, gives a question no rows. A family is one question,
    definition, metric and pool.
    """
    families: list[Family] = []
    rows: list[Comparison] = []
    for (pool, metric, definition), members in sorted(_pools(groups).items()):
        primary = (pool, metric, definition) == (DEFAULT_POOL, "token_levenshtein", "calibrated")
        for question in QUESTIONS:
            family = _family(question, members) if definition in question.definitions else []
            if not family:
                continue
            rows += family
            families.append(
                Family(
                    question=question.name,
                    definition=definition,
                    metric=metric,
                    perturbation=pool,
                    correction=question.correction,
                    size=sum(row.p_value is not None for row in family),
                    primary=primary,
                )
            )
    return Compared(families, rows)


def _pools(groups: Sequence[Group]) -> dict[tuple[str, str, str], list[Group]]:
    pools: dict[tuple[str, str, str], list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda g: (g.model, g.benchmark, g.perturbation)):
        if group.values or group.controls:
            pools[group.pool, group.metric, group.definition].append(group)
    return pools


def _other_benchmarks(group: Group, pool: Sequence[Group]) -> list[float]:
    others = [g for g in pool if g.model == group.model and g.benchmark != group.benchmark]
    return [value for other in others for value in other.values]


def _other_models(group: Group, pool: Sequence[Group]) -> list[float]:
    others = [g for g in pool if g.benchmark == group.benchmark and g.model != group.model]
    return [value for other in others for value in other.values]


def _controls(group: Group, pool: Sequence[Group]) -> list[float]:
    """Return the controls of all benchmarks that share the group's design (METHOD 3's C).

    A group's own controls get no preference, so that the contrast and ``control_p`` speak
    of the same controls.
    """
    place = attrgetter("model", "task", "perturbation")
    return [value for other in pool if place(other) == place(group) for value in other.controls]


class _Outcome(NamedTuple):
    statistic: float | None
    p_value: float | None
    effect: Interval


def _rank_outcome(values: Sequence[float], rest: Sequence[float]) -> _Outcome:
    test = mann_whitney(values, rest)
    return _Outcome(test.statistic, test.p_value, cliffs_delta(values, rest))


def _mean_outcome(values: Sequence[float], rest: Sequence[float]) -> _Outcome:
    welch = welch_difference(values, rest)
    effect = Interval(welch.estimate, welch.low, welch.high)
    return _Outcome(welch.statistic, welch.p_value, effect)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    name: str
    subject: Callable[[Group], str]
    context: Callable[[Group], str]
    definitions: tuple[str, ...]
    rest: Callable[[Group, Sequence[Group]], list[float]]  # a group and its pool -> other values
    test: Callable[[Sequence[float], Sequence[float]], _Outcome]
    correction: str


_MODEL, _BENCHMARK = attrgetter("model"), attrgetter("benchmark")

QUESTIONS = (
    _Question(
        name="benchmark_advantage",
        subject=_BENCHMARK,
        context=_MODEL,
        definitions=STUDY_DEFINITIONS,
        rest=_other_benchmarks,
        test=_rank_outcome,
        correction="bonferroni",
    ),
    _Question(
        name="model_advantage",
        subject=_MODEL,
        context=_BENCHMARK,
        definitions=STUDY_DEFINITIONS,
        rest=_other_models,
        test=_rank_outcome,
        correction="bonferroni",
    ),
    _Question(
        name="memorization",
        subject=_MODEL,
        context=_BENCHMARK,
        definitions=CONTRASTED,
        rest=_controls,
        test=_mean_outcome,
        correction="holm",
    ),
)
"""The questions in the order of the report; the study's own are tested and corrected as it did."""


def _family(question: _Question, pool: Sequence[Group]) -> list[Comparison]:
    """Return one question's tests of a pool, corrected; none where no group has a rest."""
    tests = [
        _row(question, group, rest)
        for group in pool
        if group.values and (rest := question.rest(group, pool))
    ]
    correct = CORRECTIONS[question.correction]
    adjusted = iter(correct([row.p_value for row in tests if row.p_value is not None]))
    return [
        row if row.p_value is None else replace(row, p_adjusted=next(adjusted)) for row in tests
    ]


def _row(question: _Question, group: Group, rest: Sequence[float]) -> Comparison:
    outcome = question.test(group.values, rest)
    return Comparison(
        question=question.name,
        subject=question.subject(group),
        context=question.context(group),
        perturbation=group.perturbation,
        pool=group.pool,
        metric=group.metric,
        definition=group.definition,
        n_subject=len(group.values),
        n_rest=len(rest),
        statistic=outcome.statistic,
        p_value=outcome.p_value,
        p_adjusted=None,
        effect=outcome.effect.estimate,
        effect_low=outcome.effect.low,
        effect_high=outcome.effect.high,
    )
