"""Parse a fragment in the way that leaves the least unparsed, and compare two of them."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import NamedTuple

import tree_sitter

from memoprobe.languages import LANGUAGES, decode, encode
from memoprobe.languages.table import PAGE, Attempt


class Fragment(NamedTuple):
    """Hold a parsed text, in a wrapper where it parses only there."""

    root: tree_sitter.Node
    attempt: Attempt  # the grammar and the wrapper
    data: bytes  # with the wrapper
    end: int  # byte offset in data at which the text ends


def fragment(text: str, language: str) -> Fragment:
    """Return ``text`` parsed by that attempt of its language that leaves the least unparsed."""
    code = encode(text)
    spec = LANGUAGES[language]
    page = spec.page and b"<?" in code and PAGE.match(code)
    attempts = (spec.page,) if spec.page and page else spec.attempts
    best: tuple[int, Fragment] | None = None
    for attempt in attempts:
        parsed = parsed_by(attempt, code)
        if parsed.root.named_children and _closes_wrapper(parsed):
            continue
        size = sum(node.end_byte - node.start_byte + 1 for node in errors(parsed.root))
        if best is None or size < best[0]:
            best = size, parsed
        if size == 0:
            break
    assert best, "a language has at least one attempt"
    return best[1]


def _closes_wrapper(parsed: Fragment) -> bool:
    """Tell whether the text ends what the wrapper has begun."""
    return bool(parsed.attempt.before) and parsed.root.named_children[0].end_byte <= parsed.end


def parsed_by(attempt: Attempt, code: bytes) -> Fragment:
    """Return ``code`` as one grammar parses it."""
    data = attempt.before + code + attempt.after
    root = tree_sitter.Parser(grammar(attempt.module, attempt.function)).parse(data).root_node
    return Fragment(root, attempt, data, len(attempt.before) + len(code))


@cache
def grammar(module: str, function: str) -> tree_sitter.Language:
    """Return a grammar, given the package that holds it and the function that returns it."""
    return tree_sitter.Language(getattr(import_module(module), function)())


@cache
def keywords(module: str, function: str) -> frozenset[str]:
    """Return the words that have a meaning of their own in a grammar."""
    spec = grammar(module, function)
    kinds = [kind for kind in range(spec.node_kind_count) if spec.node_kind_is_visible(kind)]
    spellings = (spec.node_kind_for_id(kind) for kind in kinds if not spec.node_kind_is_named(kind))
    # A single letter is the suffix of a number.
    return frozenset(word for word in spellings if word and re.fullmatch(r"\w{2,}", word))


def is_bounded(parsed: Fragment, braces: re.Pattern[str]) -> bool:
    """Tell whether no scope can begin or end in what does not parse."""
    return not any(_unbounded(node, parsed, braces) for node in errors(parsed.root))


def errors(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the outermost nodes that hold what does not parse, or stand for what is missing."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            stack.extend(node.children)


def _unbounded(error: tree_sitter.Node, parsed: Fragment, braces: re.Pattern[str]) -> bool:
    text = error.type if error.is_missing else text_of(error, parsed.data)
    return error.parent is None or braces.search(text) is not None


def text_of(node: tree_sitter.Node, data: bytes) -> str:
    """Return the text of a node of a tree over ``data``."""
    return decode(data[node.start_byte : node.end_byte])


def agrees(before: str, after: str, language: str, rename_map: Mapping[str, str]) -> bool:
    """Tell whether ``after`` is the program ``before`` with some of its names mapped.

    Both must have the same tree, errors included, and the same leaves, but for names.
    """
    here = fragment(before, language)
    there = parsed_by(here.attempt, encode(after))
    pairs = [(here.root, there.root)]
    while pairs:
        one, other = pairs.pop()
        if one.type != other.type or one.child_count != other.child_count:
            return False
        pairs.extend(zip(one.children, other.children, strict=True))
        if one.child_count == 0:
            text, new = text_of(one, here.data), text_of(other, there.data)
            if new not in {text, rename_map.get(text)}:
                return False
    return True
