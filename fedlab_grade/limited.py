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

from fedlab_grade.textfile import TOO_DEEP, Unusable

if sys.platform != "win32":
    import resource  # now: the user of a submission may not be able to read it

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

    def act(pipe: int) -> None:
        limit(MEMORY, CPU=int(seconds + 1))
        try:
            answer = {"value": function(*arguments)}
        except Unusable as problem:
            answer = {"problem": str(problem)}
        except (MemoryError, RecursionError):
            return
        with open(pipe, "w", encoding="ascii") as stream:
            json.dump(answer, stream)  # with escapes: lone surrogates fit in

    told, late, status = in_fork(act, seconds)
    if late or os.waitstatus_to_exitcode(status) == -signal.SIGXCPU:
        raise Unusable(f"takes longer than {seconds:g} seconds to read")
    try:
        answer = json.loads(told)
    except ValueError:
        raise Unusable(f"is {TOO_DEEP}") from None
    if "problem" in answer:
        raise Unusable(answer["problem"])
    return answer["value"]


def in_fork(act: Callable[[int], object], seconds: float) -> tuple[bytes, bool, int]:
    """Call a function with a pipe, in a fork of this process that ends then.

    Returns:
        What it has written to the pipe, whether it took longer, and the status as of `os.wait`.
    """
    mine, theirs = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.close(mine)
            act(theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    told, end, late = bytearray(), time.monotonic() + seconds, False
    try:
        while len(told) <= ANSWER:
            left = max(0.0, end - time.monotonic())
            if late := not select.select([mine], [], [], left)[0]:
                break
            if not (piece := os.read(mine, 1 << 20)):
                break
            told += piece
    finally:
        os.close(mine)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return bytes(told), late, status


def limit(memory: int, **others: int) -> None:
    """Bound the memory of this process, in bytes beyond what it holds, and other resources.

    Args:
        others: as `resource` names them, without ``RLIMIT_``.
    """
    if sys.platform == "linux":  # macOS counts no addresses
        with suppress(OSError), open("/proc/self/statm") as stream:
            memory += int(stream.read().split()[0]) * resource.getpagesize()
        others["AS"] = memory  # also where /proc is hidden: too little rather than no limit
    for name, value in others.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, value))
