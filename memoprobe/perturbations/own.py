"""Take a perturbation from a user's own Python file, and check what it gives."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from memoprobe import ownfile
from memoprobe.errors import ConfigError
from memoprobe.perturbations.levels import Levels, Perturbation, check_intensity, variants
from memoprobe.records import Sample, Variant

_WHAT = "perturbation"


def label(name: str) -> str:
    """Return the name under which a run files an own perturbation; seeds hang on it."""
    return ownfile.label(name, _WHAT)


def fingerprint(name: str) -> str:
    """Return a hash of the file that holds the function; its imports are no part of it.

    Raises:
        ConfigError: The file is not there or cannot be read.
    """
    return ownfile.digest(name, _WHAT)[:16]


def load(name: str) -> Perturbation:
    """Return the perturbation that ``FILE.py:FUNCTION`` names, wrapped in checks.

    The function takes ``(sample, levels, rng, *, intensity)`` as those of ours do, and gives
    Levels, or just the altered texts, the weakest first. The file is run once.

    Raises:
        ConfigError: The file cannot be read or run, or has no such function. Calling what is
            returned raises it where the function fails or gives what is no levels.
    """
    return _checked(name, ownfile.function(name, _WHAT))


def _checked(name: str, function: Callable[..., Any]) -> Perturbation:
    """Return an own function as one that keeps the rules of ours."""
    path, shown = ownfile.place(name, _WHAT).path, label(name)

    def perturb(
        sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
    ) -> Levels:
        """Return what the user's function gives, checked."""
        check_intensity(intensity)
        where = f"perturbation {shown}, {sample.benchmark} sample {sample.sample_id}"

        def call(rng: random.Random) -> Levels:
            try:  # a user's function may raise anything
                given = function(sample, levels, rng, intensity=intensity)
                given = given if isinstance(given, Levels) else list(given)
            except Exception as error:
                msg = f"{where}: {ownfile.told(error, path)}"
                raise ConfigError(msg) from error
            return _levels(given, sample, levels, shown, where)

        again = random.Random()
        again.setstate(rng.getstate())
        found = call(rng)
        if call(again) != found:
            raise _wrong(where, "gives other texts when it is asked again; draw from rng alone")
        return found

    return perturb


def _wrong(where: str, what: str) -> ConfigError:
    return ConfigError(f"{where}: the function {what}")


def _levels(
    given: Levels | list[object], sample: Sample, levels: int, shown: str, where: str
) -> Levels:
    """Return what a function gave as our own would, with distances and edit shares.

    Raises:
        ConfigError: It is no levels of this sample.
    """
    if not isinstance(given, Levels):
        _check_texts([sample.text, *given], levels, where)
        return Levels(variants(sample, shown, [(str(text), {}) for text in given]), {})
    _check_variants(given.variants, sample, where)
    _check_texts([variant.text for variant in given.variants], levels, where)
    altered = [(variant.text, variant.rename_map) for variant in given.variants[1:]]
    return Levels(variants(sample, shown, altered), dict(given.rejected))


def _check_texts(texts: Sequence[object], levels: int, where: str) -> None:
    """Raise ConfigError unless the texts, the original first, are texts and all different."""
    for level, text in enumerate(texts):
        if not isinstance(text, str):
            raise _wrong(where, f"gives {text!r:.80} at level {level}: return Levels or texts")
        if text in texts[:level]:
            raise _wrong(where, f"gives at level {level} the text of level {texts.index(text)}")
    if len(texts) > levels + 1:
        raise _wrong(where, f"gives {len(texts) - 1} levels above 0, where {levels} are asked for")


def _check_variants(found: Sequence[Variant], sample: Sample, where: str) -> None:
    """Raise ConfigError unless variants are numbered from 0, which is the original."""
    if not found or not all(isinstance(variant, Variant) for variant in found):
        raise _wrong(where, "gives no variants; the first is the original")
    if [variant.level for variant in found] != list(range(len(found))):
        numbers = ", ".join(str(variant.level) for variant in found)
        raise _wrong(where, f"numbers its levels {numbers}: number them 0, 1, 2, …")
    if found[0].text != sample.text:
        raise _wrong(where, "gives as level 0 another text than the original")
    for variant in found:
        pairs = dict(variant.rename_map).items()
        if not all(isinstance(word, str) for pair in pairs for word in pair):
            raise _wrong(where, "gives a rename map that is not from names to names")
