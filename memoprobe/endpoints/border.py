"""Find which tokens of a prompt lie wholly in the reference at its end; pure.

A tokenizer merges as it likes at the border between prompt and reference. A token that
straddles it is as much the prompt's as the reference's and says nothing of either alone, so
counting begins with the first token that begins at or after the border.

Servers tell a token's text, not its place, and that text need not be exact: the bytes of a
broken-up character come as replacement characters or as nothing at all, a leading blank may
be lost, and of the first token some tell nothing. So tokens are laid along the text from its
end, exactly where that fits, else in every way that does; a token counts where it begins in the
reference in every such way.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

REPLACEMENT = "\ufffd"
LONGEST_TOKEN = 32  # bytes that a token without a text may stand for
LONGEST_PIECE = 3  # bytes that one replacement character may stand for
BEFORE = -1  # the place of a token that begins in front of the text that is known

_Steps = dict[int, set[int]]  # where a token may begin -> where it may end then


class Part(NamedTuple):
    """Hold which part of a reference is measured."""

    n_tokens: int  # the last so many of the prompt
    n_bytes: int  # that they spell


def measured(tokens: Sequence[str | None], text: str, border: int) -> Part | None:
    """Return which of a prompt's tokens lie wholly in the text behind the border.

    Args:
        tokens: The text of every token of the prompt, None where it is not known. In front
            of those that spell ``text`` may stand others.
        text: The end of the prompt.
        border: Where in ``text``, in UTF-8 bytes, the reference begins.

    Returns:
        None where no way of laying the tokens along ``text`` reaches its beginning: the
        server cut the prompt or changed its text.
    """
    data = text.encode("utf-8", "surrogatepass")
    steps = _walk(tokens, data, _exact_starts) or _walk(tokens, data, _loose_starts)
    if steps is None:
        return None
    n_tokens, begin = 0, len(data)
    for number, starts in enumerate(_alive(steps)):
        if min(starts) >= border:
            n_tokens, begin = number + 1, min(starts)
    return Part(n_tokens, len(data) - begin)


def _walk(
    tokens: Sequence[str | None], data: bytes, starts_of: Callable[[str, bytes, int], set[int]]
) -> list[_Steps] | None:
    """Return the ways in which tokens may lie, the last token first, back to the text's start."""
    places = {len(data)}
    found: list[_Steps] = []
    for token in reversed(tokens):
        if max(places) <= 0 and token != "":  # nothing may be the start of a broken-up character
            break
        steps: _Steps = {}
        for end in places:
            if end <= 0:  # it stands in front of the text, as all before it do
                starts = {end}
            elif token is None:
                starts = {0} if end <= LONGEST_TOKEN else set()
            else:
                starts = starts_of(token, data, end)
            for start in starts:
                steps.setdefault(start, set()).add(end)
        if not steps:
            return None
        found.append(steps)
        places = set(steps)
    return found if min(places) <= 0 else None


def _alive(found: Sequence[_Steps]) -> list[set[int]]:
    """Return each token's possible places, without those from which nothing leads to the start."""
    kept: list[set[int]] = []
    ends = {start for start in found[-1] if start <= 0} if found else set()
    for steps in reversed(found):
        starts = {start for start in steps if start in ends}
        kept.append(starts)
        ends = set().union(*(steps[start] for start in starts))
    return kept[::-1]


def _exact_starts(token: str, data: bytes, end: int) -> set[int]:
    """Return where a token that ends at ``end`` begins, if its text is what it stands for."""
    return _before(token, data, {end})


def _loose_starts(token: str, data: bytes, end: int) -> set[int]:
    """Return where a token that ends at ``end`` may begin."""
    first, *others = token.split(REPLACEMENT)
    ends = {end}
    for part in reversed(others):
        ends = _before(part, data, ends)
        ends = {e - n for e in ends for n in range(1, LONGEST_PIECE + 1) if _is_broken(data, e, n)}
    starts = _before(first, data, ends)
    return starts | {start - 1 for start in starts if start > 0 and data[start - 1] == ord(" ")}


def _before(part: str, data: bytes, ends: set[int]) -> set[int]:
    """Return where ``part`` begins for each place where it may end."""
    piece = part.encode("utf-8", "surrogatepass")
    inside = {end - len(piece) for end in ends if data.endswith(piece, 0, end)}
    outside = {BEFORE for end in ends if 0 <= end < len(piece) and piece.endswith(data[:end])}
    return inside | outside


def _is_broken(data: bytes, end: int, n: int) -> bool:
    """Tell whether the ``n`` bytes in front of a place may be a piece of one character."""
    return end >= n and all(byte >= 0x80 for byte in data[end - n : end])
