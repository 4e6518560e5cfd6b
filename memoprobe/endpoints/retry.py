"""Decide which errors deserve another attempt and how long to wait; pure."""

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from memoprobe.errors import EndpointError, EndpointUnavailable, RateLimited

MOST_ATTEMPTS = 5
MOST_ATTEMPTS_OF: Mapping[str, int] = {  # kinds of errors that more attempts do not help
    "timeout": 2,  # a server that is merely slow redoes the same work each time
    "internal": 1,  # a mistake of our own meets the same reply again
}
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
LONGEST_RETRY_AFTER_S = 3600.0
_NUMBER = re.compile(r"\A\s*(\d+(?:\.\d+)?)\s*(ms|s)?\s*\Z", re.ASCII)
_SPAN = r"((?:\d+(?:\.\d+)? ?(?:ms|s|sec\w*|m|min\w*|h)\b ?|\d+(?:\.\d+)?[hm](?=\d))+)"
_WORDS = re.compile(
    rf"(?:try again|retry) (?:in|after) {_SPAN}|retryDelay\W+{_SPAN}", re.ASCII | re.I
)
_UNITS = re.compile(r"(\d+(?:\.\d+)?) ?(ms|[smh])")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def charged(error: EndpointError) -> bool:
    """Tell whether an error counts against the attempts of its request.

    A server that asks to wait, or that nobody can reach, is the endpoint's state
    and not this request's fault.
    """
    return not (isinstance(error, RateLimited) or error.kind == "connect")


def may_retry(error: EndpointError, attempts: int) -> bool:
    """Tell whether a request that was tried ``attempts`` times may be sent again."""
    if not isinstance(error, EndpointUnavailable):
        return False
    return attempts < MOST_ATTEMPTS_OF.get(error.kind, MOST_ATTEMPTS)


def wait_s(error: EndpointError, attempts: int, rng: random.Random) -> float:
    """Return seconds until the next attempt: what the server asks, else a jittered back-off."""
    ceiling = min(FIRST_WAIT_S * 2.0 ** min(max(attempts - 1, 0), 20), LONGEST_WAIT_S)
    own = ceiling * (0.5 + 0.5 * rng.random())
    if isinstance(error, RateLimited) and error.retry_after_s:
        asked = min(error.retry_after_s, LONGEST_RETRY_AFTER_S) * (1 + 0.1 * rng.random())
        return asked if asked >= FIRST_WAIT_S else max(asked, own)
    return own


def limit_s(timeout_s: float, attempts: int) -> float:
    """Return the time limit of an attempt; after a timeout it is twice as long."""
    return timeout_s * 2 if attempts else timeout_s


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how many seconds the headers ask to wait, None where they do not.

    ``retry-after-ms`` counts milliseconds; ``retry-after`` is a number of seconds or
    an HTTP date.
    """
    if found := _NUMBER.match(headers.get("retry-after-ms", "")):
        return float(found[1]) / 1000
    value = headers.get("retry-after", "")
    if found := _NUMBER.match(value):
        return float(found[1]) / (1000 if found[2] == "ms" else 1)
    try:
        date = parsedate_to_datetime(value)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)  # HTTP knows no other zone
        return max(0.0, (date.astimezone(UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None


def wait_in_words_s(text: str) -> float | None:
    """Return how many seconds an error text asks to wait, as "try again in 1m2.5s" does."""
    found = _WORDS.search(text)
    if found is None:
        return None
    return sum(float(n) * _SECONDS[unit] for n, unit in _UNITS.findall(found[1] or found[2]))
