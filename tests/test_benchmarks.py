"""Facts about the registered benchmarks and the user's own."""

import json

import pytest

from memoprobe import benchmarks
from memoprobe.benchmarks import code_generation, files, program_repair, sources
from memoprobe.errors import BenchmarkError
from memoprobe.records import TEXT_SLOT
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
BUGGY = (
    'from a import b\n\ndef add(x, y):\n    """Keep."""\n    return x - y\n'
    '\n"""\nAdd x to y.\n"""\n'
)
GRAPH_TEST = "from node import Node\ndef test1():\n    assert add(Node(1), Node(2))\n"


def case_test(call="add(*input_data) == expected"):
    return f'def test_add(input_data, expected):\n    """Doc."""\n    assert {call}\n'


@pytest.fixture
def quixbugs(tmp_path):
    """A made-up clone of one program, two helpers and an old driver."""
    texts = {
        "python_programs/add.py": BUGGY,
        "python_programs/add_test.py": "print(1)",
        "python_programs/node.py": "class Node: pass",
        "correct_python_programs/add.py": BUGGY.replace("-", "+"),
        "python_testcases/test_add.py": case_test(),
        "python_testcases/node.py": "class Node: pass",
        "json_testcases/add.json": "[[1, 2], 3]\n\n[[2, 2], 4]\n",
        "conftest.py": "import pytest\n",
        "README.md": "read me",
    }
    for name, text in texts.items():
        path = tmp_path / "QuixBugs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "QuixBugs"


def test_the_registry_describes_itself():
    """Every use is named by its key, and an unknown name leads to the nearest."""
    assert list(benchmarks.BENCHMARKS) == ["humaneval", "mbpp", "quixbugs-repair"]
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
    }
    assert sample.entry_point == "twice"


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
    assert sorted(skipped.values()) == [1, 1]


def test_mbpp_in_the_sanitized_layout(tmp_path):
    """The JSON array with its other keys gives the same samples."""
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([SANITIZED], indent=1))

    fetched = benchmarks.fetch(benchmarks.find("mbpp"), tmp_path, tmp_path / "home")
    (sample,), _, _ = benchmarks.load(benchmarks.find("mbpp"), tmp_path / "home")

    assert list(fetched.files) == ["sanitized-mbpp.json"]
    assert sample.text == SANITIZED["prompt"]
    assert json.loads(sample.tests)["setup"] == "import math\nimport re"


def test_mbpp_with_a_test_that_is_no_text_is_refused(tmp_path):
    """The entry is named."""
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([SANITIZED | {"test_list": [1]}]))

    with pytest.raises(BenchmarkError, match="entry 1: expected a text under 'test_list'"):
        benchmarks.fetch(benchmarks.find("mbpp"), path, tmp_path)


def test_quixbugs_program(quixbugs, tmp_path):
    """Strings after the function go, in-function ones stay; helpers are no programs."""
    benchmark = benchmarks.find("quixbugs-repair")

    fetched = benchmarks.fetch(benchmark, quixbugs, tmp_path)
    (sample,), skipped, _ = benchmarks.load(benchmark, tmp_path)

    assert "README.md" not in fetched.files
    assert sample.sample_id == sample.entry_point == "add"
    assert sample.text == 'from a import b\n\ndef add(x, y):\n    """Keep."""\n    return x - y'
    assert sample.reference == sample.text.replace("-", "+")
    assert json.loads(sample.tests) == {
        "kind": "calls",
        "cases": [{"args": [1, 2], "expected": 3}, {"args": [2, 2], "expected": 4}],
    }
    assert skipped == {}


@pytest.fixture
def quixbugs_row(quixbugs):
    (row,) = program_repair.QUIXBUGS_REPAIR.read(quixbugs).rows
    return row


def test_quixbugs_cases_are_read_as_its_pytest_file_reads_them(quixbugs_row):
    """Generators, tolerances and cases that take minutes are noted, a lone argument wrapped."""
    call = "list(add(*input_data)) == pytest.approx(expected, abs=input_data[-1])"
    skip = "    if slow and input_data == [[7], 2]:\n        pytest.skip()\n"
    row = quixbugs_row | {"pytest": case_test(call) + skip, "cases": [[[[7], 2], 1], [4, 5]]}

    tests = json.loads(program_repair.quixbugs_sample(row, {}).tests)

    assert tests == {
        "kind": "calls",
        "listed": True,
        "cases": [
            {"args": [[7], 2], "expected": 1, "tolerance": 2, "slow": True},
            {"args": [4], "expected": 5, "tolerance": 4},
        ],
    }


def test_quixbugs_programs_on_graphs_keep_their_pytest_file(quixbugs_row):
    """Without JSON cases the tests are the files to run, beside the place of the answer."""
    row = quixbugs_row | {"pytest": GRAPH_TEST, "cases": []}

    tests = json.loads(program_repair.quixbugs_sample(row, {}).tests)

    assert tests["kind"] == "pytest"
    assert tests["module"] == "python_programs/add.py"
    assert tests["files"] == {
        "test_add.py": GRAPH_TEST,
        "conftest.py": "import pytest\n",
        "node.py": "class Node: pass",
    }


@pytest.mark.parametrize(
    "change",
    [{"correct": ""}, {"pytest": "def"}, {"cases": [[1, 2, 3]]}, {"cases": [], "pytest": ""}],
    ids=["no correct version", "no Python", "no pair", "no tests"],
)
def test_a_quixbugs_program_without_its_parts_is_skipped(quixbugs_row, change):
    """What is missing or unreadable is counted."""
    assert isinstance(program_repair.quixbugs_sample(quixbugs_row | change, {}), sources.Skipped)


def test_quixbugs_wants_its_folder(tmp_path):
    """Another folder is refused with the name of what it lacks."""
    with pytest.raises(BenchmarkError, match=r"no folder python_programs; give the folder"):
        benchmarks.fetch(benchmarks.find("quixbugs-repair"), tmp_path, tmp_path)


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
    [("mbpp", "mbpp", 280, 120), ("quixbugs-repair", "quixbugs", 30, 30)],
)
def test_real_copies_load(tmp_path, name, folder, n_rows, n_samples):
    """Every real row is a sample or skipped for being of another split; code has one layout."""
    fetched = benchmarks.fetch(benchmarks.find(name), SHARED / "data" / folder, tmp_path)
    samples, skipped, _ = benchmarks.load(benchmarks.find(name), tmp_path)

    assert fetched.n_rows == n_rows
    assert len(samples) == n_samples
    assert n_samples + sum(skipped.values()) == n_rows
    assert not any("\r" in sample.reference or "\t" in sample.reference for sample in samples)
    assert not any('"""' in sample.text for sample in samples)
