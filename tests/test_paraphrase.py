"""Paraphrases keep what a task says, rise level by level, and come out the same every time."""

import collections
import gzip
import json
import math
import random
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe.errors import ConfigError
from memoprobe.languages import words
from memoprobe.perturbations import (
    DEFAULT,
    PERTURBATIONS,
    clauses,
    contest,
    phrases,
    rewording,
    verbs,
    wording,
)
from memoprobe.perturbations.levels import distance, steps
from memoprobe.perturbations.paraphrase import DRAWS, Way, paraphrase
from memoprobe.perturbations.protected import facts, loss, sentences, task_identifiers
from memoprobe.records import TEXT_SLOT, Sample
from tests.local import SHARED, needs_shared

SENTENCES = [
    "Write a function to find the perimeter of a square.",
    "Given a list of integers, return the sum of all elements.",
    "If there is no such element, return None.",
    "You are given two strings `left` and right_part, and it's 3.5 or n.",
    "The function should return True if n is even, and False otherwise.",
    "Return 'Yes' if all the values are equal to zero\n    in the given list.",
    "- the next odd number if n is odd.",
    "Check whether the given tuple contains an element greater than 10 or not.",
    "For a given string, count the number of vowels.",
]
BLOCKS = [
    ">>> solve([1, 2])\n    3",
    "Examples:\n    solve('a') ==> 'b'",
    "Input: a list of integers\n    Output: the sum of all elements",
    "```python\nreturn the list\n```",
    "solve(1) ➞ find the given list",
    "# find the given list",
]


def sample(text, **fields):
    return Sample(
        **{
            "benchmark": "own",
            "sample_id": "1",
            "task": "code_generation",
            "language": "python",
            "input_kind": "prose",
            "text": text,
            "entry_point": "solve",
        }
        | fields
    )


def reword(text, seed=0, levels=5, intensity="share", **fields):
    return PERTURBATIONS["lexical"](
        sample(text, **fields), levels, random.Random(seed), intensity=intensity
    )


def single_edits(text):
    """Return what one edit may make of a text."""
    return {
        reword(text, seed, levels=1, intensity="count").variants[-1].text for seed in range(150)
    }


@st.composite
def tasks(draw):
    parts = draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4))
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=2))
    return "\n\n    ".join([" ".join(parts), *blocks])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("If the list is empty, return None.", "Return None if the list is empty."),
        ("if x is odd, then return it.", None),
        ("Return 0 if all digits are even.", "If all digits are even, return 0."),
        ("Return 0 if a is b, and 1 otherwise.", None),
        ("Given a string s, return the length.", "Return the length, given a string s."),
        ("Write a function to sort a list.", "To sort a list, write a function."),
        ("Write a function to sort a list.", "Please write a function to sort a list."),
        ("Write a function to sort a list.", "Write a routine to sort a list."),
        ("Return the area.", "The function should return the area."),
        ("Return the area.", "Return the area as the result."),
        ("Add x and y", "Add x and y and return the sum"),
        ("it is a given list", "it is a provided list"),
        ("it is an individual list", "it is a single list"),
        ("it is a matching element in it", "it is a matching entry in it"),
        ("find an element of it", "find an item of it"),
        ("has a capital letter", "has an uppercase letter"),
        ("A given list", "A supplied list"),
        ("Remove it", "Delete it"),
        ("by removing them", "by deleting them"),
        ("which removes them", "which deletes them"),
        ("is removed", "is deleted"),
        ("list all in order\n    to win", "list all so\n    as to win"),
        ("Don't do it.", "Do not do it."),
        ("check if it is so", "check whether it is so"),
    ],
)
def test_rules_reword_a_site(text, expected):
    """One edit gives the expected text, or leaves a clause that cannot move where it is."""
    if expected is None:
        starts = {re.split(r"\W+", variant.lower())[0] for variant in single_edits(text)}
        assert "return" not in starts - {re.split(r"\W+", text.lower())[0]}
    else:
        assert expected in single_edits(text)


@pytest.mark.parametrize(
    "text",
    [
        "the sorted subset",
        "a prefix of an even string",
        "the largest prime",
        "the sum of a sort",
        "a return value",
        "lambda function",
        "n is a list",
        "not greater than or equal to",
        "True and False",
        "solve(the given list)",
    ],
)
def test_technical_terms_have_no_synonym(text):
    """A noun that looks like a verb, a type or a term of mathematics stays as it is."""
    assert [variant.text for variant in reword(text).variants] == [text]


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_code_and_input_output_blocks_stay(block):
    """Prose beside a block is reworded, the block is not."""
    text = f" {SENTENCES[0]}\n    {block}\n\n    {SENTENCES[1]}\n    "
    variants = reword(text).variants

    assert len(variants) == 6
    for variant in variants:
        assert f"\n    {block}\n\n" in variant.text
    assert not variants[-1].text.startswith(f" {SENTENCES[0]}")
    assert SENTENCES[1] not in variants[-1].text
    assert variants[-1].text.endswith(".\n    ")


@settings(deadline=None, max_examples=50)
@given(tasks(), st.integers(0, 2**32), st.integers(1, 7), st.sampled_from(["share", "count"]))
def test_levels_rise_and_lose_nothing(text, seed, levels, intensity):
    """Distances rise, texts differ, nothing is lost, and the same seed gives the same."""
    item = sample(text, context="def solve(left: int, n=3):")
    first, second = (
        PERTURBATIONS["lexical"](item, levels, random.Random(seed), intensity=intensity)
        for _ in "ab"
    )

    assert first == second
    assert first.rejected == {}
    said = facts(text, task_identifiers(item))
    for weaker, variant in pairwise(first.variants):
        assert weaker.distance < variant.distance <= 1
        assert variant.level == weaker.level + 1
        assert 0 < variant.edit_share <= 1
        assert variant.rename_map == {}
        assert loss(text, said, variant.text) is None
    assert first.variants[0].text == text
    assert len({variant.text for variant in first.variants}) == len(first.variants) <= levels + 1


@settings(deadline=None, max_examples=50)
@given(st.text() | st.text(st.sampled_from(" \n.`'\"aAnfi>#{}-")), st.integers(0, 99))
def test_any_text_can_be_given(text, seed):
    """Whatever a text holds, its variants have lost nothing."""
    levels = reword(text, seed)

    assert levels.variants[0].text == text
    assert levels.rejected == {}


@settings(deadline=None, max_examples=50)
@given(tasks(), st.integers(0, 2**32))
def test_each_candidate_adds_one_edit_to_the_last(text, seed):
    """The edits of a candidate are those of the one before and one more."""
    edits = rewording.edits(text, frozenset({"left", "n"}), random.Random(seed))
    applied = []

    for candidate in rewording.reword(text, frozenset({"left", "n"}), random.Random(seed)):
        fitting = [
            edit
            for edit in edits
            if edit not in applied and rewording.render(text, [*applied, edit]) == candidate
        ]
        assert fitting
        applied.append(fitting[0])


@settings(deadline=None, max_examples=50)
@given(tasks(), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_rendering_edits_without_parts_is_splicing(text, seed, chance):
    """Edits that keep nothing of their span are plain replacements, in any order."""
    edits = [
        edit
        for edit in rewording.edits(text, frozenset(), random.Random(seed))
        if not edit.parts and "\n" not in text[edit.start : edit.end]
    ]
    chosen = chance.sample(edits, chance.randint(0, len(edits)))
    spliced = text
    for edit in sorted(chosen, reverse=True):
        capital = text[edit.start : edit.end][:1].isupper()
        new = edit.template[:1].upper() + edit.template[1:] if capital else edit.template
        spliced = spliced[: edit.start] + new + spliced[edit.end :]

    assert rewording.render(text, chosen) == spliced


def test_levels_apply_about_their_share_of_the_edits():
    """Level 3 of 5 applies three fifths of the edits, count as many edits as its number."""
    text = "\n\n".join(SENTENCES[:4])
    edits = rewording.reword(text, frozenset({"solve"}), random.Random(0))
    by_count = [text, *edits]
    by_share = reword(text).variants

    shares = [round(level / 5 * (len(by_count) - 1)) for level in range(6)]
    assert [variant.text for variant in by_share] == [by_count[n] for n in shares]
    counted = reword(text, intensity="count").variants
    assert [variant.text for variant in counted] == by_count[:6]


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        ("Give back 3 of `x` and 'y' by solve: two.\n>>> 1", None),
        ("Give back 4 of `x` and 'y' by solve: two.\n>>> 1", "number"),
        ("Give back 3 of `x` and 'y' by solve: 2.\n>>> 1", "number"),
        ("Give back 3 of `x` and y by solve: two.\n>>> 1", "literal"),
        ("Give back 3 of x and 'y' by solve: two.\n>>> 1", "code"),
        ("Give back 3 of `x` and 'y' by solve: two.\n>> 1", "example"),
        ("Give back 3 of `x` and 'y' by it: two.\n>>> 1", "identifier"),
        ("Give back 3 of `x` and 'y' by solve: \"two\".\n>>> 1", "quote"),
        ("Give back 3 of `x` and 'y' by solve:\\ two.\n>>> 1", "quote"),
        ("Return 3 of `x` and 'y' by solve: two.\n>>> 1", "equal"),
    ],
)
def test_gates_turn_down_what_lost_something(candidate, reason):
    """A candidate that changed a number, a literal, code, an example or a name is counted."""
    levels = paraphrase(
        sample("Return 3 of `x` and 'y' by solve: two.\n>>> 1"),
        5,
        random.Random(0),
        lambda text, identifiers, rng: [candidate],
        Way("fixed"),
    )

    assert len(levels.variants) == (1 if reason else 2)
    assert levels.rejected == ({reason: DRAWS} if reason else {})


def test_a_source_is_drawn_from_until_it_gives_enough():
    """The draw with most candidates is used whole and ordered by distance."""
    draws = iter(
        [
            ["one red car stops"],
            ["all is still", "one red bus goes", "one red car stops", "one red car stops"],
            ["never"],
        ]
    )

    levels = paraphrase(
        sample("one red car goes"), 2, random.Random(0), lambda *_: next(draws), Way("fixed")
    )

    assert [variant.text for variant in levels.variants] == [
        "one red car goes",
        "one red bus goes",
        "all is still",
    ]
    assert [variant.perturbation for variant in levels.variants] == ["fixed"] * 3
    assert levels.rejected == {"equal": 1}
    assert next(draws) == ["never"]


def test_names_of_a_task_are_its_function_and_its_parameters():
    """A parameter that is an ordinary word is protected, a type is not."""
    context = f'def solve(given: Tuple[int, str], *rest,\n    elements=2):\n    """{TEXT_SLOT}"""'
    item = sample("Return all elements of the given list and the rest.", context=context)

    assert task_identifiers(item) == {"solve", "given", "rest", "elements"}
    assert task_identifiers(sample("", entry_point=None, context="def f(x): 0")) == {"x"}
    for variant in PERTURBATIONS["lexical"](item, 5, random.Random(1)).variants:
        assert {"given", "rest", "elements"} <= set(words(variant.text))


def test_sentences_end_at_full_stops_blocks_bullets_and_capitals():
    """Markers and outer space are no part of a sentence, abbreviations do not end it."""
    text = (
        " Use e.g. x. then go\n    Round it\n    on\n    - one thing\n    2. two things\n\n"
        '"Odd\n    >>> f()\n    1\n\n    Done'
    )
    found = [(text[start:end], closed) for start, end, closed in sentences(text)]

    assert found == [
        ("Use e.g. x.", True),
        ("then go", False),
        ("Round it\n    on", True),
        ("one thing", True),
        ("two things", True),
        ("Odd", True),
        ("Done", True),
    ]


def test_code_is_not_reworded():
    """The lexical source takes prose only, and is what prose gets."""
    with pytest.raises(ConfigError, match="lexical alters prose"):
        reword("x = 1", input_kind="code")
    assert DEFAULT == {"prose": "lexical", "code": "rename"}
    assert set(DEFAULT.values()) <= set(PERTURBATIONS)


@pytest.mark.parametrize("text", [clauses.CLAUSES, clauses.ENDINGS, clauses.OPENINGS])
@pytest.mark.parametrize("more", [phrases.PHRASES, wording.WORDING, contest.CONTEST])
def test_templates_bring_in_nothing_that_a_gate_forbids(text, more):
    """No template holds a quotation mark, a backslash, a digit or a number word."""
    for line in (text + more).splitlines():
        template = line.partition("=> ")[2]
        plain = re.sub(r"\{\d\}", "", template)
        assert not re.search(r"[\"'`\\\d]|\b(?:two|three|four|zero|twice|half)\b", plain)


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("find", "finds finding"),
        ("calculate", "calculates calculating calculated"),
        ("carry out", "carries out carrying out carried out"),
        ("split", "splits splitting"),
        ("search", "searches searching searched"),
        ("obtain", "obtains obtaining obtained"),
        ("swap", "swaps swapping swapped"),
        ("display", "displays displaying displayed"),
        ("order", "orders ordering ordered"),
        ("see", "sees seeing"),
    ],
)
def test_verbs_are_inflected(verb, forms):
    """Third person, participle and past of verbs, at their first word."""
    endings = ("s", "ing", "ed")[: len(forms.split()) // len(verb.split())]

    assert " ".join(verbs.inflected(verb, ending) for ending in endings) == forms


@given(st.integers(0, 60), st.integers(0, 9), st.sampled_from(["share", "count"]))
def test_steps_rise_to_all_edits(n_edits, levels, intensity):
    """Counts rise by at least one; share reaches all edits where there are levels enough."""
    counts = steps(n_edits, levels, intensity)

    assert len(counts) == min(n_edits, levels)
    assert counts == sorted(set(counts))
    if intensity == "share" and counts:
        assert counts[-1] == n_edits
        assert all(
            abs(c - (k + 1) / levels * n_edits) <= 0.5 or c == k + 1 for k, c in enumerate(counts)
        )
    if intensity == "count":
        assert counts == list(range(1, len(counts) + 1))


@given(*[st.text(st.sampled_from("abAB .")) for _ in "ab"])
def test_distance_is_one_minus_the_cosine_of_unigrams_and_bigrams(text, other):
    """The distance agrees with the formula, is symmetric and 0 to itself."""
    vectors = []
    for prose in (text, other):
        terms = words(prose.lower())
        vectors.append(collections.Counter(terms + [" ".join(pair) for pair in pairwise(terms)]))
    norms = [math.sqrt(sum(n * n for n in vector.values())) for vector in vectors]
    dot = sum(vectors[0][term] * vectors[1][term] for term in vectors[0])

    if all(norms):
        assert distance(text, other) == pytest.approx(1 - dot / math.prod(norms), abs=1e-9)
    else:
        assert distance(text, other) == (any(norms))
    assert distance(text, other) == distance(other, text)
    assert distance(text, text) == 0


def human_eval():
    """Yield the docstrings of HumanEval with their surroundings as context."""
    with gzip.open(SHARED / "data/humaneval/HumanEval.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            prompt = row["prompt"]
            opening = re.compile(r"\"\"\"|'''").search(
                prompt, prompt.index(f"def {row['entry_point']}(")
            )
            end = prompt.index(opening[0], opening.end())
            yield sample(
                prompt[opening.end() : end],
                sample_id=row["task_id"],
                context=prompt[: opening.end()] + TEXT_SLOT + prompt[end:],
                entry_point=row["entry_point"],
            )


def mbpp():
    """Yield the sentences of MBPP."""
    with (SHARED / "data/mbpp/mbpp.jsonl").open() as lines:
        for row in map(json.loads, lines):
            yield sample(row["text"], sample_id=str(row["task_id"]), context=row["test_list"][0])


@needs_shared
@pytest.mark.parametrize(("rows", "share"), [(human_eval, 0.15), (mbpp, 0.5)])
def test_real_tasks_get_all_six_levels(rows, share):
    """At least 95 % have six levels, none lost anything, edit shares rise to a fair mean."""
    levels = [PERTURBATIONS["lexical"](item, 5, random.Random(item.sample_id)) for item in rows()]

    full = [variants for variants, _ in levels if len(variants) == 6]
    means = [sum(variants[k].edit_share for variants in full) / len(full) for k in range(6)]
    assert len(full) >= 0.95 * len(levels)
    assert means == sorted(means)
    assert means[5] > share
    assert not any(rejected for _, rejected in levels)
