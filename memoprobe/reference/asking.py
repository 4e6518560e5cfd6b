"""Read requests of the OpenAI-compatible protocol, and refuse what vLLM refuses, in its words.

What the reference model cannot do is refused too and not passed over in silence.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from memoprobe.reference.decoding import Order
from memoprobe.reference.tokenizer import BEGIN, Tokenizer
from memoprobe.reference.weights import SHAPE

MOST_CHOICES = 128
MOST_TOP = 20  # likeliest tokens that are told beside the one drawn
WITHOUT: Mapping[str, Sequence[object]] = {
    "stream": (False,),
    "suffix": (),
    "tools": ([],),
    "response_format": ({"type": "text"},),
    "logit_bias": ({},),
    "frequency_penalty": (0, 0.0),
    "presence_penalty": (0, 0.0),
    "repetition_penalty": (1, 1.0),
    "top_k": (-1, 0),
    "min_p": (0, 0.0),
    "min_tokens": (0,),
}
"""What the model cannot do -> the values that do not ask for it."""

Fields = Mapping[str, Any]


class Refusal(Exception):
    """Carry the status and the body of an error reply."""

    def __init__(self, status: int, message: str, kind: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Hold a request that can be answered."""

    prompts: tuple[tuple[int, ...], ...]  # BEGIN the first token of each
    orders: tuple[Order, ...]  # one for each prompt
    echo: bool
    n_top: int | None  # likeliest tokens to be told; None: no log-probabilities
    n_prompt_top: int | None  # the same of the prompt
    is_empty: bool  # no token is asked for, only what is told of the prompt


def fields_of(body: bytes, name: str) -> Fields:
    """Return the fields of a request's body that are not null.

    Raises:
        Refusal: The body is no JSON object, or names another model than ``name``.
    """
    try:
        fields = json.loads(body)
    except ValueError as error:
        invalid("body", f"JSON decode error: {error}")
    if not isinstance(fields, dict):
        invalid("body", "Input should be a valid dictionary")
    fields = {key: value for key, value in fields.items() if value is not None}
    if fields.get("model", name) != name:
        message = f"The model `{fields['model']}` does not exist. Valid aliases: {name}."
        raise Refusal(404, message, "NotFoundError", "model")
    for key, neutral in WITHOUT.items():
        if key in fields and fields[key] not in neutral:
            raise Refusal(400, f"{key} is not currently supported", "BadRequestError", key)
    return fields


def chat(fields: Fields, known: Tokenizer) -> Asked:
    """Return what the fields of a chat ask for.

    Raises:
        Refusal: They ask for what cannot be done.
    """
    _require("max_tokens", _whole(fields, "max_tokens", 1) != 0, "must be at least 1, got 0.")
    tells = _typed(fields, "logprobs", bool, default=False)
    n_top = _whole(fields, "top_logprobs", 0)
    prompt = (BEGIN, *known.encode(_conversation(fields)))
    return _asked(fields, (prompt,), n_top if tells else None, SHAPE.context)


def completion(fields: Fields, known: Tokenizer) -> Asked:
    """Return what the fields of a completion ask for.

    Raises:
        Refusal: They ask for what cannot be done.
    """
    n_top = _whole(fields, "logprobs", 0) if "logprobs" in fields else None
    return _asked(fields, _prompts(fields, known), n_top, 16)


def _asked(
    fields: Fields, prompts: tuple[tuple[int, ...], ...], n_top: int | None, usual: int
) -> Asked:
    n = _whole(fields, "n", 1)
    _require("n", n >= 1, f"must be at least 1, got {n}.")
    _require("n", n <= MOST_CHOICES, f"must be at most {MOST_CHOICES}, got {n}.")
    temperature, top_p = _number(fields, "temperature"), _number(fields, "top_p")
    _require("temperature", 0 <= temperature <= 2, f"must be in [0, 2], got {temperature}.")
    _require("top_p", 0 < top_p <= 1, f"must be in (0, 1], got {top_p}.")
    _require("n", temperature > 0 or n == 1, f"must be 1 when using greedy sampling, got {n}.")
    of_prompt = _whole(fields, "prompt_logprobs", 0) if "prompt_logprobs" in fields else None
    for key, number in (("logprobs", n_top), ("prompt_logprobs", of_prompt)):
        most = f"of {number} is greater than max allowed: {MOST_TOP}"
        _require(key, number is None or number <= MOST_TOP, most)
    echo = _typed(fields, "echo", bool, default=False)
    asked = [_max_tokens(fields, len(prompt), usual, is_free=echo) for prompt in prompts]
    seed = _whole(fields, "seed", random.SystemRandom().getrandbits(31), least=None)
    orders = tuple(
        Order(
            prompt=prompt,
            seeds=tuple(_unsigned(seed + index) for index in range(n)),
            temperature=temperature,
            top_p=top_p,
            max_tokens=max(1, most),
            stop=_stop(fields),
            n_top=n_top,
            n_prompt_top=max(of_prompt or 0, n_top or 0)
            if of_prompt is not None or (echo and n_top is not None)
            else None,
        )
        for prompt, most in zip(prompts, asked, strict=True)
    )
    return Asked(
        prompts=prompts,
        orders=orders,
        echo=echo,
        n_top=n_top,
        n_prompt_top=of_prompt,
        is_empty=0 in asked,
    )


def _unsigned(seed: int) -> int:
    return seed % (1 << 64)


def _max_tokens(fields: Fields, n_prompt: int, usual: int, *, is_free: bool) -> int:
    """Return how long an answer may be: what is asked for, but never past the context."""
    room = SHAPE.context - n_prompt
    key = "max_completion_tokens" if "max_completion_tokens" in fields else "max_tokens"
    wanted = _whole(fields, key, min(usual, max(room, 1)))
    if wanted > SHAPE.context:
        message = (
            f"{key}={wanted} cannot be greater than max_model_len={SHAPE.context}. "
            f"Please request fewer output tokens. (parameter={key}, value={wanted})"
        )
        raise Refusal(400, message, "BadRequestError", key)
    if room < 0:
        message = (
            f"This model's maximum context length is {SHAPE.context} tokens. However, your prompt "
            f"contains at least {n_prompt} input tokens, which exceeds this limit even without any "
            "output tokens. Please reduce the length of the input prompt. "
            f"(parameter=input_tokens, value={n_prompt})"
        )
        raise Refusal(400, message, "BadRequestError", "input_tokens")
    got = min(wanted, room)
    few = f"must be at least 1, got {got}. (parameter={key}, value={got})"
    _require(key, got >= 1 or (wanted == 0 and is_free and room > 0), few)
    return got


def _conversation(fields: Fields) -> str:
    """Return the messages as one text: the model knows no roles.

    Each is closed by a blank line, but for an answer that is to be continued.
    """
    messages = _typed(fields, "messages", list)
    contents = [_content(message) for message in messages]
    if not contents:
        invalid("body.messages", "List should have at least 1 item after validation, not 0")
    going_on = _typed(fields, "continue_final_message", bool, default=False)
    if going_on and _typed(fields, "add_generation_prompt", bool, default=True):
        message = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
        raise Refusal(400, message, "BadRequestError")
    closed = contents[:-1] if going_on else contents
    return _valid("".join(f"{content}\n\n" for content in closed) + (contents[-1] * going_on))


def _content(message: object) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    ):
        return "".join(part["text"] for part in content)
    if not isinstance(content, str):
        invalid("body.messages", "Input should be messages whose content is text")
    return content


def _prompts(fields: Fields, known: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of one prompt or several, given as texts or as tokens."""
    given = fields.get("prompt")
    if given is None:
        invalid("body.prompt", "Field required")
    several = given if isinstance(given, list) and not _is_tokens(given) else [given]
    if not several:
        invalid("body.prompt", "List should have at least 1 item after validation, not 0")
    return tuple(_prompt(one, known) for one in several)


def _prompt(given: object, known: Tokenizer) -> tuple[int, ...]:
    if isinstance(given, str):
        return (BEGIN, *known.encode(_valid(given)))
    if not isinstance(given, list) or not _is_tokens(given):
        invalid("body.prompt", "Input should be a valid string or list of token ids")
    if not given or not all(0 <= token < len(known) for token in given):
        invalid("body.prompt", f"Token ids should be from 0 to {len(known) - 1}, at least one")
    return tuple(given)


def _is_tokens(given: Sequence[object]) -> bool:
    return bool(given) and all(type(token) is int for token in given)


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, "
        raise Refusal(400, f"{message}InputSequence]]", "BadRequestError") from None
    return text


def _stop(fields: Fields) -> tuple[bytes, ...]:
    stop = fields.get("stop", [])
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(text, str) and text for text in stops):
        invalid("body.stop", "Input should be a string or a list of strings, none empty")
    return tuple(_valid(text).encode() for text in stops)


def _typed(fields: Fields, key: str, kind: type, default: Any = None) -> Any:  # noqa: ANN401
    """Return a field of its type; without a default it must be there."""
    value = fields.get(key, default)
    if value is None:
        invalid(f"body.{key}", "Field required")
    if type(value) is not kind:
        invalid(f"body.{key}", f"Input should be a valid {kind.__name__}")
    return value


def _whole(fields: Fields, key: str, default: int, least: int | None = 0) -> int:
    value: int = _typed(fields, key, int, default)
    _require(key, least is None or value >= least, f"must be at least {least}, got {value}.")
    return value


def _number(fields: Fields, key: str) -> float:
    value = fields.get(key, 1.0)
    if not isinstance(value, int | float) or isinstance(value, bool):
        invalid(f"body.{key}", "Input should be a valid number")
    return float(value)


def _require(param: str, holds: bool, must: str) -> None:
    if not holds:
        raise Refusal(400, f"{param} {must}", "BadRequestError", param)


def invalid(place: str, message: str) -> NoReturn:
    """Refuse a request that is not of the protocol."""
    detail = {"loc": place, "msg": message}
    raise Refusal(400, f"1 validation error:\n  {detail}", "Bad Request", place)
