"""Say which statements of each language may change places: rows of data."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from memoprobe.perturbations.syntax import kinds

_NONE, _ALL = re.compile(rb"(?!)"), re.compile(rb".*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movable:
    """Say of a language what may move: kinds of its grammar.

    An operator on plain values is taken to do nothing else than to give its result.
    """

    assignments: frozenset[str]  # statements that may only set plain names
    plain: frozenset[str]  # all that may stand in one of these
    names: frozenset[str]  # kinds of a name, among ``plain``
    reads: re.Pattern[bytes] = _ALL  # names whose reading runs no code
    quiet: re.Pattern[bytes] = _NONE  # calls and members that do nothing else either
    asked: frozenset[str] = frozenset()  # kinds of a call or member that ``quiet`` decides on
    shared: re.Pattern[bytes] = _NONE  # code in which one variable may have two names
    imports: frozenset[str] = frozenset()
    ordered_imports: bool = True  # one that shares a word with another stays behind it
    earlier: bool = False  # a function must stand before those that call it


# None of the operators looks into a container, which in some languages adds to it.
_COMMON = kinds(
    "integer float string string_start string_content string_end true false none null"
    " escape_sequence = ; , ( ) [ ] { } ' \""
    " + - * / // % ** << >> & | ^ < > <= >= == != === !== && || and or not ! is"
    " binary_operator comparison_operator boolean_operator not_operator unary_operator"
    " parenthesized_expression binary_expression unary_expression binary unary"
    " unary_op_expression prefix_unary_expression"
)
_C = Movable(
    assignments=kinds("declaration expression_statement"),
    plain=_COMMON
    | kinds(
        "declaration primitive_type sized_type_specifier unsigned signed long short"
        " expression_statement assignment_expression init_declarator array_declarator"
        " pointer_declarator number_literal char_literal character string_literal identifier"
        " initializer_list NULL nullptr"
    ),
    names=kinds("identifier"),
    reads=re.compile(rb"(?!errno$)[a-z]\w*"),  # others may be macros
    shared=re.compile(rb"\bvolatile\b"),
    imports=kinds("preproc_include"),
    earlier=True,
)
MOVABLE: Mapping[str, Movable] = {
    "python": Movable(
        assignments=kinds("expression_statement"),
        plain=_COMMON
        | kinds(
            "expression_statement assignment identifier list tuple dictionary pattern_list"
            " expression_list"
        ),
        names=kinds("identifier"),
        quiet=re.compile(
            rb"(?:len|abs|int|float|str|bool|ord|chr)\((?:\w+|'[^'\\]*'|\"[^\"\\]*\")\)"
            rb"|(?:set|dict|list|tuple)\(\)"
        ),
        asked=kinds("call"),
        imports=kinds("import_statement import_from_statement"),
    ),
    "java": Movable(
        assignments=kinds("local_variable_declaration expression_statement"),
        plain=_COMMON
        | kinds(
            "local_variable_declaration expression_statement assignment_expression integral_type"
            " floating_point_type boolean_type int long short byte char double boolean generic_type"
            " type_arguments array_type dimensions type_identifier variable_declarator modifiers"
            " final decimal_integer_literal decimal_floating_point_literal hex_integer_literal"
            " character_literal string_literal string_fragment null_literal identifier"
        ),
        names=kinds("identifier"),
        quiet=re.compile(
            rb"this\.\w+|\w+\.length|\w+\.(?:length|size|isEmpty)\(\)"
            rb"|new (?:Array|Hash|Linked|Tree)(?:List|Map|Set|Deque)(?:<[\w<>, ]*>)?\(\)"
        ),
        asked=kinds("field_access method_invocation object_creation_expression"),
        imports=kinds("import_declaration"),
        ordered_imports=False,
    ),
    "c": _C,
    # A plain name of C++ may stand for another's variable, and its operators for anything.
    "cpp": replace(_C, assignments=kinds("declaration"), reads=_NONE),
    "javascript": Movable(
        assignments=kinds("lexical_declaration variable_declaration"),
        plain=_COMMON
        | kinds(
            "lexical_declaration variable_declaration variable_declarator identifier number"
            " string_fragment undefined array object let const var"
        ),
        names=kinds("identifier"),
        quiet=re.compile(rb"\w+\.length|new (?:Map|Set)\(\)"),
        asked=kinds("member_expression new_expression"),
    ),
    "php": Movable(
        assignments=kinds("expression_statement"),
        plain=_COMMON
        | kinds(
            "expression_statement assignment_expression variable_name boolean encapsed_string"
            " array_creation_expression array_element_initializer array"
        ),
        names=kinds("variable_name"),
        quiet=re.compile(rb"(?:count|strlen|abs|intval)\(\$\w+\)"),
        asked=kinds("function_call_expression"),
        shared=re.compile(rb"&\s*\$"),
        imports=kinds("namespace_use_declaration"),
        ordered_imports=False,
    ),
    "go": Movable(
        assignments=kinds("short_var_declaration assignment_statement var_declaration"),
        plain=_COMMON
        | kinds(
            "short_var_declaration assignment_statement var_declaration var_spec var"
            " expression_list identifier type_identifier int_literal float_literal rune_literal"
            " interpreted_string_literal interpreted_string_literal_content nil :="
        ),
        names=kinds("identifier"),
        quiet=re.compile(rb"(?:len|cap)\(\w+\)"),
        asked=kinds("call_expression"),
    ),
    "ruby": Movable(
        assignments=kinds("assignment"),
        plain=_COMMON | kinds("assignment identifier instance_variable nil array"),
        names=kinds("identifier instance_variable"),
        reads=re.compile(rb"@\w+"),  # others may be calls
        quiet=re.compile(rb"(?:Hash|Array|Set)\.new"),
        asked=kinds("call"),
    ),
    "csharp": Movable(
        assignments=kinds("local_declaration_statement"),
        plain=_COMMON
        | kinds(
            "local_declaration_statement modifier const variable_declaration predefined_type"
            " implicit_type var variable_declarator identifier integer_literal real_literal"
            " string_literal string_literal_content character_literal character_literal_content"
            " boolean_literal null_literal"
        ),
        names=kinds("identifier"),
        reads=re.compile(rb"[a-z]\w*"),  # others may be properties
        quiet=re.compile(rb"[a-z]\w*\.(?:Length|Count)"),
        asked=kinds("member_access_expression"),
        imports=kinds("using_directive"),
        ordered_imports=False,
    ),
}
# The standards allow these headers in any order.
HEADERS = frozenset(
    f"<{name}>".encode("ascii")
    for name in kinds(
        "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h"
        " math.h setjmp.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h"
        " tgmath.h time.h wchar.h wctype.h algorithm array bitset cassert cctype climits cmath"
        " cstdint cstdio cstdlib cstring ctime deque functional iomanip iostream iterator limits"
        " list map memory numeric queue set sstream stack stdexcept string tuple unordered_map"
        " unordered_set utility vector"
    )
)
