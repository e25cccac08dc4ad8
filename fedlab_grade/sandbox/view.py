"""Decide what a sandbox shows of the disk: programs, Python and the grader; never the course.

The view is made of what Python needs, in a list that does not depend on where the course lies. If a
private path lies within one of those folders, it is masked together with the folders around it that
Python does not need.
"""

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.abc import MetaPathFinder
from itertools import islice
from pathlib import Path

from fedlab_grade.options import Refusal
from fedlab_grade.sandbox import landlock

PACKAGE = Path(__file__).parents[1]
VIEW = "/grader"  # the folder that holds this package, in bubblewrap's view
SYSTEM = (
    "bin", "lib", "lib32", "lib64", "usr/bin", "usr/lib", "usr/lib32", "usr/lib64",
    "usr/local/bin", "usr/local/lib", "usr/share/zoneinfo",
    "etc/ld.so.cache", "etc/localtime", "etc/alternatives",
)  # fmt: skip
PREFIX = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a folder that Python is installed in
LISTED = 500  # files of a private folder that are tried
# Nothing of the grader's environment goes into the sandbox: it may hold secrets.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/scratch",
    "USER": "student",
    "LOGNAME": "student",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",  # of OpenBLAS and MKL, too
    "MALLOC_ARENA_MAX": "2",  # each reserves addresses, which the limit of memory counts
    "OMP_THREAD_LIMIT": "1",  # else torch.set_num_threads(64) ends the process
    "PIP_NO_INDEX": "1",  # else it tries for long to reach a network
}


class NoSandbox(Refusal):
    """The reason why there is no sandbox."""


def shown() -> dict[Path, Path]:
    """Return the places in bubblewrap's view, each with the file or folder that it shows."""
    prefixes = {sys.prefix, sys.base_prefix, sys.base_exec_prefix}
    places = [Path("/", name) for name in SYSTEM]
    places += [Path(prefix, name) for prefix in sorted(prefixes) for name in PREFIX]
    found = {place: place.resolve() for place in places if place.exists()}
    return found | {Path(VIEW, PACKAGE.name): PACKAGE.resolve()}


def masked(private: Iterable[Path]) -> dict[Path, Path]:
    """Return the places in the view that are masked, each with the folder that it would show.

    Args:
        private: files and folders that no submission may read. `fedlab_edu` is one of them,
            wherever it is installed.
    """
    course = [Path(entry, "fedlab_edu") for entry in (str(PACKAGE.parent), *sys.path)]
    needed = _needed()
    out: dict[Path, Path] = {}
    for path in [*private, *(folder for folder in course if folder.is_dir())]:
        folder = path.resolve() if path.is_dir() else path.resolve().parent
        for place, real in shown().items():
            if folder.is_relative_to(real):
                around = [f for f in (folder, *folder.parents) if real in f.parents]
                around = [f for f in around if not any(n.is_relative_to(f) for n in needed)]
                if not around:
                    raise NoSandbox(
                        f"submissions could read {path}, because Python needs the folder that "
                        f"holds it: move it out of {real}"
                    )
                out[place / around[-1].relative_to(real)] = around[-1]
    return out


def _needed() -> set[Path]:
    """Return the folders and files without which Python does not start."""
    names = {sys.executable, *sysconfig.get_paths().values(), *site.getsitepackages(), str(PACKAGE)}
    with suppress(OSError), open("/proc/self/maps") as maps:  # its libraries
        names |= {line[line.index("/") :].rstrip("\n") for line in maps if "/" in line}
    return {real for name in names for real in (Path(name), Path(name).resolve())}


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


def mounts(private: Iterable[Path]) -> Iterator[str]:
    """Yield the view as options of bubblewrap."""
    made: set[Path] = set()
    places = shown()
    for place, real in places.items():
        for folder in [p for p in reversed(place.parents) if p != Path("/") and p not in made]:
            made.add(folder)
            yield from ("--perms", "0755", "--dir", str(folder))  # else only root could pass
        yield from ("--ro-bind", str(real), str(place))
    hidden = masked(private)
    for place in hidden:
        if not any(other in place.parents for other in hidden):
            yield from ("--tmpfs", str(place), "--remount-ro", str(place))
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/scratch")
    if Path("/tmp") not in made:
        yield from ("--symlink", "scratch", "/tmp")
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def opened(private: Iterable[Path]) -> list[landlock.Rule]:
    """Return what Landlock leaves open of the disk, the same as `mounts`; nothing without it."""
    if not landlock.version():
        return []
    hidden = set(masked(private).values())
    found = set(shown().values())
    inner = {p for p in found if any(p.is_relative_to(q) for q in found if q != p)}
    return [rule for p in sorted(found - inner) for rule in landlock.beneath(p, hidden)]


def files_in(private: Iterable[Path]) -> list[str]:
    """Return the private files that a sandbox tries to read before it takes a submission."""
    out: list[str] = []
    for path in private:
        inside = (p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        out += map(str, islice(inside, LISTED))
    return out


class NoCourse(MetaPathFinder):
    """A finder that hides ``fedlab_edu``, as bubblewrap's view does.

    Code that undoes it, or reads files by their paths, is stopped by Landlock, and without that by
    nothing.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "fedlab_edu":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide_course(package: Path = PACKAGE) -> None:
    """Hide ``fedlab_edu``, and what lies beside a working copy of the grader's package."""
    sys.meta_path.insert(0, NoCourse())
    beside = str(package.parent)
    sys.path[:] = [p for p in sys.path if p != beside or p.endswith("-packages")]
