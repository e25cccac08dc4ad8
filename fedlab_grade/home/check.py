"""Check files of a student's at home: a module, or the module in a notebook."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from fedlab_grade import run
from fedlab_grade.assignment import course_folder, exercises, only
from fedlab_grade.home import progress
from fedlab_grade.notebook import MISSING, module_apart
from fedlab_grade.options import Refusal
from fedlab_grade.process import Child
from fedlab_grade.report import render
from fedlab_grade.run import CheckBroken, Report
from fedlab_grade.textfile import Unusable, package_import

BROKEN = "the check itself failed, not your answer: please tell your instructor."
RESTART = (
    "What runs in the notebook and fails here may need a cell that is gone or runs later: choose "
    "Restart Kernel and Run All Cells in Jupyter, put right the first cell that fails, and save."
)
PACKAGE = (
    "imports fedlab_edu, which is not there where answers are graded: such a file cannot be graded."
)


@dataclass(frozen=True)
class Target:
    """The file to check, and its tests.

    Fields:
        question: as in ex01.2; "" for all.
        place: where progress is kept; None where the tests are not the course's.
        again: what to type to check again, with {question} for the question.
    """

    file: Path
    tests: Path
    question: str
    place: Path | None
    again: str

    def keep(self, report: Report) -> None:
        """Remember the marks, if it is an exercise of the course."""
        if not report.results and self.question:
            raise Refusal(f"there is no question {self.question}.")
        if not report.results:
            raise Refusal(f"{self.tests} holds no test with the marker q: tell your instructor.")
        if self.place is not None:
            progress.keep(self.place, self.tests.stem.removeprefix("test_"), report)


def target(question: str, file: Path | None = None) -> Target:
    """Return the file and tests that a student's words mean.

    Args:
        question: an exercise (ex01), one of its questions (ex01.2), an assignment's folder, or a
            file in such a folder, or whose name holds the exercise, as my_ex01.py.
        file: a module or a notebook; None stands for the file in the assignment's folder; of an
            exercise for my_ex01.py, else ex01_*.py, in the current folder, else for one of these
            in ``exercises/`` of a course around it.
    """
    if file is None and Path(question).is_file():
        file = Path(question)
        handed_out = _is_handed_out(file.resolve().parent)
        named = re.search(r"(?<![a-zA-Z])ex\d+", file.name)
        if not named and not handed_out:
            raise Refusal(f"name the exercise first: fedlab-edu check ex01 {question}.")
        question = named[0] if named and not handed_out else f"{file.parent}{os.sep}"
    of_one, place, again = "", None, "fedlab-edu check {question}"
    if Path(question).is_dir() and not re.fullmatch(r"ex\d+", question):
        where, again = Path(question), f"fedlab-edu check {question}"
        tests = only(where, "test_*.py", where.glob("test_*.py"))
        what = pattern = f"{tests.stem.removeprefix('test_')}*.py"
    else:
        course = course_folder(file)
        place, here = progress.place(course), Path.cwd()
        name, there = question.partition(".")[0], exercises(course)
        if not re.fullmatch(r"ex\d+(\.\d+)?", question) or name not in there:
            raise Refusal(f"there is no exercise {question!r}; there are: {', '.join(there)}.")
        places = [(here, f"my_{name}*.py"), (here, f"{name}_*.py")]
        if place == course:
            places += [(course / "exercises", wanted) for _, wanted in places]
        where, pattern = next((p for p in places if any(p[0].glob(p[1]))), places[-1])
        what = f"my_{name}.py or {name}_*.py"
        tests = there[name]
        of_one = question if "." in question else ""
    if file is None:
        try:
            found = only(where, what, where.glob(pattern))
        except Refusal as problem:
            raise Refusal(f"name your file: {problem}") from None
        file = Path(os.path.relpath(found))
    else:
        again += f' "{file}"' if " " in str(file) else f" {file}"
    if not file.is_file():
        raise Refusal(f"there is no file {str(file)!r}.")
    return Target(file, tests, of_one, place, again)


def _is_handed_out(folder: Path) -> bool:
    """Return whether a folder holds tests; those in a course's ``exercises/`` are the student's."""
    in_course = folder.name == "exercises" and (folder.parent / "tests" / "exercises").is_dir()
    return any(folder.glob("test_*.py")) and not in_course


def check(question: str, file: Path | None = None) -> int:
    """Print the report on a file; 0 for full marks, else 1."""
    chosen = target(question, file)
    try:
        report, notes = check_file(chosen.file, chosen.tests, chosen.question)
    except CheckBroken as broken:
        raise Refusal(f"{BROKEN}\n{broken}") from None
    chosen.keep(report)
    show(report, notes, chosen.again, chosen.place is not None)
    return 0 if report.complete else 1


def overview(check: bool = False) -> int:
    """Print the points so far in all exercises, and what comes next; 0 if all is done, else 1."""
    course = course_folder()
    known = [progress.exercise_of(tests) for tests in exercises(course).values()]
    if not known:
        raise Refusal(f"{course / 'tests' / 'exercises'} holds no exercises.")
    place, problems = progress.place(course), []
    for one in tqdm(known if check else [], unit="exercise", disable=None, leave=False):
        problems += _checked(one.name, place)
    state = progress.load(place)
    print(progress.render(known, state, place, width()))
    for problem in problems:
        print(problem)
    return int(any(progress.left(e, state) for e in known) or bool(problems))


def _checked(name: str, place: Path) -> list[str]:
    """Check an exercise again, in the file that was checked last; return why that cannot be."""
    last = progress.load(place).files.get(name)
    try:
        chosen = target(name, place / last if last else None)
        report, _ = check_file(chosen.file, chosen.tests)
        chosen.keep(report)
    except (Refusal, CheckBroken) as problem:
        return [f"{name} was not checked: {problem}"]
    if any(result.status == "not gradable" for result in report.results):
        return [f"{name} cannot be graded yet: see fedlab-edu check {name} {chosen.file}"]
    return []


def check_file(
    file: Path, tests: Path, question: str = "", start: Callable[[], Child] | None = None
) -> tuple[Report, tuple[str, ...]]:
    """Return the report on a file, and notes on how it was read."""
    stems = (file.stem, tests.stem.removeprefix("test_"))
    try:
        module = module_apart(file.name, file.read_bytes(), _asked_for(tests), stems)
    except Unusable as problem:
        raise Refusal(f"{file} {problem}.") from None
    with tempfile.TemporaryDirectory() as folder:
        path = file
        if module.of_notebook or module.notes:
            path = Path(folder) / f"{file.stem}.py"
            path.write_text(module.source, encoding="utf-8")
        (report,) = run.grade(tests, [path], question, start=start)
    notes = []
    if place := package_import(module.source):
        notes.append(f"{file} {PACKAGE}{place}")
    for note in module.notes:
        if not (question and note.startswith(MISSING)):  # it may be another question's
            notes.append(f"{file}, {note}.")
    lost = any(r.status == "not gradable" or "NameError" in r.message for r in report.results)
    if module.of_notebook and lost:
        notes.append(RESTART)
    return Report(file, report.results), tuple(notes)


def _asked_for(tests: Path) -> tuple[str, ...]:
    """Return all functions that tests name, each once: one may call another."""
    text = tests.read_text(encoding="utf-8")
    found = re.findall(r"""(?:\bfunction=|\bstudent\.call\(\s*)["'](\w+)""", text)
    return tuple(dict.fromkeys(found))


def show(report: Report, notes: Sequence[str], again: str, hints: bool) -> None:
    """Print a report, in colour on a terminal that wants it; see `render`."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(*notes, render(report, again, width(), colour, hints), sep="\n")


def width() -> int:
    """Return the width of the terminal in characters, at most 88."""
    return min(88, shutil.get_terminal_size((88, 24)).columns)
