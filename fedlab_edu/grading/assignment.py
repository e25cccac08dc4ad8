"""An assignment is a folder: a solution, its tests, and typical answers.

The course's own are found by name (ex04): ``solutions/ex04_*.py``, ``tests/exercises/test_ex04.py``
and ``tests/exercises/mutants/ex04``. Any other is found by the path of its folder, which holds one
``test_*.py``, one solution (with the markers of `fedlab_edu.grading.release`, or a plain file that
begins with the name of the tests, as hw_ref.py beside test_hw.py), and perhaps ``mutants/``.
"""

import ast
import hashlib
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fedlab_edu.grading.release import NOT_WRITTEN, is_marked, outline, release


class Refusal(Exception):
    """Why nothing can be done, in one sentence."""


@dataclass(frozen=True)
class Assignment:
    """What there is of one assignment.

    Fields:
        name: as in ex04; of a folder, what its tests are called after: hw for test_hw.py.
        tests: the file of its tests.
        source: the solution; None in a folder that was handed out.
        mutants: the folder of typical answers, None where there is none.
    """

    name: str
    tests: Path
    source: Path | None = None
    mutants: Path | None = None

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

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The names of what students define."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return tuple(n.name for n in ast.parse(self.stub).body if isinstance(n, kinds))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The tests, and those files beside them which they import."""
        found, todo = [self.tests], [self.tests]
        while todo:
            for name in _imports(todo.pop()):
                path = self.tests.parent / f"{name}.py"
                if path.is_file() and path not in found:
                    found.append(path)
                    todo.append(path)
        return tuple(found)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that can have a part in a test: a submission is graded again after it.

        These are the files beside the tests, data and conftest.py among them, and those in the
        folders beside them which they name. The solution, mutants and other tests are left out.
        """
        home = self.tests.parent
        beside = [p for p in home.iterdir() if not p.name.startswith(".") and p != self.source]
        found = [p for p in beside if p.is_file() and not p.match("test_*.py")]
        text = "".join(p.read_text("utf-8", "replace") for p in found if p.suffix == ".py")
        text += self.tests.read_text("utf-8", "replace")
        for folder in (p for p in beside if p.is_dir() and p.name in text):
            if folder.name != "mutants":
                found += [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"]
        total = hashlib.sha256()
        for path in sorted({*found, *self.files}):
            total.update(str(path.relative_to(home)).encode("utf-8", "surrogateescape") + b"\0")
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()


def find(name: str, course: Path | None) -> Assignment:
    """The assignment of this name, or in this folder.

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
        known = (
            f"; there are: {', '.join(there)}" if there else ", and no course folder around here"
        )
        raise Refusal(f"there is no assignment {name!r}{known}.")
    sources = sorted((tests.parents[1] / "solutions").glob(f"{name}_*.py"))
    mutants = tests / "mutants" / name
    return Assignment(
        name,
        tests / f"test_{name}.py",
        sources[0] if len(sources) == 1 else None,
        mutants if mutants.is_dir() else None,
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
    texts = {p: p.read_text("utf-8", errors="replace") for p in modules if p not in helpers}
    found = [p for p, text in texts.items() if is_marked(text)]
    found = found or [
        p for p, text in texts.items() if p.name.startswith(name) and NOT_WRITTEN not in text
    ]
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise Refusal(f"{folder} should hold one solution, and holds {names}.")
    mutants = folder / "mutants"
    return Assignment(
        name, tests[0], found[0] if found else None, mutants if mutants.is_dir() else None
    )


def _imports(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []  # running them says what is wrong
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names
