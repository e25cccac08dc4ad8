"""Try which isolation this machine gives to submissions, and say how to get a better one.

Three ways are known, the best first: "bwrap", namespaces of their own by bubblewrap; "uid", a user
of their own, where one is root but may make no namespaces, as in most containers; "none".
"""

import os
import platform
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from fedlab_grade.options import Limits
from fedlab_grade.sandbox import confine, landlock
from fedlab_grade.sandbox.processes import Way, Zygote
from fedlab_grade.sandbox.users import TURNS
from fedlab_grade.sandbox.view import NoSandbox

REFUSAL = (
    "this machine gives no isolation, and submissions can do what you can: run `fedlab-edu doctor` "
    "for what to do, or add --i-trust-these-submissions."
)
LINUX = "grade in WSL 2, or in a Linux container or machine."
TRIED = Limits(call=10.0, memory=256, processes=12)
WAYS = {
    "bwrap": "bubblewrap: namespaces of their own, no network, a view without your files",
    "uid": "another user: no network, limits, a disk without your files, by Landlock",
    "open uid": "another user: no network, limits; what all users can read, submissions can (no "
    "Landlock)",
    "none": "no isolation: submissions can do what you can",
}
ADVICE = {
    "needs Linux": LINUX,
    "not installed": "install bubblewrap: apt-get install bubblewrap (Debian, Ubuntu, WSL), or dnf "
    "install bubblewrap (Fedora).",
    "container": "in a container, start it with --cap-add SYS_ADMIN --security-opt "
    "seccomp=unconfined --security-opt apparmor=unconfined; or be root in it, with the tests in a "
    "folder of mode 700.",
    "apparmor_restrict_unprivileged_userns=1": "Ubuntu's AppArmor closes the namespaces of users: "
    "run as root (sudo), or open them with: sudo sysctl -w "
    "kernel.apparmor_restrict_unprivileged_userns=0",
    "unprivileged_userns_clone=0": "open the namespaces of users with: sudo sysctl -w "
    "kernel.unprivileged_userns_clone=1",
    "cannot read Python": "install Python where all users can read it, as in /usr or /opt.",
    "": "run as root (sudo), which needs no namespace of users.",
}
CONTAINER = ("/.dockerenv", "/run/.containerenv")  # files of Docker's and Podman's
UNTIL = """

Until then `fedlab-edu grade` refuses, but for your own submissions:
  fedlab-edu grade ... --i-trust-these-submissions"""


class Finding(NamedTuple):
    """Whether one way of isolation works here, and if not, why.

    Fields:
        closed: whether a submission sees nothing of the disk but the system and Python.
    """

    way: Way
    works: bool
    why: str = ""
    closed: bool = False


def choose(trust: bool = False) -> Way:
    """Return the best way that works here; "none" only for trusted submissions.

    Raises:
        NoSandbox: none works.
    """
    if not hasattr(os, "fork"):
        raise NoSandbox(f"this system cannot fork a process for each test: {LINUX}")
    ways: tuple[Way, ...] = ("bwrap", "uid")
    way: Way = next((way for way in ways if tried(way).works), "none")
    if way == "none" and not trust:
        raise NoSandbox(REFUSAL)
    return way


def examine() -> tuple[Way, str]:
    """Try both ways of isolation; return the best that works, and what to tell the instructor."""
    with _planted() as files:
        found = tried("bwrap", files), tried("uid", files if landlock.version() else ())
    best = next((finding for finding in found if finding.works), Finding("none", False))
    is_open = best.way == "uid" and not best.closed
    lines = [f"Isolation of submissions: {WAYS['open uid' if is_open else best.way]}.", ""]
    for finding in found:
        state = "works" if finding.works else f"does not work: {finding.why}"
        lines.append(f"  {finding.way:<6} {state}")
    if not found[0].works:
        lines += ["", "To get better:", f"  - {_advice(found[0].why)}"]
    return best.way, "\n".join(lines) + UNTIL * (not best.works and hasattr(os, "fork"))


def tried(way: Way, planted: Sequence[Path] = ()) -> Finding:
    """Start a worker in this way, and let it look around, also for planted private files."""
    if sys.platform != "linux":
        return Finding(way, False, "it needs Linux")
    if way == "uid" and os.getuid() != 0:
        return Finding(way, False, "it needs root")
    try:
        zygote = Zygote(way, TRIED, planted, warm=False)
        try:
            seen = zygote.look()
        finally:
            zygote.close()
    except NoSandbox as error:
        return Finding(way, False, str(error))
    faults = _faults(way, seen, zygote.user)
    closed = way == "bwrap" or not seen["disk"]
    return Finding(way, not faults, "; ".join(faults), closed and not faults)


@contextmanager
def _planted() -> Iterator[list[Path]]:
    """Plant files that anyone may read, in folders of courses and of Python."""
    places = {tempfile.gettempdir(), os.getcwd(), str(Path.home()), sys.prefix, f"{sys.prefix}/lib"}
    with ExitStack() as stack:
        files = []
        for place in sorted(places):
            with suppress(OSError):
                folder = stack.enter_context(tempfile.TemporaryDirectory(dir=place))
                os.chmod(folder, 0o755)
                files.append(Path(folder, "planted"))
                files[-1].write_text("a solution")
        yield files


def seen_inside() -> dict[str, object]:
    """Return what a worker can do; a worker runs this for `tried`."""
    seen: dict[str, object] = {"user": os.getuid()}
    seen["processes"] = 0
    with suppress(PermissionError):
        seen["processes"] = sum(name.isdigit() for name in os.listdir("/proc"))
    for name, act in (
        ("disk", lambda: os.listdir("/")),
        ("network", lambda: socket.socket().close()),
        ("memory", lambda: bytearray(2 * TRIED.memory << 20)),
        ("python", lambda: __import__("wave")),  # a module that nothing here has loaded
        ("write", lambda: open("own", "w").close()),
        ("write to Python", lambda: open(Path(sys.prefix, "own"), "w").close()),
    ):
        try:
            act()
            seen[name] = True
        except (OSError, MemoryError, ImportError):
            seen[name] = False
    children, (mine, theirs) = 0, os.pipe()
    with suppress(OSError):
        while children < 3 * TRIED.processes:
            if os.fork() == 0:
                os.close(theirs)
                os.read(mine, 1)  # until all ends of the pipe are closed
                os._exit(0)
            children += 1
    os.close(theirs)
    return seen | {"children": children}


def _faults(way: Way, seen: dict[str, object], user: int) -> list[str]:
    """Return what is wrong with a worker that should run as this user."""
    checks = [
        (seen["user"] != 0, "submissions would run as root"),
        (os.getuid() != 0 or int(str(seen["user"])) - user in range(TURNS),
         "submissions would not run as another user"),
        (way == "uid" or int(str(seen["processes"])) <= 3, "other processes are visible"),
        (not seen["network"] or platform.machine() not in confine.MACHINES or way == "bwrap",
         "the network is open"),
        (not seen["memory"], "the limit of memory does not hold"),
        (int(str(seen["children"])) < 2 * TRIED.processes, "the number of processes has no limit"),
        (seen["python"], f"that user cannot read Python at {sys.base_prefix}"),
        (seen["write"], "there is no folder to write to"),
        (not seen["write to Python"], f"{sys.prefix} can be written to"),
    ]  # fmt: skip
    return [text for good, text in checks if not good]


def _advice(why: str) -> str:
    """Return how to get bubblewrap to work."""
    signs = [why, "container" if any(map(os.path.exists, CONTAINER)) else ""]
    for path in Path("/proc/sys/kernel").glob("*unprivileged_userns*"):
        with suppress(OSError):
            signs.append(f"{path.name}={path.read_text().strip()}")
    return next(advice for sign, advice in ADVICE.items() if sign in "\n".join(signs))
