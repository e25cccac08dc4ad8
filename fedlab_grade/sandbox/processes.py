"""The processes in which students' files run, one for every test, and the wire to them."""

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from fedlab_grade.options import Limits
from fedlab_grade.process import START
from fedlab_grade.sandbox import users, view
from fedlab_grade.sandbox.view import NoSandbox

Way = Literal["bwrap", "uid", "none"]
CODE = "import sys; sys.path[:0] = [{!r}]; from fedlab_grade.sandbox import zygote; zygote.main()"


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


class Zygote:
    """The process from which workers are forked.

    Args:
        private: files and folders that no worker may read.
        warm: load PyTorch; without it, workers can only `look`.

    Fields:
        user: the id of the first worker's user, where this process is root.
    """

    def __init__(
        self, way: Way, limits: Limits, private: Sequence[Path] = (), warm: bool = True
    ) -> None:
        self.way = way
        self.user, locks = 0, []
        rules = view.opened(private) if way == "uid" else []
        box = view.bubblewrap(private) if way == "bwrap" else []
        if os.getuid() == 0 and way != "none":
            try:
                self.user, lock = users.claim()
            except OSError as error:
                raise NoSandbox(f"there is no user for submissions: {error}") from None
            locks = [lock]
        self._log, self._said = tempfile.TemporaryFile(), ""  # noqa: SIM115
        self._control, other = socket.socketpair()
        job = {
            "way": way, "warm": warm, "uid": self.user, "locks": locks,
            "memory": limits.memory, "processes": limits.processes, "disk": limits.disk,
            "cpu": int(limits.total) + 2, "rules": rules,
        }  # fmt: skip
        folder = view.VIEW if way == "bwrap" else str(view.PACKAGE.parent)
        options = ["-I", "-B", "-X", "utf8", "-c", CODE.format(folder), str(other.fileno())]
        command = [*box, sys.executable, *options]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=[other.fileno(), *locks],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
                cwd="/",
                env=view.ENVIRONMENT | {"TMPDIR": tempfile.gettempdir()},
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            raise NoSandbox(f"{command[0]} does not start: {error.strerror}") from None
        finally:
            other.close()
            for lock in locks:  # from now on the zygote and the keepers of its workers hold it
                os.close(lock)
        self._control.settimeout(START)
        with suppress(OSError):
            self._control.sendall(json.dumps(job).encode() + b"\n")
            if self._control.recv(1) == b"R":
                self._try_to_read(private)
                return
        self.close()
        raise NoSandbox(f"the sandbox does not start: {self.said()}")

    def _try_to_read(self, private: Sequence[Path]) -> None:
        files = [] if self.way == "none" else view.files_in(private)
        if files and (visible := self.look(files)["readable"]):
            self.close()
            raise NoSandbox(
                f"submissions could read {visible[0]}: close its folder to other users "
                f"(chmod 700 {Path(visible[0]).parent}), or move it"
            )

    def look(self, files: Iterable[str] = ()) -> dict[str, Any]:
        """Let a worker look around, and return what it can see and do."""
        worker = self.worker(look=True)
        try:
            worker.line.settimeout(START)
            with suppress(OSError), worker.line.makefile() as told:
                worker.line.sendall(json.dumps(list(files)).encode() + b"\n")
                if line := told.readline():
                    seen: dict[str, Any] = json.loads(line)
                    return seen
            worker.keep = 1 << 16
            worker.listen()
            said = worker.printed.decode("utf-8", "replace").strip()
            last = (said or self.said()).splitlines()[-1]
            raise NoSandbox(f"a worker does not start: {last}")
        finally:
            worker.let_go()

    def worker(self, libraries: Sequence[str] = (), look: bool = False) -> Worker:
        """Start a worker, which serves or looks around.

        Args:
            libraries: what the process loads first, once here and not in each of its workers.
        """
        line, far_line = socket.socketpair()
        leash, far_leash = socket.socketpair()
        output, far_output = os.pipe()
        worker = Worker(line, output, leash)
        files = [far_line.fileno(), far_output, far_leash.fileno()]
        try:
            asked = " ".join(["look" if look else "serve", *libraries])
            socket.send_fds(self._control, [asked.encode()], files)
            started = self._control.recv(1) == b"F"
        except OSError:
            started = False
        finally:
            far_line.close()
            far_leash.close()
            os.close(far_output)
        if started:
            return worker
        worker.let_go()
        self.close()
        raise NoSandbox(f"the sandbox has ended: {self.said()}")

    def said(self) -> str:
        """Return the last line that it wrote on its way out."""
        if not self._log.closed:
            self._log.seek(0)
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
            self._said = lines[-1] if lines else f"exit status {self._process.poll()}"
        return self._said

    def close(self) -> None:
        """End it; in namespaces, with all workers."""
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._process.kill()
        self._process.wait()
        self.said()
        self._log.close()
