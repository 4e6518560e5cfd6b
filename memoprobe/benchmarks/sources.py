"""Read benchmark rows out of files, and keep them in the user's data folder.

A local copy in its original layout is read once, by ``fetch``, into
``<home>/<name>/rows.jsonl`` with a ``manifest.json`` beside it; ``load`` reads only these.
"""

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample, Task, content_hash

MAX_BYTES = 256 * 2**20  # of one file, decompressed
_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}

Row = Mapping[str, Any]


class Skipped(NamedTuple):
    """Say why a row makes no sample; rows are counted by it."""

    reason: str


class Copy(NamedTuple):
    """Hold what a local copy of a benchmark holds."""

    files: dict[str, bytes]  # the files that were read, by name
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Hold one registered use of a benchmark: what it is and how to read it."""

    name: str
    task: Task
    category: str  # of the task, in words
    dataset: str  # the data set's own name
    languages: tuple[str, ...]
    perturbation: str  # name of the one that suits its text
    reference: str  # what a sample's reference is, as part of a sentence
    tests: str  # what its tests are, likewise; empty where there are none
    rows: int  # of the published data set, in the part that is used
    hub_id: str
    licence: str
    source: str
    read: Callable[[Path], Copy]  # a local copy in its original layout
    sample: Callable[[Row], Sample | Skipped]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Hold what ``fetch`` brought; written to ``manifest.json`` as it is."""

    benchmark: str
    licence: str
    n_rows: int
    files: dict[str, str]  # SHA-256 of each file read, by its name in the source
    sha256: str  # of rows.jsonl


class Loaded(NamedTuple):
    """Hold a benchmark's samples."""

    samples: list[Sample]
    skipped: dict[str, int]  # rows that make no sample, by reason
    fingerprint: str  # SHA-256 over ids and contents of the samples


def fetch(benchmark: Benchmark, source: Path, home: Path) -> Fetched:
    """Bring a benchmark's rows from a local copy into ``home``, in place of earlier ones.

    Args:
        benchmark: What to bring.
        source: The folder of the copy, or its file.
        home: The user's data folder.

    Raises:
        BenchmarkError: The copy is not there or not what it should be, or ``home``
            cannot be written.
    """
    copy = benchmark.read(source)
    if not copy.rows:
        msg = f"{source}: no rows of {benchmark.name} in it"
        raise BenchmarkError(msg)
    body = "".join(json.dumps(row, sort_keys=True) + "\n" for row in copy.rows).encode()
    fetched = Fetched(
        benchmark=benchmark.name,
        licence=benchmark.licence,
        n_rows=len(copy.rows),
        files={name: _sha256(data) for name, data in sorted(copy.files.items())},
        sha256=_sha256(body),
    )
    manifest = json.dumps(asdict(fetched), indent=1).encode()
    folder = home / benchmark.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in (("rows.jsonl", body), ("manifest.json", manifest)):
            part = folder / f"{name}.part"
            part.write_bytes(data)
            part.replace(folder / name)
    except OSError as error:
        msg = f"{folder}: cannot write the data of {benchmark.name}: {error.strerror}"
        raise BenchmarkError(msg) from error
    return fetched


def is_available(benchmark: Benchmark, home: Path) -> bool:
    """Tell whether a benchmark was fetched into ``home``."""
    return (home / benchmark.name / "manifest.json").is_file()


def load(benchmark: Benchmark, home: Path) -> Loaded:
    """Return the samples of a benchmark that was fetched into ``home``.

    Raises:
        BenchmarkError: It was not fetched, or its files were changed since.
    """
    folder = home / benchmark.name
    mend = f"run `memoprobe fetch {benchmark.name} --from PATH` with a local copy of its data"
    if not is_available(benchmark, home):
        msg = f"{benchmark.name}: no data in {folder}; {mend}"
        raise BenchmarkError(msg)
    manifest = json_object(folder / "manifest.json")
    path = folder / "rows.jsonl"
    if _sha256(read_bytes(path)) != manifest.get("sha256"):
        msg = f"{path}: not what was fetched (its SHA-256 differs from manifest.json); {mend}"
        raise BenchmarkError(msg)
    return collect(benchmark.sample(row) for _, row in json_lines(path))


def collect(results: Iterable[Sample | Skipped]) -> Loaded:
    """Return the samples among ``results`` and count the rest; the first of an id counts."""
    samples: dict[str, Sample] = {}
    skipped: Counter[str] = Counter()
    for result in results:
        if isinstance(result, Skipped):
            skipped[result.reason] += 1
        elif result.sample_id in samples:
            skipped["its id occurs before"] += 1
        else:
            samples[result.sample_id] = result
    marks = [(sample.sample_id, content_hash(sample)) for sample in samples.values()]
    fingerprint = _sha256(json.dumps(sorted(marks)).encode())
    return Loaded(list(samples.values()), dict(sorted(skipped.items())), fingerprint)


def choose(samples: Iterable[Sample], limit: int | None, seed: int) -> list[Sample]:
    """Return the first ``limit`` samples in an order drawn by ``seed``, all where it is None.

    The order is that of a hash of seed and id, so a higher limit extends a lower one,
    and neither the order of rows nor a new row changes who comes before whom.
    """

    def place(sample: Sample) -> str:
        return _sha256(f"{seed}|{sample.sample_id}".encode("utf-8", "surrogatepass"))

    return sorted(samples, key=place)[:limit]


def find_file(source: Path, names: Sequence[str], what: str) -> Path:
    """Return ``source`` if it is a file, else the first of ``names`` in that folder.

    Raises:
        BenchmarkError: There is none.
    """
    if source.is_file():
        return source
    for name in names:
        if (source / name).is_file():
            return source / name
    state = "holds none of" if source.is_dir() else "does not exist; looked there for"
    msg = f"{source}: {state} {', '.join(names)}; give the file or the folder of {what}"
    raise BenchmarkError(msg)


def read_bytes(path: Path) -> bytes:
    """Return a file's content, decompressed if its name ends in ``.gz``.

    Raises:
        BenchmarkError: It cannot be read, or is larger than MAX_BYTES.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            data: bytes = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"damaged gzip data ({error})"
        msg = f"{path}: cannot be read: {reason}"
        raise BenchmarkError(msg) from error
    if len(data) > MAX_BYTES:
        msg = f"{path}: larger than {MAX_BYTES >> 20} MiB, which no file of this benchmark is"
        raise BenchmarkError(msg)
    return data


def read_text(path: Path) -> str:
    """Return a file's content as text, without a byte order mark.

    Raises:
        BenchmarkError: It is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8"
        raise BenchmarkError(msg) from error


def json_lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a JSON Lines file, each with its place, ``file, line n``.

    Raises:
        BenchmarkError: A line that is not blank is no JSON object.
    """
    # Not splitlines: a JSON string may hold other line separators.
    lines = enumerate(read_text(path).split("\n"), start=1)
    places = [(f"{path}, line {number}", line) for number, line in lines if line.strip()]
    return [(place, _object(parse_json(line, place), place)) for place, line in places]


def json_object(path: Path) -> dict[str, Any]:
    """Return the one object that a JSON file holds."""
    return _object(parse_json(read_text(path), str(path)), str(path))


def json_array(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a JSON array, each with its place, ``file, entry n``."""
    array = parse_json(read_text(path), str(path))
    if not isinstance(array, list):
        msg = f"{path}: expected one JSON array of objects"
        raise BenchmarkError(msg)
    places = [(f"{path}, entry {number}", row) for number, row in enumerate(array, start=1)]
    return [(place, _object(row, place)) for place, row in places]


def parse_json(text: str, place: str) -> Any:  # noqa: ANN401  any JSON value
    """Return the JSON value that ``text`` is; an error names ``place``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{place}: not valid JSON: {error}"
        raise BenchmarkError(msg) from error


def require(row: Row, keys: Mapping[str, type], place: str) -> None:
    """Raise BenchmarkError unless ``row`` has all ``keys``, with values of their types."""
    for key, kind in keys.items():
        if not isinstance(row.get(key), kind):
            found = _kind(type(row[key])) if key in row else "nothing"
            msg = f"{place}: expected {_kind(kind)} under {key!r}, found {found}"
            raise BenchmarkError(msg)


def _kind(kind: type) -> str:
    return _KINDS.get(kind, kind.__name__)


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        msg = f"{place}: expected a JSON object, found {_kind(type(value))}"
        raise BenchmarkError(msg)
    return value


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
