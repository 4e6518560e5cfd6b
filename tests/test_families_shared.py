"""References of real benchmarks pass their tests with all changed that keeps their meaning."""

import ast
import functools
import gzip
import json
import os
import random
import shutil
import subprocess
import sys

import pytest

from memoprobe.languages import parses
from memoprobe.perturbations import PERTURBATIONS
from tests.local import SHARED, needs_shared
from tests.test_families import KEPT, all_changed, sample

DATA = SHARED / "data"
QUIXBUGS = DATA / "quixbugs"
# Takes two seconds alone.
LONGEST = "python_testcases/test_levenshtein.py::test_levenshtein[input_data2-8]"
JUNIT = {
    "org/junit/Test.java": "package org.junit;\nimport java.lang.annotation.*;\n"
    "@Retention(RetentionPolicy.RUNTIME) public @interface Test { int timeout() default 0; }\n",
    "org/junit/Assert.java": "package org.junit;\npublic class Assert {\n"
    "  public static void assertEquals(Object a, Object b) {\n"
    '    if (!java.util.Objects.equals(a, b)) throw new AssertionError(a + " is not " + b); } }\n',
    "Driver.java": """public class Driver {
  public static void main(String[] names) throws Exception {
  for (String name : names) {
    Class<?> test = Class.forName("java_testcases.junit." + name + "_TEST");
    for (java.lang.reflect.Method method : test.getMethods())
      if (method.isAnnotationPresent(org.junit.Test.class))
        method.invoke(test.getConstructor().newInstance()); } } }
""",
}

pytestmark = needs_shared


def run(command, **options):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr


def rows(name):
    path = DATA / name
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as lines:
        return [json.loads(line) for line in lines]


@functools.cache
def references(name):
    """Return the programs of a benchmark with the code that tests them."""
    if name == "humaneval":
        return [
            (
                row["prompt"] + row["canonical_solution"],
                f"{row['test']}\ncheck({row['entry_point']})",
            )
            for row in rows("humaneval/HumanEval.jsonl.gz")
        ]
    return [
        (row["code"].replace("\r\n", "\n"), "\n".join([row["test_setup_code"], *row["test_list"]]))
        for row in rows("mbpp/mbpp.jsonl")
    ]


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_references_pass_with_everything_changed(name, tmp_path):
    """All of a random thirty, of which each runs in a module of its own, pass their tests."""
    chosen = random.Random(name).sample(references(name), 30)
    for i, (code, test) in enumerate(chosen):
        changed = all_changed(code, "python", i)
        assert changed != code
        (tmp_path / f"{i}.py").write_text(f"{changed}\n{test}\n")
    runner = "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path)"

    run([sys.executable, "-I", "-c", runner, *sorted(map(str, tmp_path.iterdir()))], cwd=tmp_path)


def test_quixbugs_python_passes_with_everything_changed(tmp_path):
    """All tested programs pass by QuixBugs's own test files and layout."""
    tested = [path.stem.removeprefix("test_") for path in QUIXBUGS.glob("python_testcases/test_*")]
    shutil.copy(QUIXBUGS / "conftest.py", tmp_path)
    for folder in ("json_testcases", "python_testcases"):
        shutil.copytree(QUIXBUGS / folder, tmp_path / folder)
    (tmp_path / "correct_python_programs").mkdir()
    for name in tested:
        text = (QUIXBUGS / "correct_python_programs" / f"{name}.py").read_text()
        path = tmp_path / "correct_python_programs" / f"{name}.py"
        path.write_text(all_changed(text, "python", 0))

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--correct"]
    command += ["--deselect", LONGEST, "--assert=plain"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run(
        [*command, *(f"python_testcases/test_{name}.py" for name in tested)],
        cwd=tmp_path,
        env=environment,
    )


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler here")
def test_quixbugs_java_passes_with_everything_changed(tmp_path):
    """Eight programs compile, and pass their JUnit tests by a driver of our own."""
    names = ["GCD", "GET_FACTORS", "HANOI", "KHEAPSORT", "MERGESORT", "QUICKSORT", "SIEVE", "WRAP"]
    sources = dict(JUNIT)
    for name in names:
        text = (QUIXBUGS / "correct_java_programs" / f"{name}.java").read_text()
        text = text.replace("correct_java_programs", "java_programs")
        sources[f"java_programs/{name}.java"] = all_changed(text, "java", 0)
    helpers = [QUIXBUGS / "java_testcases/junit" / f"{name}_TEST.java" for name in names]
    for path in [*helpers, QUIXBUGS / "java_testcases/junit/QuixFixOracleHelper.java"]:
        sources[path.name] = path.read_text()
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    run(["javac", "-nowarn", "-d", "out", *sources], cwd=tmp_path)
    run(["java", "-cp", "out", "Driver", *names], cwd=tmp_path)


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler here")
def test_condefects_java_compiles_with_everything_changed(tmp_path):
    """Fifteen contest programs, each in a package of its own, compile."""
    programs = sorted((DATA / "condefects/Code").glob("*/Java/*/faultyVersion.java"))[::3][:15]
    for i, path in enumerate(programs):
        (tmp_path / f"p{i}").mkdir()
        changed = all_changed(path.read_text(), "java", i)
        (tmp_path / f"p{i}" / "Main.java").write_text(f"package p{i}; {changed}")

    run(["javac", "-nowarn", "-d", "out", *(f"p{i}/Main.java" for i in range(15))], cwd=tmp_path)


def test_programs_of_every_data_set_parse_as_before():
    """A few rows of each layout, some of them broken, change and parse or not as before."""
    texts = [(row["func"], "c") for row in rows("devign/test.jsonl")[:6]]
    texts += [
        (row["code"], "c") for row in rows("vuldetectbench/dataset/test/task1_code.jsonl")[:3]
    ]
    for path in sorted((DATA / "codesearchnet").glob("*/final/jsonl/test/*.gz")):
        first = rows(path.relative_to(DATA))[0]
        texts.append((first["code"], first["language"]))
    for path in sorted((DATA / "condefects/Code").glob("*/Python/*/faultyVersion.py"))[:3]:
        texts.append((path.read_text(), "python"))

    for text, language in texts:
        for family in KEPT:
            levels = PERTURBATIONS[family](sample(text, language), 5, random.Random(0)).variants
            assert {parses(each.text, language) for each in levels} == {parses(text, language)}
            assert len(levels) == 6 or family == "reorder"


def test_constants_change_what_references_do():
    """All HumanEval references still compile, and their trees are others."""
    for code, _ in random.Random(0).sample(references("humaneval"), 20):
        levels = PERTURBATIONS["constants"](sample(code), 5, random.Random(0)).variants
        trees = {ast.dump(ast.parse(each.text)) for each in levels}
        assert len(trees) == len(levels)
