"""Rules of Ruby: local variables and parameters without keyword; methods stay."""

import re

from memoprobe.scoping.rules import Rules, words

QUERY = r"""
[(method) (singleton_method) (class) (module) (singleton_class)] @scope.function.closed
[(block) (do_block) (lambda)] @scope
(lambda body: (_) @scope.none)
[(method name: (identifier) @ignored) (singleton_method name: (identifier) @ignored)
 (setter (identifier) @ignored) (call method: (identifier) @ignored)
 (alias (identifier) @keep) (undef (identifier) @keep)]
(method_parameters (identifier) @parameter)
(block_parameters (identifier) @parameter)
(lambda_parameters (identifier) @parameter)
(block_parameters locals: (identifier) @parameter)
(destructured_parameter (identifier) @parameter)
(optional_parameter name: (identifier) @parameter)
(splat_parameter name: (identifier) @variable)
(hash_splat_parameter name: (identifier) @parameter)
(block_parameter name: (identifier) @parameter)
(keyword_parameter name: (identifier) @keep)
(assignment left: (identifier) @variable)
(operator_assignment left: (identifier) @variable)
(left_assignment_list (identifier) @variable)
(destructured_left_assignment (identifier) @variable)
(rest_assignment (identifier) @variable)
(for pattern: (identifier) @variable)
(exception_variable (identifier) @variable)
(array_pattern (identifier) @variable)
(find_pattern (identifier) @variable)
(as_pattern name: (identifier) @variable)
(in_clause pattern: (identifier) @variable)
(match_pattern pattern: (identifier) @variable)
(test_pattern pattern: (identifier) @variable)
(alternative_pattern (identifier) @keep)
(keyword_pattern value: (identifier) @variable)
(keyword_pattern key: (hash_key_symbol) @words !value)
(pair key: (hash_key_symbol) @words !value)
(regex) @words
((identifier) @sees (#any-of? @sees "binding" "eval" "instance_eval" "class_eval" "module_eval"
  "local_variables" "local_variable_get" "local_variable_set" "local_variable_defined?"))
"""

RUBY = Rules(
    query=QUERY,
    names={"identifier": "use.value"},
    uses={"value": ("value",), "owner": ("value",)},
    braces=re.compile(r"[{}]|\b(?:end|do|def|class|module|begin)\b"),
    builtins=words("_ it self super puts print p pp raise loop lambda proc require attr_accessor")
    | {f"_{digit}" for digit in range(1, 10)},
)
