"""Take code apart into tokens, and take comments out or put names in."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import tree_sitter

from memoprobe.languages.parsing import decode, encode, parse
from memoprobe.languages.table import LANGUAGES, Language

INDENT, DEDENT = "<indent>", "<dedent>"
_DOCSTRING, _MISSED = "<docstring>", "<docstring whose place must be filled>"
_SILENT = frozenset({_DOCSTRING, _MISSED, "\n"})
_WORD = re.compile(r"\w+|[^\w\s]")
# What a macro's text consists of; the names of the groups are kinds.
_RAW = re.compile(
    rb"(?P<comment>//.*|/\*.*?(?:\*/|\Z))|(?P<string_literal>\"(?:\\.|[^\"\\\n])*\"?"
    rb"|'(?:\\.|[^'\\\n])*'?)|(?P<identifier>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)"
    rb"|(?P<number_literal>\.?\d[\w.]*)|\\\r?\n|(?P<mark>\S)",
    re.DOTALL,
)

_Leaf = tuple[str, int, int]  # kind, start and end in bytes; of no width: INDENT and DEDENT


def words(prose: str) -> list[str]:
    """Return the words and punctuation marks of ``prose``."""
    return _WORD.findall(prose)


def tokens(code: str, language: str) -> list[str]:
    """Return the tokens of ``code`` without comments and docstrings.

    A literal of text is one token, whatever stands inside. Where layout has meaning, an
    indent and a dedent token stand around each block. A language without a row in
    LANGUAGES is split into words and punctuation marks.
    """
    spec = LANGUAGES.get(language)
    if spec is None:
        return words(code)
    data = encode(code)
    found = []
    left_out = spec.comments | _SILENT
    for kind, start, end in _leaves(parse(data, language), data, spec, spec.whole):
        if start == end:
            found.append(kind)
        elif kind not in left_out:
            found.append(data[start:end].decode("utf-8", "surrogatepass"))
    return found


def _leaves(
    root: tree_sitter.Node, data: bytes, spec: Language, whole: frozenset[str]
) -> Iterator[_Leaf]:
    """Yield the leaves of a tree in their order.

    Args:
        root: Where to begin.
        data: The source.
        spec: Its language.
        whole: The kinds that are leaves although they have children.
    """
    cursor, depth, open_blocks = root.walk(), 0, [-1]
    special = spec.raw | {"expression_statement"} if spec.docstrings else spec.raw
    is_inside = True
    while is_inside:
        node = cursor.node
        assert node is not None, "a cursor is at a node"
        kind = node.type
        found = _special(node, data, spec) if kind in special else None
        if found:
            yield from found
        elif kind not in whole and cursor.goto_first_child():
            if kind in spec.blocks:
                open_blocks.append(depth)
                yield INDENT, 0, 0
            depth += 1
            continue
        elif node.end_byte > node.start_byte:
            yield kind, node.start_byte, node.end_byte
        is_inside = cursor.goto_next_sibling()
        while not is_inside and cursor.goto_parent():
            depth -= 1
            if depth == open_blocks[-1]:
                open_blocks.pop()
                yield DEDENT, 0, 0
            is_inside = cursor.goto_next_sibling()


def _special(node: tree_sitter.Node, data: bytes, spec: Language) -> list[_Leaf] | None:
    """Return the leaves of a docstring or of raw code, None for any other statement."""
    if node.type in spec.raw:
        return list(_raw(data, node.start_byte, node.end_byte))
    if not is_docstring(node, spec.docstrings):
        return None
    return [(_MISSED if _is_missed(node, spec) else _DOCSTRING, node.start_byte, node.end_byte)]


def _raw(data: bytes, start: int, end: int) -> Iterator[_Leaf]:
    for match in _RAW.finditer(data, start, end):
        if match.lastgroup:
            yield match.lastgroup, match.start(), match.end()


def is_docstring(node: tree_sitter.Node, strings: frozenset[str]) -> bool:
    """Tell whether a node is a statement that is only a text: a docstring, or of no effect."""
    if node.type != "expression_statement" or node.child_count != 1:
        return False
    parts = [node.children[0], *node.children[0].children]
    inner = [child.type for part in parts for child in part.children]
    return parts[0].type in strings and "interpolation" not in inner


def _is_missed(node: tree_sitter.Node, spec: Language) -> bool:
    """Tell whether a docstring leaves a place that must be filled.

    It does in a block that is nothing but docstrings, whose first counts, and on a line
    with other statements.
    """
    if any(near and near.type == ";" for near in (node.prev_sibling, node.next_sibling)):
        return True
    block = node.parent
    if block is None or block.type not in spec.blocks:
        return False
    parts = [child for child in block.named_children if child.type not in spec.comments]
    return parts[0] == node and all(is_docstring(part, spec.docstrings) for part in parts)


def strip_comments(code: str, language: str) -> str:
    """Return ``code`` without comments, docstrings and blank lines.

    A block that held nothing but a docstring is left empty: the result is for
    comparing, not for running.
    """
    spec = LANGUAGES.get(language)
    if spec is None:
        return code.strip("\n")
    lines = (line.rstrip() for line in _without_comments(code, language, spec).split("\n"))
    return "\n".join(line for line in lines if line)


def undocumented(code: str, language: str) -> str:
    """Return ``code`` without comments and docstrings, and without the lines they leave blank.

    It parses and runs as before: a docstring whose block holds nothing else becomes ``pass``. All
    else stays to the byte. Code of a language without a row in LANGUAGES stays as it is.
    """
    spec = LANGUAGES.get(language)
    return code if spec is None else _without_comments(code, language, spec, filler=b"pass")


class _Cut(NamedTuple):
    start: int  # in bytes
    end: int
    filler: bytes


def _without_comments(code: str, language: str, spec: Language, filler: bytes = b"") -> str:
    data = encode(code)
    kept, position = [], 0
    for cuts in _cuts(data, language, spec, filler):
        start = data.rfind(b"\n", 0, cuts[0].start) + 1
        end = data.find(b"\n", cuts[-1].end) + 1 or len(data)
        kept += [data[position:start], _recut(data, start, end, cuts, spec)]
        position = end
    return decode(b"".join([*kept, data[position:]]))


def _cuts(data: bytes, language: str, spec: Language, filler: bytes) -> list[list[_Cut]]:
    """Return what goes, in one list where a cut begins on the line where the last one ends."""
    found: list[list[_Cut]] = []
    docstrings = {_DOCSTRING: b"", _MISSED: filler}
    for kind, start, end in _leaves(parse(data, language), data, spec, spec.whole):
        if kind in spec.comments or kind in docstrings:
            end = start + len(data[start:end].rstrip(b"\r\n"))
            cut = _Cut(start, end, docstrings.get(kind, b""))
            if found and b"\n" not in data[found[-1][-1].end : start]:
                found[-1].append(cut)
            else:
                found.append([cut])
    return found


def _recut(data: bytes, start: int, end: int, cuts: list[_Cut], spec: Language) -> bytes:
    """Return lines without what is cut from them, nothing if that leaves them blank."""
    last = start + len(data[start:end].rstrip(b"\r\n"))
    line = data[start : cuts[0].start]
    rest = b""
    for cut, following in pairwise([*cuts, _Cut(last, last, b"")]):
        rest = data[cut.end : following.start]
        line += cut.filler
        if not line.strip():
            rest = rest.lstrip(b" \t")
        elif spec.breaks and b"\n" in data[cut.start : cut.end] and rest.strip():
            line += b"\n"
        elif not line[-1:].isspace() and rest and not rest[:1].isspace() and not cut.filler:
            line += b" "
        line += rest
    if not line.strip():
        return b""
    return (line if rest.strip() else line.rstrip()) + data[last:end]


def rename_identifiers(code: str, language: str, mapping: Mapping[str, str]) -> str:
    """Return ``code`` with every identifier that ``mapping`` knows replaced, whatever it names.

    Attributes and keyword names count, and so do the values inside an interpolated
    string and the names in a macro; other text in strings and comments does not. A
    name with a sigil (Ruby's ``@x``, ``:x``) is looked up with it, then without. In a
    language without a row in LANGUAGES every whole word counts.
    """
    spec = LANGUAGES.get(language)
    if not mapping:
        return code
    if spec is None:
        return re.sub(r"\w+", lambda word: mapping.get(word[0], word[0]), code)
    data = encode(code)
    changed, position = [], 0
    for kind, start, end in _leaves(parse(data, language), data, spec, frozenset()):
        if kind in spec.names:
            name = decode(data[start:end])
            bare = name if name in mapping else name.lstrip(spec.sigils)
            if bare in mapping:
                sigil = name[: len(name) - len(bare)]
                changed += [data[position:start], encode(sigil + mapping[bare])]
                position = end
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
