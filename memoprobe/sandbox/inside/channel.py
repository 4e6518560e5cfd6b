"""Send and receive messages of known length over a socket."""

import os

_HEADER = 4  # bytes that give the length


class Hung(Exception):
    """Stand for the other side having ended, or having said what it may not."""

    kind = "gone"


class TooLong(Hung):
    """Stand for a message that is longer than it may be."""

    kind = "output-limit"


class Garbled(Hung):
    """Stand for a message that cannot be read."""

    kind = "error"


def send(handle: int, message: bytes, token: bytes = b"") -> None:
    """Send one message; an other side that has ended is noticed when receiving."""
    data = token + len(message).to_bytes(_HEADER, "big") + message
    try:
        while data:
            data = data[os.write(handle, data) :]
    except OSError:
        return


class Receiver:
    """Take messages off a socket; each follows a token, and what comes before it is skipped.

    So what a program prints to every file it finds is not taken for a reply.
    """

    def __init__(self, handle: int, token: bytes = b"", most: int = 1 << 30) -> None:
        self._handle = handle
        self._token = token
        self._most = most  # bytes of one message
        self._data = bytearray()

    def __call__(self) -> bytes:
        """Return the next message.

        Raises:
            Hung: The other side has ended, or it says too much.
        """
        while (start := self._data.find(self._token)) < 0:
            self._read()
        begin = start + len(self._token) + _HEADER
        while len(self._data) < begin:
            self._read()
        end = begin + int.from_bytes(self._data[begin - _HEADER : begin], "big")
        if end > self._most:
            raise TooLong
        while len(self._data) < end:
            self._read()
        message = bytes(self._data[begin:end])
        del self._data[:end]
        return message

    def _read(self) -> None:
        try:
            piece = os.read(self._handle, 1 << 16)
        except OSError:
            piece = b""
        if not piece:
            raise Hung
        self._data += piece
        if len(self._data) > self._most + (1 << 16):
            raise TooLong
