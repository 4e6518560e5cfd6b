"""Measure likeness by what two texts share: words, letters, or what a compressor finds."""

import re
import zlib
from collections import Counter
from functools import cache, lru_cache
from math import sqrt
from typing import TYPE_CHECKING

from rapidfuzz.distance import LCSseq

from memoprobe import languages

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer

_WORD = re.compile(r"[a-z0-9]+")
_SHORT = 3  # letters of a word that is not stemmed


def ncd(answer: str, reference: str, language: str) -> float:
    """Return 1 minus the normalized compression distance under zlib, in [0, 1].

    The distance is (C(xy) - min(C(x), C(y))) / max(C(x), C(y)), C being the compressed
    length without zlib's two bytes of head and xy the better of the two orders; above 1 it
    counts as 1. Trap: two equal texts score below 1, and strangers the higher the longer
    they are, so values of texts of different length do not compare.
    """
    x, y = (_bare(text, language).encode("utf-8", "surrogatepass") for text in (answer, reference))
    alone = sorted((_compressed(x), _compressed(y)))
    together = min(_compressed(x + y), _compressed(y + x))
    return max(0.0, 1 - (together - alone[0]) / alone[1])


def cosine(answer: str, reference: str, language: str) -> float:
    """Return the Ochiai coefficient of two texts' letters, in [0, 1].

    That is shared letters, counted as often as both have them, over the root of the product
    of the lengths. Trap: an anagram scores 1.0, and any two programs score high.
    """
    x, y = _bare(answer, language), _bare(reference, language)
    if x == y:
        return 1.0
    if not x or not y:
        return 0.0
    return (Counter(x) & Counter(y)).total() / sqrt(len(x) * len(y))


def rouge1(answer: str, reference: str, language: str) -> float:
    """Return the ROUGE-1 precision: the share of the answer's words that the reference has.

    Words are runs of ASCII letters and digits in lower case, those of more than three
    letters by their Porter stem. Trap: an answer of one right word scores 1.0.
    """
    here, there = (_stems(_bare(text, language)) for text in (answer, reference))
    if not here or not there:
        return float(here == there)
    return (Counter(here) & Counter(there)).total() / len(here)


def rouge_l(answer: str, reference: str, language: str) -> float:
    """Return the ROUGE-L F1 of two texts, in [0, 1].

    It is twice the longest common subsequence of words, as in ``rouge1``, over the words
    of both: the order of what is shared counts, and length on either side costs.
    """
    here, there = (_stems(_bare(text, language)) for text in (answer, reference))
    if not here and not there:
        return 1.0
    return 2 * LCSseq.similarity(here, there) / (len(here) + len(there))


_bare = lru_cache(maxsize=512)(languages.strip_comments)


@lru_cache(maxsize=1024)
def _compressed(data: bytes) -> int:
    return len(zlib.compress(data)) - 2


@lru_cache(maxsize=1024)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(map(_stem, _WORD.findall(text.lower())))


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return word if len(word) <= _SHORT else str(_stemmer().stem(word))


@cache
def _stemmer() -> "PorterStemmer":
    from nltk.stem.porter import PorterStemmer  # nltk takes a second to import

    return PorterStemmer()
