"""Write numbers for people, and make hostile text harmless to look at."""

import math
from collections.abc import Mapping

MISSING = "\u2013"
_MINUS = "\u2212"

_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HIDDEN = (
    *(code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"),
    *_TURNING,  # they change the reading order
    *range(0xD800, 0xE000),  # half surrogates cannot be encoded
    *(0xFFFE, 0xFFFF),  # no characters in XML
)
_VISIBLE = {code: f"⟨U+{code:04X}⟩" for code in _HIDDEN}


def visible(text: str) -> str:
    """Return ``text`` with a visible sign for whatever a page cannot hold or would be misread by.

    Control characters, half surrogates and characters that turn the reading order
    are shown and not obeyed; tabs and line ends stay, CR LF counts as one line end.
    The result can be encoded as UTF-8. Markup is not escaped here.
    """
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def _missing(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with a real minus sign, or a dash where there is none."""
    if value is None or not math.isfinite(value):
        return MISSING
    # Rounded first, so that a tiny negative number is not shown as minus zero.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", _MINUS)


def interval(estimate: float | None, low: float | None, high: float | None) -> str:
    """Return an estimate with its interval where it has one: ``0.21 [0.15, 0.27]``."""
    if _missing(low) or _missing(high):
        return number(estimate)
    return f"{number(estimate)} [{number(low)}, {number(high)}]"


def p_value(value: float | None) -> str:
    """Return a p-value with three digits; below them ``<0.001``."""
    if value is None or not math.isfinite(value):
        return MISSING
    return "<0.001" if value < 0.001 else number(value, 3)


def count(value: int | None) -> str:
    """Return a count with its thousands apart."""
    return MISSING if value is None else f"{value:,}"


def percent(share: float | None, digits: int = 0) -> str:
    """Return a share in [0, 1] as a percentage."""
    return MISSING if share is None or not math.isfinite(share) else f"{share:.{digits}%}"


def counts(by_kind: Mapping[str, int]) -> str:
    """Return counts in falling order: ``timeout 3, refused 1``."""
    pairs = sorted(by_kind.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{kind} {count:,}" for kind, count in pairs if count) or MISSING


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 model``, ``2 models``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
