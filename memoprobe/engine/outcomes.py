"""Turn replies and errors into the outcomes of slots."""

import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memoprobe.endpoints.replies import Reply
from memoprobe.errors import EndpointError, EndpointUnavailable, Mishandled
from memoprobe.records import Failure, Request, Response, Slot

Outcome = Response | Failure


class Origin(NamedTuple):
    """Say where a reply came from and how."""

    endpoint: str
    usage_sums_choices: bool  # token counts cover all choices
    latency_s: float


def responses(
    request: Request, slots: Sequence[Slot], reply: Reply, origin: Origin
) -> list[Response]:
    """Return a reply's choices as responses, each filed under the slot of its index."""
    choices = reply.choices[: len(slots)]
    places = [choice.place for choice in choices]
    if len(set(places)) < len(places) or not set(places) <= set(range(len(slots))):
        places = list(range(len(places)))  # a server whose indices mean nothing
    tokens = _shares(reply.completion_tokens, len(places), sums=origin.usage_sums_choices)
    found = []
    for place, choice, n_tokens in zip(places, choices, tokens, strict=True):
        found.append(
            Response(
                key=slots[place].key,
                model=request.model,
                benchmark=request.benchmark,
                sample_id=request.sample_id,
                perturbation=request.perturbation,
                level=request.level,
                repeat=slots[place].repeat,
                answer=slots[place].answer,
                text=choice.text,
                reasoning=choice.reasoning,
                finish_reason=choice.finish_reason,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=n_tokens,
                latency_s=origin.latency_s,
                seed=slots[place].seed,
                endpoint=origin.endpoint,
            )
        )
    return found


def _shares(tokens: int | None, n: int, *, sums: bool) -> list[int | None]:
    """Return each choice's tokens: an equal share of a sum, which is all that a server tells."""
    if tokens is None or not sums:
        return [tokens, *[None] * (n - 1)]
    return [tokens // n + (place < tokens % n) for place in range(n)]


def failure(request: Request, slot: Slot, error: EndpointError, attempts: int) -> Failure:
    """Return that nothing usable came back for a slot after so many sends."""
    return Failure(
        key=slot.key,
        model=request.model,
        benchmark=request.benchmark,
        sample_id=request.sample_id,
        perturbation=request.perturbation,
        level=request.level,
        repeat=slot.repeat,
        answer=slot.answer,
        kind=error.kind,
        phase=error.phase,
        detail=str(error),
        attempts=attempts,
        permanent=not isinstance(error, EndpointUnavailable),
    )


def mishandled(error: Exception, redact: Callable[[str], str]) -> Mishandled:
    """Return a mistake of our own with one reply as an error that holds its traceback."""
    return Mishandled(redact("".join(traceback.format_exception(error))))
