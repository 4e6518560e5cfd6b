"""Decide which names of a program may be renamed, and find where they stand.

A spelling is one unit: it is renamed everywhere or nowhere, so that a rename map can be
undone. ``ast`` and ``symtable`` say which spellings are safe; tree-sitter says where they
stand, for its byte offsets are right inside f-strings and after non-ASCII text on every
Python. When in doubt a name stays.
"""

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterator

import tree_sitter

from memoprobe.languages import decode, encode, parse
from memoprobe.records import Sample
from memoprobe.scoping.rules import Names

_WORD = re.compile(r"\w+")
_CONVENTIONAL = frozenset({"self", "cls", "_"})
_BUILTINS = frozenset(dir(builtins))
# These see every local name there is, so nothing can be renamed beside them.
_ALL_SEEING = frozenset({"locals", "globals", "inspect"}) | {
    f"__{name}__" for name in ("code", "annotations", "signature", "kwdefaults")
}
_SEEING_WITHOUT_ARGUMENT = frozenset({"vars", "dir"})
# These look a name up by a string, so names that stand in a string are left alone.
_BY_STRING = frozenset({"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"})
_BY_STRING |= {"eval", "exec", "compile", "patch", "import_module", "get_type_hints"}
_BY_STRING |= {"__all__", "__dict__"}
_TOLD_BY_NAME = frozenset({"__name__", "__qualname__"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def python(sample: Sample) -> Names | None:
    """Return the renameable names of a Python program, None where it does not parse."""
    tree = _tree(sample.text)
    if tree is None:
        return None
    places = list(_places(sample.text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scopes = list(_scopes(symtable.symtable(sample.text, "<sample>", "exec")))
    kept = _kept(tree, scopes, sample)
    bound = {symbol.get_name() for scope in scopes for symbol in scope.get_symbols()}
    seen = dict.fromkeys(name for _, _, name in places)
    return Names([name for name in seen if name in bound - kept], places)


def python_agrees(before: str, after: str, rename_map: dict[str, str]) -> bool:
    """Tell whether ``after`` is the program ``before`` with its names mapped and nothing else."""
    here, there = _tree(before), _tree(after)
    if here is None or there is None:
        return False
    for node in ast.walk(here):
        for field in _NAME_FIELDS.get(type(node).__name__, ()):
            value = getattr(node, field)
            mapped = (
                [rename_map.get(name, name) for name in value]
                if isinstance(value, list)
                else rename_map.get(value, value)
            )
            setattr(node, field, mapped)
    return ast.dump(here) == ast.dump(there)


_NAME_FIELDS: dict[str, tuple[str, ...]] = {
    "Name": ("id",),
    "arg": ("arg",),
    "FunctionDef": ("name",),
    "AsyncFunctionDef": ("name",),
    "ClassDef": ("name",),
    "ExceptHandler": ("name",),
    "MatchAs": ("name",),
    "MatchStar": ("name",),
    "MatchMapping": ("rest",),
    "Global": ("names",),
    "Nonlocal": ("names",),
    "TypeVar": ("name",),
    "ParamSpec": ("name",),
    "TypeVarTuple": ("name",),
}


def _tree(code: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(code, "<sample>", "exec", dont_inherit=True)
            return ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _scopes(scope: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield scope
    for child in scope.get_children():
        yield from _scopes(child)


def _kept(tree: ast.Module, scopes: list[symtable.SymbolTable], sample: Sample) -> set[str]:
    outside = set(_WORD.findall(f"{sample.tests or ''}\n{sample.context}"))
    nodes = list(ast.walk(tree))
    kept = {*_CONVENTIONAL, *_BUILTINS, *_WORD.findall(sample.entry_point or "")}
    kept |= _kept_by_scope(scopes, outside, star=_has_star(nodes))
    kept |= _kept_keywords(nodes, f"{sample.tests or ''}\n{sample.context}")
    kept |= _kept_definitions(nodes)
    return kept | _kept_by_reflection(nodes, outside)


def _has_star(nodes: list[ast.AST]) -> bool:
    return any(isinstance(node, ast.alias) and node.name == "*" for node in nodes)


def _kept_by_scope(
    scopes: list[symtable.SymbolTable], outside: set[str], *, star: bool
) -> set[str]:
    """Return imported names, names of class bodies, and globals that others may set or see."""
    symbols = [(scope, symbol) for scope in scopes for symbol in scope.get_symbols()]
    top = scopes[0]
    at_module_level = {
        symbol.get_name()
        for scope, symbol in symbols
        if symbol.is_assigned() and (scope is top or symbol.is_declared_global())
    }
    kept = at_module_level if star else at_module_level & outside
    for scope, symbol in symbols:
        name = symbol.get_name()
        unbound = (scope is top or symbol.is_global()) and name not in at_module_level
        of_class = scope.get_type() == "class" and symbol.is_local()
        if unbound or of_class or symbol.is_imported() or name.startswith("__"):
            kept.add(name)
    return kept


def _kept_keywords(nodes: list[ast.AST], outside: str) -> set[str]:
    """Return the parameters that a call passes, or may pass, by keyword."""
    parameters = {
        parameter.arg
        for node in nodes
        if isinstance(node, ast.arguments)
        for parameter in (*node.args, *node.kwonlyargs)
    }
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and _binds(node)}
    bound |= {node.name for node in nodes if isinstance(node, _Function | ast.ClassDef)}
    passed = {
        keyword.arg
        for node in nodes
        if isinstance(node, ast.Call | ast.ClassDef)
        and not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _BUILTINS - bound - parameters
        )
        for keyword in node.keywords
    }
    unknown = {None, "kwargs"} & passed or re.search(r"[(,]\s*\*\*\s*\w|\bkwargs\b", outside)
    passed |= set(re.findall(r"\b(\w+)\s*=(?!=)", outside))
    return parameters if unknown else {name for name in parameters if name in passed}


def _binds(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _kept_definitions(nodes: list[ast.AST]) -> set[str]:
    """Return definitions whose name shows: decorated, tests, classes with bases (their repr)."""
    kept = set()
    for node in nodes:
        if isinstance(node, _Function | ast.ClassDef):
            has_base = isinstance(node, ast.ClassDef) and (node.bases or node.keywords)
            if node.decorator_list or has_base or node.name.startswith(("test", "Test")):
                kept.add(node.name)
    return kept


def _kept_by_reflection(nodes: list[ast.AST], outside: set[str]) -> set[str]:
    """Return the names that code may reach by a string, or see with ``locals`` and its like."""
    used = {name for node in nodes for name in _mentioned(node)}
    strings = {word for node in nodes for word in _words_of_string(node)}
    everything = {name for node in nodes for name in _names_in(node)}
    if used & _ALL_SEEING or any(_sees_all(node) for node in nodes):
        return everything
    kept: set[str] = set()
    if used & _BY_STRING:
        kept |= strings | outside
    if used & _TOLD_BY_NAME:
        kept |= {node.name for node in nodes if isinstance(node, _Function | ast.ClassDef)}
    return kept | {name for node in nodes for name in _quoted_annotations(node)} | _debugged(nodes)


def _names_in(node: ast.AST) -> Iterator[str]:
    for field in _NAME_FIELDS.get(type(node).__name__, ()):
        value = getattr(node, field)
        yield from value if isinstance(value, list) else [value] if value else []


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute) and node.attr != "compile":
        yield node.attr
    elif isinstance(node, ast.alias):
        yield node.name.partition(".")[0]


def _sees_all(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _SEEING_WITHOUT_ARGUMENT
        and not node.args
    )


def _strings(node: ast.AST) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _words_of_string(node: ast.AST) -> list[str]:
    return [word for string in _strings(node) for word in _WORD.findall(string)]


def _quoted_annotations(node: ast.AST) -> Iterator[str]:
    """Yield the names of an annotation in quotes: a forward reference."""
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    if isinstance(annotation, ast.AST):
        for part in ast.walk(annotation):
            yield from _words_of_string(part)


def _debugged(nodes: list[ast.AST]) -> set[str]:
    """Return names that ``f"{name=}"`` prints; f"name={name}", the same tree, is kept too."""
    return {
        word
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if any("=" in string for string in _strings(part))
        for word in _words_of_string(part)
    }


def _places(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield each identifier that is neither an attribute, a keyword nor part of an import."""
    data = encode(code)
    stack = [parse(data, "python")]
    while stack:
        node = stack.pop()
        if node.type == "identifier":
            yield node.start_byte, node.end_byte, decode(data[node.start_byte : node.end_byte])
        stack.extend(reversed([child for child in node.children if not _is_label(node, child)]))


def _is_label(parent: tree_sitter.Node, child: tree_sitter.Node) -> bool:
    """Tell whether a child node names an attribute, a keyword or a module and no variable."""
    match parent.type:
        case "attribute":
            return child == parent.child_by_field_name("attribute")
        case "keyword_argument":
            return child == parent.child_by_field_name("name")
        case "keyword_pattern" | "dotted_name":
            first = child.start_byte == parent.start_byte
            return first == (parent.type == "keyword_pattern")
        case "import_statement" | "import_from_statement" | "future_import_statement":
            return True
    return False
