"""Rules of JavaScript: what is exported, imported or written in shorthand stays."""

from memoprobe.scoping.rules import Rules, words

QUERY = r"""
[(function_declaration) (generator_function_declaration) (function_expression)
 (generator_function) (arrow_function) (method_definition) (class_static_block)] @scope.function
[(class_declaration) (class) (statement_block) (for_statement) (for_in_statement)
 (catch_clause) (switch_body)] @scope

(import_statement) @words
(export_clause) @words
(namespace_export) @words
(variable_declarator name: (_) @parameter)
(variable_declaration (variable_declarator name: (_) @lifted))
(formal_parameters (_) @parameter)
(arrow_function parameter: (identifier) @parameter)
(catch_clause parameter: (_) @parameter)
(for_in_statement kind: ["const" "let"] left: (_) @parameter)
(for_in_statement kind: "var" left: (_) @lifted)
[(function_declaration name: (identifier) @function)
 (generator_function_declaration name: (identifier) @function)
 (class_declaration name: (identifier) @class)]
[(function_expression name: (identifier) @inner) (generator_function name: (identifier) @inner)
 (class name: (identifier) @inner)]
(export_statement declaration: (_ name: (identifier) @keep))
(export_statement declaration: (_ (variable_declarator name: (_) @words)))
[(shorthand_property_identifier) (shorthand_property_identifier_pattern)] @keep
(labeled_statement label: (statement_identifier) @label)
[(break_statement label: (statement_identifier) @use.label)
 (continue_statement label: (statement_identifier) @use.label)]
[(jsx_opening_element name: (identifier) @keep) (jsx_closing_element name: (identifier) @keep)
 (jsx_self_closing_element name: (identifier) @keep)]

(string) @string
(template_string) @string
((call_expression function: (identifier) @sees) (#any-of? @sees "eval" "Function"))
((new_expression constructor: (identifier) @sees) (#eq? @sees "Function"))
((identifier) @sees (#any-of? @sees "angular" "$injector"))
(with_statement) @sees
((call_expression function: (identifier) @by_string)
 (#any-of? @by_string "setTimeout" "setInterval"))
((member_expression object: (identifier) @_ property: (property_identifier) @words)
 (#any-of? @_ "window" "globalThis" "global" "self"))
((subscript_expression object: (identifier) @by_string)
 (#any-of? @by_string "window" "globalThis" "global" "self"))
(subscript_expression object: (this) @by_string)
((member_expression object: (identifier) @keep property: (property_identifier) @_)
 (#eq? @_ "name"))
((member_expression object: (member_expression property: (property_identifier) @_)
  property: (property_identifier) @sees) (#eq? @_ "constructor") (#eq? @sees "name"))
"""

JAVASCRIPT = Rules(
    query=QUERY,
    names={
        "identifier": "use.value",
        "shorthand_property_identifier": "keep",
        "shorthand_property_identifier_pattern": "keep",
        "statement_identifier": "keep",
    },
    uses={"value": ("value",), "owner": ("value",), "label": ("label",)},
    spreads={
        "array_pattern": None,
        "object_pattern": None,
        "pair_pattern": "value",
        "assignment_pattern": "left",
        "object_assignment_pattern": "left",
        "rest_pattern": None,
    },
    builtins=words(
        "undefined NaN Infinity globalThis window document global process module exports require"
        " console Object Array String Number Boolean Symbol Function Date Math JSON RegExp Map Set"
        " WeakMap WeakSet Promise Proxy Reflect Error TypeError RangeError SyntaxError BigInt"
        " parseInt parseFloat isNaN isFinite eval arguments self __dirname __filename Buffer name"
        " setTimeout setInterval clearTimeout clearInterval fetch alert event location history $"
        " jQuery _ angular React constructor"
    ),
)
