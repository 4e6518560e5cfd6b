"""Keep processes of our own warm behind walls of their own: the judge and the Java compiler."""

import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from memoprobe.sandbox.process import Running, Setting
from memoprobe.sandbox.wall import Wall

_HEADER = 4  # bytes that give a message's length, as in inside.channel


class Helper:
    """Hold a warm process and the socket to it."""

    def __init__(self, wall: Wall, entry: str, job: Mapping[str, Any], setting: Setting) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            setting = setting._replace(handles=(theirs.fileno(),))
            self._running = running = Running(
                wall, entry, {**job, "socket": theirs.fileno()}, setting
            )
        # Also when its thread or this interpreter ends.
        self.close = weakref.finalize(self, _end, os.getpid(), self._socket, running)

    def fileno(self) -> int:
        """Return the handle on which a reply will come."""
        return self._socket.fileno()

    def is_alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._running.is_alive()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def send_handle(self, handle: int | None) -> None:
        """Send one byte, and with it an open file where one is given."""
        socket.send_fds(self._socket, [b"!"], [] if handle is None else [handle])

    def receive(self, seconds: float) -> bytes | None:
        """Return the next message, or None where it does not come in time."""
        deadline = time.monotonic() + seconds
        data = b""
        while len(data) < _HEADER or len(data) < _HEADER + int.from_bytes(data[:_HEADER], "big"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                return None
            try:
                piece = self._socket.recv(1 << 16)
            except OSError:
                return None
            if not piece:
                return None
            data += piece
        return data[_HEADER:]


def _end(owner: int, ours: socket.socket, running: Running) -> None:
    """End a helper, unless this is a fork of the process whose helper it is."""
    ours.close()
    if os.getpid() == owner:
        running.end("")


def framed(data: bytes) -> bytes:
    """Return a message with its length in front."""
    return len(data).to_bytes(_HEADER, "big") + data


class Kept(threading.local):
    """Keep one helper a thread and process: bubblewrap ends with the thread that started it."""

    def __init__(self, start: Callable[[Wall], Helper]) -> None:
        self._start = start
        self._helper: Helper | None = None
        self._owner: tuple[int, Wall] | None = None

    def get(self, wall: Wall) -> Helper:
        """Return this thread's helper behind that wall."""
        owner = (os.getpid(), wall)
        if self._helper is None or self._owner != owner:
            self.dismiss()
            self._helper, self._owner = self._start(wall), owner
        return self._helper

    def dismiss(self) -> None:
        """End this thread's helper; the next request starts another."""
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.close()
