"""Read what a student wrote in a process with limits of time and memory.

An archive, a notebook or a text can be made so that a library takes hours or all memory to read it,
or crashes. Then that process ends, and its author is told so; everyone else is graded.
"""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fedlab_grade.textfile import Unusable

SECONDS = 20.0  # for one submission, which takes a few hundredths of one
MEMORY = 1 << 30  # bytes, beyond what this process holds
ANSWER = 64 << 20  # bytes


def limited(function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> Any:
    """Call a function in a fork of this process, and return its value as JSON has it.

    Where processes cannot be forked (Windows), it is called without limits.

    Raises:
        Unusable: the function raises it, takes too long, takes too much memory, or crashes.
    """
    if not hasattr(os, "fork"):
        return function(*arguments)
    mine, theirs = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.close(mine)
            _limit(seconds)
            _write(theirs, _answer(function, arguments))
        finally:
            os._exit(0)
    os.close(theirs)
    try:
        told = _read(mine, time.monotonic() + seconds)
    finally:
        os.close(mine)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if told is None or os.waitstatus_to_exitcode(status) == -signal.SIGXCPU:
        raise Unusable(f"takes longer than {seconds:g} seconds to read")
    try:
        answer = json.loads(told)
    except ValueError:
        raise Unusable("is too deeply nested or too large to read") from None
    if "problem" in answer:
        raise Unusable(answer["problem"])
    return answer["value"]


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    answer: dict[str, Any]
    try:
        answer = {"value": function(*arguments)}
    except Unusable as problem:
        answer = {"problem": str(problem)}
    except (MemoryError, RecursionError):
        return b""
    return json.dumps(answer).encode()  # with escapes: lone surrogates fit in


def _limit(seconds: float) -> None:
    import resource

    used = 0
    with suppress(OSError, ValueError), open("/proc/self/statm") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    processor = int(seconds) + 1
    for kind, value in ((resource.RLIMIT_AS, used + MEMORY), (resource.RLIMIT_CPU, processor)):
        if sys.platform == "linux" or kind == resource.RLIMIT_CPU:  # macOS counts no addresses
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (value, value))


def _write(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _read(pipe: int, end: float) -> bytes | None:
    """Return all that is written to a pipe; None where that is too much or takes too long."""
    told = bytearray()
    while (left := end - time.monotonic()) > 0 and len(told) <= ANSWER:
        if select.select([pipe], [], [], left)[0]:
            piece = os.read(pipe, 1 << 20)
            if not piece:
                return bytes(told)
            told += piece
    return None
