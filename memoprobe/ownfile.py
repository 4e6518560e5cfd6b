"""Take a function from a user's own Python file, which is named ``FILE.py:FUNCTION``."""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from memoprobe.errors import ConfigError


class Place(NamedTuple):
    """Say where a function stands."""

    path: Path
    function: str


def is_own(name: str) -> bool:
    """Tell whether a name is ``FILE.py:FUNCTION``."""
    path, colon, _ = name.rpartition(":")
    return bool(colon) and path.endswith(".py")


def place(name: str, what: str) -> Place:
    """Return where the function of that name stands.

    Args:
        name: ``FILE.py:FUNCTION``.
        what: What the function is, for messages: perturbation or metric.

    Raises:
        ConfigError: It is no such name.
    """
    path, _, function = name.rpartition(":")
    if not is_own(name) or not function.isidentifier():
        msg = f"{what} {name!r}: an own one is named FILE.py:FUNCTION"
        raise ConfigError(msg)
    return Place(Path(path), function)


def label(name: str, what: str) -> str:
    """Return the name under which a run files an own function: without its folder.

    So a study gives the same results wherever it lies.
    """
    found = place(name, what)
    return f"{found.path.name}:{found.function}"


def digest(name: str, what: str) -> str:
    """Return the SHA-256 of the file that holds the function; its imports are no part of it.

    Raises:
        ConfigError: The file is not there or cannot be read.
    """
    return hashlib.sha256(_source(place(name, what).path, what)).hexdigest()


def function(name: str, what: str) -> Callable[..., Any]:
    """Return the function of that name; its file is run once as long as it stays the same.

    Raises:
        ConfigError: The file cannot be read or run, or has no such function.
    """
    path, wanted = place(name, what)
    module = _module(path, _source(path, what), what)
    found: Callable[..., Any] | None = getattr(module, wanted, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if callable(value)]
        near = get_close_matches(wanted, known, n=1, cutoff=0)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"{what} file {path} has no function {wanted!r}{hint}"
        raise ConfigError(msg)
    return found


def told(error: Exception, path: Path) -> str:
    """Return what an error says and, where it comes from the user's file, on which line."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")


def _source(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"{what} file {path} cannot be read: {error.strerror or error}"
        raise ConfigError(msg) from error


class _Loader(SourceFileLoader):
    """Run a file as it is now: compiled files are told from it by whole seconds."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader's own signature
        """Return the file compiled, without a look into ``__pycache__``."""
        return self.source_to_code(self.get_data(self.path), self.path)


@cache
def _module(path: Path, source: bytes, what: str) -> ModuleType:  # noqa: ARG001 - an edited file is run anew
    name = f"memoprobe_own_{path.stem}"
    loader = _Loader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None, "a path and a loader make a specification"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        loader.exec_module(module)
    except Exception as error:
        msg = f"{what} file {path} cannot be run: {told(error, path)}"
        raise ConfigError(msg) from error
    return module
