"""Hold the application, and what its commands share."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import memoprobe
from memoprobe.tables import aligned

app = typer.Typer(
    name="memoprobe",
    help=memoprobe.__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Database = Annotated[Path, typer.Argument(metavar="DB", help="A run database.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
StudyFile = Annotated[Path | None, typer.Argument(metavar="STUDY", help="A study file (TOML).")]


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"memoprobe {memoprobe.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=lambda asked: _version(asked=asked), is_eager=True)
    ] = False,
) -> None:
    """Find out how much of a code LLM's benchmark score is learned and how much is memorized."""


def show(rows: Any, *, as_json: bool, columns: tuple[str, ...] = ()) -> None:  # noqa: ANN401
    """Print rows as JSON or as a table."""
    typer.echo(json.dumps(rows, indent=2) if as_json else aligned(rows, columns))


def show_one(row: dict[str, Any]) -> None:
    """Print one row, a line a column."""
    pairs = [{"what": key, "is": value} for key, value in row.items()]
    show(pairs, as_json=False, columns=("what", "is"))


def warn(message: str | None) -> None:
    """Print a message to stderr, if there is one."""
    if message is not None:
        typer.echo(f"memoprobe: {message}", err=True)
