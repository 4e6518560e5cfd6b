"""Reword prose: candidates of a source, gated so that nothing the task says gets lost."""

import random
from collections import Counter
from collections.abc import Callable, Iterable

from memoprobe.perturbations.levels import Levels, check, distance, steps, variants
from memoprobe.perturbations.protected import facts, loss, task_identifiers
from memoprobe.perturbations.rewording import reword
from memoprobe.records import Sample

Source = Callable[[str, frozenset[str], random.Random], Iterable[str]]
"""Give candidate rewordings of a text, in any order, that keep the given identifiers."""

DRAWS = 5


def lexical(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample's prose reworded by the embedded rules, each level extending the last.

    Level k applies about k / ``levels`` of the edits that the text has room for (``share``),
    or k of them (``count``).

    Raises:
        ConfigError: The text is code.
    """
    check(sample, "lexical", "prose", intensity)
    return paraphrase(sample, levels, rng, reword, name="lexical", intensity=intensity)


def paraphrase(
    sample: Sample,
    levels: int,
    rng: random.Random,
    source: Source,
    *,
    name: str,
    intensity: str = "share",
) -> Levels:
    """Return the candidates of a source that pass the gates, by rising distance (METHOD 2.4).

    A source is drawn from again, up to DRAWS times in all, while it gives fewer candidates
    than levels; the draw with the most is used whole, so that nested candidates stay nested.
    """
    rejected: Counter[str] = Counter()
    best: list[str] = []
    for _ in range(DRAWS):
        passed = _passed(sample, source, rng, rejected)
        best = max(best, passed, key=len)
        if len(best) >= levels:
            break
    best.sort(key=lambda text: distance(sample.text, text))
    chosen = [best[count - 1] for count in steps(len(best), levels, intensity)]
    altered = variants(sample, name, [(text, {}) for text in chosen])
    return Levels(altered, dict(sorted(rejected.items())))


def _passed(
    sample: Sample, source: Source, rng: random.Random, rejected: Counter[str]
) -> list[str]:
    """Return the distinct candidates of one draw that lost nothing; count the others."""
    identifiers = task_identifiers(sample)
    said = facts(sample.text, identifiers)
    passed = {sample.text: None}
    for candidate in source(sample.text, identifiers, rng):
        reason = "equal" if candidate in passed else loss(sample.text, said, candidate)
        if reason:
            rejected[reason] += 1
        else:
            passed[candidate] = None
    return list(passed)[1:]
