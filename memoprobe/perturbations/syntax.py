"""Take code apart for perturbations that must keep what it does, and check that they did.

A perturbation draws units, each a small change that can be made or left. A level makes the
first so many of them, so levels are nested. What a text says to its parser is its skeleton:
whatever leaves that alone leaves the program alone.
"""

import ast
import random
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

import tree_sitter

from memoprobe.errors import ConfigError
from memoprobe.languages import LANGUAGES, decode, encode, parse
from memoprobe.perturbations.levels import Levels, check, steps, variants
from memoprobe.records import Sample

Unit = TypeVar("Unit")
Span = tuple[int, int]  # byte offsets, the end excluded


def kinds(names: str) -> frozenset[str]:
    """Return the kinds of node named in a text."""
    return frozenset(names.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Say where statements and functions stand in a language; kinds are its grammar's."""

    blocks: frozenset[str]  # hold statements, before each of which another may stand
    holders: frozenset[str]  # hold functions: a file, a namespace, a class
    functions: frozenset[str]
    opening: frozenset[str] = frozenset()  # nothing may be put above them in a file
    inner: frozenset[str] = frozenset()  # parts of the statement around, not statements
    classes: frozenset[str] = frozenset()  # whose block holds members


_C = Grammar(
    blocks=kinds("compound_statement"),
    holders=kinds("translation_unit declaration_list field_declaration_list"),
    functions=kinds("function_definition"),
    inner=kinds("case_statement"),
)
GRAMMARS: Mapping[str, Grammar] = {
    "python": Grammar(
        blocks=kinds("module block"),
        holders=kinds("module block"),
        functions=kinds("function_definition"),
        opening=kinds("future_import_statement"),
        inner=kinds("case_clause"),
        classes=kinds("class_definition"),
    ),
    "java": Grammar(
        blocks=kinds("block constructor_body"),
        holders=kinds("program class_body"),
        functions=kinds("method_declaration"),
        inner=kinds("explicit_constructor_invocation"),
    ),
    "c": _C,
    "cpp": _C,
    "javascript": Grammar(
        blocks=kinds("program statement_block"),
        holders=kinds("program statement_block class_body"),
        functions=kinds("function_declaration method_definition"),
    ),
    "php": Grammar(
        blocks=kinds("program compound_statement"),
        holders=kinds("program declaration_list"),
        functions=kinds("function_definition method_declaration"),
        opening=kinds("namespace_definition declare_statement php_tag text text_interpolation"),
    ),
    "go": Grammar(
        blocks=kinds("statement_list"),
        holders=kinds("source_file"),
        functions=kinds("function_declaration method_declaration"),
    ),
    "ruby": Grammar(
        blocks=kinds("program body_statement then block_body"),
        holders=kinds("program body_statement"),
        functions=kinds("method"),
        inner=kinds("rescue ensure else"),
        classes=kinds("class module singleton_class"),
    ),
    "csharp": Grammar(
        blocks=kinds("block"),
        holders=kinds("compilation_unit declaration_list"),
        functions=kinds("method_declaration"),
    ),
}


def grammar(sample: Sample, perturbation: str, intensity: str) -> Grammar:
    """Return the grammar of a sample that a perturbation of code can alter.

    Raises:
        ConfigError: The text is prose, its language has no row in GRAMMARS, or the intensity
            is unknown.
    """
    check(sample, perturbation, "code", intensity)
    if sample.language not in GRAMMARS:
        msg = (
            f"perturbation {perturbation} cannot alter {sample.language!r} of {sample.benchmark} "
            f"sample {sample.sample_id}: languages are {', '.join(sorted(GRAMMARS))}"
        )
        raise ConfigError(msg)
    return GRAMMARS[sample.language]


class Part(NamedTuple):
    """Hold a node of a skeleton: how deep it stands, what it is and, of a leaf, its text."""

    depth: int
    kind: str
    text: bytes


class Code:
    """Hold a text and its tree; offsets count bytes."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self.language = text, language
        self.data = encode(text)
        self.root = parse(self.data, language)
        self.line_end = b"\r\n" if b"\r\n" in self.data else b"\n"

    def said(self, node: tree_sitter.Node) -> bytes:
        """Return the text of a node."""
        return self.data[node.start_byte : node.end_byte]

    def span(self, node: tree_sitter.Node) -> Span:
        """Return where a node stands, without the line end that some nodes include."""
        return node.start_byte, node.start_byte + len(self.said(node).rstrip())

    def is_comment(self, node: tree_sitter.Node) -> bool:
        """Tell whether a node is a comment."""
        return node.type in LANGUAGES[self.language].comments

    def is_blank(self, node: tree_sitter.Node) -> bool:
        """Tell whether a leaf is only the end of a line."""
        return not node.is_named and not node.is_missing and not self.said(node).strip()

    def line_start(self, position: int) -> int:
        """Return where the line that holds an offset begins."""
        return self.data.rfind(b"\n", 0, position) + 1

    @cached_property
    def leaves(self) -> list[tree_sitter.Node]:
        """Return the leaves in order, comments among them; a literal of text is one."""
        whole = LANGUAGES[self.language].whole
        found, stack = [], [self.root]
        while stack:
            node = stack.pop()
            if node.child_count and node.type not in whole:
                stack.extend(reversed(node.children))
            elif self.said(node) and not self.is_blank(node):
                found.append(node)
        return found

    @cached_property
    def errors(self) -> list[Span]:
        """Return where what does not parse is; its layout decides what a parser makes of it."""
        found: list[Span] = []
        stack = [self.root] if self.root.has_error else []
        while stack:
            node = stack.pop()
            if node.is_error:
                found.append((node.start_byte, node.end_byte))
            elif node.has_error:
                stack.extend(reversed(node.children))
        return found

    @cached_property
    def directives(self) -> list[Span]:
        """Return where the preprocessor's lines are, continued ones included."""
        if self.language not in {"c", "cpp", "csharp"}:
            return []
        pattern = re.compile(rb"^[ \t]*#(?:[^\n\\]|\\\r?\n|\\)*", re.MULTILINE)
        return [match.span() for match in pattern.finditer(self.data)]


def within(spans: Sequence[Span], start: int, end: int | None = None) -> bool:
    """Tell whether an offset, or all up to ``end``, is in one of ``spans``, sorted and apart."""
    index = bisect_right(spans, start, key=lambda span: span[0]) - 1
    return index >= 0 and max(start + 1, end or 0) <= spans[index][1]


def skeleton(
    code: Code, without: Sequence[Span] = (), slices: dict[int, Span] | None = None
) -> list[Part]:
    """Return the nodes of a tree in their order, comments and white space left out.

    Args:
        code: What to take apart.
        without: Spans whose nodes are left out too, sorted and apart.
        slices: Takes for each node's id which slice of the result is the node's own.
    """
    found: list[Part] = []
    stack: list[tuple[tree_sitter.Node, int, int | None]] = [(code.root, 0, None)]
    while stack:
        node, depth, first = stack.pop()
        if first is not None:
            if slices is not None:
                slices[node.id] = (first, len(found))
            continue
        is_leaf = node.child_count == 0
        is_new = within(without, node.start_byte, node.end_byte)
        if code.is_comment(node) or is_new or (is_leaf and code.is_blank(node)):
            continue
        text = code.said(node) if is_leaf else b""
        if slices is not None:
            stack.append((node, depth, len(found)))
        found.append(Part(depth, node.type, text))
        stack.extend((child, depth + 1, None) for child in reversed(node.children))
    return found


def compiles(code: Code) -> bool:
    """Tell whether Python takes a text, of which its grammar here may be more tolerant."""
    if code.language != "python":
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(code.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


class Point(NamedTuple):
    """Hold a place for a line of its own: before a statement or before a function."""

    start: int  # of the line of what follows
    indent: bytes
    before: Literal["statement", "function"]
    node: tree_sitter.Node  # that follows


def points(code: Code, spec: Grammar) -> list[Point]:
    """Return where a line may be put: before statements and functions that begin a line.

    Nothing is put before what must come first, such as a docstring, nor beside what does
    not parse.
    """
    found: list[Point] = []
    stack = [code.root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR":
            continue
        stack.extend(reversed(node.children))
        if node.type in spec.blocks | spec.holders:
            found += _points_of(node, code, spec)
    return sorted(found, key=lambda point: point.start)


def _points_of(block: tree_sitter.Node, code: Code, spec: Grammar) -> Iterator[Point]:
    children = [child for child in block.named_children if not code.is_comment(child)]
    last = max((i for i, child in enumerate(children) if child.type in spec.opening), default=-1)
    for i, child in enumerate(children):
        near = children[max(0, i - 1) : i + 2]
        start = code.line_start(child.start_byte)
        indent = code.data[start : child.start_byte]
        if (
            i <= last
            or indent.strip(b" \t")
            or child.type in spec.inner
            or any(each.has_error for each in near)
            or code.data[:start].rstrip(b"\r\n").endswith(b"\\")
            or is_text(child)
        ):
            continue
        is_function = child.type in spec.functions and child.child_by_field_name("body")
        if is_function and block.type in spec.holders and not _follows_comment(child, code):
            yield Point(start, indent, "function", child)
        elif block.type in spec.blocks:
            yield Point(start, indent, "statement", child)


def is_text(node: tree_sitter.Node) -> bool:
    """Tell whether a statement is only a text: a docstring, or a directive of JavaScript."""
    return (
        node.type == "expression_statement"
        and bool(node.named_children)
        and node.named_children[0].type in {"string", "concatenated_string"}
    )


def _follows_comment(node: tree_sitter.Node, code: Code) -> bool:
    """Tell whether a comment, which may be a directive of some tool, belongs to a node."""
    before = node.prev_sibling
    while before and not code.said(before):
        before = before.prev_sibling
    return before is not None and code.is_comment(before)


class Edit(NamedTuple):
    """Hold a change of a text; of two at one place the first comes first."""

    start: int
    end: int
    new: bytes


def edited(data: bytes, edits: Iterable[Edit]) -> tuple[str, list[Span]]:
    """Return a text with edits made, which do not overlap, and where the new parts are."""
    pieces: list[bytes] = []
    spans: list[Span] = []
    position, length = 0, 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        kept = data[position : edit.start]
        pieces += [kept, edit.new]
        spans.append((length + len(kept), length + len(kept) + len(edit.new)))
        length, position = spans[-1][1], edit.end
    return decode(b"".join([*pieces, data[position:]])), spans


def graded(
    sample: Sample,
    perturbation: str,
    counts: tuple[int, str],
    units: Sequence[Unit],
    attempt: Callable[[Sequence[Unit]], tuple[str, bool]],
) -> Levels:
    """Return a sample's levels, each of which makes the first so many of the units that hold.

    Args:
        sample: What is altered.
        perturbation: Its name.
        counts: The number of levels above 0 at most, and the intensity.
        units: All changes, in the order in which levels make them.
        attempt: Units to make -> the text with them, and whether that keeps what it must.
    """
    kept = _sound(units, attempt)
    rejected = {"changed": len(units) - len(kept)} if len(kept) < len(units) else {}
    texts: dict[str, None] = {sample.text: None}
    for n_units in steps(len(kept), *counts):
        text, holds = attempt(kept[:n_units])
        if holds:
            texts[text] = None
        else:
            rejected["changed"] = rejected.get("changed", 0) + 1
    return Levels(variants(sample, perturbation, [(text, {}) for text in [*texts][1:]]), rejected)


def _sound(
    units: Sequence[Unit],
    attempt: Callable[[Sequence[Unit]], tuple[str, bool]],
    kept: Sequence[Unit] = (),
) -> list[Unit]:
    """Return ``kept`` and those of the units that hold beside it, found by halving."""
    together = [*kept, *units]
    if not units or attempt(together)[1]:
        return together
    if len(units) == 1:
        return list(kept)
    middle = len(units) // 2
    return _sound(units[middle:], attempt, _sound(units[:middle], attempt, kept))


def shuffled(units: Sequence[Unit], rng: random.Random) -> list[Unit]:
    """Return units in random order."""
    return rng.sample(units, len(units))


def spread(places: Sequence[Unit], levels: int, rng: random.Random) -> list[Unit]:
    """Return half of the places at random, at least one a level: several times if need be."""
    wanted = max(levels, len(places) // 2) if places else 0
    rounds = -(-wanted // max(1, len(places)))
    return [place for _ in range(rounds) for place in shuffled(places, rng)][:wanted]
