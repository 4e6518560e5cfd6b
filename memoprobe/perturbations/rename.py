"""Replace names by nonces: scope-correct, nested, and undone by the inverse of the rename map."""

import builtins
import keyword
import random
import re
from collections.abc import Iterable, Mapping

from memoprobe.errors import ConfigError
from memoprobe.languages import decode, encode
from memoprobe.perturbations.levels import Levels, check, steps, variants
from memoprobe.perturbations.scopes import SCOPING
from memoprobe.records import Sample

_CONSONANTS, _VOWELS = "bdgjkpvwz", "aiou"
# Words that these letters can spell and that would mean something.
_TELLING = frozenset(
    {"bad", "bag", "bid", "big", "bug", "dad", "dig", "do", "dog", "gap", "go", "god", "id"}
    | {"job", "pad", "pig", "pod", "pop", "up"}
)
_TRIES_PER_LENGTH = 20


def rename(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample with ever more of its renameable names replaced (METHOD 2.2, 2.3).

    A name's nonce is the same at every level, and each level's map extends the last. At the
    top level all renameable names are replaced (``share``). Code that cannot be parsed has
    level 0 only, and says so in ``rejected``.

    Raises:
        ConfigError: The text is prose, or its language has no row in SCOPING.
    """
    check(sample, "rename", "code", intensity)
    scoping = SCOPING.get(sample.language)
    if scoping is None:
        known = ", ".join(sorted(SCOPING))
        msg = (
            f"cannot rename {sample.language!r} of {sample.benchmark} sample {sample.sample_id}: "
            f"languages are {known}"
        )
        raise ConfigError(msg)
    names = scoping.names(sample)
    if names is None:
        return Levels(variants(sample, "rename", []), {"unparsable": 1})
    # Drawn once for the sample and not per level, so that each level extends the last.
    nonces = _nonces(names.renameable, _taken(sample), rng)
    order = rng.sample(names.renameable, len(names.renameable))
    if not scoping.agrees(sample.text, _replaced(sample.text, names.places, nonces), nonces):
        return Levels(variants(sample, "rename", []), {"ambiguous": 1})
    altered = []
    for n_names in steps(len(order), levels, intensity):
        rename_map = {name: nonces[name] for name in order[:n_names]}
        altered.append((_replaced(sample.text, names.places, rename_map), rename_map))
    return Levels(variants(sample, "rename", altered), {})


def _replaced(
    code: str, places: Iterable[tuple[int, int, str]], rename_map: Mapping[str, str]
) -> str:
    data, pieces, position = encode(code), [], 0
    for start, end, name in places:
        if name in rename_map:
            pieces += [data[position:start], encode(rename_map[name])]
            position = end
    return decode(b"".join([*pieces, data[position:]]))


def _taken(sample: Sample) -> set[str]:
    parts = (sample.text, sample.context, sample.reference, sample.tests, sample.entry_point)
    return set(re.findall(r"\w+", "\n".join(part or "" for part in parts)))


def _nonces(names: Iterable[str], taken: set[str], rng: random.Random) -> dict[str, str]:
    """Return a pronounceable nonce for each name, of its length and style, new to the sample."""
    unusable = taken | _TELLING | {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
    nonces = {}
    for name in names:
        nonce = _nonce(name, unusable, rng)
        unusable.add(nonce)
        nonces[name] = nonce
    return nonces


def _nonce(name: str, unusable: set[str], rng: random.Random) -> str:
    """Return a nonce; where those of the name's length are used up, a longer one."""
    nonce, tries = _drawn(name, 0, rng), 1
    while nonce in unusable:
        nonce = _drawn(name, tries // _TRIES_PER_LENGTH, rng)
        tries += 1
    return nonce


def _drawn(name: str, longer: int, rng: random.Random) -> str:
    parts = [
        _word(max(2, len(part)) + longer, rng) if part.strip("_") else part
        for part in re.split("(_+)", name)
        if part
    ]
    nonce = "".join(parts)
    if name.isupper():
        return nonce.upper()
    bare = nonce.lstrip("_")
    return nonce.replace(bare, bare.capitalize()) if name.lstrip("_")[0].isupper() else nonce


def _word(length: int, rng: random.Random) -> str:
    return "".join(rng.choice(_VOWELS if i % 2 else _CONSONANTS) for i in range(length))
