"""The grader's part of the command ``fedlab-edu``: for students, and for instructors."""

import argparse
from datetime import date
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fedlab_grade import escape  # noqa: F401, because standard output needs its letters
from fedlab_grade.options import Refusal

# Subcommand -> the module and function that run it, and its help.
AT_HOME = {
    "check": ("home.check.check", "check your answers to an exercise"),
    "watch": ("home.watch.watch", "check your answers whenever you save them"),
    "hint": ("home.hints.hint", "the next of three hints to a question"),
    "progress": ("home.check.overview", "your points so far, and what comes next"),
}
IN_CLASS = {
    "try": ("classroom.trial.try_out", "try an assignment's tests on typical answers"),
    "release": ("classroom.commands.release", "make what students get of an assignment"),
    "grade": ("classroom.commands.grade", "grade a class"),
    "report": ("classroom.commands.report", "tables, pages and exports of the grades"),
    "doctor": ("classroom.commands.doctor", "how well this machine keeps submissions apart"),
}


def add_to(commands: Any) -> None:
    """Add the grader's subcommands to an argument parser's; each sets ``run``."""
    add: dict[str, Any] = {}
    for name, (place, words) in (AT_HOME | IN_CLASS).items():
        parser: argparse.ArgumentParser = commands.add_parser(name, help=words)
        parser.set_defaults(run=partial(_run, name, place))
        add[name] = parser.add_argument
    _add_at_home(add)
    _add_in_class(add)


def _run(command: str, place: str, **chosen: Any) -> int:
    """Import what the command needs, and run it."""
    if find_spec("pytest") is None:
        extra = "check" if command in AT_HOME else "grade"
        raise Refusal(f"{command} needs pytest: pip install 'fedlab_edu[{extra}]'")
    module, _, function = place.rpartition(".")
    return int(getattr(import_module(f"fedlab_grade.{module}"), function)(**chosen))


def _add_at_home(add: dict[str, Any]) -> None:
    what = "an exercise, as in ex01, a question, as in ex01.2, a folder, or your file"
    where = "your file, if not my_ex01.py or ex01_*.py, here or in exercises/"
    for name, words in (("check", (what, where)), ("watch", ("as for check", "as for check"))):
        add[name]("question", help=words[0])
        add[name]("file", type=Path, nargs="?", help=words[1])
    add["hint"]("question", help="as in ex01.2")
    add["hint"]("--level", type=int, help="this hint, from 1 to 3")
    add["progress"]("--check", action="store_true", help="check all exercises first")


def _add_in_class(add: dict[str, Any]) -> None:
    for name in ("try", "release"):
        add[name]("assignment", help="as in ex04, or a folder")
    add["release"]("--out", type=_folder, required=True, help="a folder, or a file *.zip")

    grade, report = add["grade"], add["report"]
    grade("submissions", type=Path, help="a folder with what was handed in")
    grade("--assignment", required=True, help="as in ex04, or a folder")
    grade("--roster", type=Path, help="a CSV with everyone's name or id")
    grade("--out", type=_folder, help="default: grades-ASSIGNMENT")
    grade("--again", action="store_true", help="grade everyone again, with the same seeds")
    grade("--jobs", type=_count, default=2, help="submissions graded at a time; default: 2")
    trust = "run them even where nothing keeps them from your files"
    grade("--i-trust-these-submissions", action="store_true", dest="trust", help=trust)

    report("folder", type=Path, help="where grade has put them")
    hidden = "students read what hidden tests found; with a date (2026-12-24), from that day on"
    how: dict[str, Any] = {"nargs": "?", "type": _reached, "const": True, "default": False}
    report("--show-hidden", metavar="DATE", help=hidden, **how)
    how = {"action": "append", "default": [], "choices": ["gradescope", "nbgrader"]}
    report("--export", dest="exports", help="may be given several times", **how)
    report("--canvas", type=Path, help="Canvas's gradebook, to fill in a column")
    report("--moodle", type=Path, help="Moodle's worksheet, to fill in the grades")
    report("--column", default="", help="of Canvas's, if its name is not the assignment's")


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
