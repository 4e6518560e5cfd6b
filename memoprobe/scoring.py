"""Turn responses into scores: select the answer, undo the renaming, measure its performance."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from memoprobe import answers
from memoprobe.answers import Answer
from memoprobe.metrics import METRICS
from memoprobe.records import Interface, Response, Sample, Score, Variant, state

Unanswered = Literal["exclude", "zero"]

_SHIFTS = 5  # how many strangers each answer meets in the floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Hold how responses are read."""

    interface: Interface
    map_back: bool = True  # undo the variant's renaming
    unanswered: Unanswered = "exclude"  # truncated, empty and refused answers


def score_sample(
    sample: Sample,
    variants: Mapping[int, Variant],
    responses: Iterable[Response],
    metrics: Sequence[str],
    reading: Reading,
) -> list[Score]:
    """Return the scores of the responses to one sample under one perturbation.

    A sample without a reference has none. An unanswered response has none either, or
    0.0 by every metric where ``reading`` says so.

    Args:
        sample: The sample that was asked.
        variants: Its variants by level; holds every level that a response names.
        responses: All of one perturbation; of any number of models.
        metrics: Names of METRICS.
        reading: How to read the responses.
    """
    reference = answers.reference_code(sample)
    if reference is None:
        return []
    language = answers.answer_language(sample)
    # Answers at low temperature repeat: each distinct one is measured once.
    known: dict[tuple[int, str], tuple[str, dict[str, float]]] = {}
    scores: list[Score] = []
    for response in responses:
        key = (response.level, response.text or "")
        if state(response) != "ok":
            if reading.unanswered == "exclude":
                continue
            measured = "unanswered", dict.fromkeys(metrics, 0.0)
        elif key in known:
            measured = known[key]
        else:
            code, rule = read(response, sample, variants[response.level], reading)
            values = {name: METRICS[name](code, reference, language) for name in metrics}
            measured = known[key] = rule, values
        scores += _scores(response, *measured)
    return scores


def read(response: Response, sample: Sample, variant: Variant, reading: Reading) -> Answer:
    """Return the answer that a response holds."""
    return answers.extract(
        response.text or "",
        sample,
        variant,
        interface=reading.interface,
        map_back=reading.map_back,
    )


def _scores(response: Response, rule: str, values: Mapping[str, float]) -> list[Score]:
    return [
        Score(
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
        )
        for metric, value in values.items()
    ]


def floor(
    codes: Iterable[tuple[str, str, str]],
    references: Mapping[str, str],
    measure: Callable[[str, str, str], float],
) -> float | None:
    """Return the mean performance of answers against other samples' references, in [0, 1].

    An item whose level-0 performance is near it cannot fall (METHOD 4). Which others
    an answer meets is fixed: the next five samples in the order of their ids, in a ring.

    Args:
        codes: Sample id, code and language of each level-0 answer.
        references: Code of the reference by sample id.
        measure: Performance of a code against a reference, in the answer's language.

    Returns:
        None where there is no other reference, or no answer to a sample with one.
    """
    ring = sorted(references)
    place = {sample_id: k for k, sample_id in enumerate(ring)}
    values = [
        measure(code, references[ring[(place[sample_id] + shift) % len(ring)]], language)
        for sample_id, code, language in codes
        if sample_id in place
        for shift in range(1, min(_SHIFTS, len(ring) - 1) + 1)
    ]
    return fmean(values) if values else None
