"""Ask for one request's slots until each has an outcome; retries happen here and nowhere else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

from memoprobe.endpoints import retry
from memoprobe.endpoints.flow import sleep
from memoprobe.engine.lane import MOST_CHOICES, Lane, Work, end
from memoprobe.engine.outcomes import Origin, Outcome, failure, mishandled, responses
from memoprobe.errors import (
    Cancelled,
    EndpointDown,
    EndpointError,
    EndpointRefused,
    EndpointUnavailable,
    MemoprobeError,
    Mishandled,
    RequestRejected,
    TooManyChoices,
)
from memoprobe.plan import runs
from memoprobe.records import Request, Response, Slot

MISTAKE = (
    "a mistake of memoprobe's own kept replies from being read; they are asked again next time."
    " Please report what `memoprobe export DB --table failures` shows for the kind internal"
)


async def fulfil(request: Request, lane: Lane, work: Work) -> None:
    """Ask until every slot of a request has an outcome; fewer choices than asked are topped up."""
    missing = list(request.slots)
    try:
        await _ask_all(request, missing, lane, work)
    finally:
        if missing:
            lane.unfinished.append(replace(request, slots=tuple(missing)))


@dataclass(slots=True)
class _Tries:
    attempts: int = 0  # that were charged
    sends: int = 0
    most: int = MOST_CHOICES  # choices a request, for this prompt alone


async def _ask_all(request: Request, missing: list[Slot], lane: Lane, work: Work) -> None:
    """Ask for the missing slots and take those that have an outcome out of the list."""
    tries = _Tries()
    while missing and not lane.stop.is_set():
        outcomes = await _try(replace(request, slots=tuple(missing)), tries, (lane, work))
        if outcomes:
            work.save(*outcomes)
            work.progress.count(outcomes)
            done = {outcome.key for outcome in outcomes}
            missing[:] = [slot for slot in missing if slot.key not in done]
            tries.attempts = tries.sends = 0


async def _try(request: Request, tries: _Tries, place: tuple[Lane, Work]) -> Sequence[Outcome]:
    """Send once, for as many slots as fit; return outcomes, none where to try again."""
    lane, work = place
    slots = next(runs(request.slots, min(tries.most, lane.max_n)))
    try:
        async with lane.flow.turn(lane.stop, _tokens(request, len(slots))):
            if lane.stop.is_set():
                return []
            tries.sends += 1
            outcomes = await _ask(request, slots, tries, place)
    except EndpointDown:
        raise
    except RequestRejected as error:
        return _rejected(error, request, len(slots), tries, place)
    except EndpointError as error:
        return await _failed(error, replace(request, slots=slots), tries, place)
    if tries.most < lane.max_n:
        _learn(lane, work, tries.most)
    return outcomes


def _rejected(
    error: RequestRejected, request: Request, n: int, tries: _Tries, place: tuple[Lane, Work]
) -> list[Outcome]:
    """Return the failures of a request that will not do, none where fewer choices might."""
    lane, work = place
    if isinstance(error, TooManyChoices):
        _learn(lane, work, min(error.max_n, n - 1))
        return []
    if error.kind == "bad_request" and n > 1:
        tries.most = 1  # it may be the number of choices after all, in words of its own
        return []
    return [failure(request, slot, error, tries.sends) for slot in request.slots]


async def _failed(
    error: EndpointError, request: Request, tries: _Tries, place: tuple[Lane, Work]
) -> list[Outcome]:
    """Return the failures of a request whose attempts are used up, none before."""
    lane, work = place
    if isinstance(error, Mishandled):
        _note_mistake(error, request, lane, work)
        charged = True
    else:
        charged = retry.charged(error) and not await _is_ill(error, request, lane)
    tries.attempts += charged
    if await _tries_again(error, tries.attempts if charged else 0, lane, work):
        return []
    return [failure(request, slot, error, tries.sends) for slot in request.slots]


async def _is_ill(error: EndpointError, request: Request, lane: Lane) -> bool:
    """Tell whether the endpoint is to blame for a fault, and not the request.

    After several requests in a row have failed it is asked for a single token: if it gives
    that, the requests are to blame.
    """
    if not isinstance(error, EndpointUnavailable) or not lane.flow.failed(request.slots[0].key):
        return False
    return not await _answers(lane, request)


async def _answers(lane: Lane, request: Request) -> bool:
    """Tell whether an endpoint answers a request for one token."""
    try:
        await lane.client.probe(request.served_model, request.interface)
    except EndpointRefused:
        return False
    except EndpointError as error:
        return error.kind == "error_in_200"  # which may be about the request, as a status 400 is
    lane.flow.answered(1)
    return True


def _note_mistake(error: Mishandled, request: Request, lane: Lane, work: Work) -> None:
    """Hint at a mistake of our own; one that meets every reply ends the lane and not the plan."""
    work.progress.hint(MISTAKE)
    if lane.flow.failed(request.slots[0].key):
        last = str(error).strip().splitlines()[-1]
        end(lane, Mishandled(f"memoprobe fails to read any reply of {lane.client.name}: {last}"))


async def _tries_again(error: EndpointError, attempts: int, lane: Lane, work: Work) -> bool:
    """Wait before another attempt, or return False where there is none.

    With ``attempts`` 0 the endpoint is the reason, and nobody asks it for a while.
    """
    if error.kind == "timeout":
        mend = "raise timeout_s, or lower max_in_flight or max_tokens"
        work.progress.hint(f"{lane.client.name}: replies take too long; {mend}")
    if not retry.may_retry(error, attempts):
        return False
    work.progress.retries += 1
    if attempts:
        lane.flow.answered()
        await sleep(retry.wait_s(error, attempts, work.rng), lane.stop)
    else:
        lane.flow.refused(error, work.rng)
    return True


def _tokens(request: Request, n: int) -> int:
    """Return about how many tokens a request may take, at four characters a token of prompt."""
    return len(request.prompt) // 4 + n * request.sampling.max_tokens


async def _ask(
    request: Request, slots: Sequence[Slot], tries: _Tries, place: tuple[Lane, Work]
) -> list[Response]:
    """Send once and file the choices by their index."""
    lane, work = place
    token = id(slots)
    item = f"{request.benchmark} {request.sample_id} level {request.level} ({request.model})"
    work.progress.in_flight[token] = (monotonic(), item)
    try:
        found = await _reply(request, slots, tries.attempts, lane)
    except asyncio.CancelledError:
        given_up = [failure(request, slot, Cancelled(), tries.sends) for slot in slots]
        work.save(*given_up)
        work.progress.count(given_up)
        raise
    finally:
        del work.progress.in_flight[token]
    lane.flow.answered(len(found))
    if len(found) < len(slots):
        _learn(lane, work, len(found))
    return found


async def _reply(
    request: Request, slots: Sequence[Slot], attempts: int, lane: Lane
) -> list[Response]:
    """Return what one call gives; what concerns this request alone is an error of its own."""
    started = monotonic()
    try:
        reply = await lane.client.send(request, slots, attempts)
        origin = Origin(lane.client.name, lane.client.usage_sums_choices, monotonic() - started)
        return responses(request, slots, reply, origin)
    except EndpointRefused as error:
        # A gateway may forbid single prompts with the status of a wrong key.
        if not await _answers(lane, request):
            raise
        detail, status = str(error), error.status
        raise RequestRejected(detail, kind="forbidden", phase="status", status=status) from error
    except MemoprobeError:
        raise
    except Exception as error:  # a mistake of our own
        raise mishandled(error, lane.client.redact) from error


def _learn(lane: Lane, work: Work, max_n: int) -> None:
    lane.max_n = max(1, min(lane.max_n, max_n))
    more = "the rest is asked by more requests"
    work.progress.hint(f"{lane.client.name} gives {lane.max_n} of the answers a request: {more}")
