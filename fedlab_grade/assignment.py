"""An assignment is a folder: a solution, its tests, and typical answers.

The course's own are found by name (ex04): ``solutions/ex04_*.py``, ``tests/exercises/test_ex04.py``
and ``tests/exercises/mutants/ex04.py``. Any other is found by the path of its folder, which holds
one ``test_*.py``, one solution (with the markers of `fedlab_grade.release`, or a plain file
that begins with the name of the tests, as hw_ref.py beside test_hw.py), and perhaps ``mutants.py``.
"""

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from modulefinder import ModuleFinder
from pathlib import Path

from fedlab_grade.mutants import Mutant, read_mutants
from fedlab_grade.options import Late, Limits, Refusal, read_options
from fedlab_grade.release import NOT_WRITTEN, is_marked, outline, release
from fedlab_grade.textfile import Unusable, text_of


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
        """The file that students get; "" without a source."""
        if self.source is None:
            return ""
        make = release if is_marked(self.reference) else outline
        return make(self.reference, self.source.name)

    @property
    def reference(self) -> str:
        """The text of the solution; "" where there is none."""
        return "" if self.source is None else own_text(self.source)

    @property
    def options(self) -> Path:
        """The file of the assignment's options, which need not exist."""
        return self.tests.with_name("assignment.toml")

    @cached_property
    def limits(self) -> Limits:
        return read_options(self.options, "limits", Limits())

    @cached_property
    def late(self) -> Late:
        return read_options(self.options, "late", Late())

    @cached_property
    def typical(self) -> list[Mutant]:
        """Typical answers, spliced into the solution."""
        if self.mutants is None or self.source is None:
            return []
        return read_mutants(self.mutants, self.reference)

    @cached_property
    def functions(self) -> tuple[str, ...]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return tuple(n.name for n in ast.parse(self.stub).body if isinstance(n, kinds))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The tests, and those files beside them which they import, directly or not."""
        home = self.tests.parent.absolute()  # as the paths that are found
        finder = ModuleFinder([str(home)])
        with suppress(SyntaxError, ValueError):  # running it says what is wrong
            finder.run_script(str(self.tests))
        files = [getattr(found, "__file__", None) for found in finder.modules.values()]
        found = {Path(file) for file in files if file} - {home / self.tests.name}
        beside = sorted(p.name for p in found if p.parent == home)
        return (self.tests, *map(self.tests.with_name, beside))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the limits and all files beside the tests, which decides on grading again.

        The solution, typical answers, hidden files and what is `apart` do not count.
        """
        home, apart = self.tests.parent, {path.resolve() for path in self.apart}
        total = hashlib.sha256(b"" if self.limits == Limits() else repr(self.limits).encode())
        for folder, folders, files in os.walk(home):
            place = Path(folder)
            kept = (f for f in folders if f != "__pycache__" and not _is_left_out(place / f, apart))
            folders[:] = sorted(kept)
            for path in sorted(place / name for name in files):
                other = path in (self.source, self.options) or path.suffix == ".pyc"
                if not other and path.is_file() and not _is_left_out(path, apart):
                    total.update(os.fsencode(path.relative_to(home)) + b"\0")
                    with path.open("rb") as file:
                        total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()


def own_text(path: Path) -> str:
    """Return the text of a file of the instructor's."""
    try:
        return text_of(path.read_bytes())
    except Unusable as problem:
        raise Refusal(f"{path} {problem}.") from None


def course_folder(file: Path | None = None) -> Path:
    """Find the folder with ``exercises/`` and ``tests/exercises/``.

    The search goes upwards from the current folder, then from the file's, then from this package's
    (for editable installs).
    """
    beside = [file.resolve().parent] if file else []
    for start in (Path.cwd(), *beside, Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if (folder / "exercises").is_dir() and (folder / "tests" / "exercises").is_dir():
                return folder
    raise Refusal(
        "run this in the project's folder, which holds exercises/ and tests/exercises/: the "
        "installed package does not contain them. In a folder that your instructor handed out, run "
        "fedlab-edu check . or fedlab-edu watch ."
    )


def exercises(course: Path) -> dict[str, Path]:
    """Return name -> tests of each exercise of a course."""
    tests = (course / "tests" / "exercises").glob("test_ex*.py")
    return {path.stem.removeprefix("test_"): path for path in sorted(tests)}


def find(name: str) -> Assignment:
    """Return the assignment of this name, or in this folder."""
    if os.sep in name or name in (".", ".."):
        return _in_folder(Path(name))
    there: dict[str, Path] = {}
    with suppress(Refusal):  # an assignment in a folder needs no course
        there = exercises(course_folder())
    if name not in there:
        if Path(name).is_dir():
            return _in_folder(Path(name))
        known = f"there are: {', '.join(there)}"
        if not there:
            known = "run this in the project's folder, or name the folder of an assignment"
        raise Refusal(f"there is no assignment {name!r}; {known}.")
    tests = there[name]
    sources = sorted((tests.parents[2] / "solutions").glob(f"{name}_*.py"))
    mutants = tests.parent / "mutants" / f"{name}.py"
    source = sources[0] if len(sources) == 1 else None
    return Assignment(name, tests, source, mutants if mutants.is_file() else None)


def _in_folder(folder: Path) -> Assignment:
    if not folder.is_dir():
        raise Refusal(f"there is no folder {folder}.")
    tests = only(folder, "test_*.py", folder.glob("test_*.py"))
    name, mutants = tests.stem.removeprefix("test_"), folder / "mutants.py"
    others = {*folder.glob("*.py")} - {*Assignment(name, tests).files, mutants}
    texts = {p: p.read_text("utf-8", errors="replace") for p in others}
    found = [p for p, text in texts.items() if is_marked(text)] or [
        p for p, text in texts.items() if p.name.startswith(name) and NOT_WRITTEN not in text
    ]
    source = only(folder, "solution", found) if found else None
    return Assignment(name, tests, source, mutants if mutants.is_file() else None)


def only(folder: Path, what: str, found: Iterable[Path]) -> Path:
    """Return the only one of some files of a folder."""
    files = sorted(found)
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise Refusal(f"{folder} should hold one {what}, and holds {names}.")
    return files[0]


def _is_left_out(path: Path, apart: Set[Path]) -> bool:
    hidden = path.name.startswith(".") or path.stem == "mutants"
    return hidden or path.resolve() in apart
