"""Check client and flow against servers that mislead, stall and go away."""

import asyncio
import contextlib
import gzip
import json
import random
import socket
import threading
import time
from urllib.parse import quote

import pytest

from memoprobe.endpoints.address import address
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.examine import examine
from memoprobe.endpoints.flow import Flow, sleep
from memoprobe.endpoints.pace import Pace
from memoprobe.errors import (
    ConfigError,
    EndpointDown,
    EndpointRefused,
    EndpointUnavailable,
    RateLimited,
)
from memoprobe.records import Request, Sampling, Slot
from tests import fakes


def request(prompt="hello", interface="chat"):
    return Request(
        model="m",
        served_model="fake",
        benchmark="b",
        sample_id="s",
        perturbation="rename",
        level=0,
        interface=interface,
        prompt=prompt,
        sampling=Sampling(),
        slots=(Slot(1, 1, 7, b"k"),),
    )


def call(client, method, *arguments):
    async def act():
        async with client:
            return await getattr(client, method)(*arguments)

    return asyncio.run(act())


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_every_way_to_write_the_base_url_reaches_the_server(ending):
    """With or without the version, a slash, or the path of a call."""
    with fakes.serve() as fake:
        client = Client(base_url=fake.url.removesuffix("/v1") + ending)

        server = call(client, "discover")

    assert server.url == fake.url
    assert server.names == ["fake"]


@pytest.mark.parametrize("ending", ["/proxy/v1", "/proxy", "/proxy/v1/completions"])
def test_a_path_in_front_is_kept(ending):
    """A proxy's path is found as well."""
    with fakes.serve(prefix="/proxy/v1") as fake:
        client = Client(base_url=fake.url.removesuffix("/proxy/v1") + ending)

        assert call(client, "discover").url == fake.url


@pytest.mark.parametrize("interface", ["chat", "completions"])
def test_a_server_without_a_list_of_models_is_found_by_asking(interface):
    """One token shows that the path is right."""
    with fakes.serve(listed=False) as fake:
        client = Client(base_url=fake.url.removesuffix("/v1"))

        server = call(client, "discover", "fake", interface)

    assert server.url == fake.url
    assert server.names == []


def test_no_api_is_one_message():
    """It names where was looked."""
    with fakes.serve(prefix="/elsewhere") as fake, pytest.raises(ConfigError) as caught:
        call(Client(base_url=fake.url.replace("/elsewhere", "/v1")), "discover", "fake")

    assert "no OpenAI-compatible API at http://127.0.0.1:" in str(caught.value)


def test_nobody_listening_is_down():
    """Refused connections are told from wrong paths."""
    with pytest.raises(EndpointDown, match="cannot reach"):
        call(Client(base_url="http://127.0.0.1:9/v1"), "discover")


def test_a_name_that_is_not_listed_may_still_be_served():
    """Hosted services answer for names that they do not list."""
    with fakes.serve(unlisted=["hidden"]) as fake:
        call(Client(base_url=fake.url), "prepare", "hidden", "chat")

    assert fake.requests[0]["model"] == "hidden"


def test_another_model_s_answers_are_refused():
    """A server that answers for any name is told by the name it answers with."""
    with fakes.serve() as fake:
        fake.script.append((200, {}, {"model": "fake", "choices": [{"message": {"content": "x"}}]}))

        with pytest.raises(ConfigError, match="does not serve 'other'; it serves: fake"):
            call(Client(base_url=fake.url), "prepare", "other", "chat")


def test_secrets_in_the_url_go_to_the_server_and_nowhere_else():
    """User info and query are sent as they should be and are in no name and no error."""
    script = [(500, {}, {"error": {"message": "user:CANARY1 CANARY1 dXNlcjpDQU5BUlkx CANARY2"}})]
    with fakes.serve() as fake:
        fake.script.extend(script)
        url = fake.url.replace("http://", "http://user:CANARY1@") + "?key=CANARY2"
        client = Client(base_url=url)

        with pytest.raises(EndpointUnavailable) as caught:
            call(client, "send", request(), request().slots)

    assert fake.headers[0]["authorization"] == "Basic dXNlcjpDQU5BUlkx"
    assert fake.paths[0].endswith("?key=CANARY2")
    assert "CANARY" not in str(caught.value) + client.name + repr(caught.value.__cause__)
    assert "dXNl" not in str(caught.value)
    assert client.name == fake.url


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x/v1", "http://", ""])
def test_what_is_no_url_is_told(url):
    """The message shows what one looks like."""
    with pytest.raises(ConfigError, match="http://127"):
        address(url, None)


def test_a_server_that_stalls_is_left_at_the_limit():
    """The limit is on the whole reply, also when bytes trickle in."""
    listener = socket.create_server(("127.0.0.1", 0))

    def trickle():
        connection, _ = listener.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(40):
                time.sleep(0.05)
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=trickle, daemon=True)
    thread.start()
    client = Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", timeout_s=0.3)

    with pytest.raises(EndpointUnavailable) as caught:
        call(client, "send", request(), request().slots)

    assert caught.value.kind == "timeout"
    assert "0.3 s" in str(caught.value)
    thread.join()
    listener.close()


def test_a_connection_that_breaks_is_charged_to_the_request():
    """It may be this very prompt that ends the server."""
    listener = socket.create_server(("127.0.0.1", 0))

    def hang_up():
        connection, _ = listener.accept()
        connection.recv(10_000)
        connection.close()

    thread = threading.Thread(target=hang_up, daemon=True)
    thread.start()
    client = Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1")

    with pytest.raises(EndpointUnavailable, match="connection broke") as caught:
        call(client, "send", request(), request().slots)

    assert caught.value.kind == "dropped"
    thread.join()
    listener.close()


def test_half_a_surrogate_pair_is_sent_as_its_escape():
    """The server decides what it makes of it."""
    with fakes.serve() as fake:
        reply = call(Client(base_url=fake.url), "send", request("x\ud835"), request().slots)

    assert fake.requests[0]["messages"][0]["content"] == "x\ud835"
    assert reply.choices[0].text


def test_an_error_within_a_200_holds_no_key_either():
    """Whatever a server echoes."""
    with fakes.serve() as fake:
        fake.script.append((200, {}, {"error": {"message": "bad key sk-CANARY"}}))
        client = Client(base_url=fake.url, api_key="sk-CANARY")

        with pytest.raises(EndpointUnavailable, match="redacted"):
            call(client, "send", request(), request().slots)


def test_the_gate_closes_for_all_and_opens_again():
    """A second refusal of the same wave asks for no more time, unless the server names it."""

    async def act():
        flow, stop, rng = Flow(max_in_flight=4), asyncio.Event(), random.Random(0)
        error = RateLimited("x", retry_after_s=0.1, status=429)
        began = time.monotonic()
        flow.refused(error, rng)
        flow.refused(EndpointUnavailable("x", kind="connect", phase="connect"), rng)
        async with flow.turn(stop):
            first = time.monotonic() - began
        flow.refused(error, rng)
        flow.refused(RateLimited("x", retry_after_s=0.2, status=429), rng)
        began = time.monotonic()
        async with flow.turn(stop):
            return first, time.monotonic() - began

    first, second = asyncio.run(act())

    assert first >= 0.1
    assert second >= 0.2


def test_patience_ends():
    """An endpoint that answers nobody for long is down; an answer restores patience."""

    async def act():
        flow, rng = Flow(max_in_flight=1, patience_s=0.05), random.Random(0)
        error = EndpointUnavailable("no route", kind="connect", phase="connect")
        flow.refused(error, rng)
        await asyncio.sleep(0.3)
        flow.answered()
        flow._opens_at = 0
        flow.refused(error, rng)
        await asyncio.sleep(0.6)
        with pytest.raises(EndpointDown, match="no route"):
            flow.refused(error, rng)

    asyncio.run(act())


def test_rates_are_kept():
    """So many requests and so many tokens a minute, and a stop ends every wait."""

    async def act():
        stop = asyncio.Event()
        starts = Flow(max_in_flight=9, requests_per_minute=1200)
        tokens = Flow(max_in_flight=9, tokens_per_minute=60_000)
        times = []
        for flow in (starts, tokens):
            began = time.monotonic()
            for _ in range(4):
                async with flow.turn(stop, 50):
                    pass
            times.append(time.monotonic() - began)
        stop.set()
        began = time.monotonic()
        tokens._opens_at = asyncio.get_running_loop().time() + 9
        async with tokens.turn(stop):
            await sleep(9, stop)
        return *times, time.monotonic() - began

    requests_s, tokens_s, stopped_s = asyncio.run(act())

    assert requests_s >= 0.14
    assert tokens_s >= 0.14
    assert stopped_s < 9  # seconds that it was to wait


def test_a_refused_key_is_no_matter_of_the_path():
    """It is told at once, without looking elsewhere."""
    with fakes.serve() as fake:
        fake.listed = (401, {}, {"error": "Unauthorized"})
        client = Client(base_url=fake.url)

        with pytest.raises(EndpointRefused):
            call(client, "discover")

    assert fake.paths == ["/v1/models"]


def open_at_once(replies_a_second, most=256, replies=3000):
    """Return the limit that a Pace ends with, of a server whose rate is a function of it."""
    pace, now = Pace(most=most), 0.0
    for _ in range(replies):
        now += 1 / replies_a_second(pace.limit)
        pace.replied(now, 9)
    return pace.limit


def test_more_requests_are_open_while_that_helps():
    """A server that is busy with four gets few; one with a fixed latency gets all it may."""
    busy = open_at_once(lambda n: min(n, 4))
    free = open_at_once(lambda n: n / 0.2)
    knee = open_at_once(lambda n: min(n, 60))

    assert busy <= 16
    assert free == 256
    assert 32 <= knee <= 128
    assert open_at_once(lambda n: n, most=1) == 1


def test_a_refusal_shrinks_the_limit_and_it_grows_again():
    """Once a wave, and never below one."""
    pace = Pace(most=64)
    pace.refused()
    assert pace.limit == 5
    for _ in range(9):
        pace.refused()
    assert pace.limit == 1

    now = 0.0
    for _ in range(300):
        now += 1 / pace.limit
        pace.replied(now, 1)
    assert pace.limit == 64


def test_no_more_requests_are_open_than_the_limit(monkeypatch):
    """Those that wait go on as places become free, also when the limit grows."""
    monkeypatch.setattr("memoprobe.endpoints.pace.WINDOW_S", 0.0)

    async def act():
        flow, stop, opened = Flow(max_in_flight=32), asyncio.Event(), []

        async def one():
            async with flow.turn(stop):
                opened.append((flow._open, flow.pace.limit))
                await asyncio.sleep(0.002)
            flow.answered(1)

        async with asyncio.TaskGroup() as group:
            for _ in range(400):
                group.create_task(one())
        return opened, flow._open

    opened, left = asyncio.run(act())

    assert len(opened) == 400
    assert left == 0
    assert opened[0] == (1, 8)
    assert max(n for n, _ in opened) > 8


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("127.0.0.1:8000/v1?key=CANARY1", "CANARY1"),
        ("htp://user:CANARY1@host/v1", "CANARY1"),
        ("http://[::1/v1?key=CANARY1", "CANARY1"),
        ("http://user:CANARY1@host:abc/v1", "CANARY1"),
        ("http://host:99999/v1", "CANARY1"),
    ],
)
def test_a_url_that_is_none_is_told_without_its_secrets(url, secret):
    """Nor is there a traceback."""
    with pytest.raises(ConfigError, match="expected something like") as caught:
        address(url, None)

    assert secret not in str(caught.value)


@pytest.mark.parametrize("key", ["ab/cd/CANARY", 'quo"te-CANARY', "p%rc nt-CANARY"])
def test_a_key_is_redacted_however_the_server_writes_it(key):
    """Escaped for JSON, for a URL, or plain, in JSON or in no JSON."""
    forms = [json.dumps(key), json.dumps(key).replace("/", "\\/"), quote(key), quote(key, safe="")]
    with fakes.serve() as fake:
        client = Client(base_url=fake.url, api_key=key)
        for form in forms:
            fake.script.append((500, {}, f"plain {form}".encode()))
            fake.script.append((500, {}, {"error": {"message": f"said {form} and {key}"}}))

        async def act():
            async with client:
                for _ in range(2 * len(forms)):
                    with pytest.raises(EndpointUnavailable) as caught:
                        await client.send(request(), request().slots)
                    assert "CANARY" not in str(caught.value)

        asyncio.run(act())


def test_answers_are_never_redacted():
    """They are facts, whatever the key is."""
    with fakes.serve(text_of=lambda prompt, seed: "EMPTY = True; def f(): return 1") as fake:
        client = Client(base_url=f"{fake.url}?v=1&beta=true", api_key="def")

        reply = call(client, "send", request(), request().slots)

    assert reply.choices[0].text == "EMPTY = True; def f(): return 1"


def test_fields_that_a_server_does_not_know_are_left_out():
    """And stay so; what has another name gets it."""

    def complaint(field):
        return 400, {}, {"error": {"message": f"Unsupported parameter: '{field}'"}}

    with fakes.serve() as fake:
        fake.script += [complaint("seed"), complaint("max_tokens"), complaint("n")]
        call(Client(base_url=fake.url), "send", request(), request().slots)

    assert len(fake.requests) == 4
    last = fake.requests[-1]
    assert not {"seed", "max_tokens", "n"} & set(last)
    assert last["max_completion_tokens"] == 1024


def test_a_redirect_is_told_and_not_followed():
    """A POST would arrive as a GET."""
    with fakes.serve() as fake:
        fake.script.append((302, {"Location": "http://elsewhere/v1"}, {}))

        with pytest.raises(EndpointRefused, match="http://elsewhere/v1"):
            call(Client(base_url=fake.url), "send", request(), request().slots)


@pytest.mark.parametrize(
    "url",
    [
        "HTTP://{host}",
        "  http://{host}/v1\n",
        "http://{host}//v1//",
        "http://{host}/v1#top",
        "http://{host}/v1/models",
        "http://{host}/v1/responses",
        "http://:@{host}/v1",
        "http://@{host}/v1",
        "http://u\ud835:p@{host}/v1",
    ],
)
def test_odd_ways_to_write_the_base_url_reach_the_server(url):
    """Another case, blanks, more slashes, another call's URL, user info that is empty or odd."""
    with fakes.serve() as fake:
        host = fake.url.removeprefix("http://").removesuffix("/v1")
        client = Client(base_url=url.format(host=host))

        assert call(client, "discover", "fake").url == fake.url


@pytest.mark.parametrize(
    "host",
    ["a..b", "a" * 70 + ".com", "\ud835", "256.1.1.1", "127.1", "h:8000:9000", "::1:80", "[x]"],
)
def test_a_host_that_is_none_is_one_message(host):
    """It shows the URL, and nothing is asked twice."""
    with pytest.raises(ConfigError, match="base URL"):
        call(Client(base_url=f"http://{host}/v1"), "discover", "fake")


def test_a_name_that_nobody_knows_is_told_in_words():
    """Not by the number of an error."""
    with pytest.raises(EndpointDown, match=r"cannot reach http://host\.invalid/v1: [A-Z][a-z]+ "):
        call(Client(base_url="http://host.invalid/v1"), "discover")


def test_a_certificate_that_is_none_is_told_in_words():
    """Nor by a system error of the same number."""
    with fakes.serve() as fake, pytest.raises(EndpointDown, match="SSL"):
        call(Client(base_url=fake.url.replace("http", "https")), "discover")


@pytest.mark.parametrize(
    "named",
    [
        {"ALL_PROXY": "socks5://127.0.0.1:1"},
        {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"},
        {"SSL_CERT_FILE": "nowhere"},
    ],
)
def test_what_the_environment_names_for_others_does_no_harm(monkeypatch, named):
    """A proxy of a kind or for hosts that are not ours, certificates that are not there."""
    for variable, value in named.items():
        monkeypatch.setenv(variable, value)

    with fakes.serve() as fake:
        call(Client(base_url=fake.url), "prepare", "fake", "chat")

    assert fake.paths[0] == "/v1/models"


def test_the_key_goes_before_what_netrc_names(tmp_path, monkeypatch):
    """Its default entry stands for every host."""
    path = tmp_path / "netrc"
    path.write_text("default login me password other\n", encoding="ascii")
    monkeypatch.setenv("NETRC", str(path))

    with fakes.serve() as fake:
        call(Client(base_url=fake.url, api_key="sk-mine"), "prepare", "fake", "chat")

    assert {headers["authorization"] for headers in fake.headers} == {"Bearer sk-mine"}


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_proxy_is_used_and_its_password_is_secret(monkeypatch, scheme):
    """Named with or without its scheme."""
    with fakes.serve() as fake:
        way = fake.url.removeprefix("http://").removesuffix("/v1")
        monkeypatch.setenv("http_proxy", f"{scheme}me:CANARY-77@{way}")
        fake.script.append((500, {}, b"CANARY-77"))
        fake.prefix = "http://host.invalid/v1"
        client = Client(base_url="http://host.invalid/v1")

        with pytest.raises(EndpointUnavailable, match=r"status 500: \[redacted\]"):
            call(client, "send", request(), request().slots)

    assert fake.paths == ["http://host.invalid/v1/chat/completions"]
    assert fake.headers[0]["proxy-authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    ("variable", "value"), [("http_proxy", "socks5://host:1"), ("OPENAI_ORG_ID", "a\nb: c")]
)
def test_what_cannot_be_used_of_the_environment_is_one_message(monkeypatch, variable, value):
    """It names the variables."""
    monkeypatch.setenv(variable, value)

    with pytest.raises(ConfigError, match=variable.partition("_")[0]):
        Client(base_url="http://host/v1")


def test_a_web_site_is_no_api():
    """A page for every path, with status 200, is told before anything is asked."""
    page = (200, {}, b"<!doctype html><title>Welcome</title>")
    with (
        fakes.serve(listed=page, fail_if=lambda prompt: page) as fake,
        pytest.raises(ConfigError, match="no OpenAI-compatible API"),
    ):
        call(Client(base_url=fake.url), "prepare", "fake", "chat")

    assert len(fake.requests) == 1


def test_a_server_that_drops_every_connection_is_down():
    """It has not shown that it serves the API."""
    listener = socket.create_server(("127.0.0.1", 0))

    def hang_up():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.recv(10_000)
                connection.close()

    thread = threading.Thread(target=hang_up, daemon=True)
    thread.start()
    client = Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1")

    try:
        with pytest.raises(EndpointDown, match="connection broke"):
            call(client, "prepare", "fake", "chat")
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_a_key_may_be_good_for_questions_alone():
    """A server that denies its list of models is asked one token."""
    denied = (403, {}, {"error": "missing scope: model.read"})
    with fakes.serve(listed=denied) as fake:
        call(Client(base_url=fake.url), "prepare", "fake", "chat")
        fake.fail_if = lambda prompt: (401, {}, {"error": "Unauthorized"})

        with pytest.raises(EndpointRefused, match="Unauthorized"):
            call(Client(base_url=fake.url), "prepare", "fake", "chat")


def test_names_of_models_do_not_command_the_terminal():
    """Whatever a server lists."""
    with (
        fakes.serve(models=["m\x1b]0;mine\x07", "\ud835"]) as fake,
        pytest.raises(ConfigError, match=r"it serves: m.x1b\]0;mine.x07, .ud835"),
    ):
        call(Client(base_url=fake.url), "prepare", "fake", "chat")


def test_a_reply_that_fills_the_memory_is_left(monkeypatch):
    """Also one that is small before it is unpacked."""
    monkeypatch.setattr("memoprobe.endpoints.client.MOST_BYTES", 100_000)
    packed = gzip.compress(b" " * 1_000_000)
    with fakes.serve() as fake:
        fake.script += [(200, {}, b" " * 1_000_000), (200, {"Content-Encoding": "gzip"}, packed)]
        client = Client(base_url=fake.url)

        async def act():
            async with client:
                for _ in range(2):
                    with pytest.raises(EndpointUnavailable, match="a reply of more than"):
                        await client.send(request(), request().slots)

        asyncio.run(act())


@pytest.mark.parametrize(
    "listed",
    [
        [{"id": "fake", "owned_by": ["x"]}, {"id": None, "owned_by": {}}],
        [{"id": "fake", "owned_by": "llamacpp", "meta": [1]}],
    ],
)
def test_check_goes_on_whatever_a_server_says_of_itself(listed):
    """Odd lists of models, a page in place of its properties, no JSON where probabilities were."""

    def page(prompt):
        return (200, {}, b"<html>") if prompt.startswith("def") else None

    async def look(url):
        async with Client(base_url=url) as client:
            return await examine(client, "fake")

    with fakes.serve(listed=(200, {}, {"data": listed}), fail_if=page) as fake:
        fake.pages["/props"] = b"<html>"
        found = {finding.name: finding for finding in asyncio.run(look(fake.url))}

    assert found["chat"].ok
    assert not found["completions"].ok
    assert found["prompt log-probabilities"].detail.startswith("0 entries")
