"""Facts about scores: perfect answers are perfect at every level."""

import itertools
import random
from dataclasses import replace

import pytest

from memoprobe import benchmarks, languages
from memoprobe.answers import reference_codes
from memoprobe.metrics import METRICS
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.records import TEXT_SLOT, Failure, Response, Sample, Variant, state
from memoprobe.scoring import Reading, failed, floor, score_sample
from tests.local import SHARED, needs_shared

BY_EDITS = ["levenshtein", "token_levenshtein"]
CHAT = Reading(interface="chat")
COMPLETIONS = Reading(interface="completions")
REPAIR = Sample(
    benchmark="made",
    sample_id="mean",
    task="program_repair",
    language="python",
    input_kind="code",
    text=(
        "from math import fsum as total\n\n\ndef mean(values, größe=None):\n"
        "    count = größe or len(values)\n    label = f'{count} values'\n"
        "    return label, total(values) * count\n"
    ),
    reference=(
        "from math import fsum as total\n\n\ndef mean(values, größe=None):\n"
        "    # the fix\n    count = größe or len(values)\n    label = f'{count} values'\n"
        "    return label, total(values) / count\n"
    ),
    entry_point="mean",
)
GENERATION = Sample(
    benchmark="made",
    sample_id="spread",
    task="code_generation",
    language="python",
    input_kind="prose",
    text=(
        "\n    Return the largest number minus the smallest number of the list."
        "\n    If the list is empty, return 0 instead.\n    "
    ),
    context=(
        "from typing import List\n\n\ndef ends(xs):\n    return min(xs), max(xs)\n\n\n"
        f'def spread(xs: List[int]) -> int:\n    """{TEXT_SLOT}"""\n'
    ),
    reference=(
        "def spread(xs: List[int]) -> int:\n    if not xs:\n        return 0\n"
        "    low, high = ends(xs)\n    return high - low"
    ),
    entry_point="spread",
)


def respond(sample, level, text, finish_reason="stop", answer=1):
    place = {"model": "m", "benchmark": sample.benchmark, "sample_id": sample.sample_id}
    slot = {"perturbation": "p", "level": level, "repeat": 1, "answer": answer}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "latency_s": 0.1, "seed": 0}
    return Response(
        key=b"", text=text, reasoning=None, finish_reason=finish_reason, endpoint="e",
        **place, **slot, **usage,
    )  # fmt: skip


def levels(sample):
    perturb = PERTURBATIONS["lexical" if sample.input_kind == "prose" else "rename"]
    found = perturb(sample, 5, random.Random(0)).variants
    return {variant.level: variant for variant in found}


def original(sample):
    return Variant(
        benchmark=sample.benchmark, sample_id=sample.sample_id, perturbation="p", level=0,
        text=sample.text, distance=0.0, edit_share=0.0, rename_map={},
    )  # fmt: skip


def values(sample, variants, reply, reading):
    """The performance of ``reply(variant)`` by level and metric."""
    responses = [respond(sample, level, reply(variant)) for level, variant in variants.items()]
    scores = list(score_sample(sample, variants, responses, BY_EDITS, reading))
    assert len(scores) == len(BY_EDITS) * len(variants)
    return [score.value for score in scores]


def repairer(sample, wrap):
    """Return the correct program in the variant's names."""

    def reply(variant):
        return wrap(languages.rename_identifiers(sample.reference, "python", variant.rename_map))

    return reply


WRAPPERS = {
    "fenced": "Here's the fix:\n```python\n{}\n```\nIt isn't hard.",
    "bare": "{}",
    "unfinished": "```python\n{}",
    "opened": "{}\n```\nDone.",
}


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("interface", ["chat", "completions"])
def test_a_perfect_repairer_is_perfect(wrapper, interface):
    """The correct program in the prompt's names has 1.0 at every level, by every metric."""
    variants = levels(REPAIR)
    reply = repairer(REPAIR, wrapper.format)

    mapped = values(REPAIR, variants, reply, Reading(interface=interface))
    unmapped = values(REPAIR, variants, reply, Reading(interface=interface, map_back=False))

    assert len(variants) >= 3
    assert set(mapped) == {1.0}
    assert set(unmapped[: len(BY_EDITS)]) == {1.0}
    assert max(unmapped[len(BY_EDITS) :]) < 1.0


def coder(sample, form):
    """Return the reference under the variant's docstring, with more or less of the prompt."""
    head, body = sample.reference.split("\n", 1)
    given = sample.context.split(head)[0]

    def reply(variant):
        function = sample.whole(variant.text)[len(given) :] + body
        return {
            "all": f"```python\n{given}{function}\n```",
            "function": f"Sure.\n```python\n{function}\n```",
            "plain function": f"```python\n{sample.reference}\n```",
            "import": f"```python\nfrom typing import List\n\n{function}\n```",
            "bare": f"{given}{function}",
            "body": body,
            "body, runs on": f"{body}\n\n\ndef test():\n    assert spread([]) == 0\n",
        }[form]

    return reply


@pytest.mark.parametrize("form", ["all", "function", "plain function", "import", "bare"])
@pytest.mark.parametrize("reading", [CHAT, COMPLETIONS], ids=["chat", "completions"])
def test_a_perfect_coder_is_perfect(form, reading):
    """Repeating a paraphrased docstring, imports or helpers costs nothing at any level."""
    variants = levels(GENERATION)

    assert len(variants) >= 3
    assert set(values(GENERATION, variants, coder(GENERATION, form), reading)) == {1.0}


@pytest.mark.parametrize("form", ["body", "body, runs on"])
def test_a_perfect_coder_who_continues_the_prompt_is_perfect(form):
    """A body under the prompt's signature is a whole function, whatever follows it."""
    found = values(GENERATION, levels(GENERATION), coder(GENERATION, form), COMPLETIONS)

    assert set(found) == {1.0}


@needs_shared
@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_a_perfect_repairer_of_quixbugs_is_perfect(wrapper, tmp_path):
    """On every real program too; without mapping back none of them is."""
    for sample in real("quixbugs-repair", "quixbugs", tmp_path):
        variants = levels(sample)
        reply = repairer(sample, wrapper.format)

        assert set(values(sample, variants, reply, CHAT)) == {1.0}, sample.sample_id
        if len(variants) > 1:
            unmapped = values(sample, variants, reply, replace(CHAT, map_back=False))
            assert max(unmapped[len(BY_EDITS) :]) < 1.0, sample.sample_id


@needs_shared
def test_a_perfect_coder_of_humaneval_is_perfect(tmp_path):
    """On every real row, with all of the prompt, the function alone, and its body."""
    for sample in real("humaneval", "humaneval", tmp_path):
        body = _body(sample)
        variants = levels(sample)
        given = sample.context.index(f"def {sample.entry_point}(")
        for start, reading in ((0, CHAT), (given, CHAT), (None, COMPLETIONS)):

            def reply(variant, start=start, body=body, sample=sample):
                whole = sample.whole(variant.text)
                return body if start is None else f"```python\n{whole[start:]}{body}\n```"

            assert set(values(sample, variants, reply, reading)) == {1.0}, sample.sample_id


@needs_shared
def test_a_perfect_coder_of_mbpp_is_perfect(tmp_path):
    """On every real row, fenced and as a completion that runs on."""
    for sample in real("mbpp", "mbpp", tmp_path):
        variants = {0: original(sample)}
        run_on = f"\n{sample.reference}\n\n# Test\n{sample.context.splitlines()[-1]}\n"

        fenced = values(sample, variants, lambda _, s=sample: f"```\n{s.reference}\n```", CHAT)
        bare = values(sample, variants, lambda _, text=run_on: text, COMPLETIONS)

        assert set(fenced + bare) == {1.0}, sample.sample_id


def real(name, folder, home):
    benchmarks.fetch(benchmarks.find(name), SHARED / "data" / folder, home)
    return benchmarks.load(benchmarks.find(name), home).samples


def _body(sample):
    """The lines of a HumanEval reference below its docstring's place."""
    return sample.reference.removeprefix(_signature(sample)).lstrip("\n")


def _signature(sample):
    before = sample.context[: sample.context.index(TEXT_SLOT)]
    start = before.index(f"def {sample.entry_point}(")
    return before[start : before.rindex("\n") + 1]


UNANSWERED = [
    ("def mean(", "length"),
    (None, "length"),
    ("", "stop"),
    (" \n", "stop"),
    (None, "stop"),
    ("I cannot", "content_filter"),
]


@pytest.mark.parametrize(("text", "finish_reason"), UNANSWERED)
def test_unanswered_responses_are_marked(text, finish_reason):
    """Truncated, empty and refused answers have 0.0, marked as none, and their state as rule."""
    variants = {0: original(REPAIR)}
    responses = [respond(REPAIR, 0, text, finish_reason), respond(REPAIR, 0, REPAIR.reference)]

    none, one = score_sample(REPAIR, variants, responses, ["levenshtein"], CHAT)

    assert (none.value, none.answered, none.rule) == (0.0, False, state(responses[0]))
    assert (one.value, one.answered, one.rule) == (1.0, True, "bare")


@pytest.mark.parametrize("permanent", [True, False])
def test_a_slot_that_failed_for_good_is_marked(permanent):
    """It has 0.0 that counts by choice; a server's trouble says nothing of the model."""
    failure = Failure(
        key=b"k", model="m", benchmark="b", sample_id=REPAIR.sample_id, perturbation="p",
        level=2, repeat=1, answer=3, kind="context_overflow", phase="reply", detail="too long",
        attempts=1, permanent=permanent,
    )  # fmt: skip

    found = list(failed(REPAIR, failure, ["levenshtein", "label"]))

    assert [(s.level, s.answer, s.value, s.answered, s.rule) for s in found] == (
        [(2, 3, 0.0, False, "failed")] if permanent else []
    )


def test_each_response_has_a_score_of_its_own():
    """Equal texts are measured once and scored under each slot; the rule is kept."""
    variants = {0: original(REPAIR)}
    texts = [REPAIR.reference, REPAIR.text, REPAIR.reference]
    responses = [respond(REPAIR, 0, text, answer=k) for k, text in enumerate(texts)]

    scores = list(score_sample(REPAIR, variants, responses, ["token_levenshtein"], CHAT))

    assert [score.answer for score in scores] == [0, 1, 2]
    assert scores[0].value == scores[2].value == 1.0
    assert 0.9 < scores[1].value < 1.0
    assert {score.rule for score in scores} == {"bare"}
    assert (scores[0].model, scores[0].perturbation, scores[0].repeat) == ("m", "p", 1)


def test_a_sample_without_a_reference_is_scored_against_itself():
    """Level 0 leaves its own answer out; every level is a mean over the level-0 answers."""
    sample = replace(REPAIR, reference=None)
    texts = ["def f(x):\n    return x\n", "def f(x):\n    return x\n", "def f(y):\n    return 1\n"]
    later = Variant(
        benchmark="b", sample_id=sample.sample_id, perturbation="p", level=1, text=sample.text,
        distance=0.0, edit_share=0.0, rename_map={},
    )  # fmt: skip
    responses = [respond(sample, 0, text, answer=k) for k, text in enumerate(texts, 1)]
    responses.append(respond(sample, 1, texts[2]))
    alike = METRICS["token_levenshtein"](texts[0], texts[2], "python")

    found = score_sample(
        sample, {0: original(sample), 1: later}, responses, ["token_levenshtein"], CHAT
    )

    expected = [(1 + alike) / 2, (1 + alike) / 2, alike, (1 + 2 * alike) / 3]
    assert [score.value for score in found] == pytest.approx(expected)


def test_a_single_answer_has_nothing_to_be_compared_with():
    """One level-0 answer alone has no score; the next level has, against it."""
    sample = replace(REPAIR, reference=None)

    alone = score_sample(
        sample, {0: original(sample)}, [respond(sample, 0, "x = 1")], BY_EDITS, CHAT
    )

    assert list(alone) == []


def equal(code, reference, language):
    assert language == "python"
    return float(code == reference)


def answered(*pairs):
    """Return the pairs of sample id and code with their language."""
    return [(sample_id, code, "python") for sample_id, code in pairs]


def test_the_floor_meets_every_other_reference_once_in_a_small_set():
    """With up to six samples the floor is the mean over all pairs of strangers."""
    references = {name: [name] for name in "abcd"}
    codes = [("a", "b"), ("b", "b"), ("c", "a"), ("d", "x"), ("unknown", "a")]

    expected = [
        float([code] == reference)
        for (sample_id, code), (other, reference) in itertools.product(codes, references.items())
        if sample_id in references and other != sample_id
    ]
    found = floor(answered(*codes), references, equal)
    assert found == pytest.approx(sum(expected) / len(expected))
    assert floor(answered(*codes[::-1]), references, equal) == found


def test_the_floor_never_meets_its_own_reference():
    """Perfect answers to different samples have a floor of 0."""
    codes = {f"s{k}": f"code {k}" for k in range(20)}
    references = {name: [code] for name, code in codes.items()}

    assert floor(answered(*codes.items()), references, equal) == 0.0


def test_the_floor_takes_the_nearest_of_a_strangers_references():
    """As the item itself does of its own: more of them lift both."""
    references = {"a": ["x", "b"], "b": ["y", "z"]}

    assert floor(answered(("a", "z"), ("b", "q")), references, equal) == 0.5


def test_the_floor_measures_every_answer_in_its_own_language():
    """A cell may mix languages: the tokens of an answer are those of its language."""
    references = {"java": ["int a; // b"], "python": ["a = 1  # b"]}
    codes = [("java", "a # b", "java"), ("python", "int a # b", "python")]

    found = floor(codes, references, METRICS["token_levenshtein"])

    measure = METRICS["token_levenshtein"]
    alone = [
        measure(codes[0][1], *references["python"], "java"),
        measure(codes[1][1], *references["java"], "python"),
    ]
    assert found == pytest.approx(sum(alone) / 2)
    assert alone[0] != measure(codes[0][1], *references["python"], "python")


@pytest.mark.parametrize("references", [{}, {"a": ["a"]}])
def test_there_is_no_floor_without_strangers(references):
    """One item says nothing about another."""
    assert floor(answered(("a", "a")), references, equal) is None


def test_references_are_read_like_answers():
    """The floor of a real metric uses the code that scores use."""
    (reference,) = reference_codes(REPAIR)

    assert METRICS["levenshtein"](reference, REPAIR.reference, "python") == 1.0
