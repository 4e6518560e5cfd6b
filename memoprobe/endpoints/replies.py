"""Read reply bodies: choices out of a success, a class of fault out of an error.

A server's status alone does not decide: a 200 can hold an error, and a 500 can
hold a prompt that is too long for the context.
"""

import json
import re
from typing import Any, NamedTuple

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
    r"|max_tokens must be at least 1|cannot be greater than max_model_len|prompt is too long"
    r"|inputs? tokens? \+ .*max_new_tokens",
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
_QUOTA = re.compile(r"insufficient_quota|billing|credit balance|quota exceeded", re.IGNORECASE)
_MOST = re.compile(
    r"(?:[<\u2264]=? ?(?:value ?<= ?)?|at most |less than or equal to |maximum (?:is )?"
    r"|must be )(\d+)",
    re.IGNORECASE,
)
_THINK = re.compile(r"\A\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)
_FINISH = {"eos_token": "stop", "stop_sequence": "stop", "end_turn": "stop"} | dict.fromkeys(
    ("max_tokens", "max_length", "model_length", "model_context_window_exceeded"), "length"
)
_BROKEN_OFF = frozenset({"abort", "aborted", "cancelled", "error"})
OPTIONAL = {"n": "", "seed": "", "max_tokens": "max_completion_tokens"}
"""Fields of a request that a server may not know, and what stands in for each."""
DETAIL_LENGTH = 500  # characters of a server's words that are kept


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


def parse(content: bytes) -> Reply:
    """Return the choices of a reply with status 200.

    Raises:
        EndpointUnavailable: The body is no JSON object or holds an error.
        UnusableReply: The body is well-formed and has no choice.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        detail = (
            f"status 200, but the body is not JSON: {_short(content.decode('utf-8', 'replace'))}"
        )
        raise EndpointUnavailable(detail, kind="bad_reply", phase="parse", status=200) from error
    if not isinstance(body, dict):
        detail = "status 200, but the body is not a JSON object"
        raise EndpointUnavailable(detail, kind="bad_reply", phase="parse", status=200)
    if body.get("error") and (message := _message(body)):
        raise _error_in_200(message)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        if message := _message(body):
            raise _error_in_200(message)
        detail = "status 200, but the reply has no choices"
        raise UnusableReply(detail, kind="no_choices", phase="parse", status=200)
    if not all(isinstance(choice, dict) for choice in choices):
        detail = "status 200, but a choice is not a JSON object"
        raise EndpointUnavailable(detail, kind="bad_reply", phase="parse", status=200)
    if _BROKEN_OFF & {str(choice.get("finish_reason")) for choice in choices}:
        detail = "status 200, but the server broke an answer off"
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
    message = _short(_message(loads(text)) or text or "no message")
    detail = f"status {status}: {message}"
    if status in {401, 403}:
        return EndpointRefused(f"the server refuses the key ({detail})", status=status)
    if status == 402 or (status == 429 and _QUOTA.search(text)):
        return EndpointDown(f"the quota is used up ({detail})")
    if status == 429 or (status == 503 and retry_after_s is not None):
        return RateLimited(detail, retry_after_s=retry_after_s, status=status)
    if _CONTEXT.search(text):
        return RequestRejected(detail, kind="context_overflow", phase="status", status=status)
    if status in {404, 405}:
        return EndpointRefused(
            f"the server does not know this path or model ({detail})", status=status
        )
    if status in {400, 422} and (known := _complaint(message, detail, status, n)) is not None:
        return known
    if status in {408, 409, 425} or status >= 500:
        return EndpointUnavailable(detail, kind="server_error", phase="status", status=status)
    return RequestRejected(detail, kind="bad_request", phase="status", status=status)


def _error_in_200(message: str) -> MemoprobeError:
    detail = f"status 200, but an error: {_short(message)}"
    if _CONTEXT.search(message):
        return RequestRejected(detail, kind="context_overflow", phase="parse", status=200)
    return EndpointUnavailable(detail, kind="error_in_200", phase="parse", status=200)


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
    content = source.get("content", source.get("text"))
    text, thoughts = _parts(content)
    for field in ("reasoning", "reasoning_content"):
        if isinstance(value := source.get(field), str) and value:
            thoughts.append(value)
    if text is not None and (found := _THINK.match(text)):
        thoughts.append(found[1].strip())
        text = text[found.end() :] or None
    index = body.get("index")
    finish = body.get("finish_reason")
    finish = finish if isinstance(finish, str) else "unknown"
    return Choice(
        index if isinstance(index, int) else place,
        text,
        "\n".join(thoughts) or None,
        _FINISH.get(finish, finish),
    )


def _parts(content: object) -> tuple[str | None, list[str]]:
    """Return the text and the thinking of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        return None, []
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        value = part.get("text") or part.get("thinking") or part.get("reasoning")
        if isinstance(value, str):
            (texts if kind in {"text", "output_text"} else thoughts).append(value)
    return "".join(texts) if texts else None, thoughts


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


def _message(body: object) -> str | None:
    """Return a server's words from the shapes that errors come in, None for a body without any."""
    if not isinstance(body, dict):
        return None
    error = body.get("error", body.get("detail"))
    if isinstance(error, dict):
        error = error.get("message") or error
    if error is None:
        return None
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= DETAIL_LENGTH else text[:DETAIL_LENGTH] + " …"
