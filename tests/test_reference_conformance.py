"""The reference server does what a real vLLM does; how llama-server differs is data.

The same observations are made of a real server where MEMOPROBE_TEST_BASE_URL and
MEMOPROBE_TEST_MODEL name one.
"""

import json
import os
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from memoprobe.reference.model import load
from memoprobe.reference.server import serve

URL = os.environ.get("MEMOPROBE_TEST_BASE_URL", "")
MODEL = os.environ.get("MEMOPROBE_TEST_MODEL", "")
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
TALK = {"messages": [{"role": "user", "content": "def add(a, b):"}], "max_tokens": 4}
PLAIN = {"prompt": "def add(a, b):", "max_tokens": 4}
WARM = {"temperature": 1.0, "top_p": 1.0}


class Server:
    """Hold where a server is and which model is asked."""

    def __init__(self, url, model):
        self.place, self.model = urlsplit(url).netloc, model
        self.owner = self.get("/v1/models")[1]["data"][0]["owned_by"]

    def send(self, method, path, body=None):
        with closing(HTTPConnection(self.place, timeout=180)) as connection:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            content = reply.read()
        return reply.status, json.loads(content) if content else None

    def get(self, path):
        return self.send("GET", path)

    def ask(self, path, body):
        return self.send("POST", path, {"model": self.model} | body)

    def status(self, path, change):
        return self.ask(path, (TALK if path == CHAT else PLAIN) | change)[0]

    def choices(self, path, change):
        return self.ask(path, (TALK if path == CHAT else PLAIN) | change)[1]["choices"]


def said(choice):
    return choice["text"] if "text" in choice else choice["message"]["content"]


def seeds_follow(server):
    several = server.choices(COMPLETIONS, WARM | {"n": 3, "seed": 7})
    alone = [server.choices(COMPLETIONS, WARM | {"seed": 7 + i})[0] for i in range(len(several))]
    return len(several) == 3 and [said(one) for one in several] == [said(one) for one in alone]


def told_in_chat(server):
    (choice,) = server.choices(CHAT, {"logprobs": True, "top_logprobs": 2, "temperature": 0})
    return sorted(choice["logprobs"]["content"][0])


def told_in_completion(server):
    (choice,) = server.choices(COMPLETIONS, {"logprobs": 1, "temperature": 0})
    return sorted(choice["logprobs"])


def echoed(server):
    (choice,) = server.choices(COMPLETIONS, {"echo": True, "logprobs": 1, "temperature": 0})
    values = (choice["logprobs"] or {}).get("token_logprobs", [0])
    return said(choice).startswith(PLAIN["prompt"]) and values[0] is None and values[1] < 0


def prompt_told(server):
    (choice,) = server.choices(COMPLETIONS, {"prompt_logprobs": 0, "temperature": 0})
    rows = choice.get("prompt_logprobs") or [0]
    own = [next(iter(row.values())) for row in rows[1:]]
    return rows[0] is None and all(
        one.keys() >= {"logprob", "rank", "decoded_token"} for one in own
    )


def context(server):
    card = server.get("/v1/models")[1]["data"][0]
    return card.get("max_model_len") or card["meta"]["n_ctx"]


def clamped(server):
    """Ask for more than is left of the context beside a prompt that nearly fills it."""
    long = " ".join(["a"] * (context(server) - 60))
    status, reply = server.ask(COMPLETIONS, {"prompt": long, "max_tokens": 100, "temperature": 0})
    return status, reply["choices"][0]["finish_reason"] if status == 200 else None


def error_of(server, path, change):
    status, reply = server.ask(path, (TALK if path == CHAT else PLAIN) | change)
    return status, sorted(reply["error"])


OBSERVATIONS = {
    "health": lambda s: s.get("/health"),
    "unknown path": lambda s: s.send("POST", "/v1/nothing", {})[0],
    "get on chat": lambda s: s.get(CHAT)[0],
    "n": lambda s: len(s.choices(CHAT, {"n": 3})),
    "greedy n": lambda s: s.status(CHAT, {"n": 3, "temperature": 0}),
    "seed twice": lambda s: (
        said(s.choices(COMPLETIONS, WARM | {"seed": 7})[0])
        == said(s.choices(COMPLETIONS, WARM | {"seed": 7})[0])
    ),
    "choice i has seed + i": seeds_follow,
    "cold": lambda s: s.status(CHAT, {"temperature": -1}),
    "top_p out of range": lambda s: s.status(CHAT, {"top_p": 1.5}),
    "missing messages": lambda s: s.ask(CHAT, {"max_tokens": 4})[0],
    "malformed": lambda s: s.send("POST", CHAT, b'{"messages": [')[0],
    "empty messages": lambda s: s.status(CHAT, {"messages": []}),
    "told in chat": told_in_chat,
    "told in completion": told_in_completion,
    "too many told": lambda s: s.status(CHAT, {"logprobs": True, "top_logprobs": 50}),
    "echo": echoed,
    "prompt_logprobs": prompt_told,
    "nothing but echo": lambda s: s.status(COMPLETIONS, {"echo": True, "max_tokens": 0}),
    "no token in chat": lambda s: s.status(CHAT, {"max_tokens": 0}),
    "list of prompts": lambda s: len(s.choices(COMPLETIONS, {"prompt": ["a", "b"]})),
    "tokens": lambda s: s.status(COMPLETIONS, {"prompt": [5, 6, 7]}),
    "stop": lambda s: s.choices(COMPLETIONS, {"stop": ["e", "a", " ", "\n"], "max_tokens": 99})[0][
        "finish_reason"
    ],
    "unknown field": lambda s: s.status(CHAT, {"unheard_of": 1}),
    "other model": lambda s: s.status(CHAT, {"model": "no-such-model"}),
    "suffix": lambda s: s.status(COMPLETIONS, {"suffix": "x"}),
    "past the context": clamped,
    "prompt past the context": lambda s: error_of(
        s, COMPLETIONS, {"prompt": " ".join(["a"] * (context(s) + 9))}
    ),
    "tokenize": lambda s: sorted(s.ask("/tokenize", {"prompt": "a b"})[1]),
}
_ENTRY = ["bytes", "logprob", "token", "top_logprobs"]
VLLM: Mapping[str, object] = {
    "health": (200, None),
    "unknown path": 404,
    "get on chat": 405,
    "n": 3,
    "greedy n": 400,
    "seed twice": True,
    "choice i has seed + i": True,
    "cold": 400,
    "top_p out of range": 400,
    "missing messages": 400,
    "malformed": 400,
    "empty messages": 400,
    "told in chat": _ENTRY,
    "told in completion": ["text_offset", "token_logprobs", "tokens", "top_logprobs"],
    "too many told": 400,
    "echo": True,
    "prompt_logprobs": True,
    "nothing but echo": 200,
    "no token in chat": 400,
    "list of prompts": 2,
    "tokens": 200,
    "stop": "stop",
    "unknown field": 200,
    "other model": 404,
    "suffix": 400,
    "past the context": (200, "length"),
    "prompt past the context": (400, ["code", "message", "param", "type"]),
    "tokenize": ["count", "max_model_len", "token_strs", "tokens"],
}
DIFFERENCES: Mapping[str, Mapping[str, object]] = {
    "vllm": {},
    "memoprobe": {},
    "llamacpp": {
        "health": (200, {"status": "ok"}),
        "get on chat": 404,
        "greedy n": 200,
        "cold": 200,
        "top_p out of range": 200,
        "empty messages": 200,
        "told in chat": sorted(["id", *_ENTRY]),
        "told in completion": ["content"],
        "too many told": 200,
        "echo": False,
        "prompt_logprobs": False,
        "no token in chat": 200,
        "other model": 200,
        "suffix": 200,
        "prompt past the context": (
            400,
            ["code", "message", "n_ctx", "n_prompt_tokens", "type"],
        ),
        "tokenize": ["tokens"],
    },
}


@pytest.fixture(scope="module")
def reference():
    model = load(0)
    with serve(model) as url:
        yield Server(url, model.name)


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_reference_server_does_as_vllm(reference, name):
    """What was seen of vLLM 0.32 is seen of the reference server."""
    assert OBSERVATIONS[name](reference) == VLLM[name]


@pytest.mark.skipif(not (URL and MODEL), reason="MEMOPROBE_TEST_BASE_URL names no server")
@pytest.mark.parametrize("name", OBSERVATIONS)
def test_real_server_does_as_recorded(name):
    """A real server is as vLLM but for the differences that are recorded of its kind."""
    server = Server(URL, MODEL)

    assert OBSERVATIONS[name](server) == (VLLM | DIFFERENCES[server.owner])[name]
