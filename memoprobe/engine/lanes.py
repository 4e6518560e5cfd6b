"""Fan out: ask for every slot and hand each outcome to ``save``.

Per model a feeder draws requests into a bounded queue and workers empty it, so
memory does not grow with the plan.
"""

import asyncio
import contextlib
import random
import signal
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic

from memoprobe.engine.fulfil import fulfil
from memoprobe.engine.lane import Lane, Work, end
from memoprobe.engine.progress import Progress
from memoprobe.errors import MemoprobeError
from memoprobe.records import Request

GRACE_S = 10.0  # what replies in flight get after the first Ctrl-C
TICK_S = 1.0


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
    work = Work(save=save, progress=progress, rng=random.Random(), drawing=asyncio.Lock())
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


async def _lane(lane: Lane, work: Work) -> None:
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


async def _feed(lane: Lane, queue: asyncio.Queue[Request | None], work: Work) -> None:
    """Fill the queue from the pool, and end it with a None for each worker."""
    held: deque[Request] = deque()
    try:
        await _fill(lane, queue, held, work)
    except MemoprobeError as error:
        end(lane, error)
    finally:
        lane.unfinished.extend(held)
    for _ in range(lane.flow.max_in_flight):
        await queue.put(None)


async def _fill(
    lane: Lane, queue: asyncio.Queue[Request | None], held: deque[Request], work: Work
) -> None:
    """Bring requests from the pool into the queue; what is under way is held."""
    ready = False  # a lane without work never touches its endpoint
    while not lane.stop.is_set():
        async with work.drawing:
            await _draw(lane, held)
        if held and not ready:
            first = held[0]
            await lane.pool.give_back(list(held))  # others need not wait for this server
            held.clear()
            await _prepare(lane, first, work.progress)
            ready = True
        elif held:
            while held:
                await queue.put(held[0])
                held.popleft()
        else:
            await queue.join()
            if lane.stop.is_set() or not await lane.pool.more(lane.replica, lane.stop):
                return


async def _draw(lane: Lane, held: deque[Request]) -> None:
    """Draw from the pool to the end, since what a cancelled draw had taken would be lost."""
    drawing = asyncio.ensure_future(lane.pool.draw(lane.replica))
    try:
        held.extend(await asyncio.shield(drawing))
    except asyncio.CancelledError:
        with contextlib.suppress(MemoprobeError):
            held.extend(await drawing)
        raise


async def _prepare(lane: Lane, request: Request, progress: Progress) -> None:
    token = id(lane)
    progress.in_flight[token] = (monotonic(), f"the server at {lane.client.name}")
    try:
        await lane.client.prepare(request.served_model, request.interface)
    finally:
        del progress.in_flight[token]


async def _work(lane: Lane, queue: asyncio.Queue[Request | None], work: Work) -> None:
    while (request := await queue.get()) is not None:
        try:
            await fulfil(request, lane, work)
        except MemoprobeError as error:
            end(lane, error)
        queue.task_done()
        if lane.stop.is_set():
            return
