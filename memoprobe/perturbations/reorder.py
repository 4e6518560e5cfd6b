"""Swap neighbours that provably do not depend on each other."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

import tree_sitter

from memoprobe.languages import decode
from memoprobe.perturbations.levels import Levels
from memoprobe.perturbations.syntax import (
    Code,
    Grammar,
    Part,
    Span,
    compiles,
    grammar,
    graded,
    kinds,
    skeleton,
)
from memoprobe.records import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class _Movable:
    """Say of a language what may move: kinds of its grammar."""

    assignments: frozenset[str]  # statements that may only set plain names
    plain: frozenset[str]  # all that may stand in one of these
    names: frozenset[str]  # kinds of a name, among ``plain``
    reads: bool = False  # to read a name runs no code, so it may stand on the right side
    imports: frozenset[str] = frozenset()
    ordered_imports: bool = True  # one that shares a word with another stays behind it
    earlier: bool = False  # a function must stand before those that call it


_LITERALS = (
    "integer float string string_start string_content string_end true false none null"
    " escape_sequence = ; ,"
)
_C = _Movable(
    assignments=kinds("declaration"),
    plain=kinds(
        "declaration primitive_type sized_type_specifier unsigned signed long short"
        " init_declarator pointer_declarator array_declarator number_literal char_literal"
        " character string_literal string_content escape_sequence identifier null true false"
        " initializer_list = ; , * [ ] { } \" ' NULL nullptr -"
    ),
    names=kinds("identifier"),
    imports=kinds("preproc_include"),
    earlier=True,
)
_MOVABLE: Mapping[str, _Movable] = {
    "python": _Movable(
        assignments=kinds("expression_statement"),
        plain=kinds(
            f"{_LITERALS} expression_statement assignment identifier list tuple dictionary"
            " pattern_list expression_list unary_operator ( ) [ ] { } -"
        ),
        names=kinds("identifier"),
        reads=True,
        imports=kinds("import_statement import_from_statement"),
    ),
    "java": _Movable(
        assignments=kinds("local_variable_declaration expression_statement"),
        plain=kinds(
            "local_variable_declaration expression_statement assignment_expression integral_type"
            " floating_point_type boolean_type int long short byte char float double boolean_type"
            " type_identifier variable_declarator modifiers final decimal_integer_literal"
            " decimal_floating_point_literal hex_integer_literal character_literal string_literal"
            " string_fragment escape_sequence true false null_literal identifier field_access this"
            " unary_expression = ; , . - \""
        ),
        names=kinds("identifier"),
        reads=True,
        imports=kinds("import_declaration"),
        ordered_imports=False,
    ),
    "c": _C,
    "cpp": _C,
    "javascript": _Movable(
        assignments=kinds("lexical_declaration variable_declaration"),
        plain=kinds(
            "lexical_declaration variable_declaration variable_declarator identifier number string"
            " string_fragment escape_sequence true false null undefined array object"
            " unary_expression let const var = ; , [ ] { } - ' \""
        ),
        names=kinds("identifier"),
    ),
    "php": _Movable(
        assignments=kinds("expression_statement"),
        plain=kinds(
            f"{_LITERALS} expression_statement assignment_expression variable_name boolean"
            " encapsed_string array_creation_expression array_element_initializer array"
            " unary_op_expression ( ) [ ] - ' \""
        ),
        names=kinds("variable_name"),
        imports=kinds("namespace_use_declaration"),
        ordered_imports=False,
    ),
    "go": _Movable(
        assignments=kinds("short_var_declaration assignment_statement var_declaration"),
        plain=kinds(
            "short_var_declaration assignment_statement var_declaration var_spec var"
            " expression_list identifier type_identifier int_literal float_literal rune_literal"
            " interpreted_string_literal interpreted_string_literal_content escape_sequence"
            " true false nil unary_expression := = , - \""
        ),
        names=kinds("identifier"),
        reads=True,
    ),
    "ruby": _Movable(
        assignments=kinds("assignment"),
        plain=kinds(
            f"{_LITERALS} assignment identifier instance_variable nil array unary"
            " [ ] - ' \""
        ),
        names=kinds("identifier instance_variable"),
    ),
    "csharp": _Movable(
        assignments=kinds("local_declaration_statement"),
        plain=kinds(
            "local_declaration_statement modifier const variable_declaration predefined_type"
            " implicit_type var variable_declarator identifier integer_literal real_literal"
            " string_literal string_literal_content character_literal character_literal_content"
            " escape_sequence boolean_literal true false null_literal prefix_unary_expression"
            " = ; , - ' \""
        ),
        names=kinds("identifier"),
        imports=kinds("using_directive"),
        ordered_imports=False,
    ),
}
# The standards allow these headers in any order.
_HEADERS = frozenset(
    f"<{name}>"
    for name in (
        "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h"
        " math.h setjmp.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h"
        " tgmath.h time.h wchar.h wctype.h algorithm array bitset cassert cctype climits cmath"
        " cstdint cstdio cstdlib cstring ctime deque functional iomanip iostream iterator limits"
        " list map memory numeric queue set sstream stack stdexcept string tuple unordered_map"
        " unordered_set utility vector"
    ).split()
)


class _Item(NamedTuple):
    """Hold a statement that may move, with the comments that belong to it."""

    node: tree_sitter.Node
    sort: str  # only items of one sort change places
    span: Span
    writes: frozenset[bytes]
    words: frozenset[bytes]  # all names in it that must not be another's to write


def reorder(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample's code with ever more independent neighbours in other places.

    Simple assignments of literals (and, where reading a name runs no code, of names), imports
    that share no name, and functions of one file or class change places where no two of a row
    depend on each other. At the top level nothing of such a row is where it was.

    Raises:
        ConfigError: The text is prose, or in a language without a grammar.
    """
    spec = grammar(sample, "reorder", intensity)
    code = Code(sample.text, sample.language)
    rows = list(_rows(code, spec))
    slices: dict[int, Span] = {}
    parts, is_sound = skeleton(code, slices=slices), compiles(code)
    nodes = [[slices[item.node.id] for item in row] for row in rows]
    spans = [[item.span for item in row] for row in rows]

    def attempt(units: Sequence[tuple[int, int, int]]) -> tuple[str, bool]:
        orders = [list(range(len(row))) for row in rows]
        for row, here, there in units:
            order = orders[row]
            order[here], order[there] = order[there], order[here]
        text = decode(b"".join(_moved(code.data, spans, orders)))
        expected = list(chain.from_iterable(_moved(parts, nodes, orders)))
        after = Code(text, sample.language)
        return text, skeleton(after) == expected and (compiles(after) or not is_sound)

    return graded(sample, "reorder", (levels, intensity), _swaps(rows, rng), attempt)


def _swaps(rows: Sequence[Sequence[_Item]], rng: random.Random) -> list[tuple[int, int, int]]:
    """Return the swaps (row, place, place) that leave nothing in its place (Sattolo's shuffle)."""
    swaps = [
        iter([(i, here, rng.randrange(here)) for here in range(len(row) - 1, 0, -1)])
        for i, row in enumerate(rows)
    ]
    turns = [i for i, row in enumerate(rows) for _ in row[1:]]
    rng.shuffle(turns)
    return [next(swaps[i]) for i in turns]


_Whole = TypeVar("_Whole", bytes, list[Part])


def _moved(
    whole: _Whole, rows: Sequence[Sequence[Span]], orders: Sequence[Sequence[int]]
) -> Iterator[_Whole]:
    """Yield the stretches of a sequence in the order that the rows' new orders give.

    Args:
        whole: The text, or its skeleton.
        rows: Where each row's items are in it; a row may lie within an item of another, and
            the outer one comes first.
        orders: For each row, which item takes each place.
    """
    stack: list[tuple[int, int, bool]] = [(0, len(whole), False)]
    while stack:
        start, end, is_plain = stack.pop()
        if is_plain:
            yield whole[start:end]
            continue
        pieces: list[tuple[int, int, bool]] = []
        position = start
        for row, order in zip(rows, orders, strict=True):
            if row[0][0] < position or row[-1][1] > end:
                continue  # outside, or inside of an item that was passed
            for place, source in zip(row, order, strict=True):
                pieces += [(position, place[0], True), (*row[source], False)]
                position = place[1]
        pieces.append((position, end, True))
        stack.extend(reversed(pieces))


def _rows(code: Code, spec: Grammar) -> list[list[_Item]]:
    """Return the rows of neighbours of which no two depend on each other, outer ones first."""
    found: list[list[_Item]] = []
    stack = [code.root]
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if node.type not in spec.blocks | spec.holders or node.type == "ERROR":
            continue
        row: list[_Item] = []
        for item in _items(node, code, spec):
            if item and row and all(_are_apart(item, other) for other in row):
                row.append(item)
            else:
                found.append(row)
                row = [item] if item else []
        found.append(row)
    return sorted((row for row in found if len(row) > 1), key=lambda row: row[0].span)


def _are_apart(item: _Item, other: _Item) -> bool:
    return item.sort == other.sort and not (
        item.writes & (other.writes | other.words) or other.writes & item.words
    )


def _items(block: tree_sitter.Node, code: Code, spec: Grammar) -> Iterator[_Item | None]:
    """Yield the statements of a block in order, None for each that stays where it is."""
    around = block.parent
    if around is not None and "try" in around.type:  # what it does depends on where it stops
        return
    children = [child for child in block.children if not code.is_blank(child)]
    is_value = code.language == "ruby" and not _holds_members(block, spec)
    for i, child in enumerate(children):
        if code.is_comment(child) or (not child.is_named and child.type in {";", ","}):
            continue
        item = None
        if not child.has_error and not (is_value and i == len(children) - 1):
            item = _item(child, block, code, spec)
        yield item and item._replace(span=_with_comments(children, i, code))


def _holds_members(block: tree_sitter.Node, spec: Grammar) -> bool:
    """Tell whether a block is that of a class or a file."""
    return block.parent is None or block.parent.type in spec.classes


def _with_comments(children: Sequence[tree_sitter.Node], i: int, code: Code) -> Span:
    """Return where a statement is, with the comments directly above it and on its last line."""
    start, end = code.span(children[i])
    following = children[i + 1 :]
    if following and code.is_comment(following[0]) and b"\n" not in code.data[
        end : following[0].start_byte
    ]:
        end = code.span(following[0])[1]
    for before in reversed(children[:i]):
        gap = code.data[code.span(before)[1] : start]
        head = code.data[code.line_start(before.start_byte) : before.start_byte]
        if not code.is_comment(before) or gap.count(b"\n") != 1 or head.strip():
            break
        start = before.start_byte
    return start, end


def _item(
    node: tree_sitter.Node, block: tree_sitter.Node, code: Code, spec: Grammar
) -> _Item | None:
    """Return a statement that may move, None for any other."""
    rules = _MOVABLE[code.language]
    if node.type in rules.imports:
        return _import(node, code, rules)
    if node.type in spec.functions and block.type in spec.holders:
        return _function(node, code, rules)
    is_member = block.parent is not None and block.parent.type in spec.classes
    if node.type in rules.assignments and block.type in spec.blocks and not is_member:
        return _assignment(node, code, rules)
    return None


def _import(node: tree_sitter.Node, code: Code, rules: _Movable) -> _Item | None:
    words = frozenset(_words(node, code)) if rules.ordered_imports else frozenset[bytes]()
    span = code.span(node)
    if node.type == "preproc_include":
        header = code.data[slice(*span)].removeprefix(b"#include").strip()
        return _Item(node, "import", span, frozenset(), frozenset()) if header in _HEADERS else None
    is_open = any(child.type == "wildcard_import" for child in node.children)
    return None if is_open and rules.ordered_imports else _Item(node, "import", span, words, words)


def _function(node: tree_sitter.Node, code: Code, rules: _Movable) -> _Item | None:
    name = node.child_by_field_name("name")
    inner = node
    while name is None and (declarator := inner.child_by_field_name("declarator")):
        inner = declarator
        name = declarator if not declarator.child_count else declarator.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None or body is None or name.child_count:
        return None
    head = [child for child in node.children if child.id != body.id]
    if any("call" in inside.type for child in head for inside in _inside(child)):
        return None
    words = {word for child in head for word in _words(child, code)}
    words |= set(_words(body, code)) if rules.earlier else set()
    return _Item(
        node, "function", code.span(node), frozenset({code.said(name)}), frozenset(words)
    )


def _assignment(node: tree_sitter.Node, code: Code, rules: _Movable) -> _Item | None:
    writes, words = set(), set()
    is_set = "declaration" in node.type
    stack = [(node, False)]
    while stack:
        inside, is_value = stack.pop()
        said = code.said(inside)
        if inside.type not in rules.plain or (b"." in said and inside.type == "field_access"
                                              and not said.startswith(b"this.")):
            return None
        if inside.type in rules.names:
            words.add(said)
            if is_value and not rules.reads:
                return None
            writes |= set() if is_value else {said}
            continue
        for child in inside.children:
            stack.append((child, is_value))
            if child.type in {"=", ":="}:
                is_value = is_set = True
    if not is_set or (code.language == "php" and b"&$" in code.data):  # two names of one variable
        return None
    return _Item(node, "assignment", code.span(node), frozenset(writes), frozenset(words))


def _inside(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    stack = [node]
    while stack:
        inside = stack.pop()
        yield inside
        stack.extend(inside.children)


def _words(node: tree_sitter.Node, code: Code) -> Iterator[bytes]:
    """Yield the names in a node, types and fields among them."""
    for inside in _inside(node):
        if not inside.child_count and inside.is_named and code.said(inside)[:1].isalpha():
            yield code.said(inside)
