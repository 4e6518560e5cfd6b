"""Check slots, seeds, keys and prompts."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import plan, prompts
from memoprobe.errors import PromptError
from memoprobe.records import TEXT_SLOT, Sampling
from tests.test_store import sample, variant

DESIGN = plan.Design(
    model="m",
    served_model="served",
    interface="chat",
    sampling=Sampling(),
    seed=0,
    answers=3,
    repeats=3,
    width=3,
    extra={},
)
ITEM = sample(text="x = 1", reference="x = 2")
CODE = sample(
    task="code_generation",
    input_kind="prose",
    text="Add.",
    context=f'def add(a, b):\n    """{TEXT_SLOT}"""\n',
    entry_point="add",
)


ORIGINAL = variant()


def keys(item=ITEM, level=ORIGINAL, **changes):
    return [slot.key for slot in plan.request(item, level, replace(DESIGN, **changes)).slots]


def test_a_request_covers_nine_slots_of_neighbouring_seeds():
    """Choice i is drawn with the first seed + i."""
    slots = plan.request(ITEM, variant(), DESIGN).slots

    assert [(s.repeat, s.answer) for s in slots] == list(itertools.product((1, 2, 3), repeat=2))
    assert [s.seed - slots[0].seed for s in slots] == list(range(9))
    assert len({s.key for s in slots}) == 9
    assert list(plan.runs(slots, 128)) == [slots]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_seeds_of_a_variant_never_collide(width, answers, repeats):
    """Whatever the database began with and was extended to."""
    places = itertools.product(range(1, repeats + 1), range(1, answers + 1))

    indices = [plan.slot_index(repeat, answer, width) for repeat, answer in places]

    assert len(set(indices)) == len(indices)


def test_extending_a_study_moves_no_slot():
    """More answers or repeats keep the seeds and keys that are there."""
    before = {(s.repeat, s.answer): s for s in plan.request(ITEM, variant(), DESIGN).slots}

    larger = plan.request(ITEM, variant(), replace(DESIGN, answers=5, repeats=4)).slots

    after = {(s.repeat, s.answer): s for s in larger}
    assert {place: after[place] for place in before} == before
    assert len({s.seed for s in larger}) == 20


@pytest.mark.parametrize(
    ("missing", "max_n", "lengths"),
    [
        (range(9), 4, [4, 4, 1]),
        ([0, 1, 4, 5, 8], 9, [2, 2, 1]),
        ([3, 7], 9, [1, 1]),
        ([3], 1, [1]),
        ([], 4, []),
    ],
)
def test_only_neighbours_share_a_request(missing, max_n, lengths):
    """A gap would draw the seed of a filled slot again."""
    slots = plan.request(ITEM, variant(), DESIGN).slots

    found = list(plan.runs([slots[place] for place in missing], max_n))

    assert [len(run) for run in found] == lengths
    for run in found:
        assert [slot.seed - run[0].seed for slot in run] == list(range(len(run)))


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "other"},
        {"served_model": "other"},
        {"interface": "completions"},
        {"sampling": Sampling(temperature=0.9)},
        {"sampling": Sampling(top_p=0.9)},
        {"sampling": Sampling(max_tokens=9)},
        {"seed": 1},
        {"extra": {"top_k": 5}},
        {"item": replace(ITEM, sample_id="other")},
        {"item": replace(ITEM, benchmark="other")},
        {"item": replace(ITEM, reference="x = 3")},
        {"level": variant(1, "x = 1")},
        {"level": variant(0, "y = 1")},
    ],
)
def test_a_key_hashes_all_that_can_change_an_answer(changes):
    """Each change gives other keys throughout."""
    assert not set(keys()) & set(keys(**changes))


def test_a_key_hashes_nothing_else():
    """Labels of a sample and the size of the design are no part of it."""
    assert keys() == keys(item=replace(ITEM, control=True, cluster="c", date="2026-01-01"))
    assert set(keys()) < set(keys(repeats=9))
    assert keys()[:3] == keys(repeats=1)


def test_temperature_0_has_one_slot():
    """More would be copies."""
    assert replace(DESIGN, sampling=Sampling(temperature=0)).slots() == [(1, 1)]


def test_the_order_of_visits_is_one_shuffle_that_extends():
    """The place of a sample does not depend on the others; benchmarks mix."""
    samples = [sample(benchmark=b, sample_id=str(n)) for b in "ab" for n in range(30)]

    order = plan.visiting_order(samples, 0)

    half = [each for each in order if int(each.sample_id) < 15]
    assert plan.visiting_order(half[::-1], 0) == half
    assert order != plan.visiting_order(samples, 1)
    assert len({each.benchmark for each in order[:15]}) == 2


def test_replicas_share_the_samples():
    """Each sample has one, and adding a replica moves samples only to it."""
    samples = [sample(sample_id=str(n)) for n in range(300)]

    two = [plan.replica(each, 2) for each in samples]
    three = [plan.replica(each, 3) for each in samples]

    assert min(three.count(number) for number in range(3)) > 60
    assert all(new in {old, 2} for old, new in zip(two, three, strict=True))


def test_prompts_are_filled_strictly():
    """A dollar sign in a sample stays; a template with other placeholders is an error."""
    text = prompts.fill(ITEM, "cost = '$input'", "chat")

    assert "cost = '$input'" in text
    assert "Provide a fix for the buggy function." in text
    assert "```python" in text
    with pytest.raises(PromptError, match="no prompt template"):
        prompts.template("program_repair", "telepathy")
    for wrong in ("nothing", "$input $other", "$input $", "$Input"):
        with pytest.raises(PromptError, match="needs"):
            prompts.check(wrong, "t")


def test_code_around_the_text_is_its_own_completion_prompt():
    """A base model meets the benchmark's prompt as it stands."""
    assert prompts.fill(CODE, "Sum.", "completions") == 'def add(a, b):\n    """Sum."""\n'
    assert prompts.fill(CODE, "Sum.", "chat").endswith('def add(a, b):\n    """Sum."""\n')
    plain = replace(CODE, context="assert add(1, 2) == 3", entry_point=None)
    filled = prompts.fill(plain, "Add $a.", "completions")
    assert filled == '"""\nAdd $a.\n\nassert add(1, 2) == 3\n"""'


@pytest.mark.parametrize(
    ("context", "is_continued"),
    [
        (f"def add(a):\n    '{TEXT_SLOT}'", True),
        (f"class S:\n    async def add(a):\n        '{TEXT_SLOT}'", True),
        (f"def add_all(a):\n    '{TEXT_SLOT}'", False),
        (f"from sums import add\n\n# {TEXT_SLOT}", False),
        (f"# The address of the answer.\n{TEXT_SLOT}", False),
        (f"{TEXT_SLOT}\ndef add(a):\n    pass", False),
    ],
)
def test_only_code_that_declares_the_function_is_continued(context, is_continued):
    """The function under test must be defined, by its whole name, before the text."""
    assert prompts.continues(replace(CODE, context=context)) == is_continued


def test_a_completion_of_code_ends_with_the_function():
    """Only there: another completion may begin with imports before the function."""
    assert "\ndef " in prompts.stops(CODE, "completions")
    assert plan.request(CODE, variant(), replace(DESIGN, interface="completions")).stop
    assert prompts.stops(CODE, "chat") == ()
    assert prompts.stops(ITEM, "completions") == ()
