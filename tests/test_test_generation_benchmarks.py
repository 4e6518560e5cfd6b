"""Facts about the benchmarks that ask for a test: QuixBugs, BigCodeBench and TestEval."""

import ast
import json

import pytest

from memoprobe import languages
from memoprobe.benchmarks import files, quixbugs, sources, test_generation
from memoprobe.errors import BenchmarkError
from tests.benchmark_data import copied, quixbugs_mirror, sampled, write_parquet, write_quixbugs
from tests.local import SHARED, needs_shared

PYTHON, JAVA = {"language": "python"}, {"language": "java"}
BIGCODEBENCH = {
    "task_id": "Made/1",
    "complete_prompt": 'import re\ndef task_func(a):\n    """Count."""\n',
    "instruct_prompt": "Count.\nThe function should output with:\n    int: n\n"
    "You should write self-contained code starting with:\n```\nimport re\n```",
    "canonical_solution": "    return len(re.findall('x', a))  # all\n",
    "code_prompt": "import re\ndef task_func(a):\n",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n\tdef test_case_1(self):\n"
    "\t\tself.assertEqual(task_func('x'), 1)\n",
    "entry_point": "task_func",
    "doc_struct": "{}",
    "libs": "['re']",
}
TESTEVAL = {
    "task_num": 7,
    "task_title": "Made Up",
    "difficulty": 1,
    "func_name": "half",
    "description": "Given `n`, halve it.\n\n",
    "python_solution": "\nimport math\r\n\r\nclass Solution:\r\n  def half(self, n):\r\n"
    '    """Keep."""\r\n    return n / 2\r\n',
    "blocks": [],
    "target_lines": [7],
}


@pytest.fixture
def quixbugs_row(tmp_path):
    (row,) = quixbugs.TESTS.read(files.Copy(write_quixbugs(tmp_path / "QuixBugs"), "QuixBugs"))
    return row


def test_quixbugs_program_to_test(quixbugs_row):
    """The correct version is the text, its cases are the reference; the task's text is left out."""
    sample = quixbugs.tests_sample(quixbugs_row, PYTHON)

    assert sample.task == "test_generation"
    assert sample.text == "from a import b\n\ndef add(x, y):\n    return x + y"
    assert sample.reference == (
        "def test_add():\n    assert add(1, 2) == 3\n    assert add(2, 2) == 4"
    )
    assert json.loads(sample.tests) == {"kind": "generated"}
    assert (sample.entry_point, sample.context) == ("add", "")


def test_quixbugs_program_to_test_in_java(quixbugs_row):
    """The reference is the JUnit class, which calls the class as the prompt shows it."""
    sample = quixbugs.tests_sample(quixbugs_row, JAVA)

    assert sample.reference.startswith("public class ADD_TEST {\n    @org.junit.Test\n")
    assert "int result = ADD.add(1, 2);" in sample.reference
    assert json.loads(sample.tests) == {"kind": "generated", "class": "ADD"}


@pytest.mark.parametrize(
    ("call", "cases", "asserts"),
    [
        ("list(add(*x)) == expected", [[[[1], 2], [3]]], ["assert list(add([1], 2)) == [3]"]),
        (
            "add(*x) == approx(e, abs=x[-1])",
            [[[4, 0.1], 2]],
            ["assert abs(add(4, 0.1) - 2) <= 0.1"],
        ),
        ("add(*x) == [tuple(y) for y in e]", [[1, [[2, 3]]]], ["assert add(1) == [(2, 3)]"]),
        ("add(*x) if x != [9] else 1", [[[9], 1], [["'"], None]], ['assert add("\'") == None']),
    ],
    ids=["generator", "tolerance", "tuples", "slow"],
)
def test_asserts_say_what_the_pytest_file_says(quixbugs_row, call, cases, asserts):
    """Cases become statements that hold in plain Python; those that take minutes are left out."""
    row = quixbugs_row | {"pytest": f"def test_add(x, e):\n    assert {call}\n", "cases": cases}

    sample = quixbugs.tests_sample(row, PYTHON)

    assert sample.reference.split("\n    ")[1:] == asserts


def test_quixbugs_programs_on_graphs_have_their_tests_as_reference(quixbugs_row):
    """Of a pytest file the functions and what they import stay, the choice of a version goes."""
    test = (
        "import pytest\nfrom node import Node\n\nif pytest.use_correct:\n    from c import add\n"
        "else:\n    from p import add\n\n\ndef test1():\n    assert add(Node(1), Node(2))\n"
    )

    sample = quixbugs.tests_sample(quixbugs_row | {"pytest": test, "cases": []}, PYTHON)

    assert sample.reference == (
        "from node import Node\n\n\n\ndef test1():\n    assert add(Node(1), Node(2))"
    )
    assert json.loads(sample.tests) == {
        "kind": "generated",
        "files": {"node.py": quixbugs_row["node"]},
    }


def test_quixbugs_through_the_hub_has_the_same_asserts(quixbugs_row, tmp_path):
    """The mirror's asserts are the reference, in the layout of those made from cases."""
    mirror = quixbugs_mirror() | {"tests": "assert add(1,2)==3\nassert(add(2, 2) == 4)"}
    path = copied(tmp_path / "hub", "quixbugs_python.jsonl", [mirror])

    (sample,), _ = sampled(quixbugs.TESTS, path)
    _, skipped = sampled(quixbugs.TESTS, path, **JAVA)

    assert sample == quixbugs.tests_sample(quixbugs_row, PYTHON)
    assert skipped == {"no correct version in java": 1}


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"correct": ""}, PYTHON),
        ({"cases": [[1, 2, 3]]}, PYTHON),
        ({"cases": [], "pytest": "def"}, PYTHON),
        ({"junit": ""}, JAVA),
    ],
    ids=["no correct version", "no pair", "no Python", "no JUnit"],
)
def test_a_quixbugs_program_without_a_reference_is_skipped(quixbugs_row, change, options):
    """What is missing or unreadable is counted."""
    assert isinstance(quixbugs.tests_sample(quixbugs_row | change, options), sources.Skipped)


def test_bigcodebench_row(tmp_path):
    """Head and body are the program, the prose before the signature its context."""
    path = copied(tmp_path, "hf_data/BigCodeBench.jsonl", [BIGCODEBENCH])

    (sample,), _ = sampled(test_generation.BIGCODEBENCH, path.parents[1])

    assert sample.sample_id == "Made/1"
    assert sample.text == "import re\ndef task_func(a):\n    return len(re.findall('x', a))  # all"
    assert sample.context == "Count.\nThe function should output with:\n    int: n"
    assert sample.reference == (
        "import unittest\nclass TestCases(unittest.TestCase):\n    def test_case_1(self):\n"
        "        self.assertEqual(task_func('x'), 1)"
    )
    assert json.loads(sample.tests) == {"kind": "generated"}
    assert sample.entry_point == "task_func"


def test_bigcodebench_on_the_hub_has_versions(tmp_path):
    """One version is used, the study's by default; rows of the others are counted."""
    newer = BIGCODEBENCH | {"canonical_solution": "    return a.count('x')\n"}
    write_parquet(tmp_path / "data/v0.1.0_hf-00000-of-00001.parquet", [BIGCODEBENCH])
    write_parquet(tmp_path / "data/v0.1.4-00000-of-00001.parquet", [newer])
    local = copied(tmp_path / "local", "BigCodeBench.jsonl", [BIGCODEBENCH])

    first, skipped = sampled(test_generation.BIGCODEBENCH, tmp_path)
    second, _ = sampled(test_generation.BIGCODEBENCH, tmp_path, version="v0.1.4")
    of_any, _ = sampled(test_generation.BIGCODEBENCH, local, version="v0.1.4")

    assert first == of_any
    assert skipped == {"not of version v0.1.0_hf": 1}
    assert second[0].text.endswith("return a.count('x')")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "    def g():\n        '''Gone.'''\n    return g  # too\n",
            "    def g():\n        pass\n",
        ),
        ("    return (", None),
    ],
    ids=["docstring", "no Python"],
)
def test_unusual_programs_of_bigcodebench(body, text):
    """A docstring inside a body goes, and a program that does not parse is counted."""
    row = BIGCODEBENCH | {"canonical_solution": body, "version": None}

    result = test_generation.bigcodebench_sample(row, {"version": "v0.1.0_hf"})

    if text is None:
        assert result == sources.Skipped("its program does not parse")
    else:
        assert result.text == f"{BIGCODEBENCH['code_prompt']}{text}    return g"


def test_testeval_row(tmp_path):
    """The program keeps its lines, for target lines are counted in it; there is no reference."""
    copied(tmp_path / "data", "leetcode-py.jsonl", [TESTEVAL | {"task_num": 8}])
    (base,), _ = sampled(test_generation.TESTEVAL, tmp_path)
    copied(tmp_path / "data", "leetcode-py-all.jsonl", [TESTEVAL | {"sampled_paths": []}])
    (sample,), _ = sampled(test_generation.TESTEVAL, tmp_path)

    lines = sample.text.split("\n")
    assert (base.sample_id, base.text) == ("8", sample.text)
    assert (sample.sample_id, sample.entry_point, sample.reference) == ("7", "half", None)
    assert (lines[0], lines[6]) == ("", "    return n / 2")
    assert sample.context == "Given `n`, halve it."
    assert json.loads(sample.tests) == {
        "kind": "generated",
        "class": "Solution",
        "target_lines": [7],
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"python_solution": "class ("}, "its program does not parse"),
        ({"target_lines": [8]}, "a target line is no line of its program"),
        ({"target_lines": ["7"]}, "a target line is no line of its program"),
    ],
)
def test_a_row_of_testeval_that_cannot_be_used_is_skipped(change, reason):
    """It is counted by its reason."""
    assert test_generation.testeval_sample(TESTEVAL | change, {}) == sources.Skipped(reason)


@pytest.mark.parametrize(
    ("benchmark", "name", "row", "key"),
    [
        (test_generation.BIGCODEBENCH, "BigCodeBench.jsonl", BIGCODEBENCH, "code_prompt"),
        (test_generation.TESTEVAL, "leetcode-py.jsonl", TESTEVAL, "func_name"),
        (quixbugs.TESTS, "quixbugs_python.jsonl", quixbugs_mirror(), "buggy_program"),
    ],
)
def test_a_file_without_a_column_is_refused(tmp_path, benchmark, name, row, key):
    """The error names the line and the column."""
    path = copied(tmp_path, name, [row, {k: v for k, v in row.items() if k != key}])

    with pytest.raises(BenchmarkError, match=f"line 2: expected a text under '{key}', found noth"):
        sampled(benchmark, path)


@needs_shared
def test_real_references_of_quixbugs_hold():
    """Each assert made from JSON cases holds on the correct program."""
    samples, skipped = sampled(quixbugs.TESTS, SHARED / "data/quixbugs")
    java, _ = sampled(quixbugs.TESTS, SHARED / "data/quixbugs", **JAVA)

    made = [sample for sample in samples if f"def test_{sample.sample_id}()" in sample.reference]
    for sample in made:
        space = {}
        code = compile(f"{sample.text}\n{sample.reference}", sample.sample_id, "exec")
        exec(code, space)  # noqa: S102  the benchmark's own programs, read and known
        if sample.sample_id != "levenshtein":  # takes two seconds
            space[f"test_{sample.sample_id}"]()
    assert (len(samples), len(made), len(java), skipped) == (30, 23, 30, {})
    assert all(languages.parses(sample.reference, "java") for sample in java)


@needs_shared
def test_real_rows_of_bigcodebench():
    """All 160 are samples; the context of the first ends before its signature is repeated."""
    samples, skipped = sampled(test_generation.BIGCODEBENCH, SHARED / "data/bigcodebench")

    by_id = {sample.sample_id: sample for sample in samples}
    third = by_id["BigCodeBench/3"]
    assert (len(samples), len(by_id), skipped) == (160, 160, {})
    assert {sample.entry_point for sample in samples} == {"task_func"}
    assert third.text.split("\n")[2:4] == [
        "def task_func(LETTERS):",
        "    random_dict = {k: [random.randint(0, 100) for _ in range(random.randint(1, 10))]"
        " for k in LETTERS}",
    ]
    assert third.context.startswith("Create a dictionary where keys are specified letters")
    assert third.context.endswith("having 1 to 10 integers ranging from 0 to 100).")
    assert third.reference.startswith("import unittest\n\nclass TestCases(unittest.TestCase):")


@needs_shared
@pytest.mark.parametrize("name", ["leetcode-py-all.jsonl", "leetcode-py.jsonl"])
def test_real_rows_of_testeval(name):
    """All 160 of both files are samples; each target line holds code of the program."""
    samples, skipped = sampled(test_generation.TESTEVAL, SHARED / "data/testeval/data" / name)

    first = samples[0]
    assert (len(samples), skipped) == (160, {})
    assert (first.sample_id, first.entry_point) == ("4", "findMedianSortedArrays")
    assert first.context.endswith("The overall run time complexity should be `O(log (m+n))`.")
    for sample in samples:
        lines = sample.text.split("\n")
        assert all(lines[n - 1].strip() for n in json.loads(sample.tests)["target_lines"])
        (solution,) = [
            node
            for node in ast.parse(sample.text).body
            if isinstance(node, ast.ClassDef) and node.name == "Solution"
        ]
        assert sample.entry_point in {getattr(node, "name", None) for node in solution.body}
