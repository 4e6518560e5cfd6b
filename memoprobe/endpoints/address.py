"""Read base URLs: where they point, and what of them is secret."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

from memoprobe.errors import ConfigError
from memoprobe.records import Interface

PATHS: Mapping[Interface, str] = {"chat": "/chat/completions", "completions": "/completions"}
SHORTEST_SECRET = 6  # characters of a query parameter that may be a key


class Address(NamedTuple):
    """Hold a base URL split so that nothing secret is left in ``url``."""

    url: str
    headers: dict[str, str]
    query: dict[str, str]
    secrets: tuple[str, ...]


def address(base_url: str, api_key: str | None) -> Address:
    """Return where a base URL points; user info and query become headers and parameters.

    Raises:
        ConfigError: It is no http or https URL; the message shows nothing secret of it.
    """
    parts = _split(base_url)
    if parts is None:
        shown = re.sub(r"//[^/@]*@", "//", base_url.partition("?")[0])
        msg = f"base URL {shown!r}: expected something like http://127.0.0.1:8000/v1"
        raise ConfigError(msg)
    path = parts.path.rstrip("/")
    for ending in PATHS.values():
        path = path.removesuffix(ending)
    headers, secrets = {}, [api_key or ""]
    user, at, host = parts.netloc.rpartition("@")
    if at:
        plain = unquote(user)
        headers["Authorization"] = "Basic " + base64.b64encode(plain.encode()).decode("ascii")
        secrets += [plain, *plain.split(":", 1), headers["Authorization"].split()[1]]
    query = dict(parse_qsl(parts.query))
    secrets += (value for value in query.values() if len(value) >= SHORTEST_SECRET)
    url = urlunsplit((parts.scheme, host, path, "", ""))
    return Address(url, headers, query, _forms(secrets))


def _forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets as an error text may show them: plain, quoted for JSON, for a URL.

    The longest come first: a secret that holds another one must go as a whole.
    """
    forms = {
        form
        for secret in secrets
        if secret
        for form in (
            secret,
            quote(secret),
            quote(secret, safe=""),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1].replace("/", "\\/"),
        )
    }
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _split(base_url: str) -> SplitResult | None:
    """Return the parts of an http or https URL, None where it is none."""
    try:
        parts = urlsplit(base_url.strip())
        right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that does not close, a port that is no number
        return None
    return parts if right else None


def candidates(base_url: str) -> list[str]:
    """Return the base URLs that one as the user wrote it may mean, likeliest first."""
    parts = urlsplit(base_url.strip())
    path = parts.path.rstrip("/")
    for ending in PATHS.values():
        path = path.removesuffix(ending)
    paths = (
        [path]
        if path.endswith("/v1")
        else [f"{path}/v1", path]
        if not path
        else [path, f"{path}/v1"]
    )
    return [urlunsplit(parts._replace(path=each)) for each in paths]
