"""Rules of C#: types and what a class shows stay."""

from memoprobe.scoping.rules import Rules, words

QUERY = r"""
[(class_declaration) (struct_declaration) (interface_declaration) (record_declaration)
 (enum_declaration) (namespace_declaration)] @scope.class
(_ (base_list (_) @base)) @scope.class
[(method_declaration) (constructor_declaration) (destructor_declaration) (operator_declaration)
 (conversion_operator_declaration) (local_function_statement) (indexer_declaration)
 (accessor_declaration) (property_declaration) (anonymous_method_expression)
 (delegate_declaration)] @scope.function
[(block) (for_statement) (foreach_statement) (using_statement) (fixed_statement) (catch_clause)
 (lambda_expression) (switch_body) (switch_expression_arm) (query_expression)] @scope

[(using_directive (_) @words) (namespace_declaration name: (_) @words)
 (file_scoped_namespace_declaration name: (_) @words) (attribute_list) @words]
(qualified_name (identifier) @ignored)
(alias_qualified_name (identifier) @ignored)
[(class_declaration name: (identifier) @keep) (struct_declaration name: (identifier) @keep)
 (interface_declaration name: (identifier) @keep) (record_declaration name: (identifier) @keep)
 (enum_declaration name: (identifier) @keep) (delegate_declaration name: (identifier) @keep)
 (constructor_declaration name: (identifier) @keep) (enum_member_declaration name: (_) @keep)
 (property_declaration name: (identifier) @keep) (event_declaration name: (identifier) @keep)
 (destructor_declaration name: (identifier) @keep)]
(type_parameter name: (identifier) @parameter)
(type_parameter_constraints_clause . (identifier) @use.value)
(method_declaration name: (identifier) @keep)
(method_declaration (modifier "private") name: (identifier) @method_of)
(method_declaration (modifier "static") name: (identifier) @method_of)
(method_declaration (modifier) @_ name: (identifier) @keep
  (#any-of? @_ "override" "virtual" "abstract" "partial" "extern"))
(method_declaration (attribute_list) name: (identifier) @keep)
(method_declaration (explicit_interface_specifier) name: (identifier) @keep)
(local_function_statement name: (identifier) @function)
(global_statement (local_function_statement (modifier) @_ name: (identifier) @keep
  (#any-of? @_ "public" "protected" "internal" "override" "virtual" "abstract" "new" "partial")))
(field_declaration (variable_declaration (variable_declarator name: (identifier) @keep)))
(field_declaration (modifier "private")
  (variable_declaration (variable_declarator name: (identifier) @field)))
(field_declaration (attribute_list)
  (variable_declaration (variable_declarator name: (identifier) @keep)))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @keep)))
(local_declaration_statement (variable_declaration (variable_declarator name: (_) @parameter)))
(for_statement (variable_declaration (variable_declarator name: (_) @parameter)))
(using_statement (variable_declaration (variable_declarator name: (_) @parameter)))
(fixed_statement (variable_declaration (variable_declarator name: (_) @parameter)))
(variable_declarator (tuple_pattern name: (identifier) @parameter))
(parameter name: (identifier) @parameter)
(parameter_list name: (identifier) @parameter)
(method_declaration (attribute_list) parameters: (parameter_list (parameter
  name: (identifier) @keep)))
(parameter (attribute_list) name: (identifier) @keep)
(record_declaration (parameter_list (parameter name: (identifier) @keep)))
(_ parameters: (implicit_parameter) @parameter)
(foreach_statement left: (_) @parameter)
(tuple_pattern name: (identifier) @parameter)
(parenthesized_variable_designation (identifier) @parameter)
(catch_declaration name: (identifier) @parameter)
(declaration_pattern name: (identifier) @parameter)
(recursive_pattern name: (identifier) @parameter)
(var_pattern (identifier) @parameter)
(list_pattern (identifier) @parameter)
(declaration_expression name: (identifier) @parameter)
(from_clause name: (identifier) @parameter)
(let_clause . (identifier) @parameter)
(join_clause . (identifier) @parameter)
(join_into_clause (identifier) @parameter)
(query_expression (_ "into" . (identifier) @parameter))
(tuple_element name: (identifier) @keep)
(argument name: (identifier) @keep)
(tuple_expression (argument . (identifier) @keep .))
(anonymous_object_creation_expression (identifier) @keep)
(initializer_expression (assignment_expression left: (identifier) @ignored))
(with_initializer (identifier) @ignored)
(subpattern . (identifier) @ignored)
(member_access_expression name: (identifier) @member.field)
(member_access_expression "this" . "." name: (identifier) @own.field)
(member_binding_expression name: (identifier) @member.field)
((invocation_expression function: (identifier) @_
  arguments: (argument_list) @words) (#eq? @_ "nameof"))
(labeled_statement . (identifier) @label)
(goto_statement (identifier) @use.label)
[(string_literal) (verbatim_string_literal) (raw_string_literal)] @string
((identifier) @by_string (#any-of? @by_string "GetMethod" "GetField" "GetProperty" "GetMember"
  "BindingFlags" "CallerArgumentExpression"))
(preproc_if condition: (_) @words)
"""

CSHARP = Rules(
    query=QUERY,
    names={"identifier": "use.value", "implicit_parameter": "parameter"},
    uses={"value": ("value", "field"), "owner": ("value", "field"), "label": ("label",)},
    spreads={"tuple_pattern": None, "tuple_expression": None},
    harmless=words("IComparer IComparable IDisposable IEnumerable IEnumerator IEquatable"),
    builtins=words("Main var dynamic value _ args nameof async await record init"),
    library=words(
        "ToString Equals GetHashCode GetType MemberwiseClone Finalize ReferenceEquals Compare"
        " CompareTo Dispose GetEnumerator MoveNext Current Reset"
    ),
)
