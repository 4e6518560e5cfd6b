"""Say which statements of each language may change places: rows of data."""

from collections.abc import Mapping
from dataclasses import dataclass

from memoprobe.perturbations.syntax import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Movable:
    """Say of a language what may move: kinds of its grammar."""

    assignments: frozenset[str]  # statements that may only set plain names
    plain: frozenset[str]  # all that may stand in one of these
    names: frozenset[str]  # kinds of a name, among ``plain``
    reads: bool = False  # to read a name runs no code, so it may stand on the right side
    imports: frozenset[str] = frozenset()
    ordered_imports: bool = True  # one that shares a word with another stays behind it
    earlier: bool = False  # a function must stand before those that call it


_LITERALS = (
    "integer float string string_start string_content string_end true false none null"
    " escape_sequence = ; ,"
)
_C = Movable(
    assignments=kinds("declaration"),
    plain=kinds(
        "declaration primitive_type sized_type_specifier unsigned signed long short"
        " init_declarator pointer_declarator array_declarator number_literal char_literal"
        " character string_literal string_content escape_sequence identifier null true false"
        " initializer_list = ; , * [ ] { } \" ' NULL nullptr -"
    ),
    names=kinds("identifier"),
    imports=kinds("preproc_include"),
    earlier=True,
)
MOVABLE: Mapping[str, Movable] = {
    "python": Movable(
        assignments=kinds("expression_statement"),
        plain=kinds(
            f"{_LITERALS} expression_statement assignment identifier list tuple dictionary"
            " pattern_list expression_list unary_operator ( ) [ ] { } -"
        ),
        names=kinds("identifier"),
        reads=True,
        imports=kinds("import_statement import_from_statement"),
    ),
    "java": Movable(
        assignments=kinds("local_variable_declaration expression_statement"),
        plain=kinds(
            "local_variable_declaration expression_statement assignment_expression integral_type"
            " floating_point_type boolean_type int long short byte char float double boolean_type"
            " type_identifier variable_declarator modifiers final decimal_integer_literal"
            " decimal_floating_point_literal hex_integer_literal character_literal string_literal"
            " string_fragment escape_sequence true false null_literal identifier field_access this"
            ' unary_expression = ; , . - "'
        ),
        names=kinds("identifier"),
        reads=True,
        imports=kinds("import_declaration"),
        ordered_imports=False,
    ),
    "c": _C,
    "cpp": _C,
    "javascript": Movable(
        assignments=kinds("lexical_declaration variable_declaration"),
        plain=kinds(
            "lexical_declaration variable_declaration variable_declarator identifier number string"
            " string_fragment escape_sequence true false null undefined array object"
            " unary_expression let const var = ; , [ ] { } - ' \""
        ),
        names=kinds("identifier"),
    ),
    "php": Movable(
        assignments=kinds("expression_statement"),
        plain=kinds(
            f"{_LITERALS} expression_statement assignment_expression variable_name boolean"
            " encapsed_string array_creation_expression array_element_initializer array"
            " unary_op_expression ( ) [ ] - ' \""
        ),
        names=kinds("variable_name"),
        imports=kinds("namespace_use_declaration"),
        ordered_imports=False,
    ),
    "go": Movable(
        assignments=kinds("short_var_declaration assignment_statement var_declaration"),
        plain=kinds(
            "short_var_declaration assignment_statement var_declaration var_spec var"
            " expression_list identifier type_identifier int_literal float_literal rune_literal"
            " interpreted_string_literal interpreted_string_literal_content escape_sequence"
            ' true false nil unary_expression := = , - "'
        ),
        names=kinds("identifier"),
        reads=True,
    ),
    "ruby": Movable(
        assignments=kinds("assignment"),
        plain=kinds(
            f"{_LITERALS} assignment identifier instance_variable nil array unary [ ] - ' \""
        ),
        names=kinds("identifier instance_variable"),
    ),
    "csharp": Movable(
        assignments=kinds("local_declaration_statement"),
        plain=kinds(
            "local_declaration_statement modifier const variable_declaration predefined_type"
            " implicit_type var variable_declarator identifier integer_literal real_literal"
            " string_literal string_literal_content character_literal character_literal_content"
            " escape_sequence boolean_literal true false null_literal prefix_unary_expression"
            " = ; , - ' \""
        ),
        names=kinds("identifier"),
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
