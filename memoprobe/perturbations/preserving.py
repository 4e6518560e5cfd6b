"""Check without running it that altered code is the original but for our own edits."""

from collections.abc import Sequence

from memoprobe import languages, perturbations
from memoprobe.records import Sample, Variant


def preserved(sample: Sample, variants: Sequence[Variant]) -> list[bool]:
    """Tell of each level whether it parses and has the original's tokens up to our own edits.

    Of an original that does not parse nothing is known but that. For workers: they import
    this alone, which is small.
    """
    if not languages.parses(sample.text, sample.language):
        return [False]
    return [_is_same(sample, variant) for variant in variants]


def _is_same(sample: Sample, variant: Variant) -> bool:
    names = {new: old for old, new in variant.rename_map.items()}
    back = languages.rename_identifiers(variant.text, sample.language, names)
    restored, original = (
        languages.tokens(perturbations.undo(code, sample, variant), sample.language)
        for code in (back, sample.text)
    )
    return languages.parses(variant.text, sample.language) and restored == original
