"""Describe each language as a row of data, and parse with its grammar, loaded at first use."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import tree_sitter


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Describe one programming language to the lexer."""

    module: str  # the package that holds its grammar
    grammar: str = "language"  # the function in it that returns the grammar
    untagged: str | None = None  # the same for code without the tag that opens code in a page
    comments: frozenset[str]  # node kinds that hold no code
    whole: frozenset[str]  # node kinds kept as one token
    blocks: frozenset[str]  # node kinds whose extent is layout, shown as an indent and a dedent
    definitions: frozenset[str]  # node kinds that define a name in their field "name"
    wrappers: frozenset[str]  # node kinds that wrap a definition, such as decorators
    names: frozenset[str]  # node kinds that are an identifier
    opener: re.Pattern[str]  # how a line at column 0 opens a definition, an import or an assignment
    boundary: re.Pattern[str]  # a line at column 0 that is more than a comment
    defining: str  # regular expression for what stands in front of a name that is defined


_PYTHON = Language(
    module="tree_sitter_python",
    comments=frozenset({"comment"}),
    whole=frozenset({"string"}),
    blocks=frozenset({"block"}),
    definitions=frozenset({"function_definition", "class_definition"}),
    wrappers=frozenset({"decorated_definition"}),
    names=frozenset({"identifier"}),
    opener=re.compile(r"@|(async\s+def|def|class|import|from)\b|[^\W\d]\w*\s*(:[^=\n]+)?=(?!=)"),
    boundary=re.compile(r"^[^\s#]", re.MULTILINE),
    defining=r"(async\s+def|def|class)\s+",
)
_C_LIKE = Language(
    module="",
    comments=frozenset({"comment", "line_comment", "block_comment"}),
    whole=frozenset({"string_literal", "char_literal"}),
    blocks=frozenset(),
    definitions=frozenset({"function_definition"}),
    wrappers=frozenset(),
    names=frozenset({"identifier", "type_identifier", "field_identifier"}),
    opener=re.compile(r"[^\W\d]"),
    boundary=re.compile(r"^[^\s/]", re.MULTILINE),
    defining=r"[^\n]*\b",
)


def _like(module: str, **fields: str) -> Language:
    from dataclasses import replace

    return replace(_C_LIKE, module=f"tree_sitter_{module}", **fields)


LANGUAGES = {
    "python": _PYTHON,
    "java": _like("java"),
    "c": _like("c"),
    "cpp": _like("cpp"),
    "javascript": _like("javascript"),
    "php": _like("php", grammar="language_php", untagged="language_php_only"),
    "go": _like("go"),
    "ruby": _like("ruby"),
    "csharp": _like("c_sharp"),
}
# Code that begins with markup and holds a tag is a page; PHP code itself never begins with "<".
_PAGE = re.compile(rb"\s*(#![^\n]*\n\s*)?<(?!<)")


@cache
def _parser(module: str, grammar: str) -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(getattr(import_module(module), grammar)()))


def parse(code: bytes, language: str) -> tree_sitter.Node:
    """Return the root node of ``code``, UTF-8; offsets in it count bytes."""
    spec = LANGUAGES[language]
    untagged = spec.untagged and not (b"<?" in code and _PAGE.match(code))
    parser = _parser(spec.module, spec.untagged if untagged else spec.grammar)
    return parser.parse(code).root_node
