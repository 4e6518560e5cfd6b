"""Apply other detectors of memorization to the same stored answers, to stand beside our own.

Each rival is a ``definition`` of a Sensitivity, higher where it suspects more:

- ``cdd``, of the answers themselves: how many of level 0 lie near the greedy one. Its authors draw
  50 at temperature 0.8; here they are the run's own, at its temperature and few, and a low
  temperature brings answers together, memorized or not. Tokens are the language's, for a client
  has no tokenizer of the model.
- ``level0_logprob`` and ``min_k``, of the likelihood of the reference at level 0 (METHOD 6): the
  mean over its tokens, and Min-K %. Its authors take the whole text; here it is the reference
  behind its prompt.
- ``mri``, of answers, likeness by ``token_levenshtein`` and rightness by ``tests``. Its authors
  rewrite a task so that another answer is right and compare syntax trees; our perturbations keep
  the meaning, so a right answer may be like the reference. It says less here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from memoprobe import answers, languages, plan
from memoprobe.plan import Design
from memoprobe.records import (
    Interface,
    Likelihood,
    Request,
    Response,
    Sample,
    Sensitivity,
    Slot,
    Variant,
    state,
)
from memoprobe.stats.rivals import min_k, peakedness, risk_index

METRIC_OF: Mapping[str, str] = {
    "cdd": "peakedness",
    "level0_logprob": "logprob_token",
    "min_k": "logprob_token",
    "mri": "token_levenshtein",
}
"""The metric under which each rival is filed."""

GREEDY = (0, 0)
"""Repeat and answer of the greedy slot."""


class Place(NamedTuple):
    """Name an item of a cell."""

    model: str
    benchmark: str
    sample_id: str
    perturbation: str


def greedy_request(sample: Sample, original: Variant, design: Design) -> Request | None:
    """Return the request for a sample's greedy answer at level 0, which CDD needs.

    Returns:
        None where the run is greedy itself and draws nothing to compare with it.
    """
    if design.sampling.temperature == 0:
        return None
    sampling = replace(design.sampling, temperature=0.0)
    asked = plan.request(sample, original, replace(design, sampling=sampling))
    (slot,) = asked.slots
    key = plan.digest("greedy", slot.key.hex())
    return plan.only(asked, (Slot(*GREEDY, slot.seed, key),))


def cdd(
    sample: Sample, original: Variant, responses: Iterable[Response], interface: Interface
) -> Sensitivity | None:
    """Return how peaked a sample's answers at level 0 are around the greedy one, in [0, 1].

    Args:
        sample: What was asked.
        original: Its level 0.
        responses: All to that variant, by one model, the greedy one among them.
        interface: How it was asked.

    Returns:
        None without a greedy answer or any other.
    """
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    model = ""
    for response in responses:
        if response.level == 0 and state(response) == "ok":
            found[response.repeat, response.answer] = _tokens(
                response.text or "", sample, original, interface
            )
            model = response.model
    greedy = found.pop(GREEDY, None)
    if greedy is None or not found:
        return None
    place = Place(model, sample.benchmark, sample.sample_id, original.perturbation)
    return _row(place, "cdd", peakedness(greedy, list(found.values())))


def _tokens(text: str, sample: Sample, variant: Variant, interface: Interface) -> tuple[str, ...]:
    answer = answers.extract(text, sample, variant, interface=interface)
    return tuple(languages.tokens(answer.code, answers.answer_language(sample)))


def of_likelihood(found: Likelihood, logprobs: Sequence[float]) -> list[Sensitivity]:
    """Return the rivals that need the likelihood of a reference at level 0.

    Args:
        found: Of level 0.
        logprobs: Of its tokens, in nats.
    """
    place = Place(found.model, found.benchmark, found.sample_id, found.perturbation)
    return [
        _row(place, "level0_logprob", found.total / found.n_tokens),
        _row(place, "min_k", min_k(logprobs)),
    ]


def mri(
    place: Place, likeness: Mapping[int, Sequence[float]], passed: Mapping[int, Sequence[float]]
) -> Sensitivity | None:
    """Return a sample's memorization risk index, in [0, 1].

    Args:
        place: Whose.
        likeness: Level -> ``token_levenshtein`` of each answer.
        passed: Level -> ``tests`` of each answer.

    Returns:
        None where no answer at level 0 was right, or there is none beyond it.
    """
    index = pooled_mri([(likeness, passed)])
    if index is None:
        return None
    levels = [level for level, values in passed.items() if level > 0 and values]
    return _row(place, "mri", index, n_levels=len(levels))


def pooled_mri(
    items: Iterable[tuple[Mapping[int, Sequence[float]], Mapping[int, Sequence[float]]]],
) -> float | None:
    """Return the memorization risk index of items together, as its authors give it: of a benchmark.

    Args:
        items: Of each, level -> likeness and level -> rightness of the answers, as of ``mri``.
            Each item counts the same; one that lacks any of the three means is left out.
    """
    means = []
    for likeness, passed in items:
        parts = (_further(likeness), passed.get(0, ()), _further(passed))
        if all(parts):
            means.append([fmean(part) for part in parts])
    if not means:
        return None
    alike, before, after = (fmean(column) for column in zip(*means, strict=True))
    return risk_index(alike, before, after)


def _further(by_level: Mapping[int, Sequence[float]]) -> list[float]:
    return [value for level, values in by_level.items() if level > 0 for value in values]


def _row(place: Place, definition: str, value: float, n_levels: int = 0) -> Sensitivity:
    return Sensitivity(
        **place._asdict(),
        metric=METRIC_OF[definition],
        definition=definition,
        value=value,
        n_levels=n_levels,
        noise_floor=None,
        excess=None,
        answer_noise_p=None,
        control_p=None,
    )
