"""Check that no error text holds a key, in whatever form a server gives it back."""

import asyncio
import base64
import html
import json
from urllib.parse import quote

import pytest

from memoprobe.endpoints import redaction
from memoprobe.endpoints.address import address
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.examine import examine
from memoprobe.errors import ConfigError, EndpointRefused, MemoprobeError
from tests import fakes
from tests.test_endpoints import call, request

KEY = "sk-test-CANARY-123"


def shown(text, *secrets):
    return redaction.words(text, redaction.pattern(secrets))


def encoded(text):
    return base64.b64encode(text.encode()).decode("ascii")


@pytest.mark.parametrize(
    "text",
    [
        KEY.upper(),
        KEY.lower(),
        f"{KEY[:9]}\n{KEY[9:]}",
        f"{KEY[:9]}\r\n        {KEY[9:]}",
        json.dumps(f"{KEY[:9]}\n{KEY[9:]}"),
        json.dumps(json.dumps(f"{KEY[:9]}\n{KEY[9:]}")),
        "\n".join(KEY),
        KEY.encode().hex(),
        encoded(KEY),
        encoded(f":{KEY}"),
        encoded(f"u:{KEY}"),
        base64.urlsafe_b64encode(b"??>" + KEY.encode()).decode("ascii"),
    ],
)
def test_a_key_goes_in_either_case_broken_over_lines_and_encoded(text):
    """Of base64 within a longer text no more than the ends stay, which hold no whole letter."""
    found = shown(f"before {text} after", KEY)

    assert found.startswith("before ")
    assert found.endswith(" after")
    assert len(found.replace(redaction.REDACTED, "")) <= len("before  after") + 8


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a&b<CANARY>\"q'", html.escape("a&b<CANARY>\"q'")),
        ("a'CANARY", "a&apos;CANARY"),
        ("a'CANARY", "a&#39;CANARY"),
        ("ab+cd/CANARY", "ab\\u002Bcd\\/CANARY"),
        ("ab/cd+CANARY=", quote("ab/cd+CANARY=", safe="").lower()),
        ("ab/cd+CANARY=", quote(quote("ab/cd+CANARY=", safe=""), safe="")),
        ("(a[b*c+CANARY\\d$^|.?)", "(a[b*c+CANARY\\d$^|.?)"),
        ("(a[b*c+CANARY\\d$^|.?)", json.dumps("(a[b*c+CANARY\\d$^|.?)")),
        ("ab  CANARY", "ab CANARY"),
        ("ab CANARY", "ab+CANARY"),
        ("ab CANARY", "ab%20CANARY"),
        ("pässw\ud835rt", "p%C3%A4ssw%ED%A0%B5rt"),
    ],
)
def test_a_key_goes_however_its_marks_are_escaped(key, text):
    """For HTML, JSON, a URL, once or twice; marks of regular expressions mean nothing."""
    assert shown(f"x {text.strip(chr(34))} y", key) == "x [redacted] y"


def test_a_key_that_holds_another_goes_as_a_whole():
    """Else its rest would stay."""
    assert shown("abcdefCANARY", "abcdef", "abcdefCANARY") == "[redacted]"


@pytest.mark.parametrize("n", [480, 490, 500, 19_990, 19_999])
def test_no_half_of_a_key_stays_where_words_are_cut(n):
    """The key is taken out before the cut."""
    found = shown("y" * n + KEY + "z" * 30_000, KEY)

    assert "sk-" not in found
    assert len(found) <= redaction.DETAIL_LENGTH + 2


def test_a_text_of_nothing_but_keys_shows_nothing():
    """Where so much goes that the cut would be seen, all goes."""
    key = "k" + "CANARY" * 150

    assert shown(key * 1000, key) == "[redacted]"


def test_without_a_secret_words_are_cut_and_lose_control_characters():
    """They end on a terminal and in the database."""
    assert shown("a \x1b[2J\x00 \ud835 ü", "", " ") == "a \\x1b[2J\\x00 \\ud835 ü"
    assert shown("x" * 600) == "x" * 500 + " …"
    assert redaction.redacted("x", None) == "x"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, ("y" * 485 + KEY).encode()),
        (401, {"error": {"message": "z" * 490 + KEY}}),
        (200, {"error": {"message": "z" * 490 + KEY}}),
        (200, f"<html>{KEY.upper()}".encode()),
        (422, {"detail": [{"loc": ["header", "authorization"], "input": f"Bearer {KEY}"}]}),
    ],
)
def test_no_error_of_a_call_holds_the_key(status, body):
    """Whatever its status, length and form."""
    with fakes.serve() as fake:
        fake.script.append((status, {}, body))

        with pytest.raises(MemoprobeError) as caught:
            call(Client(base_url=fake.url, api_key=KEY), "send", request(), request().slots)

    assert "sk-t" not in str(caught.value).lower()
    assert len(str(caught.value)) < 600


def test_no_address_that_a_server_sends_on_to_holds_the_key():
    """Nor may it command the terminal."""
    with fakes.serve() as fake:
        fake.script.append((307, {"Location": f"http://x/\x1b[2J?k={quote(KEY.upper())}"}, b""))

        with pytest.raises(EndpointRefused, match=r"http://x/\\x1b\[2J\?k=\[redacted\]"):
            call(Client(base_url=fake.url, api_key=KEY), "send", request(), request().slots)


@pytest.mark.parametrize(
    "reply",
    [
        (200, {}, {"error": {"message": f"Bearer {KEY}"}}),
        (200, {}, f"<html>{KEY}".encode()),
        (500, {}, f"Bearer {KEY.upper()}".encode()),
    ],
)
def test_no_finding_of_check_holds_the_key(reply):
    """An endpoint that fails every question is told without it."""

    async def look(url):
        async with Client(base_url=url, api_key=KEY) as client:
            return await examine(client, None)

    with fakes.serve(fail_if=lambda prompt: reply) as fake:
        found = str(asyncio.run(look(fake.url)))

    assert "[redacted]" in found
    assert "CANARY" not in found


@pytest.mark.parametrize(
    "url",
    [
        "http://user:pa/ss-CANARY@host:abc/v1",
        "http://user:12/CANARY@host/v1",
        "http://user:p@ss-CANARY@host:abc/v1",
        "user:CANARY@host:8000/v1",
        "http:user:CANARY@host",
        "http://host:abc/v1#CANARY",
        "http://host:abc/v1?mail=a@CANARY",
    ],
)
def test_a_url_that_is_none_is_not_shown_where_it_may_hold_a_key(url):
    """A password with a slash or an at sign in it cannot be told from the rest."""
    with pytest.raises(ConfigError, match="expected something like") as caught:
        address(url, None)

    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("end", "echo"),
    [
        ("?CANARY1", "CANARY1"),
        ("?CANARY1=", "CANARY1="),
        ("?k=CANARY1&k=CANARY2", "k=CANARY1&k=CANARY2"),
        ("?k=CAN%20ARY", "CAN+ARY CAN%20ARY CAN ARY"),
    ],
)
def test_every_parameter_of_a_url_is_sent_and_secret(end, echo):
    """Also one without a value, a second of the same name, and one with a blank."""
    with fakes.serve() as fake:
        fake.script.append((500, {}, echo.encode()))

        with pytest.raises(MemoprobeError, match="redacted") as caught:
            call(Client(base_url=fake.url + end), "send", request(), request().slots)

    assert "CAN" not in str(caught.value)
    assert fake.paths[0].partition("?")[2].rstrip("=") == end[1:].rstrip("=").replace("%20", "+")


def test_a_key_within_the_path_is_in_no_name():
    """The path is asked as it is, and shown without the key."""
    with fakes.serve(prefix="/CANARY-KEY/v1") as fake:
        client = Client(base_url=fake.url, api_key="CANARY-KEY")
        call(client, "prepare", "fake", "chat")

    assert fake.paths[0] == "/CANARY-KEY/v1/models"
    assert "CANARY" not in client.name + client.asked
