"""Share one model's requests among its replicas; knows nothing of HTTP.

Every replica has a share of the samples, so that a sample's levels meet the same prompt
cache. One that has worked off its share helps with the others', down to what waits in
their queues, and what a dead one leaves goes to the living.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from memoprobe.records import Request

BATCH = 6  # requests drawn at a time: one sample's levels


@dataclass(slots=True)
class Pool:
    """Hold the shares of a model's replicas, by the replica's number."""

    shares: Sequence[Iterator[Request]]
    queues: dict[int, asyncio.Queue[Request | None]] = field(default_factory=dict, init=False)
    _returned: deque[Request] = field(default_factory=deque, init=False)
    _idle: set[int] = field(default_factory=set, init=False)
    _dead: set[int] = field(default_factory=set, init=False)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition, init=False)

    async def draw(self, replica: int) -> list[Request]:
        """Return the next requests for a replica, empty when there is nothing to draw for now."""
        if self._returned:
            return [self._returned.popleft() for _ in range(min(BATCH, len(self._returned)))]
        own = self.shares[replica]
        for share in (own, *(share for share in self.shares if share is not own)):
            # In a thread, since making variants takes processor time.
            if batch := await asyncio.to_thread(_take, share):
                return batch
        return self._spilled(replica)

    def _spilled(self, replica: int) -> list[Request]:
        """Return a request that waits for another replica, which lags; empty when none does."""
        others = (queue for number, queue in self.queues.items() if number != replica)
        for queue in sorted(others, key=asyncio.Queue.qsize, reverse=True):
            if not queue.empty():
                request = queue.get_nowait()
                queue.task_done()
                if request is not None:
                    return [request]
                queue.put_nowait(None)
        return []

    async def more(self, replica: int, stop: asyncio.Event) -> bool:
        """Wait until there is something to draw again; False when there never will be.

        A replica calls it with nothing left in its hands. The others may still die and
        leave something.
        """
        async with self._changed:
            self._idle.add(replica)
            self._changed.notify_all()
            await self._changed.wait_for(
                lambda: self._returned or self._all_idle() or stop.is_set()
            )
            if stop.is_set() or not self._returned:
                return False
            self._idle.discard(replica)
            return True

    def _all_idle(self) -> bool:
        return len(self._idle | self._dead) == len(self.shares)

    async def give_back(self, requests: Sequence[Request]) -> None:
        """Take back what a replica drew and has not begun."""
        async with self._changed:
            self._returned.extendleft(reversed(requests))
            self._changed.notify_all()

    async def leave(self, replica: int, unfinished: Sequence[Request]) -> None:
        """Take back what a replica that is dead has not done."""
        async with self._changed:
            self._dead.add(replica)
            self._returned.extend(unfinished)
            self._changed.notify_all()

    async def wake(self) -> None:
        """Let those that wait look at their stop events."""
        async with self._changed:
            self._changed.notify_all()

    @property
    def abandoned(self) -> bool:
        """Tell whether all replicas are dead, so that what is left stays undone."""
        return len(self._dead) == len(self.shares)


def _take(share: Iterator[Request]) -> list[Request]:
    return list(islice(share, BATCH))
