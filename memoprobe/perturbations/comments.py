"""Put comments into code that say nothing of it, and take its own away."""

import random
import re
from collections.abc import Iterator, Sequence

from memoprobe.perturbations.levels import Levels
from memoprobe.perturbations.syntax import (
    Code,
    Edit,
    Grammar,
    compiles,
    edited,
    graded,
    grammar,
    points,
    shuffled,
    skeleton,
    spread,
)
from memoprobe.records import Sample

_NEUTRAL = (
    "---",
    "Next step.",
    "Continue here.",
    "Another part.",
    "This is a comment.",
    "See also below.",
    "Section.",
    "As before.",
    "Here we go on.",
    "One more line.",
    "Note: nothing to add.",
    "End of this part.",
)
_MARKS = {"python": "# TEXT", "ruby": "# TEXT", "c": "/* TEXT */"}  # of others, "// TEXT"
# Comments that some tool obeys.
_OBEYED = re.compile(
    rb"#!|\A\W*(?:-\*-|vim?:|(?:en)?coding[:=]|type:|noqa|pragma|pylint|mypy|fmt:|isort|nosec"
    rb"|(?:frozen_string_literal|warn_indent|shareable_constant_value|typed):|rubocop|go:|\+build"
    rb"|line |export |eslint|jshint|jslint|global |globals |ts-|flow|prettier|istanbul|webpack"
    rb"|<reference|NOLINT|clang-format|lint|fall|noinspection|phpcs|ReSharper)|@\w",
    re.IGNORECASE | re.DOTALL,
)


def comments(
    sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
) -> Levels:
    """Return the sample's code with ever more neutral comments, and ever fewer of its own.

    At the top level every other statement has a comment above it, and the code's own are
    gone but for those that tools obey. Docstrings stay. The tokens stay, so ``edit_share``
    is 0.

    Raises:
        ConfigError: The text is prose, or in a language without a grammar.
    """
    spec = grammar(sample, "comments", intensity)
    code = Code(sample.text, sample.language)
    before = (skeleton(code), compiles(code))

    def attempt(units: Sequence[Edit]) -> tuple[str, bool]:
        text, _ = edited(code.data, units)
        after = Code(text, sample.language)
        return text, (skeleton(after), compiles(after) or not before[1]) == (before[0], True)

    units = shuffled([*_put(code, spec, levels, rng), *_taken_away(code)], rng)
    return graded(sample, "comments", (levels, intensity), units, attempt)


def _put(code: Code, spec: Grammar, levels: int, rng: random.Random) -> Iterator[Edit]:
    mark = _MARKS.get(code.language, "// TEXT")
    for point in spread(points(code, spec), levels, rng):
        text = mark.replace("TEXT", rng.choice(_NEUTRAL)).encode("ascii")
        yield Edit(point.start, point.start, point.indent + text + code.line_end)


def _taken_away(code: Code) -> Iterator[Edit]:
    """Yield the cut of each comment that ends its line, with the line where nothing else is."""
    if 'import "C"' in code.text:  # Go compiles the comment before it
        return
    for leaf in code.leaves:
        start, end = code.span(leaf)
        line = code.line_start(start)
        head = code.data[line:start]
        rest = re.compile(rb"[ \t]*(?:\r?\n|\Z)").match(code.data, end)
        if not code.is_comment(leaf) or rest is None or _OBEYED.search(code.data[start:end]):
            continue
        if head.strip(b" \t"):
            yield Edit(line + len(head.rstrip(b" \t")), end, b"")
        else:
            yield Edit(line, rest.end(), b"")
