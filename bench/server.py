"""A fast loopback endpoint with latency, faults and counters, in a process of its own.

It answers chat completions with n choices that are a function of prompt and seed.
``GET /counters`` tells what it was asked; faults are shares of requests.
"""

import argparse
import asyncio
import hashlib
import json
import random
from collections import Counter

from aiohttp import web

WORDS = "def solve(value):\n    total = 0\n    for item in value:\n        total += item\n"


def text(prompt: str, seed: int) -> str:
    mark = hashlib.blake2b(f"{seed}|{prompt}".encode(), digest_size=8).hexdigest()
    return f"```python\n{WORDS}    return total  # {mark}\n```\n"


class Endpoint:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rng = random.Random(options.seed)
        self.counters: Counter[str] = Counter()
        self.slots: Counter[str] = Counter()  # answered, by prompt and seed
        self.tokens = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.counters["requests"] += 1
        draw = self.rng.random()
        for kind in ("busy", "broken", "dropped", "garbled"):
            share = getattr(self.options, kind)
            if draw < share:
                self.counters[kind] += 1
                return await self.fault(kind, request)
            draw -= share
        await asyncio.sleep(self.options.latency)
        prompt, seed, n = body["messages"][-1]["content"], body.get("seed") or 0, body.get("n") or 1
        self.counters["answers"] += n
        self.counters["prompt_tokens"] += len(prompt) // 4
        if self.options.count_slots:
            for i in range(n):
                self.slots[f"{seed + i}|{hash(prompt)}"] += 1
        choices = [
            {
                "index": i,
                "message": {"role": "assistant", "content": text(prompt, seed + i)},
                "finish_reason": "stop",
            }
            for i in range(n)
        ]
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 40 * n}
        reply = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        return web.json_response({**reply, "choices": choices, "usage": usage})

    async def fault(self, kind: str, request: web.Request) -> web.StreamResponse:
        if kind == "busy":
            return web.json_response(
                {"error": "busy"}, status=429, headers={"retry-after-ms": "50"}
            )
        if kind == "broken":
            return web.Response(text="Internal Server Error", status=500)
        if kind == "garbled":
            return web.Response(text="<html>", content_type="text/html")
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def models(self, _: web.Request) -> web.Response:
        data = [{"id": "bench", "owned_by": "vllm", "max_model_len": 8192}]
        return web.json_response({"data": data})

    async def count(self, _: web.Request) -> web.Response:
        doubled = sum(n - 1 for n in self.slots.values())
        return web.json_response({**self.counters, "slots": len(self.slots), "doubled": doubled})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.2)
    for kind in ("busy", "broken", "dropped", "garbled"):
        parser.add_argument(f"--{kind}", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count-slots", action="store_true")
    endpoint = Endpoint(parser.parse_args())
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", endpoint.chat)
    app.router.add_get("/v1/models", endpoint.models)
    app.router.add_get("/counters", endpoint.count)

    async def run() -> None:
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=2048)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    main()
