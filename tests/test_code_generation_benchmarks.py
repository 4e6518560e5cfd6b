"""Facts about the larger benchmarks of code generation; rows are made up unless said otherwise."""

import ast
import base64
import csv
import json
import pickle
import zlib

import pytest

from memoprobe import benchmarks
from memoprobe.benchmarks import sources
from memoprobe.benchmarks.code_generation_contests import split_prose
from memoprobe.errors import BenchmarkError
from tests.benchmark_data import copied, sampled, write_parquet
from tests.local import SHARED, needs_shared

PROSE = "Ana has $n$ made-up coins.\n\nNote that the input is small. For example, $n$ is $3$."
BLOCKS = "-----Input-----\n\nOne integer $n$.\n\n\n-----Output-----\n\nPrint it.\n"
APPS_STDIN = {
    "problem_id": 7,
    "question": f"{PROSE}\n\n\n{BLOCKS}",
    "solutions": json.dumps(["  ", "n = int(input())\r\nprint(n)\r\n", "print(input())"]),
    "input_output": json.dumps({"inputs": ["3\n", ["4", "5"]], "outputs": ["3\n", ["4", 5]]}),
    "difficulty": "interview",
    "url": "https://codeforces.com/problemset/problem/99999/B",
    "starter_code": "",
}
APPS_CALL = {
    "problem_id": 12,
    "question": "Double the number.\n\nExample 1:\nInput: 2\nOutput: 4\n",
    "solutions": json.dumps(["class Solution:\n    def twice(self, x):\n        return 2 * x"]),
    "input_output": json.dumps({"fn_name": "twice", "inputs": [[2]], "outputs": [[4]]}),
    "difficulty": "introductory",
    "url": "https://example.org/problems/twice",
    "starter_code": "\nclass Solution:\n    def twice(self, x: int) -> int:\n        ",
}
CONTEST = {
    "name": "99999_A. Made up",
    "description": f"{PROSE}\n\nInput\n\nOne integer.\n\nOutput\n\nPrint it.\n\nExample\n\n3\n",
    "public_tests": {"input": ["3\n"], "output": ["3\n"]},
    "private_tests": {"input": ["4\n"], "output": ["4\n"]},
    "generated_tests": {"input": ["5\n", "6" * 70_000], "output": ["5\n", "6" * 70_000]},
    "source": 2,
    "solutions": {
        "language": [1, 2, 3, 3, 9],
        "solution": ["print raw_input()", "int main() {}", "print(input())", "pass", "?"],
    },
    "incorrect_solutions": {"language": [3], "solution": ["print(1)"]},
    "cf_contest_id": 99999,
    "time_limit": {"seconds": 1, "nanos": 500_000_000},
    "input_file": "",
    "output_file": "",
}
LBPP = {
    "task_id": "made/python/1",
    "language": "python",
    "title": "twice",
    "instruction": "Write a function that doubles a number.\n",
    "completion": "def twice(x):\n    return 2 * x\n",
    "signature": "def twice(x: int) -> int:",
    "test_setup": "import math\nfrom code import twice\n",
    "test_list": ["assert twice(2) == 4", "assert twice(0) == 0"],
    "categories": ["math"],
}
PACKED = ("completion", "test_setup", "test_list", "test_file")
TOKENS = (
    "def f ( a , b ) : NEW_LINE INDENT if a [ 0 ] == - 1 : NEW_LINE INDENT "
    "print ( ' it \\' s ▁ _ _ x _ _ ' , end = \" ▁ \" ) NEW_LINE DEDENT return b NEW_LINE DEDENT"
)
XLCOST = {"text": "Do a thing | Python3 program ; Driver code", "code": TOKENS}


def found(name, path, **options):
    return sampled(benchmarks.find(name), path, **options)


def write_problem(folder, row):
    """Write a row of APPS as a folder of its tarball, without the files that would be empty."""
    about = {"difficulty": row["difficulty"], "url": row["url"]}
    texts = {
        "question.txt": row["question"],
        "solutions.json": row["solutions"],
        "input_output.json": row["input_output"],
        "metadata.json": json.dumps(about),
        "starter_code.py": row["starter_code"],
    }
    folder.mkdir(parents=True)
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text)


# APPS


def test_apps_with_standard_input(tmp_path):
    """Prose is text, blocks are context, lists of lines are joined, the first solution counts."""
    (sample,), _ = found("apps", copied(tmp_path, "train.jsonl", [APPS_STDIN]))

    assert sample.sample_id == "train/0007"
    assert sample.text == PROSE
    assert sample.whole(PROSE) == f"{PROSE}\n\n\n{BLOCKS}\nUse Standard Input format"
    assert sample.reference == "n = int(input())\nprint(n)"
    assert json.loads(sample.tests) == {
        "kind": "stdio",
        "cases": [{"stdin": "3\n", "stdout": "3\n"}, {"stdin": "4\n5", "stdout": "4\n5"}],
    }
    assert (sample.entry_point, sample.cluster) == (None, "codeforces/99999")


def test_apps_with_calls(tmp_path):
    """The starter code is context, and its class is where the function is looked for."""
    (sample,), _ = found("apps", copied(tmp_path, "train.jsonl", [APPS_CALL]))

    tests = json.loads(sample.tests)
    assert sample.text == "Double the number."
    assert sample.context.endswith(
        "Output: 4\n\nclass Solution:\n    def twice(self, x: int) -> int:\n\nUse Call-Based format"
    )
    assert sample.entry_point == "twice"
    assert (tests["kind"], tests["class"], tests["unwrap"]) == ("calls", "Solution", True)
    assert tests["cases"] == [{"args": [2], "expected": [4]}]
    ast.parse(tests["setup"])


def test_all_layouts_of_apps_are_alike(tmp_path):
    """Tarball, JSON Lines, and parquet on main and in the export give the same samples."""
    rows = {"train": [APPS_STDIN], "test": [APPS_CALL]}
    for split, (row,) in rows.items():
        copied(tmp_path / "jsonl", f"{split}.jsonl", [{**row, "id": row["problem_id"]}])
        write_parquet(tmp_path / f"main/all/{split}-00000-of-00001.parquet", [row])
        write_parquet(tmp_path / f"export/default/{split}/0000.parquet", [row])
        write_problem(tmp_path / f"tar/{split}/{row['problem_id']:04}", row)

    expected = found("apps", tmp_path / "jsonl", split="all")

    assert [sample.sample_id for sample in expected[0]] == ["test/0012", "train/0007"]
    for layout in ("main", "export"):
        assert found("apps", tmp_path / layout, split="all") == expected
    samples, skipped = found("apps", tmp_path / "tar", split="all")
    assert (samples[::-1], skipped) == expected
    assert found("apps", tmp_path / "tar/train") == (samples[:1], {})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"solutions": ""}, "no solution"),
        ({"solutions": "[]"}, "no solution"),
        ({"solutions": '["'}, "no JSON"),
        ({"solutions": "[1]"}, "not in the form"),
        ({"input_output": "[]"}, "not in the form"),
        ({"input_output": '{"fn_name": "f", "inputs": [3], "outputs": [3]}'}, "not in the form"),
        ({"input_output": f'{{"inputs": [{"9" * 5000}], "outputs": [1]}}'}, "thousands of digits"),
        ({"question": " "}, "an empty statement"),
        ({"difficulty": None}, "difficulty unknown"),
    ],
)
def test_an_apps_row_that_cannot_be_used_is_counted(tmp_path, change, reason):
    """Empty and broken columns are reasons, and the other rows are read."""
    path = copied(tmp_path, "train.jsonl", [APPS_STDIN | change, APPS_STDIN | {"problem_id": 8}])
    options = {"difficulty": "interview"} if "difficulty" in change else {}

    samples, skipped = found("apps", path, **options)

    assert [sample.sample_id for sample in samples] == ["train/0008"]
    (told,) = skipped
    assert reason in told


def test_apps_without_tests_still_has_a_reference(tmp_path):
    """About a tenth of the rows have no tests: they are compared with the reference alone."""
    (sample,), _ = found(
        "apps", copied(tmp_path, "train.jsonl", [APPS_STDIN | {"input_output": ""}])
    )

    assert sample.tests is None
    assert sample.context.endswith("Use Standard Input format")


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        ("all.jsonl", APPS_STDIN, "tells no split"),
        ("train.jsonl", APPS_STDIN | {"problem_id": True}, "expected a number under 'problem_id'"),
        ("train.jsonl", APPS_STDIN | {"problem_id": "x"}, "line 1: expected a number"),
        ("train.jsonl", {"problem_id": 1}, "line 1: expected a text under 'question'"),
        ("train.jsonl", APPS_STDIN | {"solutions": ["x"]}, "expected a text under 'solutions'"),
    ],
)
def test_a_file_that_is_not_of_apps_is_refused(tmp_path, name, row, words):
    """One error names the file and what is wrong."""
    with pytest.raises(BenchmarkError, match=words):
        found("apps", copied(tmp_path, name, [row]))


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("Do it.\n\nInput\n\nA number.", "Do it."),
        ("Do it.\nSample Input 1:\n3", "Do it."),
        ("Do it.\n\n**Output Format**\nA number.", "Do it."),
        ("Do it.\n## Examples\n```python\nf(1)\n```", "Do it."),
        ("Do it.\n```\nf(1)\n```\nWell.", "Do it."),
        ("Do it.\n>>> f(1)\n", "Do it."),
        ("Do it.\n\nInput: arr = [1]", "Do it."),
        ("Do it.\nConstraints\n1 < n", "Do it."),
        ("\n Input is given.\nThe output counts. ", "Input is given.\nThe output counts."),
        ("Input\n\nA number.", "Input\n\nA number."),
    ],
)
def test_the_prose_ends_at_the_first_block(statement, text):
    """Headings alone on a line, examples and code end it; words in a sentence do not."""
    problem = split_prose(statement)

    assert problem.text == text
    assert problem.context.replace("⟦text⟧", text) == statement.rstrip()


# CodeContests


def test_codecontests_row(tmp_path):
    """The first solution in Python 3 is the reference; public and private tests are given."""
    path = write_parquet(tmp_path / "data/train-00000-of-00001-abc.parquet", [CONTEST])

    (sample,), _ = found("codecontests", path)

    assert sample.text == PROSE
    assert sample.whole(PROSE).startswith(CONTEST["description"].rstrip())
    assert sample.context.endswith("\n\nRead from standard input and write to standard output.")
    assert (sample.language, sample.reference) == ("python", "print(input())")
    assert json.loads(sample.tests) == {
        "kind": "stdio",
        "cases": [
            {"stdin": "3\n", "stdout": "3\n", "timeout_s": 1.5},
            {"stdin": "4\n", "stdout": "4\n", "timeout_s": 1.5},
        ],
    }
    assert (sample.cluster, sample.date) == ("codeforces/99999", None)


@pytest.mark.parametrize(
    ("options", "language", "reference"),
    [
        ({"language": "cpp"}, "cpp", "int main() {}"),
        ({"language": "python"}, "python", "print(input())"),
        ({"language": "python2"}, "python", "print raw_input()"),
    ],
)
def test_codecontests_in_another_language(tmp_path, options, language, reference):
    """The switch chooses the reference; Python 2, which cannot be run, is asked for by name."""
    path = copied(tmp_path, "train.jsonl", [CONTEST])

    (sample,), _ = found("codecontests", path, **options)
    none, skipped = found("codecontests", path, language="java")

    assert (sample.language, sample.reference) == (language, reference)
    is_old = options["language"] == "python2"
    assert (sample.tests is None) == is_old == sample.context.endswith("Write it in Python 2.")
    assert (none, skipped) == ([], {"no solution in java": 1})


def test_codecontests_generated_tests(tmp_path):
    """They come on request, and only as many as are small."""
    path = copied(tmp_path, "train.jsonl", [CONTEST])

    (sample,), _ = found("codecontests", path, tests="generated")

    assert [case["stdin"] for case in json.loads(sample.tests)["cases"]] == ["3\n", "4\n", "5\n"]


def test_codecontests_splits_and_sparse_rows(tmp_path):
    """All files of a folder are read; a row may lack limit, contest and tests, or use files."""
    sparse = {"name": "sparse", "description": "Do it.", "solutions": CONTEST["solutions"]}
    rows = [
        sparse | {"time_limit": None, "public_tests": None, "cf_contest_id": 0},
        CONTEST | {"name": "files", "input_file": "in.txt"},
        CONTEST | {"name": "unsolved", "solutions": {"language": [3], "solution": [" "]}},
        CONTEST | {"name": "empty", "description": "\n"},
    ]
    copied(tmp_path, "data/test-0.jsonl", rows)
    copied(tmp_path, "data/valid-0.jsonl", [CONTEST])

    samples, skipped = found("codecontests", tmp_path, split="test")

    assert {sample.sample_id: sample.tests for sample in samples} == {"sparse": None, "files": None}
    assert samples[0].cluster is None
    assert skipped == {"no solution": 1, "an empty statement": 1, "of the split valid": 1}


@needs_shared
def test_real_statements_of_codecontests(tmp_path):
    """CodeT's copy has statements and no solution: it is read, and says why it cannot be used."""
    path = SHARED / "data" / "codecontests"
    benchmark = benchmarks.find("codecontests")
    benchmarks.fetch(benchmark, path, tmp_path)
    selection = sources.Selection(options={"split": "test"})

    loaded = benchmarks.load(benchmark, tmp_path, selection)

    assert (loaded.samples, loaded.skipped) == ([], {"no solution": 50})
    with (path / "codet_zeroshot_for_test_case_generation.jsonl").open() as lines:
        statements = [json.loads(line)["prompt"].split("'''")[1] for line in lines]
    problems = [split_prose(statement) for statement in statements]
    assert {problem.context.split()[1] for problem in problems} == {"Input", "Interaction"}
    assert problems[0].text.startswith("Andi and Budi were given an assignment to tidy up")
    assert problems[0].text.endswith("than the corresponding letter in b.")


@needs_shared
def test_real_problems_of_apps(tmp_path):
    """The three folders of the tarball are used; text and context are the statement to the bit."""
    benchmark = benchmarks.find("apps")
    fetched = benchmarks.fetch(benchmark, SHARED / "data" / "apps", tmp_path)

    samples, skipped, _ = benchmarks.load(benchmark, tmp_path)

    by_id = {sample.sample_id: sample for sample in samples}
    assert (fetched.n_rows, skipped) == (3, {})
    walk, missing, prime = (by_id[f"train/{number}"] for number in ("0001", "2404", "4184"))
    assert walk.text.startswith("Mikhail walks on a Cartesian plane.")
    assert walk.text.endswith("(even the destination point!).")
    assert walk.reference.startswith("q=int(input())\n\nfor e in range(q):")
    assert json.loads(walk.tests)["cases"] == [
        {"stdin": "3\n2 2 3\n4 3 7\n10 1 9\n", "stdout": "1\n6\n-1\n"}
    ]
    assert (walk.cluster, missing.cluster) == ("codeforces/1036", None)
    assert missing.text.endswith("that is missing from this array.")
    assert missing.entry_point == "findKthPositive"
    assert json.loads(missing.tests)["cases"] == [{"args": [[2, 3, 4, 7, 11], 5], "expected": 9}]
    assert "class" not in json.loads(prime.tests)
    assert prime.context == "⟦text⟧\n\ndef is_prime(n):\n\nUse Call-Based format"
    for sample in samples:
        question = SHARED / "data/apps" / sample.sample_id / "question.txt"
        assert sample.whole(sample.text).startswith(question.read_text().rstrip())


# LBPP


def pack(value):
    plain = pickle.dumps(json.dumps(value))
    return base64.b64encode(zlib.compress(plain)).decode("ascii")


def test_lbpp_row(tmp_path):
    """Instruction and signature are asked; the tests say by which name they import the answer."""
    (sample,), _ = found("lbpp", write_parquet(tmp_path / "python/test.parquet", [LBPP]))

    assert sample.sample_id == "made/python/1"
    assert sample.text == "Write a function that doubles a number."
    assert sample.whole("A.") == "A.\n\ndef twice(x: int) -> int:"
    assert sample.reference == "def twice(x):\n    return 2 * x"
    assert json.loads(sample.tests) == {
        "kind": "asserts",
        "setup": "import math\nfrom code import twice\n",
        "asserts": LBPP["test_list"],
        "module": "code",
    }
    assert (sample.entry_point, sample.date) == ("twice", "2024-07-01")


def test_all_forms_of_lbpp_are_alike(tmp_path):
    """Readable and packed columns, parquet and the first version's table give one sample."""
    packed = LBPP | {key: pack(LBPP[key]) for key in PACKED if key in LBPP}
    expected = found("lbpp", write_parquet(tmp_path / "v1.parquet", [LBPP]))
    for text in (json.dumps(LBPP["test_list"]), repr(LBPP["test_list"])):
        with (tmp_path / "lbpp.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, LBPP)
            writer.writeheader()
            writer.writerow(LBPP | {"test_list": text, "language": ""})
        assert found("lbpp", tmp_path / "lbpp.csv") == expected

    assert found("lbpp", write_parquet(tmp_path / "hub/python/test.parquet", [packed])) == expected
    assert len(expected[0]) == 1


def test_lbpp_rows_stay_packed_in_the_data_folder(tmp_path):
    """What fetch writes has no readable solution, and the registry marks the use as private."""
    packed = LBPP | {key: pack(LBPP[key]) for key in PACKED if key in LBPP}
    path = write_parquet(tmp_path / "test.parquet", [packed])

    benchmarks.fetch(benchmarks.find("lbpp"), path, tmp_path / "home")

    (rows,) = (tmp_path / "home/lbpp").glob("rows*.jsonl")
    written = rows.read_text()
    assert "return 2 * x" not in written
    assert packed["completion"] in written
    private = [name for name, each in benchmarks.BENCHMARKS.items() if each.private]
    assert private == ["lbpp"]


@pytest.mark.parametrize(
    "change",
    [
        {"task_id": "lbpp/python/042"},
        {"task_id": "lbpp/41"},
        {"completion": "def f():\n    return '01234567-89ab-cdef-0123-456789abcdef'"},
    ],
)
def test_the_canary_of_lbpp_is_left_out(tmp_path, change):
    """By its id in both versions, or by the fixed mark that it returns, also when packed."""
    row = LBPP | change
    packed = row | {"completion": pack(row["completion"])}

    samples, skipped = found("lbpp", copied(tmp_path, "lbpp.jsonl", [row, packed]))

    assert (samples, skipped) == ([], {"the canary, which only marks the data set": 2})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"completion": pack(LBPP["completion"])[:-8]}, "packed code"),
        ({"completion": pack(["a list"])}, "packed code"),
        ({"test_list": pack([1, 2])}, "packed code"),
        ({"test_list": "[assert"}, "packed code"),
        ({"test_list": pack({"a": 1})}, "packed code"),
        ({"completion": " "}, "no solution"),
        ({"instruction": " "}, "no instruction"),
        ({"language": "c++"}, "in cpp"),
    ],
)
def test_an_lbpp_row_that_cannot_be_used_is_counted(tmp_path, change, reason):
    """Damage, other types and other languages are reasons that show nothing of the row."""
    samples, skipped = found("lbpp", copied(tmp_path, "lbpp.jsonl", [LBPP | change]))

    (told,) = skipped
    assert samples == []
    assert reason in told


@pytest.mark.parametrize(
    ("language", "signature", "entry"),
    [
        ("cpp", "std::vector<int> twice(const std::vector<int>& x)", "twice"),
        ("java", "public static int twice(int x)", "twice"),
        ("js", "const twice = (x) =>", "twice"),
        ("rust", "pub fn twice(x: i32) -> i32", "twice"),
        ("go", "func twice(x int) int", "twice"),
    ],
)
def test_lbpp_in_other_languages(tmp_path, language, signature, entry):
    """Its function is found in the signature; tests that only its own runner reads are left out."""
    row = LBPP | {"language": language, "signature": signature, "completion": f"{signature} ..."}
    path = copied(tmp_path, "lbpp.jsonl", [row])
    ours = {"js": "javascript"}.get(language, language)

    (sample,), _ = found("lbpp", path, language=ours)

    assert (sample.language, sample.entry_point, sample.tests) == (ours, entry, None)
    assert sample.date == "2025-04-01"


def test_lbpp_with_a_body_and_a_test_file(tmp_path):
    """A completion that is a body gets the signature; a file of tests runs beside the answer."""
    changes = {"completion": "    return 2 * x\n", "test_list": [], "test_file": "import code\n"}

    (sample,), _ = found("lbpp", copied(tmp_path, "lbpp.jsonl", [LBPP | changes]))
    (bare,), _ = found("lbpp", copied(tmp_path, "lbpp.jsonl", [LBPP | {"test_list": None}]))
    plain = copied(tmp_path, "lbpp.jsonl", [LBPP | {"test_setup": "import math"}])

    assert sample.reference == "def twice(x: int) -> int:\n    return 2 * x"
    assert json.loads(sample.tests) == {
        "kind": "pytest",
        "module": "code.py",
        "files": {"test_code.py": "import code\n"},
    }
    assert bare.tests is None
    assert "module" not in json.loads(found("lbpp", plain)[0][0].tests)
