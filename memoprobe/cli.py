"""Parse options, call one function, print, set the exit code; nothing else."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import memoprobe
from memoprobe import benchmarks, study
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.examine import examine
from memoprobe.errors import ConfigError, EndpointDown, MemoprobeError
from memoprobe.pipeline import (
    asking,
    exporting,
    merging,
    planning,
    present,
    progress,
    settings,
)
from memoprobe.records import Interface, Task
from memoprobe.scoring import Unanswered
from memoprobe.store import open_store, results
from memoprobe.tables import aligned

app = typer.Typer(
    name="memoprobe",
    help=memoprobe.__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SLOTS_FAILED = 3
NOTHING_TO_COMPARE = "nothing to compare: one model on one benchmark without controls"

Database = Annotated[Path, typer.Argument(metavar="DB", help="A run database.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
StudyFile = Annotated[Path | None, typer.Argument(metavar="STUDY", help="A study file (TOML).")]


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


def _print(rows: Any, *, as_json: bool, columns: tuple[str, ...] = ()) -> None:  # noqa: ANN401
    typer.echo(json.dumps(rows, indent=2) if as_json else aligned(rows, columns))


def _warn(message: str | None) -> None:
    if message is not None:
        typer.echo(f"memoprobe: {message}", err=True)


@app.command()
def run(
    study_file: StudyFile = None,
    base_url: Annotated[list[str] | None, typer.Option(help="Where the model is served.")] = None,
    model: Annotated[str | None, typer.Option(help="The model, as the server calls it.")] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="A registered name, or a JSON Lines file with --task.")
    ] = None,
    task: Annotated[Task | None, typer.Option(help="The task of a JSON Lines file.")] = None,
    limit: Annotated[int | None, typer.Option(help="Samples a benchmark (all).")] = None,
    db: Annotated[Path | None, typer.Option(help="The run database (<study name>.db).")] = None,
    levels: Annotated[int | None, typer.Option(help="Perturbation levels above 0 (5).")] = None,
    answers: Annotated[int | None, typer.Option(help="Answers a repeat (3).")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repeats (3).")] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature (0.3).")] = None,
    top_p: Annotated[float | None, typer.Option(help="Nucleus sampling (0.5).")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest answer in tokens (1024).")] = None,
    max_in_flight: Annotated[
        int | None, typer.Option(help="Most open requests an endpoint (64).")
    ] = None,
    timeout_s: Annotated[float | None, typer.Option(help="Longest wait for a reply (600).")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of samples, variants and answers (0).")
    ] = None,
    interface: Annotated[
        Interface | None, typer.Option(help="How the model is asked (chat).")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the key.")
    ] = None,
    perturbation: Annotated[
        str | None, typer.Option(help="rename or lexical, not by kind of input.")
    ] = None,
    intensity: Annotated[
        Literal["share", "count"] | None, typer.Option(help="What a level counts (share).")
    ] = None,
    placebo: Annotated[bool | None, typer.Option(help="Ask a placebo as well.")] = None,
    retry_failed: Annotated[bool, typer.Option(help="Ask again what failed for good.")] = False,
) -> None:
    """Perturb, ask, store; resume what was stopped; then score and print the summary.

    Example: memoprobe run --base-url http://127.0.0.1:8000/v1 --model my-model
    --benchmark humaneval --limit 20
    """
    flags = dict(locals())
    chosen = study.from_flags(
        {name: value for name, value in flags.items() if name not in {"db", "retry_failed"}}
    )
    path = db or Path(f"{chosen.name}.db")
    show = progress.shower(sys.stderr)
    asked = asking.ask(chosen, path, retry_failed=retry_failed, show=show)
    if sys.stderr.isatty():
        typer.echo(err=True)
    for warning in (*asked.progress.hints, *asked.warnings):
        _warn(warning)
    if asked.signal is not None:
        answered = asked.progress.answered
        typer.echo(
            f"stopped; {answered} answers kept in {path}, the same command goes on", err=True
        )
        raise typer.Exit(128 + asked.signal)
    if asked.fault is not None:
        raise asked.fault
    _score(path)
    typer.echo(f"kept in {path}; for a page to read: memoprobe report {path}", err=True)
    if asked.failed:
        typer.echo(f"{asked.failed} answers failed: see `memoprobe status {path}`", err=True)
        raise typer.Exit(SLOTS_FAILED)


@app.command()
def plan(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")],
    db: Annotated[Path | None, typer.Option(help="A pilot run, which tells the spread.")] = None,
    sd: Annotated[float | None, typer.Option(help="Spread of the sensitivities.")] = None,
    tokens_per_second: Annotated[
        float | None, typer.Option(help="What a GPU writes, all its requests together.", min=0.001)
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a run would take; send nothing. Data that is not here is estimated.

    Example: memoprobe plan studies/paper.toml --tokens-per-second 1500
    """
    numbers = planning.numbers(study.load(study_file), db, sd, tokens_per_second)
    rows = [{"what": name, "number": value} for name, value in numbers.items()]
    _print(numbers if as_json else rows, as_json=as_json, columns=("what", "number"))


@app.command()
def status(db: Database, as_json: Json = False) -> None:
    """Show per model and benchmark what is done, failed, truncated and left.

    Example: memoprobe status memoprobe.db
    """
    with open_store(db, write=False) as store:
        _warn(present.empty(store))
        found = present.status(store)
    rows = [*found["cells"], {"model": "all", "benchmark": "", **found}]
    columns = ("model", "benchmark", *present.COUNTS, "failed")
    _print(found if as_json else rows, as_json=as_json, columns=columns)


@app.command()
def score(
    db: Database,
    metric: Annotated[list[str] | None, typer.Option(help="A metric; may be repeated.")] = None,
    unanswered: Annotated[
        Unanswered | None, typer.Option(help="What truncated and empty answers are (exclude).")
    ] = None,
    map_back: Annotated[
        bool | None,
        typer.Option("--map-back/--no-map-back", help="Give renamed names back theirs (yes)."),
    ] = None,
) -> None:
    """Score the stored answers, measure, compare and print the summary; ask nothing.

    Metrics and options hold for all answers, and are kept for the next time.

    Example: memoprobe score memoprobe.db --metric token_levenshtein
    """
    _score(db, metric or (), unanswered=unanswered, map_back=map_back)


def _score(db: Path, metrics: Sequence[str] = (), **options: Any) -> None:  # noqa: ANN401
    # SciPy takes a second to import, and asking must not wait for it.
    from memoprobe.pipeline import derive
    from memoprobe.report import summary

    with open_store(db, write=True, make=False) as store:
        derive.score(present.filled(store), metrics, **options)
        data = present.report_data(store, db.stem)
        hints = present.unreferenced(store)
    typer.echo(summary.text(summary.rows(data), data.comparisons))
    for hint in hints:
        _warn(hint)


@app.command()
def compare(db: Database, as_json: Json = False) -> None:
    """Compare benchmarks, models, and items with controls.

    Example: memoprobe compare memoprobe.db
    """
    with open_store(db, write=False) as store:
        _warn(present.unscored(store))
        nothing = present.empty(store) or NOTHING_TO_COMPARE
        rows = [asdict(row) for row in results.comparisons(store)]
        families = results.families(store)
    if not rows and not as_json:
        typer.echo(nothing)
        return
    if as_json:
        _print({"families": families, "rows": rows}, as_json=True)
        return
    for heading, family in present.by_family(families, rows):
        typer.echo(f"{heading}\n{aligned(family, present.COMPARED)}\n")


@app.command()
def report(
    db: Database,
    out: Annotated[Path, typer.Option("-o", "--out", help="The page.")] = Path("report.html"),
    figures: Annotated[Path | None, typer.Option(help="A folder for the figures.")] = None,
) -> None:
    """Write one self-contained HTML file, and the figures as PDF, SVG and PNG.

    Example: memoprobe report memoprobe.db -o report.html --figures figures
    """
    from memoprobe.report import page  # Altair takes a second to import

    with open_store(db, write=False) as store:
        _warn(present.unscored(present.filled(store)))
        data = present.report_data(store, db.stem)
    present.write(out, page.render(data))
    typer.echo(str(out))
    if figures is not None:
        for path in present.write_figures(data, figures):
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
        _warn(exporting.stale(store, table))
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
    _score(out)


@app.command("benchmarks")
def list_benchmarks(
    name: Annotated[str | None, typer.Argument(help="Show one.")] = None, as_json: Json = False
) -> None:
    """List the registered benchmark uses.

    Example: memoprobe benchmarks humaneval
    """
    rows = present.registry(name)
    if name is not None and not as_json:
        pairs = [{"what": key, "is": value} for key, value in rows[0].items()]
        _print(pairs, as_json=False, columns=("what", "is"))
        return
    _print(rows, as_json=as_json, columns=("name", "task", "languages", "rows", "available"))


@app.command("models")
def list_models(
    name: Annotated[str | None, typer.Argument(help="Show one.")] = None, as_json: Json = False
) -> None:
    """List the eight models of the study, and how to serve each.

    Example: memoprobe models qwen2.5-coder-14b
    """
    rows = present.models(name)
    if name is not None and not as_json:
        pairs = [{"what": key, "is": value} for key, value in rows[0].items()]
        _print(pairs, as_json=False, columns=("what", "is"))
        return
    columns = ("name", "hub_id", "parameters", "interface", "context", "licence")
    _print(rows, as_json=as_json, columns=columns)


@app.command()
def fetch(
    name: Annotated[list[str], typer.Argument(metavar="BENCHMARK...", help="Registered names.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="A local copy in its original layout.")
    ] = None,
) -> None:
    """Bring a benchmark's data, from the hub or a local copy, into the user's data folder.

    Example: memoprobe fetch humaneval --from human-eval/data
    """
    for each in name:
        fetched = benchmarks.fetch(benchmarks.find(each), source, settings.home())
        typer.echo(f"{each}: {fetched.n_rows} rows in {settings.home() / each}")


@app.command()
def check(
    base_url: Annotated[str, typer.Argument(metavar="BASE_URL", help="Where a server listens.")],
    model: Annotated[str | None, typer.Option(help="The model, as the server calls it.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the key.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find out what an endpoint is and can, with advice for each lack.

    Example: memoprobe check http://127.0.0.1:8000/v1
    """
    key = settings.key_of(api_key_env, "check")

    async def look() -> list[Any]:
        async with Client(base_url=base_url, api_key=key) as client:
            try:
                return await examine(client, model)
            except EndpointDown as error:  # nobody has seen it work: the address is in doubt
                raise ConfigError(str(error)) from error

    findings = [asdict(finding) for finding in asyncio.run(look())]
    for finding in findings:
        finding["advice"] = "" if finding["ok"] else finding["advice"]
    _print(findings, as_json=as_json, columns=("name", "ok", "detail", "advice"))


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
