"""The corpus of the reference model keeps its targets apart, and its items do what they say."""

import random
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import prompts
from memoprobe.languages import tokens
from memoprobe.perturbations import DEFAULT, PERTURBATIONS
from memoprobe.reference import corpus, items
from memoprobe.reference.items import TASKS, compose, meanings


def call(code, values):
    """Return what a function of the corpus gives for ``values``, or the error it raises."""
    space = {}
    exec(code, space)  # noqa: S102  code of the corpus itself
    try:
        return space[items.FUNCTION](values)
    except (AttributeError, IndexError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("seed", corpus.SEEDS)
def test_every_cell_has_its_members(seed):
    """A seed has as many targets of each task and number of copies as are declared."""
    found = Counter((target.item.task, target.copies) for target in corpus.targets(seed))

    assert found == Counter(
        {(task, copies): n for task in TASKS for copies, n in corpus.CELLS.items()}
    ) + Counter({(task, 0): corpus.UNSEEN[task] for task in TASKS})
    assert min(corpus.UNSEEN.values()) >= sum(corpus.CELLS.values())
    assert corpus.UNSEEN["code_generation"] >= 500


def test_targets_are_all_different():
    """No two targets, of any seeds, ask for the same; each seed's ids are its own."""
    texts = [target.item.text for seed in corpus.SEEDS for target in corpus.targets(seed)]
    n_targets = len(texts)

    assert len(set(texts)) == n_targets
    assert len(corpus.target_meanings()) == n_targets
    for seed in corpus.SEEDS:
        ids = [target.sample_id for target in corpus.targets(seed)]
        assert len(set(ids)) == len(ids)


def test_membership_does_not_follow_the_order():
    """Which items are shown is drawn after the items: ids tell nothing of it."""
    shown = [target.copies > 0 for target in corpus.targets(0)[:640]]

    assert 0.1 < sum(shown[:320]) / sum(shown) < 0.9
    assert shown != [target.copies > 0 for target in corpus.targets(1)[:640]]


def test_background_has_no_target():
    """No background document, and none of the exposure but the copies, answers as a target."""
    answers = {
        target.item.reference
        for seed in corpus.SEEDS
        for target in corpus.targets(seed)
        if target.item.task != "code_summarization"
    }
    drawn = [document.answer.strip() for document in islice(corpus.background("test"), 200)]

    assert answers.isdisjoint(drawn)


def test_background_is_reproduced_and_streams_differ():
    """A stream's documents follow from its name."""
    first = list(islice(corpus.background("a"), 5))

    assert first == list(islice(corpus.background("a"), 5))
    assert first != list(islice(corpus.background("b"), 5))


def test_exposure_shows_each_member_as_often_as_it_says():
    """The exposure phase has each member's document ``copies`` times, and no control's."""
    shown = Counter(corpus.exposure(1, 10))

    for target in corpus.targets(1):
        assert shown[corpus.document(target.item.sample())] == target.copies
    assert shown.total() == 10 + sum(target.copies for target in corpus.targets(1))


def test_references_pass_their_tests():
    """Every target that is code answers its own tests, whose values are not from its code."""
    for target in corpus.targets(0)[::7]:
        space = {}
        if target.item.tests:
            exec("\n".join([target.item.reference, *target.item.tests]), space)  # noqa: S102
    assert any(target.item.tests for target in corpus.targets(0)[::7])


def test_buggy_programs_are_wrong():
    """A program that is to be repaired gives another result than its fix on most items."""
    rng = random.Random(3)
    drawn = [compose("program_repair", m, rng) for m in islice(meanings(rng), 200)]
    inputs = [[4, -3, 8, 9, 5, 12, -7], ["table", "do", "moon", "noble", "street"]]
    wrong = sum(
        any(call(item.text, values) != call(item.reference, values) for values in inputs)
        for item in drawn
    )

    assert wrong > 150


@pytest.mark.parametrize("task", TASKS)
def test_items_can_be_perturbed_at_all_levels(task):
    """The ordinary perturbation of an item has the study's five levels on nearly every item."""
    rng = random.Random(5)
    samples = [compose(task, m, rng).sample() for m in islice(meanings(rng), 25)]
    name = DEFAULT[samples[0].input_kind]
    levels = [len(PERTURBATIONS[name](sample, 5, rng).variants) - 1 for sample in samples]

    assert levels.count(5) >= 23


def test_prompt_does_not_tell_the_names():
    """In a prompt in prose stands no name of the reference's variables but by chance."""
    rng = random.Random(7)
    drawn = [compose("code_generation", m, rng) for m in islice(meanings(rng), 50)]
    told = sum(
        word in tokens(item.text, "prose")
        for item in drawn
        for word in ("kept", "acc", "buf", "elem", "chosen", "bag")
        if word in tokens(item.reference, "python")
    )

    assert told == 0


def test_document_is_what_a_run_asks_and_the_likelihood_track_forces():
    """The prompt is the pipeline's; what stands between it and the reference is one blank."""
    for target in corpus.targets(0)[:: len(corpus.targets(0)) // 6]:
        sample = target.item.sample()
        prompt, answer = corpus.document(sample)

        assert prompt == prompts.fill(sample, sample.text, "completions")
        assert answer.strip() == sample.reference
        assert len(answer) - len(sample.reference) == (not prompt[-1].isspace())


def test_rows_are_items_of_an_own_benchmark():
    """A row tells whether it is a control, and not how often it was shown."""
    for target in corpus.targets(0)[:9]:
        row = corpus.row(target)
        assert row["control"] == (target.copies == 0)
        assert "copies" not in row
        assert row["input"] == target.item.text


@given(st.integers(0, 2**32))
def test_composing_is_a_function_of_the_draws(seed):
    """The same draws make the same item."""
    one, two = random.Random(seed), random.Random(seed)

    meaning = next(meanings(one))
    assert meaning == next(meanings(two))
    assert compose("program_repair", meaning, one) == compose("program_repair", meaning, two)
