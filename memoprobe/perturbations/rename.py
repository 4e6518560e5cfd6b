"""Replace names by new ones: scope-correct, nested, and undone by the inverse of the rename map."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from memoprobe.errors import ConfigError
from memoprobe.languages import decode, encode, rename_identifiers
from memoprobe.perturbations.levels import Levels, check, edit_share, steps, variants
from memoprobe.perturbations.nonces import nonces
from memoprobe.perturbations.quoted import quoted
from memoprobe.perturbations.strength import matched
from memoprobe.records import Sample
from memoprobe.scoping.scopes import SCOPING, Scoping, reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """Say how names are replaced."""

    natural: bool = False  # by ordinary words, instead of pronounceable nonsense
    comments: bool = False  # where comments and docstrings quote a name, it follows
    edit_shares: tuple[float, ...] = ()  # aim of each level above 0; empty: by intensity


class _Program(NamedTuple):
    """Hold what can be renamed in a sample, and to what."""

    names: list[str]  # in the order in which levels take them
    places: list[tuple[int, int, str]]  # byte offsets, and the name there
    nonces: dict[str, str]

    def variant(self, text: str, chosen: Iterable[str]) -> tuple[str, dict[str, str]]:
        """Return ``text`` with the chosen names replaced, and the map."""
        rename_map = {name: self.nonces[name] for name in chosen}
        return _replaced(text, self.places, rename_map), rename_map


def rename(
    sample: Sample,
    levels: int,
    rng: random.Random,
    *,
    intensity: str = "share",
    renaming: Renaming = Renaming(),
) -> Levels:
    """Return the sample with ever more of its renameable names replaced (METHOD 2.2, 2.3).

    A name's nonce is the same at every level, and each level's map extends the last. At the
    top level all renameable names are replaced (``share``). Code that cannot be parsed has
    level 0 only, and says so in ``rejected``.

    Raises:
        ConfigError: The text is prose, or its language has no row in SCOPING.
    """
    return _renamed(sample, levels, rng, intensity, renaming, "rename")


def natural(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return what ``rename`` does with ordinary words for new names.

    Names that mean something else show whether a model merely stumbles over nonsense.
    """
    return _renamed(sample, levels, rng, intensity, Renaming(natural=True), "rename-natural")


def single(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample with one name replaced at each level, one that is used more at each.

    A control of its own: the levels are not nested, and none is strong. The names are drawn
    at random and ordered by how often they occur.
    """
    program = _program(sample, rng, "single", intensity, Renaming())
    if isinstance(program, Levels):
        return program
    counted = [name for _, _, name in program.places]
    drawn = sorted(program.names[:levels], key=counted.count)
    altered = [program.variant(sample.text, [name]) for name in drawn]
    return Levels(variants(sample, "single", altered), {})


def function_name(
    sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
) -> Levels:
    """Return the sample with the name of its function under test replaced, and nothing else.

    A control of its own: each level has another name of the same kind, so that levels differ
    by luck alone. Tests call the function by its old name, so that an answer must be mapped
    back, as for every rename map.
    """
    entry_point = (sample.entry_point or "").rpartition(".")[2]
    free = replace(sample, entry_point=None, tests=None)
    program = _program(free, rng, "function-name", intensity, Renaming())
    if isinstance(program, Levels):
        return program
    if entry_point not in program.names:
        return Levels(variants(sample, "function-name", []), {"kept": 1})
    altered, taken = [], _taken(sample) | reserved(sample.language)
    for _ in range(levels):
        drawn = nonces([entry_point], taken, rng)
        taken |= set(drawn.values())
        altered.append(program._replace(nonces=drawn).variant(sample.text, [entry_point]))
    return Levels(variants(sample, "function-name", altered), {})


def _renamed(
    sample: Sample,
    levels: int,
    rng: random.Random,
    intensity: str,
    renaming: Renaming,
    perturbation: str,
) -> Levels:
    program = _program(sample, rng, perturbation, intensity, renaming)
    if isinstance(program, Levels):
        return program
    names, aims = program.names, renaming.edit_shares[:levels]

    def share_of(chosen: Sequence[str]) -> float:
        return edit_share(sample, program.variant(sample.text, chosen)[0])

    if aims and share_of(names[: len(aims)]) > aims[-1]:
        # One name a level is too much already, so the rarest come first.
        counted = [name for _, _, name in program.places]
        names = sorted(names, key=counted.count)

    @cache
    def share(n_names: int) -> float:
        return share_of(names[:n_names])

    counts = matched(aims, len(names), share) if aims else steps(len(names), levels, intensity)
    altered = [program.variant(sample.text, names[:n_names]) for n_names in counts]
    return Levels(variants(sample, perturbation, altered), {})


def _program(
    sample: Sample, rng: random.Random, perturbation: str, intensity: str, renaming: Renaming
) -> "_Program | Levels":
    """Return what can be renamed, level 0 alone where that cannot be known."""
    check(sample, perturbation, "code", intensity)
    scoping = _scoping(sample)
    names = scoping.names(sample)
    if names is None:
        return Levels(variants(sample, perturbation, []), {"unparsable": 1})
    # Drawn once for the sample and not per level, so that each level extends the last; and
    # before the new names, so that these do not change which names a level takes.
    order = rng.sample(names.renameable, len(names.renameable))
    taken = _taken(sample) | reserved(sample.language)
    drawn = nonces(names.renameable, taken, rng, natural=renaming.natural)
    if not _is_undone(sample, scoping, names.places, drawn):
        return Levels(variants(sample, perturbation, []), {"ambiguous": 1})
    places = names.places
    if renaming.comments:
        places = sorted([*places, *quoted(sample, frozenset(names.renameable))])
    return _Program(order, places, drawn)


def _scoping(sample: Sample) -> Scoping:
    if sample.language not in SCOPING:
        known = ", ".join(sorted(SCOPING))
        msg = (
            f"cannot rename {sample.language!r} of {sample.benchmark} sample {sample.sample_id}: "
            f"languages are {known}"
        )
        raise ConfigError(msg)
    return SCOPING[sample.language]


def _is_undone(
    sample: Sample,
    scoping: Scoping,
    places: Iterable[tuple[int, int, str]],
    rename_map: Mapping[str, str],
) -> bool:
    """Tell whether renaming changes names alone and answers can be mapped back."""
    after = _replaced(sample.text, places, rename_map)
    back = {new: name for name, new in rename_map.items()}
    return (
        scoping.agrees(sample.text, after, dict(rename_map))
        and rename_identifiers(after, sample.language, back) == sample.text
    )


def _replaced(
    code: str, places: Iterable[tuple[int, int, str]], rename_map: Mapping[str, str]
) -> str:
    return decode(b"".join(_pieces(encode(code), places, rename_map)))


def _pieces(
    data: bytes, places: Iterable[tuple[int, int, str]], rename_map: Mapping[str, str]
) -> Iterator[bytes]:
    position = 0
    for start, end, name in places:
        if name in rename_map:
            yield data[position:start]
            yield encode(rename_map[name])
            position = end
    yield data[position:]


def _taken(sample: Sample) -> set[str]:
    parts = (sample.text, sample.context, sample.reference, sample.tests, sample.entry_point)
    return set(re.findall(r"\w+", "\n".join(part or "" for part in parts)))
