"""An assignment is a folder: a solution, its tests, and typical answers.

The course's own are found by name (ex04): ``solutions/ex04_*.py``, ``tests/exercises/test_ex04.py``
and ``tests/exercises/mutants/ex04.py``. Any other is found by the path of its folder, which holds
one ``test_*.py``, one solution (with the markers of `fedlab_grade.release`, or a plain file
that begins with the name of the tests, as hw_ref.py beside test_hw.py), and perhaps ``mutants.py``.
"""

import ast
import hashlib
import math
import os
import re
import tomllib
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from fedlab_grade.mutants import Mutant, read_mutants
from fedlab_grade.release import NOT_WRITTEN, is_marked, outline, release


class Refusal(Exception):
    """The reason why a command cannot be carried out, in one sentence."""


def extra(package: str) -> ModuleType:
    """Import and return a package of the extra ``grade``.

    Raises:
        Refusal: it is not installed; the message says how to install it.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise Refusal(f"{package} is missing: pip install 'fedlab_edu[grade]'.") from None


@dataclass(frozen=True)
class Limits:
    """What a submission may take; set in the table ``limits`` of ``assignment.toml``.

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
    """What lateness costs; set in the table ``late`` of ``assignment.toml``.

    Fields:
        percent: of the points, for each day that has begun, after the student's extension.
        most: percent that are taken off at most.
    """

    percent: float = 0.0
    most: float = 100.0

    def penalty(self, days: float) -> float:
        """Return the share of the points that is taken off for so many days."""
        return min(self.most, self.percent * math.ceil(max(0.0, days))) / 100


_T = TypeVar("_T", Limits, Late)


def read_options(path: Path, name: str, default: _T) -> _T:
    """Read a table of an assignment's options; what it leaves out is as by default.

    Raises:
        Refusal: it is not TOML, or a value is unknown or not a positive number.
    """
    if not path.is_file():
        return default
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get(name, {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"{path} cannot be read: {error}.") from None
    known = asdict(default)
    for key, value in table.items():
        if key not in known:
            raise Refusal(f"{path}: {name}.{key} is unknown; allowed: {', '.join(known)}.")
        kind = (int, float) if isinstance(known[key], float) else (int,)
        if type(value) not in kind or not 0 < value < float("inf"):
            what = "a positive number" if float in kind else "a positive whole number"
            raise Refusal(f"{path}: {name}.{key} is {value!r}; allowed: {what}.")
    return replace(default, **table)


@dataclass(frozen=True)
class Assignment:
    """The parts of one assignment.

    Fields:
        name: as in ex04; of a folder, what its tests are called after: hw for test_hw.py.
        tests: the file of its tests.
        source: the solution; None in a folder that was handed out.
        mutants: the module of typical answers, None where there is none.
        apart: files and folders that have no part in the tests, wherever they are, as submissions.
    """

    name: str
    tests: Path
    source: Path | None = None
    mutants: Path | None = None
    apart: tuple[Path, ...] = ()

    @property
    def stem(self) -> str:
        """The name, without its ending, of the file that students hand in."""
        if self.source is None:
            return self.name
        return re.sub(r"_(ref|reference|solution)$", "", self.source.stem)

    @cached_property
    def stub(self) -> str:
        """The file that students get; "" without a source.

        Raises:
            Refusal: it cannot be made.
        """
        if self.source is None:
            return ""
        try:
            text = self.source.read_text(encoding="utf-8")
            make = release if is_marked(text) else outline
            return make(text, self.source.name)
        except (ValueError, OSError) as error:
            raise Refusal(f"{error}.") from None

    @property
    def reference(self) -> str:
        """The text of the solution; "" where there is none."""
        return "" if self.source is None else self.source.read_text(encoding="utf-8")

    @property
    def options(self) -> Path:
        """The file of the assignment's options, which need not exist."""
        return self.tests.with_name("assignment.toml")

    @cached_property
    def limits(self) -> Limits:
        """What a submission may take.

        Raises:
            Refusal: they cannot be read.
        """
        return read_options(self.options, "limits", Limits())

    @cached_property
    def late(self) -> Late:
        """What being late costs.

        Raises:
            Refusal: it cannot be read.
        """
        return read_options(self.options, "late", Late())

    @cached_property
    def typical(self) -> list[Mutant]:
        """Typical answers, spliced into the solution.

        Raises:
            Refusal: they cannot be read.
        """
        if self.mutants is None or self.source is None:
            return []
        try:
            return read_mutants(self.mutants, self.reference)
        except (ValueError, OSError) as error:
            raise Refusal(f"{error}.") from None

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The names of what students define."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return tuple(n.name for n in ast.parse(self.stub).body if isinstance(n, kinds))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The tests, and those files beside them which they import."""
        return _with_imports(self.tests)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that decides a test; if it changes, everyone is graded again.

        These are the tests, conftest.py, the modules and packages beside them which they import,
        the limits, and the files and folders beside them which they name: in quotes, as a part of
        a path in quotes, or by a pattern (`_quoted`).
        """
        home = self.tests.parent
        conftest = home / "conftest.py"
        modules = {*self.files, *(_with_imports(conftest) if conftest.is_file() else ())}
        packages = {name.partition(".")[0] for path in modules for name in _imports(path)}
        named = [*packages, *(pattern for path in modules for pattern in _quoted(path))]
        apart = {path.resolve() for path in self.apart}
        found = set(modules)
        for path in home.iterdir():
            if path == self.source or path.stem == "mutants" or path.name.startswith("."):
                continue
            names = [path.name, *([path.stem] if path.suffix == ".py" else [])]
            if any(fnmatchcase(name, pattern) for name in names for pattern in named):
                found.update(_below(path, apart))
        total = hashlib.sha256(b"" if self.limits == Limits() else repr(self.limits).encode())
        for path in sorted(found):
            total.update(str(path.relative_to(home)).encode("utf-8", "surrogateescape") + b"\0")
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()


def find(name: str, course: Path | None) -> Assignment:
    """Return the assignment of this name, or in this folder.

    Args:
        course: the folder with ``tests/exercises/``; None where there is none.

    Raises:
        Refusal: there is none, or the folder does not hold what it should.
    """
    if os.sep in name or name in (".", ".."):
        return _in_folder(Path(name))
    tests = (course or Path.cwd()) / "tests" / "exercises"
    there = sorted(p.stem[5:] for p in tests.glob("test_ex*.py"))
    if name not in there:
        if Path(name).is_dir():
            return _in_folder(Path(name))
        known = f"there are: {', '.join(there)}"
        if not there:
            known = "run this in the project's folder, or name the folder of an assignment"
        raise Refusal(f"there is no assignment {name!r}; {known}.")
    sources = sorted((tests.parents[1] / "solutions").glob(f"{name}_*.py"))
    mutants = tests / "mutants" / f"{name}.py"
    return Assignment(
        name,
        tests / f"test_{name}.py",
        sources[0] if len(sources) == 1 else None,
        mutants if mutants.is_file() else None,
    )


def _in_folder(folder: Path) -> Assignment:
    if not folder.is_dir():
        raise Refusal(f"there is no folder {folder}.")
    modules = sorted(folder.glob("*.py"))
    tests = [p for p in modules if p.name.startswith("test_")]
    if len(tests) != 1:
        names = ", ".join(p.name for p in tests) or "none"
        raise Refusal(f"{folder} should hold one test_*.py, and holds {names}.")
    name = tests[0].stem.removeprefix("test_")
    helpers = Assignment(name, tests[0]).files
    mutants = folder / "mutants.py"
    others = [p for p in modules if p not in (*helpers, mutants)]
    texts = {p: p.read_text("utf-8", errors="replace") for p in others}
    found = [p for p, text in texts.items() if is_marked(text)]
    found = found or [
        p for p, text in texts.items() if p.name.startswith(name) and NOT_WRITTEN not in text
    ]
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise Refusal(f"{folder} should hold one solution, and holds {names}.")
    return Assignment(
        name, tests[0], found[0] if found else None, mutants if mutants.is_file() else None
    )


def _with_imports(module: Path) -> tuple[Path, ...]:
    """Return a module and those beside it which it imports, directly or not."""
    found, todo = [module], [module]
    while todo:
        for name in _imports(todo.pop()):
            path = module.parent / f"{name}.py"
            if path.is_file() and path not in found:
                found.append(path)
                todo.append(path)
    return tuple(found)


def _imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names


def _quoted(path: Path) -> set[str]:
    """Return patterns of the file names in a module: the parts of paths among its strings.

    What is filled in is a star, as in f"case_{i}.json"; an ending alone, as in ".json", is that of
    any file. A pattern without a letter or digit is left out, for it would fit all.
    """
    found: set[str] = set()
    nodes = list(ast.walk(_parsed(path)))
    filled = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    pieces = {part for node in filled for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "*" for p in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in pieces:
            text = re.sub(r"%[-\d.]*[a-z]|\{[^{}]*\}", "*", node.value)
        else:
            continue
        found.update(re.split(r"[/\\]", text))
    return {f"*{p}" if p.startswith(".") else p for p in found if re.search(r"\w", p)}


def _below(path: Path, apart: Set[Path]) -> Iterator[Path]:
    """Yield the files in a folder, or the file itself, without what is apart."""
    if path.resolve() in apart:
        return
    if path.is_dir():
        for inner in path.iterdir():
            if not (inner.is_symlink() and inner.is_dir()):  # it could lead back to here
                yield from _below(inner, apart)
    elif path.is_file() and path.suffix != ".pyc":
        yield path


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return ast.Module([], [])  # running it says what is wrong
