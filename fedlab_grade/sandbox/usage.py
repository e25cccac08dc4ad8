"""Measure the memory and disk of a worker and all that it has started."""

import errno
import itertools
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

FILES = 4096  # that a worker may have, folders included
# Where every user may write; what is left there would be found by the next.
SHARED = ("/tmp", "/var/tmp", "/var/crash", "/run/lock", "/dev/shm", "/dev/mqueue")


def memory(process: int) -> int:
    """Return the bytes of a process that no file holds, tensors in shared memory too; or 0."""
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/status") as stream:
        rows = [row.split() for row in stream if row.startswith(("RssAnon:", "RssShmem:"))]
        return sum(int(row[1]) << 10 for row in rows)
    return 0


def grown(job: dict[str, Any], base: int) -> int:
    """Return the bytes that the worker and its children have taken since it began."""
    if job["way"] == "none":
        return 0
    return sum(max(0, memory(process) - base) for process in processes(job))


def processes(job: dict[str, Any]) -> Iterator[int]:
    """Yield the worker's processes: those of its user, or in namespaces all."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            # The worker's /proc covers that of the sandbox, and shows nothing else.
            if job["way"] == "bwrap" or os.stat(f"/proc/{name}").st_uid == job["uid"]:
                yield int(name)


def owned(job: dict[str, Any], places: Iterable[str]) -> Iterator[str]:
    """Yield the files and folders of the worker's user that lie directly in some folders."""
    for place in places:
        with suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # of another worker, and removed just now
                    if entry.stat(follow_symlinks=False).st_uid == job["uid"]:
                        yield entry.path


def filled(job: dict[str, Any]) -> bool:
    """Whether the worker's user has too many files, or too large ones.

    Removed files that are still open count; files that are only mapped are not seen.
    """
    sizes: dict[tuple[int, int], int] = {}
    paths = list(itertools.islice(owned(job, SHARED), FILES + 1))
    while paths and len(sizes) <= FILES:
        path = paths.pop()
        try:
            about = os.lstat(path)
            if stat.S_ISDIR(about.st_mode):
                with os.scandir(path) as entries:
                    paths += [entry.path for entry in itertools.islice(entries, FILES)]
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # folders in folders, where no look goes
                return True
            continue  # it has just been removed
        sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
    for process in processes(job):
        with suppress(OSError):
            for name in os.listdir(f"/proc/{process}/fd"):
                about = os.stat(f"/proc/{process}/fd/{name}")
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                    sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
    return len(sizes) > FILES or sum(sizes.values()) > job["disk"] << 20
