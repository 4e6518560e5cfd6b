"""Describe how servers differ, as data; the server is recognized by what it says of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Hold the quirks of one kind of server."""

    name: str
    owned_by: str  # as its list of models says
    usage_sums_choices: bool  # completion_tokens covers all choices, not the first alone
    context_field: tuple[str, ...]  # where its list of models states the context length
    about_path: str = ""  # beside /v1, where it speaks of itself; empty if nowhere
    version_field: tuple[str, ...] = ()  # in what it says there
    defaults_field: tuple[str, ...] = ()  # likewise, of sampling


SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty")
"""The defaults of a server that change answers where a request does not name them."""

PLAIN = Dialect(name="openai", owned_by="", usage_sums_choices=True, context_field=())
DIALECTS = (
    Dialect(
        name="llama.cpp",
        owned_by="llamacpp",
        usage_sums_choices=False,
        context_field=("meta", "n_ctx"),
        about_path="/props",
        version_field=("build_info",),
        defaults_field=("default_generation_settings", "params"),
    ),
    Dialect(
        name="vllm",
        owned_by="vllm",
        usage_sums_choices=True,
        context_field=("max_model_len",),
        about_path="/version",
        version_field=("version",),
    ),
)


def recognize(models: Sequence[Mapping[str, object]]) -> Dialect:
    """Return the dialect of a server from its list of models, PLAIN where none is known."""
    owners = [model.get("owned_by") for model in models]
    return next((dialect for dialect in DIALECTS if dialect.owned_by in owners), PLAIN)


def context_length(dialect: Dialect, model: Mapping[str, object]) -> int | None:
    """Return the context length in tokens that the server states for a model."""
    value = _at(model, dialect.context_field)
    return value if isinstance(value, int) else None


def version(dialect: Dialect, about: object) -> str | None:
    """Return the server's version from what it says of itself."""
    value = _at(about, dialect.version_field)
    return value if isinstance(value, str) else None


def defaults(dialect: Dialect, about: object) -> dict[str, float]:
    """Return the server's own sampling defaults, as far as it states them."""
    stated = _at(about, dialect.defaults_field)
    if not isinstance(stated, Mapping) or not dialect.defaults_field:
        return {}
    found = {name: stated.get(name) for name in SAMPLING}
    return {name: round(v, 6) for name, v in found.items() if isinstance(v, int | float)}


def _at(value: object, path: tuple[str, ...]) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
