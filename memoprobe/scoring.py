"""Turn responses into scores: select the answer, undo the renaming, measure its performance."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Literal, NamedTuple

from memoprobe import answers, metrics, perturbations
from memoprobe.answers import Answer
from memoprobe.metrics import Metric
from memoprobe.records import (
    ANSWERED_WITH_CODE,
    Failure,
    Interface,
    Response,
    Sample,
    Score,
    Variant,
    state,
)

Unanswered = Literal["exclude", "zero"]

_SHIFTS = 5  # how many strangers each answer meets in the floor

Measure = Callable[[str, str], float]
"""Performance of an answer against a reference, both in the sample's language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Hold how responses are read."""

    interface: Interface
    map_back: bool = True  # undo the variant's renaming


def score_sample(
    sample: Sample,
    variants: Mapping[int, Variant],
    responses: Sequence[Response],
    names: Sequence[str],
    reading: Reading,
) -> Iterator[Score]:
    """Yield the scores of the responses to one sample under one perturbation, by one model.

    Of several references the nearest counts. A sample without any is scored against itself
    (METHOD 2.5): each answer against the level-0 answers, one of level 0 against the others
    of it, on the mean. That a text was not answered is a score of 0 that counts only where it
    is asked for.

    Args:
        sample: The sample that was asked.
        variants: Its variants by level; holds every level that a response names.
        responses: All of one perturbation.
        names: Of metrics; those that do not suit the sample are left out.
        reading: How to read the responses.
    """
    found = {metrics.label(name): metrics.find(name) for name in names}
    suited = {
        name: metric for name, metric in found.items() if metric.measure and metric.suits(sample)
    }
    answered = [each for each in responses if state(each) == "ok"]
    read_as = _Answers(sample, variants, reading)
    language = answers.answer_language(sample)
    references = answers.reference_codes(sample)
    originals = Counter(read_as(each).code for each in answered if each.level == 0)
    # Answers at low temperature repeat: each distinct one is measured once.
    known: dict[tuple[str, str, bool], float | None] = {}
    for response in responses:
        if state(response) != "ok":
            yield from (unanswered(response, name) for name in suited)
            continue
        code, rule = read_as(response)
        is_original = response.level == 0
        for name, metric in suited.items():
            key = (name, code, is_original and not references)
            if key not in known:
                measure = partial(_measured, metric, language)
                if references:
                    known[key] = max(measure(code, each) for each in references)
                else:
                    known[key] = _against_itself(code, originals, measure, own=is_original)
            if (value := known[key]) is not None:
                yield replace(_score(response, name, value, rule), answered=True)


class Scored(NamedTuple):
    """Hold the scores of one sample, and what the floor takes of it."""

    scores: list[Score]
    original: tuple[str, str, str] | None  # sample id, code and language of a level-0 answer


def score_one(
    sample: Sample,
    variants: Mapping[int, Variant],
    responses: Sequence[Response],
    names: Sequence[str],
    reading: Reading,
) -> Scored:
    """Return what ``score_sample`` yields, and one answer to the original, in one piece.

    For workers: they import this module alone, which is small.
    """
    scores = list(score_sample(sample, variants, responses, names, reading))
    for response in responses:
        if response.level == 0 and state(response) == "ok":
            code = read(response, sample, variants[0], reading).code
            return Scored(scores, (sample.sample_id, code, answers.answer_language(sample)))
    return Scored(scores, None)


def _measured(metric: Metric, language: str, code: str, reference: str) -> float:
    return metric(code, reference, language)


class _Answers:
    """Read each distinct text of a level once."""

    def __init__(self, sample: Sample, variants: Mapping[int, Variant], reading: Reading) -> None:
        self._of = (sample, variants, reading)
        self._known: dict[tuple[int, str], Answer] = {}

    def __call__(self, response: Response) -> Answer:
        sample, variants, reading = self._of
        key = (response.level, response.text or "")
        if key not in self._known:
            self._known[key] = read(response, sample, variants[response.level], reading)
        return self._known[key]


def _against_itself(
    code: str, originals: Counter[str], measure: Measure, *, own: bool
) -> float | None:
    """Return the mean performance against the level-0 answers, None where there is no other."""
    others = originals - Counter([code]) if own else originals
    n = others.total()
    return sum(count * measure(code, other) for other, count in others.items()) / n if n else None


def read(response: Response, sample: Sample, variant: Variant, reading: Reading) -> Answer:
    """Return the answer that a response holds, without what the variant's own edits put in."""
    answer = answers.extract(
        response.text or "",
        sample,
        variant,
        interface=reading.interface,
        map_back=reading.map_back,
    )
    if reading.map_back and sample.task in ANSWERED_WITH_CODE:
        answer = answer._replace(code=perturbations.undo(answer.code, sample, variant))
    return answer


def _score(response: Response, metric: str, value: float, rule: str) -> Score:
    return Score(
        model=response.model,
        benchmark=response.benchmark,
        sample_id=response.sample_id,
        perturbation=response.perturbation,
        level=response.level,
        repeat=response.repeat,
        answer=response.answer,
        metric=metric,
        value=value,
        rule=rule,
        answered=False,
    )


def unanswered(response: Response, metric: str) -> Score:
    """Return the score of a response without an answer: 0, which counts where it is asked for."""
    return _score(response, metric, 0.0, state(response))


def tested(response: Response, value: float, rule: str, verdict: str) -> Score:
    """Return the score of an answer whose tests were run."""
    return replace(_score(response, "tests", value, rule), answered=True, verdict=verdict)


def failed(sample: Sample, failure: Failure, names: Sequence[str]) -> Iterator[Score]:
    """Yield the scores of a slot that got nothing usable: 0, which counts where it is asked for.

    What says nothing of the model has none: a run that was stopped, a fault of our own, a
    server that could not be reached.
    """
    if failure.permanent:
        for name in names:
            if metrics.find(name).suits(sample):
                yield Score(
                    model=failure.model,
                    benchmark=failure.benchmark,
                    sample_id=failure.sample_id,
                    perturbation=failure.perturbation,
                    level=failure.level,
                    repeat=failure.repeat,
                    answer=failure.answer,
                    metric=metrics.label(name),
                    value=0.0,
                    rule="failed",
                    answered=False,
                )


def floor(
    codes: Iterable[tuple[str, str, str]],
    references: Mapping[str, Sequence[str]],
    measure: Callable[[str, str, str], float],
) -> float | None:
    """Return the mean performance of answers against other samples' references, in [0, 1].

    An item whose level-0 performance is near it cannot fall (METHOD 4). Which others
    an answer meets is fixed: the next five samples in the order of their ids, in a ring.

    Args:
        codes: Sample id, code and language of each level-0 answer.
        references: Codes of the references by sample id; the nearest of them counts here too.
        measure: Performance of a code against a reference, in the answer's language.

    Returns:
        None where there is no other reference, or no answer to a sample with one.
    """
    ring = sorted(references)
    place = {sample_id: k for k, sample_id in enumerate(ring)}
    values = [
        max(
            measure(code, each, language)
            for each in references[ring[(place[sample_id] + shift) % len(ring)]]
        )
        for sample_id, code, language in codes
        if sample_id in place
        for shift in range(1, min(_SHIFTS, len(ring) - 1) + 1)
    ]
    return fmean(values) if values else None
