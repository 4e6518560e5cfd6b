"""The demo's server speaks the OpenAI-compatible protocol in vLLM's shapes."""

import json
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, RemoteDisconnected
from urllib.parse import urlsplit

import pytest

from memoprobe.demo.model import LanguageModel
from memoprobe.demo.reading import pieces
from memoprobe.demo.server import CONTEXT, serve

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
PROMPT = "toss a coin"
BODY = {"model": "coin", "messages": [{"role": "user", "content": PROMPT}]}
FREE = {"temperature": 1.0, "top_p": 1.0}


@pytest.fixture(scope="module")
def model():
    model = LanguageModel()
    answers = ["1 + 2"] * 5 + ["1 - 2"] * 3 + ["4"] * 2 + ["5 + 6 + 7"]
    model.train([(PROMPT, answer) for answer in answers] + [("roll dice", "6")] * 4)
    return model


@pytest.fixture(scope="module")
def base_url(model):
    with serve(model, "coin") as url:
        yield url


@pytest.fixture
def connection(base_url):
    with closing(HTTPConnection(urlsplit(base_url).netloc, timeout=10)) as connection:
        yield connection


def ask(connection, method, path, body=None):
    """Return status and decoded body of one exchange on an open connection."""
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, sent, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    content = reply.read()
    return reply.status, json.loads(content) if content else None


def texts(reply):
    return [choice["message"]["content"] for choice in reply["choices"]]


def test_listens_on_loopback_only(base_url):
    """The base URL names the loopback address and a port."""
    parts = urlsplit(base_url)

    assert (parts.hostname, parts.path) == ("127.0.0.1", "/v1")
    assert parts.port > 1023


def test_health_and_models(connection):
    """Health is an empty 200; the one model is listed with its context length."""
    assert ask(connection, "GET", "/health") == (200, None)
    status, models = ask(connection, "GET", "/v1/models")

    assert status == 200
    assert [(m["id"], m["max_model_len"]) for m in models["data"]] == [("coin", CONTEXT)]


def test_choices_are_single_requests_with_following_seeds(connection, model):
    """Choice i of seed s is the answer to one request of seed s + i, and the model's own."""
    status, reply = ask(connection, "POST", CHAT, BODY | FREE | {"n": 9, "seed": 40})
    single = [
        ask(connection, "POST", CHAT, BODY | FREE | {"seed": 40 + index})[1] for index in range(9)
    ]
    own = [model.sample(PROMPT, **FREE, max_tokens=50, seed=40 + index) for index in range(9)]

    assert status == 200
    assert [choice["index"] for choice in reply["choices"]] == list(range(9))
    assert texts(reply) == [texts(one)[0] for one in single] == [answer.text for answer in own]
    assert len(set(texts(reply))) > 1
    assert reply["model"] == "coin"
    assert reply["choices"][0]["message"]["role"] == "assistant"
    assert {choice["finish_reason"] for choice in reply["choices"]} == {"stop"}
    assert reply["usage"] == {
        "prompt_tokens": len(pieces(PROMPT)),
        "completion_tokens": sum(answer.n_tokens for answer in own),
        "total_tokens": len(pieces(PROMPT)) + sum(answer.n_tokens for answer in own),
    }


def test_completions_answer_the_same(connection):
    """The completions path takes a prompt and gives the answers as plain texts."""
    asked = {"model": "coin", "prompt": PROMPT, "n": 3, "seed": 5, **FREE}

    status, reply = ask(connection, "POST", COMPLETIONS, asked)
    _, chat = ask(connection, "POST", CHAT, BODY | FREE | {"n": 3, "seed": 5})

    assert status == 200
    assert [choice["text"] for choice in reply["choices"]] == texts(chat)


def test_connection_is_kept(connection):
    """Several exchanges, refused ones among them, use one connection."""
    ask(connection, "GET", "/health")
    first = connection.sock
    ask(connection, "POST", CHAT, b"{")
    ask(connection, "POST", "/nowhere", BODY)
    ask(connection, "POST", CHAT, BODY | FREE)

    assert first is not None
    assert connection.sock is first


def test_messages_are_read_in_order(connection):
    """The prompt is the contents of all messages."""
    split = [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}]
    _, reply = ask(connection, "POST", CHAT, BODY | {"messages": split})

    assert reply["usage"]["prompt_tokens"] == len(pieces("x\n\ny"))


def test_answer_is_cut_at_max_tokens(connection):
    """Either name of the limit cuts the answer, and the reply says so."""
    for name in ("max_tokens", "max_completion_tokens"):
        asked = BODY | {"temperature": 0, name: 2}
        _, reply = ask(connection, "POST", CHAT, asked)
        assert reply["choices"][0]["finish_reason"] == "length"
        assert reply["usage"]["completion_tokens"] == len(pieces(texts(reply)[0])) == 2


def test_answer_ends_before_a_stop_string(connection):
    """A stop string is left out and all after it, whichever of several comes first."""
    _, whole = ask(connection, "POST", CHAT, BODY | {"temperature": 0})
    _, one = ask(connection, "POST", CHAT, BODY | {"temperature": 0, "stop": " 2"})
    _, two = ask(connection, "POST", CHAT, BODY | {"temperature": 0, "stop": ["2", "+", "?"]})
    _, none = ask(connection, "POST", CHAT, BODY | {"temperature": 0, "stop": ["?"]})

    assert texts(whole) == texts(none) == ["1 + 2"]
    assert texts(one) == ["1 +"]
    assert texts(two) == ["1 "]
    assert two["choices"][0]["finish_reason"] == "stop"


def test_without_a_seed_answers_differ(connection):
    """A request without a seed is drawn anew."""
    replies = [ask(connection, "POST", CHAT, BODY | FREE | {"n": 9})[1] for _ in range(8)]

    assert len({tuple(texts(reply)) for reply in replies}) > 1


def test_prompt_may_leave_no_room(connection):
    """A prompt as long as the context is refused with both lengths; one token less is answered."""
    fits = {"model": "coin", "prompt": "a" + " a" * (CONTEXT - 2), "temperature": 0}
    status, reply = ask(connection, "POST", COMPLETIONS, fits)
    refused, error = ask(connection, "POST", COMPLETIONS, fits | {"prompt": fits["prompt"] + " a"})

    assert (status, reply["usage"]["completion_tokens"]) == (200, 1)
    assert refused == 400
    assert f"maximum context length is {CONTEXT} tokens" in error["error"]["message"]


@pytest.mark.parametrize(
    ("path", "change", "status", "kind", "param"),
    [
        pytest.param(CHAT, {"model": "other"}, 404, "NotFoundError", "model", id="model"),
        pytest.param(CHAT, {"messages": None}, 400, "Bad Request", "body.messages", id="none"),
        pytest.param(CHAT, {"messages": []}, 400, "Bad Request", "body.messages", id="empty"),
        pytest.param(CHAT, {"messages": ["hi"]}, 400, "Bad Request", "body.messages", id="bare"),
        pytest.param(
            CHAT, {"messages": [{"content": 3}]}, 400, "Bad Request", "body.messages", id="number"
        ),
        pytest.param(COMPLETIONS, {}, 400, "Bad Request", "body.prompt", id="no prompt"),
        pytest.param(COMPLETIONS, {"prompt": [1]}, 400, "Bad Request", "body.prompt", id="ids"),
        pytest.param(CHAT, {"n": 0}, 400, "BadRequestError", "n", id="n 0"),
        pytest.param(CHAT, {"n": 1000}, 400, "BadRequestError", "n", id="n 1000"),
        pytest.param(CHAT, {"n": "3"}, 400, "Bad Request", "body.n", id="n text"),
        pytest.param(CHAT, {"n": True}, 400, "Bad Request", "body.n", id="n bool"),
        pytest.param(CHAT, {"n": 2, "temperature": 0}, 400, "BadRequestError", "n", id="greedy n"),
        pytest.param(
            CHAT, {"temperature": -1}, 400, "BadRequestError", "temperature", id="temperature"
        ),
        pytest.param(
            CHAT, {"temperature": "0"}, 400, "Bad Request", "body.temperature", id="no number"
        ),
        pytest.param(CHAT, {"top_p": 0}, 400, "BadRequestError", "top_p", id="top_p 0"),
        pytest.param(CHAT, {"top_p": 1.5}, 400, "BadRequestError", "top_p", id="top_p 1.5"),
        pytest.param(
            CHAT, {"max_tokens": 0}, 400, "BadRequestError", "max_tokens", id="max_tokens"
        ),
        pytest.param(CHAT, {"seed": "x"}, 400, "Bad Request", "body.seed", id="seed"),
        pytest.param(CHAT, {"stop": 3}, 400, "Bad Request", "body.stop", id="stop"),
        pytest.param(CHAT, {"stop": [""]}, 400, "Bad Request", "body.stop", id="empty stop"),
        pytest.param(CHAT, {"stream": True}, 400, "BadRequestError", "stream", id="stream"),
        pytest.param(CHAT, {"logprobs": True}, 400, "BadRequestError", "logprobs", id="logprobs"),
        pytest.param(COMPLETIONS, {"echo": True}, 400, "BadRequestError", "echo", id="echo"),
    ],
)
def test_refusals(connection, path, change, status, kind, param):
    """What cannot be answered is refused, naming the field."""
    got, reply = ask(connection, "POST", path, BODY | change)

    assert got == status
    assert set(reply) == {"error"}
    assert (reply["error"]["code"], reply["error"]["type"]) == (status, kind)
    assert reply["error"]["param"] == param
    assert reply["error"]["message"]


def test_false_is_no_wish(connection):
    """A field that turns something off which is not there is accepted."""
    status, _ = ask(connection, "POST", CHAT, BODY | {"stream": False, "logprobs": False})

    assert status == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"\xff"], ids=["empty", "cut", "list", "bytes"]
)
def test_malformed_bodies(connection, body):
    """A body that is no JSON object is refused."""
    status, reply = ask(connection, "POST", CHAT, body)

    assert (status, reply["error"]["type"]) == (400, "Bad Request")


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", CHAT, (405, {"detail": "Method Not Allowed"})),
        ("POST", "/health", (405, {"detail": "Method Not Allowed"})),
        ("GET", "/v2", (404, {"detail": "Not Found"})),
        ("POST", "/v1/embeddings", (404, {"detail": "Not Found"})),
    ],
)
def test_unknown_paths(connection, method, path, expected):
    """Other paths and methods get the replies of vLLM's web framework."""
    assert ask(connection, method, path) == expected


def test_many_at_once(base_url):
    """Requests in parallel get the answers that they get alone."""

    def answers(seed):
        with closing(HTTPConnection(urlsplit(base_url).netloc, timeout=10)) as connection:
            return texts(ask(connection, "POST", CHAT, BODY | FREE | {"n": 3, "seed": seed})[1])

    alone = [answers(seed) for seed in range(0, 60, 3)]
    with ThreadPoolExecutor(10) as pool:
        together = list(pool.map(answers, range(0, 60, 3)))

    assert together == alone


def test_client_that_hangs_up_leaves_no_trace(base_url, capfd):
    """A client that resets its connection in the middle of a request prints nothing."""
    before = set(threading.enumerate())
    with closing(HTTPConnection(urlsplit(base_url).netloc, timeout=10)) as connection:
        ask(connection, "GET", "/health")
        handlers = [
            thread
            for thread in set(threading.enumerate()) - before
            if "process_request_thread" in thread.name
        ]
        connection.sock.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{")
        # Closing without lingering resets the connection.
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for handler in handlers:
        handler.join(timeout=60)

    assert handlers
    assert not any(handler.is_alive() for handler in handlers)
    assert capfd.readouterr().err == ""


def test_mistake_of_ours_is_shown(capfd):
    """Any other error in a handler is printed, and its client sees the connection end."""
    with (
        serve(LanguageModel(), "untrained") as url,
        closing(HTTPConnection(urlsplit(url).netloc, timeout=10)) as connection,
        pytest.raises(RemoteDisconnected),
    ):
        ask(connection, "POST", COMPLETIONS, {"prompt": PROMPT})

    assert "an untrained model cannot answer" in capfd.readouterr().err


def test_server_ends_with_its_context(model):
    """After the context nobody listens on the port."""
    with serve(model, "coin") as url:
        port = urlsplit(url).port

    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
        pass
