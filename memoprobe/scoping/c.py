"""Rules of C and C++: members stay, and so does what a macro may name."""

from memoprobe.scoping.rules import Rules, words

_SHARED = r"""
[(compound_statement) (for_statement) (if_statement) (while_statement) (switch_statement)] @scope
(function_definition) @scope.function
(function_declarator parameters: (parameter_list) @scope)
(abstract_function_declarator parameters: (parameter_list) @scope)
(function_definition declarator: (function_declarator parameters: (_) @scope.none))
(function_definition declarator: (_
  declarator: (function_declarator parameters: (_) @scope.none)))
(function_definition declarator: (_ declarator: (_
  declarator: (function_declarator parameters: (_) @scope.none))))

(declaration declarator: (_) @variable)
(parameter_declaration declarator: (_) @variable)
(declaration (storage_class_specifier "extern") declarator: (_) @kept.variable)
(declaration declarator: (function_declarator) @use.value)
(declaration declarator: (_ declarator: (function_declarator) @use.value))
(declaration declarator: (_ declarator: (_ declarator: (function_declarator) @use.value)))
(declaration declarator: (function_declarator
  declarator: (parenthesized_declarator) @variable))
(declaration declarator: (_ declarator: (function_declarator
  declarator: (parenthesized_declarator) @variable)))
(parameter_declaration declarator: (function_declarator (identifier) @variable))
(parameter_declaration declarator: (_ declarator: (function_declarator (identifier) @variable)))
(function_definition declarator: (_) @function)
(type_definition declarator: (_) @constant)
(enumerator name: (identifier) @constant)

(labeled_statement label: (statement_identifier) @label)
(goto_statement label: (statement_identifier) @use.label)
(pointer_expression operator: "&" argument: (pointer_expression operator: "&"
  argument: (identifier) @keep))
(goto_statement (ERROR) label: (statement_identifier) @keep)
(gnu_asm_input_operand symbol: (identifier) @keep)
(gnu_asm_output_operand symbol: (identifier) @keep)
(gnu_asm_goto_list (identifier) @keep)
(attribute_specifier) @words
(translation_unit (expression_statement (call_expression) @words))
(translation_unit (declaration declarator: (parenthesized_declarator) @words))
[(preproc_def name: (identifier) @keep) (preproc_function_def name: (identifier) @keep)
 (preproc_params (identifier) @keep)]
(preproc_arg) @words
((preproc_arg) @sees (#match? @sees "#"))
(preproc_if condition: (_) @words)
(preproc_elif condition: (_) @words)
[(preproc_ifdef name: (identifier) @keep) (preproc_defined (identifier) @keep)]
((call_expression function: (identifier) @_ arguments: (argument_list (identifier) @keep))
 (#match? @_ "(?i)list|queue|tailq|foreach|for_each|container_of|offsetof|_entry"))
"""

_C = """
(parameter_list (identifier) @variable)
(struct_specifier name: (type_identifier) @use.tag)
(union_specifier name: (type_identifier) @use.tag)
(enum_specifier name: (type_identifier) @use.tag)
(struct_specifier name: (type_identifier) @tag body: (_))
(union_specifier name: (type_identifier) @tag body: (_))
(enum_specifier name: (type_identifier) @tag body: (_))
"""

_CPP = r"""
[(catch_clause) (for_range_loop)] @scope
(template_declaration) @scope.thin
(lambda_expression) @scope.function
(lambda_expression declarator: (abstract_function_declarator parameters: (_) @scope.none))
(namespace_definition) @scope.class
[(class_specifier body: (_)) (struct_specifier body: (_)) (union_specifier body: (_))] @scope.class
(class_specifier (base_class_clause (type_identifier) @base)) @scope.class
(struct_specifier (base_class_clause (type_identifier) @base)) @scope.class
(class_specifier (base_class_clause (qualified_identifier) @base)) @scope.class
(struct_specifier (base_class_clause (qualified_identifier) @base)) @scope.class
(class_specifier (base_class_clause (template_type) @base)) @scope.class
(struct_specifier (base_class_clause (template_type) @base)) @scope.class
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier) @base)) @scope.function
(function_definition declarator: (_ declarator: (function_declarator
  declarator: (qualified_identifier) @base))) @scope.function
(function_definition declarator: (_ (function_declarator
  declarator: (qualified_identifier) @base))) @scope.function

[(class_specifier name: (type_identifier) @use.tag)
 (struct_specifier name: (type_identifier) @use.tag)
 (union_specifier name: (type_identifier) @use.tag)
 (enum_specifier name: (type_identifier) @use.tag)]
[(class_specifier name: (type_identifier) @tagged body: (_))
 (struct_specifier name: (type_identifier) @tagged body: (_))
 (union_specifier name: (type_identifier) @tagged body: (_))]
(enum_specifier name: (type_identifier) @entagged body: (_))
(class_specifier name: (type_identifier) @kept.tagged (base_class_clause))
(struct_specifier name: (type_identifier) @kept.tagged (base_class_clause))
(namespace_definition name: (namespace_identifier) @kept.class)
(alias_declaration name: (type_identifier) @constant)
[(type_parameter_declaration (type_identifier) @parameter)
 (variadic_type_parameter_declaration (type_identifier) @parameter)
 (optional_type_parameter_declaration name: (type_identifier) @parameter)]
(optional_parameter_declaration declarator: (_) @variable)
(variadic_parameter_declaration declarator: (_) @variable)
(variadic_declarator (identifier) @variable)
(reference_declarator (identifier) @variable)
(parameter_declaration declarator: (_) @variable)
(for_range_loop declarator: (_) @late)
(structured_binding_declarator (identifier) @variable)
(lambda_capture_initializer left: (identifier) @variable)
(using_declaration (identifier) @keep)
(using_declaration (qualified_identifier) @words)
(using_declaration "namespace" (identifier) @ignored)
(friend_declaration) @words

(field_declaration declarator: (_) @kept.field)
(field_declaration_list (function_definition declarator: (_) @kept.method_of))
(field_declaration_list (function_definition !type
  declarator: (function_declarator declarator: (identifier) @use.value)))
(field_declaration_list (declaration declarator:
  (function_declarator declarator: (identifier) @use.value)))
(destructor_name (identifier) @use.value)
(operator_cast) @ignored
(field_initializer . (field_identifier) @keep)
(function_definition !type declarator: (function_declarator declarator: (qualified_identifier
  name: (_) @keep)))
(qualified_identifier name: (identifier) @qualified.value)
(qualified_identifier name: (type_identifier) @qualified.value)
(qualified_identifier name: (template_function name: (identifier) @qualified.value))
(qualified_identifier name: (template_type name: (type_identifier) @qualified.value))
((template_function name: (identifier) @ignored)
  (#any-of? @ignored "static_cast" "dynamic_cast" "const_cast" "reinterpret_cast"))
(concept_definition) @words
(requires_clause) @words
"""

_NAMES = {"identifier": "use.value", "type_identifier": "use.value", "statement_identifier": "keep"}
_SPREADS = {
    "init_declarator": "declarator",
    "pointer_declarator": "declarator",
    "array_declarator": "declarator",
    "function_declarator": "declarator",
    "parenthesized_declarator": None,
    "attributed_declarator": None,
}
# Names that calls may find by the types of their arguments, or by `using namespace std`.
_LIBRARY = words(
    "max min swap gcd lcm abs sort count find next prev distance begin end size data empty move get"
    " fill copy reverse unique rotate hash pair map set list queue stack vector string array tuple"
    " function bind ref tie make_pair lower_bound upper_bound accumulate iota clamp exchange power"
    " less greater plus minus left right hex oct dec fixed ws y0 y1 yn j0 j1 jn read write time"
    " index link log exp pow sin cos div search equal merge remove replace transform generate"
    " partition nth_element is_sorted all_of any_of none_of for_each apply any optional variant"
    " byte bitset deque complex valarray ostream istream rank extent"
)
_BUILTINS = words(
    "main NULL errno stdin stdout stderr va_list FILE assert defined unix linux __func__ true false"
    " bool int char float double void long short signed unsigned size_t ssize_t int8_t int16_t"
    " int32_t int64_t uint8_t uint16_t uint32_t uint64_t"
)

C = Rules(
    query=_SHARED + _C,
    names=_NAMES,
    uses={"value": ("value",), "tag": ("tag",), "label": ("label",)},
    spreads=_SPREADS,
    macros=True,
    builtins=_BUILTINS,
)

CPP = Rules(
    query=_SHARED + _CPP,
    names=_NAMES | {"namespace_identifier": "use.owner", "field_identifier": "ignored"},
    uses={
        "value": ("value", "field"),
        "owner": ("value",),
        "tag": ("tag",),
        "label": ("label",),
    },
    spreads=_SPREADS | {"reference_declarator": None, "parameter_pack_expansion": None},
    late={"for_range_loop": "right"},
    macros=True,
    builtins=_BUILTINS | words("std this cin cout cerr endl string wchar_t nullptr operator"),
    library=_LIBRARY,
)
