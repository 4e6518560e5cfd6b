"""The commands that show the probe at work on a model whose training is known."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from memoprobe.cli.app import Json, app, show
from memoprobe.pipeline import progress


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="A folder for its files.")] = Path("memoprobe-demo"),
    seed: Annotated[int, typer.Option(help="Of the items that are asked, and all else.")] = 0,
) -> None:
    """Show the whole path on an embedded model: no GPU, no network, no key, about a minute.

    Example: memoprobe demo
    """
    from memoprobe.demo import show as demonstration  # its model is nobody else's business

    for text in demonstration.run(out, seed, progress.shower(sys.stderr)):
        if sys.stderr.isatty():
            typer.echo("\r\033[K", nl=False, err=True)
        typer.echo(text)


@app.command()
def calibrate(
    out: Annotated[Path, typer.Option(help="A folder for its files.")] = Path(
        "memoprobe-calibration"
    ),
    weights: Annotated[
        Path | None,
        typer.Option(help="A folder of models that you trained yourself (those of the package)."),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Of a model; may be repeated (all in the folder).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Items of each number of copies, for a quick look.", min=2)
    ] = None,
    as_json: Json = False,
) -> None:
    """Probe models of known membership: what is detected, and at what error rates.

    Writes validity.md with its drawings and every figure; stopped, the same command goes on.

    Example: memoprobe calibrate --out calibration
    """
    from memoprobe.calibration import writing  # SciPy and Altair take seconds to import

    found = writing.run(out, weights, seed, limit, progress.shower(sys.stderr))
    if sys.stderr.isatty():
        typer.echo(err=True)
    if as_json:
        show(found.as_json, as_json=True)
    else:
        typer.echo(f"{found.summary}\n\nThe page: {out / writing.PAGE}")
