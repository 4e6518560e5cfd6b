"""Serve a language model over the OpenAI-compatible protocol, on this machine only.

Shapes of replies and of errors are those of vLLM. What the model cannot do is refused and
not passed over in silence.
"""

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NoReturn

from memoprobe.demo.model import Completion, LanguageModel
from memoprobe.demo.reading import pieces

CONTEXT = 4096  # tokens of prompt and answer together
MOST_CHOICES = 128
REFUSED = ("stream", "logprobs", "prompt_logprobs", "echo", "suffix", "tools")

_CHAT, _COMPLETIONS = "/v1/chat/completions", "/v1/completions"
_PATHS = {"/health": "GET", "/v1/models": "GET", _CHAT: "POST", _COMPLETIONS: "POST"}


class _Refusal(Exception):
    """Carry the status and the body of an error reply."""

    def __init__(self, status: int, message: str, kind: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Hold a request that can be answered."""

    prompt: str
    n: int
    seed: int
    temperature: float
    top_p: float
    max_tokens: int
    stop: tuple[str, ...]


@contextmanager
def serve(model: LanguageModel, name: str) -> Iterator[str]:
    """Serve a trained model under ``name`` while the context lasts; yield the base URL.

    The port is a free one of the loopback interface. Choice i of a request with seed s is
    what a request with seed s + i and one choice gets.
    """
    server = _Server(("127.0.0.1", 0), _Handler)
    server.model, server.name = model, name
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    model: LanguageModel
    name: str

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
            self._reply(200, _models(self.server.name))
        else:
            self._complete(path, body)

    def _complete(self, path: str, body: bytes) -> None:
        try:
            asked = _read(body, self.server.name, chat=path == _CHAT)
        except _Refusal as refusal:
            self._reply(refusal.status, refusal.body)
        else:
            self._reply(
                200, _completed(asked, self.server.model, self.server.name, chat=path == _CHAT)
            )

    def _reply(self, status: int, content: dict[str, Any] | None) -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _models(name: str) -> dict[str, Any]:
    card = {"id": name, "object": "model", "owned_by": "memoprobe", "max_model_len": CONTEXT}
    return {"object": "list", "data": [card]}


def _read(body: bytes, name: str, *, chat: bool) -> _Asked:
    """Return what a request body asks for, or raise the refusal that answers it."""
    try:
        fields = json.loads(body)
    except ValueError as error:
        _invalid("body", f"JSON decode error: {error}")
    if not isinstance(fields, dict):
        _invalid("body", "Input should be a valid dictionary")
    fields = {key: value for key, value in fields.items() if value is not None}
    if fields.get("model", name) != name:
        message = f"The model `{fields['model']}` does not exist. Valid aliases: {name}."
        raise _Refusal(404, message, "NotFoundError", "model")
    for field in REFUSED:
        if field in fields and fields[field] is not False:
            raise _Refusal(400, f"{field} is not supported", "BadRequestError", field)
    prompt = _chat_prompt(fields) if chat else _typed(fields, "prompt", str, None)
    n = _typed(fields, "n", int, 1)
    temperature = _number(fields, "temperature")
    top_p = _number(fields, "top_p")
    _require(1 <= n <= MOST_CHOICES, "n", f"n must be from 1 to {MOST_CHOICES}, got {n}.")
    _require(temperature >= 0, "temperature", f"temperature must be 0 or more, got {temperature}.")
    _require(0 < top_p <= 1, "top_p", f"top_p must be in (0, 1], got {top_p}.")
    _require(temperature > 0 or n == 1, "n", f"n must be 1 when using greedy sampling, got {n}.")
    return _Asked(
        prompt=prompt,
        n=n,
        seed=_typed(fields, "seed", int, random.SystemRandom().getrandbits(31)),
        temperature=temperature,
        top_p=top_p,
        max_tokens=_max_tokens(fields, prompt),
        stop=_stop(fields),
    )


def _invalid(place: str, message: str) -> NoReturn:
    """Refuse a request that is not of the protocol."""
    detail = {"loc": place, "msg": message}
    raise _Refusal(400, f"1 validation error:\n  {detail}", "Bad Request", place)


def _require(holds: bool, param: str, message: str) -> None:
    if not holds:
        raise _Refusal(400, message, "BadRequestError", param)


def _typed(fields: dict[str, Any], key: str, kind: type, default: Any) -> Any:  # noqa: ANN401
    """Return a field of its type; without a default it must be there."""
    value = fields.get(key, default)
    if value is None:
        _invalid(f"body.{key}", "Field required")
    if not isinstance(value, kind) or isinstance(value, bool):
        _invalid(f"body.{key}", f"Input should be a valid {kind.__name__}")
    return value


def _number(fields: dict[str, Any], key: str) -> float:
    value = fields.get(key, 1.0)
    if not isinstance(value, int | float) or isinstance(value, bool):
        _invalid(f"body.{key}", "Input should be a valid number")
    return float(value)


def _chat_prompt(fields: dict[str, Any]) -> str:
    """Return the messages' contents one after the other: the model knows no roles."""
    messages = _typed(fields, "messages", list, None)
    contents = [m["content"] for m in messages if isinstance(m, dict) and "content" in m]
    whole = contents and len(contents) == len(messages)
    if not whole or not all(isinstance(content, str) for content in contents):
        _invalid("body.messages", "Input should be messages whose content is a string")
    return "\n\n".join(contents)


def _stop(fields: dict[str, Any]) -> tuple[str, ...]:
    stop = fields.get("stop", [])
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(text, str) and text for text in stops):
        _invalid("body.stop", "Input should be a string or a list of strings, none empty")
    return tuple(stops)


def _max_tokens(fields: dict[str, Any], prompt: str) -> int:
    """Return how long the answer may be: what is asked for, but never past the context."""
    room = CONTEXT - len(pieces(prompt))
    key = "max_completion_tokens" if "max_completion_tokens" in fields else "max_tokens"
    wanted: int = _typed(fields, key, int, CONTEXT)
    _require(wanted >= 1, key, f"max_tokens must be at least 1, got {wanted}.")
    too_long = (
        f"This model's maximum context length is {CONTEXT} tokens. However, your prompt "
        f"contains {CONTEXT - room} input tokens. Please reduce the length of the input prompt."
    )
    _require(room >= 1, "input_tokens", too_long)
    return min(wanted, room)


def _completed(asked: _Asked, model: LanguageModel, name: str, *, chat: bool) -> dict[str, Any]:
    answers = [_sample(asked, model, asked.seed + index) for index in range(asked.n)]
    prompt_tokens = len(pieces(asked.prompt))
    completion_tokens = sum(answer.n_tokens for answer in answers)
    return {
        "id": f"demo-{asked.seed}",
        "object": "chat.completion" if chat else "text_completion",
        "created": 0,
        "model": name,
        "choices": [
            {
                "index": index,
                **_content(answer.text, chat=chat),
                "logprobs": None,
                "finish_reason": answer.finish_reason,
            }
            for index, answer in enumerate(answers)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _content(text: str, *, chat: bool) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}} if chat else {"text": text}


def _sample(asked: _Asked, model: LanguageModel, seed: int) -> Completion:
    answer = model.sample(
        asked.prompt,
        temperature=asked.temperature,
        top_p=asked.top_p,
        max_tokens=asked.max_tokens,
        seed=seed,
    )
    at = min((place for s in asked.stop if (place := answer.text.find(s)) >= 0), default=-1)
    if at < 0:
        return answer
    text = answer.text[:at]
    return Completion(text, "stop", len(pieces(text)))
