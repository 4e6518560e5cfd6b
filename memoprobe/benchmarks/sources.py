"""Bring the rows of registered benchmarks into the user's data folder, and load samples of them.

``fetch`` reads a copy in its original layout once, from the hub or from a local folder, into
``<home>/<name>/rows-<hash>.jsonl`` with a ``manifest.json`` beside it; ``load`` reads only these.
The manifest names the rows, so that putting it in place is the one moment of change.
"""

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memoprobe.benchmarks import hub
from memoprobe.benchmarks.files import Copy, Placed, Row, json_lines, json_object
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
    several: bool = False  # a row may hold more references, as true as the first
    private: bool = False  # its texts must not be spread: reports and exports give its ids alone
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
    n_rows: int  # read and kept
    n_used: int  # of them, by the options' defaults
    skipped: dict[str, int]  # the others, by reason
    files: dict[str, str]  # SHA-256 of each file read, by its name in the source
    sha256: str  # of the rows kept
    repository: str | None = None  # of the hub; None for a local copy
    revision: str | None = None
    commit: str | None = None
    note: str | None = None  # what the user should know of how they were had


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Say which samples of a benchmark a study uses."""

    limit: int | None = None
    seed: int = 0
    after: str | None = None  # ISO date; only samples of that day or later
    before: str | None = None  # ISO date; only samples of an earlier day
    control: bool = False  # the model cannot have seen them
    references: int | None = None  # that count of each; None: one of a registered benchmark's
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
    brought, names = None, None
    if source is None:
        brought = hub.bring(benchmark.name, benchmark.hub, benchmark.source)
        source, names = brought.folder, brought.files
    copy = Copy(source, benchmark.source, names)
    folder = home / benchmark.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fetch-", dir=folder) as parts:
            fetched = replace(
                _written(benchmark, copy, Path(parts, "rows")),
                repository=brought and brought.repository,
                revision=brought and brought.revision,
                commit=brought and brought.commit,
                note=brought and brought.note,
            )
            _put(fetched, Path(parts), folder)
    except OSError as error:
        msg = f"{folder}: cannot write the data of {benchmark.name}: {error.strerror}"
        raise BenchmarkError(msg) from error
    finally:
        with suppress(OSError):
            folder.rmdir()  # where it is empty
    return fetched


def _written(benchmark: Benchmark, copy: Copy, path: Path) -> Fetched:
    """Write the rows of a copy as JSON Lines; count those that make samples."""
    n_rows, digest = 0, hashlib.sha256()
    options = complete(benchmark, {})

    def kept(row: Row) -> Sample | Skipped:
        nonlocal n_rows
        n_rows += 1
        for part in (json.dumps(row, sort_keys=True).encode(), b"\n"):
            digest.update(part)
            file.write(part)
        found = benchmark.sample(row, options)
        if isinstance(found, Skipped):
            return found
        # Of a sample that is only counted, what may be large is not needed.
        return replace(found, text="", context="", reference=None, alternatives=(), tests=None)

    with path.open("wb") as file:
        skipped = collect(map(kept, benchmark.read(copy)), Selection(limit=1)).skipped
    if not n_rows:
        msg = f"{copy.root}: no rows of {benchmark.name} in it"
        raise BenchmarkError(msg)
    return Fetched(
        benchmark=benchmark.name,
        licence=benchmark.licence,
        n_rows=n_rows,
        n_used=n_rows - sum(skipped.values()),
        skipped=skipped,
        files=dict(sorted(copy.hashes.items())),
        sha256=digest.hexdigest(),
    )


def _put(fetched: Fetched, parts: Path, folder: Path) -> None:
    """Put rows and manifest in place of earlier ones."""
    rows = folder / _rows_name(fetched.sha256)
    (parts / "manifest").write_text(json.dumps(asdict(fetched), indent=1), encoding="utf-8")
    (parts / "rows").replace(rows)
    (parts / "manifest").replace(folder / "manifest.json")
    for old in folder.glob("rows*.jsonl"):
        if old != rows:
            old.unlink(missing_ok=True)


def _rows_name(sha256: object) -> str:
    return f"rows-{str(sha256)[:16]}.jsonl"


def is_available(benchmark: Benchmark, home: Path) -> bool:
    """Tell whether a benchmark was fetched into ``home``."""
    return (home / benchmark.name / "manifest.json").is_file()


def origin(benchmark: Benchmark, home: Path) -> dict[str, str | None]:
    """Return where a fetched benchmark is from: repository, revision and commit of the hub."""
    if not is_available(benchmark, home):
        return {}
    manifest = json_object(home / benchmark.name / "manifest.json")
    return {name: manifest.get(name) for name in ("repository", "revision", "commit")}


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
    path = folder / _rows_name(manifest.get("sha256"))
    if _file_sha256(path) != manifest.get("sha256"):
        msg = f"{path}: not what was fetched (its SHA-256 differs from manifest.json); {mend}"
        raise BenchmarkError(msg)

    def sample(placed: Placed) -> Sample | Skipped:
        return benchmark.sample(placed[1], options)

    # With map, other than with a loop, no row is held while the next is read.
    chosen = replace(selection, references=selection.references or 1)
    return collect(map(sample, json_lines(path)), chosen)


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
            found = result if isinstance(result, Skipped) else _chosen(result, selection)
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
    else:  # of none asked for it would look at none
        samples = heapq.nsmallest(max(1, selection.limit), kept(), key=place)[: selection.limit]
    text = json.dumps(sorted(marks.items()))
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return Loaded(samples, dict(sorted(skipped.items())), fingerprint)


def _chosen(sample: Sample, selection: Selection) -> Sample | Skipped:
    """Return the sample with as many references as count, if it has them and lies in the window.

    Of each as many: the nearest of more is nearer by chance alone (METHOD 2.5).
    """
    n = selection.references
    if n is not None and n > 1 and len(sample.references) < n:
        return Skipped(f"fewer than {n} references")
    if n is not None and sample.alternatives:
        sample = replace(sample, alternatives=sample.alternatives[: n - 1])
    return _windowed(sample, selection)


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
