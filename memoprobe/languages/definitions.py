"""Find definitions in code that may be broken, or stand in the middle of anything."""

import re
from functools import lru_cache
from typing import NamedTuple

import tree_sitter

from memoprobe.languages.lexing import is_docstring
from memoprobe.languages.parsing import decode, encode, parse
from memoprobe.languages.table import LANGUAGES, Language

# What never parses costs time: how many lines at column 0 one piece may hold, how long it may
# get by more than its first, and how many lines in all may be tried in vain before each piece
# must end with its first.
_MOST_LINES, _MOST_CHARACTERS, _MOST_FAILURES = 50, 20_000, 300
_NAME_FIELDS = ("name", "declarator", "left", "property")


class Statement(NamedTuple):
    """Name a top-level statement of a source text."""

    name: str | None  # the function or class it defines
    kind: str
    text: str
    start: int  # character offsets into the source
    end: int
    complete: bool  # holds no syntax error, and a body where one belongs


def statements(code: str, language: str) -> list[Statement]:
    """Return the top-level statements of ``code``; empty for a language without a row."""
    spec = LANGUAGES.get(language)
    if spec is None:
        return []
    data = encode(code)
    nodes = parse(data, language).children
    return [_statement(node, data, spec) for node in nodes if node.end_byte > node.start_byte]


def _statement(node: tree_sitter.Node, data: bytes, spec: Language) -> Statement:
    inner = _defining(node, spec)
    start = len(decode(data[: node.start_byte]))
    text = decode(data[node.start_byte : node.end_byte])
    name = inner and _name(inner, data, spec)
    body = inner.child_by_field_name("body") if inner else None
    complete = not node.has_error and (body is None or body.child_count > 0)
    return Statement(name, node.type, text, start, start + len(text), complete)


def _defining(node: tree_sitter.Node, spec: Language) -> tree_sitter.Node | None:
    """Return the node that defines a name: this one, or the last one that it wraps."""
    inner = spec.definitions | spec.wrappers
    while node.type in spec.wrappers:
        wrapped = [child for child in node.children if child.type in inner]
        if not wrapped:
            return None
        node = wrapped[-1]
    if node.type not in spec.definitions:
        return None
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return None if value and spec.functions and value.type not in spec.functions else node


def _name(node: tree_sitter.Node, data: bytes, spec: Language) -> str | None:
    """Return the name that a definition gives, without what qualifies it."""
    while node.type not in spec.names:
        fields = map(node.child_by_field_name, _NAME_FIELDS)
        inner = next((child for child in fields if child), None)
        if inner is None and node.type.endswith(("_declarator", "variable_name")):
            inner = next(iter(reversed(node.named_children)), None)
        if inner is None:
            break
        node = inner
    else:
        return decode(data[node.start_byte : node.end_byte])
    return None


def defines(code: str, language: str, name: str) -> bool:
    """Tell whether a line of ``code``, which may be broken, opens the definition of ``name``.

    In a language without a row in LANGUAGES it is enough that the name occurs.
    """
    if language not in LANGUAGES:
        return re.search(rf"\b{re.escape(name)}\b", code) is not None
    return any(header.search(code) for header in _headers(language, re.escape(name)))


@lru_cache(maxsize=1024)
def _headers(language: str, name: str) -> list[re.Pattern[str]]:
    return [
        re.compile(r"^[ \t]*(?:" + header.replace("NAME", name) + ")", re.MULTILINE)
        for header in LANGUAGES[language].headers
    ]


def pieces(text: str, language: str) -> list[Statement]:
    """Return the definitions, imports and assignments at column 0 of ``text``.

    Between them may stand anything: prose, output, broken code. A piece ends with
    the first line after which it parses; a definition that does not within 50 lines
    at column 0 ends before the next of them. Offsets are those in ``text``.
    """
    spec = LANGUAGES.get(language)
    if spec is None:
        return []
    edges = [match.start() for match in spec.boundary.finditer(text)] + [len(text)]
    found: list[Statement] = []
    position, failures = 0, 0
    for k, start in enumerate(edges[:-1]):
        if start < position or not spec.opener.match(text, start):
            continue
        most = _MOST_LINES if failures < _MOST_FAILURES else 1
        ends = [end for end in edges[k + 1 : k + 1 + most] if end - start < _MOST_CHARACTERS]
        ends = ends or [edges[k + 1]]
        piece = next(filter(None, (_whole(text, start, end, language) for end in ends)), None)
        if piece is None:
            failures += len(ends)
            piece = _broken(text, start, ends[0], language)
        if piece:
            found.append(piece)
            position = piece.end
    return found


def _whole(text: str, start: int, end: int, language: str) -> Statement | None:
    """Return the statement in a stretch of ``text`` if its lines hold nothing else and parse."""
    code = text[start:end]
    if parse(encode(code), language).has_error:
        return None
    first, *others = statements(code, language)
    line_end = f"{code}\n".index("\n", first.end)
    rest = [part for part in others if part.kind not in LANGUAGES[language].comments]
    if not first.complete or any(part.end > line_end for part in rest):
        return None
    line = code[:line_end].rstrip()
    return first._replace(text=line, start=start, end=start + len(line))


def _broken(text: str, start: int, end: int, language: str) -> Statement | None:
    """Return a definition that does not parse, None for a stretch that opens none."""
    code = text[start:end].rstrip()
    headers = [header.search(code) for header in _headers(language, r"(?P<name>[\w$]+[?!]?)")]
    found = [header for header in headers if header]
    if not found:
        return None
    header = min(found, key=re.Match.start)  # a class before its methods
    return Statement(header["name"], "ERROR", code, start, start + len(code), complete=False)


def docstring(code: str, language: str, function: str) -> tuple[int, int] | None:
    """Return where the content of a top-level function's docstring starts and ends in ``code``.

    The docstring is the first statement of the body that is one string and nothing else.
    """
    data, kinds = encode(code), LANGUAGES[language].docstrings
    for node in parse(data, language).children:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body and data[name.start_byte : name.end_byte] == encode(function):
            strings = [child.children[0] for child in body.children if is_docstring(child, kinds)]
            for string in (string for string in strings if string.type == "string"):
                edges = string.children[0].end_byte, string.children[-1].start_byte
                return len(decode(data[: edges[0]])), len(decode(data[: edges[1]]))
    return None
