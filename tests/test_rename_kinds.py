"""The variants of renaming: natural names, one name, the function's name, comments, strength."""

import keyword
import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.errors import ConfigError
from memoprobe.languages import LANGUAGES, rename_identifiers
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.perturbations.nonces import nonces
from memoprobe.perturbations.rename import Renaming
from memoprobe.perturbations.strength import edit_aims, matched
from memoprobe.records import Sample
from memoprobe.scoping.fragments import keywords
from tests.rename_programs import PROGRAMS

JAVA = (
    "class A { static int gcd(int left, int right) { return right == 0 ? left : gcd(right, 1); } }"
)
PYTHON = (
    '"""Add to `total` what a row holds.\n\n:param int first_row: the first row\n"""\n'
    "def f(first_row, a):\n    # 'a' is a row like first_row, and total its sum\n"
    '    total = first_row + a\n    return total, "total"\n'
)


def sample(language, text, **fields):
    return Sample(
        **{
            "benchmark": "own",
            "sample_id": "1",
            "task": "program_repair",
            "language": language,
            "input_kind": "code",
            "text": text,
        }
        | fields
    )


def levels(perturbation, item, n_levels=5, seed=0, **options):
    return PERTURBATIONS[perturbation](item, n_levels, random.Random(seed), **options)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("maxValue", "[a-z]{3}[A-Z][a-z]{4}"),
        ("MaxValue", "[A-Z][a-z]{2}[A-Z][a-z]{4}"),
        ("parseHTTPResponse", "[a-z]{5}[A-Z]{4}[A-Z][a-z]{7}"),
        ("_max_value", "_[a-z]{3}_[a-z]{5}"),
        ("MAX_VALUE", "[A-Z]{3}_[A-Z]{5}"),
        ("__private", "__[a-z]{7}"),
        ("$element", r"\$[a-z]{7}"),
        ("größe", "[a-z]{5}"),
        ("i", "[a-z]{2}"),
        ("N", "[A-Z]{2}"),
        ("row2", "[a-z]{4}"),
        ("a_1", "[a-z]_[a-z]"),
    ],
)
def test_a_nonce_has_the_style_and_the_length_of_its_name(name, pattern):
    """Humps, underscores, capitals and leading marks are kept; one letter becomes two."""
    new = nonces([name], [], random.Random(1))[name]

    assert re.fullmatch(pattern, new)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("maxValue", "[a-z]+[A-Z][a-z]+"),
        ("MaxValue", "[A-Z][a-z]+[A-Z][a-z]+"),
        ("_max_value", "_[a-z]+_[a-z]+"),
        ("MAX_VALUE", "[A-Z]+_[A-Z]+"),
        ("i", "[a-z]{4,}"),
        ("N", "[A-Z]{4,}"),
    ],
)
def test_a_natural_name_has_the_style_of_its_name(name, pattern):
    """As many words as the old name has, joined in its way."""
    new = nonces([name], [], random.Random(1), natural=True)[name]

    assert re.fullmatch(pattern, new)


@given(st.integers(0, 2**32), st.booleans())
def test_new_names_are_different_and_none_is_taken(seed, natural):
    """More names than there are short new ones get longer ones."""
    names = [f"{letter}{other}" for letter in "abcdefghij" for other in ("", *"klmnopqrst")]
    taken = set(nonces(names[::2], [], random.Random(seed + 1), natural=natural).values())
    new = nonces(names, taken, random.Random(seed), natural=natural)

    assert list(new) == names
    assert len(set(new.values())) == len(names)
    assert not set(new.values()) & (taken | set(keyword.kwlist))


def test_no_ordinary_word_is_a_keyword():
    """Code with natural names parses, whatever its language."""
    drawn = nonces([f"x{k}" for k in range(3_000)], [], random.Random(0), natural=True).values()
    ordinary = {word for word in drawn if word.islower()}
    attempts = {attempt for spec in LANGUAGES.values() for attempt in spec.attempts}
    reserved = {word for attempt in attempts for word in keywords(*attempt[:2])}

    assert len(ordinary) > 550
    assert not ordinary & (reserved | set(keyword.kwlist))


@pytest.mark.parametrize("language", PROGRAMS)
def test_natural_names_take_the_places_that_nonces_take(language):
    """The two perturbations differ in the new names alone."""
    item = sample(language, PROGRAMS[language].text)
    plain, natural = (levels(name, item) for name in ("rename", "rename-natural"))
    last = natural.variants[-1]
    back = {new: name for name, new in last.rename_map.items()}

    assert [v.edit_share for v in natural.variants] == [v.edit_share for v in plain.variants]
    assert last.rename_map.keys() == plain.variants[-1].rename_map.keys()
    assert last.perturbation == "rename-natural"
    assert rename_identifiers(last.text, language, back) == item.text


@pytest.mark.parametrize("language", PROGRAMS)
def test_single_renames_one_name_a_level_and_ever_more_frequent_ones(language):
    """Each level has a name of its own, used at least as often as that of the level before."""
    item = sample(language, PROGRAMS[language].text)
    variants = levels("single", item).variants[1:]
    uses = [rename_identifiers(v.text, language, {}) for v in variants]
    counts = [
        len(re.findall(rf"(?<!\w){re.escape(new)}(?!\w)", text))
        for text, variant in zip(uses, variants, strict=True)
        for new in variant.rename_map.values()
    ]

    assert [len(variant.rename_map) for variant in variants] == [1] * 5
    assert len({name for variant in variants for name in variant.rename_map}) == 5
    assert counts == sorted(counts)


def test_single_has_no_more_levels_than_names():
    """Two names give two levels."""
    assert len(levels("single", sample("c", "int f(int a) { return a; }")).variants) == 3


@pytest.mark.parametrize(
    ("language", "text", "entry_point"),
    [
        ("java", JAVA, "gcd"),
        ("python", "def gcd(a, b):\n    return gcd(b, a)\n", "gcd"),
        ("c", "int gcd(int a) { return gcd(a); }", "gcd"),
    ],
)
def test_function_name_renames_the_function_under_test_alone(language, text, entry_point):
    """Each level calls it something else, although tests use its name; nothing else changes."""
    item = sample(language, text, entry_point=entry_point, tests=f"assert {entry_point}(1, 0) == 1")
    found = levels("function-name", item)

    new = [variant.rename_map[entry_point] for variant in found.variants[1:]]
    assert len(set(new)) == 5
    for variant, name in zip(found.variants[1:], new, strict=True):
        assert variant.rename_map == {entry_point: name}
        assert variant.text == text.replace(entry_point, name)
    assert found.rejected == {}


@pytest.mark.parametrize(
    ("text", "entry_point", "rejected"),
    [
        ("class A { public int gcd(int a) { return a; } }", "gcd", {"kept": 1}),
        ("class A { static int gcd(int a) { return a; } }", None, {"kept": 1}),
        ("class A { static int gcd(int a) { ", "gcd", {"unparsable": 1}),
    ],
)
def test_function_name_has_level_0_only_where_the_name_must_stay(text, entry_point, rejected):
    """A method may override another; a sample may name no function; and code may not parse."""
    item = sample("java", text, entry_point=entry_point)

    assert [variant.level for variant in levels("function-name", item).variants] == [0]
    assert levels("function-name", item).rejected == rejected


@pytest.mark.parametrize("name", ["rename", "rename-natural", "single", "function-name"])
def test_every_kind_refuses_prose_and_says_that_code_does_not_parse(name):
    """Prose is a mistake of the study file; broken code is a fact of the benchmark."""
    with pytest.raises(ConfigError, match=f"perturbation {name} alters code"):
        levels(name, sample("c", "Add two numbers.", input_kind="prose"))
    assert levels(name, sample("c", "int f(int a) {{")).rejected == {"unparsable": 1}


def test_names_that_comments_and_docstrings_quote_follow_where_asked():
    """A word of prose that only looks like a name stays, and so do strings."""
    item = sample("python", PYTHON, entry_point="f")
    plain = levels("rename", item).variants[-1]
    told = levels("rename", item, renaming=Renaming(comments=True)).variants[-1]
    new = told.rename_map

    assert "`total`" in plain.text
    assert "'a' is a row like first_row" in plain.text
    assert new == plain.rename_map
    assert f"Add to `{new['total']}` what a row holds" in told.text
    assert f":param int {new['first_row']}: the first row" in told.text
    assert f"'{new['a']}' is a row like {new['first_row']}, and total its sum" in told.text
    assert f'return {new["total"]}, "total"' in told.text


def test_comments_follow_in_other_languages_as_well():
    """Javadoc's @param and a name in camel case are quotations."""
    text = (
        "/** @param rowCount rows\n * of `a` @param a */ int f(int rowCount, int a) { return a; }"
    )
    last = levels("rename", sample("java", text), renaming=Renaming(comments=True)).variants[-1]

    assert not re.search(r"rowCount|`a`|@param a\b", last.text)


def share_of(n_edits):
    return n_edits / 20


@pytest.mark.parametrize(
    ("aims", "n_edits", "counts"),
    [
        ([0.1, 0.2, 0.3], 20, [2, 4, 6]),
        ([0.11, 0.19, 0.33], 20, [2, 4, 7]),
        ([0.9, 0.95, 1.0], 4, [2, 3, 4]),
        ([0.0, 0.0, 0.0], 9, [1, 2, 3]),
        ([0.5, 0.6, 0.7], 2, [1, 2]),
        ([0.3, 0.3, 0.3], 20, [4, 5, 6]),
        ([0.1, 0.2], 0, []),
        ([0.125], 20, [2]),
    ],
)
def test_matched_comes_closest_to_each_aim(aims, n_edits, counts):
    """Counts rise, and edits are left for the levels below."""
    assert matched(aims, n_edits, share_of) == counts


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=6).map(sorted),
    st.lists(st.floats(0, 0.1), min_size=1, max_size=30),
)
def test_matched_is_never_farther_off_than_any_other_choice(aims, steps):
    """A level takes the best of the counts that are open to it."""
    shares = [sum(steps[:k]) for k in range(len(steps) + 1)]
    counts = matched(aims, len(steps), shares.__getitem__)

    assert len(counts) == min(len(aims), len(steps))
    for level, (count, above) in enumerate(pairwise([*counts, len(steps) + 1]), start=1):
        off = [abs(shares[k] - aims[level - 1]) for k in range(level, above)]
        assert level <= count < above
        assert abs(shares[count] - aims[level - 1]) == min(off)


def test_edit_aims_are_within_reach_of_the_weakest_benchmark():
    """Equal steps to the smallest of the medians; items that nothing can alter do not count."""
    aims = edit_aims({"a": [0.1, 0.2, 0.3], "b": [0.4, 0.5, 0.0]}, 4)

    assert aims == pytest.approx((0.05, 0.1, 0.15, 0.2))


def test_a_benchmark_that_cannot_be_altered_cannot_be_matched():
    """The message names the benchmark and the two ways out."""
    with pytest.raises(ConfigError, match=r"no item of b can be altered.*match_edit_share"):
        edit_aims({"a": [0.1], "b": [0.0, 0.0]}, 4)


def test_where_names_are_too_long_the_rarest_come_first():
    """Of a few frequent names and many rare ones the matched levels take the rare ones."""
    often = "".join(f"    total = total + value * {k} - value\n" for k in range(20))
    text = f"def f(total, value, one, two, three):\n{often}    return one, two, three, total\n"
    item = sample("python", text, entry_point="f")
    loose = levels("rename", item).variants
    close = levels("rename", item, renaming=Renaming(edit_shares=(0.01, 0.02, 0.03))).variants

    assert set(close[-1].rename_map) == {"one", "two", "three"}
    assert close[-1].edit_share < 0.1 < loose[-1].edit_share


def test_matched_benchmarks_have_one_strength():
    """A program with many names comes as close to the weaker one's shares as its names allow."""
    items = [sample(language, PROGRAMS[language].text) for language in ("c", "ruby", "java")]
    full = {item.language: [levels("rename", item).variants[-1].edit_share] for item in items}
    aims = edit_aims(full, 5)
    assert max(full.values())[0] > aims[-1] * 1.3

    for item in items:
        variants = levels("rename", item, renaming=Renaming(edit_shares=aims)).variants
        assert [variant.edit_share for variant in variants[1:]] == pytest.approx(aims, rel=0.25)
        for weaker, stronger in pairwise(variants):
            assert weaker.rename_map.items() < stronger.rename_map.items()
