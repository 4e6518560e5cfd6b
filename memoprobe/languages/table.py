"""Describe each language as a row of data."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple


class Attempt(NamedTuple):
    """Name a grammar, and the texts between which code is parsed with it."""

    module: str
    function: str = "language"
    before: bytes = b""
    after: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Describe one programming language; kinds are those of its grammar's nodes."""

    attempts: tuple[Attempt, ...]  # the first that parses without an error counts
    page: Attempt | None = None  # instead, for a page of markup with code in it
    comments: frozenset[str] = frozenset({"comment"})  # kinds that hold no code
    docstrings: frozenset[str] = frozenset()  # kinds that have no effect as a statement
    whole: frozenset[str]  # kinds kept as one token
    raw: frozenset[str] = frozenset()  # kinds without children that hold code, such as macros
    blocks: frozenset[str] = frozenset()  # kinds whose layout is shown: an indent and a dedent
    breaks: bool = False  # a comment that holds a line end ends a statement as that does
    names: frozenset[str]  # kinds that are an identifier
    sigils: str = ""  # marks that may stand before a name within its node
    definitions: frozenset[str]  # kinds that define a name
    wrappers: frozenset[str] = frozenset()  # kinds that wrap a definition, such as decorators
    functions: frozenset[str] = frozenset()  # kinds of a value that makes its name a definition
    opener: re.Pattern[str]  # how a line at column 0 opens a definition, an import or an assignment
    boundary: re.Pattern[str]  # a line at column 0 that may begin something new
    headers: tuple[str, ...]  # how the definition of NAME begins after a line's indentation


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _opener(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.MULTILINE)


# Of a brace language; a line that only closes something goes with what it closes.
_BOUNDARY = re.compile(
    r"^(?!//|/\*|\*/|(?:public|private|protected)[ \t]*:)[^\s{}()\];]", re.MULTILINE
)
# A declaration's line ends like code, not like prose.
_NO_DECLARATION = r"(?!(?:return|else|if|for|while|do|switch|throw|goto|break|delete|new|case)\b)"
_HEADER_LINE = (
    _NO_DECLARATION + r"[^\W\d][\w:<>,*&~\[\]?. \t]*(?:\n[ \t]*[\w:~]*)?(?:[\w~>]|operator\S+)\s*\("
    r"(?:[^\n]*[^\w\s.:!?])?[ \t]*(?:const|override|noexcept|throws[ \w.,]+)?[ \t]*$"
)
_DECLARATION = (
    _NO_DECLARATION + r"[^\W\d][\w:<>,*&~\[\]?. \t]*[ \t*&>\]][\w\[\]]+[ \t]*(?:=[^=\n].*)?"
    r"(?:;|\{|=)[ \t]*(?://.*)?$"
)
_PARAMETERS = r"\s*\((?:[^;{}()]|\((?:[^;{}()]|\([^()]*\))*\))*\)"
_FUNCTION = (
    _NO_DECLARATION
    + r"(?:(?:[^\n;{}()=]|\([^()\n]*\))*[\s*&:~>])?NAME(?:<[^<>()]*>)?"
    + _PARAMETERS
    + r"[^;{}=]*(?:\{|=>)"
)
_TYPE = (
    r"(?:[^\n;{}()=]*\s)?(?:class|struct|union|interface|enum|namespace|record)\s+NAME\b"
    r"(?:\s*\([^;{}]*\))?[^;{}()=]*\{"
)
_MACRO = r"#[ \t]*define\s+NAME\b"
_DIRECTIVE = r"#[ \t]*(?:include|define|undef|pragma|if|ifdef|ifndef|error|region|nullable)\b"
_CLASS = (b"class _{", b"\n}")

_PYTHON = Language(
    attempts=(Attempt("tree_sitter_python"),),
    docstrings=_kinds("string concatenated_string"),
    whole=_kinds("string"),
    blocks=_kinds("block"),
    names=_kinds("identifier"),
    definitions=_kinds("function_definition class_definition"),
    wrappers=_kinds("decorated_definition"),
    opener=re.compile(r"@|(async\s+def|def|class|import|from)\b|[^\W\d]\w*\s*(:[^=\n]+)?=(?!=)"),
    boundary=re.compile(r"^[^\s#]", re.MULTILINE),
    headers=(r"(?:async\s+def|def|class)\s+NAME\b",),
)
_C_GRAMMAR = Attempt("tree_sitter_c", after=b"\n")  # a directive ends with its line
_CPP_GRAMMAR = Attempt("tree_sitter_cpp", after=b"\n")
_C = Language(
    attempts=(_C_GRAMMAR, _CPP_GRAMMAR),  # the latter reads many a macro better
    whole=_kinds("string_literal char_literal raw_string_literal system_lib_string"),
    raw=_kinds("preproc_arg"),
    names=_kinds(
        "identifier type_identifier field_identifier statement_identifier namespace_identifier"
    ),
    definitions=_kinds(
        "function_definition struct_specifier union_specifier enum_specifier class_specifier"
        " type_definition alias_declaration concept_definition namespace_definition preproc_def"
        " preproc_function_def"
    ),
    wrappers=_kinds("template_declaration"),
    opener=_opener(
        _DIRECTIVE,
        r"(?:typedef|using|namespace|template|class|struct|union|enum|extern|static)\b",
        _HEADER_LINE,
        _DECLARATION,
    ),
    boundary=_BOUNDARY,
    headers=(_FUNCTION, _TYPE, _MACRO),
)
_JAVA = Language(
    attempts=(
        Attempt("tree_sitter_java"),
        Attempt("tree_sitter_java", "language", *_CLASS),
    ),
    comments=_kinds("line_comment block_comment"),
    whole=_kinds("string_literal character_literal"),
    names=_kinds("identifier type_identifier"),
    definitions=_kinds(
        "method_declaration constructor_declaration class_declaration interface_declaration"
        " enum_declaration record_declaration annotation_type_declaration"
    ),
    opener=_opener(
        r"(?:package|import|public|private|protected|static|final|abstract|class|interface|enum"
        r"|record|synchronized|native|sealed)\b|@\s*\w|<\s*\w",
        _HEADER_LINE,
        _DECLARATION,
    ),
    boundary=_BOUNDARY,
    headers=(_FUNCTION, _TYPE),
)
_CSHARP = replace(
    _JAVA,
    attempts=(
        Attempt("tree_sitter_c_sharp"),
        Attempt("tree_sitter_c_sharp", "language", *_CLASS),
    ),
    comments=_kinds("comment"),
    whole=_kinds(
        "string_literal verbatim_string_literal raw_string_literal character_literal"
        " interpolated_string_expression"
    ),
    raw=_kinds("preproc_arg"),
    names=_kinds("identifier implicit_parameter"),
    sigils="@",
    definitions=_kinds(
        "method_declaration local_function_statement constructor_declaration class_declaration"
        " struct_declaration interface_declaration enum_declaration record_declaration"
        " delegate_declaration namespace_declaration"
    ),
    wrappers=_kinds("global_statement"),
    opener=_opener(
        r"(?:using|namespace|public|private|protected|internal|static|readonly|const|abstract"
        r"|sealed|partial|class|struct|interface|enum|record|async|delegate)\b|\[\w",
        _DIRECTIVE,
        _HEADER_LINE,
        _DECLARATION,
    ),
)
_JS_FUNCTION = r"(?:async\b\s*)?(?:function\b|class\b|(?:[\w$]+|\((?:[^;()]|\([^()]*\))*\))\s*=>)"
_JAVASCRIPT = Language(
    attempts=(
        Attempt("tree_sitter_javascript"),
        Attempt("tree_sitter_javascript", "language", *_CLASS),
    ),
    comments=_kinds("comment html_comment hash_bang_line"),
    whole=_kinds("string template_string regex"),
    breaks=True,
    sigils="#",
    names=_kinds(
        "identifier property_identifier shorthand_property_identifier statement_identifier"
        " shorthand_property_identifier_pattern private_property_identifier"
    ),
    definitions=_kinds(
        "function_declaration generator_function_declaration class_declaration method_definition"
        " variable_declarator assignment_expression function_expression class"
    ),
    wrappers=_kinds(
        "export_statement lexical_declaration variable_declaration expression_statement"
    ),
    functions=_kinds("function_expression generator_function arrow_function class"),
    opener=_opener(
        r"(?:import|export|async|function|class|const|let|var|static|get|set)\b|['\"]use strict",
        r"[\w$][\w$.]*\s*=(?![=>])",
        r"(?!(?:if|for|while|switch|catch|with|return)\b)[\w$]+" + _PARAMETERS + r"\s*\{",
    ),
    boundary=_BOUNDARY,
    headers=(
        r"(?:export\s+(?:default\s+)?)?(?:async\s+)?(?:function\b\s*\*?|class\b)\s*NAME(?![\w$])",
        r"(?:export\s+)?(?:(?:const|let|var)\s+|[\w$.]+\.)?NAME\s*[=:]\s*" + _JS_FUNCTION,
        r"(?:(?:static|async|get|set)\s+)*\*?\s*#?NAME" + _PARAMETERS + r"\s*\{",
    ),
)
_PHP_CODE = Attempt("tree_sitter_php", "language_php_only")
_PHP = Language(
    attempts=(_PHP_CODE, Attempt("tree_sitter_php", "language_php_only", *_CLASS)),
    page=Attempt("tree_sitter_php", "language_php"),
    whole=_kinds("string encapsed_string heredoc nowdoc shell_command_expression"),
    names=_kinds("name"),
    definitions=_kinds(
        "function_definition method_declaration class_declaration interface_declaration"
        " trait_declaration enum_declaration assignment_expression"
    ),
    wrappers=_kinds("expression_statement"),
    functions=_kinds("anonymous_function arrow_function"),
    opener=_opener(
        r"<\?|#\[|\$\w+\s*=(?!=)|(?:namespace|use|abstract|final|readonly|class|interface|trait"
        r"|enum|function|public|private|protected|static|const|define|require|require_once"
        r"|include|include_once)\b"
    ),
    boundary=re.compile(r"^(?!//|/\*|\*/|#(?!\[))[^\s{}()\];]", re.MULTILINE),
    headers=(
        r"(?:\w+[ \t]+)*function\s*&?\s*NAME\s*\(",
        r"(?:\w+[ \t]+)*(?:class|interface|trait|enum)\s+NAME\b[^;{}()=]*\{",
        r"\$NAME\s*=\s*(?:static\s*)?(?:function|fn)\b",
    ),
)
_GO = Language(
    attempts=(Attempt("tree_sitter_go"),),
    whole=_kinds("interpreted_string_literal raw_string_literal rune_literal"),
    breaks=True,
    names=_kinds("identifier type_identifier field_identifier package_identifier label_name"),
    definitions=_kinds("function_declaration method_declaration type_spec type_alias"),
    wrappers=_kinds("type_declaration"),
    opener=_opener(r"(?:package|import|func|type|var|const)\b"),
    boundary=_BOUNDARY,
    headers=(
        r"func\s*(?:\([^()]*\)\s*)?NAME\s*[\[(]",
        r"(?:type\s+)?NAME\s+(?:struct|interface)\b",
    ),
)
_RUBY = Language(
    attempts=(Attempt("tree_sitter_ruby"),),
    whole=_kinds("string string_array symbol_array delimited_symbol regex subshell heredoc_body"),
    sigils="@$:",
    names=_kinds(
        "identifier constant instance_variable class_variable global_variable simple_symbol"
        " hash_key_symbol"
    ),
    definitions=_kinds("method singleton_method class module"),
    wrappers=_kinds("call argument_list"),
    opener=_opener(
        r"(?:def|class|module|attr_\w+|alias|private|public|protected|module_function)\b",
        r"(?:require|require_relative)\b[ (]*['\"]|(?:include|extend|using)\s+[A-Z]",
        r"[a-zA-Z_@$][\w@:.]*\s*=(?![=~>])",
    ),
    boundary=re.compile(
        r"^(?!(?:end|else|elsif|when|in|rescue|ensure)\b)[^\s#)}\]=]", re.MULTILINE
    ),
    headers=(
        r"(?:\w+[ \t]+)*def\s+(?:[\w:]+\.)?NAME(?![\w?!])",
        r"(?:class|module)\s+(?:\w+::)*NAME\b",
        r"NAME\s*=\s*(?:lambda|proc|->|(?:Struct|Class|Module)\.new)",
        r"define_method[\s(]+:NAME\b",
    ),
)

LANGUAGES = {
    "python": _PYTHON,
    "java": _JAVA,
    "c": _C,
    "cpp": replace(
        _C,
        attempts=(
            _CPP_GRAMMAR,
            _C_GRAMMAR,
            Attempt("tree_sitter_cpp", "language", b"class _{", b"\n};"),
        ),
    ),
    "javascript": _JAVASCRIPT,
    "php": _PHP,
    "go": _GO,
    "ruby": _RUBY,
    "csharp": _CSHARP,
}
# Code that begins with markup and holds a tag is a page; code itself never begins with "<".
PAGE = re.compile(rb"\s*(#![^\n]*\n\s*)?<(?!<<)")
