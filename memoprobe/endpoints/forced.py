"""Ask a server how likely a given text is as the answer to a prompt.

There are several ways to ask, none of which every server has, and a server that does not know
one may answer as if nothing had been asked. So the first request goes over a known text, and
only a way whose numbers can be right is used.
"""

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memoprobe.endpoints import border, replies, retry
from memoprobe.endpoints.client import NOBODY, PROBE_S, Client
from memoprobe.endpoints.replies import Choice, Reply
from memoprobe.errors import (
    ConfigError,
    EndpointDown,
    EndpointError,
    EndpointRefused,
    EndpointUnavailable,
    MemoprobeError,
    RateLimited,
    UnusableReply,
)
from memoprobe.records import Forcing, Interface, Request, Slot

KNOWN_PROMPT = "# Two numbers are added.\n"
KNOWN = "def add(a, b):\n    return a + b\n\n\ndef more(a):\n    return add(a, 1)"
LEAST = -9_000.0  # below it a number stands for minus infinity
MOST = 1e-4  # a probability of 1, by the arithmetic of a graphics card

Body = dict[str, object]


class Entry(NamedTuple):
    """Hold one token of a prompt as a server tells it."""

    text: str | None  # None where it tells none, as of the first token
    logprob: object  # in nats; no number where it tells none


class Question(NamedTuple):
    """Hold what one request asks."""

    model: str  # the server's name
    prompt: str
    given: str  # what the answer opens with and is not measured
    reference: str


class Told(NamedTuple):
    """Hold what a reply tells of a prompt."""

    entries: Sequence[Entry]
    n_tokens: int | None  # of the prompt, as the server counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Hold one way to ask for the log-probabilities of a prompt."""

    name: str
    path: str
    interface: Interface
    body: Callable[[str, str, str], Body]  # of model, prompt and answer
    read: Callable[[bytes], Told]


def _chat(model: str, prompt: str, answer: str) -> Body:
    """Return a body whose prompt is the server's own template, ending inside the answer."""
    turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    return {
        "model": model,
        "messages": turns,
        "add_generation_prompt": False,
        "continue_final_message": True,
        "prompt_logprobs": 0,
        "max_tokens": 1,
    }


def _completion(model: str, prompt: str, answer: str) -> Body:
    return {"model": model, "prompt": prompt + answer, "prompt_logprobs": 0, "max_tokens": 1}


def _echo(model: str, prompt: str, answer: str) -> Body:
    return {
        "model": model,
        "prompt": prompt + answer,
        "echo": True,
        "logprobs": 1,
        "max_tokens": 1,  # not all take 0
        "temperature": 0,
    }


def _generate(_: str, prompt: str, answer: str) -> Body:
    parameters = {"max_new_tokens": 1, "details": True, "decoder_input_details": True}
    return {"inputs": prompt + answer, "parameters": parameters}


def _read_prompt_logprobs(content: bytes) -> Told:
    """Read vLLM's list: nothing of the first token, then for each a mapping, its own entry first.

    In a chat the list stands beside the choices, in a completion within each.
    """
    body = replies.body_of(content)
    reply = replies.choices_of(body)
    rows = body.get("prompt_logprobs") or body["choices"][0].get("prompt_logprobs") or []
    entries = []
    for row in rows if isinstance(rows, list) else []:
        own = next(iter(row.values()), None) if isinstance(row, dict) else None
        own = own if isinstance(own, dict) else {}
        entries.append(_entry(own.get("decoded_token"), own.get("logprob")))
    return Told(entries, reply.prompt_tokens)


def _read_echo(content: bytes) -> Told:
    """Read the log-probabilities of a completion that repeats its prompt, the prompt's part."""
    body = replies.body_of(content)
    reply = replies.choices_of(body)
    found = body["choices"][0].get("logprobs")
    found = found if isinstance(found, dict) else {}
    texts, values = found.get("tokens"), found.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(values, list):
        return Told([], reply.prompt_tokens)
    drawn = reply.completion_tokens
    end = len(texts) - (1 if drawn is None else drawn)
    entries = [_entry(*pair) for pair in zip(texts[:end], values[:end], strict=False)]
    return Told(entries, reply.prompt_tokens)


def _read_generate(content: bytes) -> Told:
    """Read TGI's own reply, whose ``details.prefill`` lists the tokens of the prompt."""
    details = replies.body_of(content).get("details")
    rows = details.get("prefill") if isinstance(details, dict) else None
    entries = [
        _entry(row.get("text"), row.get("logprob"))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
    return Told(entries, None)


def _entry(text: object, logprob: object) -> Entry:
    return Entry(text if isinstance(text, str) else None, logprob)


WAYS = (
    Way(
        name="prompt_logprobs in a chat",
        path="/chat/completions",
        interface="chat",
        body=_chat,
        read=_read_prompt_logprobs,
    ),
    Way(
        name="prompt_logprobs",
        path="/completions",
        interface="completions",
        body=_completion,
        read=_read_prompt_logprobs,
    ),
    Way(
        name="echo with logprobs",
        path="/completions",
        interface="completions",
        body=_echo,
        read=_read_echo,
    ),
    Way(
        name="TGI's /generate",
        path="/../generate",
        interface="completions",
        body=_generate,
        read=_read_generate,
    ),
)
ADVICE: Mapping[Interface, str] = {
    "chat": 'vLLM gives them; TGI and others may with interface = "completions"',
    "completions": "vLLM gives them, and so does TGI started with --enable-prefill-logprobs",
}


class Measured(NamedTuple):
    """Hold the log-probabilities of a reference's tokens."""

    logprobs: list[float]  # in nats
    n_bytes: int  # of the reference that the tokens spell

    def as_text(self) -> str:
        """Return it as the text of a response, from which ``from_text`` makes it again."""
        return json.dumps({"bytes": self.n_bytes, "logprobs": self.logprobs})

    @classmethod
    def from_text(cls, text: str) -> "Measured":
        """Undo ``as_text``."""
        found = json.loads(text)
        return cls(found["logprobs"], found["bytes"])


@dataclass(slots=True, kw_only=True)
class Scorer(Client):
    """Send requests of the kind Forcing to one base URL; each reply's one text is a Measured."""

    way: Way | None = field(init=False, default=None)  # that has proven right

    async def prepare(self, served_model: str, interface: Interface) -> None:
        """Find the server, make sure that it serves the model, and find a way to ask.

        Raises:
            EndpointError: Nobody listens there, or nobody answers for now.
            ConfigError: The API, the key or the model is not right, or the server does not
                tell how likely a prompt is; the message says for every way why not.
        """
        await Client.prepare(self, served_model, interface)
        reasons = []
        for way in WAYS:
            if way.interface != interface:
                continue
            try:
                await self._prove_patiently(way, served_model)
            except (EndpointError, EndpointRefused) as error:
                if isinstance(error, RateLimited | EndpointDown) or _is_nobody(error):
                    raise
                reasons.append(f"{way.name}: {error}")
            else:
                self.way = way
                return
        listed = "; ".join(reasons)
        msg = (
            f"{self.name} does not tell how likely a given answer is ({listed})."
            f" {ADVICE[interface]}"
        )
        raise ConfigError(msg)

    async def _prove_patiently(self, way: Way, model: str) -> None:
        attempts, rng = 0, random.Random()
        while True:
            try:
                return await self._prove(way, model)
            except EndpointUnavailable as error:
                attempts += 1
                if not retry.may_retry(error, attempts):
                    raise
                await asyncio.sleep(retry.wait_s(error, attempts, rng))

    async def _prove(self, way: Way, model: str) -> None:
        """Ask for the known text and believe only what could be right."""
        limit_s = min(PROBE_S, self.timeout_s)  # the first such request may take half a minute
        found = await self._ask(way, Question(model, KNOWN_PROMPT, "", KNOWN), limit_s)
        _require(len(set(found.logprobs)) > 1, "every token of a known text is equally likely")

    async def _ask(self, way: Way, question: Question, limit_s: float) -> Measured:
        body = way.body(question.model, question.prompt, question.given + question.reference)
        return await self.read(
            way.path,
            {**self.extra_body, **body},
            lambda content: _measured(way.read(content), question, way.interface),
            limit_s=limit_s,
        )

    async def send(self, request: Request, run: Sequence[Slot], attempts: int = 0) -> Reply:
        """Ask how likely the request's reference is.

        Raises:
            EndpointError: There is no reply, or one that cannot be right.
            ConfigError: The server refuses the key, the path or the model.
        """
        assert isinstance(request, Forcing)
        assert len(run) == 1
        assert self.way is not None
        asked = (request.served_model, request.prompt, request.given, request.reference)
        limit_s = retry.limit_s(self.timeout_s, attempts)
        found = await self._ask(self.way, Question(*asked), limit_s)
        choice = Choice(0, found.as_text(), None, "stop")
        return Reply([choice], None, None, request.served_model)


def _measured(told: Told, question: Question, interface: Interface) -> Measured:
    """Return what a reply tells of a reference.

    Raises:
        UnusableReply: It cannot be right.
    """
    entries = told.entries
    counted = len(entries) if told.n_tokens is None else told.n_tokens
    _require(entries, "the reply holds no log-probabilities of the prompt")
    _require(counted == len(entries), f"{len(entries)} entries for {counted} tokens of the prompt")
    # Of a chat only the last turn is known as it stands in the server's template.
    front = question.given if interface == "chat" else question.prompt + question.given
    place = len(front.encode("utf-8", "surrogatepass"))
    texts = [entry.text for entry in entries]
    part = border.measured(texts, front + question.reference, place)
    _require(part, "its tokens do not spell the text that was sent: cut off or changed")
    assert part is not None
    _require(part.n_tokens, "no token lies wholly in the reference")
    values = [entry.logprob for entry in entries[-part.n_tokens :]]
    return Measured([_number(value) for value in values], part.n_bytes)


def _is_nobody(error: MemoprobeError) -> bool:
    return isinstance(error, EndpointError) and error.kind in NOBODY


def _number(value: object) -> float:
    if isinstance(value, int | float) and LEAST < value < MOST:
        return min(0.0, float(value))
    msg = f"{value!r} stands where a log-probability belongs"
    raise _useless(msg)


def _require(condition: object, complaint: str) -> None:
    if not condition:
        raise _useless(complaint)


def _useless(detail: str) -> UnusableReply:
    return UnusableReply(detail, kind="no_likelihood", phase="parse", status=200)
