"""Facts about the benchmarks that ask for a repair: QuixBugs, Defects4J and ConDefects."""

import json
from collections import Counter
from difflib import unified_diff

import pytest

from memoprobe import benchmarks, languages
from memoprobe.benchmarks import files, program_repair, program_repair_fragments, quixbugs, sources
from memoprobe.errors import BenchmarkError
from tests.benchmark_data import copied, quixbugs_mirror, sampled, write_parquet, write_quixbugs
from tests.local import SHARED, needs_shared

PYTHON, JAVA = {"language": "python"}, {"language": "java"}
GRAPH_TEST = "from node import Node\ndef test1():\n    assert add(Node(1), Node(2))\n"


@pytest.fixture
def clone(tmp_path):
    return write_quixbugs(tmp_path / "QuixBugs")


@pytest.fixture
def quixbugs_row(clone):
    (row,) = quixbugs.REPAIR.read(files.Copy(clone, "QuixBugs"))
    return row


def test_quixbugs_program(clone, tmp_path):
    """Comments and strings go, helpers and drivers are no programs, other files are not read."""
    benchmark = benchmarks.find("quixbugs-repair")

    fetched = benchmarks.fetch(benchmark, clone, tmp_path)
    (sample,), skipped, _ = benchmarks.load(benchmark, tmp_path)

    assert "README.md" not in fetched.files
    assert sample.sample_id == sample.entry_point == "add"
    assert sample.text == "from a import b\n\ndef add(x, y):\n    return x - y"
    assert sample.reference == sample.text.replace("-", "+")
    assert json.loads(sample.tests) == {
        "kind": "calls",
        "cases": [{"args": [1, 2], "expected": 3}, {"args": [2, 2], "expected": 4}],
    }
    assert skipped == {}


def test_quixbugs_program_in_java(quixbugs_row):
    """A class without comments, which may tell the fix, and without what names its package."""
    sample = quixbugs.repair_sample(quixbugs_row, JAVA)

    assert sample.language == "java"
    assert sample.text == (
        "import java.util.*;\n"
        "public class ADD {\n"
        "    public static int add(int x, int y) {\n"
        "        return x - y;\n"
        "    }\n"
        "}"
    )
    assert sample.reference == sample.text.replace("-", "+")
    assert json.loads(sample.tests) == {
        "kind": "calls",
        "class": "ADD",
        "formatted": True,
        "cases": [{"args": [1, 2], "expected": 3}, {"args": [2, 2], "expected": 4}],
    }


def test_quixbugs_cases_are_read_as_its_pytest_file_reads_them(quixbugs_row):
    """Generators, tolerances and cases that take minutes are noted, a lone argument wrapped."""
    test = (
        "def test_add(input_data, expected):\n"
        "    if slow and input_data == [[7], 2]:\n"
        "        pytest.skip()\n"
        "    assert list(add(*input_data)) == pytest.approx(expected, abs=input_data[-1])\n"
    )
    row = quixbugs_row | {"pytest": test, "cases": [[[[7], 2], 1], [4, 5]]}

    tests = json.loads(quixbugs.repair_sample(row, PYTHON).tests)

    assert tests == {
        "kind": "calls",
        "listed": True,
        "cases": [
            {"args": [[7], 2], "expected": 1, "tolerance": 2, "slow": True},
            {"args": [4], "expected": 5, "tolerance": 4},
        ],
    }


def test_quixbugs_programs_on_graphs_keep_their_test_files(quixbugs_row):
    """Without JSON cases the tests are the files to run, beside the place of the answer."""
    row = quixbugs_row | {"pytest": GRAPH_TEST, "cases": []}

    tests = json.loads(quixbugs.repair_sample(row, PYTHON).tests)
    java = json.loads(quixbugs.repair_sample(row, JAVA).tests)

    assert (tests["kind"], tests["module"]) == ("pytest", "python_programs/add.py")
    assert tests["files"] == {
        "test_add.py": GRAPH_TEST,
        "conftest.py": "import pytest\n",
        "node.py": "class Node: pass",
    }
    assert (java["kind"], java["module"]) == ("junit", "java_programs/ADD.java")
    assert java["files"] == {
        "java_testcases/junit/ADD_TEST.java": row["junit"],
        "java_programs/Node.java": "class Node {}",
        "java_programs/WeightedEdge.java": "",
    }


def test_quixbugs_through_the_hub(clone, tmp_path):
    """The mirror gives the id, text and reference of a clone; its tests are asserts."""
    write_parquet(tmp_path / "export/default/train/0000.parquet", [quixbugs_mirror()])
    path = copied(tmp_path / "hub", "quixbugs_python.jsonl", [quixbugs_mirror()])

    (local,), _ = sampled(quixbugs.REPAIR, clone)
    (hub,), _ = sampled(quixbugs.REPAIR, path.parent)
    (export,), _ = sampled(quixbugs.REPAIR, tmp_path / "export")

    assert export == hub
    assert (hub.sample_id, hub.text, hub.reference) == (
        local.sample_id,
        local.text,
        local.reference,
    )
    assert json.loads(hub.tests) == {
        "kind": "asserts",
        "setup": "one = 1",
        "asserts": ["assert add(one, 2) == 3", "assert add(2, 2) == 4"],
    }


def test_asserts_keep_their_order_among_other_statements(quixbugs_row):
    """A name that is bound anew between two asserts has its value of the moment in each."""
    row = quixbugs_row | {"cases": [], "asserts": "a = 1\nassert a\na = 0\nassert not a"}

    tests = json.loads(quixbugs.repair_sample(row, PYTHON).tests)

    assert tests["setup"] == "a = 1"
    assert tests["asserts"] == ["assert a\na = 0\nassert not a"]


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"correct": ""}, PYTHON),
        ({"java_buggy": ""}, JAVA),
        ({"pytest": "def"}, PYTHON),
        ({"cases": [[1, 2, 3]]}, PYTHON),
        ({"cases": [], "pytest": ""}, PYTHON),
        ({"cases": [], "junit": ""}, JAVA),
        ({"cases": [], "asserts": "x = 1"}, PYTHON),
    ],
    ids=["no correct", "no Java", "no Python", "no pair", "no tests", "no JUnit", "no assert"],
)
def test_a_quixbugs_program_without_its_parts_is_skipped(quixbugs_row, change, options):
    """What is missing or unreadable is counted."""
    assert isinstance(quixbugs.repair_sample(quixbugs_row | change, options), sources.Skipped)


def test_quixbugs_wants_its_folder_or_its_mirror(clone, tmp_path):
    """Another folder is refused with the name of what it lacks."""
    (clone / "json_testcases/add.json").unlink()
    (clone / "json_testcases").rmdir()

    with pytest.raises(BenchmarkError, match=r"no folder json_testcases; give the folder"):
        list(quixbugs.REPAIR.read(files.Copy(clone, "QuixBugs")))
    with pytest.raises(BenchmarkError, match=r"holds none of quixbugs_python.jsonl"):
        list(quixbugs.REPAIR.read(files.Copy(tmp_path, "QuixBugs")))


PATCH = """diff --git a/src/A.java b/src/A.java
index 1..2 100644
--- a/src/A.java
+++ b/src/A.java
@@ -3,5 +3,5 @@ class A {
      * told above
      */
     int f(int a) {
-        return a;
+        return -a;

@@ -9,2 +9 @@
-    // why not
     int g;
--- a/src/a.txt
+++ b/src/a.txt
@@ -1 +1 @@
-right
+wrong
\\ No newline at end of file
"""
TWO = PATCH.replace("src/a.txt", "src/B.java")


def test_a_patch_is_read_from_fixed_to_buggy():
    """Minus is the fix; a comment stands for left-out lines, half a comment is none of them."""
    found = program_repair_fragments.of_patch(PATCH.replace("\n", "\r\n"))

    assert found.kind == "hunks"
    assert found.buggy == "    int f(int a) {\n        return -a;\n\n// ...\n    int g;"
    assert found.fixed == (
        "    int f(int a) {\n        return a;\n\n// ...\n    // why not\n    int g;"
    )


def test_the_files_of_a_patch_are_told_apart():
    """Each of several is headed by its name."""
    found = program_repair_fragments.of_patch(TWO)

    assert found.buggy.startswith("// A.java\n    int f(int a) {\n        return -a;")
    assert found.buggy.endswith("    int g;\n\n// B.java\nwrong")
    assert found.fixed.endswith("    int g;\n\n// B.java\nright")


def test_lines_that_look_like_headers_are_lines():
    """A hunk's length says where it ends, not the look of its lines."""
    hunk = "+++ b/A.java\n@@ -1,2 +1,2 @@\n--- i;\n+++ i;\n j;\n"

    found = program_repair_fragments.of_patch(hunk)

    assert (found.fixed, found.buggy) == ("-- i;\nj;", "++ i;\nj;")


def test_a_comment_cut_off_at_the_end_is_left_out():
    """Neither half of a comment is code, but a whole one stays."""
    hunk = "+++ A.java\n@@ -1,5 +1,5 @@\n /* whole */\n-a;\n+b;\n c;\n /**\n  * D\n"

    found = program_repair_fragments.of_patch(hunk)

    assert (found.fixed, found.buggy) == ("/* whole */\na;\nc;", "/* whole */\nb;\nc;")


def test_a_patch_of_other_files_shows_nothing():
    """Text files and equal versions leave no task."""
    text = "+++ b/a.txt\n@@ -1 +1 @@\n-right\n+wrong\n"

    assert program_repair_fragments.of_patch(text) is None
    assert program_repair_fragments.of_files({"A.java": "int a;"}, {"A.java": "int a;\n"}) is None


FIXED = """package p;
class A {
    int a;
    /** Say f. */
    int f(int a) {
        return a;
    }
    int f(String s) { return 1; }
    class B {
        B() {
            this(1);
        }
        int f(int a) { return 2; }
    }
}
"""


def test_changed_methods_are_whole_and_alone():
    """Overloads and inner classes are told apart; a comment is no change."""
    buggy = FIXED.replace("return a;", "return -a;").replace("Say f", "Say g")

    found = program_repair_fragments.of_files({"A.java": buggy}, {"A.java": FIXED})

    assert found.kind == "methods"
    assert found.methods == ("f",)
    assert found.fixed == "int f(int a) {\n    return a;\n}"
    assert found.buggy == "int f(int a) {\n    return -a;\n}"


def test_methods_of_one_version_are_shown_in_that_version():
    """A fix may add a method; changed ones of several files are headed by them."""
    same = {"D.java": "class D { void i() { } }"}
    buggy = {"A.java": FIXED.replace("this(1);", ""), "C.java": "class C { void g() { } }"}
    fixed = {"A.java": FIXED, "C.java": "class C { void g() { h(); } void h() { } }"}

    found = program_repair_fragments.of_files(buggy | same, fixed | same)

    assert found.methods == ("B", "g", "h")
    assert found.buggy == "// A.java\nB() {\n\n}\n\n// C.java\nvoid g() { }"
    assert found.fixed == (
        "// A.java\nB() {\n    this(1);\n}\n\n// C.java\nvoid g() { h(); }\n\nvoid h() { }"
    )


def test_changes_beside_methods_are_hunks():
    """Where no method has changed, lines are shown."""
    found = program_repair_fragments.of_files(
        {"A.java": FIXED.replace("int a;", "long a;", 1)}, {"A.java": FIXED}
    )

    assert (found.kind, found.methods) == ("hunks", ())
    assert found.buggy.startswith("package p;\nclass A {\n    long a;\n    /** Say f. */\n")
    assert found.fixed == found.buggy.replace("long a", "int a")


@pytest.fixture
def defects4j(tmp_path):
    """A made-up clone with two active bugs, one of them without its patch."""
    folder = tmp_path / "defects4j/framework/projects/Made"
    texts = {
        "active-bugs.csv": "bug.id,revision.id.buggy,report.url\r\n1,a,https://x.test/1\r\n2,b,\r\n",
        "patches/1.src.patch": PATCH,
        "patches/3.src.patch": PATCH,
        "modified_classes/1.src": "p.A\np.B\n",
        "trigger_tests/1": "--- p.ATest::one\njava.lang.Error: --- no\n--- p.BTest::two\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return tmp_path / "defects4j"


def test_defects4j_without_a_checkout(defects4j):
    """Active bugs are rows; text and reference are hunks, the tests names."""
    rows = list(program_repair.DEFECTS4J.read(files.Copy(defects4j, "Defects4J")))

    first, second = (program_repair.defects4j_sample(row, {}) for row in rows)

    assert rows[0]["classes"] == ["p.A", "p.B"]
    assert (first.sample_id, first.cluster, first.language) == ("Made-1", "Made", "java")
    assert "return -a;" in first.text
    assert "return a;" in first.reference
    assert json.loads(first.tests) == {
        "kind": "named",
        "tests": ["p.ATest::one", "p.BTest::two"],
        "text": "hunks",
    }
    assert second == sources.Skipped("no patch")


def test_legacy_encodings_of_defects4j_are_read(defects4j):
    """A patch in Latin-1 is no reason to stop."""
    path = defects4j / "framework/projects/Made/patches/1.src.patch"
    path.write_bytes(PATCH.replace("why", "größe").encode("latin-1"))

    (sample,), _ = sampled(program_repair.DEFECTS4J, defects4j)

    assert "// größe not" in sample.reference


def test_defects4j_exported_from_checkouts(tmp_path):
    """Changed methods are the text; a single one is the function under test."""
    folder = tmp_path / "Made_12"
    for version, text in (("buggy", FIXED.replace("return a;", "return -a;")), ("fixed", FIXED)):
        (folder / version).mkdir(parents=True)
        (folder / version / "A.java").write_text(text)
    (folder / "metadata.txt").write_text(
        "project: Made\nbug_id: 12\nmodified_classes: p.A\ntrigger_tests:\np.ATest::one\np.B::two\n"
    )

    (sample,), skipped = sampled(program_repair.DEFECTS4J, tmp_path)

    assert (sample.sample_id, sample.cluster, sample.entry_point) == ("Made-12", "Made", "f")
    assert sample.text == "int f(int a) {\n    return -a;\n}"
    assert json.loads(sample.tests) == {
        "kind": "named",
        "tests": ["p.ATest::one", "p.B::two"],
        "text": "methods",
    }
    assert not skipped


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"patch": "+++ a.txt\n@@ -1 +1 @@\n-a\n+b\n"}, "no Java code is changed"),
        ({"patch": f"+++ A.java\n@@ -1 +1 @@\n-a\n+{'b' * 16_001}\n"}, "longer than 16,000"),
        ({"patch": "+++ A.java\n@@ -1 +0,0 @@\n-a\n"}, "one version has nothing to show"),
    ],
)
def test_a_bug_of_defects4j_without_a_task_is_skipped(defects4j, change, reason):
    """It is counted by its reason."""
    row, _ = program_repair.DEFECTS4J.read(files.Copy(defects4j, "Defects4J"))

    result = program_repair.defects4j_sample(row | change, {})

    assert isinstance(result, sources.Skipped)
    assert reason in result.reason


def test_defects4j_wants_one_of_its_layouts(tmp_path):
    """The error describes both."""
    with pytest.raises(BenchmarkError, match=r"neither framework/projects.*nor <Project>_<id>"):
        program_repair.DEFECTS4J.read(files.Copy(tmp_path, "Defects4J"))


@pytest.fixture
def condefects(tmp_path):
    """A made-up clone with one program in each language and the tests of one task."""
    java = "class Main {\r\n\tint a; // größe\r\n}\r\n"
    texts = {
        "date.txt": "abc001_a 2023-09-30\nabc002_b 2023-10-01\n\n",
        "difficulty.txt": "abc001_a 7\n",
        "Code/abc001_a/Python/11/faultyVersion.py": "print(1)\n",
        "Code/abc001_a/Python/11/correctVersion.py": "print(2)\n",
        "Code/abc001_a/Python/11/faultLocation.txt": "1",
        "Code/abc002_b/Java/12/faultyVersion.java": java,
        "Code/abc002_b/Java/12/correctVersion.java": java.replace("int", "long"),
        "Test/abc001/A/in/b.txt": "1\n",
        "Test/abc001/A/out/b.txt": "2\n",
        "Test/abc001/A/in/a.txt": "12\n",
        "Test/abc001/A/out/a.txt": "2\n",
        "Test/abc001/A/in/long.txt": "1" * 2**16,
        "Test/abc001/A/out/long.txt": "1\n",
        "Test/abc001/A/in/lone.txt": "1\n",
    }
    for name, text in texts.items():
        path = tmp_path / "ConDefects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "ConDefects"


def test_condefects_program(condefects):
    """The contest is the cluster, the date the task's; small tests come first, large ones not."""
    (sample,), skipped = sampled(program_repair.CONDEFECTS, condefects)
    row, _ = program_repair.CONDEFECTS.read(files.Copy(condefects, "ConDefects"))

    assert (sample.sample_id, sample.cluster, sample.date) == (
        "abc001_a/11",
        "abc001",
        "2023-09-30",
    )
    assert (sample.text, sample.reference, sample.entry_point) == ("print(1)", "print(2)", None)
    assert json.loads(sample.tests) == {
        "kind": "stdio",
        "cases": [{"stdin": "1\n", "stdout": "2\n"}, {"stdin": "12\n", "stdout": "2\n"}],
    }
    assert (row["difficulty"], row["fault_line"], row["n_cases_left_out"]) == ("7", "1", 1)
    assert skipped == {"not in python": 1}


def test_condefects_in_java(condefects):
    """Line ends and tabs are made one, other letters stay, and the class keeps its name."""
    (sample,), _ = sampled(program_repair.CONDEFECTS, condefects, **JAVA)

    assert sample.text == "class Main {\n    int a; // größe\n}"
    assert (sample.entry_point, sample.tests) == ("Main", None)


def test_the_first_release_of_condefects_ends_in_september_2023(condefects):
    """Later programs are skipped and counted."""
    (sample,), _ = sampled(program_repair.CONDEFECTS, condefects, release="2023-09")
    later, skipped = sampled(program_repair.CONDEFECTS, condefects, **JAVA, release="2023-09")

    assert (sample.date, later) == ("2023-09-30", [])
    assert any("dated after September 2023" in reason for reason in skipped)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"correct": ""}, "no faulty or no correct version"),
        ({"correct": "print(1)\r\n"}, "both versions are the same"),
        ({"faulty": "#" * 16_001}, "longer than 16,000 characters"),
    ],
)
def test_a_program_of_condefects_without_a_task_is_skipped(condefects, change, reason):
    """It is counted by its reason."""
    row, _ = program_repair.CONDEFECTS.read(files.Copy(condefects, "ConDefects"))
    options = sources.complete(program_repair.CONDEFECTS, {})

    assert program_repair.condefects_sample(row | change, options) == sources.Skipped(reason)


def test_condefects_wants_a_folder(condefects):
    """A file is no clone."""
    with pytest.raises(BenchmarkError, match="a file; give the folder of a clone"):
        list(program_repair.CONDEFECTS.read(files.Copy(condefects / "date.txt", "ConDefects")))


@needs_shared
@pytest.mark.parametrize("language", ["python", "java"])
def test_real_programs_of_quixbugs(language):
    """All 30 are samples: 23 with calls, 7 with test files; no comment tells the fix."""
    samples, skipped = sampled(quixbugs.REPAIR, SHARED / "data/quixbugs", language=language)

    kinds = Counter(json.loads(sample.tests)["kind"] for sample in samples)
    by_id = {sample.sample_id: sample for sample in samples}
    assert not skipped
    assert kinds == {"calls": 23, "pytest" if language == "python" else "junit": 7}
    assert not any('"""' in s.text or "//" in s.text.replace(" // ", "") for s in samples)
    assert all(languages.parses(sample.text, language) for sample in samples)
    edits = [
        line[0] + line[1:].strip()
        for line in unified_diff(
            by_id["gcd"].text.split("\n"), by_id["gcd"].reference.split("\n"), n=0, lineterm=""
        )
        if line[:3] not in {"---", "+++"} and not line.startswith("@@")
    ]
    assert (
        edits
        == {
            "python": ["-return gcd(a % b, b)", "+return gcd(b, a % b)"],
            "java": ["-return gcd(a % b, b);", "+return gcd(b, a%b);"],
        }[language]
    )


@needs_shared
def test_real_bugs_of_defects4j():
    """All 101 are samples of 17 projects; Math-5 shows what it is about."""
    samples, skipped = sampled(program_repair.DEFECTS4J, SHARED / "data/defects4j")

    (math,) = [sample for sample in samples if sample.sample_id == "Math-5"]
    assert (len(samples), skipped) == (101, {})
    assert len({sample.cluster for sample in samples}) == 17
    assert math.text.split("\n") == [
        "        }",
        "",
        "        if (real == 0.0 && imaginary == 0.0) {",
        "            return NaN;",
        "        }",
        "",
        "        if (isInfinite) {",
    ]
    assert math.reference == math.text.replace("NaN", "INF")
    assert json.loads(math.tests)["tests"] == [
        "org.apache.commons.math3.complex.ComplexTest::testReciprocalZero"
    ]


@needs_shared
def test_real_programs_of_condefects():
    """70 Python and 50 Java programs, all dated; 50 of the former are of the first release."""
    folder = SHARED / "data/condefects"

    python, skipped = sampled(program_repair.CONDEFECTS, folder)
    java, _ = sampled(program_repair.CONDEFECTS, folder, **JAVA)
    first, _ = sampled(program_repair.CONDEFECTS, folder, release="2023-09")

    assert (len(python), len(java), len(first)) == (70, 50, 50)
    assert skipped == {"not in python": 50}
    assert all("2021-10" <= sample.date < "2024-07" for sample in python + java)
    assert {sample.entry_point for sample in java} == {"Main"}
    assert not any("\r" in s.text or "\n\t" in s.text for s in python + java)
