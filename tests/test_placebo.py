"""Placebo edits are minimal, independent of each other, and change no meaning."""

import ast
import difflib
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe.errors import ConfigError
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.perturbations.protected import facts, loss
from memoprobe.records import Sample

placebo = PERTURBATIONS["placebo"]

PROSE = [
    " Check whether or not all the numbers, that are in `x`,\n    cannot be found.\n    >>> f(1)\n",
    "Write a function to find the perimeter of a square.",
    "Return the list for each key such as a or b",
]
CODE = [
    "def f(a, b):\n    '''Say, a.\n\n    More'''\n"
    "    if a+b > 1:\n        return [a,b, 'x, y - z']\n"
    "    return a - b  # so, it is\n",
    "x = (1,\n     2)\ny = \\\n    x\n",
    "def f(:\n    return a, b",
]


def sample(text, kind, language="python"):
    return Sample(
        benchmark="own",
        sample_id="1",
        task="code_generation",
        language=language,
        input_kind=kind,
        text=text,
    )


def changed(before, after):
    """Return how many runs of characters differ."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(tag != "equal" for tag, *_ in blocks)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(PROSE), st.integers(0, 999), st.integers(1, 8))
def test_prose_gets_one_small_edit_a_level(text, seed, levels):
    """Each level is its own edit of the original, of a word at most, and loses nothing."""
    found = placebo(sample(text, "prose"), levels, random.Random(seed))

    assert found == placebo(sample(text, "prose"), levels, random.Random(seed), intensity="count")
    texts = [variant.text for variant in found.variants]
    assert texts[0] == text
    assert len(set(texts)) == levels + 1
    for variant in found.variants[1:]:
        assert variant.perturbation == "placebo"
        assert changed(text, variant.text) <= 3
        assert abs(len(variant.text) - len(text)) <= 8
        assert loss(text, facts(text, ()), variant.text) is None
    shares = [(variant.distance, variant.edit_share) for variant in found.variants]
    assert shares == sorted(shares)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(CODE[:2]), st.integers(0, 999), st.integers(1, 8))
def test_code_keeps_its_syntax_tree(text, seed, levels):
    """Blank lines, comments and spaces leave the same program, docstrings included."""
    found = placebo(sample(text, "code"), levels, random.Random(seed))

    texts = [variant.text for variant in found.variants]
    assert len(set(texts)) == levels + 1
    assert {ast.dump(ast.parse(item)) for item in texts} == {ast.dump(ast.parse(text))}
    assert all(changed(text, item) <= 2 for item in texts[1:])
    assert all(variant.edit_share == 0 for variant in found.variants)


def test_all_kinds_of_edit_occur():
    """Over some seeds prose and code get every kind of edit."""
    prose, code = (
        {
            variant.text
            for seed in range(40)
            for variant in placebo(sample(text, kind), 8, random.Random(seed)).variants
        }
        for text, kind in ((PROSE[0] + "\n    Done", "prose"), (CODE[0], "code"))
    )

    for part in (
        "which are in",
        "whether all",
        "all numbers",
        "can not",
        "Check  whether",
        "be\n    found",
        "found\n",
        "Done.",
    ):
        assert any(part in text for text in prose), part
    for part in ("(a,b)", "[a, b", "\n\n    if", "    # ---\n    if", "a-b  #", "is\n\n"):
        assert any(part in text for text in code), part


def test_spaces_inside_a_string_count_as_changes():
    """An edit that would reach into a string is turned down and counted."""
    found = placebo(sample("f('a, b', 'c, d', 'e - f')", "code"), 99, random.Random(0))

    assert found.rejected["changed"] >= 3
    assert all(
        "'a, b', 'c, d', 'e - f'" in re.sub(r",(?=')", ", ", variant.text)
        for variant in found.variants
    )


@pytest.mark.parametrize(
    ("text", "language", "at_least"),
    [
        (CODE[2], "python", 4),
        ("int f(int a, int b) {\n  return a;\n}\n", "java", 4),
        ("", "java", 1),
    ],
)
def test_code_that_is_not_parsed_keeps_its_tokens(text, language, at_least):
    """Broken code and a language without a grammar get edits of layout only."""
    texts = [
        variant.text
        for variant in placebo(sample(text, "code", language), 5, random.Random(0)).variants
    ]

    assert len(texts) >= at_least
    for item in texts:
        assert "".join(re.sub(r"#.*", "", item).split()) == "".join(text.split())


def test_an_unknown_intensity_is_an_error():
    """Intensity changes nothing here, yet a wrong one is told."""
    with pytest.raises(ConfigError, match="unknown intensity"):
        placebo(sample("x", "code"), 5, random.Random(0), intensity="much")
