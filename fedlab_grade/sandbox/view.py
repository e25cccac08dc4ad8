"""What a sandbox shows of the disk: programs, Python and the grader, but not the course."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from fedlab_grade.sandbox import landlock

PACKAGE = Path(__file__).parents[1]
VIEW = "/grader"  # the folder of the package, in bubblewrap's view
SYSTEM = ("bin", "lib", "lib32", "lib64")  # beside /usr
SETTINGS = ("ld.so.cache", "localtime", "alternatives")  # of /etc, those that programs need


def mounts() -> Iterator[str]:
    """The view, as options of bubblewrap's."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in SYSTEM:
        place = Path("/", name)
        if place.is_symlink():
            yield from ("--symlink", os.readlink(place), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))
    for name in SETTINGS:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    prefixes = _prefixes()
    places = {place: place for place in prefixes if not place.is_relative_to("/usr")}
    places[Path(VIEW, PACKAGE.name)] = PACKAGE
    made: set[Path] = set()
    for at, place in places.items():
        for folder in [p for p in reversed(at.parents) if p != Path("/") and p not in made]:
            made.add(folder)
            yield from ("--perms", "0755", "--dir", str(folder))  # else only root could pass
        yield from ("--ro-bind", str(place), str(at))
    shown = [Path("/usr"), *prefixes]
    for folder in _copies():
        if any(folder.is_relative_to(place) for place in shown):
            yield from ("--tmpfs", str(folder), "--remount-ro", str(folder))
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/scratch")
    if Path("/tmp") not in made:
        yield from ("--symlink", "scratch", "/tmp")
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def _prefixes() -> list[Path]:
    return [Path(sys.prefix), Path(sys.base_prefix), Path(sys.base_exec_prefix)]


def _copies() -> list[Path]:
    """Where `fedlab_edu` lies: it may be installed, and be there as a working copy too."""
    places = {Path(entry, "fedlab_edu") for entry in (str(PACKAGE.parent), *sys.path)}
    return sorted(folder for folder in places if folder.is_dir())


def opened() -> list[landlock.Rule]:
    """What Landlock leaves open of the disk: what is in bubblewrap's view; empty without it."""
    if not landlock.version():
        return []
    places = [Path("/usr"), *(Path("/", name) for name in SYSTEM), *_prefixes()]
    places += [Path("/etc", name) for name in SETTINGS]
    hidden = {folder.resolve() for folder in _copies()}
    found = sorted({place.resolve() for place in places if place.exists()})
    inner = {p for p in found if any(p.is_relative_to(q) for q in found if q != p)}
    rules = [rule for p in found if p not in inner for rule in landlock.beneath(p, hidden)]
    return [*rules, (str(PACKAGE.resolve()), landlock.READ)]


def bare(package: Path = PACKAGE) -> str:
    """Return a statement of Python that hides the course where all of the disk is in view."""
    file = str(Path(__file__).with_name("bare.py"))
    return f"import runpy; runpy.run_path({file!r})['install']({str(package)!r})"
