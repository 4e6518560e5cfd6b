"""Write the generated pages of ``docs/``: run as ``python -m tests.docs``."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer.main
from typer.cli import get_docs_for_click

from memoprobe import cli, models
from memoprobe.calibration import page, record, writing
from memoprobe.store import open_store, results

ROOT = Path(__file__).parents[1]

TABLES = {
    "samples": "The benchmark items that are asked; an edited one replaces its older self here.",
    "variants": "Each sample's text at each level of a perturbation; rename_map is JSON.",
    "prompts": "What was sent at each level, once for all answers and models that share it.",
    "responses": "One row an answered slot; `state` says whether it is an answer.",
    "failures": "One row a slot that got nothing usable; replaced by a response.",
    "scores": "Performance of each answer by each metric; `rule` is how the answer was selected.",
    "curves": "Mean performance of each sample at each level.",
    "sensitivities": "How far each sample's performance falls, by each definition.",
    "comparisons": "Each test of a subject against the rest.",
    "likelihoods": "How likely each sample's reference is at each level, in nats; `tokens` is each"
    " token's at level 0, as little-endian float32 in hexadecimal digits.",
    "detections": "How well each detector tells a cell's items from the controls.",
    "families": "Which of those tests were corrected together.",
    "meaning_checks": "Of how many samples the perturbed code still does what it did; level 0 tells"
    " whose unperturbed code passes, and only those count above.",
    "run_info": "Versions, settings, servers, fingerprints of the data; JSON where it has parts.",
}


def cli_page() -> str:
    """Return the page of the commands."""
    command = typer.main.get_command(cli.app)
    context = typer.Context(command)
    text = get_docs_for_click(obj=command, ctx=context, name="memoprobe")
    return f"{text.strip()}\n"


def schema_page() -> str:
    """Return the page of the run database's tables."""
    lines = [
        "# The run database",
        "",
        "One SQLite file. These tables and views are made for readers and keep their names and",
        "columns; tables that end in `_rows` are storage and may change.",
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "run.db", write=True) as store,
    ):
        for table in results.tables(store):
            lines += ["", f"## {table}", "", TABLES[table], "", "| column | type |", "|---|---|"]
            types = results.column_types(store, table)
            lines += [f"| {name} | {kind or 'REAL'} |" for name, kind in types.items()]
    return "\n".join(lines) + "\n"


def validity_page() -> str:
    """Return the page of the calibration that was run last; its figures are kept beside it."""
    return page.render(record.read(ROOT / "docs" / writing.FIGURES))


PAGES: dict[str, Callable[[], str]] = {
    "docs/cli.md": cli_page,
    "docs/schema.md": schema_page,
    f"docs/{writing.PAGE}": validity_page,
    **{
        f"docker/models/{model.name}.env": partial(models.env, model)
        for model in models.MODELS.values()
    },
}


if __name__ == "__main__":
    for name, written in PAGES.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(written(), encoding="utf-8")
