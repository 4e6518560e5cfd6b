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


PLAIN = Dialect(name="openai", owned_by="", usage_sums_choices=True, context_field=())
DIALECTS = (
    Dialect(
        name="llama.cpp",
        owned_by="llamacpp",
        usage_sums_choices=False,
        context_field=("meta", "n_ctx"),
    ),
    Dialect(
        name="vllm", owned_by="vllm", usage_sums_choices=True, context_field=("max_model_len",)
    ),
)


def recognize(models: Sequence[Mapping[str, object]]) -> Dialect:
    """Return the dialect of a server from its list of models, PLAIN where none is known."""
    owners = {model.get("owned_by") for model in models}
    return next((dialect for dialect in DIALECTS if dialect.owned_by in owners), PLAIN)


def context_length(dialect: Dialect, model: Mapping[str, object]) -> int | None:
    """Return the context length in tokens that the server states for a model."""
    value: object = model
    for field in dialect.context_field:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) else None
