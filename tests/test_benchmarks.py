"""Facts about the registered benchmarks and the user's own."""

import json
from dataclasses import replace
from datetime import date

import pytest

from memoprobe import benchmarks
from memoprobe.benchmarks import code_generation, files, sources
from memoprobe.errors import BenchmarkError
from memoprobe.records import TEXT_SLOT
from tests.benchmark_data import copied, sampled, write_parquet
from tests.local import SHARED, needs_shared

HEAD = "import math\n\n\ndef half(x):\n    return x / 2\n\n\ndef twice(größe: int):\n"
HUMANEVAL = {
    "task_id": "Made/1",
    "prompt": HEAD + "    ''' Return twice the größe.\n    >>> twice(2)\n    4\n    '''\n",
    "canonical_solution": "    return 2 * größe\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    "entry_point": "twice",
}
FULL = {
    "task_id": 601,
    "text": " Write a function to double. ",
    "code": "N = 2\r\ndef help(x):\r\n\treturn N * x \r\ndef double(x):\r\n\treturn help(x)",
    "test_setup_code": "import math",
    "test_list": ["assert set([double(2)]) == {4}", "assert double(3) == 6"],
    "challenge_test_list": [],
}
SANITIZED = {
    "source_file": "made up",
    "task_id": 602,
    "prompt": "Write a function to halve.",
    "code": "def halve(x):\n    return x / 2",
    "test_imports": ["import math", "import re"],
    "test_list": ["assert halve(2) == 1"],
}


def test_the_registry_describes_itself():
    """Every use is named by its key, and an unknown name leads to the nearest."""
    assert {"humaneval", "mbpp"} <= benchmarks.BENCHMARKS.keys()
    assert all(benchmarks.find(name).name == name for name in benchmarks.BENCHMARKS)
    with pytest.raises(BenchmarkError, match="unknown benchmark 'humanevil'; nearest: 'humaneval'"):
        benchmarks.find("humanevil")


def test_humaneval_row():
    """The docstring is the text, the rest its context, a whole function the reference."""
    sample = code_generation.humaneval_sample(HUMANEVAL, {})

    assert sample.text == " Return twice the größe.\n    >>> twice(2)\n    4\n    "
    assert sample.whole(sample.text) == HUMANEVAL["prompt"]
    assert sample.reference == "def twice(größe: int):\n    return 2 * größe"
    assert json.loads(sample.tests) == {
        "kind": "check",
        "test": HUMANEVAL["test"],
        "entry_point": "twice",
        "setup": "import math\n\n\ndef half(x):\n    return x / 2",
    }
    assert sample.entry_point == "twice"


def test_humaneval_on_the_hub_is_humaneval(tmp_path):
    """The parquet file gives the sample of the original one."""
    name = "hub/openai_humaneval/test-00000-of-00001.parquet"
    write_parquet(tmp_path / name, [HUMANEVAL])
    path = copied(tmp_path, "HumanEval.jsonl", [HUMANEVAL])

    samples, skipped = sampled(benchmarks.find("humaneval"), tmp_path / "hub")

    assert (samples, skipped) == sampled(benchmarks.find("humaneval"), path)
    assert len(samples) == 1


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("def twice(x):\n    # nothing\n", "no docstring"),
        ('def other(x):\n    """Text."""\n', "no docstring"),
        ('def twice(x): """Text."""\n', "shares its line"),
        ('def twice(x):\n    """Text."""', "shares its line"),
    ],
    ids=["none", "another's", "one line", "no line end"],
)
def test_a_humaneval_row_without_a_text_is_skipped(prompt, reason):
    """A row whose docstring cannot be told from its code is counted, not guessed."""
    result = code_generation.humaneval_sample(HUMANEVAL | {"prompt": prompt}, {})

    assert isinstance(result, sources.Skipped)
    assert reason in result.reason


def test_mbpp_in_the_full_layout(tmp_path):
    """Line ends and tabs are made one, the first assert goes into the prompt."""
    path = tmp_path / "mbpp.jsonl"
    rows = [FULL, FULL | {"task_id": 2}, FULL | {"task_id": 603, "test_list": ["assert ab(1)"]}]
    path.write_text("\n".join(map(json.dumps, rows)))

    benchmarks.fetch(benchmarks.find("mbpp"), tmp_path, tmp_path / "home")
    (sample,), skipped, _ = benchmarks.load(benchmarks.find("mbpp"), tmp_path / "home")

    assert skipped == {
        "its tests call no function that its code defines": 1,
        "of the split prompt": 1,
    }
    assert sample.sample_id == "601"
    assert sample.entry_point == "double"
    assert sample.text == "Write a function to double."
    assert sample.reference.split("\n") == [
        "N = 2",
        "def help(x):",
        "    return N * x",
        "def double(x):",
        "    return help(x)",
    ]
    test = "assert set([double(2)]) == {4}"
    assert sample.whole("A.") == f"A.\n\nYour code should pass this test:\n{test}"
    assert json.loads(sample.tests) == {
        "kind": "asserts",
        "setup": "import math",
        "asserts": FULL["test_list"],
    }


def test_mbpp_in_the_sanitized_layout(tmp_path):
    """The JSON array with its other keys gives samples of the other version."""
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([SANITIZED], indent=1))
    mbpp = benchmarks.find("mbpp")

    (sample,), _ = sampled(mbpp, tmp_path, version="sanitized")
    none, skipped = sampled(mbpp, path)

    assert sample.text == SANITIZED["prompt"]
    assert json.loads(sample.tests)["setup"] == "import math\nimport re"
    assert (none, skipped) == ([], {"of the version sanitized": 1})


def test_mbpp_on_the_hub_is_mbpp(tmp_path):
    """Its parquet files, both versions side by side, give the samples of the original files."""
    rows = [FULL | {"task_id": number} for number in (5, 100, 550, 700)]
    copied(tmp_path / "original", "mbpp.jsonl", rows)
    copied(tmp_path / "original", "sanitized-mbpp.json", [SANITIZED])
    for row, split in zip(rows, ("prompt", "test", "validation", "train"), strict=True):
        write_parquet(tmp_path / f"hub/full/{split}-00000-of-00001.parquet", [row])
    write_parquet(tmp_path / "hub/sanitized/train-00000-of-00001.parquet", [SANITIZED])

    for options in ({}, {"split": "test"}, {"version": "sanitized"}):
        original = sampled(benchmarks.find("mbpp"), tmp_path / "original", **options)
        assert len(original[0]) == 1
        assert sampled(benchmarks.find("mbpp"), tmp_path / "hub", **options) == original


def test_mbpp_without_a_test_in_the_prompt(tmp_path):
    """The switch leaves the text alone; nothing else changes."""
    path = copied(tmp_path, "mbpp.jsonl", [FULL])

    (plain,), _ = sampled(benchmarks.find("mbpp"), path, test="none")
    (sample,), _ = sampled(benchmarks.find("mbpp"), path)

    assert plain.whole(plain.text) == "Write a function to double."
    assert replace(sample, context="") == plain


def test_mbpp_with_a_test_that_is_no_text_is_refused(tmp_path):
    """The entry is named."""
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([SANITIZED | {"test_list": [1]}]))

    with pytest.raises(BenchmarkError, match="entry 1: expected a text under 'test_list'"):
        benchmarks.fetch(benchmarks.find("mbpp"), path, tmp_path)


def own(tmp_path, *rows, task="code_generation"):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return benchmarks.load_own("mine", [path], task)


def test_own_rows(tmp_path):
    """All keys arrive in the sample; numbers are ids too, null is absent."""
    row = {
        "id": 7,
        "input": "Add.",
        "reference": "def add(a, b):\n    return a + b",
        "tests": [{"args": [1, 2], "expected": 3, "timeout_s": 2}],
        "entry_point": "add",
        "language": "Python",
        "context": f"def add(a, b):\n    '''{TEXT_SLOT}'''\n",
        "cluster": "mine",
        "date": "2024-05-31",
        "control": True,
    }

    loaded = own(tmp_path, row, {"id": "b", "input": "Sub.", "tests": None})

    first, second = loaded.samples
    assert (first.benchmark, first.sample_id, first.language) == ("mine", "7", "python")
    assert first.input_kind == "prose"
    assert first.whole("Add.") == "def add(a, b):\n    '''Add.'''\n"
    assert json.loads(first.tests) == {"kind": "calls", "cases": row["tests"]}
    assert (first.cluster, first.date, first.control) == ("mine", "2024-05-31", True)
    assert (second.tests, second.reference, second.control) == (None, None, False)


@pytest.mark.parametrize(
    ("tests", "kind"),
    [
        (["assert f(1)"], "asserts"),
        ([{"args": [], "expected": None}], "calls"),
        ([{"stdin": "1", "stdout": "2", "timeout_s": 0.5}], "stdio"),
    ],
)
def test_own_tests_of_each_kind(tmp_path, tests, kind):
    """Statements, calls and inputs are told apart by their shape."""
    row = {"id": 1, "input": "def f(): pass", "tests": tests, "entry_point": "f"}

    (sample,) = own(tmp_path, row, task="program_repair").samples

    assert json.loads(sample.tests)["kind"] == kind
    assert sample.input_kind == "code"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"input": "A."}, "expected a text or a number under 'id'"),
        ({"id": "", "input": "A."}, "expected a text or a number under 'id'"),
        ({"id": True, "input": "A."}, "expected a text or a number under 'id'"),
        ({"id": 1}, "expected a text under 'input', found nothing"),
        ({"id": 1, "input": " "}, "'input' is empty"),
        ({"id": 1, "input": "A.", "refrence": ""}, "unknown key 'refrence', nearest known: 'ref"),
        (
            {"id": 1, "input": "A.", "control": 1},
            "expected true or false under 'control', found an integer",
        ),
        ({"id": 1, "input": "A.", "date": "May"}, "expected a date such as"),
        ({"id": 1, "input": "A.", "tests": "assert"}, "expected a list under 'tests'"),
        ({"id": 1, "input": "A.", "tests": "[assert"}, "'tests': not valid JSON"),
        ({"id": 1, "input": "A.", "tests": ["a", {}]}, "expected 'tests' to be a list of"),
        ({"id": 1, "input": "A.", "tests": [{"args": 1, "expected": 1}]}, "expected 'tests'"),
        (
            {"id": 1, "input": "A.", "tests": [{"stdin": "", "stdout": "", "timeout_s": 0}]},
            "expected 'tests'",
        ),
        ({"id": 1, "input": "A.", "tests": [{"args": [], "expected": 1}]}, "need 'entry_point'"),
        ({"id": 1, "input": "A.", "reference": ""}, "'reference' holds no code"),
        ({"id": 1, "input": "A.", "reference": " \n"}, "'reference' holds no code"),
        ({"id": 1, "input": "A.", "reference": '# 1\n"x"'}, "'reference' holds no code"),
        ({"id": 0, "input": "A."}, "id '0' stands already in .*line 1"),
    ],
)
def test_a_malformed_own_row_is_named(tmp_path, row, words):
    """One error names file, line, what was expected and what was found."""
    with pytest.raises(BenchmarkError, match=rf"mine\.jsonl, line 2: .*{words}"):
        own(tmp_path, {"id": 0, "input": "A."}, row)


def test_own_columns_by_other_names(tmp_path):
    """A mapping names the columns, in any number of files; what it does not name is ignored."""
    first = {"task": 1, "question": "Add.", "answer": "x = 1", "language": "C++", "noise": 0}
    paths = [
        copied(tmp_path, "a.jsonl", [first]),
        write_parquet(tmp_path / "b.parquet", [{"task": 2, "question": "Sub.", "more": [1]}]),
        copied(tmp_path, "c.json", [{"task": 3, "question": "Mul.", "answer": None}]),
    ]
    fields = {"id": "task", "input": "question", "reference": "answer"}

    loaded = benchmarks.load_own("mine", paths, "code_generation", fields)

    samples = {sample.sample_id: sample for sample in loaded.samples}
    assert {name: sample.text for name, sample in samples.items()} == {
        "1": "Add.",
        "2": "Sub.",
        "3": "Mul.",
    }
    assert [samples[name].reference for name in "123"] == ["x = 1", None, None]
    assert [samples[name].language for name in "123"] == ["cpp", "python", "python"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "id", "inputs": "text"}, "unknown key 'inputs'; known: id, input,"),
        ({"input": "texts"}, "line 1: no 'texts', the input; name it in fields; it has 'id', 'te"),
        ({"input": "text", "date": "day"}, r"mine\.jsonl: .* columns that no row has: day"),
    ],
)
def test_a_mapping_of_what_is_not_there_is_refused(tmp_path, fields, words):
    """A key that is none of ours and a column that is in no row are both named."""
    path = copied(tmp_path, "mine.jsonl", [{"id": 1, "text": "Add."}, {"id": 2, "text": "Sub."}])

    with pytest.raises(BenchmarkError, match=words):
        benchmarks.load_own("mine", [path], "code_generation", fields)


def test_own_parquet_brings_its_own_types(tmp_path):
    """Dates are dates, a test without a limit has null for it, and tests may be a JSON text."""
    tests = [{"args": [1], "expected": 2, "timeout_s": 3.0}, {"args": [2], "expected": 3}]
    row = {"id": 1, "input": "Add.", "entry_point": "f", "date": date(2024, 5, 31)}
    as_lists = write_parquet(tmp_path / "a.parquet", [row | {"tests": tests}])
    as_text = write_parquet(tmp_path / "b.parquet", [row | {"tests": json.dumps(tests)}])

    (first,) = benchmarks.load_own("mine", [as_lists], "code_generation").samples
    (second,) = benchmarks.load_own("mine", [as_text], "code_generation").samples

    assert first == second
    assert first.date == "2024-05-31"
    assert json.loads(first.tests) == {"kind": "calls", "cases": tests}


def test_own_controls_and_dates(tmp_path):
    """A set can be control as a whole, and a window leaves out what was known before."""
    rows = [
        {"id": 1, "input": "Add.", "date": "2024-06-30T23:00:00"},
        {"id": 2, "input": "Sub.", "date": "20240701"},
        {"id": 3, "input": "Mul."},
    ]
    path = copied(tmp_path, "mine.jsonl", rows)
    selection = benchmarks.Selection(after="2024-07-01", control=True)

    loaded = benchmarks.load_own("mine", [path], "code_generation", selection=selection)

    (sample,) = loaded.samples
    assert (sample.sample_id, sample.date, sample.control) == ("2", "2024-07-01", True)
    assert loaded.skipped == {
        "dated before 2024-07-01": 1,
        "no date, and a window of dates is asked for": 1,
    }


def test_an_id_stands_in_one_file_only(tmp_path):
    """A second file with the same id is refused, naming the place of the first."""
    paths = [copied(tmp_path, name, [{"id": 1, "input": "A."}]) for name in ("a.jsonl", "b.jsonl")]

    with pytest.raises(BenchmarkError, match=r"b\.jsonl, line 1: id '1' .* in .*a\.jsonl, line 1"):
        benchmarks.load_own("mine", paths, "code_generation")


def test_own_file_without_rows(tmp_path):
    """An empty file is an error, not an empty benchmark."""
    with pytest.raises(BenchmarkError, match="no rows; expected one JSON object a line"):
        own(tmp_path)


@needs_shared
def test_humaneval_rows_are_kept_to_the_bit(tmp_path):
    """On every real row, context around text is the original prompt."""
    source = SHARED / "data" / "humaneval"
    benchmarks.fetch(benchmarks.find("humaneval"), source, tmp_path)

    samples, skipped, _ = benchmarks.load(benchmarks.find("humaneval"), tmp_path)

    rows = [row for _, row in files.json_lines(source / "HumanEval.jsonl.gz")]
    assert skipped == {}
    assert {sample.sample_id: sample.whole(sample.text) for sample in samples} == {
        row["task_id"]: row["prompt"] for row in rows
    }


@needs_shared
@pytest.mark.parametrize(
    ("name", "folder", "n_rows", "n_samples"),
    [("mbpp", "mbpp", 280, 120)],
)
def test_real_copies_load(tmp_path, name, folder, n_rows, n_samples):
    """Every real row is a sample or skipped for being of another split; code has one layout."""
    fetched = benchmarks.fetch(benchmarks.find(name), SHARED / "data" / folder, tmp_path)
    samples, skipped, _ = benchmarks.load(benchmarks.find(name), tmp_path)

    assert fetched.n_rows == n_rows
    assert len(samples) == n_samples
    assert n_samples + sum(skipped.values()) == n_rows
    assert not any("\r" in sample.reference or "\t" in sample.reference for sample in samples)
