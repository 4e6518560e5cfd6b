"""Apply other detectors to stored answers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import rivals
from memoprobe.plan import Design, request
from memoprobe.records import Likelihood, Response, Sample, Sampling, Variant
from memoprobe.stats.rivals import min_k, peakedness, risk_index

TOKENS = st.lists(st.sampled_from("abc"), max_size=8)


def edit_distance(one, other):
    """Return the Levenshtein distance from its recursive definition."""
    if not one or not other:
        return len(one) + len(other)
    if one[0] == other[0]:
        return edit_distance(one[1:], other[1:])
    return 1 + min(
        edit_distance(one[1:], other),
        edit_distance(one, other[1:]),
        edit_distance(one[1:], other[1:]),
    )


@given(
    st.lists(st.sampled_from("ab"), max_size=4),
    st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.05, 0.25, 0.5]),
)
def test_peakedness_is_cdds_sum_of_densities(greedy, drawn, alpha):
    """Peak is the sum of rho*(d), the share of answers at distance d, for d = 0 .. alpha l."""
    longest = max(len(greedy), *map(len, drawn))

    distances = [edit_distance(greedy, answer) for answer in drawn]
    reach = range(int(alpha * longest) + 1)
    peak = sum(distances.count(d) / len(drawn) for d in reach)
    assert peakedness(greedy, drawn, alpha=alpha) == pytest.approx(peak)


def test_peakedness_looks_at_a_hundred_tokens():
    """What comes after is cut off, so near is at most five edits by default."""
    greedy = ["x"] * 300
    late = [*["x"] * 100, *["y"] * 200]
    five, six = (["y"] * n + ["x"] * 95 for n in (5, 6))

    assert peakedness(greedy, [late, five, six]) == pytest.approx(2 / 3)


def test_peakedness_needs_answers():
    """Without drawn answers there is no distribution."""
    with pytest.raises(ValueError, match="at least one"):
        peakedness("abc", [])


@given(st.lists(st.floats(-20, 0), min_size=1, max_size=60), st.sampled_from([0.05, 0.2, 0.6]))
def test_min_k_is_the_mean_of_the_least_likely(values, share):
    """Take the least likely token away so many times: their mean."""
    rest, taken = list(values), []
    while len(taken) < int(len(values) * share) or not taken:
        taken.append(min(rest))
        rest.remove(min(rest))

    assert min_k(values, share=share) == pytest.approx(sum(taken) / len(taken))


def test_min_k_needs_tokens():
    """A text without tokens has no least likely ones."""
    with pytest.raises(ValueError, match="at least one"):
        min_k([])


@pytest.mark.parametrize(
    ("likeness", "before", "after", "index"),
    [
        pytest.param(0.9, 1.0, 0.0, 0.9, id="similar and wrong"),
        pytest.param(0.9, 1.0, 1.0, 0.0, id="similar and right"),
        pytest.param(0.0, 1.0, 0.0, 0.0, id="wrong and its own"),
        pytest.param(0.8, 0.5, 0.25, 0.4, id="half lost"),
        pytest.param(0.8, 0.5, 0.75, 0.0, id="a rise is no drop"),
        pytest.param(0.8, 0.0, 0.0, None, id="nothing to lose"),
    ],
)
def test_risk_is_likeness_times_relative_drop(likeness, before, after, index):
    """MRI is high only where answers are like the original and no longer right."""
    assert risk_index(likeness, before, after) == (None if index is None else pytest.approx(index))


SAMPLE = Sample(
    benchmark="own",
    sample_id="s1",
    task="code_generation",
    language="python",
    input_kind="prose",
    text="Add two numbers.",
    reference="def add(a, b):\n    return a + b",
    entry_point="add",
)
ORIGINAL = Variant(
    benchmark="own",
    sample_id="s1",
    perturbation="lexical",
    level=0,
    text=SAMPLE.text,
    distance=0.0,
    edit_share=0.0,
    rename_map={},
)
DESIGN = Design(
    model="ours",
    served_model="theirs",
    interface="chat",
    sampling=Sampling(),
    seed=3,
    answers=2,
    repeats=2,
    width=2,
    extra={},
)


def answer(repeat, number, text, **changes):
    values = {
        "key": b"k",
        "model": "ours",
        "benchmark": "own",
        "sample_id": "s1",
        "perturbation": "lexical",
        "level": 0,
        "repeat": repeat,
        "answer": number,
        "text": text,
        "reasoning": None,
        "finish_reason": "stop",
        "prompt_tokens": 5,
        "completion_tokens": 5,
        "latency_s": 0.1,
        "seed": 0,
        "endpoint": "",
    }
    return Response(**{**values, **changes})


PLAIN = "```python\ndef add(a, b):\n    return a + b\n```"
OTHER = "```python\ndef add(a, b):\n    total = sum([a, b])\n    return total\n```"


def test_cdd_reads_answers_as_scoring_does():
    """Prose around the code is no edit; other levels and what is no answer do not count."""
    responses = [
        answer(0, 0, PLAIN),
        answer(1, 1, f"Sure, here it is:\n{PLAIN}\nIt adds."),
        answer(1, 2, OTHER),
        answer(2, 1, PLAIN, finish_reason="length"),
        answer(2, 2, OTHER, level=1),
    ]

    row = rivals.cdd(SAMPLE, ORIGINAL, responses, "chat")

    assert (row.value, row.definition, row.metric) == (0.5, "cdd", "peakedness")
    assert (row.model, row.benchmark, row.sample_id, row.perturbation) == (
        "ours",
        "own",
        "s1",
        "lexical",
    )


@pytest.mark.parametrize(
    "responses",
    [
        pytest.param([answer(1, 1, PLAIN)], id="no greedy one"),
        pytest.param([answer(0, 0, PLAIN)], id="no other"),
        pytest.param([answer(0, 0, " "), answer(1, 1, PLAIN)], id="an empty greedy one"),
        pytest.param([], id="none"),
    ],
)
def test_cdd_needs_a_greedy_answer_and_others(responses):
    """Where either is missing the rival says nothing."""
    assert rivals.cdd(SAMPLE, ORIGINAL, responses, "chat") is None


def test_the_greedy_slot_is_one_request_of_its_own():
    """It is asked at temperature 0 and has a key of its own; a greedy run needs none."""
    asked = rivals.greedy_request(SAMPLE, ORIGINAL, DESIGN)
    (slot,) = asked.slots

    usual = request(SAMPLE, ORIGINAL, DESIGN)
    assert asked.sampling == replace(DESIGN.sampling, temperature=0.0)
    assert (slot.repeat, slot.answer) == rivals.GREEDY
    assert asked.prompt == usual.prompt
    assert slot.key not in {each.key for each in usual.slots}
    cold = replace(DESIGN, sampling=Sampling(temperature=0.0))
    assert slot.key not in {each.key for each in request(SAMPLE, ORIGINAL, cold).slots}
    assert rivals.greedy_request(SAMPLE, ORIGINAL, cold) is None


def test_rivals_of_the_likelihood():
    """The mean over level 0's tokens, and the mean of the least likely fifth."""
    values = [-1.0, -9.0, -1.0, -1.0, -3.0]
    found = Likelihood(
        key=b"k",
        model="ours",
        benchmark="own",
        sample_id="s1",
        perturbation="lexical",
        level=0,
        total=sum(values),
        n_tokens=len(values),
        n_bytes=20,
        tokens=b"",
        endpoint="",
    )

    rows = rivals.of_likelihood(found, values)

    assert {row.definition: row.value for row in rows} == {"level0_logprob": -3.0, "min_k": -9.0}


PLACE = rivals.Place("ours", "own", "s1", "lexical")


def test_mri_of_a_sample():
    """Likeness is that of the answers beyond level 0, rightness that of both sides."""
    likeness = {0: [1.0], 1: [0.9, 0.7], 2: [0.8]}

    row = rivals.mri(PLACE, likeness, {0: [1.0, 0.0], 1: [0.5, 0.0], 2: [0.25]})

    assert row.value == pytest.approx(0.8 * 0.5)
    assert (row.definition, row.metric, row.n_levels) == ("mri", "token_levenshtein", 2)


@pytest.mark.parametrize(
    ("likeness", "passed"),
    [
        pytest.param({0: [1.0], 1: [0.5]}, {0: [0.0], 1: [0.0]}, id="never right"),
        pytest.param({0: [1.0], 1: [0.5]}, {0: [1.0]}, id="not tested beyond"),
        pytest.param({0: [1.0], 1: [0.5]}, {1: [1.0]}, id="not tested before"),
        pytest.param({0: [1.0]}, {0: [1.0], 1: [0.0]}, id="no likeness"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_mri_says_nothing_without_its_parts(likeness, passed):
    """A part that is missing is not taken for 0."""
    assert rivals.mri(PLACE, likeness, passed) is None


def test_mri_of_a_benchmark_pools_its_items():
    """The drop is that of the mean accuracy, so items that were never right count in it."""
    lost = ({1: [1.0]}, {0: [1.0], 1: [0.0]})
    never = ({1: [0.5]}, {0: [0.0], 1: [0.0]})
    untested = ({1: [0.0]}, {})

    assert rivals.pooled_mri([lost, never, untested]) == pytest.approx(0.75)
