"""Turn values into rows of plain data and back, with their types, sharing and cycles.

A value is a slot: None, bool, str, float or a small int as it is; ``["0x..."]`` for a large
int; ``[n]`` for row n. A row is ``[kind, content]``. Rows are flat, so that no depth of a
value is a depth of the message. Nothing that is read can become code: only types named
below are made, and what they do not name is a matter of the two functions passed in.
"""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False  # typing itself takes longer to import than Python to start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Slot = Any
    Row = list[Any]

_PLAIN = frozenset({type(None), bool, str, float})
_SMALL = 1 << 53
_SEQUENCES = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_BASES = (tuple, str, bytes, int, float)  # a subclass counts as its base
_TAKEN_APART: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    bytes: lambda v: (v.hex(),),
    bytearray: lambda v: (v.hex(),),
    complex: lambda v: (v.real, v.imag),
    range: lambda v: (v.start, v.stop, v.step),
}
# Into tuples: a list would be empty still when what it came from is made.
_NAMED: dict[
    str, tuple[str, Callable[[Any], tuple[Any, ...]], str]
] = {  # kind: its module, how to take it apart, how to make it
    "Decimal": ("decimal", lambda v: (str(v),), "Decimal"),
    "Fraction": ("fractions", lambda v: (v.numerator, v.denominator), "Fraction"),
    "date": ("datetime", lambda v: (v.isoformat(),), "date.fromisoformat"),
    "datetime": ("datetime", lambda v: (v.isoformat(),), "datetime.fromisoformat"),
    "time": ("datetime", lambda v: (v.isoformat(),), "time.fromisoformat"),
    "timedelta": ("datetime", lambda v: (v.days, v.seconds, v.microseconds), "timedelta"),
    "deque": ("collections", lambda v: (tuple(v),), "deque"),
    "Counter": ("collections", lambda v: (tuple(v.items()),), "Counter"),
    "OrderedDict": ("collections", lambda v: (tuple(v.items()),), "OrderedDict"),
}


def encode(
    values: Sequence[Any], objects: list[Any], foreign: Callable[[Any, Any], Row]
) -> tuple[list[Slot], list[Row]]:
    """Return the slots of ``values`` and the rows of ``objects``, which grows by what they hold.

    Args:
        values: What to encode.
        objects: Objects that have a number already, namely their index.
        foreign: Gives the row of an object of another type; takes it and the function
            that gives slots.
    """
    numbers = {id(item): number for number, item in enumerate(objects)}

    def slot(value: Any) -> Slot:  # noqa: ANN401
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is int:
            return value if -_SMALL < value < _SMALL else [hex(value)]
        if id(value) not in numbers:
            numbers[id(value)] = len(objects)
            objects.append(value)
        return [numbers[id(value)]]

    slots = [slot(value) for value in values]
    # The list grows while it is walked.
    return slots, [_row(item, slot, foreign) for item in objects]


def _row(
    item: Any,  # noqa: ANN401
    slot: Callable[[Any], Slot],
    foreign: Callable[[Any, Any], Row],
) -> Row:
    kind = type(item)
    name = kind.__name__
    if _SEQUENCES.get(name) is kind:
        return [name, [slot(each) for each in item]]
    if kind is dict or _is(kind, "collections", "defaultdict"):
        return ["dict", [slot(each) for pair in item.items() for each in pair]]
    if kind in _TAKEN_APART:
        return [name, [slot(part) for part in _TAKEN_APART[kind](item)]]
    if name in _NAMED and _is(kind, _NAMED[name][0], name):
        return [name, slot(_NAMED[name][1](item))]
    for base in _BASES:
        if isinstance(item, base) and kind is not base:
            return ["same", slot(_as_base(item, base))]
    return foreign(item, slot)


def is_builtin(item: object) -> bool:
    """Return whether ``item`` is a class that every Python program has by its name."""
    return isinstance(item, type) and vars(builtins).get(item.__name__) is item


def _is(kind: type, module: str, name: str) -> bool:
    """Return whether ``kind`` is that class; a module not yet imported has no instances."""
    return getattr(sys.modules.get(module), name, None) is kind


def _as_base(item: Any, base: type) -> Any:  # noqa: ANN401
    """Return ``item`` without its class, read by its base's own methods alone."""
    if base is tuple:
        return tuple(tuple.__iter__(item))
    if base is bytes:
        return bytes.__getitem__(item, slice(None))
    return {str: str.__str__, int: int.__int__, float: float.__float__}[base](item)


def decode(
    slots: Sequence[Slot],
    rows: Sequence[Row],
    objects: list[Any],
    foreign: Callable[[Row], Any],
) -> list[Any]:
    """Return the values of ``slots``; ``objects`` grows, and what it holds is brought up to date.

    Raises whatever a malformed message may: see ``MALFORMED``.

    Args:
        slots: As encoded.
        rows: As encoded; the first belong to ``objects``.
        objects: The objects already known, in the order of their numbers.
        foreign: Gives the object of a row of another kind. A row of the kind ``object`` holds
            the name of a class and attributes, which are set here.
    """
    reader = _Reader(rows, objects, foreign)
    reader.fill()
    return [reader.value(slot) for slot in slots]


MALFORMED = (
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    ArithmeticError,
)


class _Reader:
    """Build the objects of rows: mutable ones first, so that cycles close."""

    def __init__(
        self, rows: Sequence[Row], objects: list[Any], foreign: Callable[[Row], Any]
    ) -> None:
        self._rows = rows
        self._objects = objects
        self._foreign = foreign
        self._known = len(objects)
        self._made = [True] * self._known + [False] * (len(rows) - self._known)
        objects.extend([None] * (len(rows) - self._known))
        for item, (kind, content) in zip(objects[: self._known], rows, strict=False):
            _admit(item, kind, content)
        for number, (kind, _) in enumerate(rows):
            if kind in {"list", "set", "dict", "object"} and not self._made[number]:
                empty = foreign(rows[number]) if kind == "object" else _EMPTY[kind]()
                self._objects[number] = empty
                self._made[number] = True

    def fill(self) -> None:
        """Give every object its content; attributes and lists first, for hashes need them."""
        for kinds in ({"object", "list"}, {"set", "dict"}):
            for number, (kind, content) in enumerate(self._rows):
                if kind in kinds:
                    held = content[1] if kind == "object" else content
                    self._fill(self._objects[number], kind, [self.value(each) for each in held])

    @staticmethod
    def _fill(item: Any, kind: str, values: list[Any]) -> None:  # noqa: ANN401
        if kind == "list":
            item[:] = values
        elif kind == "set":
            item.clear()
            item.update(values)
        else:
            held = vars(item) if kind == "object" else item
            held.clear()
            held.update(zip(values[::2], values[1::2], strict=True))

    def value(self, slot: Slot) -> Any:  # noqa: ANN401
        if type(slot) is not list:
            return slot
        (reference,) = slot
        if type(reference) is str:
            return int(reference, 16)
        if not self._made[reference]:
            self._objects[reference] = self._build(*self._rows[reference])
            self._made[reference] = True
        return self._objects[reference]

    def _build(self, kind: str, content: Any) -> Any:  # noqa: ANN401
        if kind in {"tuple", "frozenset"}:
            return _SEQUENCES[kind]([self.value(each) for each in content])
        if kind in _MAKERS:
            return _MAKERS[kind](*(self.value(each) for each in content))
        if kind == "same":
            return self.value(content)
        if kind in _NAMED:
            return _make(kind, self.value(content))
        return self._foreign([kind, content])


def _admit(item: object, kind: str, content: Any) -> None:  # noqa: ANN401
    """Refuse to fill an object with what is described as another one's content."""
    wanted = content[0] if kind == "object" else kind
    name = "dict" if isinstance(item, dict) else type(item).__name__
    if kind in {"object", *_EMPTY} and name != wanted:
        msg = f"an object of {name} is described as {wanted}"
        raise ValueError(msg)


_MAKERS: dict[str, Callable[..., Any]] = {
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "complex": complex,
    "range": range,
}
_EMPTY: dict[str, Callable[[], Any]] = {"list": list, "set": set, "dict": dict}


def _make(kind: str, parts: Any) -> Any:  # noqa: ANN401
    """Return an object of the standard library from what it was taken apart into."""
    module, _, path = _NAMED[kind]
    maker: Any = __import__(module)
    for name in path.split("."):
        maker = getattr(maker, name)
    return maker(dict(*parts)) if kind == "Counter" else maker(*parts)
