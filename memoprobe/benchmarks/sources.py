"""Bring the rows of registered benchmarks into the user's data folder, and load samples of them.

``fetch`` reads a copy in its original layout once, from the hub or from a local folder, into
``<home>/<name>/rows.jsonl`` with a ``manifest.json`` beside it; ``load`` reads only these.
"""

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from memoprobe.benchmarks import hub
from memoprobe.benchmarks.files import Copy, Row, json_lines, json_object
from memoprobe.benchmarks.hub import Hub
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample, Task, content_hash


class Skipped(NamedTuple):
    """Say why a row makes no sample; rows are counted by it."""

    reason: str


Options = Mapping[str, str]
"""The switches of one benchmark use, by name; all that the benchmark has are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Hold one registered use of a benchmark: what it is and how to read it."""

    name: str
    task: Task
    category: str  # of the task, in words
    dataset: str  # the data set's own name
    languages: tuple[str, ...]
    perturbation: str  # name of the one that suits its text
    reference: str  # what a sample's reference is, as part of a sentence; empty where none
    tests: str  # what its tests are, likewise; empty where there are none
    rows: int  # of the published data set, in the part that is used by default
    characters: int  # of a prompt at level 0, the mean over real rows; for plans without data
    hub: Hub | None  # None: not there
    licence: str
    source: str
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Switches by name, each with its values, the default first."""
    read: Callable[[Copy], Iterator[Row]]
    """Yield the rows of a copy in any of its layouts; the rows of all layouts are alike."""
    sample: Callable[[Row, Options], Sample | Skipped]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Hold what ``fetch`` brought; written to ``manifest.json`` as it is."""

    benchmark: str
    licence: str
    n_rows: int
    repository: str | None  # of the hub; None for a local copy
    commit: str | None
    files: dict[str, str]  # SHA-256 of each file read, by its name in the source
    sha256: str  # of rows.jsonl


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Say which samples of a benchmark a study uses."""

    limit: int | None = None
    seed: int = 0
    after: str | None = None  # ISO date; only samples of that day or later
    before: str | None = None  # ISO date; only samples of an earlier day
    control: bool = False  # the model cannot have seen them
    options: Options = field(default_factory=dict)


EVERYTHING = Selection()


class Loaded(NamedTuple):
    """Hold a benchmark's samples."""

    samples: list[Sample]
    skipped: dict[str, int]  # rows that make no sample, by reason
    fingerprint: str  # SHA-256 over ids and contents of all samples, chosen or not


def fetch(benchmark: Benchmark, source: Path | None, home: Path) -> Fetched:
    """Bring a benchmark's rows into ``home``, in place of earlier ones.

    Args:
        benchmark: What to bring.
        source: The folder of a local copy, or its file; None takes it from the hub.
        home: The user's data folder.

    Raises:
        BenchmarkError: The copy is not there or not what it should be, or ``home``
            cannot be written.
    """
    brought = None
    if source is None:
        brought = hub.bring(benchmark.name, benchmark.hub, benchmark.source)
        source = brought.folder
    copy = Copy(source, benchmark.source)
    folder = home / benchmark.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        n_rows, sha256 = _write_rows(benchmark.read(copy), folder / "rows.jsonl.part")
        if not n_rows:
            msg = f"{source}: no rows of {benchmark.name} in it"
            raise BenchmarkError(msg)
        fetched = Fetched(
            benchmark=benchmark.name,
            licence=benchmark.licence,
            n_rows=n_rows,
            repository=brought and brought.repository,
            commit=brought and brought.commit,
            files=dict(sorted(copy.hashes.items())),
            sha256=sha256,
        )
        manifest = folder / "manifest.json.part"
        manifest.write_text(json.dumps(asdict(fetched), indent=1), encoding="utf-8")
        for name in ("rows.jsonl", "manifest.json"):
            (folder / f"{name}.part").replace(folder / name)
    except OSError as error:
        msg = f"{folder}: cannot write the data of {benchmark.name}: {error.strerror}"
        raise BenchmarkError(msg) from error
    finally:
        for part in folder.glob("*.part"):
            part.unlink(missing_ok=True)
    return fetched


def _write_rows(rows: Iterable[Row], path: Path) -> tuple[int, str]:
    """Write rows as JSON Lines; return their number and the file's SHA-256."""
    n_rows, digest = 0, hashlib.sha256()
    with path.open("wb") as file:
        for row in rows:
            line = json.dumps(row, sort_keys=True).encode() + b"\n"
            n_rows += 1
            digest.update(line)
            file.write(line)
    return n_rows, digest.hexdigest()


def is_available(benchmark: Benchmark, home: Path) -> bool:
    """Tell whether a benchmark was fetched into ``home``."""
    return (home / benchmark.name / "manifest.json").is_file()


def load(benchmark: Benchmark, home: Path, selection: Selection = EVERYTHING) -> Loaded:
    """Return samples of a benchmark that was fetched into ``home``.

    Raises:
        BenchmarkError: It was not fetched, its files were changed since, or an option is
            none of its own.
    """
    folder = home / benchmark.name
    mend = f"run `memoprobe fetch {benchmark.name}`, with `--from PATH` for a local copy"
    if not is_available(benchmark, home):
        msg = f"{benchmark.name}: no data in {folder}; {mend}"
        raise BenchmarkError(msg)
    options = complete(benchmark, selection.options)
    manifest = json_object(folder / "manifest.json")
    path = folder / "rows.jsonl"
    if _file_sha256(path) != manifest.get("sha256"):
        msg = f"{path}: not what was fetched (its SHA-256 differs from manifest.json); {mend}"
        raise BenchmarkError(msg)
    return collect((benchmark.sample(row, options) for _, row in json_lines(path)), selection)


def complete(benchmark: Benchmark, options: Options) -> Options:
    """Return all options of a benchmark, those that are not given by their defaults.

    Raises:
        BenchmarkError: An option or its value is unknown.
    """
    for name, value in options.items():
        values = benchmark.options.get(name, ())
        if value not in values:
            known = "; ".join(
                f"{key}: {', '.join(each)}" for key, each in benchmark.options.items()
            )
            msg = f"{benchmark.name} has no option {name} = {value!r}; known: {known or 'none'}"
            raise BenchmarkError(msg)
    return {name: options.get(name, values[0]) for name, values in benchmark.options.items()}


def collect(results: Iterable[Sample | Skipped], selection: Selection = EVERYTHING) -> Loaded:
    """Return the chosen samples among ``results`` and count the rest; the first of an id counts.

    The order of choice is that of a hash of seed and id, so a higher limit extends a lower
    one, and neither the order of rows nor a new row changes who comes before whom. Only
    as many samples as the limit allows are in memory at once.
    """
    skipped: Counter[str] = Counter()
    marks: dict[str, str] = {}

    def kept() -> Iterator[Sample]:
        for result in results:
            found = result if isinstance(result, Skipped) else _windowed(result, selection)
            if isinstance(found, Skipped):
                skipped[found.reason] += 1
            elif found.sample_id in marks:
                skipped["its id occurs before"] += 1
            else:
                marks[found.sample_id] = content_hash(found)
                yield replace(found, control=True) if selection.control else found

    def place(sample: Sample) -> str:
        text = f"{selection.seed}|{sample.sample_id}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    if selection.limit is None:
        samples = sorted(kept(), key=place)
    else:
        samples = heapq.nsmallest(selection.limit, kept(), key=place)
    text = json.dumps(sorted(marks.items()))
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return Loaded(samples, dict(sorted(skipped.items())), fingerprint)


def _windowed(sample: Sample, selection: Selection) -> Sample | Skipped:
    """Return the sample if it lies in the window of dates, if there is one."""
    if selection.after is None and selection.before is None:
        return sample
    if sample.date is None:
        return Skipped("no date, and a window of dates is asked for")
    day = sample.date[:10]
    if selection.after is not None and day < selection.after:
        return Skipped(f"dated before {selection.after}")
    if selection.before is not None and day >= selection.before:
        return Skipped(f"dated {selection.before} or later")
    return sample


def _file_sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise BenchmarkError(msg) from error
