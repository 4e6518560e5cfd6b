"""Hold an endpoint's part in the work, and what all parts share."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memoprobe.endpoints.flow import Flow
from memoprobe.endpoints.pool import Pool
from memoprobe.endpoints.replies import Reply
from memoprobe.engine.progress import Progress
from memoprobe.errors import MemoprobeError
from memoprobe.records import Interface, Request, Slot

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

    async def probe(self, served_model: str, interface: Interface) -> Reply:
        """Ask for one token, which shows that the endpoint works."""

    def redact(self, text: str) -> str:
        """Return a text without what is secret of this endpoint."""

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
class Work:
    """Hold what all lanes of a run share."""

    save: Callable[..., None]
    progress: Progress
    rng: random.Random
    drawing: asyncio.Lock  # one lane at a time reads the database


def end(lane: Lane, error: MemoprobeError) -> None:
    """End a lane early; its first fault is the one that is told."""
    if lane.fault is None:
        lane.fault = error
    lane.stop.set()
