"""The command ``watch``: check a file again whenever it is saved.

The process that does the next check has started before, with PyTorch and pytest loaded, so that a
result comes at once, and whatever a student's code does ends with that process.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from fedlab_grade.home.check import BROKEN, check_file, show, target
from fedlab_grade.options import Refusal
from fedlab_grade.process import POLL, Child
from fedlab_grade.run import CheckBroken, Report

LOADED = ("fedlab_edu", "fedlab_grade.checks", "hypothesis")

Stamp = tuple[int, int, int]


class Saved(Exception):
    """The file was saved again while it was checked."""


def watch(question: str, file: Path | None = None) -> int:
    """Check a file now and at each save until Ctrl-C; 0."""
    chosen = target(question, file)
    say = partial(print, flush=True)
    say("Loading PyTorch; this takes some seconds.")
    try:
        for found in checks(chosen.file, chosen.tests, chosen.question):
            if isinstance(found, str):
                say(found)
            else:
                chosen.keep(found[0])
                show(*found, again="", hints=chosen.place is not None)
            clock = time.strftime("%H:%M:%S")
            say(f"-- {clock}: {chosen.file} is checked again when you save it. Ctrl-C ends this.")
    except KeyboardInterrupt:
        say()
    return 0


def checks(file: Path, tests: Path, question: str) -> Iterator[str | tuple[Report, Sequence[str]]]:
    """Check a file now and after each save: yield report and notes, or why there is none."""
    seen: Stamp | None = None

    def poll() -> None:
        if stamp(file) not in (seen, None):
            raise Saved

    def start() -> Child:
        child = spare.pop() if spare else Child(modules=LOADED)
        child.poll = poll
        return child

    spare = [Child(modules=LOADED)]
    try:
        while True:
            seen = settled(file, seen)
            with suppress(Saved):
                try:
                    found: str | tuple[Report, Sequence[str]]
                    found = check_file(file, tests, question, start)
                except (Refusal, OSError) as problem:
                    found = str(problem)
                except CheckBroken as broken:
                    found = f"{BROKEN}\n{broken}"
                yield found
            spare = spare or [Child(modules=LOADED)]
    finally:
        for child in spare:
            with child:
                pass


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
