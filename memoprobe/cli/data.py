"""The commands about benchmarks and models."""

from pathlib import Path
from typing import Annotated

import typer

from memoprobe.cli.app import Json, app, show, show_one, warn
from memoprobe.pipeline import fetching, present


@app.command("benchmarks")
def list_benchmarks(
    name: Annotated[str | None, typer.Argument(help="Show one.")] = None, as_json: Json = False
) -> None:
    """List the registered benchmark uses.

    Example: memoprobe benchmarks humaneval
    """
    rows = present.registry(name)
    if name is not None and not as_json:
        show_one(rows[0])
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
