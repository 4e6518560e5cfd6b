"""Facts about reading benchmark files and keeping them in the user's data folder."""

import gzip
import hashlib
import json
import random
import subprocess
import sys
from dataclasses import replace

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from memoprobe import benchmarks
from memoprobe.benchmarks import files, sources
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample
from tests import fakehub

ROW = {
    "task_id": "Made/1",
    "prompt": 'def one():\n    """Return 1."""\n',
    "canonical_solution": "    return 1\n",
    "test": "def check(candidate):\n    assert candidate() == 1\n",
    "entry_point": "one",
}


def made(sample_id, **fields):
    defaults = {"benchmark": "made", "task": "code_generation", "language": "python"}
    values = defaults | {"input_kind": "prose", "text": "Do it."} | fields
    return Sample(sample_id=sample_id, **values)


def drawn(samples, limit, seed):
    return sources.collect(samples, sources.Selection(limit=limit, seed=seed)).samples


@pytest.fixture
def humaneval_copy(tmp_path):
    path = tmp_path / "copy" / "HumanEval.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(json.dumps(ROW).encode()))
    return path


def test_json_lines_tolerate_what_editors_do(tmp_path):
    """A byte order mark, CRLF, blank lines and separators inside strings are no error."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes('\ufeff{"a": "x\u2028y"}\r\n\r\n{"a": 2}'.encode())

    assert list(files.json_lines(path)) == [
        (f"{path}, line 1", {"a": "x\u2028y"}),
        (f"{path}, line 3", {"a": 2}),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1}\n{"a": ', "line 2: not valid JSON"),
        (b"[1]", "line 1: expected a JSON object, found a list"),
        (b'{"a": "\xe9"}', "not UTF-8 (byte 7)"),
        (b"[" * 100_000, "line 1: not valid JSON"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "line 1: not valid JSON"),
    ],
    ids=["broken", "no object", "latin 1", "deep", "huge number"],
)
def test_a_malformed_line_is_named(tmp_path, content, words):
    """Whatever is wrong with a line, one error names file, line and fault."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)

    with pytest.raises(BenchmarkError) as error:
        list(files.json_lines(path))

    assert words in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.gz", b"no gzip", "damaged gzip data"),
        ("a.gz", gzip.compress(b"a" * 99)[:-9], "damaged gzip data"),
        ("a.gz", gzip.compress(b"ab")[:10] + b"\xff" * 9, "damaged gzip data"),
        ("a.gz", gzip.compress(b"a" * 2000), "larger than"),
        ("a", b"a" * 2000, "larger than"),
        ("missing/a", None, "No such file"),
    ],
    ids=["no gzip", "cut off", "garbled", "gzip bomb", "large", "missing"],
)
def test_an_unreadable_file_is_one_error(tmp_path, monkeypatch, name, content, words):
    """Reading is bounded after decompression, and damage is a BenchmarkError."""
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(BenchmarkError, match=words):
        files.read_bytes(tmp_path / name)


def test_lines_are_bounded_one_by_one_and_together(tmp_path, monkeypatch):
    """A line without an end and a file without one are cut off, compressed or not."""
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" * 100 + b" " * 900))

    monkeypatch.setattr(files, "MAX_BYTES", 500)
    with pytest.raises(BenchmarkError, match=r"rows\.jsonl\.gz, line 101: larger than"):
        list(files.json_lines(path))
    monkeypatch.setattr(files, "MAX_TOTAL", 150)
    with pytest.raises(BenchmarkError, match="line 51: larger than"):
        list(files.json_lines(path))


def test_a_copy_is_its_files(tmp_path):
    """The first pattern that fits counts, links to files do; with names, only these are there."""
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", "folder.jsonl/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "link.jsonl").symlink_to("deep/c.jsonl")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "gone.jsonl").symlink_to("nowhere")

    copy = files.Copy(tmp_path, "made")
    part = files.Copy(tmp_path, "made", ["deep/c.jsonl", "b.jsonl"])

    assert [copy.name(path) for path in copy.find("*.json", "*.jsonl", "**/*.jsonl")] == [
        "a.jsonl",
        "b.jsonl",
        "link.jsonl",
    ]
    assert [part.name(path) for path in part.find("**/*.jsonl")] == ["b.jsonl", "deep/c.jsonl"]
    with pytest.raises(BenchmarkError, match=r"holds none of a\.jsonl"):
        part.find("a.jsonl")
    with pytest.raises(BenchmarkError, match="no such folder"):
        files.Copy(tmp_path / "loop.jsonl", "made").find("*")


def test_rows_are_read_by_the_name_of_a_file(tmp_path):
    """Parquet, JSON Lines and arrays, also compressed, give the same rows with their places."""
    rows = [{"a": 1, "b": {"c": ["x", "y"]}}, {"a": 2, "b": {"c": []}}]
    lines = b"\n".join(json.dumps(row).encode() for row in rows)
    array = b"\xef\xbb\xbf\n" + json.dumps(rows).encode()
    contents = {
        "r.parquet": fakehub.table(rows, row_group_size=1),
        "r.jsonl": lines,
        "r.jsonl.gz": gzip.compress(lines),
        "lines.json": lines,
        "array.json": array,
        "array.json.gz": gzip.compress(array),
    }
    copy = files.Copy(tmp_path, "made")
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)

        placed = list(copy.rows(name))

        assert [row for _, row in placed] == rows
        unit = "row" if "parquet" in name else "entry" if "array" in name else "line"
        assert placed[1][0] == f"{tmp_path / name}, {unit} 2"
    assert copy.hashes == {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }


def test_texts_of_a_copy_are_noted_and_decoded(tmp_path):
    """What is read has its hash among those of the copy; another encoding is read if named."""
    (tmp_path / "a.py").write_bytes(b"\xe9\n\nb\n")
    copy = files.Copy(tmp_path, "made")

    with pytest.raises(BenchmarkError, match=r"a\.py: not UTF-8 \(byte 0\)"):
        copy.text(tmp_path / "a.py")
    assert copy.text(tmp_path / "a.py", fallback="latin-1") == "\xe9\n\nb\n"
    with pytest.raises(BenchmarkError, match=r"a\.py, line 1: not UTF-8"):
        list(copy.lines(tmp_path / "a.py"))
    assert copy.hashes == {"a.py": hashlib.sha256(b"\xe9\n\nb\n").hexdigest()}
    with pytest.raises(BenchmarkError, match=r"gone\.py: cannot be read: No such file"):
        copy.text(tmp_path / "gone.py")


def test_parquet_gives_the_columns_that_are_wanted(tmp_path):
    """Of the columns those there are read; without any the file is of something else."""
    path = tmp_path / "r.parquet"
    path.write_bytes(fakehub.table([{"a": 1, "b": 2}]))

    assert list(files.parquet_rows(path, ["b", "c"])) == [(f"{path}, row 1", {"b": 2})]
    with pytest.raises(BenchmarkError, match=r"none of the columns c, d; it has \['a', 'b'\]"):
        list(files.parquet_rows(path, ["c", "d"]))


def test_damaged_parquet_is_one_error(tmp_path):
    """Cut off, garbled, of something else or missing, the file is named."""
    path = tmp_path / "r.parquet"
    whole = fakehub.table([{"a": "x" * 1000}] * 100)
    # The last is whole but for its pages.
    for content in (b"", b"PAR1", whole[:-20], whole[:4] + b"\xff" * 60 + whole[64:]):
        path.write_bytes(content)
        with pytest.raises(BenchmarkError, match=r"r\.parquet: cannot be read as parquet"):
            list(files.parquet_rows(path))
    path.unlink()
    with pytest.raises(BenchmarkError, match=r"r\.parquet: cannot be read as parquet"):
        list(files.parquet_rows(path))


def test_parquet_rows_that_are_too_large_are_refused(tmp_path, monkeypatch):
    """A file whose rows take more than any benchmark's is not read into memory."""
    path = tmp_path / "r.parquet"
    path.write_bytes(fakehub.table([{"a": "x" * 9000, "b": 1}]))
    monkeypatch.setattr(files, "MAX_BYTES", 1000)

    assert [row for _, row in files.parquet_rows(path, ["b"])] == [{"b": 1}]
    path.write_bytes(fakehub.table([{"a": random.Random(0).randbytes(9000).hex()}]))
    with pytest.raises(BenchmarkError, match=r"r\.parquet: larger than"):
        list(files.parquet_rows(path))


def test_an_array_is_named_by_entry(tmp_path):
    """Of a JSON array each entry has its place; another JSON value is an error."""
    path = tmp_path / "rows.json"
    path.write_text('[{"a": 1}]')
    assert files.json_array(path) == [(f"{path}, entry 1", {"a": 1})]

    path.write_text("[1]")
    with pytest.raises(BenchmarkError, match="entry 1: expected a JSON object, found an integer"):
        files.json_array(path)

    path.write_text('"a"')
    with pytest.raises(BenchmarkError, match="expected one JSON array"):
        files.json_array(path)


def test_fetched_rows_are_loaded_and_recorded(humaneval_copy, tmp_path):
    """Folder and file of a copy give the same data, and the manifest says where it is from."""
    humaneval = benchmarks.find("humaneval")

    assert not benchmarks.is_available(humaneval, tmp_path / "home")
    fetched = benchmarks.fetch(humaneval, humaneval_copy.parent, tmp_path / "home")
    assert benchmarks.is_available(humaneval, tmp_path / "home")
    loaded = benchmarks.load(humaneval, tmp_path / "home")
    again = benchmarks.fetch(humaneval, humaneval_copy, tmp_path / "home")

    assert fetched == again
    assert fetched.n_rows == 1
    digest = hashlib.sha256(humaneval_copy.read_bytes()).hexdigest()
    assert fetched.files == {"HumanEval.jsonl.gz": digest}
    manifest = json.loads((tmp_path / "home/humaneval/manifest.json").read_text())
    assert manifest["licence"] == "MIT"
    assert manifest["sha256"] == fetched.sha256
    assert [sample.sample_id for sample in loaded.samples] == ["Made/1"]
    assert sorted(path.name for path in (tmp_path / "home/humaneval").iterdir()) == [
        "manifest.json",
        f"rows-{fetched.sha256[:16]}.jsonl",
    ]


def test_a_missing_copy_says_what_to_give(tmp_path):
    """Without the file, the message names where it was looked for, what, and how to mend it."""
    humaneval = benchmarks.find("humaneval")

    with pytest.raises(BenchmarkError, match=r"holds none of HumanEval\.jsonl.*give the file"):
        benchmarks.fetch(humaneval, tmp_path, tmp_path)
    with pytest.raises(BenchmarkError, match=r"nowhere: no such folder"):
        benchmarks.fetch(humaneval, tmp_path / "nowhere", tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no rows of humaneval"),
        (json.dumps(ROW | {"test": 3}), "line 1: expected a text under 'test', found an integer"),
        (json.dumps({"task_id": "a"}), "line 1: expected a text under 'prompt', found nothing"),
    ],
    ids=["empty", "type", "key"],
)
def test_a_copy_of_something_else_is_refused(tmp_path, content, words):
    """Wrong content is one error that names file, line and key; nothing is written."""
    path = tmp_path / "HumanEval.jsonl"
    path.write_text(content)

    with pytest.raises(BenchmarkError, match=words):
        benchmarks.fetch(benchmarks.find("humaneval"), path, tmp_path / "home")

    assert list((tmp_path / "home").iterdir()) == []


def test_a_home_that_cannot_be_written_is_one_error(humaneval_copy):
    """A file in the place of the data folder is named."""
    with pytest.raises(BenchmarkError, match="cannot write the data of humaneval"):
        benchmarks.fetch(benchmarks.find("humaneval"), humaneval_copy, humaneval_copy)


def test_data_that_was_not_fetched_says_how_to_fetch(tmp_path):
    """Without data the message gives the command."""
    with pytest.raises(BenchmarkError, match="`memoprobe fetch mbpp`, with `--from PATH`"):
        benchmarks.load(benchmarks.find("mbpp"), tmp_path)


def test_changed_data_are_noticed(humaneval_copy, tmp_path):
    """Rows that are not those fetched are refused."""
    humaneval = benchmarks.find("humaneval")
    benchmarks.fetch(humaneval, humaneval_copy, tmp_path)
    (rows,) = (tmp_path / "humaneval").glob("rows-*.jsonl")
    rows.write_bytes(rows.read_bytes().replace(b"Return 1", b"Return 2"))

    with pytest.raises(BenchmarkError, match="not what was fetched"):
        benchmarks.load(humaneval, tmp_path)
    rows.unlink()
    with pytest.raises(BenchmarkError, match="cannot be read: No such file"):
        benchmarks.load(humaneval, tmp_path)


def test_a_fetch_that_fails_leaves_earlier_data(humaneval_copy, tmp_path):
    """Whatever breaks, the data of before are loaded; what succeeds takes their whole place."""
    humaneval, home = benchmarks.find("humaneval"), tmp_path / "home"
    benchmarks.fetch(humaneval, humaneval_copy, home)
    before = {path.name: path.read_bytes() for path in (home / "humaneval").iterdir()}

    def broken(copy):
        yield from humaneval.read(copy)
        raise KeyError

    humaneval_copy.write_bytes(gzip.compress(json.dumps(ROW).encode() + b"\n{"))
    with pytest.raises(BenchmarkError, match="line 2"):
        benchmarks.fetch(humaneval, humaneval_copy, home)
    humaneval_copy.write_bytes(gzip.compress(json.dumps(ROW | {"task_id": "Made/2"}).encode()))
    with pytest.raises(KeyError):
        benchmarks.fetch(replace(humaneval, read=broken), humaneval_copy, home)
    after = {path.name: path.read_bytes() for path in (home / "humaneval").iterdir()}
    (home / "humaneval/rows.jsonl").write_text("of an older version")
    benchmarks.fetch(humaneval, humaneval_copy, home)

    assert after == before
    assert [s.sample_id for s in benchmarks.load(humaneval, home).samples] == ["Made/2"]
    assert len(list((home / "humaneval").iterdir())) == 2


def test_a_disk_that_is_full_is_one_error(humaneval_copy, tmp_path):
    """Rows that cannot be written are told with the folder; earlier data stay."""
    code = (
        "import resource, sys; from pathlib import Path; from memoprobe import benchmarks;"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "benchmarks.fetch(benchmarks.find('humaneval'), Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, humaneval_copy, tmp_path / "home"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "cannot write the data of humaneval: File too large" in done.stderr
    assert list((tmp_path / "home").iterdir()) == []


def test_the_manifest_counts_what_is_used(humaneval_copy, tmp_path):
    """Rows read, used and skipped by reason are in it."""
    rows = [ROW, ROW, ROW | {"task_id": "Made/2", "entry_point": "other"}]
    humaneval_copy.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))

    fetched = benchmarks.fetch(benchmarks.find("humaneval"), humaneval_copy, tmp_path)

    manifest = json.loads((tmp_path / "humaneval/manifest.json").read_text())
    assert (fetched.n_rows, fetched.n_used) == (3, 1) == (manifest["n_rows"], manifest["n_used"])
    assert fetched.skipped == manifest["skipped"]
    assert sorted(fetched.skipped.values()) == [1, 1]
    assert manifest["commit"] is None


LARGE = """
import re, sys
from pathlib import Path
from memoprobe.benchmarks import BENCHMARKS, sources
from memoprobe.benchmarks.sources import Selection
from memoprobe.records import Sample
import json
from dataclasses import replace

def read(copy):
    yield from (row for _, row in copy.rows("*.parquet", columns=("name", "tests")))

def sample(row, _):
    cases = [{"stdin": text, "stdout": ""} for text in row["tests"]["input"]]
    tests = json.dumps({"kind": "stdio", "cases": cases})
    return Sample(benchmark="large", sample_id=row["name"], task="code_generation",
                  language="python", input_kind="prose", text="Add.", tests=tests)

large = replace(BENCHMARKS["humaneval"], name="large", read=read, sample=sample, options={})
fetched = sources.fetch(large, Path(sys.argv[1]), Path(sys.argv[2]))
loaded = sources.load(large, Path(sys.argv[2]), Selection(limit=1))
# Not by getrusage, which begins with the memory of the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)
print(fetched.n_used, len(loaded.samples[0].tests) >> 20, int(peak) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_large_rows_are_streamed(tmp_path):
    """Rows of 4 MB in one row group are fetched and loaded a few at a time.

    All 40 together would take three times the bound as Python values.
    """
    path, rng = tmp_path / "large.parquet", random.Random(0)
    text = rng.randbytes(1000).hex()
    rows = [
        {
            "name": f"r{n}",
            "tests": {"input": [f"{n} {k} {text}" for k in range(2000)]},
            "more": text,
        }
        for n in range(40)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)

    command = [sys.executable, "-c", LARGE, path, tmp_path / "home"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    n_used, tests_mb, peak_mb = map(int, done.stdout.split())
    assert (n_used, tests_mb) == (40, 3)
    assert peak_mb < 250


def test_rows_that_make_no_sample_are_counted():
    """Reasons are counted, a second row of an id is one, and nothing stops."""
    skip = sources.Skipped("no tests")

    loaded = sources.collect([skip, made("a"), skip, made("a", text="Other."), made("b")])

    assert [sample.text for sample in loaded.samples] == ["Do it.", "Do it."]
    assert loaded.skipped == {"its id occurs before": 1, "no tests": 2}


def test_a_window_of_dates():
    """From a day on and before another; what has no date is in no window."""
    dates = ["2024-06-30", "2024-07-01", "2024-07-31T23:00:00", "2024-08-01", None]
    samples = [made(f"s{number}", date=date) for number, date in enumerate(dates)]

    window = sources.Selection(after="2024-07-01", before="2024-08-01", control=True)
    loaded = sources.collect(samples, window)

    assert {(sample.sample_id, sample.control) for sample in loaded.samples} == {
        ("s1", True),
        ("s2", True),
    }
    assert loaded.skipped == {
        "dated 2024-08-01 or later": 1,
        "dated before 2024-07-01": 1,
        "no date, and a window of dates is asked for": 1,
    }


def test_options_are_completed_or_refused(humaneval_copy, tmp_path):
    """The first value is the default; an unknown name or value gives those that are known."""
    humaneval = benchmarks.find("humaneval")
    switched = replace(humaneval, options={"split": ("test", "train"), "tests": ("all",)})

    assert benchmarks.complete(switched, {"split": "train"}) == {"split": "train", "tests": "all"}
    known = r"known: split: test, train; tests: all"
    with pytest.raises(BenchmarkError, match=f"no option split = 'dev'; {known}"):
        benchmarks.complete(switched, {"split": "dev"})
    with pytest.raises(BenchmarkError, match=f"no option size = '1'; {known}"):
        benchmarks.complete(switched, {"size": "1"})
    benchmarks.fetch(humaneval, humaneval_copy, tmp_path)
    with pytest.raises(BenchmarkError, match="no option split = 'test'; known: none"):
        benchmarks.load(humaneval, tmp_path, sources.Selection(options={"split": "test"}))


def test_the_fingerprint_is_of_contents():
    """Another order of rows is the same data, another text is not."""
    a, b = made("a"), made("b")
    known = sources.collect([a, b]).fingerprint

    assert sources.collect([b, a]).fingerprint == known
    assert sources.collect([a, made("b", text="Do that.")]).fingerprint != known


@given(st.integers(0, 12), st.integers(), st.randoms(use_true_random=False))
def test_a_higher_limit_extends(limit, seed, rng):
    """The first n are among the first n + 1, in any order of rows, and new rows move nobody."""
    samples = [made(f"s{k}") for k in range(10)]
    shuffled = random.Random(rng.random()).sample(samples, len(samples))

    chosen = drawn(samples, limit, seed)
    everything = drawn(shuffled, None, seed)
    more = drawn([*samples, made("new")], None, seed)

    assert chosen == everything[:limit]
    assert len(chosen) == min(limit, 10)
    assert [sample for sample in more if sample.sample_id != "new"] == everything


def test_the_seed_draws_the_order():
    """Two seeds choose differently."""
    samples = [made(f"s{k}") for k in range(30)]

    assert drawn(samples, 5, 0) != drawn(samples, 5, 1)
