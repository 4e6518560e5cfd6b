"""Unpack values that a benchmark hides from scrapers, without running anything that is in them.

A packed value is base64 of zlib of a pickle of a JSON text. A pickle is a program; here it
may only spell out texts, numbers, lists and dictionaries, each once, so that nothing is
called and nothing grows beyond what was decompressed.
"""

import base64
import binascii
import io
import json
import pickle
import pickletools
import zlib
from typing import NoReturn

MAX_PACKED = 2**22  # characters of base64
MAX_UNPACKED = 2**24  # bytes after decompression
_ZLIB_METHOD = 8  # deflate, in the low half of a zlib stream's first byte

_ALLOWED = frozenset(
    {"PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"}
    | {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
    | {"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
    | {"EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM", "SETITEMS"}
)
"""The opcodes that build plain values; none of them names, calls or repeats anything."""


def unpack(value: object) -> object:
    """Return what a packed value holds; a value that is readable as it is comes back unchanged.

    Raises:
        ValueError: It is packed, and damaged, too large, or holds more than plain values.
    """
    packed = _decoded(value) if isinstance(value, str) else None
    if packed is None:
        return value
    unpickled = _unpickled(_decompressed(packed))
    try:
        return json.loads(unpickled) if isinstance(unpickled, str) else unpickled
    except RecursionError as error:
        msg = "packed JSON nested too deeply"
        raise ValueError(msg) from error


def _decoded(text: str) -> bytes | None:
    """Return the bytes of base64 that begin as a zlib stream does, None for any other text."""
    head = text[:4]
    try:
        first, second, *_ = base64.b64decode(head, validate=True)
    except ValueError:
        return None
    if first & 0x0F != _ZLIB_METHOD or (first << 8 | second) % 31 or not _is_base64(text):
        return None
    if len(text) > MAX_PACKED:
        msg = f"packed value of more than {MAX_PACKED} characters"
        raise ValueError(msg)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        msg = f"packed value is damaged: {error}"
        raise ValueError(msg) from error


def _is_base64(text: str) -> bool:
    """Tell whether a text is one long word; real base64 errors are then damage."""
    return text.isascii() and text.replace("+", "").replace("/", "").rstrip("=").isalnum()


def _decompressed(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, MAX_UNPACKED)
    except zlib.error as error:
        msg = f"packed value is damaged: {error}"
        raise ValueError(msg) from error
    if stream.unconsumed_tail:
        msg = f"packed value holds more than {MAX_UNPACKED} bytes"
        raise ValueError(msg)
    if not stream.eof:
        msg = "packed value is cut off"
        raise ValueError(msg)
    return plain


class _PlainUnpickler(pickle.Unpickler):
    """Refuse every global, should one ever come as far."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        msg = f"packed value asks for {module_name}.{global_name}"
        raise pickle.UnpicklingError(msg)


def _unpickled(data: bytes) -> object:
    """Return the plain value that a pickle spells out.

    The opcodes are looked through before any is obeyed: beside globals, a huge memo index
    alone would make the unpickler ask for gigabytes.
    """
    try:
        for opcode, argument, _ in pickletools.genops(data):
            index = argument if opcode.name.endswith("PUT") else 0
            if opcode.name not in _ALLOWED or not 0 <= (index or 0) <= len(data):
                msg = f"packed value holds more than plain values: {opcode.name}"
                raise ValueError(msg)
        return _PlainUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, IndexError, TypeError, AttributeError) as error:
        msg = f"packed value is damaged: {error}"
        raise ValueError(msg) from error
