"""QuixBugs programs still pass their own tests with their names replaced, at every level."""

import ast
import functools
import os
import random
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest

from memoprobe.perturbations import PERTURBATIONS
from memoprobe.records import Sample
from tests.local import SHARED, needs_shared

QUIXBUGS = SHARED / "data" / "quixbugs"
LEVELS = 5
# Takes two seconds, so it runs at the level that contains all others.
LONGEST = "python_testcases/test_levenshtein.py::test_levenshtein[input_data2-8]"

pytestmark = needs_shared


def program(path):
    """Return a program without the string after it, which tells the task in the original names."""
    text = path.read_text()
    last = ast.parse(text).body[-1]
    told = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return "".join(text.splitlines(keepends=True)[: last.lineno - 1]) if told else text


@functools.cache
def renamed(folder, seed=0):
    """Return the levels of each tested program of a folder of QuixBugs."""
    tested = {path.stem.removeprefix("test_") for path in QUIXBUGS.glob("python_testcases/test_*")}
    return {
        path.stem: PERTURBATIONS["rename"](
            Sample(
                benchmark="quixbugs-repair",
                sample_id=path.stem,
                task="program_repair",
                language="python",
                input_kind="code",
                text=program(path),
                entry_point=path.stem,
            ),
            LEVELS,
            random.Random(f"{seed}:{path.stem}"),
        ).variants
        for path in sorted((QUIXBUGS / folder).glob("*.py"))
        if path.stem in tested
    }


@pytest.mark.parametrize("level", range(LEVELS + 1))
def test_renamed_programs_pass_their_tests(level, tmp_path):
    """All JSON cases and all graph tests pass, in the layout and by the test files of QuixBugs.

    A program with fewer levels runs at its strongest.
    """
    programs = renamed("correct_python_programs")
    shutil.copy(QUIXBUGS / "conftest.py", tmp_path)
    for folder in ("json_testcases", "python_testcases"):
        shutil.copytree(QUIXBUGS / folder, tmp_path / folder)
    (tmp_path / "correct_python_programs").mkdir()
    for name, variants in programs.items():
        path = tmp_path / "correct_python_programs" / f"{name}.py"
        path.write_text(variants[min(level, len(variants) - 1)].text)

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--correct"]
    command += [] if level == LEVELS else ["--deselect", LONGEST]
    done = subprocess.run(
        [*command, "--assert=plain", *(f"python_testcases/test_{name}.py" for name in programs)],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert len(programs) > 25


def test_levels_rename_ever_more_names_until_none_is_left():
    """Each level's map extends the last and no level is empty."""
    for variants in renamed("correct_python_programs").values():
        for weaker, stronger in pairwise(variants):
            assert weaker.rename_map.items() < stronger.rename_map.items()
        assert len(variants) > 1


def test_the_same_seed_gives_the_same_names_and_another_seed_others():
    """The random generator alone decides on the nonces."""
    here = renamed("correct_python_programs")

    assert renamed.__wrapped__("correct_python_programs") == here
    assert renamed("correct_python_programs", seed=1) != here


def test_renamed_buggy_programs_compile():
    """A bug does not keep a program from being renamed."""
    programs = renamed("python_programs")

    for variants in programs.values():
        for variant in variants:
            compile(variant.text, variant.sample_id, "exec")
    assert programs.keys() == renamed("correct_python_programs").keys()
