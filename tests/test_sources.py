"""Facts about reading benchmark files and keeping them in the user's data folder."""

import gzip
import hashlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import benchmarks
from memoprobe.benchmarks import files, sources
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample

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
        "rows.jsonl",
    ]


def test_a_missing_copy_says_what_to_give(tmp_path):
    """Without the file, the message names where it was looked for, what, and how to mend it."""
    humaneval = benchmarks.find("humaneval")

    with pytest.raises(BenchmarkError, match=r"holds none of HumanEval\.jsonl\.gz.*give the file"):
        benchmarks.fetch(humaneval, tmp_path, tmp_path)
    with pytest.raises(BenchmarkError, match=r"nowhere: does not exist"):
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

    assert not (tmp_path / "home").exists()


def test_a_home_that_cannot_be_written_is_one_error(humaneval_copy):
    """A file in the place of the data folder is named."""
    with pytest.raises(BenchmarkError, match="cannot write the data of humaneval"):
        benchmarks.fetch(benchmarks.find("humaneval"), humaneval_copy, humaneval_copy)


def test_data_that_was_not_fetched_says_how_to_fetch(tmp_path):
    """Without data the message gives the command."""
    with pytest.raises(BenchmarkError, match="memoprobe fetch mbpp --from"):
        benchmarks.load(benchmarks.find("mbpp"), tmp_path)


def test_changed_data_are_noticed(humaneval_copy, tmp_path):
    """Rows that are not those fetched are refused."""
    humaneval = benchmarks.find("humaneval")
    benchmarks.fetch(humaneval, humaneval_copy, tmp_path)
    rows = tmp_path / "humaneval" / "rows.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b"Return 1", b"Return 2"))

    with pytest.raises(BenchmarkError, match="not what was fetched"):
        benchmarks.load(humaneval, tmp_path)


def test_rows_that_make_no_sample_are_counted():
    """Reasons are counted, a second row of an id is one, and nothing stops."""
    skip = sources.Skipped("no tests")

    loaded = sources.collect([skip, made("a"), skip, made("a", text="Other."), made("b")])

    assert [sample.text for sample in loaded.samples] == ["Do it.", "Do it."]
    assert loaded.skipped == {"its id occurs before": 1, "no tests": 2}


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
