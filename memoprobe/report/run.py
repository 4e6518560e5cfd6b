"""Tell in words and tables what was run, from what the database noted of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memoprobe.report.data import ReportData, labelled
from memoprobe.report.tables import Column, Table
from memoprobe.report.text import counts

_UNANSWERED = {
    "exclude": "left out of all means",
    "zero": "scored 0",
    "both": "nothing: every planned answer came",
}


def tables(data: ReportData) -> list[Table]:
    """Return what was run: settings, models with their servers, and benchmarks."""
    info = {key: _parsed(value) for key, value in data.info.items()}
    settings = info.get("settings")
    settings = settings if isinstance(settings, Mapping) else {}
    return [_settings(data, info, settings), _models(info, settings), _benchmarks(data, info)]


def _parsed(value: str) -> Any:  # noqa: ANN401 - whatever was noted
    try:
        return json.loads(value) if value[:1] in '{["' else value
    except ValueError:
        return value


def _settings(data: ReportData, info: Mapping[str, Any], settings: Mapping[str, Any]) -> Table:
    sampling = settings.get("sampling", {})
    told = {
        "Study": info.get("study"),
        "memoprobe": info.get("memoprobe_version"),
        "Asked": _dates(info),
        "Report of": minute(data.created),
        "Sampling": _listed(sampling),
        "Seed": settings.get("seed"),
        "Levels": settings.get("levels"),
        "Intensity": settings.get("intensity"),
        "Answers a repeat": settings.get("width"),
        "Paraphrases": _listed(settings.get("paraphrase")),
        "Prompts": _listed(settings.get("prompts")),
        "Metrics": _listed(info.get("metrics")),
        "Renamed names mapped back": info.get("names_mapped_back"),
        "What was not answered": _UNANSWERED[data.treatment],
        "Model families": _listed(info.get("families")),
        "Answers a second": _speed(info.get("answers_per_second")),
    }
    known = {"settings", "study", "memoprobe_version", "started", "ended", "metrics", "unanswered"}
    known |= {"names_mapped_back", "families", "answers_per_second"}
    more = {
        key.replace("_", " "): _listed(value)
        for key, value in sorted(info.items())
        if key not in known and not key.startswith(("server/", "benchmark/"))
    }
    rows = [[name, value] for name, value in {**told, **more}.items() if value not in (None, "")]
    return Table(
        name="run",
        title="Settings",
        columns=(Column("setting", "Setting"), Column("value", "Value")),
        rows=rows,
    )


def _dates(info: Mapping[str, Any]) -> str | None:
    """Return from when to when a run asked, to the minute."""
    ends = [minute(str(info[name])) for name in ("started", "ended") if name in info]
    return " to ".join(dict.fromkeys(ends)) or None


def minute(moment: str) -> str:
    """Return a moment in ISO 8601 as people write it: ``2026-11-29 23:53 UTC``."""
    zone = " UTC" if moment.endswith("+00:00") else moment[16:]
    return f"{moment[:10]} {moment[11:16]}{zone}" if moment[10:11] == "T" else moment


def _speed(value: str | None) -> str | None:
    return f"{float(value):.1f}" if value is not None else None


def _models(info: Mapping[str, Any], settings: Mapping[str, Any]) -> Table:
    servers: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for key, facts in info.items():
        if key.startswith("server/") and isinstance(facts, Mapping):
            model, _, url = key.removeprefix("server/").partition("/")
            servers.setdefault(model, []).append((url, facts))
    models: Mapping[str, Any] = settings.get("models", {})
    rows = [
        row
        for name in sorted({*models, *servers})
        for row in _model(name, models.get(name, {}), servers.get(name, []))
    ]
    return Table(
        name="models",
        title="Models and servers",
        columns=(
            Column("model", "Model"),
            Column("served_model", "As the server calls it"),
            Column("interface", "Interface"),
            Column("extra_body", "Sent beside"),
            Column("url", "Server"),
            Column("version", "Version"),
            Column("context", "Context", "count"),
            Column("defaults", "The server's defaults"),
        ),
        rows=rows,
    )


def _model(
    name: str, model: Mapping[str, Any], servers: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[list[object]]:
    own = [name, model.get("model"), model.get("interface"), _listed(model.get("extra_body"))]
    for url, facts in sorted(servers, key=lambda pair: pair[0]) or [("", {})]:
        version = " ".join(str(facts[key]) for key in ("dialect", "version") if facts.get(key))
        context = facts.get("context_tokens")
        served = context.get(model.get("model")) if isinstance(context, Mapping) else None
        yield [*own, url or None, version or None, served, _listed(facts.get("defaults"))]


def _benchmarks(data: ReportData, info: Mapping[str, Any]) -> Table:
    rows: list[list[object]] = []
    found: dict[str, list[Any]] = {}
    for cell in data.cells:
        found.setdefault(cell.benchmark, []).append(cell)
    for name, cells in sorted(found.items()):
        facts = info.get(f"benchmark/{name}")
        facts = facts if isinstance(facts, Mapping) else {}
        source = [facts.get("repository"), facts.get("revision"), facts.get("commit")]
        rows.append(
            [
                name,
                cells[0].task.replace("_", " "),
                ", ".join(sorted({labelled(cell.perturbation) for cell in cells})),
                cells[0].n_samples,
                cells[0].n_controls,
                " ".join(str(part) for part in source if part) or None,
                facts.get("fingerprint"),
                counts(facts.get("skipped", {})),
            ]
        )
    return Table(
        name="benchmarks",
        title="Benchmarks",
        columns=(
            Column("benchmark", "Benchmark"),
            Column("task", "Task"),
            Column("perturbations", "Perturbations"),
            Column("samples", "Samples", "count"),
            Column("controls", "Controls among them", "count"),
            Column("source", "Data set and commit"),
            Column("hash", "Hash of the samples"),
            Column("skipped", "Rows skipped"),
        ),
        rows=rows,
    )


def _listed(value: Any) -> str:  # noqa: ANN401 - whatever was noted
    """Return a setting without JSON's signs: ``temperature 0.3, top_p 0.5``."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key} ({_listed(each)})" if isinstance(each, Mapping) else f"{key} {_listed(each)}"
            for key, each in value.items()
            if each not in (None, {}, [])
        )
    if isinstance(value, list):
        return ", ".join(map(_listed, value))
    return "" if value is None else str(value)
