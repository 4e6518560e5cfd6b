"""Measure likeness by edit distance: what part of the longer text needs no edit."""

from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from memoprobe import languages


def levenshtein(answer: str, reference: str, language: str) -> float:
    """Return 1 minus the normalized Levenshtein distance in characters, in [0, 1].

    Insertion, deletion and substitution cost 1 each; the sum is divided by the length
    of the longer text. Comments and docstrings are taken out of both sides first.
    Two empty texts are equal: 1.0.
    """
    return Levenshtein.normalized_similarity(_bare(answer, language), _bare(reference, language))


def token_levenshtein(answer: str, reference: str, language: str) -> float:
    """Return 1 minus the normalized Levenshtein distance in tokens, in [0, 1].

    As ``levenshtein``, over ``languages.tokens``: a name, a number or a string counts
    once however long it is, layout counts only where it has meaning, comments never.
    """
    return Levenshtein.normalized_similarity(
        _tokens(answer, language), _tokens(reference, language)
    )


# A reference meets every answer to its sample and answers at low temperature repeat, so both
# sides are prepared once. The bound keeps a re-scored database of any size in memory.
_bare = lru_cache(maxsize=512)(languages.strip_comments)


@lru_cache(maxsize=512)
def _tokens(code: str, language: str) -> tuple[str, ...]:
    return tuple(languages.tokens(code, language))
