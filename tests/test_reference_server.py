"""The reference server speaks the OpenAI-compatible protocol in vLLM's shapes."""

import json
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from threadpoolctl import threadpool_info

from memoprobe.reference.decoding import Order, draw
from memoprobe.reference.model import Model, load
from memoprobe.reference.server import serve
from memoprobe.reference.tokenizer import BEGIN
from memoprobe.reference.weights import SHAPE

CHAT, COMPLETIONS, TOKENIZE = "/v1/chat/completions", "/v1/completions", "/tokenize"
NAME = "memoprobe-reference-0"
PROMPT = "Write a function that takes a list of words."
MESSAGES = [{"role": "user", "content": PROMPT}]
SHORT = {"max_tokens": 6}
TALK = {"messages": MESSAGES, **SHORT}
PLAIN = {"prompt": PROMPT, **SHORT}


@pytest.fixture(scope="module")
def model():
    return load(0)


@pytest.fixture(scope="module")
def base_url(model):
    with serve(model) as url:
        yield url


@pytest.fixture
def ask(base_url):
    """Return a function that sends one request over one open connection."""
    with closing(HTTPConnection(urlsplit(base_url).netloc, timeout=60)) as connection:

        def asked(method, path, body=None):
            return exchange(connection, method, path, body)

        asked.connection = connection
        yield asked


def exchange(connection, method, path, body=None):
    """Return status and decoded body of one exchange."""
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, sent, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    content = reply.read()
    return reply.status, json.loads(content) if content else None


def texts(reply):
    return [
        choice["text"] if "text" in choice else choice["message"]["content"]
        for choice in reply["choices"]
    ]


def test_listens_on_loopback_only(base_url):
    """The base URL names the loopback address and a port."""
    parts = urlsplit(base_url)

    assert (parts.hostname, parts.path) == ("127.0.0.1", "/v1")
    assert parts.port > 1023


def test_health_and_models(ask):
    """Health is an empty 200; the one model is listed with its context length."""
    assert ask("GET", "/health") == (200, None)
    status, models = ask("GET", "/v1/models")

    assert status == 200
    assert [(m["id"], m["max_model_len"]) for m in models["data"]] == [(NAME, SHAPE.context)]


def test_choices_are_single_requests_with_following_seeds(ask, model):
    """Choice i of seed s is the answer to one request of seed s + i, and the model's own."""
    status, reply = ask("POST", COMPLETIONS, PLAIN | {"n": 5, "seed": 40})
    _, single = ask("POST", COMPLETIONS, PLAIN | {"seed": 43})
    prompt = (BEGIN, *model.tokenizer.encode(PROMPT))
    order = Order(prompt=prompt, seeds=(44,), temperature=1.0, top_p=1.0, max_tokens=6)
    (own,) = draw(model.network, model.tokenizer, [order])

    assert status == 200
    assert [choice["index"] for choice in reply["choices"]] == list(range(5))
    assert texts(reply)[3] == texts(single)[0]
    assert texts(reply)[4] == own.drawn[0].text.decode("utf-8", "replace")
    assert len(set(texts(reply))) > 1
    assert (reply["model"], reply["object"]) == (NAME, "text_completion")
    assert reply["usage"]["prompt_tokens"] == len(prompt)
    assert reply["usage"]["completion_tokens"] <= 30


def test_chat_is_the_completion_of_its_messages(ask):
    """Messages are one text, a blank line after each; the answer is an assistant's."""
    split = [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}]
    parts = [{"role": "user", "content": [{"type": "text", "text": "x\n\ny"}]}]
    _, chat = ask("POST", CHAT, {"messages": split, "seed": 1, **SHORT})
    _, same = ask("POST", CHAT, {"messages": parts, "seed": 1, **SHORT})
    _, plain = ask("POST", COMPLETIONS, {"prompt": "x\n\ny\n\n", "seed": 1, **SHORT})

    assert texts(chat) == texts(same) == texts(plain)
    assert chat["choices"][0]["message"]["role"] == "assistant"
    assert chat["object"] == "chat.completion"


def test_chat_continues_a_final_answer(ask):
    """An assistant's last message is gone on from, if it is asked to be."""
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "def"}]
    flags = {"continue_final_message": True, "add_generation_prompt": False}
    _, chat = ask("POST", CHAT, {"messages": messages, "seed": 1, **flags, **SHORT})
    _, plain = ask("POST", COMPLETIONS, {"prompt": "x\n\ndef", "seed": 1, **SHORT})

    assert texts(chat) == texts(plain)


def test_several_prompts_and_tokens(ask):
    """A list of prompts, as texts or as tokens, is answered in order, n answers to each."""
    _, tokens = ask("POST", TOKENIZE, {"prompt": PROMPT})
    _, one = ask("POST", COMPLETIONS, PLAIN | {"seed": 3, "n": 2})
    _, two = ask("POST", COMPLETIONS, PLAIN | {"prompt": [PROMPT, "x"], "seed": 3, "n": 2})
    _, numbers = ask("POST", COMPLETIONS, PLAIN | {"prompt": tokens["tokens"], "seed": 3, "n": 2})

    assert texts(two)[:2] == texts(one) == texts(numbers)
    assert [choice["index"] for choice in two["choices"]] == [0, 1, 2, 3]
    assert tokens["count"] == len(tokens["tokens"]) == one["usage"]["prompt_tokens"]
    assert two["usage"]["prompt_tokens"] > one["usage"]["prompt_tokens"]


def test_greedy_answers_are_one(ask):
    """At temperature 0 the seed does not matter."""
    replies = [
        ask("POST", COMPLETIONS, PLAIN | {"temperature": 0, "seed": seed})[1] for seed in (1, 2)
    ]

    assert texts(replies[0]) == texts(replies[1])


def test_without_a_seed_answers_differ(ask):
    """A request without a seed is drawn anew."""
    replies = [ask("POST", COMPLETIONS, {"prompt": "x", "n": 3})[1] for _ in range(3)]

    assert len({tuple(texts(reply)) for reply in replies}) > 1


def test_answer_is_cut_at_max_tokens(ask):
    """Either name of the limit cuts the answer, and the reply says so."""
    for name in ("max_tokens", "max_completion_tokens"):
        _, reply = ask("POST", CHAT, {"messages": MESSAGES, "temperature": 0, name: 2})
        assert reply["choices"][0]["finish_reason"] == "length"
        assert reply["usage"]["completion_tokens"] == 2


def test_completions_are_short_unless_told(ask):
    """As everywhere, a completion has 16 tokens where no other number is given."""
    _, reply = ask("POST", COMPLETIONS, {"prompt": '"""\nWrite a', "temperature": 0})

    assert reply["usage"]["completion_tokens"] == 16


def test_answer_ends_before_a_stop_text(ask):
    """A stop text is left out and all after it, and the reply tells which it was."""
    greedy = {"prompt": "def solve(", "temperature": 0, "max_tokens": 20}
    _, whole = ask("POST", COMPLETIONS, greedy)
    _, one = ask("POST", COMPLETIONS, greedy | {"stop": ":\n"})
    _, two = ask("POST", COMPLETIONS, greedy | {"stop": ["?", ")"]})

    assert texts(one)[0] == texts(whole)[0].partition(":\n")[0]
    assert texts(two)[0] == texts(whole)[0].partition(")")[0]
    assert (two["choices"][0]["finish_reason"], two["choices"][0]["stop_reason"]) == ("stop", ")")


def test_chat_tells_log_probabilities(ask):
    """Each token of a chat's answer is told with its bytes and the likeliest beside it."""
    asked = TALK | {"logprobs": True, "top_logprobs": 2, "temperature": 0}
    _, reply = ask("POST", CHAT, asked)
    told = reply["choices"][0]["logprobs"]["content"]

    assert len(told) == reply["usage"]["completion_tokens"]
    assert all(one["logprob"] == one["top_logprobs"][0]["logprob"] <= 0 for one in told)
    assert {len(one["top_logprobs"]) for one in told} == {2}
    spelled = b"".join(bytes(one["bytes"]) for one in told).decode("utf-8", "replace")
    assert spelled == texts(reply)[0]


def test_echo_repeats_the_prompt_with_its_log_probabilities(ask):
    """An echoed prompt stands in front, in text and in numbers; of its first token none is told."""
    asked = {"prompt": "def solve(items):", "echo": True, "logprobs": 1, "temperature": 0}
    _, reply = ask("POST", COMPLETIONS, asked | {"max_tokens": 3})
    _, nothing = ask("POST", COMPLETIONS, asked | {"max_tokens": 0})
    told = reply["choices"][0]["logprobs"]

    assert texts(reply)[0].startswith("def solve(items):")
    assert texts(nothing) == ["def solve(items):"]
    assert nothing["usage"]["completion_tokens"] == 0
    assert told["token_logprobs"][0] is None
    assert all(logprob <= 0 for logprob in told["token_logprobs"][1:])
    assert "".join(told["tokens"][1:]) == texts(reply)[0]
    assert told["text_offset"][2] == len(told["tokens"][0]) + len(told["tokens"][1])
    n_prompt = reply["usage"]["prompt_tokens"]
    assert nothing["choices"][0]["logprobs"]["tokens"] == told["tokens"][:n_prompt]


def test_prompt_log_probabilities_stand_where_vllm_puts_them(ask):
    """A completion has them in each choice, a chat beside the choices; the token's own is first."""
    _, plain = ask("POST", COMPLETIONS, PLAIN | {"prompt_logprobs": 0})
    _, chat = ask("POST", CHAT, TALK | {"prompt_logprobs": 1})
    rows = plain["choices"][0]["prompt_logprobs"]

    assert rows[0] is None
    assert len(rows) == plain["usage"]["prompt_tokens"]
    assert "".join(next(iter(row.values()))["decoded_token"] for row in rows[1:]) == PROMPT
    assert {len(row) for row in rows[1:]} == {1}
    assert {len(row) for row in chat["prompt_logprobs"][1:]} <= {1, 2}
    assert "prompt_logprobs" not in chat["choices"][0]


def test_prompt_may_leave_no_room(ask):
    """A prompt as long as the context is refused in vLLM's words; one token less is answered."""
    fits = {"prompt": [5] * (SHAPE.context - 1), "temperature": 0, "max_tokens": 9}
    status, reply = ask("POST", COMPLETIONS, fits)
    full, first = ask("POST", COMPLETIONS, fits | {"prompt": [5] * SHAPE.context})
    over, second = ask("POST", COMPLETIONS, fits | {"prompt": [5] * (SHAPE.context + 1)})
    many, third = ask("POST", COMPLETIONS, PLAIN | {"max_tokens": SHAPE.context + 1})

    assert (status, reply["usage"]["completion_tokens"]) == (200, 1)
    assert (full, over, many) == (400, 400, 400)
    assert "max_tokens must be at least 1, got 0" in first["error"]["message"]
    assert f"maximum context length is {SHAPE.context} tokens" in second["error"]["message"]
    assert "cannot be greater than max_model_len" in third["error"]["message"]


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
        pytest.param(
            CHAT, {"continue_final_message": True}, 400, "BadRequestError", None, id="continue"
        ),
        pytest.param(COMPLETIONS, {}, 400, "Bad Request", "body.prompt", id="no prompt"),
        pytest.param(COMPLETIONS, {"prompt": []}, 400, "Bad Request", "body.prompt", id="no list"),
        pytest.param(COMPLETIONS, {"prompt": 3}, 400, "Bad Request", "body.prompt", id="number p"),
        pytest.param(
            COMPLETIONS, {"prompt": [10**6]}, 400, "Bad Request", "body.prompt", id="token"
        ),
        pytest.param(
            COMPLETIONS, {"prompt": "\ud800"}, 400, "BadRequestError", None, id="surrogate"
        ),
        pytest.param(CHAT, {"n": 0}, 400, "BadRequestError", "n", id="n 0"),
        pytest.param(CHAT, {"n": 1000}, 400, "BadRequestError", "n", id="n 1000"),
        pytest.param(CHAT, {"n": "3"}, 400, "Bad Request", "body.n", id="n text"),
        pytest.param(CHAT, {"n": True}, 400, "Bad Request", "body.n", id="n bool"),
        pytest.param(CHAT, {"n": 2, "temperature": 0}, 400, "BadRequestError", "n", id="greedy n"),
        pytest.param(CHAT, {"temperature": -1}, 400, "BadRequestError", "temperature", id="cold"),
        pytest.param(CHAT, {"temperature": 5}, 400, "BadRequestError", "temperature", id="hot"),
        pytest.param(
            CHAT, {"temperature": "0"}, 400, "Bad Request", "body.temperature", id="no number"
        ),
        pytest.param(CHAT, {"top_p": 0}, 400, "BadRequestError", "top_p", id="top_p 0"),
        pytest.param(CHAT, {"top_p": 1.5}, 400, "BadRequestError", "top_p", id="top_p 1.5"),
        pytest.param(
            CHAT, {"max_tokens": 0}, 400, "BadRequestError", "max_tokens", id="none asked"
        ),
        pytest.param(CHAT, {"max_tokens": -1}, 400, "BadRequestError", "max_tokens", id="minus"),
        pytest.param(CHAT, {"seed": "x"}, 400, "Bad Request", "body.seed", id="seed"),
        pytest.param(CHAT, {"stop": 3}, 400, "Bad Request", "body.stop", id="stop"),
        pytest.param(CHAT, {"stop": [""]}, 400, "Bad Request", "body.stop", id="empty stop"),
        pytest.param(CHAT, {"stream": True}, 400, "BadRequestError", "stream", id="stream"),
        pytest.param(CHAT, {"top_k": 3}, 400, "BadRequestError", "top_k", id="top_k"),
        pytest.param(CHAT, {"logprobs": 1}, 400, "Bad Request", "body.logprobs", id="logprobs"),
        pytest.param(
            CHAT,
            {"logprobs": True, "top_logprobs": 21},
            400,
            "BadRequestError",
            "logprobs",
            id="top",
        ),
        pytest.param(TOKENIZE, {}, 400, "Bad Request", "body.prompt", id="tokenize"),
    ],
)
def test_refusals(ask, path, change, status, kind, param):
    """What cannot be answered is refused, naming the field."""
    got, reply = ask("POST", path, {"messages": MESSAGES, **SHORT} | change)

    assert got == status
    assert set(reply) == {"error"}
    assert (reply["error"]["code"], reply["error"]["type"]) == (status, kind)
    assert reply["error"]["param"] == param
    assert reply["error"]["message"]


def test_neutral_values_are_no_wish(ask):
    """A field that asks for nothing that is not there is accepted, and so is an unknown one."""
    off = {"stream": False, "logprobs": False, "top_k": -1, "frequency_penalty": 0.0, "tools": []}
    status, _ = ask("POST", CHAT, TALK | off | {"unheard_of": 1, "model": NAME})

    assert status == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"\xff"], ids=["empty", "cut", "list", "bytes"]
)
def test_malformed_bodies(ask, body):
    """A body that is no JSON object is refused."""
    status, reply = ask("POST", CHAT, body)

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
def test_unknown_paths(ask, method, path, expected):
    """Other paths and methods get the replies of vLLM's web framework."""
    assert ask(method, path) == expected


def test_connection_is_kept(ask):
    """Several exchanges, refused ones among them, use one connection."""
    ask("GET", "/health")
    first = ask.connection.sock
    ask("POST", CHAT, b"{")
    ask("POST", "/nowhere", TALK)
    ask("POST", CHAT, TALK)

    assert first is not None
    assert ask.connection.sock is first


def test_many_at_once(base_url):
    """Requests in parallel get the answers that they get alone."""

    def answers(seed):
        with closing(HTTPConnection(urlsplit(base_url).netloc, timeout=60)) as connection:
            return texts(exchange(connection, "POST", CHAT, TALK | {"n": 3, "seed": seed})[1])

    alone = [answers(seed) for seed in range(0, 24, 3)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(answers, range(0, 24, 3)))

    assert together == alone


def test_client_that_hangs_up_leaves_no_trace(base_url, capfd):
    """A client that resets its connection in the middle of a request prints nothing."""
    others = set(threading.enumerate())
    with closing(HTTPConnection(urlsplit(base_url).netloc, timeout=60)) as connection:
        exchange(connection, "GET", "/health")
        new = set(threading.enumerate()) - others
        handlers = [thread for thread in new if "process_request_thread" in thread.name]
        connection.sock.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{")
        # Closing without lingering resets the connection.
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for handler in handlers:
        handler.join(timeout=10)

    assert handlers
    assert not any(handler.is_alive() for handler in handlers)
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_mistake_of_ours_is_told(model):
    """If drawing fails nobody waits for ever: this and every later request get vLLM's 500."""
    broken = Model(NAME, None, model.tokenizer)
    with (
        serve(broken) as url,
        closing(HTTPConnection(urlsplit(url).netloc, timeout=60)) as connection,
    ):
        replies = [exchange(connection, "POST", COMPLETIONS, PLAIN) for _ in range(2)]
        health, _ = exchange(connection, "GET", "/health")

    assert [(status, body["error"]["type"]) for status, body in replies] == [
        (500, "InternalServerError")
    ] * 2
    assert health == 200


def test_server_ends_with_its_context(model):
    """After the context nobody listens on the port."""
    with serve(model) as url:
        port = urlsplit(url).port

    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
        pass


def test_one_thread_makes_a_product(model):
    """Small products do not wait for a second core, which another process may have."""
    with serve(model):
        threads = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    assert threads == {1}
