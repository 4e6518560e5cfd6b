"""Make one call and return one Reply or raise one error; SDK retries are switched off.

The SDK gives the headers and its aiohttp transport carries the call; its own request
path is left out, since it costs four times as much processor time as all the rest.
"""

import asyncio
import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self, TypeVar

import aiohttp
import openai

from memoprobe.endpoints import dialects, redaction, replies, retry
from memoprobe.endpoints.address import (
    PATHS,
    SHORTEST_SECRET,
    Address,
    address,
    candidates,
    proxy,
)
from memoprobe.errors import (
    ConfigError,
    EndpointDown,
    EndpointError,
    EndpointRefused,
    EndpointUnavailable,
    MemoprobeError,
    UnknownField,
)
from memoprobe.records import Interface, Request, Slot

CONNECT_S = 10.0
PROBE_S = 120.0  # for one token
LOOK_S = 30.0  # for what a server says of itself
MOST_BYTES = 2**24  # of a reply
NOBODY = frozenset({"connect", "timeout", "dropped"})  # kinds of errors without a reply
NO_API = frozenset({"bad_reply", "no_choices"})

_Error = TypeVar("_Error", bound=MemoprobeError)
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Hold what a server says of itself."""

    url: str
    dialect: dialects.Dialect
    models: Sequence[Mapping[str, object]]  # empty where it has no such list
    version: str | None = None
    defaults: Mapping[str, float] = field(default_factory=dict)  # of sampling, its own

    @property
    def names(self) -> list[str]:
        """Return the names of its models."""
        return sorted(str(model["id"]) for model in self.models if "id" in model)

    def facts(self) -> dict[str, object]:
        """Return what a run remembers of the server."""
        contexts = {
            str(model["id"]): dialects.context_length(self.dialect, model)
            for model in self.models
            if "id" in model
        }
        return {
            "url": self.url,
            "dialect": self.dialect.name,
            "version": self.version,
            "defaults": dict(self.defaults),
            "context_tokens": contexts,
        }


@dataclass(slots=True, kw_only=True)
class Client:
    """Send requests to one base URL."""

    base_url: str
    api_key: str | None = None
    timeout_s: float = 600.0
    extra_body: Mapping[str, object] = field(default_factory=dict)
    server: Server | None = None
    unknown_fields: set[str] = field(default_factory=set)  # that the server does not take
    name: str = field(init=False)  # the base URL without anything secret
    asked: str = field(init=False)  # likewise, as the study has it
    _place: Address = field(init=False)
    _headers: Mapping[str, str] = field(init=False)
    _proxy: str | None = field(init=False)
    _secret: re.Pattern[str] | None = field(init=False)
    _session: aiohttp.ClientSession | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._point(self.base_url)
        self.asked = self.name

    def _point(self, base_url: str) -> None:
        """Aim at a base URL; the SDK says which headers a request carries there."""
        self._place = address(base_url, self.api_key)
        way = proxy(self._place.url)
        self._proxy = way.url if way else None
        self._secret = redaction.pattern((*self._place.secrets, *(way.secrets if way else ())))
        hidden = self.api_key if len(self.api_key or "") >= SHORTEST_SECRET else None
        self.name = self._place.url.replace(hidden or "\0", redaction.REDACTED)
        # What the environment says of proxies and certificates is no matter of these headers.
        unused = openai.DefaultAsyncHttpxClient(trust_env=False)
        sdk = openai.AsyncOpenAI(api_key=self.api_key or "EMPTY", http_client=unused)
        given = {} if self.api_key else self._place.headers  # one header: the key goes first
        headers = {**sdk.default_headers, **sdk.auth_headers, **given}
        self._headers = {key: value for key, value in headers.items() if isinstance(value, str)}
        for header, value in self._headers.items():
            if not value.isprintable():
                mend = "look at the environment variables that begin with OPENAI_"
                msg = f"{self.name}: the header {header} would not be one line: {mend}"
                raise ConfigError(msg)

    @property
    def usage_sums_choices(self) -> bool:
        """Tell whether token counts cover all choices of a reply."""
        return self.server is None or self.server.dialect.usage_sums_choices

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections."""
        if self._session is not None:
            await self._session.close()

    async def prepare(self, served_model: str, interface: Interface) -> None:
        """Find the server and make sure that it serves the model.

        A server that answers for any name is told by the name it answers with.

        Raises:
            EndpointDown: Nobody listens there.
            ConfigError: The API, the key or the model is not right.
        """
        server = await self.discover(served_model, interface)
        if not server.names or served_model in server.names:
            return
        served = redaction.words(", ".join(server.names), self._secret)
        msg = f"the server at {server.url} does not serve {served_model!r}; it serves: {served}"
        try:
            reply = await self.probe(served_model, interface)
        except MemoprobeError as error:
            raise ConfigError(msg) from error
        if reply.model != served_model:
            raise ConfigError(msg)

    async def send(self, request: Request, run: Sequence[Slot], attempts: int = 0) -> replies.Reply:
        """Ask for one run of slots; choice i is drawn with the first slot's seed + i.

        Raises:
            EndpointError: There is no reply with a choice; the class says what may help.
            ConfigError: The server refuses the key, the path or the model.
        """
        limit = retry.limit_s(self.timeout_s, attempts)
        while True:
            body = self._body(request, run)
            try:
                return await self.ask(request.interface, body, limit_s=limit)
            except UnknownField as error:
                if error.field not in body:
                    raise
                self.unknown_fields.add(error.field)

    def _body(self, request: Request, run: Sequence[Slot]) -> dict[str, object]:
        """Return the body of a call, without the fields that the server does not know."""
        sampling = request.sampling
        body: dict[str, object] = {
            "model": request.served_model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": run[0].seed,
            **_question(request.prompt, request.interface),
            "n": len(run),
            **({"stop": list(request.stop)} if request.stop else {}),
        }
        for name in sorted(self.unknown_fields):
            if name == "n" and len(run) > 1:
                continue
            value = body.pop(name)
            if replies.OPTIONAL[name]:
                body[replies.OPTIONAL[name]] = value
        return {**body, **self.extra_body}

    async def ask(
        self, interface: Interface, body: Mapping[str, object], *, limit_s: float
    ) -> replies.Reply:
        """Return the reply to one call.

        Raises:
            EndpointError: As of ``send``.
            ConfigError: As of ``send``.
        """
        n = _choices(body)
        return await self.read(
            PATHS[interface], body, lambda content: replies.parse(content, n), limit_s=limit_s
        )

    async def read(
        self,
        path: str,
        body: Mapping[str, object],
        reading: Callable[[bytes], _Read],
        *,
        limit_s: float,
    ) -> _Read:
        """Return what ``reading`` makes of the reply to one call; its errors hold no secret."""
        content = await self.post(path, body, limit_s=limit_s)
        try:
            return reading(content)
        except MemoprobeError as error:
            raise self._redacted(error) from None

    async def post(self, path: str, body: Mapping[str, object], *, limit_s: float) -> bytes:
        """Return the body of a reply with status 200."""
        return await self._call("POST", path, body, limit_s, _choices(body))

    async def get(self, path: str) -> bytes:
        """Return the body of a reply with status 200."""
        return await self._call("GET", path, None, LOOK_S, 1)

    async def _call(
        self, method: str, path: str, body: Mapping[str, object] | None, limit_s: float, n: int
    ) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),  # the flow limits what is open
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                proxy=self._proxy,  # not trust_env: that would take a key from .netrc as well
            )
        # Plain ASCII: half a surrogate pair goes as its escape, and the server decides.
        data = None if body is None else json.dumps(body).encode("ascii")
        try:
            async with (
                asyncio.timeout(limit_s),
                self._session.request(
                    method,
                    self._place.url + path,
                    data=data,
                    params=self._place.query,
                    headers=self._headers,
                    allow_redirects=False,  # a redirected POST may arrive as a GET
                ) as reply,
            ):
                content = await _body_of(reply)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            detail = f"cannot reach {self.name}: {self._reason(error)}"
            raise EndpointUnavailable(detail, kind="connect", phase="connect") from None
        except (aiohttp.InvalidURL, UnicodeError) as error:
            msg = f"base URL {self.name!r}: its host is no name or address: {self._words(error)}"
            raise ConfigError(msg) from None
        except TimeoutError:
            detail = f"no complete reply within the limit of {limit_s:g} s"
            raise EndpointUnavailable(detail, kind="timeout", phase="wait") from None
        except aiohttp.ClientError as error:
            detail = f"the connection broke: {self._words(error)}"
            raise EndpointUnavailable(detail, kind="dropped", phase="wait") from None
        if 300 <= reply.status < 400:
            to = redaction.words(reply.headers.get("Location", "elsewhere"), self._secret)
            msg = f"{self.name} sends requests on to {to}: use that address"
            raise EndpointRefused(msg, status=reply.status)
        if reply.status >= 400:
            headers = {key.lower(): value for key, value in reply.headers.items()}
            wait = retry.retry_after_s(headers, datetime.now(UTC))
            raise self._redacted(replies.fault(reply.status, content, wait, n))
        return content

    def _words(self, error: Exception) -> str:
        return redaction.words(str(error) or type(error).__name__, self._secret)

    def _reason(self, error: aiohttp.ClientError) -> str:
        """Return why a connection was not made; names and certificates have no system error."""
        number = getattr(error, "errno", None) or 0
        if number > 0 and not isinstance(error, aiohttp.ClientSSLError):
            return os.strerror(number)
        return getattr(error, "strerror", None) or self._words(error)

    def redact(self, text: str) -> str:
        """Return a text without what is secret of this endpoint."""
        return redaction.redacted(text, self._secret)

    def _redacted(self, error: _Error) -> _Error:
        """Return an error without anything secret that the server put into its words."""
        error.args = (self._words(error),)
        return error

    async def discover(self, model: str | None = None, interface: Interface = "chat") -> Server:
        """Find the path that serves the API and what the server says of itself.

        A base URL may come with or without ``/v1``, a trailing slash or the path of a
        call. Where no list of models is served, one token is asked of ``model``.

        Raises:
            EndpointDown: Nobody listens there.
            ConfigError: Somebody does, but not this API, or the key is refused.
        """
        tried = []
        for url in candidates(self.base_url):
            self.base_url = url
            self._point(url)
            try:
                models = replies.models_of(await self.get("/models"))
            except EndpointError as error:
                if error.kind in {"connect", "timeout"}:
                    raise _down(self.name, error) from error
                models = None
            except EndpointRefused as error:
                # A key may be good for questions and not for the list of models.
                if error.status in {401, 403} and not model:
                    raise
                models = None
            if models is None and not (model and await self._serves(model, interface)):
                tried.append(self.name)
                continue
            self.server = await self._introduced(models or [])
            return self.server
        places = " or ".join(tried)
        msg = (
            f"no OpenAI-compatible API at {places}: check the base URL, which as a rule ends in /v1"
        )
        raise ConfigError(msg)

    async def _introduced(self, models: Sequence[Mapping[str, object]]) -> Server:
        """Return the server with what it says of itself beside the API, if anything."""
        dialect = dialects.recognize(models)
        about: object = None
        if dialect.about_path:
            with contextlib.suppress(MemoprobeError):
                about = replies.loads(await self.get(f"/..{dialect.about_path}"))
        return Server(
            url=self.name,
            dialect=dialect,
            models=models,
            version=dialects.version(dialect, about),
            defaults=dialects.defaults(dialect, about),
        )

    async def probe(self, model: str, interface: Interface) -> replies.Reply:
        """Return the reply to a request for one token."""
        body = {"model": model, "max_tokens": 1, **_question("Hi", interface)}
        return await self.ask(interface, body, limit_s=min(PROBE_S, self.timeout_s))

    async def _serves(self, model: str, interface: Interface) -> bool:
        try:
            await self.probe(model, interface)
        except EndpointError as error:
            if error.kind in NOBODY:
                raise _down(self.name, error) from error
            # A page of a web site is no API; any other complaint shows that the path is right.
            return error.kind not in NO_API
        except EndpointRefused as error:
            if error.status in {401, 403}:
                raise
            return error.status not in {404, 405}
        return True


async def _body_of(reply: aiohttp.ClientResponse) -> bytes:
    """Return the body of a reply, of whatever a server sends not more than fits into memory."""
    chunks, size = [], 0
    while chunk := await reply.content.readany():
        chunks.append(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            detail = f"a reply of more than {MOST_BYTES // 2**20} MiB"
            raise EndpointUnavailable(detail, kind="bad_reply", phase="wait", status=reply.status)
    return b"".join(chunks)


def _choices(body: Mapping[str, object]) -> int:
    n = body.get("n")
    return n if isinstance(n, int) else 1


def _question(prompt: str, interface: Interface) -> dict[str, object]:
    if interface == "chat":
        return {"messages": [{"role": "user", "content": prompt}]}
    return {"prompt": prompt}


def _down(name: str, error: EndpointError) -> EndpointDown:
    return EndpointDown(str(error) if name in str(error) else f"{name}: {error}")
