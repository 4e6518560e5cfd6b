"""Parse code with its language's grammar, which is loaded at first use."""

from functools import cache
from importlib import import_module

import tree_sitter

from memoprobe.languages.table import LANGUAGES, PAGE, Attempt


@cache
def _parser(module: str, function: str) -> tree_sitter.Parser:
    pointer = getattr(import_module(module), function)()
    return tree_sitter.Parser(tree_sitter.Language(pointer))


def parse(code: bytes, language: str) -> tree_sitter.Node:
    """Return the node that holds the statements of ``code``, UTF-8; offsets in it count bytes.

    Of the language's attempts the first counts that parses without an error, and the
    very first if none does. A member that parses only inside a class has one around
    it of no width. A node's text is ``code`` between its offsets, which may end one
    beyond its end; ``Node.text`` is None in a member.
    """
    spec = LANGUAGES[language]
    if spec.page and b"<?" in code and PAGE.match(code):
        return _plain(code, spec.page)
    first = _plain(code, spec.attempts[0])
    if not first.has_error:
        return first
    others = (_attempt(code, attempt) for attempt in spec.attempts[1:])
    return next((root for root in others if root and not root.has_error), first)


def parses(code: str, language: str) -> bool:
    """Tell whether ``code``, a method without its class among others, parses without an error.

    Of a language without a row in LANGUAGES nothing is known, so everything does.
    """
    return language not in LANGUAGES or not parse(encode(code), language).has_error


def _plain(code: bytes, attempt: Attempt) -> tree_sitter.Node:
    return _parser(attempt.module, attempt.function).parse(code + attempt.after).root_node


def _attempt(code: bytes, attempt: Attempt) -> tree_sitter.Node | None:
    """Return the statements of ``code``, None where it closes the class around it itself."""
    before, after = attempt.before, attempt.after
    if not before:
        return _plain(code, attempt)
    whole = before + code + after
    tree = _parser(attempt.module, attempt.function).parse(whole)
    if tree.root_node.has_error or tree.root_node.children[0].end_byte <= len(before + code):
        return None
    # The tree is told that both texts were deleted, the later first.
    for start, end in ((len(before + code), len(whole)), (0, len(before))):
        edges = _point(whole, start), _point(whole, end)
        tree.edit(start, end, start, edges[0], edges[1], edges[0])
    return tree.root_node.children[0].child_by_field_name("body") or tree.root_node


def _point(code: bytes, offset: int) -> tuple[int, int]:
    """Return the row and the column in bytes of an offset."""
    return code.count(b"\n", 0, offset), offset - 1 - code.rfind(b"\n", 0, offset)


def encode(code: str) -> bytes:
    """Return ``code`` as the bytes that ``parse`` takes; half surrogates survive the way back."""
    return code.encode("utf-8", "surrogatepass")


def decode(code: bytes) -> str:
    """Undo ``encode``."""
    return code.decode("utf-8", "surrogatepass")
