"""The command that shows what a perturbation does."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memoprobe import study
from memoprobe.cli.app import Json, app, show, warn
from memoprobe.errors import ConfigError
from memoprobe.pipeline import inspecting, meaning
from memoprobe.records import Task
from memoprobe.store import open_store
from memoprobe.study import Study
from memoprobe.tables import aligned


@app.command()
def perturb(
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="A registered name, or a JSON Lines file.")
    ],
    sample: Annotated[str | None, typer.Option(help="The id of the sample to show.")] = None,
    stats: Annotated[bool, typer.Option("--stats", help="Show a table per level instead.")] = False,
    perturbation: Annotated[
        str | None, typer.Option(help="By name; otherwise that of the kind of text.")
    ] = None,
    task: Annotated[Task | None, typer.Option(help="The task of a JSON Lines file.")] = None,
    limit: Annotated[int | None, typer.Option(help="Samples at most (all).")] = None,
    levels: Annotated[
        int | None, typer.Option(help="Levels above 0 (5).", min=1, max=study.MOST_LEVELS)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of samples and variants (0).")] = None,
    intensity: Annotated[
        Literal["share", "count"] | None, typer.Option(help="What a level counts (share).")
    ] = None,
    study_file: Annotated[
        Path | None, typer.Option("--study", help="Take all that is not given from a study file.")
    ] = None,
    tests: Annotated[
        bool, typer.Option(help="For --stats run the perturbed references against their tests.")
    ] = True,
    db: Annotated[Path | None, typer.Option(help="Show what a run has stored.")] = None,
    as_json: Json = False,
) -> None:
    """Show the levels of a sample as differences with their edit shares, or figures over all.

    Example: memoprobe perturb mbpp --sample 601
    """
    if (sample is None) == (not stats):
        msg = "give either --sample ID or --stats"
        raise ConfigError(msg)
    base = Study() if study_file is None else study.load(study_file)
    chosen = replace(
        base,
        levels=base.levels if levels is None else levels,
        seed=base.seed if seed is None else seed,
        intensity=intensity or base.intensity,
    )
    rejected: dict[str, dict[str, int]] = {}
    rates = None
    if db is not None:
        with open_store(db, write=False) as store:
            found = list(inspecting.stored(store, benchmark, perturbation, sample))
            rejected = inspecting.turned_down(store, benchmark)
            rates = meaning.stored_rates(store)
    else:
        spec = inspecting.spec_of(base, benchmark, task, limit)
        found = list(inspecting.made(chosen, spec, perturbation, sample))
    if stats:
        rates = rates or meaning.rates_of(meaning.Way(study=chosen, walled=_can_run(tests)))
        _show_figures(inspecting.figures(found, chosen.levels, rejected, rates), as_json=as_json)
    elif as_json:
        show([inspecting.as_json(each) for each in found], as_json=True)
    else:
        coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        for each in found:
            typer.echo(inspecting.as_text(each, coloured=coloured))


def _can_run(wanted: bool) -> bool:
    why_not = meaning.why_not() if wanted else None
    if why_not is not None:
        warn(f"the references were not run against their tests: {why_not}")
    return wanted and why_not is None


def _show_figures(figures: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        show(figures, as_json=True)
        return
    for figure in figures:
        table = aligned(figure["rows"], inspecting.COLUMNS)
        typer.echo(f"{inspecting.heading(figure)}\n{table}\n")
