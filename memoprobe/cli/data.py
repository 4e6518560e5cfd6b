"""The commands about benchmarks and models."""

import json
from pathlib import Path
from typing import Annotated

import typer

from memoprobe.benchmarks import fresh
from memoprobe.cli.app import Json, app, show, show_one, warn
from memoprobe.pipeline import fetching, present
from memoprobe.records import Task


@app.command("benchmarks")
def list_benchmarks(
    name: Annotated[str | None, typer.Argument(help="Show one.")] = None, as_json: Json = False
) -> None:
    """List the registered benchmark uses; of one show an item as a model meets it.

    Example: memoprobe benchmarks humaneval
    """
    rows = present.registry(name)
    if name is not None and not as_json:
        show_one(rows[0])
        typer.echo(f"\n{present.example(name) or f'no data yet: memoprobe fetch {name}'}")
        return
    show(rows, as_json=as_json, columns=("name", "task", "languages", "rows", "available"))


@app.command("models")
def list_models(
    name: Annotated[str | None, typer.Argument(help="Show one.")] = None, as_json: Json = False
) -> None:
    """List the eight models of the study, and how to serve each.

    Example: memoprobe models qwen2.5-coder-14b
    """
    rows = present.models(name)
    if name is not None and not as_json:
        show_one(rows[0])
        return
    columns = ("name", "hub_id", "parameters", "interface", "context", "licence")
    show(rows, as_json=as_json, columns=columns)


@app.command()
def fetch(
    name: Annotated[list[str], typer.Argument(metavar="BENCHMARK...", help="Registered names.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="A local copy in its original layout.")
    ] = None,
) -> None:
    """Bring a benchmark's data, from the hub or a local copy, into the user's data folder.

    Tells how many rows were read and used, and why the others are not. A fetch that fails
    leaves the data that were there before.

    Example: memoprobe fetch humaneval --from human-eval/data
    """
    failure = fetching.fetch(name, source, say=typer.echo, warn=warn)
    if failure is not None:
        raise typer.Exit(failure.exit_code)


@app.command("fresh")
def make_fresh(
    out: Annotated[Path, typer.Option("-o", "--out", help="The JSON Lines file to make.")],
    task: Annotated[Task, typer.Option(help="code_generation or program_repair.")],
    number: Annotated[int, typer.Option("-n", "--number", help="Items.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Which items.")] = 0,
) -> None:
    """Make items that no model can have seen, with references and tests, as controls.

    A seed that was published is fresh no more: choose one of your own.

    Example: memoprobe fresh --task code_generation --number 200 --seed 8241 -o fresh.jsonl
    """
    rows = "".join(json.dumps(row) + "\n" for row in fresh.rows(task, number, seed))
    present.write(out, rows)
    typer.echo(f"{out}: {number} items; name it in a study with task = {task!r}")
