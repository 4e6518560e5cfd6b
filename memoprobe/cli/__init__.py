"""Parse options, call one function, print, set the exit code; nothing else."""

import io
import os
import sys

import typer

from memoprobe.cli import asking, data, inspecting, results, showing
from memoprobe.cli.app import app
from memoprobe.errors import MemoprobeError

__all__ = ["app", "asking", "data", "inspecting", "main", "results", "showing"]

# In the order in which a newcomer needs them.
_ORDER = (
    "demo benchmarks models fetch fresh perturb check plan run status score compare report view"
    " export"
)
app.registered_commands.sort(
    key=lambda each: _ORDER.find(str(each.name or getattr(each.callback, "__name__", ""))) % 1000
)


def main() -> None:
    """Run the command line; what a user or a server can cause ends in one message."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # ids may hold what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(standalone_mode=True)
    except MemoprobeError as error:
        typer.echo(f"memoprobe: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("memoprobe: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone; Python must not complain while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
