"""Check a file again whenever it is saved.

This process loads PyTorch and pytest once, and a child of it does each check, so that a result
comes at once, and whatever a student's code does ends with the child. Where processes cannot be
forked (Windows), each check starts a new Python, which takes some seconds more.
"""

import io
import json
import multiprocessing
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from fedlab_grade.home.check import BROKEN, check_file
from fedlab_grade.options import Refusal
from fedlab_grade.run import GRACE, CheckBroken, Child, Report

POLL = 0.1  # seconds between two looks at the file
LOADED = ("fedlab_edu", "fedlab_grade.checks", "fedlab_grade.child", "hypothesis")

Stamp = tuple[int, int, int]
Tell = Callable[[Report, tuple[str, ...]], None]


class Saved(Exception):
    """The file was saved again while it was checked."""


def watch(file: Path, tests: Path, question: str, tell: Tell, say: Callable[[str], None]) -> None:
    """Check a file now and after each save, without end.

    Args:
        question: as in ex01.2; "" for all.
        tell: what to do with a report, and notes on it.
        say: what to do with a sentence, where there is no report.
    """
    forks = "fork" in multiprocessing.get_all_start_methods()
    if forks:
        for name in LOADED:
            with suppress(ImportError):
                import_module(name)
    seen: Stamp | None = None
    while True:
        seen = settled(file, seen)
        start = partial(Fork, saved=partial(_differs, file, seen)) if forks else None
        try:
            found = check_file(file, tests, question, start)
        except Saved:
            continue
        except (Refusal, OSError) as problem:
            say(str(problem))
        except CheckBroken as broken:
            say(f"{BROKEN}\n{broken}")
        else:
            tell(*found)


def stamp(file: Path) -> Stamp | None:
    """Return what changes when a file is saved; None while there is no file."""
    try:
        at = file.stat()
    except OSError:
        return None
    return at.st_mtime_ns, at.st_size, at.st_ino


def settled(file: Path, seen: Stamp | None) -> Stamp:
    """Wait until a file is another than the one seen, and stays so for a moment."""
    while True:
        now = stamp(file)
        time.sleep(POLL)
        if now is not None and now != seen and stamp(file) == now:
            return now


def _differs(file: Path, seen: Stamp) -> bool:
    return stamp(file) not in (seen, None)


class Fork(Child):
    """The process of `fedlab_grade.child` as a copy of this one, with its modules loaded.

    Args:
        saved: whether the file has been saved again; then its lines end with `Saved`.
    """

    def __init__(self, job: dict, saved: Callable[[], bool]) -> None:
        self.saved = saved
        self.said, channel = os.pipe()
        self.fork = multiprocessing.get_context("fork").Process(target=_work, args=(job, channel))
        self.fork.start()
        os.close(channel)

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.fork.join()
        os.close(self.said)

    def lines(self) -> Iterator[str]:
        heard = time.monotonic()
        rest = b""
        while True:
            ready, _, _ = select.select([self.said], [], [], POLL)
            if self.saved():
                raise Saved
            if ready:
                block = os.read(self.said, 1 << 16)
                *whole, rest = (rest + block).split(b"\n")
                yield from (f"{line.decode('utf-8', 'replace')}\n" for line in whole)
                if not block:
                    yield rest.decode("utf-8", "replace")
                    return
                heard = time.monotonic()
            elif time.monotonic() > heard + self.limit + GRACE:
                self.kill(late=True)

    def kill(self, late: bool = False) -> None:
        self.late = late
        assert self.fork.pid is not None
        with suppress(OSError):
            os.killpg(self.fork.pid, signal.SIGKILL)
        self.fork.kill()  # it may not have come to its group yet

    def end(self) -> int:
        self.fork.join(5)
        self.kill(self.late)
        self.fork.join()
        return self.fork.exitcode or 0


def _work(job: dict, channel: int) -> None:
    from fedlab_grade import child

    os.setpgid(0, 0)  # Ctrl-C in the terminal is for the parent
    os.dup2(channel, 2)
    sys.stdin = io.StringIO(json.dumps(job))
    child.main()
