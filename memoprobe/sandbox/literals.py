"""Read tests as calls with literal arguments and literal expectations, where they are that."""

import ast
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Case = dict[str, Any]

_MOST_NODES = 100_000  # of one literal, with the names in it filled in


class Call(NamedTuple):
    """Hold one call and what is expected of it, as ``judge.compare`` takes it."""

    arguments: list[Any]
    keywords: dict[str, Any]
    case: Case


class _Made(NamedTuple):
    """Hold the arguments of a call."""

    arguments: list[Any]
    keywords: dict[str, Any]


def parse(source: str) -> ast.Module:
    """Return the tree of code; what Python would warn of is not the reader's concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


class _NotLiteral(Exception):
    """Stand for code that is no such test."""


def calls(sources: Iterable[str], name: str, owner: str | None = None) -> list[Call] | None:
    """Return the calls that test code makes, in order, or None where it does anything else.

    Args:
        sources: Code of asserts, perhaps in functions named ``test...``, with names for
            literals and results in between. Imports are left out.
        name: The function under test.
        owner: The class whose method it is, if it is one.
    """
    found: list[Call] = []
    try:
        for source in sources:
            reader = _Reader(name, owner)
            reader.read(parse(source).body)
            reader.finish()
            found += reader.calls
    except (_NotLiteral, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return found


@dataclass(slots=True)
class _Reader:
    """Follow straight code: what each name holds, and the calls that asserts speak of."""

    name: str
    owner: str | None
    values: dict[str, ast.expr] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # of values, in nodes
    results: dict[str, _Made] = field(default_factory=dict)
    unused: set[str] = field(default_factory=set)  # results that no assert speaks of
    objects: set[str] = field(default_factory=set)
    spent: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)

    def read(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Assert):
                self._assert(node.test)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], node.value)
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                if node.args.args or node.decorator_list:
                    raise _NotLiteral
                inner = _Reader(
                    self.name,
                    self.owner,
                    dict(self.values),
                    dict(self.sizes),
                    objects=set(self.objects),
                )
                inner.read(node.body)
                inner.finish()
                self.calls += inner.calls
            elif not _is_idle(node):
                raise _NotLiteral

    def finish(self) -> None:
        """Refuse code that calls the function and asserts nothing of the result."""
        if self.unused:
            raise _NotLiteral

    def _assign(self, place: ast.expr, value: ast.expr) -> None:
        if not isinstance(place, ast.Name) or place.id in self.unused:
            raise _NotLiteral
        name = place.id
        made = self._call(value)
        self.values.pop(name, None)
        self.results.pop(name, None)
        self.spent.discard(name)
        if self._is_object(value):
            self.objects.add(name)
        elif made is not None:
            self.results[name] = made
            self.unused.add(name)
        else:
            self._literal(value)
            self.sizes[name] = self._size(value)
            self.values[name] = self._filled(value)

    def _is_object(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                return name == self.owner
            case ast.Name(id=name):
                return name in self.objects
        return False

    def _call(self, node: ast.expr) -> _Made | None:
        """Return what ``node`` calls the function with, or None where it does not."""
        match node:
            case ast.Name(id=name) if name in self.results:
                self.unused.discard(name)
                return self.results[name]
            case ast.Call(func=ast.Name(id=name)) if self.owner is None and name == self.name:
                return self._made(node)
            case ast.Call(func=ast.Attribute(value=held, attr=name)):
                if self.owner is not None and name == self.name and self._is_object(held):
                    return self._made(node)
        return None

    def _made(self, call: ast.Call) -> _Made:
        if any(keyword.arg is None for keyword in call.keywords):
            raise _NotLiteral
        # A second call with the same list would not see what the first one did to it.
        names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
        held = {
            name for name in names if not isinstance(self.values.get(name), ast.Constant | None)
        }
        if held & self.spent:
            raise _NotLiteral
        self.spent |= held
        keywords = {str(each.arg): self._literal(each.value) for each in call.keywords}
        return _Made([self._literal(each) for each in call.args], keywords)

    def _literal(self, node: ast.expr) -> Any:  # noqa: ANN401
        return ast.literal_eval(self._filled(node))

    def _filled(self, node: ast.expr) -> ast.expr:
        """Return ``node`` with literals for names, if it stays small: names may nest."""
        if self._size(node) > _MOST_NODES:
            raise _NotLiteral
        filled: ast.expr = _Filled(self.values).visit(node)
        return filled

    def _size(self, node: ast.expr) -> int:
        names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        return sum(1 for _ in ast.walk(node)) + sum(self.sizes.get(name, 0) for name in names)

    def _assert(self, test: ast.expr) -> None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._add(test.operand, {"expected": False, "truth": True})
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            self._comparison(test.left, test.ops[0], test.comparators[0])
        else:
            self._add(test, {"expected": True, "truth": True})

    def _comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> None:
        if isinstance(operator, ast.Lt | ast.LtE):
            self._nearness(left, right, is_strict=isinstance(operator, ast.Lt))
            return
        if not isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            raise _NotLiteral
        if not self._calls(left):
            left, right = right, left
        case: Case = {"expected": self._literal(right)}
        if isinstance(operator, ast.Is | ast.IsNot):
            if not (case["expected"] is None or isinstance(case["expected"], bool)):
                raise _NotLiteral
            case["identical"] = True
        if isinstance(operator, ast.NotEq | ast.IsNot):
            case["negated"] = True
        self._add(left, case)

    def _calls(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) or (
            isinstance(node, ast.Name) and node.id in self.results
        )

    def _nearness(self, left: ast.expr, right: ast.expr, *, is_strict: bool) -> None:
        """Read ``abs(f(x) - number) < tolerance``."""
        match left:
            case ast.Call(
                func=ast.Name(id="abs"),
                args=[ast.BinOp(left=call, op=ast.Sub(), right=number)],
                keywords=[],
            ):
                tolerance = float(self._literal(right))
                if is_strict:
                    tolerance = math.nextafter(tolerance, -math.inf)
                case = {"expected": float(self._literal(number)), "tolerance": tolerance}
                self._add(call, case)
            case _:
                raise _NotLiteral

    def _add(self, node: ast.expr, case: Case) -> None:
        made = self._call(node)
        if made is None:
            raise _NotLiteral
        self.calls.append(Call(*made, case))


def _is_idle(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)


class _Filled(ast.NodeTransformer):
    """Put in the place of names the literals that they hold."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what a name holds."""
        if node.id not in self._values:
            raise _NotLiteral
        return self._values[node.id]
