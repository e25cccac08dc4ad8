"""Start a process of ours, give it a job, and read its events."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self

START = 120.0  # seconds, in which PyTorch is loaded from a cold disk
GRACE = 5.0  # seconds beyond its limit: it watches the clock itself, and this is for when it cannot
POLL = 0.1  # seconds
ENDS = {  # by signal; not every system has all of them
    "SIGSEGV": "crashed with a segmentation fault",
    "SIGABRT": "crashed: a library aborted the Python process",
    "SIGBUS": "crashed with a bus error",
    "SIGFPE": "crashed with an arithmetic error of the processor",
    "SIGXCPU": "used too much processor time, and was stopped",
    "SIGXFSZ": "wrote too large a file, and was stopped",
    "SIGKILL": "was killed: it took too much memory, or ended itself",
}


class Child:
    """A process of ours that takes a job, and sends its events, as lines of JSON.

    It has a group of its own, which ends with it.

    Args:
        module: what runs in it; modules: what it loads before it is told anything.
        environment: beside this process's own.

    Fields:
        limit: seconds that it may go on for without a word; late: whether it took longer.
        other: the lines that were no events, as the traceback of its end.
        poll: called several times a second while this process waits; what it raises is passed on.
    """

    limit = START
    late = False
    start: Any = subprocess.Popen

    def __init__(
        self,
        module: str = "fedlab_grade.child",
        modules: Sequence[str] = (),
        environment: Mapping[str, str] = {},
    ) -> None:
        own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        self.process: subprocess.Popen[str] = self.start(
            [sys.executable, "-P", "-X", "utf8", "-m", module, *modules],
            env=own | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        )
        self.other: list[str] = []
        self.poll: Callable[[], object] = lambda: None
        self._lines: SimpleQueue[str] = SimpleQueue()  # "" at the end
        self._reader = Thread(target=_read, args=(self.process.stderr, self._lines), daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.process.wait()
        self._reader.join(1)  # what it has started may hold the pipe open, if it left its group
        with suppress(BrokenPipeError):
            for stream in (self.process.stdin, self.process.stderr):
                if stream and not self._reader.is_alive():
                    stream.close()

    def tell(self, message: object) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def event(self, patience: float | None = None) -> dict[str, Any] | None:
        """Return its next event; None if it has ended, or says nothing for too many seconds."""
        end = time.monotonic() + (self.limit + GRACE if patience is None else patience)
        while (left := end - time.monotonic()) > 0:
            self.poll()
            with suppress(Empty, ValueError):
                if not (line := self._lines.get(timeout=min(left, POLL))):
                    return None
                self.other.append(line)
                event: dict[str, Any] = json.loads(line)
                self.other.pop()
                return event
        self.late = True
        return None

    def kill(self) -> None:
        if sys.platform == "win32":
            self.process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Return its exit status, once it has said all."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(0 if self.late else 5)
        self.kill()
        return self.process.wait()


def ending(code: int) -> str:
    """Return how a process with this exit status ended, to follow the name of a function."""
    if code >= 0:
        return f"ended the Python process, with exit status {code}"
    other = f"was ended by signal {-code} ({signal.strsignal(-code) or 'unknown'})"
    return next((t for name, t in ENDS.items() if getattr(signal, name, 0) == -code), other)


def _read(lines: Iterable[str], into: SimpleQueue[str]) -> None:
    for line in lines:
        into.put(line)
    into.put("")
