"""Turn prompt log-probabilities into the likelihood advantage (METHOD 6).

For every variant of a sample with a reference the model is asked how likely the reference is as
the answer. Which text that is:

- It is in the variant's own names. A model that repairs the renamed program perfectly writes the
  new names; with the old ones every renamed name would be charged to the model, which is our edit
  and no memory (METHOD 2.1, the same map the other way round). What is left of it: new names
  come in other tokens, in items and controls alike, so a fall is read against the controls.
- A completion that continues the sample's code is the rest of the reference behind the head that
  the prompt gives.
- A chat answer that is code opens with the code fence that the prompt asks for. The fence is given
  and not measured: without it the first token would tell how the model likes to begin.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import NamedTuple

import numpy as np

from memoprobe import answers, languages, plan, sensitivity
from memoprobe.endpoints.forced import Measured
from memoprobe.plan import Design
from memoprobe.prompts import continues, fill
from memoprobe.records import (
    ANSWERED_WITH_CODE,
    Forcing,
    Interface,
    Likelihood,
    Response,
    Sample,
    Sampling,
    Score,
    Sensitivity,
    Slot,
    Variant,
)

METRICS = ("logprob_token", "logprob_byte", "logprob_total")
"""In nats, at most 0: the mean over tokens and over bytes of the reference, and their sum.

Per token is the primary one of one model; tokenizers differ, so models compare per byte.
"""

DEFINITIONS = ("artifact", "calibrated", "paper", "recall", "recall_last", "slope", "total_drop")
"""The definitions that mean something here: nothing is exact, and ``recall`` is level 0's mean."""

ADVANTAGE = "ma"
"""The study's own: the absolute change of the reference's plain probability, in [0, 1]."""

RULE = "forced"
"""How the text was selected that a score of these metrics measures."""


class Opened(NamedTuple):
    """Hold an answer whose likelihood is asked for."""

    given: str  # its opening, which is not measured
    reference: str


def answer_of(sample: Sample, variant: Variant, interface: Interface, prompt: str) -> Opened | None:
    """Return the answer to a variant, asked by ``prompt``, whose likelihood is asked for.

    Returns:
        None where the sample has no reference, or one that does not continue the prompt.
    """
    if sample.reference is None or not sample.reference.strip():
        return None
    is_code = sample.task in ANSWERED_WITH_CODE
    text = sample.reference.strip("\r\n").rstrip()
    language = answers.answer_language(sample)
    text = languages.rename_identifiers(text, language, variant.rename_map)
    if interface == "chat":
        return Opened(f"```{language}\n", text) if is_code else Opened("", text.strip())
    apart = prompt[-1:].isspace()
    if continues(sample):
        rest = _rest(text, sample.language, prompt)
        return None if rest is None else Opened("" if apart else "\n", rest)
    if is_code:
        return Opened("" if apart else "\n", text)
    # The word after "Answer:" begins with its blank: most tokenizers make one token of them.
    return Opened("", text.strip() if apart else f" {text.strip()}")


def is_askable(sample: Sample, interface: Interface) -> bool:
    """Tell whether a sample has a reference that can be the answer to its own prompt."""
    original = Variant(
        benchmark=sample.benchmark,
        sample_id=sample.sample_id,
        perturbation="",
        level=0,
        text=sample.text,
        distance=0.0,
        edit_share=0.0,
        rename_map={},
    )
    prompt = fill(sample, sample.text, interface) if interface == "completions" else ""
    return answer_of(sample, original, interface, prompt) is not None


def _rest(reference: str, language: str, prompt: str) -> str | None:
    """Return what of a reference follows the head that ends the prompt, None if it has another."""
    found = languages.pieces(prompt, language)
    if not found or prompt[found[-1].end :].strip():
        return None
    head = languages.strip_comments(languages.tidy(found[-1].text), language)
    rest = reference.removeprefix(head).lstrip("\r\n")
    return rest if reference.startswith(head) and rest else None


def request(sample: Sample, variant: Variant, design: Design) -> Forcing | None:
    """Return the request for the likelihood of a variant's reference, None where there is none.

    Its one slot has a key that hashes all that can change the number.
    """
    asked = plan.request(sample, variant, replace(design, seed=0, sampling=_NO_SAMPLING))
    opened = answer_of(sample, variant, design.interface, asked.prompt)
    if opened is None:
        return None
    key = plan.digest("likelihood", asked.slots[0].key.hex(), *opened)
    return Forcing(
        model=asked.model,
        served_model=asked.served_model,
        benchmark=asked.benchmark,
        sample_id=asked.sample_id,
        perturbation=asked.perturbation,
        level=asked.level,
        interface=asked.interface,
        prompt=asked.prompt,
        sampling=_NO_SAMPLING,
        slots=(Slot(1, 1, 0, key),),
        given=opened.given,
        reference=opened.reference,
    )


_NO_SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=1)  # nothing is drawn


def read(response: Response) -> Likelihood:
    """Return the likelihood that the response to a Forcing tells; its text is a Measured."""
    values, n_bytes = Measured.from_text(response.text or "")
    return Likelihood(
        key=response.key,
        model=response.model,
        benchmark=response.benchmark,
        sample_id=response.sample_id,
        perturbation=response.perturbation,
        level=response.level,
        total=math.fsum(values),
        n_tokens=len(values),
        n_bytes=n_bytes,
        tokens=pack(values) if response.level == 0 else b"",
        endpoint=response.endpoint,
    )


def pack(values: Sequence[float]) -> bytes:
    """Return numbers as float32, little-endian."""
    return np.asarray(values, dtype="<f4").tobytes()


def unpack(data: bytes) -> list[float]:
    """Undo ``pack``, to the precision of float32."""
    return [float(value) for value in np.frombuffer(data, dtype="<f4")]


def value(found: Likelihood, metric: str) -> float:
    """Return a likelihood as one of METRICS, in nats."""
    over = {
        "logprob_token": found.n_tokens,
        "logprob_byte": found.n_bytes,
        "logprob_total": 1,
    }
    return found.total / over[metric]


def scores(found: Iterable[Likelihood]) -> Iterator[Score]:
    """Yield each likelihood as scores by every one of METRICS; their slot is (1, 1)."""
    for each in found:
        for metric in METRICS:
            yield Score(
                model=each.model,
                benchmark=each.benchmark,
                sample_id=each.sample_id,
                perturbation=each.perturbation,
                level=each.level,
                repeat=1,
                answer=1,
                metric=metric,
                value=value(each, metric),
                rule=RULE,
            )


def literal(totals: Mapping[int, float]) -> float | None:
    """Return the study's ma = |p(Y given x) - p(Y given x')|, in [0, 1]; x' is every further level.

    The plain probability of a long reference is 0 to a computer: of 200 tokens it is about 4e-18.

    Args:
        totals: Log-probability of the whole reference by level, in nats.

    Returns:
        None without level 0 and another.
    """
    further = [math.exp(total) for level, total in totals.items() if level > 0]
    return abs(math.exp(totals[0]) - fmean(further)) if 0 in totals and further else None


def measure(items: Sequence[sensitivity.Item]) -> list[Sensitivity]:
    """Return the sensitivities of one cell by one of METRICS; a fall in likelihood is positive.

    There is one number a level and no chance in it: no answer noise, so no ``answer_noise_p``.
    To an item by ``logprob_total`` belongs ADVANTAGE as well.
    """
    found = sensitivity.measure(items, seed=0, permutations=1).sensitivities
    kept = [replace(row, answer_noise_p=None) for row in found if row.definition in DEFINITIONS]
    return [*kept, *chain.from_iterable(_literal_rows(item) for item in items)]


def _literal_rows(item: sensitivity.Item) -> Iterator[Sensitivity]:
    if item.metric != "logprob_total":
        return
    totals = {level: values[0][1] for level, values in item.values.items() if values}
    advantage = literal(totals)
    if advantage is not None and len(totals) > sensitivity.MIN_LEVELS:
        yield Sensitivity(
            model=item.model,
            benchmark=item.benchmark,
            sample_id=item.sample_id,
            perturbation=item.perturbation,
            metric=item.metric,
            definition=ADVANTAGE,
            value=advantage,
            n_levels=len(totals) - 1,
            noise_floor=None,
            excess=None,
            answer_noise_p=None,
            control_p=None,
        )
