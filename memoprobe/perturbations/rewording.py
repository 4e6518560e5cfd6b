"""Reword prose by rules of ours: an embedded paraphrase source that needs no model.

A rule finds sites in the text; each site is an edit that stands alone, so any set of edits
can be applied together. Texts come out one edit at a time, each extending the last.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memoprobe.perturbations import clauses
from memoprobe.perturbations.contest import CONTEST
from memoprobe.perturbations.levels import distance
from memoprobe.perturbations.phrases import PHRASES
from memoprobe.perturbations.protected import Sentence, Span, protected, sentences, touches
from memoprobe.perturbations.verbs import verb_rules
from memoprobe.perturbations.wording import WORDING

_VOWEL_SOUND = re.compile(r"(?!uni|use|usa|eu|one)[aeiou]")


class Edit(NamedTuple):
    """Replace [start, end) by a template in which ``{i}`` is the text of part i."""

    start: int
    end: int
    template: str
    parts: tuple[Span, ...] = ()


class Rule(NamedTuple):
    """Hold a pattern, matched within a sentence, and the templates that mean the same."""

    pattern: re.Pattern[str]
    templates: tuple[str, ...]
    closed: bool = False  # only where the sentence surely ends at its end


def reword(text: str, identifiers: frozenset[str], rng: random.Random) -> Iterator[str]:
    """Yield rewordings of ``text``, each with one more edit than and farther than the last."""
    waiting = edits(text, identifiers, rng)
    rng.shuffle(waiting)
    applied: list[Edit] = []
    here = 0.0
    while waiting:
        for edit in waiting:
            candidate = render(text, [*applied, edit])
            there = distance(text, candidate)
            if there > here:
                break
        else:
            # What is left brings the text nearer to the original again.
            return
        waiting.remove(edit)
        applied.append(edit)
        here = there
        yield candidate


def edits(text: str, identifiers: frozenset[str], rng: random.Random) -> list[Edit]:
    """Return one edit for each site of the rules, sites of earlier rules first.

    Edits are apart from each other or one lies within a part of the other, and nothing
    outside of an edit's parts is protected.
    """
    fixed = protected(text, identifiers)
    found: list[Edit] = []
    rules = _rules()
    for sentence in sentences(text):
        chosen: list[Edit] = []
        for rule in rules:
            if sentence.closed or not rule.closed:
                for edit in _sites(text, sentence, rule, rng):
                    edges = [(edit.start, edit.start), (edit.end, edit.end)]
                    free = not any(touches(fixed, *gap) for gap in [*_gaps(edit), *edges])
                    if free and not any(_clash(edit, other) for other in chosen):
                        chosen.append(edit)
        found += chosen
    return found


def render(text: str, chosen: Iterable[Edit]) -> str:
    """Return ``text`` with the edits applied, an edit inside another's part within that part."""
    outermost_first = sorted(chosen, key=lambda edit: (edit.start, -edit.end, not edit.parts))
    return _rendered(text, outermost_first, 0, len(text))


def _rendered(text: str, chosen: Sequence[Edit], start: int, end: int) -> str:
    pieces, position, index = [], start, 0
    while index < len(chosen):
        edit = chosen[index]
        index += 1
        inner = []
        while index < len(chosen) and chosen[index].end <= edit.end and edit.parts:
            inner.append(chosen[index])
            index += 1
        pieces += [text[position : edit.start], _filled(text, edit, inner)]
        position = edit.end
    return "".join([*pieces, text[position:end]])


def _filled(text: str, edit: Edit, inner: Sequence[Edit]) -> str:
    capital = edit.start < edit.end and text[edit.start].isupper()
    parts = []
    for start, end in edit.parts:
        within = [other for other in inner if start <= other.start and other.end <= end]
        part = _rendered(text, within, start, end)
        parts.append(part[:1].lower() + part[1:] if capital and start == edit.start else part)
    filled = _wrapped(text, edit).format(*parts)
    return filled[:1].upper() + filled[1:] if capital else filled


def _wrapped(text: str, edit: Edit) -> str:
    """Return the template with the line break that the edit would swallow."""
    for start, end in _gaps(edit):
        broken = re.search(r"[ \t]*\n[ \t]*", text[start:end])
        if broken:
            return edit.template.replace(" ", broken[0], 1)
    return edit.template


def _gaps(edit: Edit) -> list[Span]:
    """Return the spans of an edit outside of its parts."""
    edges = [edit.start, *(edge for part in sorted(edit.parts) for edge in part), edit.end]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _clash(edit: Edit, other: Edit) -> bool:
    """Tell whether two edits can not both be applied."""
    if edit[:2] == other[:2] and edit.parts and other.parts:
        return True
    if edit.end < other.start or other.end < edit.start:
        return False
    if (
        edit.start < edit.end
        and other.start < other.end
        and (edit.end == other.start or other.end == edit.start)
    ):
        return False
    return not any(
        start <= inner.start and inner.end <= end
        for outer, inner in ((edit, other), (other, edit))
        for start, end in outer.parts
    )


def _sites(text: str, sentence: Sentence, rule: Rule, rng: random.Random) -> Iterator[Edit]:
    body = text[sentence.start : sentence.end]
    for match in rule.pattern.finditer(body):
        template = rng.choice(rule.templates)
        if template == clauses.LEAVE:
            continue
        parts = tuple(
            (sentence.start + match.start(group), sentence.start + match.end(group))
            for group in range(1, rule.pattern.groups + 1)
        )
        start, end = (sentence.start + edge for edge in match.span())
        written = re.sub(r"\s+", " ", match[0])
        if written[1:] == written[1:].lower() or parts:
            yield _with_article(text, sentence, Edit(start, end, template, parts))


def _with_article(text: str, sentence: Sentence, edit: Edit) -> Edit:
    """Return the edit with the article before it, if the new first letter needs the other one."""
    article = re.search(r"\b([Aa]n?)\s$", text[sentence.start : edit.start])
    if article is None or edit.template[:1] in "{ " or edit.start == edit.end:
        return edit
    fitting = "an" if _VOWEL_SOUND.match(edit.template) else "a"
    if article[1].lower() == fitting:
        return edit
    start = sentence.start + article.start()
    return edit._replace(start=start, template=f"{fitting} {edit.template}")


@lru_cache(maxsize=1)
def _rules() -> list[Rule]:
    """Return the rules, those first that win where sites overlap."""
    whole = [*_table(clauses.CLAUSES), *_table(clauses.ENDINGS)]
    single = [*_table(PHRASES), *_table(WORDING), *verb_rules(), *_table(CONTEST)]
    return [
        *(Rule(_compiled(pattern), tuple(new), True) for pattern, new in whole),
        *(Rule(_compiled(pattern), tuple(new)) for pattern, new in _table(clauses.OPENINGS)),
        *(Rule(_compiled(_EDGE.replace("{}", old)), tuple(new)) for old, new in single),
    ]


# A rule starts at a word and, if it ends with one, at that word's end.
_EDGE = r"(?<![\w'\u2019-])(?:{})(?:(?<!\w)|(?![\w'\u2019-]|\.\w))"


def _table(lines: str) -> Iterator[tuple[str, list[str]]]:
    joined = re.sub(r"\n +", "", re.sub(r"\n +(?==>|\| )", " ", lines.strip()))
    for line in joined.splitlines():
        pattern, new = line.split(" => ")
        yield pattern, [template.replace("_", " ") for template in new.split(" | ")]


def _compiled(pattern: str) -> re.Pattern[str]:
    for name, value in clauses.CLASSES.items():
        pattern = pattern.replace(f"<{name}>", value)
    pattern = re.sub(r"<(not )?after ([^>]+)>", _looking_back, pattern)
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)


def _looking_back(written: re.Match[str]) -> str:
    sign, join = ("!", "") if written[1] else ("=", "|")
    words = [word.replace(" ", r"\s") for word in written[2].split("/")]
    return "(?:" + join.join(rf"(?<{sign}\b{word}\s)" for word in words) + ")"
