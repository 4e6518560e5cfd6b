"""Say which source paraphrases prose, and how: the ``[paraphrase]`` table of a study file."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Literal

from memoprobe.perturbations.distances import EMBEDDER

Kind = Literal["lexical", "bart", "endpoint", "file"]
Order = Literal["words", "embeddings", "artifact"]

NAMES: Mapping[Kind, str] = MappingProxyType(
    {
        "lexical": "lexical",
        "bart": "bart",
        "endpoint": "paraphrase-endpoint",
        "file": "paraphrase-file",
    }
)
"""The perturbation by which a run files the paraphrases of a source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paraphrasing:
    """Hold where paraphrases come from; ``_KEYS`` says which keys belong to which source."""

    source: Kind | None = None  # None: as the perturbation says, else lexical
    order: Order | None = None  # of the levels; None: embeddings if installed, else words
    embedder: str = EMBEDDER  # id or folder of the model behind the order by embeddings
    model: str = ""  # of bart an id or a folder, of an endpoint the server's name
    device: str | None = None  # of bart, as torch names it; None: a GPU if there is one
    beams: int = 10  # of bart's first search
    path: str | None = None  # of the file: JSON Lines with benchmark, id, candidates
    base_url: str | None = None  # of the endpoint
    api_key_env: str | None = None  # the variable's name, never the key
    temperature: float = 0.8
    top_p: float = 0.95
    max_tokens: int = 1024
    candidates: int = 2  # replies to each question
    max_in_flight: int = 16
    timeout_s: float = 600.0


_ORDER = frozenset({"order", "embedder"})
_KEYS: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        "lexical": frozenset(),
        "bart": _ORDER | {"model", "device", "beams"},
        "file": _ORDER | {"path"},
        "endpoint": _ORDER
        | {"model", "base_url", "api_key_env", "temperature", "top_p", "max_tokens"}
        | {"candidates", "max_in_flight", "timeout_s"},
    }
)


def kind_of(spec: Paraphrasing, perturbation: str | None) -> Kind:
    """Return the source that is meant by the table, or by the perturbation where it names one."""
    for kind, name in NAMES.items():
        if name == perturbation:
            return kind
    return spec.source or "lexical"


def rules(spec: Paraphrasing, perturbation: str | None) -> Iterator[tuple[object, str]]:
    """Yield what must hold of the table, each with what to say where it does not."""
    kind = kind_of(spec, perturbation)
    if kind == "lexical" and spec.source is not None:
        return  # the table waits for another perturbation
    yield (
        spec.source in {None, kind},
        f"perturbation {perturbation} needs source = {kind!r} under [paraphrase],"
        f" which says {spec.source!r}",
    )
    empty = Paraphrasing()
    given = {
        each.name
        for each in fields(spec)
        if each.name != "source" and getattr(spec, each.name) != getattr(empty, each.name)
    }
    foreign = ", ".join(sorted(given - _KEYS[kind]))
    yield not foreign, f"{foreign} under [paraphrase]: no keys of source = {kind!r}"
    needed = {"file": ("path",), "endpoint": ("base_url", "model")}.get(kind, ())
    missing = ", ".join(key for key in needed if not getattr(spec, key))
    yield not missing, f"perturbation {NAMES[kind]} needs {missing} under [paraphrase]"
    yield 2 <= spec.beams <= 100, "beams under [paraphrase] must be 2 to 100"
    yield 1 <= spec.candidates <= 100, "candidates under [paraphrase] must be 1 to 100"
    yield 0 <= spec.temperature < math.inf, "temperature under [paraphrase] must be from 0"
    yield 0 < spec.top_p <= 1, "top_p under [paraphrase] must be above 0 and at most 1"
    yield 1 <= spec.max_tokens < 2**31, "max_tokens under [paraphrase] must be at least 1"
    yield spec.max_in_flight >= 1, "max_in_flight under [paraphrase] must be at least 1"
    yield 0 < spec.timeout_s < math.inf, "timeout_s under [paraphrase] must be above 0"
