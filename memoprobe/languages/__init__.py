"""Lex and parse code per language; a language is a row of data.

Everything here tolerates broken code: a model's answer need not parse.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import tree_sitter

from memoprobe.languages.grammars import LANGUAGES, Language, parse

# What never parses costs time: how many lines at column 0 one piece may hold, and how many
# lines in all may be tried in vain before each piece must end with its first.
_MOST_LINES, _MOST_FAILURES = 50, 300
_WORD = re.compile(r"\w+|[^\w\s]")


class Statement(NamedTuple):
    """Name a top-level statement of a source text."""

    name: str | None  # the function or class it defines
    kind: str
    text: str
    start: int  # character offsets into the source
    end: int
    complete: bool  # holds no syntax error, and a body where one belongs


def encode(code: str) -> bytes:
    """Return ``code`` as the bytes that ``parse`` takes; half surrogates survive the way back."""
    return code.encode("utf-8", "surrogatepass")


def decode(code: bytes) -> str:
    """Undo ``encode``."""
    return code.decode("utf-8", "surrogatepass")


def words(prose: str) -> list[str]:
    """Return the words and punctuation marks of ``prose``."""
    return _WORD.findall(prose)


def tokens(code: str, language: str) -> list[str]:
    """Return the tokens of ``code`` without comments and docstrings.

    A string literal is one token. Where layout has meaning, an indent and a dedent
    token stand around each block. A language without a row in LANGUAGES is split
    into words and punctuation marks.
    """
    spec = LANGUAGES.get(language)
    if spec is None:
        return words(code)
    data = encode(code)
    return list(_leaves(parse(data, language), data, spec))


def _leaves(node: tree_sitter.Node, data: bytes, spec: Language) -> Iterator[str]:
    stack: list[tree_sitter.Node | str] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif item.type in spec.comments or _is_docstring(item):
            continue
        elif item.child_count == 0 or item.type in spec.whole:
            if item.end_byte > item.start_byte:
                yield decode(data[item.start_byte : item.end_byte])
        else:
            children: list[tree_sitter.Node | str] = list(item.children)
            if item.type in spec.blocks:
                children = ["<indent>", *children, "<dedent>"]
            stack.extend(reversed(children))


def _is_docstring(node: tree_sitter.Node) -> bool:
    """Tell whether a node is a statement that is only a string: a docstring, or of no effect."""
    return (
        node.type == "expression_statement"
        and node.child_count == 1
        and node.children[0].type in {"string", "concatenated_string"}
    )


def strip_comments(code: str, language: str) -> str:
    """Return ``code`` without comments, docstrings and the blank lines they leave.

    A block that held nothing but a docstring is left empty: the result is for
    comparing, not for running.
    """
    spec = LANGUAGES.get(language)
    if spec is None:
        return code.strip("\n")
    data = encode(code)
    kept, position = [], 0
    stack = [parse(data, language)]
    while stack:
        node = stack.pop()
        if node.type in spec.comments or _is_docstring(node):
            kept.append(data[position : node.start_byte])
            position = node.end_byte
        elif node.type not in spec.whole:
            stack.extend(reversed(node.children))
    kept.append(data[position:])
    lines = (line.rstrip() for line in decode(b"".join(kept)).split("\n"))
    return "\n".join(line for line in lines if line)


def statements(code: str, language: str) -> list[Statement]:
    """Return the top-level statements of ``code``; empty for a language without a row."""
    spec = LANGUAGES.get(language)
    if spec is None:
        return []
    data = encode(code)
    return [_statement(node, data, spec) for node in parse(data, language).children]


def _statement(node: tree_sitter.Node, data: bytes, spec: Language) -> Statement:
    inner = node.child_by_field_name("definition") if node.type in spec.wrappers else node
    named = inner.child_by_field_name("name") if inner and inner.type in spec.definitions else None
    start = len(decode(data[: node.start_byte]))
    text = decode(data[node.start_byte : node.end_byte])
    name = decode(data[named.start_byte : named.end_byte]) if named else None
    body = inner.child_by_field_name("body") if inner else None
    complete = not node.has_error and (body is None or body.child_count > 0)
    return Statement(name, node.type, text, start, start + len(text), complete)


def defines(code: str, language: str, name: str) -> bool:
    """Tell whether a line of ``code``, which may be broken, opens the definition of ``name``.

    In a language without a row in LANGUAGES it is enough that the name occurs.
    """
    spec = LANGUAGES.get(language)
    before = rf"^[ \t]*{spec.defining}" if spec else r"\b"
    return re.search(rf"{before}{re.escape(name)}\b", code, re.MULTILINE) is not None


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
        ends = edges[k + 1 : k + 1 + most]
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
    header = re.match(rf"{LANGUAGES[language].defining}(?P<name>\w+)", code)
    if header is None:
        return None
    return Statement(header["name"], "ERROR", code, start, start + len(code), complete=False)


def docstring(code: str, language: str, function: str) -> tuple[int, int] | None:
    """Return where the content of a top-level function's docstring starts and ends in ``code``.

    The docstring is the first statement of the body that is one string and nothing else.
    """
    data = encode(code)
    for node in parse(data, language).children:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body and data[name.start_byte : name.end_byte] == encode(function):
            strings = [child.children[0] for child in body.children if _is_docstring(child)]
            for string in (string for string in strings if string.type == "string"):
                edges = string.children[0].end_byte, string.children[-1].start_byte
                return len(decode(data[: edges[0]])), len(decode(data[: edges[1]]))
    return None


def rename_identifiers(code: str, language: str, mapping: Mapping[str, str]) -> str:
    """Return ``code`` with every identifier that ``mapping`` knows replaced, whatever it names.

    Attributes and keyword names count, and so do the values inside an f-string;
    other text in strings and comments does not. In a language without a row in
    LANGUAGES every whole word counts.
    """
    spec = LANGUAGES.get(language)
    if not mapping:
        return code
    if spec is None:
        return re.sub(r"\w+", lambda word: mapping.get(word[0], word[0]), code)
    data = encode(code)
    changed, position = [], 0
    stack = [parse(data, language)]
    while stack:
        node = stack.pop()
        stack.extend(reversed(node.children))
        if node.type in spec.names:
            name = decode(data[node.start_byte : node.end_byte])
            if name in mapping:
                changed += [data[position : node.start_byte], encode(mapping[name])]
                position = node.end_byte
    return decode(b"".join([*changed, data[position:]]))


def tidy(code: str) -> str:
    """Return ``code`` in one layout: line ends LF, leading tabs 4 columns, no blanks at line ends.

    Blank lines around it go, its indentation and the lines inside stay.
    """
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(map(_tidy_line, lines)).strip("\n")


def _tidy_line(line: str) -> str:
    bare = line.lstrip(" \t")
    return (line[: len(line) - len(bare)].expandtabs(4) + bare).rstrip()
