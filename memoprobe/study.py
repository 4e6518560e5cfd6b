"""Read a study file into a Study; an unknown key or a wrong type is an error with its line."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from memoprobe.benchmarks import BENCHMARKS, complete
from memoprobe.errors import BenchmarkError, ConfigError
from memoprobe.perturbations import choice
from memoprobe.perturbations.choice import Paraphrasing
from memoprobe.records import Interface, Probe, Sampling, Task

MOST_LEVELS = 20
MOST_ANSWERS = 1000
NEAREST_OF = 3
"""References of which the nearest counts, where a study says no number: more raise the floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Hold one model and where it is served."""

    name: str
    model: str = ""  # as the server calls it; the name if empty
    base_urls: tuple[str, ...]
    api_key_env: str | None = None  # the variable's name, never the key
    interface: Interface = "chat"
    max_in_flight: int = 64  # at most; how many are open adapts to the server
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout_s: float = 600.0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    prompt_price: float | None = None  # of a million tokens, in any currency
    completion_price: float | None = None  # likewise
    family: str | None = None  # models of one family are its versions, in the order of the file

    @property
    def served_model(self) -> str:
        """Return the server's name of the model."""
        return self.model or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSpec:
    """Hold one benchmark: a registered name, or files of your own with their task."""

    name: str | None = None  # a registered one, or the name of your own
    path: str | None = None  # your own file, JSON Lines or parquet
    paths: tuple[str, ...] = ()  # or several
    task: Task | None = None  # of your own
    fields: Mapping[str, str] = field(default_factory=dict)  # our key -> your files' name for it
    limit: int | None = None  # samples at most
    after: str | None = None  # an ISO date: samples of that day or later
    before: str | None = None  # an ISO date: samples of an earlier day
    control: bool = False  # the models cannot have seen any of it
    reference: Literal["first", "nearest"] | None = None  # None: the first, or as own rows give
    references: int | None = None  # how many the nearest is of
    options: Mapping[str, str] = field(default_factory=dict)  # of a registered one

    @property
    def files(self) -> tuple[str, ...]:
        """Return your own files, none for a registered benchmark."""
        return self.paths or ((self.path,) if self.path is not None else ())

    @property
    def n_references(self) -> int | None:
        """Return how many references of a sample count, None where the rows say so."""
        if self.reference == "nearest":
            return self.references or (None if self.files else NEAREST_OF)
        return 1 if self.reference == "first" else None

    @property
    def label(self) -> str:
        """Return the name under which the run files the benchmark."""
        return self.name or Path(self.files[0] if self.files else "").stem


@dataclass(frozen=True, slots=True, kw_only=True)
class TestLimits:
    """Hold what an answer may use while its tests run."""

    wall_s: float = 5.0
    cpu_s: int = 7
    memory_mib: int = 512
    output_kib: int = 1024
    scratch_mib: int = 32
    processes: int = 32  # and threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Hold all that defines a run."""

    name: str = "memoprobe"
    seed: int = 0
    levels: int = 5
    answers: int = 3
    repeats: int = 3
    probe: Literal["answers", "likelihood", "both"] = "answers"  # what the models are asked for
    greedy: bool = False  # one answer a sample at temperature 0 as well, which CDD needs
    perturbation: str | None = None  # None: each benchmark's default for its kind of input
    intensity: str = "share"  # "count" reproduces the study
    match_edit_share: bool = False  # rename every code benchmark equally far
    placebo: bool = False
    paraphrase: Paraphrasing = field(default_factory=Paraphrasing)  # the source of paraphrases
    sampling: Sampling = field(default_factory=Sampling)
    limits: TestLimits = field(default_factory=TestLimits)  # of answers that are run
    models: tuple[ModelSpec, ...] = ()
    benchmarks: tuple[BenchmarkSpec, ...] = ()

    @property
    def probes(self) -> tuple[Probe, ...]:
        """Return what the models are asked for, in the order in which they are asked."""
        return ("answers", "likelihood") if self.probe == "both" else (self.probe,)


def load(path: Path) -> Study:
    """Return the study of a TOML file.

    Raises:
        ConfigError: The file is missing, no TOML, or holds an unknown key, a wrong type
            or an impossible value; the message names file, line and the nearest key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except FileNotFoundError as error:
        msg = f"no study file {path}"
        raise ConfigError(msg) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"study file {path} cannot be read: {error}"
        raise ConfigError(msg) from error
    reader = _Reader(path, text)
    study: Study = reader.build(Study, {"name": path.stem, **data}, ())
    for number, spec in enumerate(study.benchmarks):
        if spec.files or spec.name is None:
            continue
        if spec.name not in BENCHMARKS:
            close = get_close_matches(spec.name, BENCHMARKS, n=1, cutoff=0)[0]
            place = ("benchmarks", number, "name")
            raise reader.error(place, f"unknown benchmark {spec.name!r}; did you mean {close!r}")
        try:
            complete(BENCHMARKS[spec.name], spec.options)
        except BenchmarkError as error:
            raise reader.error(("benchmarks", number, "options"), str(error)) from error
    check(study, str(path))
    return study


def from_flags(flags: Mapping[str, Any]) -> Study:
    """Return the study of ``memoprobe run``: a file, flags, or a file that flags override.

    Args:
        flags: Values by option name; None and empty lists were not given.

    Raises:
        ConfigError: The file is wrong, or the flags make no study.
    """
    given = {name: value for name, value in flags.items() if value not in (None, [])}
    path = given.pop("study_file", None)
    if path is not None and (clash := given.keys() & {"base_url", "model", "benchmark", "task"}):
        names = ", ".join(sorted(f"--{name.replace('_', '-')}" for name in clash))
        msg = f"{names}: a study file names its own models and benchmarks; edit {path} instead"
        raise ConfigError(msg)
    if path is None and not {"base_url", "model", "benchmark"} <= given.keys():
        msg = "give a study file, or --base-url, --model and --benchmark"
        raise ConfigError(msg)
    base = Study() if path is None else load(path)
    study = replace(
        base,
        **_picked(Study, given),
        sampling=replace(base.sampling, **_picked(Sampling, given)),
        models=tuple(
            replace(model, **_picked(ModelSpec, given)) for model in base.models or _model(given)
        ),
        benchmarks=tuple(
            replace(spec, **_picked(BenchmarkSpec, {"limit": given.get("limit", spec.limit)}))
            for spec in base.benchmarks or _benchmarks(given)
        ),
    )
    check(study, "the options")
    return study


def _picked(record: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that are plain fields of a record."""
    names = {each.name for each in fields(record)} - {"name", "model", "task"}
    return {name: value for name, value in given.items() if name in names}


def _model(given: Mapping[str, Any]) -> tuple[ModelSpec, ...]:
    return (ModelSpec(name=given["model"], base_urls=tuple(given["base_url"])),)


def _benchmarks(given: Mapping[str, Any]) -> Iterator[BenchmarkSpec]:
    for text in given.get("benchmark", []):
        if not text.endswith(".jsonl") and not Path(text).is_file():
            yield BenchmarkSpec(name=text)
        elif "task" in given:
            yield BenchmarkSpec(path=text, task=given["task"])
        else:
            msg = f"--benchmark {text}: a JSON Lines file needs --task"
            raise ConfigError(msg)


def check(study: Study, where: str) -> None:
    """Raise ConfigError unless a study can be run; ``where`` names it in the message."""
    sampling = study.sampling
    rules = (
        (
            study.models,
            "name at least one model: [[models]] in a study file, or --base-url and --model",
        ),
        (
            study.benchmarks,
            "name at least one benchmark: [[benchmarks]] in a study file, or --benchmark",
        ),
        (1 <= study.levels <= MOST_LEVELS, f"levels must be 1 to {MOST_LEVELS}"),
        (1 <= study.answers <= MOST_ANSWERS, f"answers must be 1 to {MOST_ANSWERS}"),
        (1 <= study.repeats <= MOST_ANSWERS, f"repeats must be 1 to {MOST_ANSWERS}"),
        (0 <= study.seed < 2**63, "seed must be 0 to 2**63 - 1"),
        (0 <= sampling.temperature < math.inf, "temperature must be a number from 0"),
        (0 < sampling.top_p <= 1, "top_p must be above 0 and at most 1"),
        (1 <= sampling.max_tokens < 2**31, "max_tokens must be at least 1"),
        (study.intensity in {"share", "count"}, "intensity must be share or count"),
        (
            all(value > 0 for value in asdict(study.limits).values()),
            "limits must be above 0",
        ),
        (all(m.base_urls for m in study.models), "every model needs base_urls"),
        (all(m.max_in_flight >= 1 for m in study.models), "max_in_flight must be at least 1"),
        (all(0 < m.timeout_s < math.inf for m in study.models), "timeout_s must be above 0"),
        (
            all((m.requests_per_minute or 1) > 0 for m in study.models),
            "requests_per_minute must be above 0",
        ),
        (
            all((m.tokens_per_minute or 1) > 0 for m in study.models),
            "tokens_per_minute must be above 0",
        ),
        (
            all(b.limit is None or b.limit >= 1 for b in study.benchmarks),
            "limit must be at least 1",
        ),
        *_rules_of_benchmarks(study.benchmarks),
        *choice.rules(study.paraphrase, study.perturbation),
        (_unique([m.name for m in study.models]), "two models have the same name"),
        (_unique([b.label for b in study.benchmarks]), "two benchmarks have the same name"),
    )
    for holds, complaint in rules:
        if not holds:
            msg = f"{where}: {complaint}"
            raise ConfigError(msg)


def _rules_of_benchmarks(specs: Sequence[BenchmarkSpec]) -> Iterator[tuple[object, str]]:
    own = [spec for spec in specs if spec.files]
    yield all(spec.name or spec.files for spec in specs), "a benchmark needs a name or a path"
    yield not any(spec.path and spec.paths for spec in specs), "give either path or paths"
    yield all(spec.task for spec in own), "a benchmark given by its path needs a task"
    yield (
        not any(spec.name in BENCHMARKS for spec in own),
        "files of your own cannot have the name of a registered benchmark",
    )
    yield not any(spec.options for spec in own), "only a registered benchmark has options"
    yield (
        not any(spec.fields or spec.task for spec in specs if not spec.files),
        "task and fields belong to files of your own",
    )
    for spec in specs:
        registered = BENCHMARKS.get(spec.name or "")
        yield (
            spec.reference != "nearest" or registered is None or registered.several,
            f"{spec.label} has one reference a sample; the nearest of several have"
            f" {', '.join(each.name for each in BENCHMARKS.values() if each.several)}"
            " and files of your own with references",
        )
        yield (
            spec.references is None or (spec.reference == "nearest" and spec.references >= 2),
            f'{spec.label}: references, 2 or more, belongs to reference = "nearest"',
        )
        for date in filter(None, (spec.after, spec.before)):
            yield _is_date(date), f"{spec.label}: {date!r} is no date such as 2024-05-31"


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", text) is not None


def _unique(names: Sequence[str]) -> bool:
    return len(set(names)) == len(names)


class _Reader:
    """Turn tables into dataclasses and find the line of what is wrong."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()

    def build(self, record: type, table: Mapping[str, Any], place: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        """Return ``record`` filled from a table that stands at ``place`` in the file."""
        hints = get_type_hints(record)
        for key in table:
            if key not in hints:
                close = get_close_matches(key, hints, n=1)
                known = f"did you mean {close[0]!r}" if close else f"known: {', '.join(hints)}"
                raise self.error((*place, key), f"unknown key {key!r}; {known}")
        for each in fields(record):
            required = each.default is MISSING and each.default_factory is MISSING
            if required and each.name not in table:
                raise self.error(place, f"key {each.name!r} is missing")
        values = {
            key: self._value(hints[key], value, (*place, key)) for key, value in table.items()
        }
        return record(**values)

    def _value(self, hint: Any, value: Any, place: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in {Union, UnionType}:  # only "X | None" occurs, and TOML has no null
            return self._value(arguments[0], value, place)
        if origin is tuple:
            if not isinstance(value, list):
                raise self.error(place, f"{place[-1]!r} must be a list")
            return tuple(
                self._value(arguments[0], each, (*place, number))
                for number, each in enumerate(value)
            )
        if hasattr(hint, "__dataclass_fields__") or (origin is not None and origin is not tuple):
            return self._compound(hint, value, place)
        wanted = (int, float) if hint is float else hint
        if not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool):
            names = {
                str: "a string",
                int: "a whole number",
                float: "a number",
                bool: "true or false",
            }
            raise self.error(place, f"{place[-1]!r} must be {names[hint]}, not {value!r}")
        return float(value) if hint is float else value

    def _compound(self, hint: Any, value: Any, place: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        choices = get_args(hint)
        if choices and all(isinstance(choice, str) for choice in choices):
            if value not in choices:
                raise self.error(place, f"{place[-1]!r} must be one of {', '.join(choices)}")
            return value
        if not isinstance(value, dict):
            raise self.error(place, f"{place[-1]!r} must be a table")
        return self.build(hint, value, place) if hasattr(hint, "__dataclass_fields__") else value

    def error(self, place: tuple[str | int, ...], complaint: str) -> ConfigError:
        """Return an error that names the line of what stands at ``place``."""
        return ConfigError(f"{self.path}, line {self._line(place)}: {complaint}")

    def _line(self, place: tuple[str | int, ...]) -> int:
        """Return the line, from 1, where a key or table stands as TOML is usually written."""
        line = 0
        for step, following in zip(place, (*place[1:], None), strict=True):
            if isinstance(step, int):
                continue
            name = re.escape(step)
            pattern = re.compile(rf"\s*(\[+\s*(\w+\.)*{name}\s*\]+|[\"']?{name}[\"']?\s*=)")
            nth = following if isinstance(following, int) else 0
            found = [n for n in range(line, len(self.lines)) if pattern.match(self.lines[n])]
            if found:
                line = found[min(nth, len(found) - 1)]
        return line + 1
