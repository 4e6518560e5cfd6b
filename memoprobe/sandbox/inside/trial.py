"""Take tests apart and run them one by one.

The judge does so with a proxy of the program; in shared mode it is done beside the program.
"""

import ast
import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from memoprobe.sandbox.inside.channel import Hung
from memoprobe.sandbox.inside.remote import Untransportable
from memoprobe.sandbox.inside.report import describe

Namespace = dict[str, Any]
Outcome = tuple[str, str]

PASSED: Outcome = ("passed", "")


class Step(NamedTuple):
    """Hold something to run; only the outcomes of tests are counted."""

    run: Callable[[], object]
    is_test: bool


def run(steps: Iterable[Step]) -> Iterator[Outcome]:
    """Run the steps and yield the outcome of each test.

    Where preparation fails, the tests after it have its outcome.
    """
    broken: Outcome | None = None
    for step in steps:
        outcome = broken or attempt(step.run)
        if step.is_test:
            yield outcome
        elif outcome != PASSED:
            broken = outcome


def attempt(action: Callable[[], object]) -> Outcome:
    """Do something and return how it went."""
    try:
        action()
    except BaseException as error:  # noqa: BLE001 - whatever tests or program raise
        return _outcome(error)
    return PASSED


def _outcome(error: BaseException) -> Outcome:
    if isinstance(error, Hung):
        return error.kind, ""
    # What the program raised comes first: it must not be taken for a lack of the tests.
    if hasattr(error, "verdict"):
        verdict: Outcome = error.verdict
        return verdict
    if isinstance(error, Untransportable | ModuleNotFoundError):
        return "unsupported", str(error)
    kind, words = describe(error)
    return ("failed" if isinstance(error, AssertionError) else kind), words


def free_names(sources: Iterable[str]) -> set[str]:
    """Return the names that code uses and neither defines nor finds among the builtins."""
    used: set[str] = set()
    defined = set(vars(builtins))
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else defined).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.alias):
            defined.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
    return used - defined


def steps_of(tests: Mapping[str, Any], candidate: Any, namespace: Namespace) -> Iterator[Step]:  # noqa: ANN401
    """Yield the steps of tests of any kind, their setup first.

    Args:
        tests: Holds ``kind`` (``check``, ``asserts`` or ``file``), ``setup``, code, and
            ``sources``, a list of code.
        candidate: The function under test.
        namespace: Where the tests run.
    """
    yield Step(_later(tests["setup"], namespace), False)
    if tests["kind"] == "asserts":
        yield from assert_steps(tests["sources"], namespace)
        return
    for source in tests["sources"]:
        if tests["kind"] == "check":
            yield from check_steps(source, candidate, namespace)
        else:
            yield from function_steps(source, namespace)


def check_steps(test: str, candidate: Any, namespace: Namespace) -> list[Step]:  # noqa: ANN401
    """Return the steps of code that defines ``check(candidate)``: its own statements.

    They run on the top level, so that each assert is a test of its own, unless the function
    needs to be one.
    """
    tree = ast.parse(test)
    checks = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check"]
    steps = [_step(node, namespace) for node in tree.body if node not in checks]
    for check in checks:
        needs_function = any(
            isinstance(node, ast.Return | ast.Yield | ast.Global | ast.Nonlocal)
            for node in ast.walk(check)
        )
        if needs_function or len(check.args.args) != 1:
            steps += [_step(check, namespace), Step(lambda: namespace["check"](candidate), True)]
        else:
            namespace[check.args.args[0].arg] = candidate
            steps += [_step(node, namespace) for node in check.body]
    return steps


def assert_steps(asserts: Iterable[str], namespace: Namespace) -> list[Step]:
    """Return the steps of tests that are texts of one or more statements each."""
    return [Step(_later(test, namespace), True) for test in asserts]


def _later(source: str, namespace: Namespace) -> Callable[[], object]:
    return lambda: _execute(ast.parse(source), namespace)


def _step(node: ast.stmt, namespace: Namespace) -> Step:
    is_test = any(isinstance(each, ast.Assert) for each in ast.walk(node))
    is_test = is_test and not isinstance(node, ast.FunctionDef | ast.ClassDef)
    return Step(lambda: _execute(ast.Module([node], []), namespace), is_test)


def _execute(tree: ast.Module, namespace: Namespace) -> None:
    exec(compile(tree, "tests.py", "exec"), namespace)  # noqa: S102


def function_steps(source: str, namespace: Namespace) -> list[Step]:
    """Return the steps of a test file: its test functions and classes, or else its asserts."""
    sys.modules.setdefault("pytest", _pytest())
    tree = ast.parse(source)
    defined = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    if not any(n.name.startswith(("test", "Test")) or _is_case(n) for n in defined):
        return [_step(node, namespace) for node in tree.body]
    steps = [Step(lambda: _execute(tree, namespace), False)]
    outcome = attempt(steps[0].run)
    if outcome != PASSED:
        return [*steps, Step(steps[0].run, True)]
    for node in defined:
        steps += _tests_of(namespace.get(node.name), node.name)
    return steps[1:]


def _is_case(node: ast.stmt) -> bool:
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return any(ast.unparse(base).endswith("TestCase") for base in bases)


def _tests_of(found: Any, name: str) -> Iterator[Step]:  # noqa: ANN401
    unittest = sys.modules.get("unittest")
    if unittest is not None and isinstance(found, type) and issubclass(found, unittest.TestCase):
        for method in unittest.TestLoader().getTestCaseNames(found):
            yield Step(partial(_run_case, found, method), True)
    elif isinstance(found, type) and name.startswith("Test"):
        for method in [each for each in vars(found) if each.startswith("test")]:
            yield Step(partial(_run_method, found, method), True)
    elif callable(found) and name.startswith("test"):
        for arguments in getattr(found, "cases", [{}]):
            yield Step(partial(found, **arguments), True)


def _run_method(owner: type, name: str) -> None:
    getattr(owner(), name)()


def _run_case(owner: Callable[[str], Any], name: str) -> None:
    """Run one test of a TestCase with what its class prepares; a skipped one counts as met."""
    unittest = sys.modules["unittest"]
    try:
        unittest.TestSuite([owner(name)]).debug()
    except unittest.SkipTest:
        return


def proxy_module(name: str, find: Callable[[str], Any]) -> None:
    """Let tests import any name from module ``name``; ``find`` gives what they get."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        package = sys.modules.setdefault(".".join(parts[:count]), ModuleType(parts[count - 1]))
        package.__path__ = []
    module = ModuleType(name)
    module.__getattr__ = lambda each: _public(each, find)  # type: ignore[method-assign]
    sys.modules[name] = module


def _public(name: str, find: Callable[[str], Any]) -> Any:  # noqa: ANN401
    if name.startswith("__"):
        raise AttributeError(name)
    return find(name)


def helper_modules(helpers: Mapping[str, str]) -> list[ModuleType]:
    """Make modules of the files beside the tests."""
    modules = []
    for name, source in helpers.items():
        module = sys.modules[name] = ModuleType(name)
        _execute(ast.parse(source), vars(module))
        modules.append(module)
    return modules


def _pytest() -> ModuleType:
    """Return what test files of the benchmarks use of pytest, which is not seen from inside."""
    module = ModuleType("pytest")
    mark = ModuleType("pytest.mark")
    mark.parametrize = _parametrize  # type: ignore[attr-defined]
    vars(module).update(use_correct=False, run_slow=False, mark=mark, raises=_Raises)
    module.approx = _Near  # type: ignore[attr-defined]
    return module


def _parametrize(names: str, rows: Iterable[Any]) -> Callable[[Any], Any]:
    keys = [name.strip() for name in names.split(",")]
    cases = [dict(zip(keys, row if len(keys) > 1 else [row], strict=True)) for row in rows]

    def mark(function: Any) -> Any:  # noqa: ANN401
        function.cases = cases
        return function

    return mark


class _Raises:
    """Expect an exception, as ``pytest.raises``."""

    def __init__(self, expected: type[Exception], match: str = "") -> None:
        self._expected = expected
        self._match = match

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: object, _: object) -> bool:
        assert kind is not None, f"did not raise {self._expected.__name__}"
        return issubclass(kind, self._expected) and self._match in str(error)


class _Near:
    """Equal a number that is near, as ``pytest.approx``."""

    def __init__(self, expected: float, rel: float = 1e-6, abs: float = 1e-12) -> None:
        self._expected = expected
        self._tolerance = max(rel * builtins.abs(expected), abs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float):
            return False
        return builtins.abs(other - self._expected) <= self._tolerance

    __hash__ = None  # type: ignore[assignment]
