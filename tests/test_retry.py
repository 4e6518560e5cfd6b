"""Check which errors are tried again, and when."""

import random
import time
from datetime import UTC, datetime

import pytest

from memoprobe.endpoints import retry
from memoprobe.errors import EndpointUnavailable, RateLimited, RequestRejected

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def unavailable(kind):
    return EndpointUnavailable("x", kind=kind, phase="wait")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "4"}, 4.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1500ms"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "\u0664"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Thu Jan  1 12:00:30 2026"}, 30.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -1200"}, None),
        ({}, None),
    ],
)
def test_retry_after_comes_in_seconds_milliseconds_or_as_a_date(headers, seconds):
    """All forms that servers send are read; nonsense is none."""
    assert retry.retry_after_s(headers, NOW) == seconds


def test_a_date_without_a_zone_is_greenwich_s(monkeypatch):
    """HTTP's older form of a date names no zone, and the machine's own is not meant."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()

    found = retry.retry_after_s({"retry-after": "Thu Jan  1 12:00:30 2026"}, NOW)

    monkeypatch.undo()
    time.tzset()
    assert found == 30.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s. Visit", 20.0),
        ("please try again in 6ms.", 0.006),
        ("Please try again in 7m12s.", 432.0),
        ("try again in 1h2m3.5s", 3723.5),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("retry after 2 minutes", 120.0),
        ("try again in 3 seconds", 3.0),
        ('"retryDelay": "34s"', 34.0),
        ("try again in a moment", None),
        ("it took 20s", None),
    ],
)
def test_a_wish_to_wait_in_words(text, seconds):
    """As hosted services write it where they send no header."""
    assert retry.wait_in_words_s(text) == (seconds if seconds is None else pytest.approx(seconds))


def test_waits_grow_with_jitter_up_to_a_limit():
    """The ceiling doubles; the wait lies in its upper half."""
    rng = random.Random(0)
    error = unavailable("server_error")

    for attempts, ceiling in ((1, 0.5), (2, 1.0), (5, 8.0), (20, 30.0)):
        waits = [retry.wait_s(error, attempts, rng) for _ in range(50)]
        assert min(waits) >= ceiling / 2
        assert max(waits) <= ceiling
        assert len(set(waits)) > 1


def test_a_server_s_wish_is_followed_and_a_little_more():
    """Nobody comes back early, and not all at once."""
    rng = random.Random(0)
    error = RateLimited("x", retry_after_s=4.0, status=429)

    waits = [retry.wait_s(error, 1, rng) for _ in range(50)]

    assert min(waits) >= 4.0
    assert max(waits) <= 4.4


def test_a_wish_of_nothing_is_no_wish():
    """Zero seconds do not make a client hammer the server."""
    rng = random.Random(0)

    for asked in (0.0, 0.001):
        error = RateLimited("x", retry_after_s=asked, status=429)
        assert min(retry.wait_s(error, 3, rng) for _ in range(50)) >= 1.0


def test_attempts_end():
    """Timeouts sooner than other faults; what is final is not tried again."""
    assert retry.may_retry(unavailable("timeout"), 1)
    assert not retry.may_retry(unavailable("timeout"), 2)
    assert retry.may_retry(unavailable("server_error"), 4)
    assert not retry.may_retry(unavailable("server_error"), 5)
    assert not retry.may_retry(unavailable("internal"), 1)
    assert not retry.may_retry(RequestRejected("x", kind="bad_request", phase="status"), 0)


def test_waiting_for_the_endpoint_costs_no_attempt():
    """A rate limit or a server that is away is not this request's fault."""
    assert not retry.charged(RateLimited("x", retry_after_s=None, status=429))
    assert not retry.charged(unavailable("connect"))
    assert retry.charged(unavailable("timeout"))


def test_the_second_attempt_has_more_time():
    """Healthy long generations are not cut twice at the same place."""
    assert retry.limit_s(10, 0) == 10
    assert retry.limit_s(10, 1) == 20
