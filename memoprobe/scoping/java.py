"""Rules of Java: what a class shows, or may override, stays."""

from memoprobe.scoping.rules import Rules, words

QUERY = """
[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration)
 (annotation_type_declaration)] @scope.class
(class_declaration (superclass (_) @base)) @scope.class
(class_declaration (super_interfaces (type_list (_) @base))) @scope.class
(interface_declaration (extends_interfaces (type_list (_) @base))) @scope.class
(enum_declaration (super_interfaces (type_list (_) @base))) @scope.class
(record_declaration (super_interfaces (type_list (_) @base))) @scope.class
(object_creation_expression type: (_) @base (class_body)) @scope.class
(enum_constant body: (class_body)) @scope.class
[(method_declaration) (constructor_declaration) (compact_constructor_declaration)
 (static_initializer)] @scope.function
[(block) (constructor_body) (for_statement) (enhanced_for_statement) (if_statement)
 (while_statement) (try_with_resources_statement) (catch_clause) (lambda_expression)
 (switch_block) (switch_rule) (switch_block_statement_group)] @scope
(try_with_resources_statement [(catch_clause) (finally_clause)] @scope.beside)
(switch_block (switch_block_statement_group) @scope.none)
(switch_block (switch_block_statement_group (switch_label (pattern)))  @scope)

[(package_declaration (identifier) @ignored) (import_declaration (identifier) @ignored)
 (scoped_identifier (identifier) @ignored)]
(import_declaration (scoped_identifier name: (identifier) @keep))
(annotation name: (identifier) @use.type)
(marker_annotation name: (identifier) @use.type)
(element_value_pair key: (identifier) @ignored)

(class_declaration name: (identifier) @type)
(interface_declaration name: (identifier) @type)
(enum_declaration name: (identifier) @type)
(record_declaration name: (identifier) @kept.type)
(annotation_type_declaration name: (identifier) @kept.type)
(class_declaration name: (identifier) @kept.type superclass: (_))
(_ (modifiers [(annotation) (marker_annotation)]) name: (identifier) @kept.type
   body: [(class_body) (interface_body) (enum_body)])
(program (_ (modifiers "public") name: (identifier) @kept.type
   body: [(class_body) (interface_body) (enum_body)]))
(type_parameter . (type_identifier) @type_parameter)
(scoped_type_identifier (_) (type_identifier) @member.type)
(record_pattern . (identifier) @use.type)
(class_literal (type_identifier) @keep)

(method_declaration name: (identifier) @kept.method)
(method_declaration (modifiers ["private" "static"]) name: (identifier) @method)
(method_declaration (modifiers [(annotation) (marker_annotation)])
  name: (identifier) @kept.method)
(annotation_type_element_declaration name: (identifier) @kept.method)
[(constructor_declaration name: (identifier) @use.type)
 (compact_constructor_declaration name: (identifier) @use.type)]
(method_invocation object: (identifier) @use.owner)
(method_invocation name: (identifier) @use.call)
(method_invocation object: (_) name: (identifier) @member.method)
(method_invocation object: (this) name: (identifier) @own.method)
(method_reference . (identifier) @use.owner)
(method_reference (_) (identifier) @member.method)
(method_reference (this) (identifier) @own.method)

(field_declaration declarator: (variable_declarator name: (identifier) @kept.field))
(field_declaration (modifiers ["private" "static"])
  declarator: (variable_declarator name: (identifier) @field))
(field_declaration (modifiers [(annotation) (marker_annotation)])
  declarator: (variable_declarator name: (identifier) @kept.field))
(_ (modifiers [(annotation) (marker_annotation)])
   body: (class_body (field_declaration
     declarator: (variable_declarator name: (identifier) @kept.field))))
(constant_declaration declarator: (variable_declarator name: (identifier) @kept.field))
(enum_constant name: (identifier) @kept.field)
(field_access object: (identifier) @use.owner)
(field_access field: (identifier) @member.field)
(field_access object: (this) field: (identifier) @own.field)

(local_variable_declaration declarator: (variable_declarator name: (identifier) @variable))
(formal_parameter name: (identifier) @parameter)
((formal_parameter (modifiers [(annotation name: (identifier) @_)
  (marker_annotation name: (identifier) @_)]) name: (identifier) @keep)
  (#match? @_ "Param$|PathVariable|RequestHeader|RequestPart|CookieValue|JsonProperty|Named"))
(spread_parameter (variable_declarator name: (identifier) @parameter))
(record_declaration parameters: (formal_parameters [
  (formal_parameter name: (identifier) @kept.field)
  (spread_parameter (variable_declarator name: (identifier) @kept.field))]))
(catch_formal_parameter name: (identifier) @parameter)
(resource name: (identifier) @variable)
(enhanced_for_statement name: (identifier) @late)
(lambda_expression parameters: (identifier) @parameter)
(inferred_parameters (identifier) @parameter)
(instanceof_expression name: (identifier) @variable)
(type_pattern (identifier) @variable)
(record_pattern_component (identifier) @variable)
(if_statement condition: (parenthesized_expression (unary_expression operator: "!"
  operand: (parenthesized_expression (instanceof_expression name: (identifier) @leaked)))))

(labeled_statement . (identifier) @label)
[(break_statement (identifier) @use.label) (continue_statement (identifier) @use.label)]
(switch_label (identifier) @keep)
(string_literal) @string
((method_invocation name: (identifier) @by_string) (#any-of? @by_string
  "forName" "getMethod" "getDeclaredMethod" "getField" "getDeclaredField" "getMethods"
  "getDeclaredMethods" "getFields" "getDeclaredFields" "findVirtual" "findStatic" "newUpdater"))
"""

JAVA = Rules(
    query=QUERY,
    names={"identifier": "use.value", "type_identifier": "use.type"},
    uses={
        "value": ("value", "field"),
        "owner": ("value", "field", "type"),
        "call": ("method",),
        "type": ("type",),
        "label": ("label",),
    },
    late={"enhanced_for_statement": "value"},
    harmless=words(
        "Comparator Runnable Callable Iterator Iterable Comparable Function BiFunction Supplier"
        " Consumer BiConsumer Predicate BiPredicate UnaryOperator BinaryOperator Object"
        " ActionListener Cloneable Serializable AutoCloseable Closeable"
    ),
    builtins=words("main serialVersionUID String Object"),
    library=words(
        "toString equals hashCode compareTo compare run call get accept apply applyAsInt test"
        " iterator next hasNext remove close getClass clone finalize notify notifyAll wait valueOf"
        " values ordinal name reversed thenComparing naturalOrder reverseOrder comparing forEach"
        " forEachRemaining spliterator andThen compose negate and or not identity minBy maxBy"
        " actionPerformed nullsFirst nullsLast thenComparingInt thenComparingLong comparingInt"
        " isEqual readObject writeObject readResolve writeReplace"
    ),
)
