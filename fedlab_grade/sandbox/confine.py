"""Confine a worker before it serves: namespaces, user and files."""

import ctypes
import os
import signal
import struct
import sys
from typing import Any

from fedlab_grade.sandbox import landlock
from fedlab_grade.sandbox.usage import FILES

NEW_USER, NEW_PID, NEW_MOUNTS, NEW_IPC = 0x10000000, 0x20000000, 0x00020000, 0x08000000
NO_SUID, NO_DEVICES, NO_EXEC = 2, 4, 8  # of mount
CAPABILITIES = 0x20080522  # the version of capset that all kernels know
DUMPABLE, DEATH_SIGNAL = 4, 1  # of prctl
SCRATCH = "/scratch"


def enter_namespaces() -> None:
    """Make the namespaces that the next child will live in."""
    uid, gid = os.getuid(), os.getgid()
    own = 0 if uid == 0 else NEW_USER
    libc = _libc()
    libc.prctl(DUMPABLE, 1, 0, 0, 0)  # else the maps of users belong to root
    if libc.unshare(own | NEW_PID | NEW_MOUNTS | NEW_IPC) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses a namespace for each worker")
    if own:
        for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"),
                           ("gid_map", f"{gid} {gid} 1")):  # fmt: skip
            with open(f"/proc/self/{file}", "w") as stream:
                stream.write(text)
    shut_memory()


def mount_own(job: dict[str, Any]) -> None:
    """Mount a /proc of this namespace alone, and small empty folders."""
    owner = f",uid={job['uid']},gid={job['uid']}" if os.getuid() == 0 else ""
    size = f"size={job['disk']}m,nr_inodes={FILES},mode=0700{owner}".encode()
    flags = NO_SUID | NO_DEVICES
    libc = _libc()
    for kind, place, more, options in (
        (b"proc", b"/proc", NO_EXEC, None),
        (b"tmpfs", SCRATCH.encode(), 0, size),
        (b"tmpfs", b"/dev/shm", NO_EXEC, size),
    ):
        if libc.mount(kind, place, kind, flags | more, options) != 0:
            raise OSError(ctypes.get_errno(), f"the kernel refuses to mount {place.decode()}")


def shut_memory() -> None:
    """Close this process's memory to other processes of the same user."""
    _libc().prctl(DUMPABLE, 0, 0, 0, 0)


def give_up_rights(job: dict[str, Any]) -> None:
    """Become another user, or in a namespace of users one that may do nothing there."""
    if job["way"] != "none" and os.getuid() == 0:
        os.setgroups([])
        os.setresgid(job["uid"], job["uid"], job["uid"])
        os.setresuid(job["uid"], job["uid"], job["uid"])
    elif job["way"] == "bwrap":
        header = struct.pack("=Ii", CAPABILITIES, 0)
        _libc().capset(header, bytes(24))


def die_with_parent() -> None:
    """End when the parent ends, where the system knows that."""
    if sys.platform == "linux":
        _libc().prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def close_disk(job: dict[str, Any], folder: str) -> None:
    """Leave open, of all files, what the job names, and the worker's own folder."""
    if job["rules"]:
        own = [(place, landlock.WRITE) for place in (folder, "/dev/shm")]
        own += [(f"/dev/{n}", landlock.USE) for n in ("null", "zero", "random", "urandom")]
        landlock.install([*job["rules"], *own, ("/proc/self", landlock.READ)])


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
