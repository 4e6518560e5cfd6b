"""Serve an OpenAI-compatible API on loopback whose answers are a function of prompt and seed."""

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Script = tuple[int, dict[str, str], object]


def answer(prompt: str, seed: int) -> str:
    """Return an answer that differs with prompt and seed, but not by every seed."""
    number = int(
        hashlib.sha256(f"{prompt}|{seed}".encode("utf-8", "surrogatepass")).hexdigest(), 16
    )
    names = ["value", "total", "result"][number % 3]
    return f"Here it is:\n```python\ndef solve({names}):\n    return {names} + {number % 7}\n```\n"


@dataclass
class Fake:
    """Hold what the server does and what it was asked."""

    models: list[str] = field(default_factory=lambda: ["fake"])
    unlisted: list[str] = field(default_factory=list)  # served as well
    prefix: str = "/v1"
    listed: bool | Script = True  # serves a list of models, or something else in its place
    owned_by: str = "vllm"
    pages: dict[str, object] = field(default_factory=dict)  # beside the API
    max_n: int | None = None  # refuses more
    ignores_n: bool = False  # gives one choice whatever n is
    delay_s: float = 0.0
    text_of: Callable[[str, int], object] = answer
    finish_of: Callable[[str, int], str] = lambda prompt, seed: "stop"
    script: deque[Script] = field(default_factory=deque)  # replies before anything else
    fail_if: Callable[[str], Script | None] = lambda prompt: None
    refuse_until: float = 0.0  # monotonic time
    retry_after: str = "1"
    requests: list[dict] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, path: str, body: dict) -> Script:
        chat = path.endswith("/chat/completions")
        prompt = body["messages"][-1]["content"] if chat else body["prompt"]
        with self.lock:
            self.requests.append(body)
            self.times.append(time.monotonic())
            if self.script:
                return self.script.popleft()
        if time.monotonic() < self.refuse_until:
            return 429, {"Retry-After": self.retry_after}, {"error": {"message": "slow down"}}
        if failure := self.fail_if(prompt):
            return failure
        if body["model"] not in (*self.models, *self.unlisted):
            return 404, {}, {"error": {"message": f"The model `{body['model']}` does not exist."}}
        n = body.get("n", 1)
        if self.max_n is not None and n > self.max_n:
            message = f"Field 'n': Value must be between 1 <= value <= {self.max_n}, but got {n}"
            return 400, {}, {"error": {"code": 400, "message": message}}
        time.sleep(self.delay_s)
        choices = [
            self.choice(chat, prompt, body.get("seed", 0) + i, i)
            for i in range(1 if self.ignores_n else n)
        ]
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 20 * len(choices)}
        return 200, {}, {"model": body["model"], "choices": choices, "usage": usage}

    def page(self, path: str) -> Script:
        if path == f"{self.prefix}/models" and self.listed:
            data = [{"id": name, "owned_by": self.owned_by} for name in self.models]
            return (200, {}, {"data": data}) if self.listed is True else self.listed
        if path in self.pages:
            return 200, {}, self.pages[path]
        return 404, {}, {"detail": "Not Found"}

    def choice(self, chat: bool, prompt: str, seed: int, index: int) -> dict:
        text = self.text_of(prompt, seed)
        message = text if isinstance(text, dict) else {"content": text}
        body = {"message": message} if chat else {"text": text}
        return {"index": index, "finish_reason": self.finish_of(prompt, seed), **body}


def _handler(fake: Fake) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            fake.headers.append({k.lower(): v for k, v in self.headers.items()})
            fake.paths.append(self.path)
            self.send(*fake.page(self.path.partition("?")[0]))

        def do_POST(self) -> None:
            fake.headers.append({k.lower(): v for k, v in self.headers.items()})
            fake.paths.append(self.path)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            known = (f"{fake.prefix}/chat/completions", f"{fake.prefix}/completions")
            if path in known:
                self.send(*fake.reply(path, body))
            else:
                self.send(404, {}, {"detail": "Not Found"})

        def send(self, status: int, headers: dict[str, str], body: object) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *arguments: object) -> None:
        """Say nothing of clients that went away."""


@contextmanager
def serve(**behaviour: object) -> Iterator[Fake]:
    """Run a fake endpoint on a free port; its ``url`` is the base URL."""
    fake = Fake(**behaviour)
    server = _Server(("127.0.0.1", 0), _handler(fake))
    fake.url = f"http://127.0.0.1:{server.server_port}{fake.prefix}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
