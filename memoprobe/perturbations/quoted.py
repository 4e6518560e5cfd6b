"""Find the names of a program that its comments and docstrings quote."""

import re
from collections.abc import Iterator

import tree_sitter

from memoprobe.languages import LANGUAGES, encode, parse
from memoprobe.languages.lexing import is_docstring
from memoprobe.records import Sample

# A word of prose may be spelled like a name: what is quoted or marked, or is no such word.
_QUOTED = re.compile(
    rb"`(?P<code>\w+)`|'(?P<single>\w+)'|\"(?P<double>\w+)\""
    rb"|[@\\:]param\s+(?:\{[^}]*\}\s*)?(?:\w+[\s]+(?=\w+\s*:))?\$?(?P<param>\w+)"
    rb"|(?<!\w)(?P<compound>\w*[^\W_]_\w+|[^\W\d_A-Z]+[A-Z]\w*)(?!\w)"
)


def quoted(sample: Sample, names: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the byte offsets at which a comment or a docstring quotes one of ``names``."""
    data = encode(sample.text)
    for node in _prose(parse(data, sample.language), sample.language):
        for match in _QUOTED.finditer(data, node.start_byte, node.end_byte):
            group = match.lastgroup
            assert group, "each alternative has a group"
            name = match[group].decode("utf-8", "surrogatepass")
            if name in names:
                yield match.start(group), match.end(group), name


def _prose(root: tree_sitter.Node, language: str) -> Iterator[tree_sitter.Node]:
    spec = LANGUAGES[language]
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in spec.comments or is_docstring(node, spec.docstrings):
            yield node
        else:
            stack.extend(reversed(node.children))
