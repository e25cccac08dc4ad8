"""A process that has loaded PyTorch once, and forks from itself a worker for every test.

    python -m fedlab_edu.grading.zygote JOB

It runs trusted code only, in the sandbox where there is one. The job, in JSON, says in which way a
worker is held: "bwrap", in namespaces of its own, as another user where this one is root; "uid", as
another user; "none". Each worker has a keeper, a process that outlives it, ends all that it has
left, and tells how it ended: b"E" and the status as of `os.wait`, or b"M" for too much memory.
"""

import ctypes
import gc
import itertools
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import traceback
from contextlib import suppress
from typing import Any, NoReturn

from fedlab_edu.grading import seccomp

NEW_USER, NEW_PID, NEW_MOUNTS, NEW_IPC = 0x10000000, 0x20000000, 0x00020000, 0x08000000
NO_SUID, NO_DEVICES, NO_EXEC = 2, 4, 8  # of mount
CAPABILITIES = 0x20080522  # the version of capset that all kernels know
DUMPABLE, DEATH_SIGNAL = 4, 1  # of prctl
SCRATCH = "/scratch"
TURNS = 8  # users that take turns
BEAT = 0.1  # seconds between two looks at the memory
STATUS = struct.Struct(">ci")


def main() -> None:
    """Serve until the other side closes the line."""
    job = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as the first process of a namespace: deaf to it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    control = socket.socket(fileno=job["control"])
    if job["warm"]:
        import safetensors.torch  # noqa: F401
        import torch

        from fedlab_edu.grading import worker  # noqa: F401

        torch.set_num_threads(1)
        torch.ones(2, 2) @ torch.ones(2, 2)
    else:
        from fedlab_edu.grading import doctor  # noqa: F401
    gc.freeze()  # so that a fork does not touch, and copy, all that is there
    _libc().prctl(DUMPABLE, 0, 0, 0, 0)  # no worker may look into this memory
    control.sendall(b"R")
    for number in itertools.count():
        message, files, _, _ = socket.recv_fds(control, 16, 3)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            job["uid"] += number % TURNS  # the end of the one before may still be under way
            try:
                keep(job, files)
            except BaseException:
                traceback.print_exc()
            os._exit(70)
        for file in files:
            os.close(file)
        control.sendall(b"F")


def keep(job: dict[str, Any], files: list[int]) -> NoReturn:
    """Start a worker, wait for its end or for the word to end it, and tell how it ended."""
    line, output, leash = files
    os.setsid()
    place = "/tmp" if job["way"] == "uid" else None
    folder = SCRATCH if job["way"] == "bwrap" else tempfile.mkdtemp(prefix="answer_", dir=place)
    if job["way"] == "uid":
        os.chown(folder, job["uid"], job["uid"])
    if job["way"] == "bwrap":
        enter_namespaces()
    resident = memory(os.getpid())
    first = os.fork()
    if first == 0:
        if job["way"] != "bwrap":
            os.close(leash)
            start(job, folder, line, output)
        mount_own(job)
        if (student := os.fork()) == 0:
            os.close(leash)
            start(job, folder, line, output)
        os.close(line)
        os.close(output)
        while True:  # the first process of its namespace: it takes in orphans
            pid, status = os.wait()
            if pid == student:
                os.write(leash, STATUS.pack(b"E", status))
                os._exit(0)
    os.close(line)
    os.close(output)
    told: bytes | None = None
    while told is None:
        ready, _, _ = select.select([leash], [], [], BEAT)
        pid, code = os.waitpid(first, os.WNOHANG)
        if pid:
            told = STATUS.pack(b"E", code)
        elif ready:  # the other side has let go
            break
        elif grown(job, first, resident) > 1.5 * job["memory"] * 2**20:
            told = STATUS.pack(b"M", 0)
    end(job, first, folder)
    if told is not None:  # in namespaces, the first process has told already how it was
        with suppress(OSError):
            os.write(leash, told)
    os._exit(0)


def end(job: dict[str, Any], first: int, folder: str) -> None:
    """End the worker and all that it has started, and remove what they have written."""
    if job["way"] == "uid":
        if (killer := os.fork()) == 0:
            os.setresuid(job["uid"], job["uid"], job["uid"])
            os.kill(-1, signal.SIGKILL)  # all of this user; not this process itself
            os._exit(0)
        os.waitpid(killer, 0)
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(first, signal.SIGKILL)
    with suppress(OSError):
        os.waitpid(first, 0)
    if job["way"] != "bwrap":
        shutil.rmtree(folder, ignore_errors=True)
    if job["way"] == "uid":
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            for entry in os.scandir(place):
                if entry.stat(follow_symlinks=False).st_uid == job["uid"]:
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        os.unlink(entry.path)


def enter_namespaces() -> None:
    """Make the namespaces that the next child will live in.

    Raises:
        OSError: the kernel refuses.
    """
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
    libc.prctl(DUMPABLE, 0, 0, 0, 0)


def mount_own(job: dict[str, Any]) -> None:
    """A /proc that shows only this namespace, and folders that are empty and small."""
    owner = f",uid={job['uid']},gid={job['uid']}" if os.getuid() == 0 else ""
    size = f"size={job['disk']}m,nr_inodes=4096,mode=0700{owner}".encode()
    flags = NO_SUID | NO_DEVICES
    libc = _libc()
    for kind, place, more, options in (
        (b"proc", b"/proc", NO_EXEC, None),
        (b"tmpfs", SCRATCH.encode(), 0, size),
        (b"tmpfs", b"/dev/shm", NO_EXEC, size),
    ):
        if libc.mount(kind, place, kind, flags | more, options) != 0:
            raise OSError(ctypes.get_errno(), f"the kernel refuses to mount {place.decode()}")


def start(job: dict[str, Any], folder: str, line: int, output: int) -> NoReturn:
    """Become the worker: give up all rights, then serve."""
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((null, output, output)):
        os.dup2(source, target)
    os.closerange(3, line)
    os.closerange(line + 1, 256)
    if job["way"] != "none" and os.getuid() == 0:
        os.setgroups([])
        os.setresgid(job["uid"], job["uid"], job["uid"])
        os.setresuid(job["uid"], job["uid"], job["uid"])
    elif job["way"] == "bwrap":  # in a namespace of users of its own it has all rights, there
        header = struct.pack("=Ii", CAPABILITIES, 0)
        _libc().capset(header, bytes(24))
    os.chdir(folder)
    if sys.platform == "linux":
        _libc().prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    limit(job)
    if job["way"] != "none":
        seccomp.install()
    if not job["warm"]:
        from fedlab_edu.grading import doctor

        os.write(line, json.dumps(doctor.seen_inside()).encode())
        os._exit(0)
    from fedlab_edu.grading import worker

    worker.serve(socket.socket(fileno=line))
    os._exit(0)


def limit(job: dict[str, Any]) -> None:
    """Bound what this process may take; memory beyond what it holds already."""
    limits = {
        "RLIMIT_AS": memory(os.getpid(), 0) + (job["memory"] << 20),
        "RLIMIT_NPROC": job["processes"],
        "RLIMIT_FSIZE": job["disk"] << 20,
        "RLIMIT_NOFILE": 128,
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": job["cpu"],
    }
    if job["way"] == "none":
        del limits["RLIMIT_NPROC"]  # it counts all processes of the user
    for name, value in limits.items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(ValueError, OSError):  # macOS knows no limit of addresses
            resource.setrlimit(getattr(resource, name), (value, value))


def memory(process: int, column: int = 1) -> int:
    """Bytes of a process: all addresses (column 0), or those in memory that no file holds (1).

    0 if unknown. The second counts memory that the process shares, as tensors in shared memory.
    """
    try:
        if column == 0:
            with open(f"/proc/{process}/statm") as stream:
                return int(stream.read().split()[0]) * resource.getpagesize()
        with open(f"/proc/{process}/status") as stream:
            rows = [row.split() for row in stream if row.startswith(("RssAnon:", "RssShmem:"))]
        return sum(int(row[1]) << 10 for row in rows)
    except (OSError, ValueError, IndexError):
        return 0


def grown(job: dict[str, Any], first: int, base: int) -> int:
    """Bytes that the worker and its children have taken, beyond what they began with."""
    if job["way"] == "none":
        return 0
    total = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            # The worker's /proc covers that of the sandbox, and shows nothing else.
            if job["way"] == "bwrap" or os.stat(f"/proc/{name}").st_uid == job["uid"]:
                total += max(0, memory(int(name)) - base)
    return total


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main()
