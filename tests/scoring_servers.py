"""Serve on loopback what servers answer when asked how likely a prompt is, in their own shapes."""

import hashlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "tiny"
TEMPLATE = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n{}"
CONTEXT = 400  # tokens
TOO_LONG = f"This model's maximum context length is {CONTEXT} tokens."
BOS = "<s>"

Script = tuple[int, object]


def tokens(text: str) -> list[str]:
    """Return the tokens of a text; blanks and line ends merge with what follows."""
    return re.findall(r"\s*\w{1,4}|\s*[^\w\s]{1,2}|\s+", text)


def logprobs(text: str) -> list[float]:
    """Return a log-probability for each token, which depends on all text before it."""
    found, before = [], ""
    for token in tokens(text):
        before += token
        number = int(hashlib.sha256(before.encode()).hexdigest()[:6], 16)
        found.append(-0.01 - number % 9_000 / 1_000)
    return found


def expected(front: str, reference: str) -> tuple[list[float], int]:
    """Return the log-probabilities of the tokens that begin in the reference, and their bytes."""
    text, place, kept, n_bytes = front + reference, 0, [], 0
    for token, value in zip(tokens(text), logprobs(text), strict=True):
        if place >= len(front):
            kept.append(value)
            n_bytes += len(token.encode())
        place += len(token)
    return kept, n_bytes


@dataclass
class Server:
    """Hold what a server knows: the ways it tells log-probabilities in, and its quirks."""

    knows: frozenset[str] = frozenset({"prompt_logprobs"})
    change: Callable[[list], list] = lambda entries: entries  # of (token, logprob) pairs
    counts: Callable[[int], int] = lambda n: n  # of tokens, as the server states them
    at_first: deque[Script] = field(default_factory=deque)  # replies before anything else
    script: deque[Script] = field(default_factory=deque)  # replies to what comes after the proof
    requests: list[dict] = field(default_factory=list)
    url: str = ""

    def reply(self, path: str, body: dict) -> Script:
        self.requests.append(body)
        if self.at_first:
            return self.at_first.popleft()
        if self.script and len(self.requests) > 1:
            return self.script.popleft()
        return self.generate(body) if path == "/generate" else self.complete(path, body)

    def complete(self, path: str, body: dict) -> Script:
        is_chat = path == "/v1/chat/completions"
        turns = [m["content"] for m in body["messages"]] if is_chat else []
        prompt = TEMPLATE.format(*turns, *[""] * (2 - len(turns))) if is_chat else body["prompt"]
        found = self.change(list(zip(tokens(prompt), logprobs(prompt), strict=True)))
        if len(found) >= CONTEXT:
            return 400, {"error": {"message": TOO_LONG, "type": "BadRequestError", "code": 400}}
        choice: dict = {"index": 0, "finish_reason": "length", "text": " x", "logprobs": None}
        if len(turns) == 1:  # it is asked for an answer
            choice |= {"finish_reason": "stop", "message": {"content": "def solve(): pass"}}
        elif is_chat:
            choice["message"] = {"role": "assistant", "content": " x"}
        reply: dict = {"model": MODEL, "choices": [choice]}
        n = self.counts(len(found))
        reply["usage"] = {"prompt_tokens": n, "completion_tokens": 1, "total_tokens": n + 1}
        if "prompt_logprobs" in body and "prompt_logprobs" in self.knows:
            (reply if is_chat else choice)["prompt_logprobs"] = vllm_rows(found)
        if body.get("echo") and "echo" in self.knows:
            choice["logprobs"] = echo_lists(found)
        elif body.get("logprobs") and "content" in self.knows:  # as llama-server
            choice["logprobs"] = {"content": [{"id": 856, "token": " x", "logprob": -0.57}]}
        return 200, reply

    def generate(self, body: dict) -> Script:
        if "generate" not in self.knows:
            return 404, {"detail": "Not Found"}
        assert body["parameters"]["decoder_input_details"]
        text = body["inputs"]
        found = self.change(list(zip(tokens(text), logprobs(text), strict=True)))
        rows = [
            {"id": 1, "text": BOS, "logprob": None},
            *({"id": 5, "text": token, "logprob": value} for token, value in found),
        ]
        details = {"finish_reason": "length", "generated_tokens": 1, "prefill": rows, "tokens": []}
        return 200, {"generated_text": " x", "details": details}


def vllm_rows(found: list) -> list:
    """Return vLLM's list: nothing of the first token."""
    rows: list = [
        {str(k): {"logprob": value, "rank": 3, "decoded_token": token}}
        for k, (token, value) in enumerate(found)
    ]
    return [None, *rows[1:]]


def echo_lists(found: list) -> dict:
    """Return the lists of a completion that repeats its prompt and draws one token."""
    return {
        "tokens": [*(token for token, _ in found), " x"],
        "token_logprobs": [None, *(value for _, value in found[1:]), -0.5],
        "text_offset": [0] * (len(found) + 1),
        "top_logprobs": None,
    }


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            known = self.path == "/v1/models"
            self.send(*((200, {"data": [{"id": MODEL}]}) if known else (404, {})))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send(*server.reply(self.path, body))

        def send(self, status: int, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler


@contextmanager
def serve(**behaviour: object) -> Iterator[Server]:
    """Run a server on a free port; its ``url`` is the base URL."""
    server = Server(**behaviour)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    http.handle_error = lambda *_: None  # clients that went away
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
