"""Read the files of a benchmark's copy: bounded, streamed, and remembered by their hashes."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from memoprobe.errors import BenchmarkError

MAX_BYTES = 512 * 2**20  # of one line, or of a file that is read as a whole, decompressed
MAX_TOTAL = 32 * 2**30  # of one file that is streamed, decompressed
_BATCH_BYTES = 2**20  # of a parquet file in memory at once, by its mean row; at least a row
_BATCH_ROWS = 256  # likewise at most
_BUFFER_BYTES = 2**20  # read of a parquet column at once; without it, the column's whole row group
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
Placed = tuple[str, dict[str, Any]]
"""A row behind its place, such as ``file, line n``."""


class Copy:
    """Hold a copy of a benchmark's data, a folder or its one file; remember what was read of it."""

    def __init__(self, root: Path, what: str, names: Iterable[str] | None = None) -> None:
        """Open the copy at ``root``; ``what`` names in errors what it should be a copy of.

        With ``names``, other files in the folder are not part of the copy.
        """
        self.root = root
        self.what = what
        self.names = None if names is None else frozenset(names)
        self.hashes: dict[str, str] = {}  # SHA-256 of each file read, by its name in the copy

    def find(self, *patterns: str) -> list[Path]:
        """Return the files that the first fitting pattern names, sorted; the root if it is one.

        Raises:
            BenchmarkError: No pattern fits a file.
        """
        if self.root.is_file():
            return [self.root]
        for pattern in patterns:
            if found := sorted(path for path in self.root.glob(pattern) if self._holds(path)):
                return found
        state = "holds none of" if self.root.is_dir() else "no such folder; looked there for"
        msg = f"{self.root}: {state} {', '.join(patterns)}; give the file or folder of {self.what}"
        raise BenchmarkError(msg)

    def _holds(self, path: Path) -> bool:
        return path.is_file() and (self.names is None or self.name(path) in self.names)

    def name(self, path: Path) -> str:
        """Return a file's name within the copy, with forward slashes."""
        return path.name if path == self.root else path.relative_to(self.root).as_posix()

    def noted(self, path: Path) -> Path:
        """Return ``path``, with its hash among those of the files read."""
        name = self.name(path)
        if name not in self.hashes:
            try:
                with path.open("rb") as file:
                    self.hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise _unreadable(path, error) from error
        return path

    def text(self, path: Path, *, fallback: str | None = None) -> str:
        """Return a file's content as text, without a byte order mark.

        Where it is not UTF-8, it is read as ``fallback``, or refused if that is None.
        """
        return read_text(self.noted(path), fallback=fallback)

    def lines(self, path: Path) -> Iterator[tuple[str, str]]:
        """Yield the lines of a text file with their places, streamed; blank ones are left out."""
        return lines(self.noted(path))

    def rows(self, *patterns: str, columns: Sequence[str] | None = None) -> Iterator[Placed]:
        """Yield the rows of all files that ``find`` gives, each with its place.

        Args:
            patterns: As for ``find``. A file is read by its name: parquet, JSON Lines or one
                JSON array, the latter two also with ``.gz``.
            columns: The columns of a parquet file that are read; those it lacks are left
                out. None reads all.

        Raises:
            BenchmarkError: A file cannot be read or holds no such rows.
        """
        for path in self.find(*patterns):
            yield from self.rows_of(path, columns)

    def rows_of(self, path: Path, columns: Sequence[str] | None = None) -> Iterator[Placed]:
        """Yield the rows of one file, see ``rows``."""
        self.noted(path)
        if path.suffix == ".parquet":
            return parquet_rows(path, columns)
        is_array = ".jsonl" not in path.suffixes and _begins_with(path, b"[")
        return iter(json_array(path)) if is_array else json_lines(path)


def _begins_with(path: Path, mark: bytes) -> bool:
    with _opened(path) as file:
        return (
            _guarded(path, lambda: file.read(4096)).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
            == mark
        )


def _opened(path: Path) -> IO[bytes]:
    try:
        return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise _unreadable(path, error) from error


def _guarded(path: Path, read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> BenchmarkError:
    reason = getattr(error, "strerror", None) or f"damaged gzip data ({error})"
    return BenchmarkError(f"{path}: cannot be read: {reason}")


def read_bytes(path: Path) -> bytes:
    """Return a file's content, decompressed if its name ends in ``.gz``.

    Raises:
        BenchmarkError: It cannot be read, or is larger than MAX_BYTES.
    """
    with _opened(path) as file:
        data = _guarded(path, lambda: file.read(MAX_BYTES + 1))
    if len(data) > MAX_BYTES:
        raise _too_large(path)
    return data


def _too_large(place: object) -> BenchmarkError:
    return BenchmarkError(
        f"{place}: larger than {MAX_BYTES >> 20} MiB, which nothing of this benchmark is"
    )


def read_text(path: Path, *, fallback: str | None = None) -> str:
    """Return a file's content as text, without a byte order mark.

    Raises:
        BenchmarkError: It is not UTF-8, and there is no other encoding as ``fallback``.
    """
    return _decoded(read_bytes(path), path, fallback)


def _decoded(data: bytes, place: object, fallback: str | None = None) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if fallback is not None:
            return data.decode(fallback, "replace")
        msg = f"{place}: not UTF-8 (byte {error.start}); save it as UTF-8"
        raise BenchmarkError(msg) from error


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text file that are not blank, each with its place, ``file, line n``.

    They are cut at LF only: a JSON string may hold other line separators.

    Raises:
        BenchmarkError: The file cannot be read, a line is not UTF-8 or longer than MAX_BYTES.
    """
    number, total = 0, 0
    with _opened(path) as file:
        while line := _guarded(path, lambda: file.readline(MAX_BYTES + 1)):
            number, total = number + 1, total + len(line)
            place = f"{path}, line {number}"
            if len(line) > MAX_BYTES or total > MAX_TOTAL:
                raise _too_large(place)
            texts = [_decoded(line, place).rstrip("\r\n")]
            del line  # nor is the text held here while it is used: it may be 20 MB
            if texts[0].strip():
                yield place, texts.pop()


def json_lines(path: Path) -> Iterator[Placed]:
    """Yield the objects of a JSON Lines file, each with its place, ``file, line n``.

    Raises:
        BenchmarkError: A line that is not blank is no JSON object.
    """
    for place, line in lines(path):
        rows = [_object(parse_json(line, place), place)]
        del line
        yield place, rows.pop()


def json_object(path: Path) -> dict[str, Any]:
    """Return the one object that a JSON file holds."""
    return _object(parse_json(read_text(path), str(path)), str(path))


def json_array(path: Path) -> list[Placed]:
    """Return the objects of a JSON array, each with its place, ``file, entry n``."""
    array = parse_json(read_text(path), str(path))
    if not isinstance(array, list):
        msg = f"{path}: expected one JSON array of objects"
        raise BenchmarkError(msg)
    places = [(f"{path}, entry {number}", row) for number, row in enumerate(array, start=1)]
    return [(place, _object(row, place)) for place, row in places]


def parquet_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[Placed]:
    """Yield the rows of a parquet file, each with its place, a few in memory at once.

    Raises:
        BenchmarkError: The file is damaged, or has none of the columns.
    """
    import pyarrow  # takes a third of a second
    from pyarrow import parquet

    number = 0
    try:
        # Neither read ahead nor in threads: with rows of 20 MB either takes 60 MB more.
        with parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False) as file:
            names = file.schema_arrow.names
            wanted = names if columns is None else [name for name in columns if name in names]
            if not wanted:
                msg = f"{path}: none of the columns {', '.join(columns or ())}; it has {names}"
                raise BenchmarkError(msg)
            for group in range(file.num_row_groups):
                size = _batch_size(file.metadata.row_group(group), wanted, path)
                for batch in file.iter_batches(size, [group], columns=wanted, use_threads=False):
                    rows = batch.to_pylist()[::-1]
                    del batch  # nothing large is held while the next is read
                    while rows:
                        number += 1
                        yield f"{path}, row {number}", rows.pop()
    except (OSError, pyarrow.ArrowException) as error:
        msg = f"{path}: cannot be read as parquet: {error}"
        raise BenchmarkError(msg) from error


def _batch_size(group: Any, wanted: Sequence[str], path: Path) -> int:  # noqa: ANN401  untyped
    """Return how many rows of a row group are read at once, by the bytes of wanted columns."""
    chunks = [group.column(number) for number in range(group.num_columns)]
    sizes = [c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in wanted]
    row_bytes = sum(sizes) // max(1, group.num_rows)
    if row_bytes > MAX_BYTES:
        raise _too_large(path)
    return max(1, min(_BATCH_ROWS, int(_BATCH_BYTES // max(1, row_bytes))))


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
