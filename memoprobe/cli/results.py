"""The commands that show, score and write what is stored."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memoprobe.cli.app import Database, Json, app, show, warn
from memoprobe.ownfile import is_own
from memoprobe.pipeline import exporting, merging, present, viewing
from memoprobe.scoring import Unanswered
from memoprobe.store import detections, open_store
from memoprobe.store import results as stored
from memoprobe.tables import aligned
from memoprobe.workers import Backend, Pool, connected

NOTHING_TO_COMPARE = "nothing to compare: one model on one benchmark without controls"


@app.command()
def status(db: Database, as_json: Json = False) -> None:
    """Show per model and benchmark what is done, failed, truncated and left.

    Example: memoprobe status memoprobe.db
    """
    with open_store(db, write=False) as store:
        warn(present.empty(store))
        found = present.status(store)
    probe = ("probe",) if found["likelihoods"]["planned"] else ()
    columns = ("model", "benchmark", *probe, *present.COUNTS, "failed")
    rows = present.status_rows(found)
    show(found if as_json else rows, as_json=as_json, columns=columns)


@app.command()
def score(
    db: Database,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric, or FILE.py:FUNCTION; may be repeated.")
    ] = None,
    unanswered: Annotated[
        Unanswered | None, typer.Option(help="What truncated and empty answers are (exclude).")
    ] = None,
    map_back: Annotated[
        bool | None,
        typer.Option("--map-back/--no-map-back", help="Give renamed names back theirs (yes)."),
    ] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run tests as yourself, without a wall.")
    ] = False,
    backend: Annotated[Backend, typer.Option(help="Who shares the work.")] = "loky",
    jobs: Annotated[int, typer.Option(help="Processes; 0 is one a core.", min=0)] = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="A Dask or Ray cluster's address (start workers here).")
    ] = None,
) -> None:
    """Score the stored answers, measure, compare and print the summary; ask nothing.

    Metrics and options hold for all answers, and are kept for the next time.

    Example: memoprobe score memoprobe.db --metric token_levenshtein
    """
    pool = Pool(backend, jobs, scheduler)
    options = {"unanswered": unanswered, "map_back": map_back, "pool": pool, "unsafe": unsafe}
    with connected(pool):
        summarize(db, metric or (), **options)


def summarize(db: Path, metrics: Sequence[str] = (), **options: Any) -> None:  # noqa: ANN401
    """Score what is stored and print the summary."""
    # SciPy takes a second to import, and asking must not wait for it.
    from memoprobe.pipeline import derive
    from memoprobe.report import terminal

    with open_store(db, write=True, make=False) as store:
        derived = derive.score(present.filled(store), metrics, **options)
        data = present.report_data(store, db.stem, examples=False)
        hints = [*present.unreferenced(store), *present.unmatched(store)]
    typer.echo(terminal.text(data))
    if derived.untested is not None:
        warn(f"the answers' tests were not run: {derived.untested}")
    for name in derived.remade:
        since = "its file changed" if is_own(name) else "its values changed with this memoprobe"
        warn(f"{name}: {since}; it was scored again")
    for name in derived.lost:
        warn(f"{name}: its file is not there, so no new scores by it; give it again with --metric")
    for hint in hints:
        warn(hint)


@app.command()
def compare(db: Database, as_json: Json = False) -> None:
    """Compare benchmarks, models, items with controls, and detectors of memorization.

    Example: memoprobe compare memoprobe.db
    """
    with open_store(db, write=False) as store:
        warn(present.unscored(store))
        nothing = present.empty(store) or NOTHING_TO_COMPARE
        rows = [asdict(row) for row in stored.comparisons(store)]
        families = present.families(store)
        found = [asdict(row) for row in detections.read(store)]
    if as_json:
        show({"families": families, "rows": rows, "detections": found}, as_json=True)
        return
    if not rows and not found:
        typer.echo(nothing)
    for heading, family in present.by_family(families, rows):
        typer.echo(f"{heading}\n{aligned(family, present.COMPARED)}\n")
    for heading, cell in present.by_cell(found):
        typer.echo(f"{heading}\n{aligned(cell, present.DETECTED)}\n")


@app.command()
def report(
    db: Database,
    out: Annotated[Path, typer.Option("-o", "--out", help="The page.")] = Path("report.html"),
    figures: Annotated[Path | None, typer.Option(help="A folder for the figures.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="A file for the tables.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="A folder for the tables.")] = None,
) -> None:
    """Write one self-contained HTML file; figures as PDF, SVG and PNG; tables for papers.

    Example: memoprobe report memoprobe.db -o report.html --figures figures
    """
    from memoprobe.report import page  # Altair takes a second to import

    with open_store(db, write=False) as store:
        warn(present.unscored(present.filled(store)))
        data = present.report_data(store, db.stem)
    present.write(out, page.render(data))
    typer.echo(str(out))
    for path in present.write_beside(data, figures=figures, markdown=markdown, csv=csv):
        typer.echo(str(path))


@app.command()
def export(
    db: Database,
    table: Annotated[str, typer.Option(help="A table or view.")] = "scores",
    form: Annotated[
        Literal["csv", "jsonl", "parquet"], typer.Option("--format", help="Of the output.")
    ] = "csv",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A file.")] = None,
) -> None:
    """Write any table, streamed, to standard output or a file.

    Example: memoprobe export memoprobe.db --table responses --format jsonl > responses.jsonl
    """
    with open_store(db, write=False) as store:
        warn(exporting.stale(store, table))
        exporting.export(store, table, form, out)


@app.command()
def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="DB...", help="Run databases.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The database to make.")],
) -> None:
    """Merge databases of several machines into one; contradictions are an error.

    Example: memoprobe merge node1.db node2.db -o all.db
    """
    merging.merge(sources, out)
    summarize(out)


@app.command()
def view(
    db: Database,
    host: Annotated[str, typer.Option(help="Who may connect: an address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free one.", min=0, max=65535)] = 8001,
    opens: Annotated[bool, typer.Option("--open", help="Open a browser.")] = False,
) -> None:
    """Serve every answer, level and score as pages with prepared queries (extra `view`).

    Example: memoprobe view memoprobe.db --open
    """
    with open_store(db, write=False) as store:
        warn(present.empty(store))
    raise typer.Exit(viewing.serve(db, host, port, opens=opens))
