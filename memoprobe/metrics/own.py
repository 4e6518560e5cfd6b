"""Take a metric from a user's own Python file, and check what it gives."""

import inspect
from collections.abc import Callable
from numbers import Real
from typing import Any

from memoprobe import ownfile
from memoprobe.errors import ConfigError

_WHAT = "metric"
_TAKES = ("answer", "reference", "language")


def label(name: str) -> str:
    """Return the name under which scores by an own metric are filed: without its folder."""
    return ownfile.label(name, _WHAT)


def version(name: str) -> int:
    """Return a number that changes with the file; what the file imports is no part of it.

    Raises:
        ConfigError: The file is not there or cannot be read.
    """
    return int(ownfile.digest(name, _WHAT)[:15], 16)  # as SQLite holds it


def is_there(name: str) -> bool:
    """Tell whether the file of an own metric is where it was."""
    return ownfile.place(name, _WHAT).path.is_file()


def load(name: str) -> Callable[[str, str, str], float]:
    """Return the metric that ``FILE.py:FUNCTION`` names, wrapped in checks.

    The function takes an answer, the reference and their language, as those of ours do, and
    gives the performance, a number from 0 to 1 that is best. The file is run once.

    Raises:
        ConfigError: The file cannot be read or run, has no such function, or one that takes
            something else. Calling what is returned raises it where the function fails or
            gives anything else.
    """
    function = ownfile.function(name, _WHAT)
    path, shown = ownfile.place(name, _WHAT).path, label(name)
    try:
        inspect.signature(function).bind(*_TAKES)
    except (TypeError, ValueError) as error:
        takes = ", ".join(_TAKES)
        msg = f"metric {shown}: the function must take ({takes}): {error}"
        raise ConfigError(msg) from error

    def measure(answer: str, reference: str, language: str) -> float:
        """Return what the user's function gives, checked."""
        try:  # a user's function may raise anything
            given = function(answer, reference, language)
        except Exception as error:
            said = ownfile.told(error, path)
            raise _wrong(shown, f"fails: {said}", answer, reference) from error
        return _performance(given, shown, answer, reference)

    return measure


def _performance(given: Any, shown: str, answer: str, reference: str) -> float:  # noqa: ANN401
    if isinstance(given, Real) and 0 <= float(given) <= 1:
        return float(given)
    what = f"gives {given!r:.80} where a number from 0 to 1 is expected"
    raise _wrong(shown, what, answer, reference)


def _wrong(shown: str, what: str, answer: str, reference: str) -> ConfigError:
    on = f"on the answer {answer!r:.80} and the reference {reference!r:.80}"
    return ConfigError(f"metric {shown}: the function {what}, {on}")
