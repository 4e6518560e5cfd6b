"""Take a perturbation from a user's own Python file, and check what it gives."""

import hashlib
import importlib.util
import random
import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from memoprobe.errors import ConfigError
from memoprobe.perturbations.levels import Levels, Perturbation, check_intensity, variants
from memoprobe.records import Sample, Variant


class _Place(NamedTuple):
    path: Path
    function: str


def is_own(name: str) -> bool:
    """Tell whether a perturbation's name is ``FILE.py:FUNCTION``."""
    path, colon, _ = name.rpartition(":")
    return bool(colon) and path.endswith(".py")


def label(name: str) -> str:
    """Return the name under which a run files an own perturbation: without its folder.

    Seeds hang on it, so a study gives the same levels wherever it lies.
    """
    place = _place(name)
    return f"{place.path.name}:{place.function}"


def fingerprint(name: str) -> str:
    """Return a hash of the file that holds the function; its imports are no part of it.

    Raises:
        ConfigError: The file is not there or cannot be read.
    """
    return hashlib.sha256(_source(_place(name).path)).hexdigest()[:16]


def load(name: str) -> Perturbation:
    """Return the perturbation that ``FILE.py:FUNCTION`` names, wrapped in checks.

    The function takes ``(sample, levels, rng, *, intensity)`` as those of ours do, and gives
    Levels, or just the altered texts, the weakest first. The file is run once.

    Raises:
        ConfigError: The file cannot be read or run, or has no such function. Calling what is
            returned raises it where the function fails or gives what is no levels.
    """
    place = _place(name)
    module = _module(place.path, _source(place.path))
    function = getattr(module, place.function, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value)]
        near = get_close_matches(place.function, known, n=1, cutoff=0)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"perturbation file {place.path} has no function {place.function!r}{hint}"
        raise ConfigError(msg)
    return _checked(name, function)


def _place(name: str) -> _Place:
    path, _, function = name.rpartition(":")
    if not is_own(name) or not function.isidentifier():
        msg = f"perturbation {name!r}: an own one is named FILE.py:FUNCTION"
        raise ConfigError(msg)
    return _Place(Path(path), function)


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"perturbation file {path} cannot be read: {error.strerror or error}"
        raise ConfigError(msg) from error


class _Loader(SourceFileLoader):
    """Run a file as it is now: compiled files are told from it by whole seconds."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader's own signature
        """Return the file compiled, without a look into ``__pycache__``."""
        return self.source_to_code(self.get_data(self.path), self.path)


@cache
def _module(path: Path, source: bytes) -> ModuleType:  # noqa: ARG001 - an edited file is run anew
    name = f"memoprobe_own_{path.stem}"
    loader = _Loader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None, "a path and a loader make a specification"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        loader.exec_module(module)
    except Exception as error:
        msg = f"perturbation file {path} cannot be run: {_told(error, path)}"
        raise ConfigError(msg) from error
    return module


def _told(error: Exception, path: Path) -> str:
    """Return what an error says and, where it comes from the user's file, on which line."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")


def _checked(name: str, function: Callable[..., Any]) -> Perturbation:
    """Return an own function as one that keeps the rules of ours."""
    path, shown = _place(name).path, label(name)

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
                msg = f"{where}: {_told(error, path)}"
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
