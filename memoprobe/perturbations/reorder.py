"""Swap neighbours that provably do not depend on each other."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple, TypeVar

import tree_sitter

from memoprobe.languages import decode
from memoprobe.perturbations.levels import Levels
from memoprobe.perturbations.movable import HEADERS, MOVABLE, Movable
from memoprobe.perturbations.syntax import (
    GRAMMARS,
    Code,
    Grammar,
    Part,
    Span,
    compiles,
    graded,
    grammar,
    skeleton,
)
from memoprobe.records import Sample


class _Item(NamedTuple):
    """Hold a statement that may move, with the comments that belong to it."""

    node: tree_sitter.Node
    sort: str  # only items of one sort change places
    span: Span
    writes: frozenset[bytes]
    words: frozenset[bytes]  # all names in it that must not be another's to write


def reorder(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample's code with ever more independent neighbours in other places.

    Assignments of literals, names and what operators make of them to plain names, imports
    that share no name, and functions of one file or class change places where no two of a row
    depend on each other. None of them changes anything but by setting a name. At the top
    level nothing of such a row is where it was.

    Raises:
        ConfigError: The text is prose, or in a language without a grammar.
    """
    spec = grammar(sample, "reorder", intensity)
    code = Code(sample.text, sample.language)
    rows = list(_rows(code, spec))
    change = _change(code, rows)

    def attempt(units: Sequence[tuple[int, int, int]]) -> tuple[str, bool]:
        orders = [list(range(len(row))) for row in rows]
        for row, here, there in units:
            order = orders[row]
            order[here], order[there] = order[there], order[here]
        return change(orders)

    return graded(sample, "reorder", (levels, intensity), _swaps(rows, rng), attempt)


def undo(answer: str, original: str, language: str) -> str:
    """Return an answer with what may move in the order of the original.

    A model that repeats the order which it was given is not charged for it. What the
    original does not hold stays where it is.

    Args:
        answer: The code in which a model answered.
        original: The sample's text.
        language: Of both.
    """
    if language not in GRAMMARS:
        return answer
    before, code, spec = Code(original, language), Code(answer, language), GRAMMARS[language]
    places: dict[tuple[object, ...], int] = {}
    for key, item in _keyed(_neighbours(before, spec), before, spec):
        places[key] = item.span[0]
    rows = [row for row in _neighbours(code, spec) if len(row) > 1]
    known = {item: places.get(key) for key, item in _keyed(rows, code, spec)}
    orders = [_sorted(row, [known[item] for item in row]) for row in rows]
    text, holds = _change(code, rows)(orders)
    return text if holds else answer


def _keyed(
    rows: Sequence[Sequence[_Item]], code: Code, spec: Grammar
) -> Iterator[tuple[tuple[object, ...], _Item]]:
    """Yield items with what tells each from others: its function, what it sets, which it is.

    Of two that set the same the order never changes, so their number tells them apart.
    """
    count: Counter[tuple[bytes, ...]] = Counter()
    for item in chain.from_iterable(rows):
        around = item.node.parent
        while around is not None and around.type not in spec.functions:
            around = around.parent
        function = _function(around, code, MOVABLE[code.language]) if around else None
        sets = sorted(item.writes) or [b" ".join(code.said(item.node).split())]
        key = (b" ".join(sorted(function.writes)) if function else b"", *sets)
        count[key] += 1
        yield (*key, count[key]), item


def _sorted(row: Sequence[_Item], places: Sequence[int | None]) -> list[int]:
    """Return the order that follows ``places`` as far as what is not apart allows."""
    order = list(range(len(row)))
    for end in range(len(order) - 1, 0, -1):
        for i in range(end):
            here, there = places[order[i]], places[order[i + 1]]
            if here is None or there is None or here <= there:
                continue
            if _are_apart(row[order[i]], row[order[i + 1]]):
                order[i], order[i + 1] = order[i + 1], order[i]
    return order


def _change(
    code: Code, rows: Sequence[Sequence[_Item]]
) -> Callable[[Sequence[Sequence[int]]], tuple[str, bool]]:
    """Return what makes of new orders of the rows a text, and whether its parts are the same."""
    slices: dict[int, Span] = {}
    parts, is_sound = skeleton(code, slices=slices), compiles(code)
    nodes = [[slices[item.node.id] for item in row] for row in rows]
    spans = [[item.span for item in row] for row in rows]

    def change(orders: Sequence[Sequence[int]]) -> tuple[str, bool]:
        text = decode(b"".join(_moved(code.data, spans, orders)))
        expected = list(chain.from_iterable(_moved(parts, nodes, orders)))
        after = Code(text, code.language)
        return text, skeleton(after) == expected and (compiles(after) or not is_sound)

    return change


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
        else:
            stack.extend(reversed(_pieces((start, end), rows, orders)))


def _pieces(
    span: Span, rows: Sequence[Sequence[Span]], orders: Sequence[Sequence[int]]
) -> list[tuple[int, int, bool]]:
    """Return what a span consists of: items, and the stretches between them, marked as plain."""
    position, end = span
    found: list[tuple[int, int, bool]] = []
    for row, order in zip(rows, orders, strict=True):
        if row[0][0] < position or row[-1][1] > end:
            continue  # outside, or inside of an item that was passed
        for place, item in zip(row, order, strict=True):
            found += [(position, place[0], True), (*row[item], False)]
            position = place[1]
    return [*found, (position, end, True)]


def _rows(code: Code, spec: Grammar) -> Iterator[list[_Item]]:
    """Yield the rows of neighbours of which no two depend on each other, outer ones first."""
    for items in _neighbours(code, spec):
        row: list[_Item] = []
        for item in items:
            if not all(_are_apart(item, other) for other in row):
                if len(row) > 1:
                    yield row
                row = []
            row.append(item)
        if len(row) > 1:
            yield row


def _neighbours(code: Code, spec: Grammar) -> list[list[_Item]]:
    """Return all statements that may move, those together that nothing else stands between."""
    found: list[list[_Item]] = []
    stack = [code.root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR":
            continue
        stack.extend(node.children)
        if node.type in spec.blocks | spec.holders:
            for may_move, items in groupby(_items(node, code, spec), lambda item: item is not None):
                if may_move:
                    found.append([item for item in items if item])
    return sorted(found, key=lambda items: items[0].span)


def _are_apart(item: _Item, other: _Item) -> bool:
    return item.sort == other.sort and not (
        item.writes & (other.writes | other.words) or other.writes & item.words
    )


def _items(block: tree_sitter.Node, code: Code, spec: Grammar) -> Iterator[_Item | None]:
    """Yield the statements of a block in order, None for each that stays where it is."""
    if _is_caught(block, spec):
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


def _is_caught(block: tree_sitter.Node, spec: Grammar) -> bool:
    """Tell whether somebody may see where a block stopped: an error in it is caught around it."""
    node: tree_sitter.Node | None = block
    while node is not None and node.type not in spec.functions:
        held = [child.type for child in node.children]
        if "try" in node.type or node.type == "with_statement" or "rescue" in held:
            return True
        node = node.parent
    return False


def _holds_members(block: tree_sitter.Node, spec: Grammar) -> bool:
    """Tell whether a block is that of a class or a file."""
    return block.parent is None or block.parent.type in spec.classes


def _with_comments(children: Sequence[tree_sitter.Node], i: int, code: Code) -> Span:
    """Return where a statement is, with the comments directly above it and on its last line."""
    start, end = code.span(children[i])
    following = children[i + 1 :]
    if (
        following
        and code.is_comment(following[0])
        and b"\n" not in code.data[end : following[0].start_byte]
    ):
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
    rules = MOVABLE[code.language]
    if node.type in rules.imports:
        return _import(node, code, rules)
    if node.type in spec.functions and block.type in spec.holders:
        return _function(node, code, rules)
    is_member = block.parent is not None and block.parent.type in spec.classes
    if node.type in rules.assignments and block.type in spec.blocks and not is_member:
        return _assignment(node, code, rules)
    return None


def _import(node: tree_sitter.Node, code: Code, rules: Movable) -> _Item | None:
    words = frozenset(_words(node, code)) if rules.ordered_imports else frozenset[bytes]()
    span = code.span(node)
    if node.type == "preproc_include":
        header = code.data[slice(*span)].removeprefix(b"#include").strip()
        return _Item(node, "import", span, frozenset(), frozenset()) if header in HEADERS else None
    is_open = any(child.type == "wildcard_import" for child in node.children)
    return None if is_open and rules.ordered_imports else _Item(node, "import", span, words, words)


def _function(node: tree_sitter.Node, code: Code, rules: Movable) -> _Item | None:
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
    return _Item(node, "function", code.span(node), frozenset({code.said(name)}), frozenset(words))


def _assignment(node: tree_sitter.Node, code: Code, rules: Movable) -> _Item | None:
    inner = node.named_children[0].type if node.named_children else ""
    if not re.search("declaration|assignment", node.type + inner) or rules.shared.search(code.data):
        return None
    writes: set[bytes] = set()
    words: set[bytes] = set()
    for names, is_value in _uses(node, code, rules):
        if not names:
            return None
        words |= names
        writes |= set() if is_value else names
    return _Item(node, "assignment", code.span(node), frozenset(writes), frozenset(words))


def _uses(node: tree_sitter.Node, code: Code, rules: Movable) -> Iterator[tuple[set[bytes], bool]]:
    """Yield the names in an assignment, and whether they are read; none where it may not move."""
    stack = [(node, False)]
    while stack:
        inside, is_value = stack.pop()
        if inside.type in rules.asked | rules.names:
            yield _named(inside, code.said(inside), rules, is_value=is_value), is_value
            continue
        sets = any(child.type in {"=", ":="} for child in inside.children)
        if inside.type not in rules.plain or (is_value and sets):  # a = b = c
            yield set(), is_value
            return
        for child in inside.children:
            stack.append((child, is_value))
            is_value = is_value or child.type in {"=", ":="}


def _named(node: tree_sitter.Node, said: bytes, rules: Movable, *, is_value: bool) -> set[bytes]:
    """Return the names in a name, a call or a member, none where it may do more than to give it."""
    if node.type in rules.names:
        return {said} if not is_value or rules.reads.fullmatch(said) else set()
    if rules.quiet.fullmatch(said) and (is_value or said.startswith(b"this.")):
        return set(re.findall(rb"[$@]?\w+", said.removeprefix(b"this.")))
    return set()


def _inside(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    stack = [node]
    while stack:
        inside = stack.pop()
        yield inside
        stack.extend(inside.children)


def _words(node: tree_sitter.Node, code: Code) -> Iterator[bytes]:
    """Yield the names in a node, types and fields among them."""
    for inside in _inside(node):
        if not inside.child_count and inside.is_named and not code.said(inside)[:1].isdigit():
            yield code.said(inside)
