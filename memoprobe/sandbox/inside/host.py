"""Do with the program's functions and objects what the tests in the other process ask for."""

from __future__ import annotations

import builtins
import marshal
import sys
from itertools import islice

from memoprobe.sandbox.inside import wire
from memoprobe.sandbox.inside.channel import Hung, Receiver, send
from memoprobe.sandbox.inside.report import describe, to_json

TYPE_CHECKING = False  # typing itself takes longer to import than Python to start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any

_MOST_LISTED = 1 << 17

# What the tests may do to an object that stays here.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "get": getattr,
    "set": setattr,
    "len": len,
    "list": lambda item: list(islice(item, _MOST_LISTED)),
    "item": lambda item, key: item[key],
    "put": lambda item, key, value: item.__setitem__(key, value),
    "has": lambda item, key: key in item,
    "bool": bool,
    "text": str,
    "same": lambda item, other: item == other,
    "less": lambda item, other: item < other,
}


class Host:
    """Keep the objects that are no plain data, and know them by number."""

    def __init__(self, program: ModuleType, helpers: Iterable[str], classes: Iterable[str]) -> None:
        self._program = program
        self._helpers = [sys.modules[name] for name in helpers]
        self._classes = frozenset(classes)  # of the tests: their objects travel
        self._kept: list[Any] = []
        self._numbers: dict[int, int] = {}

    def serve(self, channel: int, token: bytes) -> None:
        """Answer requests until the tests hang up."""
        receive = Receiver(channel)
        while True:
            try:
                request = receive()
            except Hung:
                return
            reply = to_json(self._answer(*marshal.loads(request)))
            send(channel, reply.encode("ascii"), token)

    def _answer(self, operation: str, slots: Any, rows: Any, names: Any) -> list[Any]:  # noqa: ANN401
        objects: list[Any] = []
        try:
            values = wire.decode(slots, rows, objects, self._find)
            if operation == "call":
                plain = len(values) - len(names)
                keywords = dict(zip(names, values[plain:], strict=True))
                result = values[0](*values[1:plain], **keywords)
            else:
                result = OPERATIONS[operation](*values)
            return ["done", *wire.encode([result], objects, self._keep)]
        except BaseException as error:  # noqa: BLE001 - whatever an untrusted program raises
            classes = [each.__name__ for each in type(error).__mro__]
            return ["raised", *describe(error), classes]

    def _find(self, row: wire.Row) -> Any:  # noqa: ANN401
        """Return what a row of the tests names: an object kept, a global, or a new object."""
        kind, content = row
        if kind == "kept":
            return self._kept[content]
        if kind == "builtin":
            return getattr(builtins, content)
        if kind == "object":
            return object.__new__(self._class(content[0]))
        return self._global(content)

    def _global(self, name: str) -> Any:  # noqa: ANN401
        if not hasattr(self._program, name):
            msg = f"name {name!r} is not defined"
            raise NameError(msg)
        return getattr(self._program, name)

    def _class(self, name: str) -> type:
        """Return the program's class of that name, or else that of a file beside the tests."""
        for module in (self._program, *self._helpers):
            found = getattr(module, name, None)
            if isinstance(found, type):
                return found
        return type(name, (), {})

    def _keep(self, item: Any, slot: Callable[[Any], wire.Slot]) -> wire.Row:  # noqa: ANN401
        kind: type = type(item)
        if kind.__name__ in self._classes and self._class(kind.__name__) is kind:
            attributes = vars(item).items()
            return ["object", [kind.__name__, [slot(each) for pair in attributes for each in pair]]]
        if wire.is_builtin(item):
            return ["builtin", item.__name__]
        if id(item) not in self._numbers:
            self._numbers[id(item)] = len(self._kept)
            self._kept.append(item)
        return ["kept", self._numbers[id(item)]]
