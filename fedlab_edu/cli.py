"""The command ``fedlab-edu``, also ``python -m fedlab_edu``; alone it lists its commands.

Exit status: 0 for full marks or a finished run; 1 for fewer marks, for a submission left ungraded
by our fault, and for a doctor that finds no isolation; 2 if nothing could be done; 130 after
Ctrl-C.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fedlab_edu import __version__
from fedlab_edu.grading.assignment import Refusal

AT_HOME = ("check", "watch", "hint", "progress")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    command = chosen.pop("command")
    if command is None:
        parser.print_help()
        return 0
    try:
        status = _run(command, chosen)
        sys.stdout.flush()
        return status
    except Refusal as refusal:
        print(f"fedlab-edu: {refusal}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the pipe was closed, as in: fedlab-edu progress | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        if command == "reproduce":
            print("fedlab-edu: stopped; the same command goes on from here.", file=sys.stderr)
        return 130


def _run(command: str, chosen: dict[str, Any]) -> int:
    if command == "reproduce":
        return rerun(**chosen)
    if find_spec("pytest") is None:
        extra = "check" if command in AT_HOME else "grade"
        raise Refusal(f"{command} needs pytest: pip install 'fedlab_edu[{extra}]'")
    if command == "check":
        from fedlab_edu.grading.home.check import check

        return check(**chosen, course=course_folder)
    if command in AT_HOME:
        from fedlab_edu.grading.home import commands as study

        if command == "watch":
            return study.watch(**chosen, course=course_folder)
        tell = study.hint if command == "hint" else study.overview
        return tell(**chosen, course=course_folder(None))
    from fedlab_edu.grading.classroom import commands, report, trial

    if command in ("grade", "release", "try"):
        with suppress(Refusal):  # an assignment in a folder needs no course
            chosen["course"] = course_folder(None)
    run: dict[str, Callable[..., int]] = {
        "grade": commands.grade,
        "report": report.report,
        "release": commands.release,
        "try": trial.try_out,
        "doctor": commands.doctor,
    }
    return run[command](**chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fedlab-edu", description="Federated learning and its hyperparameters: exercises."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")

    checker = commands.add_parser("check", help="check your answers to an exercise")
    checker.add_argument(
        "question", help="an exercise, as in ex01, a question, as in ex01.2, or a folder"
    )
    checker.add_argument("file", type=Path, nargs="?", help="your file, if not in exercises/")

    watcher = commands.add_parser("watch", help="check your answers whenever you save them")
    watcher.add_argument("question", help="as for check")
    watcher.add_argument("file", type=Path, nargs="?", help="as for check")

    tutor = commands.add_parser("hint", help="the next of three hints to a question")
    tutor.add_argument("question", help="as in ex01.2")
    tutor.add_argument("--level", type=int, help="this hint, from 1 to 3")

    looker = commands.add_parser("progress", help="your points so far, and what comes next")
    looker.add_argument("--check", action="store_true", help="check all exercises first")

    again = commands.add_parser("reproduce", help="run an experiment of a paper again")
    again.add_argument("experiment", nargs="?", help="as in fedex-table1; without one, list all")
    again.add_argument("--dataset", default="digits", help="default: digits")
    again.add_argument(
        "--scale", default="book", help="book (default), or paper: a GPU's, other data"
    )
    again.add_argument("--seeds", default="5", help="how many, or from-to: 10-19, 3-3; default: 5")
    again.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, ...")
    again.add_argument("--folder", type=Path, default=Path("results"), help="default: results")
    again.add_argument("--data", help="a folder that holds the data set, instead of the Hub")

    trier = commands.add_parser("try", help="try an assignment's tests on typical answers")
    trier.add_argument("assignment", help="as in ex04, or a folder")

    releaser = commands.add_parser("release", help="make what students get of an assignment")
    releaser.add_argument("assignment", help="as in ex04, or a folder")
    releaser.add_argument("--out", type=_folder, required=True, help="a folder, or a file *.zip")

    grader = commands.add_parser("grade", help="grade a class")
    grader.add_argument("submissions", type=Path, help="a folder with what was handed in")
    grader.add_argument("--assignment", required=True, help="as in ex04, or a folder")
    grader.add_argument("--roster", type=Path, help="a CSV with everyone's name or id")
    grader.add_argument("--out", type=_folder, help="default: grades-ASSIGNMENT")
    grader.add_argument(
        "--again", action="store_true", help="also who is graded already; with the same seeds"
    )
    grader.add_argument(
        "--i-trust-these-submissions",
        action="store_true",
        dest="trust",
        help="run them even where nothing keeps them from your files",
    )

    reporter = commands.add_parser("report", help="tables, pages and exports of the grades")
    reporter.add_argument("folder", type=Path, help="where grade has put them")
    reporter.add_argument(
        "--show-hidden", action="store_true", help="students read what hidden tests found"
    )
    reporter.add_argument(
        "--export",
        action="append",
        default=[],
        dest="exports",
        choices=["gradescope", "classroom50", "junit", "nbgrader"],
        help="may be given several times",
    )
    reporter.add_argument(
        "--canvas", type=Path, dest="template", help="Canvas's gradebook, to fill in a column"
    )
    reporter.add_argument("--column", default="", help="which, if its name is not the assignment's")

    commands.add_parser("doctor", help="how well this machine keeps submissions apart")
    return parser


def _folder(text: str) -> Path:
    """Convert to a path, but reject an empty text, which would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return Path(text)


def rerun(
    experiment: str | None,
    dataset: str,
    scale: str,
    seeds: str,
    device: str,
    folder: Path,
    data: str | None,
) -> int:
    """Run what is missing of an experiment, print our numbers beside the paper's, and return 0.

    Without an experiment print the name and source of each.

    Raises:
        Refusal: no such experiment, data set, scale, device or network, or a package is missing.
    """
    from fedlab_edu.papers.report import render
    from fedlab_edu.papers.reproduce import EXPERIMENTS, read_records, reproduce

    if experiment is None:
        width = max(map(len, EXPERIMENTS))
        for one in EXPERIMENTS.values():
            print(f"{one.name:<{width}}  {one.source}")
        return 0
    if experiment not in EXPERIMENTS:
        there = ", ".join(EXPERIMENTS)
        raise Refusal(f"there is no experiment {experiment!r}; there are: {there}.")
    ends = re.fullmatch(r"(?:(\d+)-)?(\d+)", seeds)
    if not ends or (ends[1] and int(ends[1]) > int(ends[2])):
        raise Refusal(f"--seeds is {seeds!r}; allowed: a number, or from-to as in 10-19.")
    first, last = ends.groups()
    chosen = range(int(last)) if first is None else range(int(first), int(last) + 1)
    one = EXPERIMENTS[experiment]
    try:
        path = reproduce(one, dataset, scale, chosen, device, folder, data)
        records = read_records(path, one)
        print(f"\n{render(one, dataset, records, scale)}\n\nThe record: {path}")
    except (ValueError, OSError, ModuleNotFoundError) as error:
        raise Refusal(str(error)) from None
    return 0


def course_folder(file: Path | None) -> Path:
    """Find the folder with ``exercises/`` and ``tests/exercises/``.

    The search goes upwards from the current folder, then from the file's, then from this package's
    (for editable installs).

    Raises:
        Refusal: there is none.
    """
    starts = [
        Path.cwd(),
        *([file.resolve().parent] if file else []),
        Path(__file__).resolve().parent,
    ]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "exercises").is_dir() and (folder / "tests" / "exercises").is_dir():
                return folder
    raise Refusal(
        "run this in the project's folder, which holds exercises/ and tests/exercises/: the "
        "installed package does not contain them. In a folder that your instructor handed out, run "
        "fedlab-edu check . or fedlab-edu watch ."
    )
