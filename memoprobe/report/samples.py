"""Turn samples into what the page's script shows: texts as differences, equal answers counted.

A difference is a list of runs: a number n keeps the next n characters of the text before,
-n drops them, a string is new. Characters are UTF-16 code units, as JavaScript counts them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from memoprobe.report.data import Example, ExampleAnswer, ExampleLevel
from memoprobe.report.diffs import segments, shortened
from memoprobe.report.text import visible

Runs = list[int | str]


def as_data(examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Return the samples as the page's script reads them."""
    return [_sample(example) for example in examples]


def _sample(example: Example) -> dict[str, Any]:
    first = example.levels[0] if example.levels else None
    prompt = _shown(first.prompt) if first else ""
    answer = _commonest(first) if first else ""
    return {
        "model": visible(example.model),
        "benchmark": visible(example.benchmark),
        "id": visible(example.sample_id),
        "perturbation": visible(example.perturbation),
        "metric": visible(example.metric),
        "control": example.control,
        "reasons": list(example.reasons),
        "flaws": {visible(kind): n for kind, n in example.flaws.items()},
        "values": {visible(name): value for name, value in example.values.items()},
        "corner": example.corner,
        "prompt": prompt,
        "answer": answer,
        "reference": _reference(example),
        "levels": [_level(level, prompt, answer) for level in example.levels],
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


def _level(level: ExampleLevel, prompt: str, answer: str) -> dict[str, Any]:
    return {
        "level": level.level,
        "edits": level.edit_share,
        "mean": level.mean,
        "prompt": runs(prompt, _shown(level.prompt)),
        "answers": [
            {**_answer(each, answer), "times": times}
            for each, times in Counter(level.answers).most_common()
        ],
    }


def _answer(each: ExampleAnswer, answer: str) -> dict[str, Any]:
    return {
        "state": visible(each.state),
        "scores": {visible(name): value for name, value in each.scores},
        "verdict": each.verdict and visible(each.verdict),
        "text": None if each.text is None else runs(answer, _shown(each.text)),
    }


def runs(before: str, after: str) -> Runs:
    """Return how ``after`` came from ``before``."""
    found: Runs = []
    for kind, text in segments(before, after):
        length = len(text.encode("utf-16-le")) // 2
        found.append(text if kind == "ins" else length if kind == "same" else -length)
    return found
