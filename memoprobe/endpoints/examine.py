"""Find out what an endpoint is and can, for ``memoprobe check``."""

from collections.abc import Mapping
from dataclasses import dataclass

from memoprobe.endpoints import dialects, replies
from memoprobe.endpoints.address import PATHS
from memoprobe.endpoints.client import Client, Server
from memoprobe.errors import ConfigError, MemoprobeError, TooManyChoices
from memoprobe.records import Interface

KNOWN = "def add(a, b):\n    return a + b\n"
CHOICES = 9  # what a run asks for as a rule
NAMED = ("temperature", "top_p")  # in every request of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Hold one thing that was looked at; ``advice`` is for a lack."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


async def examine(client: Client, model: str | None) -> list[Finding]:
    """Return what one endpoint is and can; sends about seven short requests.

    Raises:
        EndpointDown: Nobody listens there.
        ConfigError: There is no such API, the key is refused, or no model can be chosen.
    """
    server = await client.discover(model)
    names = server.names
    chosen = model or (names[0] if names else None)
    if chosen is None:
        msg = f"{server.url} lists no models: name one with --model"
        raise ConfigError(msg)
    findings = [
        Finding(name="reachable", ok=True, detail=server.url),
        Finding(
            name="server",
            ok=server.dialect is not dialects.PLAIN,
            detail=f"{server.dialect.name} {server.version or ''}".rstrip(),
            advice="its quirks are found out while it answers",
        ),
        Finding(
            name="models",
            ok=chosen in names,
            detail=", ".join(names) or "not listed",
            advice=f"the server does not list {chosen!r}: check the name",
        ),
        _context(client, chosen),
        _defaults(server),
    ]
    interfaces: tuple[Interface, ...] = ("chat", "completions")
    findings += [await _answers(client, chosen, interface) for interface in interfaces]
    working: list[Interface] = [
        interface for interface, found in zip(interfaces, findings[-2:], strict=True) if found.ok
    ]
    if working:
        findings.append(await _choices(client, chosen, working[0]))
        findings.append(await _seed(client, chosen, working[0]))
        findings.append(await _prompt_log_probabilities(client, chosen))
    return findings


def _context(client: Client, model: str) -> Finding:
    assert client.server is not None
    stated = [
        dialects.context_length(client.server.dialect, each)
        for each in client.server.models
        if each.get("id") == model
    ]
    length = stated[0] if stated else None
    return Finding(
        name="context length",
        ok=length is not None,
        detail=f"{length} tokens" if length is not None else "not stated",
        advice="keep prompts and max_tokens within the model's context yourself",
    )


def _defaults(server: Server) -> Finding:
    """Say what the server adds to a request of ours that does not name it."""
    silent = {name: v for name, v in server.defaults.items() if name not in NAMED}
    neutral = {"top_k": (0, -1), "min_p": (0,), "repeat_penalty": (1, 0)}
    acting = {name: v for name, v in silent.items() if v not in neutral[name]}
    stated = ", ".join(f"{name} = {value:g}" for name, value in server.defaults.items())
    wish = ", ".join(f"{name} = {neutral[name][0]}" for name in acting)
    advice = "whatever the server adds to temperature and top_p is in the answers"
    if acting:
        advice = f"some act beside temperature and top_p; to stop it: extra_body = {{ {wish} }}"
    return Finding(
        name="defaults",
        ok=bool(server.defaults) and not acting,
        detail=stated or "not stated",
        advice=advice,
    )


def _body(model: str, interface: Interface, **more: object) -> Mapping[str, object]:
    question: dict[str, object] = {"prompt": KNOWN}
    if interface == "chat":
        question = {"messages": [{"role": "user", "content": "Write a haiku about code."}]}
    return {"model": model, "max_tokens": 16, "temperature": 1.0, **question, **more}


async def _send(client: Client, interface: Interface, body: Mapping[str, object]) -> replies.Reply:
    return await client.ask(interface, body, limit_s=client.timeout_s)


async def _answers(client: Client, model: str, interface: Interface) -> Finding:
    advice = f'use interface = "{"completions" if interface == "chat" else "chat"}"'
    try:
        await _send(client, interface, _body(model, interface))
    except MemoprobeError as error:
        return Finding(name=interface, ok=False, detail=str(error), advice=advice)
    return Finding(name=interface, ok=True, detail=f"answers on {PATHS[interface]}")


async def _choices(client: Client, model: str, interface: Interface) -> Finding:
    advice = "a run sends more requests instead; nothing to do"
    try:
        reply = await _send(client, interface, _body(model, interface, n=CHOICES))
    except TooManyChoices as error:
        detail = f"at most {error.max_n} of {CHOICES} choices: {error}"
        return Finding(name="n > 1", ok=False, detail=detail, advice=advice)
    except MemoprobeError as error:
        return Finding(name="n > 1", ok=False, detail=str(error), advice=advice)
    n = len(reply.choices)
    return Finding(
        name="n > 1", ok=n == CHOICES, detail=f"{n} of {CHOICES} choices came", advice=advice
    )


async def _seed(client: Client, model: str, interface: Interface) -> Finding:
    advice = "a repeated run will give other answers; the stored ones stay"
    try:
        texts = [
            (await _send(client, interface, _body(model, interface, seed=7))).choices[0].text
            for _ in range(2)
        ]
    except MemoprobeError as error:
        return Finding(name="seed", ok=False, detail=str(error), advice=advice)
    same = texts[0] == texts[1]
    detail = "same seed, same answer" if same else "same seed, other answer"
    return Finding(name="seed", ok=same, detail=detail, advice=advice)


async def _prompt_log_probabilities(client: Client, model: str) -> Finding:
    """Ask for the log-probabilities of a known text and believe only what could be right."""
    advice = "likelihoods cannot be measured here; vLLM can (echo with logprobs on completions)"
    body = {"model": model, "prompt": KNOWN, "max_tokens": 1, "echo": True, "logprobs": 1}
    name = "prompt log-probabilities"
    try:
        content = await client.post(PATHS["completions"], body, limit_s=client.timeout_s)
    except MemoprobeError as error:
        return Finding(name=name, ok=False, detail=str(error), advice=advice)
    values = _token_log_probabilities(replies.loads(content))
    finite = [value for value in values[1:] if isinstance(value, int | float) and value <= 0]
    ok = len(finite) >= len(KNOWN.split()) and len(set(finite)) > 1
    detail = f"{len(values)} entries for a text of {len(KNOWN)} characters"
    return Finding(name=name, ok=ok, detail=detail, advice=advice)


def _token_log_probabilities(body: object) -> list[object]:
    try:
        found = body["choices"][0]["logprobs"]["token_logprobs"]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return []
    return list(found) if isinstance(found, list) else []
