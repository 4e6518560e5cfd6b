"""Arrange the comparisons by the families that were corrected together."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from memoprobe.records import DEFAULT_POOL, Comparison
from memoprobe.report.data import PRIMARY_DEFINITION, PRIMARY_METRIC, ReportData, labelled
from memoprobe.report.tables import Column, Table

QUESTIONS = {
    "benchmark_advantage": "Which benchmarks stand out for a model?",
    "model_advantage": "Which models stand out on a benchmark?",
    "benchmark_spread": "Do the benchmarks of a task differ?",
    "task_difference": "Do two tasks differ across models?",
    "benchmark_correlation": "Do two benchmarks rank the models alike?",
    "memorization": "Do items differ from control items?",
    "version_difference": "Did a model's next version change?",
}
"""How a question of METHOD 5 is put to the reader; one without a row keeps its name."""

EFFECTS = {
    "mann_whitney": "Cliff's delta",
    "mean": "difference of means",
    "interaction": "double-centred mean",
    "wilcoxon": "rank-biserial correlation",
    "paired": "difference of differences",
    "paired_mean": "mean difference",
    "friedman": "Kendall's W",
    "kruskal_wallis": "epsilon squared",
    "paired_t": "mean difference",
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
}
"""Test -> the effect size that stands beside its p-value."""

_STUDY = frozenset({"mann_whitney", "kruskal_wallis", "paired_t", "pearson"})

COLUMNS = (
    Column("subject", "Subject"),
    Column("context", "Context"),
    Column("perturbation", "Perturbation"),
    Column("n_subject", "n", "count"),
    Column("n_rest", "n rest", "count"),
    Column("effect", "Effect [95 %]", "interval"),
    Column("statistic", "Statistic", "number"),
    Column("p_value", "p", "p"),
    Column("p_adjusted", "p adjusted", "p"),
    Column("p_holm", "p Holm", "p"),
    Column("p_bh", "p BH", "p"),
    Column("note", "Note"),
)
_FAMILY = (
    Column("question", "Question"),
    Column("test", "Test"),
    Column("definition", "Definition"),
    Column("metric", "Metric"),
    Column("pool", "Pool"),
    Column("family_size", "Family", "count"),
    Column("correction", "Correction"),
    Column("role", "Role"),
)


class Family(NamedTuple):
    """Hold comparisons that were corrected together."""

    question: str
    test: str
    definition: str
    metric: str
    pool: str
    size: int  # tests with a p-value
    primary: bool  # confirmatory; all others are exploratory
    correction: str | None
    rows: Sequence[Comparison]

    @property
    def title(self) -> str:
        """Return what the family is called within its question."""
        pool = "" if self.pool == DEFAULT_POOL else f" · {labelled(self.pool)}"
        study = " (the study's test)" if self.test in _STUDY else ""
        name = self.test.replace("_", " ")
        return f"{name}{study} · {self.definition.replace('_', ' ')} · {self.metric}{pool}"

    @property
    def aside(self) -> str:
        """Return what a reader of its p-values has to know."""
        role = "confirmatory" if self.primary else "exploratory"
        correction = f", adjusted by {self.correction}" if self.correction else ""
        effect = f"; effect: {EFFECTS[self.test]}" if self.test in EFFECTS else ""
        return f"{role}, family of {self.size}{correction}{effect}"


def families(data: ReportData) -> list[Family]:
    """Return the families by question, those of the primary definition and metric first."""
    return list(_families(data))


def _families(data: ReportData) -> Iterator[Family]:
    def key(row: Comparison) -> tuple[Any, ...]:
        asked = list(QUESTIONS).index(row.question) if row.question in QUESTIONS else len(QUESTIONS)
        secondary = (row.definition, row.metric, row.pool) != (
            PRIMARY_DEFINITION,
            PRIMARY_METRIC,
            DEFAULT_POOL,
        )
        return asked, row.question, secondary, row.test, row.definition, row.metric, row.pool

    for (_, question, secondary, test, definition, metric, pool), members in groupby(
        sorted(data.comparisons, key=key), key
    ):
        family = list(members)
        yield Family(
            question=question,
            test=test,
            definition=definition,
            metric=metric,
            pool=pool,
            size=sum(row.p_value is not None for row in family),
            primary=not secondary,
            correction=data.corrections.get((question, test)),
            rows=family,
        )


def values(row: Comparison) -> list[Any]:
    """Return a comparison's values under ``COLUMNS``."""
    effect = None if row.effect is None else (row.effect, row.effect_low, row.effect_high)
    shown = {"effect": effect, "perturbation": labelled(row.perturbation)}
    return [shown.get(column.key, getattr(row, column.key)) for column in COLUMNS]


def table(found: Sequence[Family], *, primary: bool = False) -> Table:
    """Return the comparisons of some families as one table, on request of the primary ones."""
    return Table(
        name="comparisons",
        title="Comparisons",
        columns=(*_FAMILY, *COLUMNS),
        rows=[
            [*_named(family), family.correction, _role(family), *values(row)]
            for family in found
            for row in family.rows
            if family.primary or not primary
        ],
    )


def _named(family: Family) -> list[object]:
    return [*family[:4], labelled(family.pool), family.size]


def _role(family: Family) -> str:
    return "confirmatory" if family.primary else "exploratory"


def as_data(found: Sequence[Family]) -> dict[str, Any]:
    """Return the families as the page's script reads them."""
    return {
        "columns": [[column.title, column.kind] for column in COLUMNS],
        "families": [[values(row) for row in family.rows] for family in found],
    }
