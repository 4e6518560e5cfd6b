"""Reword sentences by a chat model: what it is asked, and how its replies are read.

One request holds up to CHUNK sentences of a sample, numbered, and asks for one strength of
rewording; the reply is read line by line under the same numbers.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import NamedTuple

from memoprobe.perturbations.paraphrase import Rejected
from memoprobe.perturbations.protected import protected, sentences, task_identifiers
from memoprobe.perturbations.sources import Rewordings
from memoprobe.records import Sample

CHUNK = 10
STRENGTHS = (
    "Change as little as possible: replace one or two words by synonyms.",
    "Replace several words by synonyms and keep the order of the sentence.",
    "Use other words wherever possible and change the order of a few phrases.",
    "Rewrite with a different sentence structure and different words.",
    "Rewrite from scratch as another author would, sharing as few words as possible.",
)
QUESTION = Template("""\
Reword each of the numbered sentences below, which are part of a programming task. $strength

Keep the meaning exactly: whoever solves the task from your words must write the same program.$kept

$sentences

Answer with the reworded sentences only, one a line, each behind its number.""")
_ECHO = re.compile(r"without any change|reworded|numbered sentence|synonym", re.IGNORECASE)
_NUMBERED = re.compile(r"^[\s>*#\-(\[]*(\d+)[*\])]*\s*[.):\]\-][*\s]+(\S.*?)\s*$", re.MULTILINE)


class Question(NamedTuple):
    """Hold one question: sentences of a sample at one strength."""

    level: int  # from 1
    chunk: int  # from 0
    prompt: str


def questions(sample: Sample, levels: int) -> Iterator[Question]:
    """Yield what the paraphraser is asked about a sample; nothing where it has no sentence."""
    numbered = list(enumerate(_sentences(sample), start=1))
    for level in range(1, levels + 1):
        for chunk, start in enumerate(range(0, len(numbered), CHUNK)):
            part = numbered[start : start + CHUNK]
            prompt = QUESTION.substitute(
                sentences="\n".join(f"{number}. {text}" for number, text in part),
                strength=_strength(level, levels),
                kept=_kept(sample, [text for _, text in part]),
            )
            yield Question(level, chunk, prompt)


def _sentences(sample: Sample) -> list[str]:
    return [" ".join(sample.text[start:end].split()) for start, end, _ in sentences(sample.text)]


def _kept(sample: Sample, texts: Sequence[str]) -> str:
    """Return what to say of that which must stay as it is in some sentences, each once."""
    names = task_identifiers(sample)
    spans = (text[start:end].strip() for text in texts for start, end in protected(text, names))
    listed = " ".join(dict.fromkeys(filter(None, spans)))
    return f" Copy these without any change: {listed}" if listed else ""


def _strength(level: int, levels: int) -> str:
    """Return the instruction of a level, the strongest at the last."""
    place = round(level / levels * len(STRENGTHS)) - 1
    return STRENGTHS[max(place, 0)]


def fingerprint() -> str:
    """Return a hash of all that makes a question."""
    text = "\n".join((QUESTION.template, *STRENGTHS))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def replied(sample: Sample, replies: Mapping[int, Sequence[str | None]]) -> Rewordings:
    """Return the rewordings that replies hold; they are all there is, so there is one draw.

    Args:
        sample: What was asked about.
        replies: Chunk -> the replies to its questions; None is one that gave no answer.
    """
    n = len(_sentences(sample))

    def rewordings(asked: Sequence[str], draw: int) -> list[list[str | Rejected]]:
        found: list[list[str | Rejected]] = [[] for _ in asked]
        if draw:
            return found
        for chunk, texts in sorted(replies.items()):
            places = range(chunk * CHUNK, min((chunk + 1) * CHUNK, n))
            for text in texts:
                lines = read(text or "", places.start + 1, len(places))
                for place in places:
                    found[place].append(_taken(lines.get(place + 1)))
        return found

    return rewordings


def _taken(line: str | None) -> str | Rejected:
    """Return a line of a reply, unless there is none or it repeats the question."""
    if not line:
        return Rejected("unread")
    return Rejected("echo") if _ECHO.search(line) else line


def read(reply: str, first: int, n: int) -> dict[int, str]:
    """Return number -> line of a reply about ``n`` sentences numbered from ``first``.

    The last line of a number counts. A reply about one sentence needs no number.
    """
    lines = {int(number): text for number, text in _NUMBERED.findall(reply)}
    plain = reply.strip()
    if n == 1 and not lines and plain and "\n" not in plain:
        return {first: plain}
    return lines
