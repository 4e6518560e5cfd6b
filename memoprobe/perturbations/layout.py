"""Change the layout of code and nothing else: every token, comment and text stays."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import tree_sitter

from memoprobe.languages import decode
from memoprobe.perturbations.levels import Levels
from memoprobe.perturbations.syntax import (
    Code,
    Grammar,
    compiles,
    graded,
    grammar,
    kinds,
    points,
    shuffled,
    skeleton,
    within,
)
from memoprobe.records import Sample

_OPERATORS = kinds(
    "= == === != !== < > <= >= <=> + - * / // % ** << >> & | ^ && || := => += -= *= /= %= ~ @"
)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_BEFORE_BRACKET = frozenset({"if", "for", "while", "switch", "catch"})
# Kinds whose opening brace may stand on a line of its own. A line end before it ends Go's
# statement, and Ruby's and Python's braces are no blocks.
_BRACED = kinds(
    "compound_statement field_declaration_list block class_body constructor_body declaration_list"
    " statement_block"
)
_BRACED_LANGUAGES = frozenset({"c", "cpp", "java", "javascript", "php", "csharp"})
_WIDTHS = {"    ": ("  ", "\t"), "\t": ("    ", "  ")}  # of others, 4 blanks or a tab


class _Unit(NamedTuple):
    gaps: Mapping[int, str]  # index of a gap between leaves -> its new text
    indent: tuple[str, str] | None = None  # what one step becomes, in all lines


def layout(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample's code in ever more foreign layout, registered as ``format``.

    Blank lines, line breaks after commas in brackets, blanks around operators, in brackets
    and after commas, the place of opening braces, and the width of the indentation; at the
    top level all of them wherever there is one. The tokens stay, so ``edit_share`` is 0.
    Quotes stay too, for they are part of a token.

    Raises:
        ConfigError: The text is prose, or in a language without a grammar.
    """
    spec = grammar(sample, "format", intensity)
    code = Code(sample.text, sample.language)
    gaps = _Gaps(code)
    before = (skeleton(code), compiles(code))

    def attempt(units: Sequence[_Unit]) -> tuple[str, bool]:
        text = gaps.laid_out(units)
        after = Code(text, sample.language)
        return text, (skeleton(after), compiles(after) or not before[1]) == (before[0], True)

    units = shuffled(list(_units(code, spec, gaps, rng)), rng)
    return graded(sample, "format", (levels, intensity), units, attempt)


class _Gaps:
    """Hold the texts between a program's leaves; the last is after the last leaf."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self.leaves = code.leaves
        edges = [0, *(edge for leaf in self.leaves for edge in _edges(leaf, code)), len(code.data)]
        stretches = [decode(code.data[slice(*edge)]) for edge in pairwise(edges)]
        self._texts, self._said = stretches[::2], [*stretches[1::2], ""]
        self.line_end = decode(code.line_end)

    def free(self) -> dict[int, str]:
        """Return the gaps between two leaves that are white space of no meaning, by index.

        There are none beside a preprocessor's line, in what a macro may quote, and in what
        does not parse.
        """
        spans = self._code.directives, self._code.errors, _quoted(self._code)
        return {
            i + 1: self._texts[i + 1]
            for i, (here, there) in enumerate(pairwise(self.leaves))
            if not self._texts[i + 1].strip(" \t\r\n")
            and not any(within(fixed, leaf.start_byte) for leaf in (here, there) for fixed in spans)
        }

    def indents(self) -> Iterator[tuple[int, str]]:
        """Yield the indentation of each line that begins outside a leaf, by its gap's index."""
        for i, text in enumerate(self._texts[:-1]):
            if (i == 0 or "\n" in text) and not text.strip(" \t\r\n"):
                yield i, text[text.rfind("\n") + 1 :]

    def indent_at(self, gap: int) -> str:
        """Return the indentation of the line on which the leaf before a gap stands."""
        line = self._code.data[self._code.line_start(self.leaves[gap - 1].start_byte) :]
        return decode(line[: len(line) - len(line.lstrip(b" \t"))])

    def laid_out(self, units: Sequence[_Unit]) -> str:
        """Return the program with its gaps changed, the indentation last."""
        texts = list(self._texts)
        for unit in units:
            for i, text in unit.gaps.items():
                texts[i] = text
        for old, new in (unit.indent for unit in units if unit.indent):
            for i, text in enumerate(texts[:-1]):
                if (i == 0 or "\n" in text) and not text.strip(" \t\r\n"):
                    head, line_end, tail = text.rpartition("\n")
                    texts[i] = head + line_end + _reindented(tail, old, new)
        pairs = zip(texts, self._said, strict=True)
        return "".join(part for pair in pairs for part in pair)


def _edges(leaf: tree_sitter.Node, code: Code) -> tuple[int, int]:
    """Return where a leaf is; what some grammars include of the line end is none of it."""
    return code.span(leaf) if code.is_comment(leaf) else (leaf.start_byte, leaf.end_byte)


def _quoted(code: Code) -> list[tuple[int, int]]:
    """Return where arguments of macros of C are: one such as ``assert`` may quote its own."""
    found: list[tuple[int, int]] = []
    for leaf in code.leaves if code.language in {"c", "cpp"} else ():
        call = leaf.parent
        name = decode(code.said(leaf))
        is_macro = leaf.type == "identifier" and (name.isupper() or name == "assert")
        if not is_macro or call is None or call.type != "call_expression":
            continue
        if not found or call.end_byte > found[-1][1]:
            found.append((call.start_byte, call.end_byte))
    return found


def _reindented(indent: str, old: str, new: str) -> str:
    count = 0
    while indent.startswith(old):
        indent, count = indent[len(old) :], count + 1
    return new * count + indent


def _units(code: Code, spec: Grammar, gaps: _Gaps, rng: random.Random) -> Iterator[_Unit]:
    """Yield changes of layout, each gap in one of them but for the indentation."""
    step = _step(gaps)
    if step:
        yield _Unit({}, (step, rng.choice(_WIDTHS.get(step, ("    ", "\t")))))
    free = gaps.free()
    starts = {point.node.start_byte for point in points(code, spec)}
    changes = {
        **_operators(gaps, free),
        **_insides(gaps, free),
        **_keywords(gaps, free),
        **_commas(gaps, free, step or "    ", rng),
        **_braces(code, gaps, free),
        **_blank_lines(gaps, free, starts),
    }
    used: set[int] = set()
    for where, new in changes.items():
        if not used.intersection(where) and any(free[i] != new[k] for k, i in enumerate(where)):
            used.update(where)
            yield _Unit(dict(zip(where, new, strict=True)))


_Changes = dict[tuple[int, ...], tuple[str, ...]]  # indices of gaps -> their new texts


def _step(gaps: _Gaps) -> str | None:
    """Return the indentation that one level adds as a rule, None where nothing is indented."""
    steps: Counter[str] = Counter()
    for (_, here), (_, there) in pairwise(gaps.indents()):
        if there.startswith(here) and len(set(there)) == 1 and len(there) > len(here):
            steps[there[len(here) :]] += 1
    return min(steps, key=lambda step: (-steps[step], len(step), step), default=None)


def _is_between(leaf: tree_sitter.Node) -> bool:
    return leaf.prev_sibling is not None and leaf.next_sibling is not None


def _operators(gaps: _Gaps, free: Mapping[int, str]) -> _Changes:
    """Return blanks around an operator put in or taken out, on both of its sides."""
    found: _Changes = {}
    for i, leaf in enumerate(gaps.leaves):
        around = free.get(i), free.get(i + 1)
        if leaf.type in _OPERATORS and _is_between(leaf) and around in {("", ""), (" ", " ")}:
            found[i, i + 1] = ("", "") if around[0] else (" ", " ")
    return found


def _insides(gaps: _Gaps, free: Mapping[int, str]) -> _Changes:
    """Return blanks put inside a pair of brackets, or taken out."""
    found: _Changes = {}
    places = {leaf.id: i for i, leaf in enumerate(gaps.leaves)}
    for i, leaf in enumerate(gaps.leaves):
        last = leaf.parent.children[-1] if leaf.parent and leaf.type in {"(", "["} else None
        if last is None or last.type != _BRACKETS[leaf.type] or free.get(i + 1) not in {"", " "}:
            continue
        close = places.get(last.id, 0)  # 0: it is missing
        if close > i + 1 and free.get(close) == free[i + 1]:
            new = "" if free[close] else " "
            found[i + 1, close] = (new, new)
    return found


def _keywords(gaps: _Gaps, free: Mapping[int, str]) -> _Changes:
    """Return the blank between a keyword and its bracket taken out or put in."""
    return {
        (i,): ("" if free[i] else " ",)
        for i, (here, there) in enumerate(pairwise(gaps.leaves), start=1)
        if here.type in _BEFORE_BRACKET and there.type == "(" and free.get(i) in {"", " "}
    }


def _commas(gaps: _Gaps, free: Mapping[int, str], step: str, rng: random.Random) -> _Changes:
    """Return a blank or a line break put after a comma in brackets, or taken out."""
    found: _Changes = {}
    for i, leaf in enumerate(gaps.leaves, start=1):
        if leaf.type != "," or i not in free or gaps.leaves[i].type in _BRACKETS.values():
            continue
        is_inside = leaf.parent and leaf.parent.children[0].type in _BRACKETS
        broken = gaps.line_end + gaps.indent_at(i) + step * 2
        if "\n" not in free[i]:
            found[i,] = (broken if is_inside and rng.random() < 0.5 else "" if free[i] else " ",)
        elif is_inside:
            found[i,] = (" ",)
    return found


def _braces(code: Code, gaps: _Gaps, free: Mapping[int, str]) -> _Changes:
    """Return an opening brace put on a line of its own, or at the end of the line before."""
    found: _Changes = {}
    if code.language not in _BRACED_LANGUAGES:
        return found
    for i, (here, there) in enumerate(pairwise(gaps.leaves), start=1):
        block = there.parent
        if there.type != "{" or block is None or block.type not in _BRACED or i not in free:
            continue
        if block.children[0].id != there.id or here.type in {"{", "}", ";"}:
            continue
        if "\n" not in free[i]:
            found[i,] = (gaps.line_end + gaps.indent_at(i),)
        elif not code.is_comment(here):
            found[i,] = (" ",)
    return found


def _blank_lines(gaps: _Gaps, free: Mapping[int, str], starts: set[int]) -> _Changes:
    """Return a blank line put before a statement, or all of them between two lines taken out."""
    found: _Changes = {}
    for i, text in free.items():
        ends = text.count("\n")
        if ends > 1:
            found[i,] = (re.sub(r"^(.*?\n)(?:.*\n)+", r"\1", text, flags=re.DOTALL),)
        elif ends == 1 and gaps.leaves[i].start_byte in starts:
            found[i,] = (text.replace("\n", "\n" + gaps.line_end, 1),)
    return found
