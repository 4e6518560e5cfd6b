"""Rules of PHP: variables; functions stay, for a text may name them."""

from memoprobe.scoping.rules import Rules, words

QUERY = r"""
[(function_definition) (method_declaration) (anonymous_function)] @scope.function.closed
(arrow_function) @scope.function
(variable_name (name) @lifted)
(arrow_function parameters: (formal_parameters (_ name: (variable_name (name) @parameter))))
(property_promotion_parameter name: (variable_name (name) @keep))
(property_element (variable_name (name) @ignored))
(scoped_property_access_expression name: (variable_name (name) @ignored))
(global_declaration (variable_name (name) @keep))
(argument name: (name) @keep)
(dynamic_variable_name) @sees
((function_call_expression function: (name) @sees) (#match? @sees
  "(?i)^(extract|get_defined_vars|parse_str|mb_parse_str|eval)$"))
[(include_expression) (include_once_expression) (require_expression)
 (require_once_expression)] @sees
((variable_name (name) @sees) (#eq? @sees "GLOBALS"))
((function_call_expression function: (name) @by_string) (#match? @by_string "(?i)^compact$"))
[(string) (encapsed_string) (heredoc) (nowdoc)] @string
(named_label_statement (name) @label)
(goto_statement (name) @use.label)
"""

PHP = Rules(
    query=QUERY,
    names={"name": "ignored"},
    uses={"value": ("value",), "owner": ("value",), "label": ("label",)},
    builtins=words(
        "this GLOBALS _GET _POST _SERVER _COOKIE _FILES _ENV _REQUEST _SESSION argc argv"
        " http_response_header php_errormsg"
    ),
)
