"""Threads of one core each for the tiles of a round, and memory that the C library keeps."""

import ctypes
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_DEVICES = ("cpu", "cuda")
_HERE = threading.local()  # .inside: this thread works on a tile, and starts no other threads


def keep_memory() -> None:
    """Let glibc keep freed memory, because each step of training would fault its pages in again.

    Runs at import, for the whole process; FEDLAB_MALLOPT=0 in the environment leaves glibc alone.
    """
    if sys.platform == "linux" and os.environ.get("FEDLAB_MALLOPT", "1") != "0":
        try:
            mallopt = ctypes.CDLL(None).mallopt
        except (OSError, AttributeError):  # another C library
            return
        mmap_threshold, trim_threshold, top_pad = -3, -1, -2  # the numbers of malloc.h
        mallopt(mmap_threshold, 1 << 30)
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(top_pad, 64 << 20)


def cores() -> int:
    """Return how many cores this process may use; all of them on macOS, which does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def inside_tile() -> bool:
    """Return whether this thread runs a task of `run_parallel`."""
    return getattr(_HERE, "inside", False)


@contextmanager
def plain_mode() -> Iterator[None]:
    """Leave inference mode and autocast, which hold for one thread: its tiles would differ."""
    if not (torch.is_inference_mode_enabled() or any(map(torch.is_autocast_enabled, _DEVICES))):
        yield
        return
    with (
        torch.inference_mode(False),
        torch.autocast("cpu", enabled=False),
        torch.autocast("cuda", enabled=False),
    ):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Run PyTorch's operations on this thread only, in `plain_mode`.

    Threads inside an operation spin for milliseconds after it, on cores that other tiles need.
    """
    threads = torch.get_num_threads()
    if threads > 1:
        torch.set_num_threads(1)
    try:
        with plain_mode():
            yield
    finally:
        if threads > 1:
            torch.set_num_threads(threads)


_POOL: list[ThreadPoolExecutor] = []  # made at the first use; a forked process makes its own
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.clear)


def run_parallel(
    work: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    then: Callable[[_Result], Any],
    workers: int | None = None,
) -> None:
    """Call ``work`` for each task, on this thread and others, and ``then`` for each result in turn.

    ``then`` is called in the order of the tasks, one call at a time, so that sums do not depend on
    which thread is first. A task that is itself part of a parallel run stays on its thread.
    """
    if inside_tile():
        for task in tasks:
            then(work(task))
        return
    todo, done, turn, lock = deque(enumerate(tasks)), dict[int, _Result](), 0, threading.Lock()
    workers = min(workers or cores(), len(tasks))

    def several() -> None:
        nonlocal turn
        _HERE.inside = True
        try:
            while todo:
                try:
                    number, task = todo.popleft()
                except IndexError:  # another thread was faster
                    return
                done[number] = work(task)
                with lock:
                    while turn in done:
                        then(done.pop(turn))
                        turn += 1
        except BaseException:
            todo.clear()
            raise
        finally:
            _HERE.inside = False

    with one_thread():
        if workers > 1 and not _POOL:
            _POOL.append(ThreadPoolExecutor(cores(), "tile", torch.set_num_threads, (1,)))
        others = [_POOL[0].submit(several) for _ in range(workers - 1)]
        try:
            several()
        finally:
            for other in others:
                other.result()


keep_memory()
