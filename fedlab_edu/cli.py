"""The command ``fedlab-edu``.

    fedlab-edu check ex01             check all questions of exercise 1
    fedlab-edu check ex01.2 FILE      check one question, in a file of yours
    fedlab-edu reproduce fedex-table1 --dataset digits --seeds 5
                                      run an experiment of a paper, ours beside the published

Exit status: 0 for full marks or a finished run, 1 for less, 2 where nothing could be done.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from fedlab_edu import __version__


class Refusal(Exception):
    """Why nothing can be done, in one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="fedlab-edu", description="Federated learning and its hyperparameters: exercises."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    checker = commands.add_parser("check", help="check your answers to an exercise")
    checker.add_argument("question", help="an exercise, as in ex01, or a question, as in ex01.2")
    checker.add_argument("file", type=Path, nargs="?", help="your file, if not in exercises/")
    again = commands.add_parser("reproduce", help="run an experiment of a paper again")
    again.add_argument("experiment", help="its name, as in fedex-table1; any other lists all")
    again.add_argument("--dataset", default="digits", help="default: digits")
    again.add_argument(
        "--scale", default="book", help="book (default), or paper: a GPU's, other data"
    )
    again.add_argument("--seeds", default="5", help="how many, or from-to: 10-19, 3-3; default: 5")
    again.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, ...")
    again.add_argument("--folder", type=Path, default=Path("results"), help="default: results")
    again.add_argument("--data", help="a folder that holds the data set, instead of the Hub")
    chosen = parser.parse_args(arguments)
    try:
        if "experiment" in chosen:
            return rerun(**vars(chosen))
        return check(chosen.question, chosen.file)
    except Refusal as refusal:
        print(f"fedlab-edu: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if "experiment" in chosen:
            print("fedlab-edu: stopped; the same command goes on from here.", file=sys.stderr)
        return 130


def check(question: str, file: Path | None) -> int:
    """Print the report on a file; 0 for full marks, else 1.

    Args:
        question: an exercise (ex01) or one of its questions (ex01.2).
        file: None stands for the exercise's file in ``exercises/``.

    Raises:
        Refusal: no such exercise, question or file, or pytest is missing.
    """
    folder = course_folder(file)
    exercise = question.partition(".")[0]
    tests = folder / "tests" / "exercises" / f"test_{exercise}.py"
    if not re.fullmatch(r"ex\d+(\.\d+)?", question) or not tests.is_file():
        there = ", ".join(sorted(p.stem[5:] for p in tests.parent.glob("test_ex*.py")))
        raise Refusal(f"there is no exercise {question!r}; there are: {there}.")
    command = "fedlab-edu check {question}"
    if file is not None:
        command += f' "{file}"' if " " in str(file) else f" {file}"
    else:
        file = _only(folder / "exercises", f"{exercise}_*.py")
    if not file.is_file():
        raise Refusal(f"there is no file {file}.")
    if find_spec("pytest") is None:
        raise Refusal("checking needs pytest: pip install -e '.[check]'")

    from fedlab_edu.grading.report import render
    from fedlab_edu.grading.run import CheckBroken, grade

    try:
        (report,) = grade(tests, [file], question if "." in question else "")
    except CheckBroken as broken:
        raise Refusal(
            f"the check itself failed, not your answer: please tell your instructor.\n{broken}"
        ) from None
    if not report.results:
        raise Refusal(f"exercise {exercise} has no question {question}.")
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = min(88, shutil.get_terminal_size((88, 24)).columns)
    print(_for_console(render(report, command, width, colour)))
    return 0 if report.complete else 1


def rerun(
    experiment: str,
    dataset: str,
    scale: str,
    seeds: str,
    device: str,
    folder: Path,
    data: str | None,
) -> int:
    """Run what is missing of an experiment, and print ours beside the paper's numbers; 0.

    Raises:
        Refusal: no such experiment, data set, scale, device or network, or a package is missing.
    """
    from fedlab_edu.papers.report import render
    from fedlab_edu.papers.reproduce import EXPERIMENTS, read_records, reproduce

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
    """The folder with ``exercises/`` and ``tests/exercises/``.

    It is looked for from the current folder upwards, then from the file's, then from this
    package's, which lies in it when it is installed in editable mode.

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
    raise Refusal("run this in the course folder, which holds exercises/ and tests/exercises/.")


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        names = ", ".join(p.name for p in found) or "none"
        raise Refusal(f"name your file: {folder} should hold one {pattern}, and holds {names}.")
    return Path(os.path.relpath(found[0]))


def _for_console(text: str) -> str:
    """The text in letters that the console has."""
    encoding = sys.stdout.encoding
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate({ord("✓"): "+", ord("✗"): "x"})
        return plain.encode(encoding, errors="replace").decode(encoding)
    return text


if __name__ == "__main__":
    sys.exit(main())
