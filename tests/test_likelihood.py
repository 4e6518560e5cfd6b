"""Decide whose likelihood is asked for, and turn it into scores and sensitivities."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import likelihood, sensitivity
from memoprobe.benchmarks.code_generation import humaneval_sample
from memoprobe.endpoints.forced import Measured
from memoprobe.plan import Design
from memoprobe.records import (
    Likelihood,
    Response,
    Sample,
    Sampling,
    Sensitivity,
    Variant,
)

BUGGY = "def solve(first, second):\n    total = first - second\n    return total\n"
FIXED = BUGGY.replace("-", "+")
NAMES = {"total": "zuma", "first": "pole"}

HUMANEVAL = {
    "task_id": "Own/1",
    "prompt": 'import math\n\n\ndef area(radius):\n    """ Return the area.\n    """\n',
    "canonical_solution": "    squared = radius ** 2\n\n    return math.pi * squared\n",
    "test": "def check(candidate):\n    assert candidate(0) == 0\n",
    "entry_point": "area",
}


def repair(**changes):
    values = {
        "benchmark": "own",
        "sample_id": "r1",
        "task": "program_repair",
        "language": "python",
        "input_kind": "code",
        "text": BUGGY,
        "reference": FIXED,
        "entry_point": "solve",
    }
    return Sample(**{**values, **changes})


def summary():
    return repair(task="code_summarization", reference="\nAdds first and second.\n")


def variant(text=BUGGY, level=0, names=None):
    return Variant(
        benchmark="own",
        sample_id="r1",
        perturbation="rename",
        level=level,
        text=text,
        distance=0.0,
        edit_share=0.0,
        rename_map=names or {},
    )


def design(interface="completions", **changes):
    values = {
        "model": "ours",
        "served_model": "theirs",
        "interface": interface,
        "sampling": Sampling(),
        "seed": 3,
        "answers": 3,
        "repeats": 3,
        "width": 3,
        "extra": {},
    }
    return Design(**{**values, **changes})


RENAMED = "def solve(pole, second):\n    zuma = pole + second\n    return zuma"


@pytest.mark.parametrize(
    ("item", "interface", "prompt", "given", "reference"),
    [
        pytest.param(repair(), "chat", "Fix it", "```python\n", RENAMED, id="code in a chat"),
        pytest.param(repair(), "completions", "# Fixed\n", "", RENAMED, id="code on a new line"),
        pytest.param(repair(), "completions", '"""', "\n", RENAMED, id="code in a line"),
        pytest.param(summary(), "chat", "Say", "", "Adds pole and second.", id="prose in a chat"),
        pytest.param(
            summary(), "completions", "Answer:", "", " Adds pole and second.", id="prose in a line"
        ),
        pytest.param(
            summary(), "completions", "Answer:\n", "", "Adds pole and second.", id="prose"
        ),
    ],
)
def test_the_answer_is_the_reference_in_the_prompts_names(
    item, interface, prompt, given, reference
):
    """A perfect answer to a renamed prompt has the new names; what opens it is not measured."""
    opened = likelihood.answer_of(item, variant(names=NAMES), interface, prompt)

    assert opened == (given, reference)


def test_layout_inside_the_reference_stays():
    """The reference is asked for as it is published, only blank lines around it go."""
    item = repair(language="c", reference="\n\tint x;\t// no  tidying\n\n\treturn x;  \n\n")

    opened = likelihood.answer_of(item, variant(), "chat", "")

    assert opened == ("```c\n", "\tint x;\t// no  tidying\n\n\treturn x;")


def test_a_completion_goes_on_where_the_prompt_ends():
    """Of a function whose head is the prompt's only the rest is measured."""
    item = humaneval_sample(HUMANEVAL, {})
    original = variant(text=item.text)

    asked = likelihood.request(item, original, design())
    in_chat = likelihood.request(item, original, design("chat"))

    assert asked.prompt == HUMANEVAL["prompt"]
    assert asked.given + asked.reference == HUMANEVAL["canonical_solution"].rstrip()
    assert in_chat.reference.startswith("def area(radius):\n    squared")


@pytest.mark.parametrize(
    "reference",
    [None, " \n", "def area(r):\n    return 3 * r\n", "def area(radius):\n"],
    ids=["none", "blank", "other head", "nothing but the head"],
)
def test_what_continues_no_prompt_is_left_out(reference):
    """A reference that cannot follow the prompt has no likelihood there."""
    item = replace(humaneval_sample(HUMANEVAL, {}), reference=reference)

    assert likelihood.request(item, variant(text=item.text), design()) is None


def test_a_prompt_that_ends_outside_the_function_is_left_out():
    """Where text follows the function in the prompt, the reference does not go on from it."""
    item = humaneval_sample(HUMANEVAL, {})
    item = replace(item, context=item.context + "\n\nprint(1)\n")

    assert likelihood.request(item, variant(text=item.text), design()) is None


def test_the_key_hashes_what_can_change_the_number():
    """Reference, names, model and prompt are in it; seed, answers and sampling are not."""
    same = [
        design(),
        design(seed=8),
        design(answers=1, repeats=1, width=1),
        design(sampling=Sampling(temperature=0.9, max_tokens=5)),
    ]
    other = [
        (repair(), variant(), design(served_model="else")),
        (repair(), variant(), design("chat")),
        (repair(), variant(), design(extra={"top_k": 1})),
        (repair(), variant(names=NAMES), design()),
        (repair(), variant(text="def solve(): pass"), design()),
        (repair(), variant(level=1), design()),
        (repair(reference=BUGGY), variant(), design()),
    ]

    keys = {likelihood.request(repair(), variant(), each).slots[0].key for each in same}
    others = {likelihood.request(*each).slots[0].key for each in other}

    assert len(keys) == 1
    assert len(others) == len(other)
    assert keys.isdisjoint(others)


def response(values, level=0):
    return Response(
        key=b"k",
        model="ours",
        benchmark="own",
        sample_id="r1",
        perturbation="rename",
        level=level,
        repeat=1,
        answer=1,
        text=Measured(values, 20).as_text(),
        reasoning=None,
        finish_reason="stop",
        prompt_tokens=None,
        completion_tokens=None,
        latency_s=0.1,
        seed=0,
        endpoint="http://one/v1",
    )


def test_a_response_tells_a_likelihood():
    """The sum, the mean per token and per byte; tokens are kept at level 0 alone."""
    found = likelihood.read(response([-1.0, -2.0, -0.5, -0.5]))
    further = likelihood.read(response([-1.0, -2.0], level=1))

    values = {score.metric: score.value for score in likelihood.scores([found])}
    assert values == {"logprob_token": -1.0, "logprob_byte": -0.2, "logprob_total": -4.0}
    assert likelihood.unpack(found.tokens) == [-1.0, -2.0, -0.5, -0.5]
    assert len(found.tokens) == 16
    assert further.tokens == b""
    places = {(s.level, s.repeat, s.answer, s.rule) for s in likelihood.scores([further])}
    assert places == {(1, 1, 1, "forced")}


@given(st.lists(st.floats(-50, 0), max_size=40))
def test_tokens_are_kept_in_four_bytes(values):
    """What is packed comes back to the precision of float32."""
    packed = likelihood.pack(values)

    assert len(packed) == 4 * len(values)
    assert likelihood.unpack(packed) == pytest.approx(values, rel=1e-6, abs=1e-30)


def item(metric, values):
    return sensitivity.Item(
        model="ours",
        benchmark="own",
        sample_id="r1",
        perturbation="rename",
        metric=metric,
        control=False,
        has_reference=True,
        edit_shares={level: 0.1 * level for level in values},
        values={level: [(1, value)] for level, value in values.items()},
    )


def test_a_fall_in_likelihood_is_positive():
    """Calibrated is level 0 minus the mean of the others, signed, whatever the scale."""
    rows = likelihood.measure([item("logprob_token", {0: -0.2, 1: -1.0, 2: -1.4, 3: -1.2})])

    by_definition = {row.definition: row for row in rows}
    assert by_definition["calibrated"].value == pytest.approx(-0.2 + 1.2)
    assert by_definition["total_drop"].value == pytest.approx(1.0)
    assert by_definition["paper"].value == pytest.approx(0.8)
    assert by_definition["recall"].value == pytest.approx(-0.2)
    assert set(by_definition) == set(likelihood.DEFINITIONS)
    assert {row.answer_noise_p for row in rows} == {None}


def test_the_literal_advantage_is_of_plain_probabilities():
    """|p(Y given x) - p(Y given x')|, as the study defines it, of the whole reference."""
    (row,) = (
        row
        for row in likelihood.measure(
            [item("logprob_total", {0: math.log(0.5), 1: math.log(0.1), 2: math.log(0.3)})]
        )
        if row.definition == likelihood.ADVANTAGE
    )

    assert isinstance(row, Sensitivity)
    assert row.value == pytest.approx(0.3)
    assert row.n_levels == 2
    assert likelihood.literal({0: math.log(0.1), 1: math.log(0.5)}) == pytest.approx(0.4)
    assert likelihood.literal({0: -1.0}) is None
    assert likelihood.literal({1: -1.0}) is None
    assert likelihood.literal({0: -800.0, 1: -900.0}) == 0.0


def test_an_item_with_too_few_levels_has_no_advantage():
    """As for every other definition, two levels beyond the original are needed."""
    assert likelihood.measure([item("logprob_total", {0: -1.0, 1: -2.0})]) == []


def test_a_mean_per_token_is_not_one_per_byte():
    """Models with other tokenizers are compared per byte."""
    coarse = Likelihood(
        key=b"k",
        model="ours",
        benchmark="own",
        sample_id="r1",
        perturbation="rename",
        level=0,
        total=-6.0,
        n_tokens=3,
        n_bytes=12,
        tokens=b"",
        endpoint="",
    )
    fine = replace(coarse, n_tokens=6)

    assert likelihood.value(coarse, "logprob_byte") == likelihood.value(fine, "logprob_byte")
    assert likelihood.value(coarse, "logprob_token") == 2 * likelihood.value(fine, "logprob_token")
