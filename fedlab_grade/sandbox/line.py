"""The parent's end of the wire: frames, the printed output, and how the worker ended."""

import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Worker:
    """A fresh process that loads one file and answers requests before a point in time.

    Fields:
        line: the socket on which it answers; output: a pipe, what it prints; leash: tells how it
        ended, and ends it once it is closed.
        printed: the beginning of what was printed; keep: its greatest length in bytes.
    """

    keep, printed = 0, b""

    def __init__(self, line: socket.socket, output: int, leash: socket.socket) -> None:
        self.line, self.output, self.leash = line, output, leash
        os.set_blocking(output, False)  # the worker may take back what it has printed

    def send(self, message: bytes, end: float) -> None:
        """Send a message before ``end``, as of `time.monotonic`."""
        self.line.settimeout(max(1e-3, end - time.monotonic()))
        self.line.sendall(message)

    def receive(self, end: float, at: Callable[[int], Any]) -> Any:
        """Return the next reply.

        Raises:
            TimeoutError, EOFError, OSError: there is none before ``end``.
            callables.Malformed: it is no message.
        """
        from fedlab_grade import wire  # it loads PyTorch, which a worker that looks can do without

        return wire.receive(lambda size: self._read(size, end), at)

    def _read(self, size: int, end: float) -> bytes:
        out = bytearray()
        line, printed = self.line.fileno(), self.output
        files = {line, printed}
        while len(out) < size:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready, _, _ = select.select(files, [], [], left)
            if printed in ready and not self._print():
                files.remove(printed)
            if line in ready:
                piece = self.line.recv(min(1 << 20, size - len(out)), socket.MSG_DONTWAIT)
                if not piece:
                    raise EOFError
                out += piece
        return bytes(out)

    def listen(self) -> None:
        """Take what was printed so far, and no more than the pipe holds."""
        for _ in range(17):
            readable = self.output >= 0 and select.select([self.output], [], [], 0)[0]
            if not readable or not self._print():
                return

    def _print(self) -> bool:
        """Take a piece of what is printed; False if nothing more can come."""
        try:
            piece = os.read(self.output, 1 << 16)
        except BlockingIOError:
            return True
        self.printed += piece[: max(0, self.keep - len(self.printed))]
        return bool(piece)

    def how_it_ended(self) -> str:
        """Return how the worker ended, to follow the name of a function."""
        self.leash.settimeout(2)
        told = b""
        with suppress(OSError):
            told = self.leash.recv(256)
        return told.decode().partition("\n")[0] or "ended its process"

    def let_go(self) -> None:
        """End it, and all that it has started."""
        self.line.close()
        self.leash.close()
        if self.output >= 0:
            os.close(self.output)
        self.output = -1
