"""The grader's part of the command ``fedlab-edu``: for students, and for instructors."""

import argparse
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fedlab_grade.options import Refusal

AT_HOME = ("check", "watch", "hint", "progress")


def add_to(commands: Any) -> None:
    """Add the grader's subcommands to an argument parser's; each sets ``run``."""

    def add(name: str, **about: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(name, **about)
        parser.set_defaults(run=partial(_run, name))
        return parser

    for add_some in (_add_at_home, _add_assignments, _add_grading):
        add_some(add)


def _run(command: str, **chosen: Any) -> int:
    """Import what the command needs, and run it."""
    if find_spec("pytest") is None:
        extra = "check" if command in AT_HOME else "grade"
        raise Refusal(f"{command} needs pytest: pip install 'fedlab_edu[{extra}]'")
    run: dict[str, Callable[..., int]]
    if command in AT_HOME:
        from fedlab_grade.home import check, commands

        run = {"check": check.check, "watch": commands.watch}
        run |= {"hint": commands.hint, "progress": commands.overview}
        chosen["course"] = course_folder if command in ("check", "watch") else course_folder(None)
        return run[command](**chosen)
    from fedlab_grade.classroom import commands as grading
    from fedlab_grade.classroom import report, trial

    if command in ("grade", "release", "try"):
        with suppress(Refusal):  # an assignment in a folder needs no course
            chosen["course"] = course_folder(None)
    run = {"grade": grading.grade, "release": grading.release, "doctor": grading.doctor}
    run |= {"report": report.report, "try": trial.try_out}
    return run[command](**chosen)


def _add_at_home(add: Callable[..., argparse.ArgumentParser]) -> None:
    checker = add("check", help="check your answers to an exercise")
    checker.add_argument(
        "question", help="an exercise, as in ex01, a question, as in ex01.2, a folder, or your file"
    )
    checker.add_argument(
        "file", type=Path, nargs="?", help="your file, if not here or in exercises/"
    )

    watcher = add("watch", help="check your answers whenever you save them")
    watcher.add_argument("question", help="as for check")
    watcher.add_argument("file", type=Path, nargs="?", help="as for check")

    tutor = add("hint", help="the next of three hints to a question")
    tutor.add_argument("question", help="as in ex01.2")
    tutor.add_argument("--level", type=int, help="this hint, from 1 to 3")

    looker = add("progress", help="your points so far, and what comes next")
    looker.add_argument("--check", action="store_true", help="check all exercises first")


def _add_assignments(add: Callable[..., argparse.ArgumentParser]) -> None:
    trier = add("try", help="try an assignment's tests on typical answers")
    trier.add_argument("assignment", help="as in ex04, or a folder")

    releaser = add("release", help="make what students get of an assignment")
    releaser.add_argument("assignment", help="as in ex04, or a folder")
    releaser.add_argument("--out", type=_folder, required=True, help="a folder, or a file *.zip")


def _add_grading(add: Callable[..., argparse.ArgumentParser]) -> None:
    grader = add("grade", help="grade a class")
    grader.add_argument("submissions", type=Path, help="a folder with what was handed in")
    grader.add_argument("--assignment", required=True, help="as in ex04, or a folder")
    grader.add_argument("--roster", type=Path, help="a CSV with everyone's name or id")
    grader.add_argument("--out", type=_folder, help="default: grades-ASSIGNMENT")
    grader.add_argument(
        "--again", action="store_true", help="grade everyone again, with the same seeds"
    )
    grader.add_argument(
        "--jobs", type=_count, default=2, help="submissions graded at a time; default: 2"
    )
    grader.add_argument(
        "--i-trust-these-submissions",
        action="store_true",
        dest="trust",
        help="run them even where nothing keeps them from your files",
    )

    reporter = add("report", help="tables, pages and exports of the grades")
    reporter.add_argument("folder", type=Path, help="where grade has put them")
    reporter.add_argument(
        "--show-hidden",
        nargs="?",
        type=_reached,
        const=True,
        default=False,
        metavar="DATE",
        help="students read what hidden tests found; with a date (2026-12-24), from that day on",
    )
    reporter.add_argument(
        "--export",
        action="append",
        default=[],
        dest="exports",
        choices=["gradescope", "nbgrader"],
        help="may be given several times",
    )
    reporter.add_argument("--canvas", type=Path, help="Canvas's gradebook, to fill in a column")
    reporter.add_argument("--moodle", type=Path, help="Moodle's worksheet, to fill in the grades")
    reporter.add_argument(
        "--column", default="", help="of Canvas's, if its name is not the assignment's"
    )

    add("doctor", help="how well this machine keeps submissions apart")


def _folder(text: str) -> Path:
    """Convert to a path, but reject an empty text, which would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return Path(text)


def _count(text: str) -> int:
    """Convert to a number of processes."""
    if not text.isdecimal() or not 0 < int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a number from 1 to 64")
    return int(text)


def _reached(text: str) -> bool:
    """Return whether it is this day or a later one."""
    try:
        return date.fromisoformat(text) <= date.today()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a date as 2026-12-24") from None


def course_folder(file: Path | None) -> Path:
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
