"""Turn samples into what the page's script shows: texts as differences, equal answers counted.

A difference is a list of runs: a number n keeps the next n characters of the text before,
-n drops them, a string is new. Characters are UTF-16 code units, as JavaScript counts them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from memoprobe.report.data import Example, ExampleAnswer, ExampleLevel, labelled
from memoprobe.report.diffs import segments, shortened
from memoprobe.report.text import visible

MAX_BYTES = 4_000_000
"""How large all samples together may be; of those of a cell the last chosen are left out."""

MOST_ANSWERS = 6
"""How many different answers one level shows; the rest is counted."""

Runs = list[int | str]


def as_data(examples: Sequence[Example], max_bytes: int = MAX_BYTES) -> list[dict[str, Any]]:
    """Return the samples as the page's script reads them, in the order that they came in."""
    kept = {}
    size = 0
    for place, example in sorted(enumerate(examples), key=lambda pair: pair[1].rank):
        found = _sample(example)
        size += len(json.dumps(found, separators=(",", ":")))
        if size > max_bytes:
            break
        kept[place] = found
    return [found for _, found in sorted(kept.items())]


def _sample(example: Example) -> dict[str, Any]:
    first = example.levels[0] if example.levels else None
    prompt = _shown(first.prompt) if first else ""
    answer = _commonest(first) if first else ""
    answers = [each for level in example.levels for each in level.answers]
    metrics = sorted({name for each in answers for name, _ in each.scores})
    texts: dict[str, int] = {}
    levels = [_level(level, prompt, metrics, texts) for level in example.levels]
    return {
        "model": visible(example.model),
        "benchmark": visible(example.benchmark),
        "id": visible(example.sample_id),
        "perturbation": visible(labelled(example.perturbation)),
        "metric": visible(example.metric),
        "control": example.control,
        "reasons": list(example.reasons),
        "flaws": {visible(kind): n for kind, n in example.flaws.items()},
        "values": {visible(name): value for name, value in example.values.items()},
        "corner": example.corner,
        "prompt": prompt,
        "answer": answer,
        "reference": _reference(example),
        "metrics": [visible(name) for name in metrics],
        "texts": [runs(answer, text) for text in texts],
        "levels": levels,
    }


def _reference(example: Example) -> str | None:
    found = [level.reference for level in example.levels if level.reference is not None]
    return _shown(found[0]) if found else None


def _shown(text: str) -> str:
    return visible(shortened(text))


def _commonest(level: ExampleLevel) -> str:
    """Return the text most answers of a level share, the earliest of several."""
    texts = Counter(answer.text for answer in level.answers if answer.text is not None)
    return _shown(texts.most_common(1)[0][0]) if texts else ""


def _level(
    level: ExampleLevel, prompt: str, metrics: Sequence[str], texts: dict[str, int]
) -> dict[str, Any]:
    equal = Counter(level.answers).most_common()
    return {
        "level": level.level,
        "edits": level.edit_share,
        "mean": level.mean,
        "prompt": runs(prompt, _shown(level.prompt)),
        "answers": [
            [times, *_answer(each, metrics, texts)] for each, times in equal[:MOST_ANSWERS]
        ],
        "more": sum(times for _, times in equal[MOST_ANSWERS:]),
    }


def _answer(
    each: ExampleAnswer, metrics: Sequence[str], texts: dict[str, int]
) -> Iterator[int | str | list[float | None] | None]:
    """Yield an answer's state, its scores by metric, the number of its text, and its verdict."""
    scores = dict(each.scores)
    yield visible(each.state)
    yield [scores.get(name) for name in metrics]
    yield None if each.text is None else texts.setdefault(_shown(each.text), len(texts))
    yield each.verdict and visible(each.verdict)


def runs(before: str, after: str) -> Runs:
    """Return how ``after`` came from ``before``."""
    found: Runs = []
    for kind, text in segments(before, after):
        length = len(text.encode("utf-16-le")) // 2
        found.append(text if kind == "ins" else length if kind == "same" else -length)
    return found
