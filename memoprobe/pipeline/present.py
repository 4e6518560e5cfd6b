"""Gather what the terminal and the report show."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from memoprobe import benchmarks, perturbations, prompts
from memoprobe.errors import ConfigError, StoreError
from memoprobe.models import MODELS
from memoprobe.models import find as find_model
from memoprobe.pipeline import settings
from memoprobe.pipeline.asking import read_benchmark
from memoprobe.pipeline.examples import WITHHELD as WITHHELD
from memoprobe.pipeline.examples import choose
from memoprobe.pipeline.examples import is_shown as is_shown
from memoprobe.pipeline.perturbing import variants_of
from memoprobe.records import Sample, Sensitivity
from memoprobe.report.data import PRIMARY_DEFINITION, SHOWN, ReportData, is_changed, labelled
from memoprobe.report.data import Cell as ReportCell
from memoprobe.store import Store, counts, detections, meaning, results
from memoprobe.store.database import Cell
from memoprobe.store.results import Treatment
from memoprobe.study import BenchmarkSpec, Study
from memoprobe.tables import shown

COMPARED = (
    "subject",
    "context",
    "n_subject",
    "n_rest",
    "p_value",
    "p_adjusted",
    "effect",
    "95 %",
)
"""The columns of a comparison on a terminal."""

DETECTED = ("detector", "n_items", "n_controls", "items", "controls", "auc", "95 %", "found")
"""The columns of how well detectors tell items from controls, on a terminal."""

COUNTS = ("planned", "answered", "truncated", "empty", "left")


def status(store: Store) -> dict[str, Any]:
    """Return the state of a run in the shape of ``status --json``."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in counts.status(store):
        name = {"model": row["model"], "benchmark": row["benchmark"]}
        cell = cells.setdefault((row["model"], row["benchmark"]), {**name, **_nothing()})
        _add(cell if row["probe"] == "answers" else cell["likelihoods"], row)
    total = _nothing()
    for cell in cells.values():
        _add(total, cell)
        _add(total["likelihoods"], cell["likelihoods"])
    return {**total, "cells": list(cells.values())}


LIKELIHOOD_COUNTS = ("planned", "answered", "left")


def _nothing() -> dict[str, Any]:
    return {
        **dict.fromkeys(COUNTS, 0),
        "failed": defaultdict(int),
        "likelihoods": {**dict.fromkeys(LIKELIHOOD_COUNTS, 0), "failed": defaultdict(int)},
    }


def _add(total: dict[str, Any], row: Mapping[str, Any]) -> None:
    for name in COUNTS:
        if name in total:
            total[name] += row[name]
    for kind, n in row["failed"].items():
        total["failed"][kind] += n


def status_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a state as rows of a table: likelihoods, where any are planned, on their own."""
    cells = [*found["cells"], {**found, "model": "all", "benchmark": ""}]
    rows = []
    for cell in cells:
        asked = cell["likelihoods"]
        name = {"model": cell["model"], "benchmark": cell["benchmark"]}
        if cell["planned"] or not asked["planned"]:
            rows.append({**name, "probe": "answers", **cell})
        if asked["planned"]:
            rows.append({**dict.fromkeys(COUNTS), **name, "probe": "likelihood", **asked})
    return rows


def empty(store: Store) -> str | None:
    """Return a warning where nothing is planned yet, as after a run that stopped at once."""
    if store.plans():
        return None
    return f"{store.path}: nothing is stored in it yet: start its `memoprobe run` again"


def filled(store: Store) -> Store:
    """Return a run database in which there is something to show.

    Raises:
        StoreError: There is nothing in it yet.
    """
    if (message := empty(store)) is not None:
        raise StoreError(message)
    return store


def unscored(store: Store) -> str | None:
    """Return a warning where the results are not of what is stored now, None where they are."""
    revision = results.revision(store)
    if revision.facts == revision.results:
        return empty(store)
    return (
        "what is stored is not scored yet, and results are of an earlier state:"
        f" run `memoprobe score {store.path}`"
    )


def unreferenced(store: Store) -> list[str]:
    """Return a sentence for each benchmark with samples that are scored against themselves."""
    answered = {plan.cell.benchmark for plan in store.plans("answers")}
    counts = Counter(
        sample.benchmark
        for sample in store.samples()
        if sample.reference is None and sample.benchmark in answered
    )
    return [
        f"{benchmark}: {n} of its samples have no reference; their answers are compared with the"
        " model's own level-0 answers, which shows a fall and no recall"
        for benchmark, n in sorted(counts.items())
    ]


def unmatched(store: Store) -> list[str]:
    """Return a sentence for each task whose controls have another number of references."""
    numbers: dict[str, dict[bool, set[int]]] = {}
    for sample in store.samples():
        sides = numbers.setdefault(sample.task, {True: set(), False: set()})
        sides[sample.control] |= {len(sample.references)} - {0}
    return [
        f"{task}: items are measured by the nearest of {_counts(sides[False])} references and"
        f" controls by that of {_counts(sides[True])}, so they are set against each other by"
        " tests alone; give controls as many references"
        for task, sides in sorted(numbers.items())
        if sides[True] and sides[False] - sides[True]
    ]


def _counts(numbers: Collection[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))


def report_data(store: Store, title: str, *, examples: bool = True) -> ReportData:
    """Return everything a report shows, on request without samples in full."""
    samples = {(s.benchmark, s.sample_id): s for s in store.samples()}
    sensitivities = results.sensitivities(store, definitions=SHOWN)
    info = store.info()
    treatment, others = _treatments(store)
    return ReportData(
        title=title,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        info=info,
        cells=list(_cells(store, samples)),
        controls=frozenset(key for key, sample in samples.items() if sample.control),
        sensitivities=sensitivities,
        curves=results.curves(store),
        comparisons=results.comparisons(store),
        examples=list(choose(store, samples, sensitivities)) if examples else (),
        corrections=results.corrections(store),
        treatment=treatment,
        treated_otherwise=others,
        clusters={
            key: sample.cluster for key, sample in samples.items() if sample.cluster is not None
        },
        meaning=meaning.checks(store),
        detections=detections.read(store),
        likelihoods=counts.status(store, "likelihood"),
    )


def _treatments(store: Store) -> tuple[Treatment, list[Sensitivity]]:
    """Return how what was not answered is treated, and the falls under the other treatment."""
    if results.treatments(store) == ("both",):
        return "both", []
    current: Treatment = "zero" if store.info().get("unanswered") == "zero" else "exclude"
    other: Treatment = "exclude" if current == "zero" else "zero"
    return current, results.sensitivities(store, other, definitions=[PRIMARY_DEFINITION])


def _cells(store: Store, samples: Mapping[tuple[str, str], Sample]) -> Iterator[ReportCell]:
    tasks = {benchmark: sample.task for (benchmark, _), sample in samples.items()}
    measured = results.cell_results(store)
    rejected = counts.rejected(store)
    shares = counts.edit_shares(store)
    planned = {_cell_of(row): row for row in counts.status(store, "answers")}
    for row in counts.status(store, "likelihood"):
        # Of a cell without answers; the likelihoods have a table of their own.
        sizes = {name: row[name] for name in ("samples", "controls")}
        planned.setdefault(_cell_of(row), {**_nothing(), **sizes})
    for cell, row in sorted(planned.items()):
        mine = {metric: result for (each, metric), result in measured.items() if each == cell}
        if cell.benchmark not in tasks:
            continue
        yield ReportCell(
            **cell._asdict(),
            task=tasks[cell.benchmark],
            n_samples=row["samples"],
            n_controls=row["controls"],
            planned=row["planned"],
            answered=row["answered"],
            truncated=row["truncated"],
            empty=row["empty"],
            failed=row["failed"],
            excluded=max((result.excluded for result in mine.values()), default=0),
            rejected=rejected.get((cell.benchmark, cell.perturbation), {}),
            floor={metric: result.floor for metric, result in mine.items()},
            edit_shares=shares.get((cell.benchmark, cell.perturbation), {}),
        )


def _cell_of(row: Mapping[str, Any]) -> Cell:
    return Cell(row["model"], row["benchmark"], row["perturbation"])


def example(name: str) -> str | None:
    """Return one item of a benchmark as a model meets it, at levels 0 and 5.

    None where its data was not fetched.
    """
    registered = benchmarks.find(name)
    if not benchmarks.is_available(registered, settings.home()):
        return None
    spec = BenchmarkSpec(name=name, limit=1)
    loaded = read_benchmark(spec, 0)
    if not loaded.samples:
        return f"no sample: {loaded.skipped}"
    sample = loaded.samples[0]
    if not is_shown(name):
        return f"{sample.sample_id}: {WITHHELD}"
    usual = perturbations.DEFAULT[sample.input_kind]
    try:
        levels = variants_of(Study(), sample, usual).variants
    except ConfigError as error:  # its language cannot be perturbed
        return f"{sample.sample_id}: {error}"
    ends = levels if len(levels) == 1 else (levels[0], levels[-1])
    parts = [
        f"--- {sample.sample_id}, {each.perturbation} level {each.level}\n"
        + prompts.fill(sample, each.text, "chat")
        for each in ends
    ]
    return "\n\n".join([*parts, f"--- reference\n{sample.reference or 'none'}"])


def families(store: Store) -> list[dict[str, Any]]:
    """Return the families in the shape of ``compare --json``."""
    return [
        {**family, "changes_meaning": is_changed(family["perturbation"])}
        for family in results.families(store)
    ]


def by_family(
    families: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (heading, its tests) per family, the confirmatory ones first."""
    for family in sorted(families, key=lambda each: not each["primary"]):
        role = "confirmatory" if family["primary"] else "exploratory"
        heading = (
            f"{family['question']} · {family['test']} · {family['definition']} · {family['metric']}"
            f" · {labelled(family['perturbation'])} ({role}, {family['size']} tests,"
            f" {family['correction']})"
        )
        mine = [
            {**row, "95 %": f"[{shown(row['effect_low'])}, {shown(row['effect_high'])}]"}
            for row in rows
            if all(
                row[name] == family[name] for name in ("question", "test", "definition", "metric")
            )
            and row["pool"] == family["perturbation"]
        ]
        yield heading, mine


def by_cell(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (heading, its detectors) per model, benchmark and perturbation."""
    place = itemgetter("model", "benchmark", "perturbation")
    for (model, benchmark, perturbation), same in groupby(rows, place):
        yield (
            f"detectors side by side · {model} · {benchmark} · {perturbation}",
            [
                {**row, "95 %": f"[{shown(row['auc_low'])}, {shown(row['auc_high'])}]"}
                for row in same
            ],
        )


def registry(name: str | None) -> list[dict[str, Any]]:
    """Return the registered benchmark uses in the shape of ``benchmarks --json``."""
    chosen = benchmarks.BENCHMARKS.values() if name is None else [benchmarks.find(name)]
    home = settings.home()
    shown = [
        field.name
        for field in fields(benchmarks.Benchmark)
        if field.name not in {"read", "sample", "hub", "private", "several", "characters"}
    ]
    return [
        {
            **{key: getattr(each, key) for key in shown},
            "hub_id": each.hub and each.hub.id,
            "available": benchmarks.is_available(each, home),
        }
        for each in chosen
    ]


def models(name: str | None) -> list[dict[str, Any]]:
    """Return the registered models in the shape of ``models --json``."""
    chosen = MODELS.values() if name is None else [find_model(name)]
    shown = ("name", "hub_id", "parameters", "interface", "context", "licence", "gated", "serve")
    return [{key: getattr(each, key) for key in shown} for each in chosen]


def write_beside(
    data: ReportData,
    *,
    figures: Path | None = None,
    markdown: Path | None = None,
    csv: Path | None = None,
) -> Iterator[Path]:
    """Write what is wanted beside a report and yield the paths.

    Args:
        data: What the report is made of.
        figures: The folder of the charts.
        markdown: The file of the tables as Markdown.
        csv: The folder of the tables as CSV, in full precision.

    Raises:
        ConfigError: They cannot be written.
    """
    from memoprobe.report import figures as charts  # Altair takes a second to import
    from memoprobe.report import files

    if markdown is not None:
        write(markdown, files.markdown(data))
        yield markdown
    for folder, write_all, what in (
        (figures, charts.write, "figures"),
        (csv, files.write_csv, "tables"),
    ):
        if folder is not None:
            try:
                yield from write_all(data, folder)
            except OSError as error:
                msg = f"{folder}: {what} cannot be written: {error.strerror or error}"
                raise ConfigError(msg) from error


def write(path: Path, text: str) -> None:
    """Write a file of the user's choice.

    Raises:
        ConfigError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror}"
        raise ConfigError(msg) from error
