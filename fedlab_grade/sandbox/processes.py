"""Start the processes in which students' files run, one for every test."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from fedlab_grade.options import Limits
from fedlab_grade.process import START
from fedlab_grade.sandbox import users
from fedlab_grade.sandbox.line import Worker
from fedlab_grade.sandbox.view import PACKAGE, VIEW, NoSandbox, files_in, mounts, opened

Way = Literal["bwrap", "uid", "none"]
CODE = "import sys; sys.path[:0] = [{!r}]; from fedlab_grade.sandbox import zygote; zygote.main()"


class Zygote:
    """The process from which workers are forked.

    Args:
        private: files and folders that no worker may read.
        warm: load PyTorch; without it, workers can only `look`.

    Fields:
        user: the id of the first worker's user, where this process is root.
    """

    def __init__(
        self, way: Way, limits: Limits, private: Sequence[Path] = (), warm: bool = True
    ) -> None:
        self.way = way
        self.user, locks = 0, []
        rules = opened(private) if way == "uid" else []
        box = bubblewrap(private) if way == "bwrap" else []
        if os.getuid() == 0 and way != "none":
            try:
                self.user, lock = users.claim()
            except OSError as error:
                raise NoSandbox(f"there is no user for submissions: {error}") from None
            locks = [lock]
        self._log, self._said = tempfile.TemporaryFile(), ""  # noqa: SIM115
        self._control, other = socket.socketpair()
        job = {
            "way": way, "warm": warm, "uid": self.user, "locks": locks,
            "memory": limits.memory, "processes": limits.processes, "disk": limits.disk,
            "cpu": int(limits.total) + 2, "rules": rules,
        }  # fmt: skip
        folder = VIEW if way == "bwrap" else str(PACKAGE.parent)
        options = ["-I", "-B", "-X", "utf8", "-c", CODE.format(folder), str(other.fileno())]
        command = [*box, sys.executable, *options]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=[other.fileno(), *locks],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
                cwd="/",
                env=ENVIRONMENT | {"TMPDIR": tempfile.gettempdir()},
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            raise NoSandbox(f"{command[0]} does not start: {error.strerror}") from None
        finally:
            other.close()
            for lock in locks:  # from now on the zygote and the keepers of its workers hold it
                os.close(lock)
        self._control.settimeout(START)
        with suppress(OSError):
            self._control.sendall(json.dumps(job).encode() + b"\n")
            if self._control.recv(1) == b"R":
                self._try_to_read(private)
                return
        self.close()
        raise NoSandbox(f"the sandbox does not start: {self.said()}")

    def _try_to_read(self, private: Sequence[Path]) -> None:
        files = [] if self.way == "none" else files_in(private)
        if files and (visible := self.look(files)["readable"]):
            self.close()
            raise NoSandbox(
                f"submissions could read {visible[0]}: close its folder to other users "
                f"(chmod 700 {Path(visible[0]).parent}), or move it"
            )

    def look(self, files: Iterable[str] = ()) -> dict[str, Any]:
        """Let a worker look around, and return what it can see and do."""
        worker = self.worker(look=True)
        try:
            worker.line.settimeout(START)
            with suppress(OSError), worker.line.makefile() as told:
                worker.line.sendall(json.dumps(list(files)).encode() + b"\n")
                if line := told.readline():
                    seen: dict[str, Any] = json.loads(line)
                    return seen
            worker.keep = 1 << 16
            worker.listen()
            said = worker.printed.decode("utf-8", "replace").strip()
            last = (said or self.said()).splitlines()[-1]
            raise NoSandbox(f"a worker does not start: {last}")
        finally:
            worker.let_go()

    def worker(self, libraries: Sequence[str] = (), look: bool = False) -> Worker:
        """Start a worker, which serves or looks around.

        Args:
            libraries: what the process loads first, once here and not in each of its workers.
        """
        line, far_line = socket.socketpair()
        leash, far_leash = socket.socketpair()
        output, far_output = os.pipe()
        worker = Worker(line, output, leash)
        files = [far_line.fileno(), far_output, far_leash.fileno()]
        try:
            asked = " ".join(["look" if look else "serve", *libraries])
            socket.send_fds(self._control, [asked.encode()], files)
            started = self._control.recv(1) == b"F"
        except OSError:
            started = False
        finally:
            far_line.close()
            far_leash.close()
            os.close(far_output)
        if started:
            return worker
        worker.let_go()
        self.close()
        raise NoSandbox(f"the sandbox has ended: {self.said()}")

    def said(self) -> str:
        """Return the last line that it wrote on its way out."""
        if not self._log.closed:
            self._log.seek(0)
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
            self._said = lines[-1] if lines else f"exit status {self._process.poll()}"
        return self._said

    def close(self) -> None:
        """End it; in namespaces, with all workers."""
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._process.kill()
        self._process.wait()
        self.said()
        self._log.close()


# Nothing of the grader's environment goes into the sandbox: it may hold secrets.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/scratch",
    "USER": "student",
    "LOGNAME": "student",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # each reserves addresses, which the limit of memory counts
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",  # else torch.set_num_threads(64) ends the process
    "PIP_NO_INDEX": "1",  # else it tries for long to reach a network
}


def bubblewrap(private: Iterable[Path] = ()) -> list[str]:
    """Return the command that starts a program in namespaces of its own.

    It sees what `mounts` lists, and can write to none of it. As root no namespace of users is made:
    in one, the number of processes would not be limited.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandbox("bubblewrap is not installed")
    root = os.getuid() == 0
    rights = ["SYS_ADMIN", "SETUID", "SETGID", "SETPCAP"] if root else []
    kinds = ["pid", "net", "ipc", "uts", *([] if root else ["user"])]
    return [
        program,
        *(f"--unshare-{kind}" for kind in kinds),
        "--unshare-cgroup-try", "--die-with-parent", "--new-session",
        "--cap-drop", "ALL", *(word for r in rights for word in ("--cap-add", f"CAP_{r}")),
        *mounts(private), "--chdir", "/", "--setenv", "TMPDIR", "/scratch", "--",
    ]  # fmt: skip
