"""Govern when one endpoint may be asked; knows nothing of HTTP.

Three things can hold a request back: how many are open, a gate that a server's
Retry-After closes for all, and a rate.
"""

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from asyncio_throttle import Throttler

from memoprobe.endpoints import retry
from memoprobe.endpoints.pace import Pace
from memoprobe.errors import EndpointDown, EndpointError, RateLimited

PATIENCE_S = 300.0
LONGEST_GRANT_S = 6 * 3600.0  # how long a server may keep asking to wait
BREAKER = 4  # after so many requests in a row that fail, it is time to ask whose fault it is


@dataclass(slots=True, kw_only=True)
class Flow:
    """Hold the gate and the rate of one endpoint."""

    max_in_flight: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None  # of prompts and completions together
    patience_s: float = PATIENCE_S  # how long the endpoint may refuse everybody
    pace: Pace = field(init=False)
    _open: int = field(default=0, init=False)
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque, init=False)
    _opens_at: float = field(default=0.0, init=False)
    _blocked_since: float | None = field(default=None, init=False)
    _paid_until: float = field(default=0.0, init=False)
    _granted: float = field(default=0.0, init=False)  # seconds asked for since an answer
    _failing: set[bytes] = field(default_factory=set, init=False)  # requests since an answer
    _refusals: int = field(default=0, init=False)  # closings of the gate since an answer
    _throttler: Throttler | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.pace = Pace(most=self.max_in_flight)
        if self.requests_per_minute:
            # One start per interval, and not a minute's worth at once, is what a rate limit means.
            self._throttler = Throttler(rate_limit=1, period=60 / self.requests_per_minute)

    @asynccontextmanager
    async def turn(self, stop: asyncio.Event, tokens: int = 0) -> AsyncIterator[None]:
        """Hold one of the open places; enter when a request of so many tokens may start.

        Where ``stop`` is set, enter at once: the caller looks.
        """
        while self._open >= self.pace.limit and not stop.is_set():
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self._open += 1
        try:
            await self._wait(stop, tokens)
            yield
        finally:
            self._open -= 1
            self._wake()

    def _wake(self) -> None:
        """Let as many waiting requests go on as there are places."""
        free = self.pace.limit - self._open
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    async def _wait(self, stop: asyncio.Event, tokens: int) -> None:
        loop = asyncio.get_running_loop()
        while (delay := self._opens_at - loop.time()) > 0 and not stop.is_set():
            await sleep(delay, stop)
        if self._throttler is not None and not stop.is_set():
            await self._throttler.acquire()
        if self.tokens_per_minute is not None:
            # Each start books its tokens; the next one waits until the rate has paid for them.
            now = loop.time()
            starts_at = max(now, self._paid_until)
            self._paid_until = starts_at + 60 * tokens / self.tokens_per_minute
            await sleep(starts_at - now, stop)

    def refused(self, error: EndpointError, rng: random.Random) -> None:
        """Close the gate for everybody after the endpoint refused one request.

        Time that the server asked to wait does not try the patience.

        Raises:
            EndpointDown: The endpoint has refused everybody for longer than patience.
        """
        now = asyncio.get_running_loop().time()
        asked = isinstance(error, RateLimited) and bool(error.retry_after_s)
        if now < self._opens_at:  # others of the same wave have closed it
            if asked:
                self._opens_at = max(self._opens_at, now + retry.wait_s(error, 1, rng))
            return
        self._blocked_since = self._blocked_since or now
        if now - self._blocked_since > self.patience_s:
            msg = f"no answer for {now - self._blocked_since:.0f} s; at last: {error}"
            raise EndpointDown(msg)
        self._refusals += 1
        if isinstance(error, RateLimited):
            self.pace.refused()
        seconds = retry.wait_s(error, self._refusals, rng)
        self._opens_at = now + seconds
        if asked and self._granted < LONGEST_GRANT_S:
            self._granted += seconds
            self._blocked_since += seconds

    def failed(self, key: bytes) -> bool:
        """Note that a request failed; tell whether so many did that the endpoint is in doubt."""
        self._failing.add(key)
        return len(self._failing) > BREAKER

    def answered(self, answers: int = 0) -> None:
        """Note that the endpoint works, and how many answers a reply held."""
        self._blocked_since = None
        self._refusals = 0
        self._granted = 0.0
        if answers:
            self._failing.clear()
            self.pace.replied(asyncio.get_running_loop().time(), answers)
            self._wake()


async def sleep(seconds: float, stop: asyncio.Event) -> None:
    """Wait for ``seconds``, or until ``stop`` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
