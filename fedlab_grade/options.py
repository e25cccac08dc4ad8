"""The options in an assignment's file ``assignment.toml``, and the error of all commands."""

import math
import tomllib
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeVar


class Refusal(Exception):
    """The reason why a command cannot be carried out, in one sentence."""


def extra(package: str) -> ModuleType:
    """Import and return a package of the extra ``grade``."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise Refusal(f"{package} is missing: pip install 'fedlab_edu[grade]'.") from None


@dataclass(frozen=True)
class Limits:
    """The limits of a submission; set in the table ``limits`` of ``assignment.toml``.

    Fields:
        call: seconds for one call, and for loading the file. A test's marker may set another limit
            for its calls (``wall``).
        calls: how many calls' worth of seconds all calls of one test may take.
        total: seconds for all tests of a submission.
        memory: megabytes of a process, beyond what PyTorch takes; all of its processes together
            may take half as much again.
        processes: how many, threads included.
        disk: megabytes of files.
        output: bytes of what is printed in a test that are kept.
        asked: how often a test's own callables may be called in one call.
    """

    call: float = 10.0
    calls: float = 4.0
    total: float = 120.0
    memory: int = 1024
    processes: int = 32
    disk: int = 64
    output: int = 64 << 10
    asked: int = 10_000


@dataclass(frozen=True)
class Late:
    """The cost of lateness; set in the table ``late`` of ``assignment.toml``.

    Fields:
        percent: of the points, for each day that has begun, after the student's extension.
        most: percent that are taken off at most.
    """

    percent: float = 0.0
    most: float = 100.0

    def penalty(self, days: float) -> float:
        """Return the share of the points that is taken off for so many days."""
        return min(100.0, self.most, self.percent * math.ceil(max(0.0, days))) / 100


_T = TypeVar("_T", Limits, Late)
TABLES = ("limits", "late")
MOST = 10**9  # of any option, in the unit of that option


def read_options(path: Path, name: str, default: _T) -> _T:
    """Read a table of an assignment's options; what it leaves out is as by default."""
    if not path.is_file():
        return default
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"{path} cannot be read: {error}.") from None
    for other in tables.keys() - TABLES:
        raise Refusal(f"{path}: [{other}] is unknown; allowed: {', '.join(TABLES)}.")
    table = tables.get(name, {})
    if not isinstance(table, dict):
        raise Refusal(f"{path}: {name} is {table!r}; allowed: a table, as in [{name}].")
    known = asdict(default)
    for key, value in table.items():
        if key not in known:
            raise Refusal(f"{path}: {name}.{key} is unknown; allowed: {', '.join(known)}.")
        kind = (int, float) if isinstance(known[key], float) else (int,)
        if type(value) not in kind or not 0 < value <= MOST:
            what = "a positive number" if float in kind else "a positive whole number"
            raise Refusal(f"{path}: {name}.{key} is {value!r}; allowed: {what} up to {MOST}.")
    return replace(default, **table)
