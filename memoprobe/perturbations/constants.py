"""Change numbers, texts and comparisons in code: another task, and not the same one reworded."""

import random
import re
from collections.abc import Iterator, Sequence

import tree_sitter

from memoprobe.languages import decode, encode
from memoprobe.perturbations.levels import Levels
from memoprobe.perturbations.syntax import (
    Code,
    Edit,
    compiles,
    edited,
    graded,
    grammar,
    is_text,
    kinds,
    shuffled,
)
from memoprobe.records import Sample

_NUMBERS = kinds(
    "integer float number number_literal decimal_integer_literal hex_integer_literal"
    " octal_integer_literal binary_integer_literal decimal_floating_point_literal int_literal"
    " float_literal integer_literal real_literal"
)
_TEXTS = kinds(
    "string_content string_fragment string_literal_content interpreted_string_literal_content"
    " raw_string_literal_content"
)
_OPPOSITES = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "===": "!==",
    "!==": "===",
    "&&": "||",
    "||": "&&",
    "and": "or",
    "or": "and",
    "-": "+",  # not the other way about, for texts are added too
    "-=": "+=",
    "true": "false",
    "false": "true",
    "True": "False",
    "False": "True",
}
_COMPUTED = re.compile(r"binary|boolean|comparison|augmented|assignment|operator")
# What stands on a line like this names a file or a module; of two equal labels one is too many.
_NAMING = re.compile(rb"[ \t]*(?:#|import\b|from\b|require|include|package\b|use\b|using\b|case\b)")
_FORMATTING = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]*|\\.|\{[^{}]*\}", re.DOTALL)


def constants(
    sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
) -> Levels:
    """Return the sample's code with ever more numbers, texts and comparisons altered.

    This changes what the program does, so the reference answers another question than the
    variant: who still gives it remembers it. A number gets another digit, a text another
    letter, and a comparison, ``and``, ``or``, minus or truth value its opposite. The result
    parses as before. Docstrings, names of modules and labels of cases stay.

    Raises:
        ConfigError: The text is prose, or in a language without a grammar.
    """
    grammar(sample, "constants", intensity)
    code = Code(sample.text, sample.language)
    before = (code.root.has_error, compiles(code))

    def attempt(units: Sequence[Edit]) -> tuple[str, bool]:
        text, _ = edited(code.data, units)
        after = Code(text, sample.language)
        return text, (after.root.has_error, compiles(after)) == before

    units = shuffled(list(_edits(code, rng)), rng)
    return graded(sample, "constants", (levels, intensity), units, attempt)


def _edits(code: Code, rng: random.Random) -> Iterator[Edit]:
    stack = [code.root]
    while stack:
        node = stack.pop()
        line = code.line_start(node.start_byte)
        if is_text(node) or node.type == "preproc_arg":
            continue
        stack.extend(reversed(node.children))
        if node.child_count == 0 and not _NAMING.match(code.data, line):
            new = _altered(node, decode(code.said(node)), rng)
            if new is not None:
                yield Edit(node.start_byte, node.end_byte, encode(new))


def _altered(leaf: tree_sitter.Node, said: str, rng: random.Random) -> str | None:
    """Return what a leaf becomes, None where it stays."""
    if leaf.type in _NUMBERS:
        return _another_number(said, rng)
    if leaf.type in _TEXTS:
        return _another_text(said, rng)
    computed = leaf.parent is not None and _COMPUTED.search(leaf.parent.type)
    is_operator = computed and leaf.prev_sibling and leaf.next_sibling
    return _OPPOSITES.get(said) if is_operator or said.casefold() in {"true", "false"} else None


def _another_number(said: str, rng: random.Random) -> str | None:
    """Return a number with its last digit changed, to none that its notation forbids."""
    mantissa = re.match(r"0[xX][\da-fA-F]+|0[bB][01]+|\d[\d_]*", said)
    places = [i for i in range(mantissa.end() if mantissa else 0) if said[i].isdigit()]
    if not places:
        return None
    place = places[-1]
    digits = "01" if said[:2] in {"0b", "0B"} else "1234567"
    return said[:place] + rng.choice(digits.replace(said[place], "")) + said[place + 1 :]


def _another_text(said: str, rng: random.Random) -> str | None:
    """Return a text with one letter changed, None where it has none outside of formatting."""
    fixed = {i for match in _FORMATTING.finditer(said) for i in range(*match.span())}
    letters = "abcdefghijklmnopqrstuvwxyz"
    places = [i for i, char in enumerate(said) if char.lower() in letters and i not in fixed]
    if not places:
        return None
    place = rng.choice(places)
    new = rng.choice(letters.replace(said[place].lower(), ""))
    return said[:place] + (new.upper() if said[place].isupper() else new) + said[place + 1 :]
