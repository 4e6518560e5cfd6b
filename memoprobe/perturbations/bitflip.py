"""Damage a text by noise on its characters and tokens, at rising rates."""

import random
import re
from collections.abc import Iterator, Sequence

from memoprobe.perturbations.levels import Levels, check_intensity, steps, variants
from memoprobe.records import Sample

TOP_RATE = 0.3  # share of the tokens that the top level damages
_TOKEN = re.compile(r"\w+|[^\w\s]")
_BITS = 7  # of an ASCII character

_Edit = tuple[int, int, str]


def bitflip(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample's text, prose or code, with ever more of its tokens damaged.

    This is noise: it damages what the text means, and code need not parse. A token is a word
    or a mark. Level k of K damages k/K of TOP_RATE of all tokens (``count``: k of them), at
    least one more than the level below, and in half of them, drawn by lot, one bit of
    one ASCII character is flipped, so that a visible ASCII character comes out; in the others
    the token becomes another token of the same text. White space stays.
    """
    check_intensity(intensity)
    edits = list(_edits(sample.text, levels, rng))
    altered = [
        _damaged(sample.text, edits[:n_edits]) for n_edits in steps(len(edits), levels, intensity)
    ]
    return Levels(variants(sample, "bitflip", [(text, {}) for text in altered]), {})


def _edits(text: str, levels: int, rng: random.Random) -> Iterator[_Edit]:
    """Yield one change of each of the tokens to be damaged, in the order of the levels."""
    places = [match.span() for match in _TOKEN.finditer(text)]
    tokens = sorted({text[start:end] for start, end in places})
    most = min(len(places), max(levels, round(TOP_RATE * len(places))))
    for start, end in rng.sample(places, most):
        others = [token for token in tokens if token != text[start:end]]
        flips = list(_flips(text, start, end))
        if flips and (rng.random() < 0.5 or not others):
            yield rng.choice(flips)
        elif others:
            yield start, end, rng.choice(others)


def _flips(text: str, start: int, end: int) -> Iterator[_Edit]:
    """Yield every flip of a bit in a stretch that leaves a visible ASCII character."""
    for place in range(start, end):
        if text[place].isascii():
            flipped = [chr(ord(text[place]) ^ 1 << bit) for bit in range(_BITS)]
            yield from ((place, place + 1, new) for new in flipped if "!" <= new <= "~")


def _damaged(text: str, edits: Sequence[_Edit]) -> str:
    pieces, position = [], 0
    for start, end, new in sorted(edits):
        pieces += [text[position:start], new]
        position = end
    return "".join([*pieces, text[position:]])
