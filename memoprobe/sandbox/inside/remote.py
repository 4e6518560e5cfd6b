"""Let tests use a program that runs in another process, exchanging data alone.

The expected values stay on this side. What comes back is plain data, made here, or a
``Remote`` that stands for an object over there; a comparison of the two is never asked
of the other side, so no ``__eq__`` of the program decides a test.
"""

from __future__ import annotations

import builtins
import json
import marshal
from typing import TYPE_CHECKING, Any

from memoprobe.sandbox.inside import wire
from memoprobe.sandbox.inside.channel import Garbled, Receiver, send
from memoprobe.sandbox.inside.report import admitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class Untransportable(Exception):
    """Stand for tests that hand over what is neither data nor the program's own."""


class RemoteError(Exception):
    """Stand for an exception that is not a builtin one."""


class Channel:
    """Ask the program's process and turn replies into values."""

    def __init__(self, handle: int, receive: Receiver, scopes: Sequence[Mapping[str, Any]]) -> None:
        self._handle = handle
        self._receive = receive
        self._scopes = scopes  # where the tests define classes, whose objects travel
        self._remotes: dict[int, Remote] = {}

    def named(self, name: str) -> Remote:
        """Return the program's global of that name; whether there is one shows when it is used."""
        return Remote(self, ["global", name])

    def ask(self, operation: str, values: Sequence[Any], names: Sequence[str] = ()) -> Any:  # noqa: ANN401
        """Do ``operation`` over there; objects handed over are brought up to date afterwards.

        Raises:
            Hung: The program's process has ended, or its reply is too long or garbled.
            Untransportable: A value cannot be handed over.
        """
        objects: list[Any] = []
        request = (operation, *wire.encode(values, objects, self._row), list(names))
        send(self._handle, marshal.dumps(request))
        try:
            reply = json.loads(self._receive())
            if reply[0] == "done":
                return wire.decode(reply[1], reply[2], objects, self._object)[0]
            failure = _exception(*reply[1:])
        except (*wire.MALFORMED, Untransportable) as error:
            raise Garbled from error
        raise failure

    def _row(self, item: Any, slot: Callable[[Any], wire.Slot]) -> wire.Row:  # noqa: ANN401
        kind: type = type(item)
        if kind is Remote:
            return list(object.__getattribute__(item, "_row"))
        if self._class(kind.__name__) is kind:
            attributes = vars(item).items()
            return ["object", [kind.__name__, [slot(each) for pair in attributes for each in pair]]]
        if wire.is_builtin(item):
            return ["builtin", item.__name__]
        msg = f"the tests hand over an object of {kind.__name__}"
        raise Untransportable(msg)

    def _class(self, name: str) -> type | None:
        """Return a class of the tests' own by its name.

        One that they import, ``approx`` for example, may equal whatever its attributes say.
        """
        modules = {scope.get("__name__") for scope in self._scopes}
        for scope in self._scopes:
            found = scope.get(name)
            if isinstance(found, type) and found.__module__ in modules:
                return found
        return None

    def _object(self, row: wire.Row) -> Any:  # noqa: ANN401
        kind, content = row
        if kind == "object":
            made = self._class(content[0])
            if made is not None:
                return object.__new__(made)
        if kind == "builtin" and isinstance(found := vars(builtins)[content], type):
            return found
        if kind == "kept" and type(content) is int:
            return self._remotes.setdefault(content, Remote(self, ["kept", content]))
        msg = f"a row of unknown kind {kind!r}"
        raise ValueError(msg)


def _exception(kind: str, words: str, classes: Sequence[str]) -> Exception:
    """Return the exception to raise here: the nearest builtin class, marked with its kind."""
    for name in classes:
        found = vars(builtins).get(name)
        # One that ends an iteration would end that of the tests, in a ``map`` without a word.
        ends = isinstance(found, type) and issubclass(found, StopIteration | StopAsyncIteration)
        if isinstance(found, type) and issubclass(found, Exception) and not ends:
            break
    else:
        found = RemoteError
    error: Exception = found.__new__(found)
    error.args = (str(words),)
    error.verdict = admitted(kind, words)  # type: ignore[attr-defined]
    return error


class Remote:
    """Stand for an object of the program; what is done to it is done over there."""

    __slots__ = ("_channel", "_row")

    def __init__(self, channel: Channel, row: wire.Row) -> None:
        object.__setattr__(self, "_channel", channel)
        object.__setattr__(self, "_row", row)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401
        """Call the function over there."""
        return _ask("call", self, *arguments, *keywords.values(), names=list(keywords))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        return _ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401
        _ask("set", self, name, value)

    def __len__(self) -> int:
        return int(_ask("len", self))

    def __iter__(self) -> Iterator[Any]:
        return iter(_ask("list", self))

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401
        return _ask("item", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:  # noqa: ANN401
        _ask("put", self, key, value)

    def __contains__(self, key: Any) -> bool:  # noqa: ANN401
        return bool(_ask("has", self, key))

    def __bool__(self) -> bool:
        return bool(_ask("bool", self))

    def __str__(self) -> str:
        return str(_ask("text", self))

    def __lt__(self, other: Any) -> bool:  # noqa: ANN401
        return isinstance(other, Remote) and bool(_ask("less", self, other))

    def __eq__(self, other: object) -> bool:
        """Ask over there only where both are objects of the program."""
        return isinstance(other, Remote) and bool(_ask("same", self, other))

    def __hash__(self) -> int:
        return hash(tuple(object.__getattribute__(self, "_row")))


def _ask(operation: str, item: Remote, *values: Any, names: Sequence[str] = ()) -> Any:  # noqa: ANN401
    channel: Channel = object.__getattribute__(item, "_channel")
    return channel.ask(operation, [item, *values], names)
