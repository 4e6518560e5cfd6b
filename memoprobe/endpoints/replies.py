"""Read reply bodies: choices out of a success, a class of fault out of an error.

A server's status alone does not decide: a 200 can hold an error, and a 500 can
hold a prompt that is too long for the context.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from memoprobe.endpoints import retry
from memoprobe.errors import (
    EndpointDown,
    EndpointRefused,
    EndpointUnavailable,
    MemoprobeError,
    RateLimited,
    RequestRejected,
    TooManyChoices,
    UnknownField,
    UnusableReply,
)

_CONTEXT = re.compile(
    r"exceed_context_size|context_length_exceeded|context (size|window|length)"
    r"|max_tokens must be at least 1|cannot be greater than max_model_len"
    r"|(prompt|input|request) (is )?too (long|large)|inputs\W+(tokens \+|must have less than)"
    r"|exceeds? the max(imum)? (number of )?(input )?tokens|string_above_max_length",
    re.IGNORECASE,
)
_CHOICES = re.compile(
    r"""['"`]n['"`]|\bn\b\W+(must be|value must be|is not|> ?1|greater)"""
    r"|(multiple|one|single) (completion )?(choices?|completions?)",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|unexpected|unknown|unrecognized|not (supported|permitted)|extra", re.IGNORECASE
)
_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)  # for any minute's share of tokens
_QUOTA = re.compile(r"insufficient_quota|billing|credit balance|quota exceeded", re.IGNORECASE)
_MOST = re.compile(
    r"(?:[<\u2264]=? ?(?:value ?<= ?)?|at most |less than or equal to |maximum (?:is )?"
    r"|must be )(\d+)",
    re.IGNORECASE,
)
_OPEN, _CLOSE = (
    re.compile(rf"{start}(?:\w+:)?think(?:ing)?\b[^<>]*>", re.IGNORECASE) for start in ("<", "</")
)
_BEFORE = "\ufeff \t\r\n"  # what may stand before thinking
_THOUGHTS = re.compile(r"reasoning|thinking|thought", re.IGNORECASE)  # in the name of a field
_TEXTS = ("summary", "reasoning", "thinking", "content", "text")  # of a part, the last first
_FINISH = {"eos_token": "stop", "stop_sequence": "stop", "end_turn": "stop"} | dict.fromkeys(
    ("max_tokens", "max_length", "model_length", "model_context_window_exceeded"), "length"
)
_BROKEN_OFF = frozenset({"abort", "aborted", "cancelled", "error"})
OPTIONAL = {"n": "", "seed": "", "max_tokens": "max_completion_tokens"}
"""Fields of a request that a server may not know, and what stands in for each."""


class Choice(NamedTuple):
    """Hold one answer of a reply, its thinking kept apart."""

    place: int  # the server's index
    text: str | None
    reasoning: str | None
    finish_reason: str


class Reply(NamedTuple):
    """Hold what a server answered to one request."""

    choices: list[Choice]  # by rising index
    prompt_tokens: int | None
    completion_tokens: int | None  # as the server counts, see Dialect
    model: str | None  # as the server names itself


def parse(content: bytes, n: int = 1) -> Reply:
    """Return the choices of a reply with status 200; ``n`` were asked for.

    Raises:
        EndpointUnavailable: The body is no JSON object or holds an error.
        UnusableReply: The body is well-formed and has no choice.
        MemoprobeError: The body holds an error with a status of its own.
    """
    return choices_of(body_of(content, n), n)


def body_of(content: bytes, n: int = 1) -> dict[str, Any]:
    """Return the JSON object that a reply with status 200 holds; ``n`` choices were asked for.

    Raises:
        EndpointUnavailable: It holds none, or an error.
        MemoprobeError: It holds an error with a status of its own.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        detail = f"status 200, but the body is not JSON: {content.decode('utf-8', 'replace')}"
        raise EndpointUnavailable(detail, kind="bad_reply", phase="parse", status=200) from error
    if not isinstance(body, dict):
        detail = "status 200, but the body is not a JSON object"
        raise EndpointUnavailable(detail, kind="bad_reply", phase="parse", status=200)
    if body.get("error") and (message := _message(body)):
        raise _error_in_200(body, message, n)
    return body


def choices_of(body: dict[str, Any], n: int = 1) -> Reply:
    """Return the choices that ``body_of`` a reply holds.

    Raises:
        UnusableReply: It is well-formed and has no choice.
        MemoprobeError: It tells of an error, or a choice was broken off.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        if message := _message(body):
            raise _error_in_200(body, message, n)
        detail = "status 200, but the reply has no choices"
        raise UnusableReply(detail, kind="no_choices", phase="parse", status=200)
    if not all(isinstance(choice, dict) for choice in choices):
        detail = "status 200, but a choice is not a JSON object"
        raise EndpointUnavailable(detail, kind="bad_reply", phase="parse", status=200)
    if any(map(_is_broken_off, choices)):
        words = " ".join(message for choice in choices if (message := _message(choice)))
        detail = f"status 200, but the server broke an answer off {words}".rstrip()
        raise EndpointUnavailable(detail, kind="broken_off", phase="parse", status=200)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    model = body.get("model")
    return Reply(
        sorted((_choice(raw, place) for place, raw in enumerate(choices)), key=lambda c: c.place),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        model if isinstance(model, str) else None,
    )


def fault(status: int, content: bytes, retry_after_s: float | None, n: int) -> MemoprobeError:
    """Return the error that a reply with an error status stands for.

    Args:
        status: HTTP status, 400 or above.
        content: The body as it came.
        retry_after_s: How long the server asks to wait, None where it does not say.
        n: Choices that were asked for.
    """
    text = content.decode("utf-8", "replace")
    message = _message(loads(text)) or text or "no message"
    detail = f"status {status}: {message}"
    wait_s = retry.wait_in_words_s(text) if retry_after_s is None else retry_after_s
    if _does_not_fit(status, text):
        return RequestRejected(detail, kind="context_overflow", phase="status", status=status)
    if status in {401, 403}:
        return EndpointRefused(f"the server refuses the key ({detail})", status=status)
    if status == 402 or (status == 429 and wait_s is None and _QUOTA.search(text)):
        return EndpointDown(f"the quota is used up ({detail})")
    if status == 429 or (status == 503 and wait_s is not None):
        return RateLimited(detail, retry_after_s=wait_s, status=status)
    if status in {404, 405}:
        return EndpointRefused(
            f"the server does not know this path or model ({detail})", status=status
        )
    if status in {400, 422, 501} and (known := _complaint(message, detail, status, n)) is not None:
        return known
    if status in {408, 409, 425} or status >= 500:
        return EndpointUnavailable(detail, kind="server_error", phase="status", status=status)
    return RequestRejected(detail, kind="bad_request", phase="status", status=status)


def _does_not_fit(status: int, text: str) -> bool:
    """Tell whether a request is too large, and not one too many at this moment."""
    wish = _TOO_LARGE if status == 429 else _CONTEXT
    return status == 413 or wish.search(text) is not None


def _error_in_200(body: dict[str, Any], message: str, n: int) -> MemoprobeError:
    """Return the error of a body, by the status that it states itself if it states one."""
    error = body.get("error")
    code = (error if isinstance(error, dict) else body).get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return fault(code, json.dumps(body).encode("ascii"), None, n)
    detail = f"status 200, but an error: {message}"
    if _CONTEXT.search(message):
        return RequestRejected(detail, kind="context_overflow", phase="parse", status=200)
    return EndpointUnavailable(detail, kind="error_in_200", phase="parse", status=200)


def _is_broken_off(choice: dict[str, Any]) -> bool:
    return str(choice.get("finish_reason")) in _BROKEN_OFF or bool(choice.get("error"))


def _complaint(message: str, detail: str, status: int, n: int) -> RequestRejected | None:
    """Return the error for a complaint about one field of the request, None for any other."""
    if n > 1 and (found := _choice_limit(message, n)) is not None:
        return TooManyChoices(detail, max_n=found, status=status)
    for field in OPTIONAL:
        if re.search(rf"""['"`]{field}['"`]""", message) and _UNKNOWN.search(message):
            return UnknownField(detail, field=field, status=status)
    return None


def _choice_limit(message: str, n: int) -> int | None:
    """Return the most choices allowed, from a complaint about n; None for any other complaint."""
    if not _CHOICES.search(message):
        return None
    stated = _MOST.search(message)
    return max(1, min(int(stated[1]), n - 1)) if stated else 1


def _choice(body: dict[str, Any], place: int) -> Choice:
    message = body.get("message")
    source = message if isinstance(message, dict) else body
    text, thoughts = _parts(source.get("content", source.get("text")))
    for name in sorted(source):
        if _THOUGHTS.search(name):
            thoughts += _strings(source[name])
    if text is not None and "think" in text.lower():  # a search in all answers would take time
        text, leading = _apart(text)
        thoughts += leading
    index = body.get("index")
    finish = body.get("finish_reason")
    finish = finish if isinstance(finish, str) else "unknown"
    refusal = source.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text, finish = refusal, "refusal"
    return Choice(
        index if isinstance(index, int) else place,
        text,
        "\n".join(dict.fromkeys(thoughts)) or None,  # some servers tell it under two names
        _FINISH.get(finish, finish),
    )


def _apart(text: str) -> tuple[str | None, list[str]]:
    """Return an answer without its leading thinking, and the thinking."""
    thoughts = []
    while opening := _OPEN.match(text, len(text) - len(text.lstrip(_BEFORE))):
        closing = _CLOSE.search(text, opening.end())
        thoughts.append(text[opening.end() : closing.start() if closing else len(text)].strip())
        text = text[closing.end() :] if closing else ""
    closing = _CLOSE.search(text)
    if closing and not thoughts and not _OPEN.search(text, 0, closing.start()):
        # The prompt has opened the thinking, and the answer closes it on a line of its own.
        before = text[: closing.start()]
        if not before.rpartition("\n")[2].strip():
            return text[closing.end() :].lstrip() or None, [before.strip()]
    return (text.lstrip() if thoughts else text) or None, thoughts


def _parts(content: object) -> tuple[str | None, list[str]]:
    """Return the text and the thinking of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type", "text") if isinstance(part, dict) else "text"
        (texts if kind in ("text", "output_text") else thoughts).extend(_strings(part))
    return "".join(texts) if texts else None, thoughts


def _strings(value: object) -> Iterator[str]:
    """Yield the texts of a part, a list of parts or a plain string, however they are nested."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and each:
            yield each
        elif isinstance(each, list):
            waiting.extend(reversed(each))
        elif isinstance(each, dict):
            waiting.extend(each.get(name) for name in _TEXTS)


def _count(value: object) -> int | None:
    """Return a count of tokens; what cannot be one is unknown."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        return None
    return value


def loads(text: str | bytes) -> object:
    """Return the value of a JSON text, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def models_of(content: bytes) -> list[Mapping[str, object]] | None:
    """Return the models that a server lists, None where it lists none."""
    body = loads(content)
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, list):
        return None
    return [model for model in data if isinstance(model, dict)]


def _message(body: object) -> str | None:
    """Return a server's words from the shapes that errors come in, None for a body without any."""
    if not isinstance(body, dict):
        return None
    stated = (body.get(name) for name in ("error", "detail", "message"))
    error = next((value for value in stated if value is not None), None)
    if isinstance(error, dict):
        error = error.get("message") or error
    if error is None:
        return None
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
