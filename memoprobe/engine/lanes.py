"""Fan out: ask for every slot and hand each outcome to ``save``.

Per model a feeder draws requests into a bounded queue and workers empty it, so
memory does not grow with the plan. Retries happen here and nowhere else.
"""

import asyncio
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol

from memoprobe.endpoints import retry
from memoprobe.endpoints.flow import Flow, sleep
from memoprobe.endpoints.pool import Pool
from memoprobe.endpoints.replies import Reply
from memoprobe.engine.outcomes import Origin, Outcome, failure, responses
from memoprobe.engine.progress import Progress
from memoprobe.errors import (
    EndpointError,
    EndpointUnavailable,
    MemoprobeError,
    RequestRejected,
    TooManyChoices,
)
from memoprobe.plan import runs
from memoprobe.records import Interface, Request, Response, Slot

GRACE_S = 10.0  # what replies in flight get after the first Ctrl-C
TICK_S = 1.0
MOST_CHOICES = 128


class Client(Protocol):
    """Name what the engine needs of a client."""

    @property
    def name(self) -> str:
        """Return the endpoint's URL without anything secret."""

    @property
    def usage_sums_choices(self) -> bool:
        """Tell whether token counts cover all choices of a reply."""

    async def prepare(self, served_model: str, interface: Interface) -> None:
        """Find the server and make sure that it serves the model."""

    async def probe(self, served_model: str, interface: Interface) -> bytes:
        """Ask for one token, which shows that the endpoint works."""

    async def close(self) -> None:
        """Close its connections."""

    async def send(self, request: Request, run: Sequence[Slot], attempts: int) -> Reply:
        """Ask for one run of slots."""


@dataclass(slots=True, kw_only=True)
class Lane:
    """Hold one endpoint and its part in the work for a model."""

    model: str
    pool: Pool  # of the requests with the slots that are missing
    replica: int = 0  # its number in the pool
    client: Client
    flow: Flow
    max_n: int = MOST_CHOICES  # choices a request; lowered when the server gives fewer
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    fault: MemoprobeError | None = None  # why the lane ended early
    unfinished: list[Request] = field(default_factory=list)  # when it did


@dataclass(slots=True, kw_only=True)
class _Run:
    save: Callable[..., None]
    progress: Progress
    rng: random.Random
    drawing: asyncio.Lock  # one lane at a time reads the database


def run(
    lanes: Sequence[Lane],
    save: Callable[..., None],
    progress: Progress,
    show: Callable[[Progress], None],
) -> int | None:
    """Ask for everything that the lanes hold; return the signal that ended it early, if one did.

    Args:
        lanes: One per endpoint; a lane's ``fault`` says why it ended early.
        save: Takes outcomes; raises a StoreError when it cannot keep them.
        progress: Kept up to date.
        show: Called about once a second.
    """
    return asyncio.run(_run(lanes, save, progress, show))


async def _run(
    lanes: Sequence[Lane],
    save: Callable[..., None],
    progress: Progress,
    show: Callable[[Progress], None],
) -> int | None:
    work = _Run(save=save, progress=progress, rng=random.Random(), drawing=asyncio.Lock())
    caught: list[int] = []
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as scope, asyncio.TaskGroup() as group:

            def halt(number: int) -> None:
                caught.append(number)
                progress.stopping = True
                for lane in lanes:
                    lane.stop.set()
                    group.create_task(lane.pool.wake())
                grace = GRACE_S if len(caught) == 1 else 0
                scope.reschedule(loop.time() + grace)

            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, halt, number)
            ticking = group.create_task(_tick(progress, show))
            tasks = [group.create_task(_lane(lane, work)) for lane in lanes]
            await asyncio.wait(tasks)
            ticking.cancel()
    except TimeoutError:
        pass
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    show(progress)
    return caught[0] if caught else None


async def _tick(progress: Progress, show: Callable[[Progress], None]) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        show(progress)


async def _lane(lane: Lane, work: _Run) -> None:
    """Work off one lane; a fault ends this lane alone."""
    queue: asyncio.Queue[Request | None] = asyncio.Queue(2 * lane.flow.max_in_flight)
    lane.pool.queues[lane.replica] = queue
    try:
        async with asyncio.TaskGroup() as group:
            feeder = group.create_task(_feed(lane, queue, work))
            workers = [
                group.create_task(_work(lane, queue, work)) for _ in range(lane.flow.max_in_flight)
            ]
            await asyncio.wait(workers)
            feeder.cancel()
        if lane.fault is not None:
            left = [queue.get_nowait() for _ in range(queue.qsize())]
            await lane.pool.leave(lane.replica, [*lane.unfinished, *filter(None, left)])
    finally:
        await lane.client.close()


async def _feed(lane: Lane, queue: asyncio.Queue[Request | None], work: _Run) -> None:
    """Fill the queue from the pool, and end it with a None for each worker."""
    ready = False  # a lane without work never touches its endpoint
    while not lane.stop.is_set():
        try:
            async with work.drawing:
                batch = await lane.pool.draw(lane.replica)
            if batch and not ready:
                await lane.pool.give_back(batch)  # others need not wait for this server
                await _prepare(lane, batch[0], work.progress)
                ready = True
                continue
        except MemoprobeError as error:
            _end(lane, error)
            break
        for request in batch:
            await queue.put(request)
        if not batch:
            await queue.join()
            if lane.stop.is_set() or not await lane.pool.more(lane.replica, lane.stop):
                break
    for _ in range(lane.flow.max_in_flight):
        await queue.put(None)


async def _prepare(lane: Lane, request: Request, progress: Progress) -> None:
    token = id(lane)
    progress.in_flight[token] = (monotonic(), f"the server at {lane.client.name}")
    try:
        await lane.client.prepare(request.served_model, request.interface)
    finally:
        del progress.in_flight[token]


async def _work(lane: Lane, queue: asyncio.Queue[Request | None], work: _Run) -> None:
    while (request := await queue.get()) is not None:
        try:
            await _fulfil(request, lane, work)
        except MemoprobeError as error:
            _end(lane, error)
        queue.task_done()
        if lane.stop.is_set():
            return


def _end(lane: Lane, error: MemoprobeError) -> None:
    """End a lane early; its first fault is the one that is told."""
    if lane.fault is None:
        lane.fault = error
    lane.stop.set()


async def _fulfil(request: Request, lane: Lane, work: _Run) -> None:
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


async def _ask_all(request: Request, missing: list[Slot], lane: Lane, work: _Run) -> None:
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


async def _try(request: Request, tries: _Tries, place: tuple[Lane, _Run]) -> Sequence[Outcome]:
    """Send once, for as many slots as fit; return outcomes, none where to try again."""
    lane, work = place
    slots = next(runs(request.slots, min(tries.most, lane.max_n)))
    try:
        async with lane.flow.turn(lane.stop, _tokens(request, len(slots))):
            if lane.stop.is_set():
                return []
            tries.sends += 1
            outcomes = await _ask(request, slots, tries.attempts, place)
    except TooManyChoices as error:
        _learn(lane, work, min(error.max_n, len(slots) - 1))
        return []
    except RequestRejected as error:
        if error.kind == "bad_request" and len(slots) > 1:
            tries.most = 1  # it may be the number of choices after all, in words of its own
            return []
        return [failure(request, slot, error, tries.sends) for slot in request.slots]
    except EndpointError as error:
        charged = retry.charged(error) and not await _is_ill(error, slots, (request, lane))
        tries.attempts += charged
        if await _tries_again(error, tries.attempts if charged else 0, lane, work):
            return []
        return [failure(request, slot, error, tries.sends) for slot in slots]
    if tries.most < lane.max_n:
        _learn(lane, work, tries.most)
    return outcomes


async def _is_ill(error: EndpointError, slots: Sequence[Slot], place: tuple[Request, Lane]) -> bool:
    """Tell whether the endpoint is to blame for a fault, and not the request.

    After several requests in a row have failed it is asked for a single token: if it gives
    that, the requests are to blame.
    """
    request, lane = place
    if not isinstance(error, EndpointUnavailable) or not lane.flow.failed(slots[0].key):
        return False
    try:
        await lane.client.probe(request.served_model, request.interface)
    except EndpointError:
        return True
    lane.flow.answered(1)
    return False


async def _tries_again(error: EndpointError, attempts: int, lane: Lane, work: _Run) -> bool:
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
    request: Request, slots: Sequence[Slot], attempts: int, place: tuple[Lane, _Run]
) -> list[Response]:
    """Send once and file the choices by their index."""
    lane, work = place
    started = monotonic()
    token = id(slots)
    item = f"{request.benchmark} {request.sample_id} level {request.level} ({request.model})"
    work.progress.in_flight[token] = (started, item)
    try:
        reply = await lane.client.send(request, slots, attempts)
    finally:
        del work.progress.in_flight[token]
    lane.flow.answered(len(reply.choices))
    if len(reply.choices) < len(slots):
        _learn(lane, work, len(reply.choices))
    origin = Origin(lane.client.name, lane.client.usage_sums_choices, monotonic() - started)
    return responses(request, slots, reply, origin)


def _learn(lane: Lane, work: _Run, max_n: int) -> None:
    lane.max_n = max(1, min(lane.max_n, max_n))
    more = "the rest is asked by more requests"
    work.progress.hint(f"{lane.client.name} gives {lane.max_n} of the answers a request: {more}")
