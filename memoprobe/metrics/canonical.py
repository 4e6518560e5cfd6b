"""Measure likeness without the choice of names: both sides are renamed alike first."""

from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from memoprobe import languages
from memoprobe.records import Sample
from memoprobe.scoping.scopes import SCOPING


def canonical_levenshtein(answer: str, reference: str, language: str) -> float:
    """Return 1 minus the normalized Levenshtein distance in tokens after alpha-renaming, in [0, 1].

    The names that each side declares itself become v0, v1, … in the order in which they
    appear; what it takes from elsewhere keeps its name. So it tells whether a program is the
    same, and not whether its names are known: on a model of known membership it is the
    weaker signal of memory (METHOD 2.7). Code that does not parse keeps its names.
    """
    return Levenshtein.normalized_similarity(
        _canonical(answer, language), _canonical(reference, language)
    )


@lru_cache(maxsize=512)
def _canonical(code: str, language: str) -> tuple[str, ...]:
    scoping = SCOPING.get(language)
    bare = languages.undocumented(code, language)
    if scoping is None:
        return tuple(languages.tokens(bare, language))
    names = scoping.names(_program(bare, language))
    if names is None:
        return tuple(languages.tokens(bare, language))
    number = {name: f"v{k}" for k, name in enumerate(dict.fromkeys(names.renameable))}
    data, kept, position = languages.encode(bare), [], 0
    for start, end, name in names.places:
        if name in number:
            kept += [data[position:start], languages.encode(number[name])]
            position = end
    whole = languages.decode(b"".join([*kept, data[position:]]))
    return tuple(languages.tokens(whole, language))


def _program(code: str, language: str) -> Sample:
    return Sample(
        benchmark="",
        sample_id="",
        task="program_repair",
        language=language,
        input_kind="code",
        text=code,
    )
