"""Cut text into the tokens of byte-pair encoding; any bytes have tokens.

The file is in the format of the ``tokenizers`` library (GPT-2's byte-level BPE), so that
transformers reads it too.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

BEGIN, END, PADDING = 0, 1, 2
SPECIAL = ("<bos>", "<eos>", "<pad>")
PATTERN = r"\n *| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]+|\s"
"""A piece of text, which no token crosses; the alternatives cover every character."""

_PIECE = re.compile(PATTERN)
# GPT-2's: bytes that are no visible character of Latin-1 are written from U+0100 on.
_PLAIN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_WRITTEN = {byte: chr(byte) for byte in _PLAIN} | {
    byte: chr(0x100 + n) for n, byte in enumerate(sorted(set(range(256)) - set(_PLAIN)))
}
_BYTES = {char: byte for byte, char in _WRITTEN.items()}

Pair = tuple[str, str]


class Tokenizer:
    """Turn text into token numbers and back."""

    def __init__(self, merges: Sequence[Pair]) -> None:
        """Take the pairs to be joined, the first first."""
        names = [*SPECIAL, *_WRITTEN.values(), *(left + right for left, right in merges)]
        self.names = names
        self.merges = list(merges)
        self._numbers = {name: number for number, name in enumerate(names)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._bytes = [
            b"" if number < len(SPECIAL) else bytes(_BYTES[char] for char in name)
            for number, name in enumerate(names)
        ]
        self._piece = lru_cache(maxsize=1 << 16)(self._cut)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.names)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of ``text``, without the begin token."""
        return [number for piece in _PIECE.findall(text) for number in self._piece(piece)]

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text of tokens; bytes that are no UTF-8 become replacement characters."""
        return b"".join(map(self.spelled, numbers)).decode("utf-8", "replace")

    def spelled(self, number: int) -> bytes:
        """Return the bytes of one token, none for a special one."""
        return self._bytes[number]

    def _cut(self, piece: str) -> tuple[int, ...]:
        parts = _letters(piece)
        while len(parts) > 1:
            best = min(pairwise(parts), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            parts = _joined(parts, best)
        return tuple(self._numbers[part] for part in parts)


def learn(texts: Iterable[str], size: int) -> Tokenizer:
    """Return a tokenizer of at most ``size`` tokens whose merges shorten ``texts``, greedily."""
    counts = Counter(piece for text in texts for piece in _PIECE.findall(text))
    words = {piece: _letters(piece) for piece in sorted(counts)}
    merges: list[Pair] = []
    while len(merges) < size - len(SPECIAL) - len(_WRITTEN):
        pairs: defaultdict[Pair, int] = defaultdict(int)
        for piece, parts in words.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[piece]
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = {piece: _joined(parts, best) for piece, parts in words.items()}
    return Tokenizer(merges)


def save(tokenizer: Tokenizer, path: Path) -> None:
    """Write a tokenizer as ``tokenizer.json``."""
    path.write_text(json.dumps(_document(tokenizer), ensure_ascii=False, indent=0) + "\n", "utf-8")


def load(path: Path) -> Tokenizer:
    """Read what ``save`` wrote."""
    merges = json.loads(path.read_text("utf-8"))["model"]["merges"]
    return Tokenizer([(left, right) for left, right in merges])


def _letters(piece: str) -> list[str]:
    return [_WRITTEN[byte] for byte in piece.encode("utf-8", "replace")]


def _joined(parts: Sequence[str], pair: Pair) -> list[str]:
    joined: list[str] = []
    for part in parts:
        # A part that was just joined can not be the left half: its name is longer.
        if joined and joined[-1] == pair[0] and part == pair[1]:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _document(tokenizer: Tokenizer) -> dict[str, Any]:
    special = [
        {"id": number, "content": name, "special": True, "single_word": False, "lstrip": False}
        | {"rstrip": False, "normalized": False}
        for number, name in enumerate(SPECIAL)
    ]
    pieces = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated"}
    as_bytes = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    as_bytes |= {"trim_offsets": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [pieces | {"invert": False}, as_bytes],
        },
        "post_processor": None,
        "decoder": as_bytes,
        "model": {
            "type": "BPE",
            "vocab": {name: number for number, name in enumerate(tokenizer.names)},
            "merges": [list(pair) for pair in tokenizer.merges],
        },
    }
