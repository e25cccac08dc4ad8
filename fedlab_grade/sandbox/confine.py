"""Confine a worker before it serves: namespaces, user, files and system calls.

A filter refuses system calls that an answer never needs and an attack may want (Linux).
"""

import ctypes
import errno
import os
import platform
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

# Name -> its numbers on x86_64 and on aarch64.
REFUSED = {
    "socket": (41, 198), "ptrace": (101, 117), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "personality": (135, 92), "syslog": (103, 116),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "acct": (163, 89), "swapon": (167, 224), "quotactl": (179, 60),
    # Memory that the limit of a process does not count.
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}  # fmt: skip
CLONE, CLONE3 = (56, 220), (435, 435)
NAMESPACES = 0x7E020080  # of the flags of clone, those that make a namespace
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as the kernel names them

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  # where the kernel puts them


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


def program(machine: str) -> bytes:
    """Return the filter of system calls as the kernel reads it."""
    column = list(MACHINES).index(machine) if machine in MACHINES else -1
    steps = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, MACHINES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    refuse = (_RETURN, 0, 0, _REFUSE | errno.EPERM)
    if machine == "x86_64":  # a second table of the same calls begins at this number
        steps += [(_AT_LEAST, 0, 1, 0x40000000), refuse]
    for numbers in REFUSED.values():
        steps += [(_EQUAL, 0, 1, numbers[column]), refuse]
    # The flags of clone3 lie in memory, where no filter can look. Without it, libraries use clone.
    steps += [(_EQUAL, 0, 1, CLONE3[column]), (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)]
    steps += [
        (_EQUAL, 0, 3, CLONE[column]),
        (_LOAD, 0, 0, _FIRST),
        (_ANY_BIT, 0, 1, NAMESPACES),
        refuse,
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def refuse_calls() -> bool:
    """Put the filter on this process and all that it will start; False where there is none."""
    if platform.machine() not in MACHINES:
        return False
    text = program(platform.machine())
    steps = ctypes.create_string_buffer(text, len(text))
    head = struct.pack("HP", len(text) // 8, ctypes.addressof(steps))
    libc = _libc()
    no_new_privileges, set_filter = 38, (22, 2)
    for call in ((no_new_privileges, 1, 0, 0, 0), (*set_filter, head, 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "the kernel refuses the filter of system calls")
    return True


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
