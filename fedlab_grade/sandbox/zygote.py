"""Load PyTorch once, and fork a worker for every test.

    python -m fedlab_grade.sandbox.zygote DESCRIPTOR

It runs trusted code only, in the sandbox where there is one. The job, which comes through the
socket of that descriptor as a line of JSON, says in which way a worker is held: "bwrap", in
namespaces of its own, as another user where this one is root; "uid", as another user; "none". Each
worker has a keeper, a process that outlives it, tells in a line how it ended, and ends all that it
has left.
"""

import ctypes
import gc
import itertools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from fedlab_grade.limited import limit
from fedlab_grade.process import ending
from fedlab_grade.sandbox import confine
from fedlab_grade.sandbox.confine import SCRATCH
from fedlab_grade.sandbox.usage import SHARED, filled, grown, memory, owned
from fedlab_grade.sandbox.users import TURNS, killer_of
from fedlab_grade.sandbox.view import hide_course

HUGE, COLLAPSE = 2 << 20, 25  # bytes of a huge page; the advice to make such pages, Linux 6.1
BEAT = 0.1  # seconds between two looks at the memory and the disk
MEMORY = "took too much memory, and was stopped"
DISK = "wrote too many or too large files, and was stopped"


def main() -> None:
    """Serve until the other side closes the line."""
    control = socket.socket(fileno=int(sys.argv[1]))
    job = json.loads(control.makefile().readline())
    if job["way"] != "bwrap":
        hide_course()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as the first process of a namespace: deaf to it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    if job["warm"]:
        import torch

        from fedlab_grade.sandbox import worker  # noqa: F401

        torch.set_num_threads(1)
        torch.ones(2, 2) @ torch.ones(2, 2)
    else:
        from fedlab_grade.sandbox import doctor  # noqa: F401
    ready_to_fork()
    confine.shut_memory()
    control.sendall(b"R")
    keeper = 0
    for number in itertools.count():
        message, files, _, _ = socket.recv_fds(control, 256, 3)
        if not message:
            os._exit(0)
        what, *libraries = message.decode().split()
        for library in libraries:
            with suppress(Exception):
                import_module(library)
        if job["way"] == "uid" and keeper:  # what the worker before has left would be found
            with suppress(ChildProcessError):  # it has ended, and left no status
                os.waitpid(keeper, 0)
        if (keeper := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            job["uid"] += number % TURNS  # processes of the one before may still be ending
            job["look"] = what == "look"
            try:
                keep(job, files)
            except BaseException:
                traceback.print_exc()
            os._exit(70)
        for file in files:
            os.close(file)
        control.sendall(b"F")


def ready_to_fork() -> None:
    """Make forks of this process cheap: a fork copies one entry for each page, and what it touches.

    With PyTorch loaded, a fork and its end take 3 milliseconds instead of 11.
    """
    gc.freeze()  # else garbage collection touches, and so copies, all that is there
    if sys.platform != "linux":
        return
    with suppress(OSError), open("/proc/self/maps") as stream:
        libc = ctypes.CDLL(None)
        own = re.findall(r"(?m)^(\w+)-(\w+) rw-p \w+ \S+ 0 *(?:\[heap\])?$", stream.read())
        for first, last in own:
            begin, end = -(-int(first, 16) // HUGE) * HUGE, int(last, 16) // HUGE * HUGE
            if begin < end:  # where the kernel cannot, it stays as it is
                libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), COLLAPSE)


def keep(job: dict[str, Any], files: list[int]) -> NoReturn:
    """Start a worker, wait for its end or for the word to end it, and tell how it ended."""
    line, output, leash = files
    os.setsid()
    place = "/tmp" if job["way"] == "uid" else None
    folder = SCRATCH if job["way"] == "bwrap" else tempfile.mkdtemp(prefix="answer_", dir=place)
    if job["way"] == "uid":
        os.chown(folder, job["uid"], job["uid"])
    if job["way"] == "bwrap":
        confine.enter_namespaces()
    resident = memory(os.getpid())
    first = os.fork()
    if first == 0:
        if job["way"] != "bwrap":
            os.close(leash)
            start(job, folder, line, output)
        confine.mount_own(job)
        if (student := os.fork()) == 0:
            os.close(leash)
            start(job, folder, line, output)
        os.close(line)
        os.close(output)
        while True:  # the first process of its namespace: it takes in orphans
            pid, status = os.wait()
            if pid == student:
                tell(leash, ending(os.waitstatus_to_exitcode(status)))
                os._exit(0)
    os.close(line)
    os.close(output)
    told = ""
    while not told:
        ready, _, _ = select.select([leash], [], [], BEAT)
        pid, code = os.waitpid(first, os.WNOHANG)
        if pid:
            told = ending(os.waitstatus_to_exitcode(code))
        elif ready:  # the other side has let go
            break
        elif grown(job, resident) > 1.5 * job["memory"] * 2**20:
            told = MEMORY
        elif job["way"] == "uid" and filled(job):
            told = DISK
    tell(leash, told)  # in namespaces, the first process has told already how it was
    end(job, first, folder)
    os._exit(0)


def tell(leash: int, how: str) -> None:
    """Tell how the worker ended, before all that it has left ends: that takes a while."""
    with suppress(OSError):
        os.write(leash, f"{how}\n".encode())


def end(job: dict[str, Any], first: int, folder: str) -> None:
    """End the worker and all that it has started, and remove what they have written."""
    if job["way"] == "uid":
        kill_all(job["uid"])
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(first, signal.SIGKILL)
    with suppress(OSError):
        os.waitpid(first, 0)
    if job["way"] != "bwrap":
        left = [folder, *(owned(job, SHARED) if job["way"] == "uid" else ())]
        # Python's own way to remove a tree gives up at its depth of recursion.
        for i in range(0, len(left), 1000):  # a command has a greatest length
            command = ["rm", "-rf", "--", *left[i : i + 1000]]
            subprocess.run(command, stderr=subprocess.DEVNULL, check=False)


def kill_all(user: int) -> None:
    status, own = -1, killer_of(user)
    while status < 0:  # killed by another process that does the same at this moment
        if (killer := os.fork()) == 0:
            os.setresuid(own, user, own)  # so that it may, and they may not
            with suppress(ProcessLookupError):  # there are none
                os.kill(-1, signal.SIGKILL)  # all of this user; not this process itself
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(killer, 0)[1])


def start(job: dict[str, Any], folder: str, line: int, output: int) -> NoReturn:
    """Become the worker: give up all rights, then serve."""
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((null, output, output)):
        os.dup2(source, target)
    for name in ("stdout", "stderr"):  # streams that began as files would try to seek in the pipe
        old = getattr(sys, name)
        lines = 1 if old.line_buffering else -1
        new = os.fdopen(old.fileno(), "w", lines, old.encoding, old.errors, closefd=False)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)  # or it closes where a file puts another in its place
    os.closerange(3, line)
    os.closerange(line + 1, 256)
    for lock in job["locks"]:
        with suppress(OSError):  # closed already
            os.close(lock)
    confine.give_up_rights(job)
    os.chdir(folder)
    if job["way"] != "bwrap":
        os.environ["HOME"] = os.environ["TMPDIR"] = folder
        tempfile.tempdir = None  # it was asked for already
    confine.die_with_parent()
    # NPROC counts all processes of the user, who may be the instructor.
    own = {} if job["way"] == "none" else {"NPROC": job["processes"]}
    disk = job["disk"] << 20
    limit(job["memory"] << 20, CPU=job["cpu"], FSIZE=disk, NOFILE=128, CORE=0, **own)
    confine.close_disk(job, folder)
    if job["way"] != "none":
        confine.refuse_calls()
    if job["look"]:
        look(socket.socket(fileno=line), all_of_it=not job["warm"])
    else:
        from fedlab_grade.sandbox import worker

        worker.serve(socket.socket(fileno=line))
    os._exit(0)


def look(line: socket.socket, all_of_it: bool) -> None:
    """Send which of the files named on the line can be read, and what else a worker can do."""
    seen: dict[str, Any] = {"readable": []}
    with line.makefile() as asked:
        for file in json.loads(asked.readline()):
            with suppress(OSError), open(file, "rb"):
                seen["readable"].append(file)
    if all_of_it:
        from fedlab_grade.sandbox import doctor

        seen |= doctor.seen_inside()
    line.sendall(json.dumps(seen).encode() + b"\n")


if __name__ == "__main__":
    main()
