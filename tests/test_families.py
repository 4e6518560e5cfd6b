"""Layout, comments, dead code and order change, and what a program does stays; noise is nested."""

import ast
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe.errors import ConfigError
from memoprobe.languages import parses, tokens
from memoprobe.perturbations import PERTURBATIONS, undo
from memoprobe.records import Sample
from tests.rename_programs import PROGRAMS

KEPT = ("format", "comments", "dead-code", "reorder")
CODE_ONLY = (*KEPT, "constants")
PYTHON = '''#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""Sums
  and prints."""
from __future__ import annotations
import sys
import os.path
from enum import Enum
from dataclasses import dataclass

LIMIT = 3
# how it starts
NAME = "a"  # of the first
ROWS = [1, 2]


class Mood(Enum):
    """A mood."""
    CALM = 1
    WILD = 2

    def told(self):
        return self.name


@dataclass
class Point:
    x: int = 0
    y: int = 1

    def total(self, factor=2):
        """Text  with
          layout."""
        first = 0
        second = "b"
        third = factor
        return (self.x + self.y) * third + first

    def shown(self) -> str:
        return f"{self.x=} {self.y + 1:>{LIMIT}}" + \\
            'c , d'


def helper(value, other=None):
    try:
        kind = unicode
        flag = 1
    except NameError:
        flag = 2
    match value:
        case [first, *rest]:
            return first, rest, flag
        case _:
            pass
    if value: return value
    else:
        # nothing there
        return [x for x in range(3) if x > 1
                and x != -1]


def outer(number):
    count = 0
    names = {}
    size = len(ROWS)

    def inner(step):
        nonlocal count
        count += step
        return count

    for k in range(number): inner(k); inner(1)
    while True:
        count = count % 7
        break
    with open(os.devnull) as handle:
        data = handle.read()
    return inner(2), names, size, data


print([mood.told() for mood in Mood], Point(1, 2).total(), Point().shown(), helper([1, 2]),
      helper(0), outer(3), NAME, LIMIT, Point.total.__doc__, __doc__, sys.argv[1:])
'''
TEXTS = {"python": PYTHON} | {name: program.text for name, program in PROGRAMS.items()}


def sample(text, language="python", kind="code", **fields):
    return Sample(
        benchmark="own",
        sample_id="1",
        task="program_repair",
        language=language,
        input_kind=kind,
        text=text,
        **fields,
    )


def perturbed(family, text, language="python", *, seed=0, levels=5, intensity="share"):
    """Return the levels of a text."""
    kind = "prose" if language == "prose" else "code"
    found = PERTURBATIONS[family](
        sample(text, language, kind), levels, random.Random(seed), intensity=intensity
    )
    assert {variant.perturbation for variant in found.variants} == {family}
    return found


def texts(*args, **options):
    return [variant.text for variant in perturbed(*args, **options).variants]


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("family", CODE_ONLY)
def test_levels_are_distinct_and_parse_as_before(family, language):
    """All programs but for C#'s nothing movable get five levels, of which none is turned down."""
    found = perturbed(family, TEXTS[language], language)

    levels = [variant.text for variant in found.variants]
    assert levels[0] == TEXTS[language]
    assert len(set(levels)) == len(levels)
    assert len(levels) == 6 or family == "reorder"
    assert found.rejected == {}
    assert {parses(text, language) for text in levels} == {parses(levels[0], language)}
    assert all(variant.rename_map == {} for variant in found.variants)


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("family", ["format", "comments"])
def test_layout_and_comments_leave_every_token(family, language):
    """The tokens of every level, text literals included, are those of the original."""
    found = perturbed(family, TEXTS[language], language)

    for variant in found.variants[1:]:
        assert tokens(variant.text, language) == tokens(TEXTS[language], language)
        assert variant.edit_share == 0


@settings(deadline=None, max_examples=12)
@given(
    st.sampled_from(["format", "comments", "dead-code", "reorder", "constants", "bitflip"]),
    st.sampled_from(sorted(TEXTS)),
    st.integers(0, 99),
)
def test_levels_are_nested_and_seeded(family, language, seed):
    """Every level makes the first so many of one row of changes, which the seed alone draws."""
    text = TEXTS[language]

    levels = texts(family, text, language, seed=seed, levels=3)

    assert levels == texts(family, text, language, seed=seed, levels=3)
    one_by_one = texts(family, text, language, seed=seed, levels=3, intensity="count")
    assert one_by_one[0] == levels[0]
    assert len(one_by_one) == len(levels)
    if family == "format":  # only white space differs, so its runs can be compared
        runs = [re.findall(r"(\s*)\S", level) for level in levels]
        changed = [
            {i for i, (old, new) in enumerate(zip(runs[0], run, strict=True)) if old != new}
            for run in runs
        ]
        assert all(here < there for here, there in pairwise(changed))
    if family == "dead-code":
        lines = [Counter(level.splitlines()) for level in levels]
        assert all(here < there for here, there in pairwise(lines))


@pytest.mark.parametrize("family", ["format", "reorder", "constants", "bitflip"])
def test_a_share_of_the_changes_is_a_number_of_them(family):
    """Each level of a share occurs where the same changes are made one by one."""
    text = "".join(PYTHON.partition("def outer")[1:])
    levels = texts(family, text, levels=2)

    most = 2 if family == "bitflip" else 1000  # its changes depend on the number of levels
    steps = texts(family, text, levels=most, intensity="count")
    assert set(levels[: 1 if family == "bitflip" else 3]) <= set(steps)
    assert len(steps) >= len(levels) == 3


def test_levels_are_the_same_in_every_process():
    """No choice hangs on the hash of a text, which differs between processes."""
    code = (
        "import json; from tests.test_families import *\n"
        "print(json.dumps([digest(f, l) for f in PERTURBED for l in SOME]))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        for seed in ("1", "2")
    ]

    here = [digest(family, language) for family in PERTURBED for language in SOME]
    assert [json.loads(run.stdout) for run in runs] == [here, here]


PERTURBED, SOME = (*CODE_ONLY, "bitflip"), ("python", "c", "ruby")


def digest(family, language):
    return hashlib.sha256("\0".join(texts(family, TEXTS[language], language)).encode()).hexdigest()


def all_changed(text, language, seed):
    """Return a program with all that keeps its meaning changed at full strength."""
    for family in ("reorder", "dead-code", "comments", "format"):
        text = texts(family, text, language, seed=seed)[-1]
    return text


def run(command, **options):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_prints_the_same_at_every_level(tmp_path):
    """Docstrings, texts, f-strings, match, enumerations and what is caught are as before."""
    programs = [text for family in KEPT for text in texts(family, PYTHON)]
    programs += [all_changed(PYTHON, "python", seed) for seed in range(4)]
    for i, text in enumerate(programs):
        (tmp_path / f"{i:03}.py").write_text(text)
    runner = (
        "import runpy, sys\nfor path in sys.argv[1:]:\n    print('@')\n    runpy.run_path(path)"
    )
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        f"{runner}",
        *sorted(map(str, tmp_path.iterdir())),
    ]

    printed = run(command).split("@\n")[1:]

    told = {re.sub(r"\[('/[^]]*)\]", "", text) for text in printed}
    assert len(printed) == len(programs)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("language", "tool", "command"),
    [
        ("c", "gcc", ["gcc", "-w", "-o", "program"]),
        ("cpp", "g++", ["g++", "-w", "-std=c++17", "-o", "program"]),
        ("java", "java", ["java"]),
        ("javascript", "node", ["node"]),
    ],
)
def test_programs_of_other_languages_print_the_same(language, tool, command, tmp_path):
    """A program with all four kinds of changes compiles and prints what it did."""
    if shutil.which(tool) is None:  # the grammar's own check stands in for it
        assert parses(all_changed(TEXTS[language], language, 0), language)
        return
    ending = {"c": "c", "cpp": "cpp", "java": "java", "javascript": "js"}[language]
    printed = []
    for name, text in (("a", TEXTS[language]), ("b", all_changed(TEXTS[language], language, 0))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"Main.{ending}").write_text(text)
        out = run([*command, f"Main.{ending}"], cwd=folder)
        printed.append(run(["./program"], cwd=folder) if "-o" in command else out)

    assert text != TEXTS[language]
    assert printed[0] == printed[1] != ""


@pytest.mark.parametrize("language", TEXTS)
def test_an_echo_of_the_prompt_is_not_charged(language):
    """Undone, a variant that a model repeats is the original: the same tokens in the same order."""
    for family in KEPT:
        asked = sample(TEXTS[language], language)
        for variant in perturbed(family, asked.text, language).variants:
            told = undo(variant.text, asked, variant)
            assert tokens(told, language) == tokens(asked.text, language)
            assert family != "reorder" or told == asked.text


def test_an_answer_keeps_what_is_its_own():
    """To undo takes our lines out and restores the order; what a model adds stays."""
    asked = sample("a = 1\nb = 2\nc = 3\n")
    dead, moved = (
        perturbed(family, asked.text).variants[-1] for family in ("dead-code", "reorder")
    )

    assert undo(f"{dead.text}d = 4\n", asked, dead) == "a = 1\nb = 2\nc = 3\nd = 4\n"
    assert undo("c = 3\nd = 4\nb = 2\na = 1\n", asked, moved) == "c = 3\nd = 4\na = 1\nb = 2\n"
    assert undo("x = f(", asked, moved) == "x = f("
    assert undo("c b a", sample("a b c", "rust"), moved) == "c b a"


@pytest.mark.parametrize("family", CODE_ONLY)
def test_what_a_family_does_not_take_is_an_error(family):
    """Prose, an unknown language and an unknown intensity are told with the sample."""
    for text, pattern in (
        (sample("Sort it.", "python", "prose"), f"perturbation {family} alters code, .* is prose"),
        (sample("fn f() {}", "rust"), f"{family} cannot alter 'rust' of own sample 1: .* python"),
    ):
        with pytest.raises(ConfigError, match=pattern):
            PERTURBATIONS[family](text, 5, random.Random(0))
    with pytest.raises(ConfigError, match="unknown intensity"):
        PERTURBATIONS[family](sample("x = 1"), 5, random.Random(0), intensity="much")


@pytest.mark.parametrize("family", [*CODE_ONLY, "bitflip"])
@pytest.mark.parametrize("text", ["", "\n", "# only this", "x = (", "def f(:\n  pass\n", "\udc80"])
def test_code_without_anything_to_change_has_fewer_levels(family, text):
    """Empty and broken texts raise nothing, and parse or not as before."""
    levels = texts(family, text)

    assert levels[0] == text
    assert len(set(levels)) == len(levels)
    assert family == "bitflip" or {parses(each, "python") for each in levels} == {
        parses(text, "python")
    }


def test_a_python_file_keeps_its_beginning():
    """Shebang, encoding, docstring and imports from the future stay where they must be."""
    for family in KEPT:
        for text in texts(family, PYTHON):
            assert text.startswith("#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n")
            tree = ast.parse(text)
            assert ast.get_docstring(tree, clean=False) == "Sums\n  and prints."
            assert [type(node) for node in tree.body[:2]] == [ast.Expr, ast.ImportFrom]
