"""The command that shows the whole path."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from memoprobe.cli.app import app
from memoprobe.pipeline import progress


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="A folder for its files.")] = Path("memoprobe-demo"),
    seed: Annotated[int, typer.Option(help="Which half the model has seen, and all else.")] = 0,
) -> None:
    """Show the whole path on an embedded model: no GPU, no network, no key, about a minute.

    Example: memoprobe demo
    """
    from memoprobe.demo import show  # its corpus and model are nobody else's business

    for text in show.run(out, seed, progress.shower(sys.stderr)):
        if sys.stderr.isatty():
            typer.echo("\r\033[K", nl=False, err=True)
        typer.echo(text)
