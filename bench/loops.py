"""What the others do: loops that ask the bench server and store nothing, or keep a list."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple


class Result(NamedTuple):
    name: str
    answers: int
    seconds: float
    cpu_s: float

    def row(self) -> str:
        rate, cpu = self.answers / self.seconds, 1000 * self.cpu_s / self.answers
        return f"{self.name:<42} {rate:>9.0f} answers/s {cpu:>8.3f} ms CPU an answer"


def prompts(n: int) -> list[str]:
    filler = "Provide a fix for the buggy function.\n" + "x = compute(value)\n" * 30
    return [f"{filler}# variant {number}\n" for number in range(n)]


def body(prompt: str, n: int, seed: int) -> dict:
    return {
        "model": "bench",
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0.3,
        "top_p": 0.5,
        "max_tokens": 256,
        "n": n,
        "seed": seed,
    }


def cpu() -> float:
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def pool(n: int, in_flight: int, one: Callable[[int], Awaitable[None]]) -> None:
    numbers = iter(range(n))

    async def work() -> None:
        for number in numbers:
            await one(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(work())


def measure(name: str, answers: int, act: Callable[[], None]) -> Result:
    began, used = time.monotonic(), cpu()
    act()
    return Result(name, answers, time.monotonic() - began, cpu() - used)


def bare_sdk(url: str, requests: int, n: int, in_flight: int) -> None:
    """The same SDK, transport and call as memoprobe's, each reply parsed, nothing kept."""
    import httpx2
    import openai

    async def run() -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        http = openai.DefaultAioHttpClient(timeout=httpx2.Timeout(None), limits=limits)
        async with openai.AsyncOpenAI(
            base_url=url, api_key="EMPTY", max_retries=0, http_client=http
        ) as sdk:
            texts = prompts(requests)

            async def one(number: int) -> None:
                reply = await sdk.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    body=body(texts[number], n, 1000 * number),
                )
                assert len(json.loads(reply.content)["choices"]) == n

            await pool(requests, in_flight, one)

    asyncio.run(run())


def bare_aiohttp(url: str, requests: int, n: int, in_flight: int) -> None:
    """The limit: aiohttp alone."""
    import aiohttp

    async def run() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            texts = prompts(requests)

            async def one(number: int) -> None:
                async with session.post(
                    f"{url}/chat/completions", json=body(texts[number], n, 1000 * number)
                ) as reply:
                    assert len(json.loads(await reply.read())["choices"]) == n

            await pool(requests, in_flight, one)

    asyncio.run(run())
