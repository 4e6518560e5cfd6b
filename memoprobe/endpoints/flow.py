"""Govern when one endpoint may be asked; knows nothing of HTTP.

The workers of the engine limit how many requests are open; this limits when the
next may start: a shared gate that a server's Retry-After closes for all, and a rate.
"""

import asyncio
import contextlib
import random
from dataclasses import dataclass, field

from asyncio_throttle import Throttler

from memoprobe.endpoints import retry
from memoprobe.errors import EndpointDown, EndpointError, RateLimited

PATIENCE_S = 300.0


@dataclass(slots=True, kw_only=True)
class Flow:
    """Hold the gate and the rate of one endpoint."""

    max_in_flight: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None  # of prompts and completions together
    patience_s: float = PATIENCE_S  # how long the endpoint may refuse everybody
    _opens_at: float = field(default=0.0, init=False)
    _blocked_since: float | None = field(default=None, init=False)
    _paid_until: float = field(default=0.0, init=False)
    _refusals: int = field(default=0, init=False)  # closings of the gate since an answer
    _throttler: Throttler | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.requests_per_minute:
            # One start per interval, and not a minute's worth at once, is what a rate limit means.
            self._throttler = Throttler(rate_limit=1, period=60 / self.requests_per_minute)

    async def turn(self, stop: asyncio.Event, tokens: int = 0) -> None:
        """Wait until a request of about so many tokens may start, or until ``stop`` is set."""
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
        asked = isinstance(error, RateLimited) and error.retry_after_s is not None
        if now < self._opens_at:  # others of the same wave have closed it
            if asked:
                self._opens_at = max(self._opens_at, now + retry.wait_s(error, 1, rng))
            return
        self._blocked_since = self._blocked_since or now
        if now - self._blocked_since > self.patience_s:
            msg = f"no answer for {now - self._blocked_since:.0f} s; at last: {error}"
            raise EndpointDown(msg)
        self._refusals += 1
        seconds = retry.wait_s(error, self._refusals, rng)
        self._opens_at = now + seconds
        if asked:
            self._blocked_since += seconds

    def answered(self) -> None:
        """Note that the endpoint works."""
        self._blocked_since = None
        self._refusals = 0


async def sleep(seconds: float, stop: asyncio.Event) -> None:
    """Wait for ``seconds``, or until ``stop`` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
