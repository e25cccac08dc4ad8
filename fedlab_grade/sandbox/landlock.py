"""Limit the files that a process may open, by Landlock: Linux 5.13 and later, without root.

It works in containers that may make no namespaces. What a process has open already stays open, and
names of folders can still be passed: only the opening, making and removing of files is bounded.
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

# Calls of the kernel since 2019 have the same numbers on all machines (but Alpha), aarch64 too.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES = 38  # of prctl

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_FIRST = (1 << 13) - 1  # the rights of the first version
_DEVICES = 1 << 6 | 1 << 11  # to make those
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # known from versions 2 and 3 on
READ = EXECUTE | READ_FILE | READ_DIR
USE = READ_FILE | WRITE_FILE | _TRUNCATE  # of a device
WRITE = (_FIRST | _REFER | _TRUNCATE) & ~_DEVICES
_OF_FILES = EXECUTE | USE

Rule = tuple[str, int]  # a file, or a folder with all that it holds, and the rights to it


def version() -> int:
    """Return the version of the kernel's interface; 0 where it has none or it is switched off."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), 1))


def beneath(place: Path, hidden: Collection[Path]) -> Iterator[Rule]:
    """Yield the rules that open a folder without the hidden ones in it, whose names remain.

    Rights go down a tree and cannot be taken back in it. So what lies beside a hidden folder is
    opened piece by piece, and links, whose goals have rules of their own, are left out.
    """
    if place in hidden:
        return
    if not any(folder.is_relative_to(place) for folder in hidden):
        yield str(place), READ
        return
    yield str(place), READ_DIR  # else Python finds nothing there
    for entry in os.scandir(place):
        if not entry.is_symlink():
            yield from beneath(Path(entry.path), hidden)


def install(rules: Iterable[Rule]) -> bool:
    """Close all other files to this process and what it will start; False where it cannot be."""
    known = version()
    if not known:
        return False
    handled = _FIRST | (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0)
    head = struct.pack("=Q", handled)
    ruleset = _checked(_CREATE, head, ctypes.c_size_t(len(head)), 0)
    for path, rights in rules:
        try:
            file = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # what is not there, or closed already, needs no rule
            continue
        try:
            rights &= handled if stat.S_ISDIR(os.fstat(file).st_mode) else handled & _OF_FILES
            if rights:
                _checked(_ADD, ruleset, 1, struct.pack("=Qi", rights, file), 0)
        finally:
            os.close(file)
    if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses to give up new privileges")
    _checked(_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return True


def _call(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments))


def _checked(number: int, *arguments: object) -> int:
    out = _call(number, *arguments)
    if out < 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses a rule of Landlock")
    return out
