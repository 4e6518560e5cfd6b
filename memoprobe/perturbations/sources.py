"""Make whole candidates of a text from rewordings of its sentences, wherever these come from.

A source here gives each sentence several rewordings. Each is gated by itself, so that one that
loses something costs one sentence and not the whole text; the whole text is gated once more by
``paraphrase``. What is no prose (examples, code, input and output blocks) is never given away.
"""

import random
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from memoprobe.perturbations.levels import Levels, Perturbation, distance
from memoprobe.perturbations.meaning import drift
from memoprobe.perturbations.paraphrase import Rejected, Source, Way, paraphrase, said
from memoprobe.perturbations.protected import Sentence, facts, loss, sentences
from memoprobe.records import Sample

Rewordings = Callable[[Sequence[str], int], Sequence[Sequence[str | Rejected]]]
"""Give each of some sentences rewordings of its own; the number, from 0, is that of the draw."""

_ITEM = re.compile(r"^[-*•>#]+\s+")  # the mark of a list's item, a quotation or a heading
_QUOTES = (("\"'“`", "\"'”`"), ("*", "*"))


def reworded(rewordings_of: Callable[[Sample], Rewordings], way: Way) -> Perturbation:
    """Return the perturbation that rewords a sample sentence by sentence."""

    def perturb(
        sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
    ) -> Levels:
        """Return the sample with ever more of its sentences ever further reworded."""
        source = sentencewise(rewordings_of(sample))
        return paraphrase(sample, levels, rng, source, way, intensity)

    return perturb


def given(candidates_of: Callable[[Sample], Sequence[str]], way: Way) -> Perturbation:
    """Return the perturbation by candidates that were made beforehand, whole texts each."""

    def perturb(
        sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
    ) -> Levels:
        """Return those of the sample's candidates that say the same, by rising distance."""
        waiting = list(candidates_of(sample))

        def source(text: str, *_: object) -> Iterator[str | Rejected]:
            while waiting:  # a second draw would give the same again
                candidate = waiting.pop(0)
                reason = None if said(candidate) == said(text) else drift(text, candidate)
                yield Rejected(reason) if reason else candidate

        return paraphrase(sample, levels, rng, source, way, intensity)

    return perturb


def sentencewise(rewordings: Rewordings) -> Source:
    """Return the source that puts gated rewordings of sentences together; each draw is a new one.

    A candidate rewords one sentence more than the last, or one further, so candidates are
    nested: first each sentence gets its nearest rewording, in random order, then the next.
    """
    draws = count()

    def source(
        text: str, identifiers: frozenset[str], rng: random.Random
    ) -> Iterator[str | Rejected]:
        found = sentences(text)
        originals = [" ".join(text[start:end].split()) for start, end, _ in found]
        pools = []
        given = rewordings(originals, next(draws))
        for sentence, original, each in zip(found, originals, given, strict=True):
            passed, turned_down = _gated(original, each, identifiers)
            yield from turned_down
            passed.sort(key=lambda new, old=original: distance(old, new))  # type: ignore[misc]
            pools.append([_laid_out(new, text, sentence) for new in passed])
        yield from _chain(text, found, pools, rng)

    return source


def _gated(
    original: str, rewordings: Iterable[str | Rejected], identifiers: frozenset[str]
) -> tuple[list[str], list[Rejected]]:
    """Return the rewordings that say the same in other words, and why others do not."""
    known = facts(original, identifiers)
    passed = {said(original): original}
    turned_down = []
    for each in rewordings:
        if isinstance(each, Rejected):
            turned_down.append(each)
            continue
        new = _finished(original, each)
        same = said(new) in passed
        reason = "equal" if same else loss(original, known, new) or drift(original, new)
        if reason:
            turned_down.append(Rejected(reason))
        else:
            passed[said(new)] = new
    return list(passed.values())[1:], turned_down


def _finished(original: str, new: str) -> str:
    """Return a rewording on one line, without marks around it, ended as the original.

    Models quote what they reword, list it, and drop its full stop.
    """
    new = " ".join(new.split())
    new = new if _ITEM.match(original) else _ITEM.sub("", new, count=1)
    for opening, closing in _QUOTES:
        if len(new) > 1 and new[0] in opening and new[-1] in closing and original[0] != new[0]:
            new = new.strip(opening + closing).strip()
    if original[-1] in ".:?!," and new[-1:].isalnum():
        return new + original[-1]
    return new[:-1] if original[-1].isalnum() and new[-1:] == "." else new


def _laid_out(new: str, text: str, sentence: Sentence) -> str:
    """Return a rewording broken into lines where and as the sentence was."""
    broken = re.search(r"\n[ \t]*", text[sentence.start : sentence.end])
    if broken is None:
        return new
    column = sentence.start - (text.rfind("\n", 0, sentence.start) + 1)
    lines = textwrap.wrap(
        new,
        width=max(map(len, text.splitlines())),
        initial_indent=" " * column,
        subsequent_indent=broken[0][1:],
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)[column:]


def _chain(
    text: str, found: Sequence[Sentence], pools: Sequence[Sequence[str]], rng: random.Random
) -> Iterator[str]:
    """Yield texts of which each puts one more sentence into its next rewording."""
    chosen: dict[int, str] = {}
    for turn in range(max(map(len, pools), default=0)):
        places = [place for place, pool in enumerate(pools) if len(pool) > turn]
        rng.shuffle(places)
        for place in places:
            chosen[place] = pools[place][turn]
            yield _spliced(text, found, chosen)


def _spliced(text: str, found: Sequence[Sentence], chosen: dict[int, str]) -> str:
    pieces, position = [], 0
    for place, (start, end, _) in enumerate(found):
        pieces += [text[position:start], chosen.get(place, text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])
