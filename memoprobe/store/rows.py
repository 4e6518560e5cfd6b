"""Turn records into rows and back; text that SQLite cannot hold survives the way."""

import json
from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from memoprobe.records import (
    Failure,
    Likelihood,
    Response,
    Sample,
    Variant,
    content_hash,
    state,
)

Row = tuple[Any, ...]

SAMPLE_COLUMNS = tuple(field.name for field in fields(Sample))
SLOT_COLUMNS = ("model", "perturbation", "level", "repeat", "answer")
RESPONSE_COLUMNS = (
    "text",
    "reasoning",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "latency_s",
    "seed",
    "endpoint",
)
_response_values = attrgetter(*SLOT_COLUMNS, *RESPONSE_COLUMNS)
FAILURE_COLUMNS = ("kind", "phase", "detail", "attempts", "permanent", "probe")
LIKELIHOOD_COLUMNS = ("model", "perturbation", "level", "total", "n_tokens", "n_bytes")


def to_sql(value: object) -> object:
    """Return a value as SQLite takes it; a string that is no valid Unicode becomes a blob."""
    if isinstance(value, str) and not value.isascii():  # as nearly all text is
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def from_sql(value: Any) -> Any:  # noqa: ANN401 - any column
    """Undo ``to_sql``."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def sample_row(sample: Sample) -> dict[str, object]:
    """Return a sample as a row of ``sample_rows``."""
    row = {name: to_sql(getattr(sample, name)) for name in SAMPLE_COLUMNS}
    several = json.dumps(sample.alternatives) if sample.alternatives else None
    return {
        **row,
        "alternatives": several,
        "content_hash": content_hash(sample),
        "superseded": 0,
    }


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Return the sample of a row."""
    values = {name: from_sql(row[name]) for name in SAMPLE_COLUMNS}
    several = tuple(json.loads(values["alternatives"] or "[]"))
    return Sample(**{**values, "alternatives": several, "control": bool(values["control"])})


def variant_row(variant: Variant, sample: int) -> Row:
    """Return a variant as a row of ``variant_rows``."""
    names = json.dumps(dict(variant.rename_map))
    text = to_sql(variant.text)
    shares = (variant.distance, variant.edit_share)
    return (sample, to_sql(variant.perturbation), variant.level, text, *shares, names)


def variant_of(row: Mapping[str, Any]) -> Variant:
    """Return the variant of a row that also names its sample."""
    return Variant(
        benchmark=row["benchmark"],
        sample_id=row["sample_id"],
        perturbation=row["perturbation"],
        level=row["level"],
        text=from_sql(row["text"]),
        distance=row["distance"],
        edit_share=row["edit_share"],
        rename_map=json.loads(row["rename_map"]),
    )


def response_row(response: Response, sample: int) -> Row:
    """Return a response as a row of ``response_rows``."""
    return (response.key, sample, *map(to_sql, _response_values(response)), state(response))


def response_of(row: Mapping[str, Any]) -> Response:
    """Return the response of a row that also names its sample."""
    names = (*SLOT_COLUMNS, *RESPONSE_COLUMNS, "benchmark", "sample_id")
    return Response(key=bytes(row["key"]), **{name: from_sql(row[name]) for name in names})


def failure_row(failure: Failure, sample: int) -> Row:
    """Return a failure as a row of ``failure_rows``."""
    names = (*SLOT_COLUMNS, *FAILURE_COLUMNS)
    return (failure.key, sample, *(to_sql(getattr(failure, name)) for name in names))


def failure_of(row: Mapping[str, Any]) -> Failure:
    """Return the failure of a row that also names its sample."""
    names = (*SLOT_COLUMNS, *FAILURE_COLUMNS, "benchmark", "sample_id")
    values = {name: from_sql(row[name]) for name in names}
    return Failure(key=bytes(row["key"]), **{**values, "permanent": bool(values["permanent"])})


def likelihood_row(found: Likelihood, sample: int) -> Row:
    """Return a likelihood as a row of ``likelihood_rows``."""
    values = (to_sql(getattr(found, name)) for name in LIKELIHOOD_COLUMNS)
    return (found.key, sample, *values, found.tokens, to_sql(found.endpoint))


def likelihood_of(row: Mapping[str, Any]) -> Likelihood:
    """Return the likelihood of a row that also names its sample."""
    names = (*LIKELIHOOD_COLUMNS, "endpoint", "benchmark", "sample_id")
    values = {name: from_sql(row[name]) for name in names}
    return Likelihood(key=bytes(row["key"]), tokens=bytes(row["tokens"]), **values)
