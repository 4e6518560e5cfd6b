"""Renamed benchmark rows, in all languages, still parse, compile, run and pass their tests."""

import functools
import gzip
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from memoprobe.languages import parses, rename_identifiers
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.records import Sample
from tests.local import SHARED, needs_shared

DATA, QUIXBUGS = SHARED / "data", SHARED / "data" / "quixbugs"
LEVELS = 5
FOLDERS = ("codesearchnet", "condefects", "cvefixes", "devign", "diversevul", "mbpp", "quixbugs")
FOLDERS += ("reveal", "testeval", "tl_codesum", "vuldetectbench")
JAVAC = ("javac", "-nowarn", "-proc:none", "-J-XX:TieredStopAtLevel=1")
needs_javac = pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not here")
# Folder -> how its rows are found; a language that a row does not tell is guessed from it.
TEXTS = ("input", "func", "code", "original_string", "text", "python_solution")
# Of each folder, so many rows evenly: all of them take two minutes.
MOST = 20


def sample(folder, language, text, **fields):
    return Sample(
        benchmark=folder,
        sample_id="1",
        task="program_repair",
        language=language,
        input_kind="code",
        text=text,
        **fields,
    )


def levels(item):
    return PERTURBATIONS["rename"](item, LEVELS, random.Random(1))


def at(variants, level):
    """Return the text at a level; a program with fewer is taken at its strongest."""
    return variants[min(level, len(variants) - 1)].text


def run(command, **options):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def lines(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.decode().splitlines()]


def rows(folder):
    """Yield language and text of the rows of a data folder."""
    paths = sorted(path for path in (DATA / folder).rglob("*") if path.is_file())
    for path in paths:
        if path.suffix in {".py", ".java"} and "test" not in str(path.relative_to(DATA)).lower():
            yield (
                {".py": "python", ".java": "java"}[path.suffix],
                path.read_text("utf-8", "replace"),
            )
        elif path.name.endswith((".jsonl", ".jsonl.gz")):
            yield from map(told, lines(path))
        elif path.name == "vulllm_test_512.json":
            yield from map(told, json.loads(path.read_text()))
        elif path.name == "valid.token.code":
            yield from (("java", line.split("\t")[1]) for line in path.read_text().splitlines())


def told(row):
    text = next(row[key] for key in TEXTS if key in row)
    if "python_solution" in row or "test_list" in row:
        return "python", text
    plain = (
        "cpp" if re.search(r"::|\b(?:template|namespace|static_cast|new|delete)\b", text) else "c"
    )
    return row.get("language", plain), text


@needs_shared
@pytest.mark.parametrize("folder", FOLDERS)
def test_rows_parse_as_before_and_are_undone_by_their_maps(folder):
    """Levels are nested, no new name is an old word, and few rows cannot be renamed at all."""
    rejected, found = 0, list(rows(folder))
    kept = found[:: max(1, len(found) // MOST)]
    for language, text in kept:
        variants, reasons = levels(sample(folder, language, text))
        rejected += bool(reasons)
        for weaker, variant in itertools.pairwise(variants):
            back = {new: name for name, new in variant.rename_map.items()}
            assert weaker.rename_map.items() < variant.rename_map.items()
            assert not set(back) & set(re.findall(r"\w+", text))
            assert rename_identifiers(variant.text, language, back) == text
            assert parses(variant.text, language) >= parses(text, language)

    assert len(kept) >= MOST
    assert rejected <= 0.1 * len(kept)


@needs_shared
@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_reference_solutions_pass_their_tests_at_every_level(name, tmp_path):
    """HumanEval's ``check`` and MBPP's asserts hold for every program that passed them before.

    Programs that take long are left out.
    """
    programs = []
    if name == "humaneval":
        for row in lines(DATA / "humaneval" / "HumanEval.jsonl.gz")[::3]:
            check = f"{row['test']}\ncheck({row['entry_point']})"
            text = row["prompt"] + row["canonical_solution"]
            item = sample(name, "python", text, entry_point=row["entry_point"], tests=check)
            programs.append((levels(item).variants, check))
    else:
        for row in lines(next((DATA / "mbpp").glob("*.jsonl")))[::3]:
            check = "\n".join([row["test_setup_code"], *row["test_list"]])
            programs.append(
                (levels(sample(name, "python", row["code"], tests=check)).variants, check)
            )
    texts = [
        [f"{at(variants, level)}\n{check}" for variants, check in programs]
        for level in range(LEVELS + 1)
    ]
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    code = (
        "import contextlib, io, json, resource, signal, time\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30,) * 2)\n"
        "def holds(text):\n"
        "    signal.alarm(20)\n"
        "    start = time.monotonic()\n"
        "    try:\n"
        "        with contextlib.redirect_stdout(io.StringIO()):\n"
        "            exec(text, {'__name__': 'program'})\n"
        "        return 'passed' if time.monotonic() - start < 0.3 else 'slow'\n"
        "    except Exception:\n"
        "        return 'failed'\n"
        "for texts in zip(*json.load(open('texts.json')), strict=True):\n"
        "    first = holds(texts[0])\n"
        "    print(first, *map(holds, texts[1:] if first != 'slow' else []))\n"
    )
    passed = run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path).splitlines()

    assert [verdicts for verdicts in passed if {"passed", "failed"} <= set(verdicts.split())] == []
    assert sum(verdicts.startswith("passed") for verdicts in passed) > 0.95 * len(programs)


def literal(value, declared):
    """Return a value of a JSON test as Java writes it for a declared type."""
    if isinstance(value, list):
        inner = re.sub(r"\[\]$", "", declared)
        items = ", ".join(literal(item, inner if declared.endswith("]") else "") for item in value)
        if declared.endswith("]"):
            return f"new {inner}[]{'[]' * inner.count('[]')} {{{items}}}".replace("[][][]", "[][]")
        return f"new ArrayList(Arrays.asList({items}))"
    return json.dumps(value)


@functools.cache
def java_programs():
    """Return the tested programs of QuixBugs in Java: name -> (variants, calls)."""
    found = {}
    for path in sorted((QUIXBUGS / "json_testcases").glob("*.json")):
        name = path.stem
        text = (QUIXBUGS / "correct_java_programs" / f"{name.upper()}.java").read_text()
        header = re.search(rf"public static [^(]*\b{name} *\(([^)]*)\)", text)
        types = [part.rsplit(maxsplit=1)[0].replace(" ", "") for part in header[1].split(",")]
        cases = [json.loads(line)[0] for line in path.read_text().splitlines() if line.strip()]
        if name in {"knapsack", "levenshtein"}:
            cases = cases[:3]  # the repository skips one that takes minutes
        calls = [
            f"{name.upper()}.{name}({', '.join(map(literal, case, types))})"
            for case in cases
            if len(case) == len(types)
        ]
        found[name] = levels(sample("quixbugs", "java", text, entry_point=name)).variants, calls
    return found


@needs_shared
@needs_javac
def test_quixbugs_in_java_gives_the_same_on_all_cases_at_every_level(tmp_path):
    """All levels are compiled at once, and print what the programs return, or throw."""
    for level in range(LEVELS + 1):
        calls = []
        for name, (variants, texts) in java_programs().items():
            text = at(variants, level).replace("correct_java_programs", f"level{level}", 1)
            path = tmp_path / f"level{level}" / f"{name.upper()}.java"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            calls += [f"static Object {name}{k}() {{ return {c}; }}" for k, c in enumerate(texts)]
        body = "\n".join(calls)
        (tmp_path / f"level{level}" / "Calls.java").write_text(
            f"package level{level};\nimport java.util.*;\npublic class Calls {{\n{body}\n}}\n"
        )
    (tmp_path / "Run.java").write_text(
        "import java.lang.reflect.*; import java.util.*;\npublic class Run {\n"
        "  public static void main(String[] args) throws Exception {\n"
        f"    for (int level = 0; level <= {LEVELS}; level++) {{\n"
        '      Method[] all = Class.forName("level" + level + ".Calls").getDeclaredMethods();\n'
        "      Arrays.sort(all, Comparator.comparing(Method::getName));\n"
        "      StringBuilder out = new StringBuilder();\n"
        "      for (Method call : all) { call.setAccessible(true); Object got;\n"
        "        try { got = call.invoke(null); }\n"
        "        catch (InvocationTargetException e) { got = e.getCause().getClass(); }\n"
        '        out.append(call.getName() + "=" + got + ";"); }\n'
        '      System.out.println(out.toString().replace("level" + level, "")); } } }\n'
    )
    sources = sorted(map(str, tmp_path.rglob("*.java")))
    run([*JAVAC, "-d", str(tmp_path / "out"), *sources], cwd=tmp_path)
    first, *others = run(["java", "-cp", str(tmp_path / "out"), "Run"]).splitlines()

    assert others == [first] * LEVELS
    assert first.count(";") > 100
    assert "Exception" not in first
    assert len([name for name, (variants, _) in java_programs().items() if len(variants) > 2]) > 20


@needs_shared
@needs_javac
def test_condefects_in_java_compiles_at_every_level(tmp_path):
    """Fifteen programs, correct and faulty ones, each level in a package of its own."""
    paths = sorted((DATA / "condefects").rglob("*Version.java"))[:: 100 // 15]
    for number, path in enumerate(paths):
        for level, variant in enumerate(
            levels(sample("condefects", "java", path.read_text())).variants
        ):
            package = tmp_path / f"p{number}_{level}"
            package.mkdir()
            (package / "Main.java").write_text(f"package {package.name}; {variant.text}")
    sources = sorted(map(str, tmp_path.rglob("*.java")))
    run([*JAVAC, "-d", str(tmp_path / "out"), *sources])

    assert len(paths) >= 15
    assert len(sources) > 5 * len(paths)


@needs_shared
def test_condefects_in_python_compiles_at_every_level():
    """What compiled before compiles after."""
    paths = sorted((DATA / "condefects").rglob("*Version.py"))[::5]
    for path in paths:
        for variant in levels(sample("condefects", "python", path.read_text())).variants:
            compile(variant.text, path.name, "exec")

    assert len(paths) >= 20


def library_files():
    """Return some files of the standard library, short ones, to keep this quick."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = (path for path in root.rglob("*.py") if "packages" not in str(path.relative_to(root)))
    short = [path for path in sorted(paths) if path.stat().st_size < 5_000]
    return [path for path in short if not {"lib2to3", "test"} & set(path.parts)]


def test_the_standard_library_parses_after_renaming_and_is_restored():
    """A spread of its files is restored to the byte by the inverse of the map."""
    chosen = random.Random(0).sample(library_files(), 150)
    for path in chosen:
        text = path.read_bytes().decode()
        found = levels(sample("library", "python", text))
        last = found.variants[-1]
        compile(last.text, path.name, "exec", dont_inherit=True)
        back = {new: name for name, new in last.rename_map.items()}
        assert found.rejected == {}
        assert rename_identifiers(last.text, "python", back) == text
