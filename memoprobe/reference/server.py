"""Serve the reference model over the OpenAI-compatible protocol, on this machine only.

Shapes of replies and of errors are those of vLLM, and so is this: choice i of a request with
seed s is what a request with seed s + i and one choice gets.
"""

import json
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from memoprobe.reference import asking, replying
from memoprobe.reference.asking import Asked, Fields, Refusal
from memoprobe.reference.decoding import Decoder, Job
from memoprobe.reference.model import Model
from memoprobe.reference.tokenizer import BEGIN, Tokenizer
from memoprobe.reference.weights import SHAPE

_CHAT, _COMPLETIONS, _TOKENIZE = "/v1/chat/completions", "/v1/completions", "/tokenize"
_PATHS = {"/health": "GET", "/v1/models": "GET", _CHAT: "POST", _COMPLETIONS: "POST"}
_PATHS |= {_TOKENIZE: "POST"}


_LOOK_S = 1.0  # between two looks whether the worker still lives
_BROKEN = {
    "error": {
        "message": "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "type": "InternalServerError",
        "param": None,
        "code": 500,
    }
}


class _Kind(NamedTuple):
    """Hold how the requests of one path are read and answered."""

    read: Callable[[Fields, Tokenizer], Asked]
    reply: Callable[[Asked, Sequence[Job], Tokenizer, str], dict[str, Any]]


_KINDS: Mapping[str, _Kind] = {
    _CHAT: _Kind(asking.chat, replying.chat),
    _COMPLETIONS: _Kind(asking.completion, replying.completion),
}


@contextmanager
def serve(model: Model, port: int = 0) -> Iterator[str]:
    """Serve a model while the context lasts; yield the base URL.

    Args:
        model: What is served, under its name.
        port: Of the loopback interface; 0 is a free one.
    """
    server = _Server(("127.0.0.1", port), _Handler)
    server.model, server.waiting = model, SimpleQueue()
    server.worker = Thread(target=_work, args=(model, server.waiting), daemon=True)
    listener = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    server.worker.start()
    listener.start()
    try:
        # The matrices are small: threads that share one mostly wait for each other, and where
        # another process has a core, four times as long.
        with threadpool_limits(1, user_api="blas"):
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        listener.join()
        server.waiting.put(None)
        server.worker.join()


Waiting = SimpleQueue[tuple[Job, "Future[Job]"] | None]


def _work(model: Model, queue: Waiting) -> None:
    """Draw what is asked for until None comes; new requests join those at work."""
    decoder = Decoder(model.network, model.tokenizer)
    waiting: deque[Job] = deque()
    futures: dict[Job, Future[Job]] = {}
    try:
        while True:
            while not queue.empty() or not futures:
                new = queue.get()
                if new is None:
                    return
                waiting.append(new[0])
                futures[new[0]] = new[1]
            done = decoder.admit(waiting)
            done += decoder.step() if decoder.busy else []
            for job in done:
                futures.pop(job).set_result(job)
    finally:
        for future in futures.values():
            future.cancel()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    model: Model
    waiting: Waiting
    worker: Thread

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Pass over a client that has hung up; any other error is a mistake of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    # A reply leaves in one packet: head and body apart would wait for an acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401
        """Say nothing: requests are the caller's to report."""

    def _answer(self, method: str) -> None:
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        path = self.path.partition("?")[0]
        if path not in _PATHS:
            self._reply(404, {"detail": "Not Found"})
        elif _PATHS[path] != method:
            self._reply(405, {"detail": "Method Not Allowed"})
        elif path == "/health":
            self._reply(200, None)
        elif path == "/v1/models":
            self._reply(200, _models(self.server.model.name))
        else:
            self._complete(path, body)

    def _complete(self, path: str, body: bytes) -> None:
        model = self.server.model
        try:
            fields = asking.fields_of(body, model.name)
            if path == _TOKENIZE:
                self._reply(200, _tokens(fields, model.tokenizer))
                return
            asked = _KINDS[path].read(fields, model.tokenizer)
        except Refusal as refusal:
            self._reply(refusal.status, refusal.body)
            return
        jobs = [Job(order) for order in asked.orders]
        if self._draw(jobs):
            self._reply(200, _KINDS[path].reply(asked, jobs, model.tokenizer, model.name))
        else:
            self._reply(500, _BROKEN)

    def _draw(self, jobs: Sequence[Job]) -> bool:
        """Wait until jobs are done; tell whether they are, and not the worker broken."""
        futures: list[Future[Job]] = [Future() for _ in jobs]
        for pair in zip(jobs, futures, strict=True):
            self.server.waiting.put(pair)
        while self.server.worker.is_alive() and wait(futures, _LOOK_S).not_done:
            pass
        return all(future.done() and not future.cancelled() for future in futures)

    def _reply(self, status: int, content: dict[str, Any] | None) -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _models(name: str) -> dict[str, Any]:
    card = {"id": name, "object": "model", "owned_by": "memoprobe", "max_model_len": SHAPE.context}
    return {"object": "list", "data": [card]}


def _tokens(fields: Fields, known: Tokenizer) -> dict[str, Any]:
    prompt = fields.get("prompt")
    if not isinstance(prompt, str):
        asking.invalid("body.prompt", "Input should be a valid string")
    tokens = [BEGIN, *known.encode(prompt)]
    told = {"count": len(tokens), "max_model_len": SHAPE.context, "tokens": tokens}
    return told | {"token_strs": None}
