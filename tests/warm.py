"""The process of a check, as a fork of one that has loaded PyTorch: it starts in milliseconds.

A test module that makes many checks puts `Process` in the place of `subprocess.Popen`. The two
differ only in how they start: job, channel, environment and folder are the same.
"""

import atexit
import functools
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from threading import Lock

from fedlab_grade.home.watch import LOADED

_ONE_AT_A_TIME = Lock()


class Process:
    """The part of `subprocess.Popen` that `process.Child` uses."""

    def __init__(self, command: list[str], env: dict[str, str], **options: object) -> None:
        reading, writing = os.pipe()
        said, channel = os.pipe()
        self._status, status = os.pipe()
        socket.send_fds(_starter(), [b"F"], [reading, channel, status])
        for file in (reading, channel, status):
            os.close(file)
        self.pid = int.from_bytes(os.read(self._status, 8), "big")
        self.stderr = open(said, encoding="utf-8", errors="replace")  # noqa: SIM115
        self.stdin = open(writing, "w", encoding="utf-8")  # noqa: SIM115
        with suppress(BrokenPipeError):
            self.stdin.write(f"{json.dumps([os.getcwd(), env, command])}\n")
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("child", timeout or 0)
            told = os.read(self._status, 8)
            os.close(self._status)
            self.returncode = os.waitstatus_to_exitcode(int.from_bytes(told, "big"))
        return self.returncode


def _starter() -> socket.socket:
    """The line to the process from which children are forked."""
    with _ONE_AT_A_TIME:
        return _start()


@functools.cache
def _start() -> socket.socket:
    mine, theirs = socket.socketpair()
    starter = subprocess.Popen(
        [sys.executable, "-P", "-X", "utf8", __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    theirs.close()

    def end() -> None:
        mine.close()
        starter.wait()

    atexit.register(end)
    return mine


def serve(control: socket.socket) -> None:
    """Fork a child for each message, until the other side closes the line."""
    import torch

    for name in (*LOADED, "fedlab_grade.sandbox.examiner"):
        with suppress(ImportError):
            import_module(name)
    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    gc.freeze()
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 3)
        if not message:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            _keep(*files)
        for file in files:
            os.close(file)


def _keep(stdin: int, channel: int, status: int) -> None:
    """Start a child, tell its number, and how it ended."""
    if (pid := os.fork()) == 0:
        os.setsid()
        os.close(status)
        for target, source in ((0, stdin), (2, channel)):
            os.dup2(source, target)
            os.close(source)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
        folder, environment, command = json.loads(sys.stdin.readline())
        sys.argv = command[command.index("-m") + 1 :]
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        try:
            import_module(sys.argv[0]).main()
        finally:
            os._exit(1)
    os.close(stdin)
    os.close(channel)
    with suppress(BrokenPipeError):
        os.write(status, pid.to_bytes(8, "big"))
        os.write(status, os.waitpid(pid, 0)[1].to_bytes(8, "big"))
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
