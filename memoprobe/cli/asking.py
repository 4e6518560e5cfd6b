"""The commands that ask, or say what asking would take."""

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memoprobe import plan as parts
from memoprobe import study
from memoprobe.cli.app import Json, StudyFile, app, show, warn
from memoprobe.cli.results import summarize
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.examine import examine
from memoprobe.errors import ConfigError, EndpointDown
from memoprobe.pipeline import asking, planning, progress, settings
from memoprobe.records import Interface, Task

SLOTS_FAILED = 3


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
    probe: Annotated[
        Literal["answers", "likelihood", "both"] | None,
        typer.Option(help="Ask for answers, or how likely the references are (answers)."),
    ] = None,
    greedy: Annotated[
        bool | None, typer.Option(help="Ask an answer a sample at temperature 0 too, for CDD.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="Only this part of the samples, as 2/8: see `merge`.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="Ask again what failed for good.")] = False,
) -> None:
    """Perturb, ask, store; resume what was stopped; then score and print the summary.

    Example: memoprobe run --base-url http://127.0.0.1:8000/v1 --model my-model
    --benchmark humaneval --limit 20
    """
    flags = dict(locals())
    chosen = study.from_flags(
        {
            name: value
            for name, value in flags.items()
            if name not in {"db", "retry_failed", "shard"}
        }
    )
    part = None if shard is None else parts.shard(shard)
    path = db or Path(f"{chosen.name}.db")
    shower = progress.shower(sys.stderr)
    asked = asking.ask(chosen, path, retry_failed=retry_failed, show=shower, shard=part)
    if sys.stderr.isatty():
        typer.echo(err=True)
    for warning in asked.warnings:
        warn(warning)
    if asked.signal is not None:
        kept = f"{asked.progress.answered} {asked.progress.unit} kept in {path}"
        typer.echo(f"stopped; {kept}, the same command goes on", err=True)
        raise typer.Exit(128 + asked.signal)
    if asked.fault is not None:
        raise asked.fault
    if part is not None and not asked.n_samples:
        warn(f"no sample is of the part {shard}: nothing was to be asked")
        return
    summarize(path)
    typer.echo(f"kept in {path}; for a page to read: memoprobe report {path}", err=True)
    if asked.failed:
        what = {"answers": "answers", "likelihood": "likelihoods"}.get(chosen.probe, "slots")
        typer.echo(f"{asked.failed} {what} failed: see `memoprobe status {path}`", err=True)
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
    show(numbers if as_json else rows, as_json=as_json, columns=("what", "number"))


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
    show(findings, as_json=as_json, columns=("name", "ok", "detail", "advice"))
