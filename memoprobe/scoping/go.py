"""Rules of Go: types, members and exported names stay."""

import re

from memoprobe.scoping.rules import Rules, words

QUERY = r"""
[(function_declaration) (method_declaration) (func_literal)] @scope.function
[(block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement)
 (expression_case) (type_case) (default_case) (communication_case) (select_statement)
 (method_elem) (function_type) (type_spec)] @scope
(parameter_declaration name: (identifier) @parameter)
(variadic_parameter_declaration name: (identifier) @parameter)
(type_parameter_declaration name: (identifier) @parameter)
(var_spec name: (identifier) @late)
(const_spec name: (identifier) @late)
(source_file [(var_declaration (var_spec name: (identifier) @parameter))
  (var_declaration (var_spec_list (var_spec name: (identifier) @parameter)))
  (const_declaration (const_spec name: (identifier) @parameter))])
(short_var_declaration left: (expression_list (identifier) @late))
(range_clause left: (expression_list (identifier) @late) ":=")
(receive_statement left: (expression_list (identifier) @late) ":=")
(type_switch_statement alias: (expression_list (identifier) @late))
(function_declaration name: (identifier) @function)
(type_spec name: (type_identifier) @kept.class)
(type_alias name: (type_identifier) @kept.parameter)
(keyed_element . (literal_element (identifier) @keep))
(labeled_statement label: (label_name) @label)
[(goto_statement (label_name) @use.label) (break_statement (label_name) @use.label)
 (continue_statement (label_name) @use.label)]
"""

GO = Rules(
    query=QUERY,
    names={
        "identifier": "use.value",
        "type_identifier": "use.value",
        "label_name": "keep",
    },
    uses={"value": ("value",), "owner": ("value",), "label": ("label",)},
    late={
        "short_var_declaration": None,
        "var_spec": None,
        "const_spec": None,
        "range_clause": None,
        "receive_statement": None,
        "type_switch_statement": "value",
    },
    builtins=words(
        "_ main init nil true false iota append cap clear close complex copy delete imag len make"
        " max min new panic print println real recover bool byte complex64 complex128 error float32"
        " float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr"
        " any comparable"
    ),
    exported=re.compile(r"[^\W\d_a-z]|_*[A-Z]"),
)
