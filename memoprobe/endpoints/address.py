"""Read base URLs: where they point, and what of them is secret."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from memoprobe.errors import ConfigError
from memoprobe.records import Interface

PATHS: Mapping[Interface, str] = {"chat": "/chat/completions", "completions": "/completions"}
OTHER_CALLS = ("/models", "/responses", "/embeddings")  # that a user may have copied the URL of
SHORTEST_SECRET = 6  # characters of a query parameter that may be a key


class Address(NamedTuple):
    """Hold a base URL split so that nothing secret is left in ``url``."""

    url: str
    headers: dict[str, str]
    query: Sequence[tuple[str, str]]
    secrets: tuple[str, ...]


def address(base_url: str, api_key: str | None) -> Address:
    """Return where a base URL points; user info and query become headers and parameters.

    Raises:
        ConfigError: It is no http or https URL; the message shows nothing secret of it.
    """
    parts = _split(base_url)
    if parts is None:
        msg = f"base URL {_shown(base_url)}: expected something like http://127.0.0.1:8000/v1"
        raise ConfigError(msg)
    headers, secrets = {}, [api_key or ""]
    user, _, host = parts.netloc.rpartition("@")
    if user:
        plain = unquote(user)
        encoded = base64.b64encode(plain.encode("utf-8", "surrogatepass")).decode("ascii")
        headers["Authorization"] = f"Basic {encoded}"
        secrets += [*_parts_of(user), encoded]
    query = parse_qsl(parts.query, keep_blank_values=True)
    # Where a parameter has no value, its name may be the key.
    stated = (value or name for name, value in query)
    secrets += (text for text in stated if len(text) >= SHORTEST_SECRET)
    url = urlunsplit((parts.scheme, host, _path(parts), "", ""))
    return Address(url, headers, query, tuple(secrets))


def _parts_of(user_info: str) -> list[str]:
    """Return what of a URL's user info is secret; one or two letters are in every text."""
    plain = unquote(user_info)
    return [text for text in (plain, *plain.split(":", 1)) if len(text) > 2]


def _shown(base_url: str) -> str:
    """Return a URL that is none as a message may show it."""
    if re.search("[@?#]", base_url):
        return "(not shown, since it may hold a key)"
    return repr(base_url)


def _split(base_url: str) -> SplitResult | None:
    """Return the parts of an http or https URL, None where it is none."""
    try:
        parts = urlsplit(base_url.strip())
        right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        right = right and "@" not in parts.path  # of a password that holds a slash
    except ValueError:  # a bracket that does not close, a port that is no number
        return None
    return parts if right else None


def _path(parts: SplitResult) -> str:
    """Return the path of a URL without the slash or the call at its end."""
    path = re.sub("/{2,}", "/", parts.path).rstrip("/")
    for ending in PATHS.values():
        path = path.removesuffix(ending)
    return path


def candidates(base_url: str) -> list[str]:
    """Return the base URLs that one as the user wrote it may mean, likeliest first."""
    parts = urlsplit(base_url.strip())
    path = _path(parts)
    if path.endswith("/v1"):
        paths = [path]
    else:
        paths = [path, f"{path}/v1"] if path else [f"{path}/v1", path]
    paths += (path.removesuffix(call) for call in OTHER_CALLS if path.endswith(call))
    return [urlunsplit(parts._replace(path=each)) for each in paths]


class Proxy(NamedTuple):
    """Hold the proxy on the way to a server, and what of its URL is secret."""

    url: str
    secrets: Sequence[str]


def proxy(url: str) -> Proxy | None:
    """Return the proxy that the environment names for a URL, None where it names none.

    Raises:
        ConfigError: It is of a kind that cannot be used.
    """
    parts = urlsplit(url)
    named = getproxies().get(parts.scheme)
    if not named or proxy_bypass(parts.hostname or ""):
        return None
    whole = named if "://" in named else f"http://{named}"
    found = _split(whole)
    if found is None:
        variable = f"{parts.scheme}_proxy"
        mend = f"name an http:// proxy, or exclude {parts.hostname} in no_proxy"
        msg = f"the proxy in {variable} cannot be used: {mend}"
        raise ConfigError(msg)
    user = found.netloc.rpartition("@")[0]
    return Proxy(whole, _parts_of(user) if user else ())
