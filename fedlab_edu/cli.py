"""The command ``fedlab-edu``, also ``python -m fedlab_edu``; alone it lists its commands.

Exit status: 0 for full marks or a finished run; 1 for fewer marks, for a submission left ungraded
by our fault, and for a doctor that finds no isolation; 2 if nothing could be done; 130 after
Ctrl-C.
"""

import argparse
import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedlab_edu import __version__
from fedlab_edu.validate import require
from fedlab_grade import cli as grader
from fedlab_grade.options import Refusal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # see `fedlab_grade.escape`
        sys.stdout.reconfigure(errors="console")
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    command = chosen.pop("command")
    if command is None:
        parser.print_help()
        return 0
    try:
        status = int(chosen.pop("run")(**chosen))
        sys.stdout.flush()
        return status
    except Refusal as refusal:
        print(f"fedlab-edu: {refusal}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the pipe was closed, as in: fedlab-edu progress | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        print(f"fedlab-edu: {file}{error.strerror or error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if command == "reproduce":
            print("fedlab-edu: stopped; the same command resumes from here.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fedlab-edu",
        description="Federated learning and its hyperparameters: exercises, grades, experiments.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    grader.add_to(commands)

    records = argparse.ArgumentParser(add_help=False)
    records.add_argument("--folder", type=Path, default=Path("results"), help="default: results")
    in_folder = [records]

    again = commands.add_parser(
        "reproduce", help="run an experiment of a paper again", parents=in_folder
    )
    again.add_argument("experiment", nargs="?", help="as in fedex-table1; without one, list all")
    again.add_argument("--dataset", help="default: the first of the experiment, mostly digits")
    again.add_argument(
        "--scale", default="book", help="book (default), middle or paper (for a GPU)"
    )
    again.add_argument("--seeds", default="5", help="how many, or from-to: 10-19, 3-3; default: 5")
    again.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, ...")
    again.add_argument("--data", help="a folder that holds the data set, instead of the Hub")
    again.add_argument("--workers", type=int, default=1, help="processes for the seeds; default: 1")
    again.add_argument("--plan", action="store_true", help="only say what it will cost")
    again.set_defaults(run=rerun)

    words = "judge the papers' claims by records of reproduce"
    commands.add_parser("verdicts", help=words, parents=in_folder).set_defaults(run=print_verdicts)
    words = "make a run of each record again, and compare"
    commands.add_parser("records", help=words, parents=in_folder).set_defaults(run=print_audit)
    words = "rounds, steps, bytes and energy of each search"
    price = commands.add_parser("costs", help=words, parents=in_folder)
    number: dict[str, Any] = {"type": float, "default": argparse.SUPPRESS}  # see `Device`
    price.add_argument("--watts", help="power of a device; default: 10", **number)
    price.add_argument("--seconds", help="of a local step; default: 0.001", **number)
    price.add_argument("--joules", help="to move a byte; default: 0.000216", **number)
    price.set_defaults(run=print_costs)

    flower = commands.add_parser("flower", help="write a Flower app: real clients, not simulated")
    new = flower.add_subparsers(metavar="COMMAND", required=True).add_parser(
        "new", help="write the app into a new folder, for flwr run"
    )
    new.add_argument("folder", type=Path)
    new.set_defaults(run=new_app)
    return parser


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors that the user can mend into a `Refusal`."""
    try:
        yield
    except BrokenPipeError:  # see `main`
        raise
    except (ValueError, OSError, ModuleNotFoundError) as error:
        raise Refusal(str(error)) from None


@_refusals()
def print_verdicts(folder: Path) -> int:
    """Print a verdict on each claim that has a record in the folder, and return 0."""
    from fedlab_edu.papers.verdicts import render_verdicts, verdicts

    allowed = "one with records of experiments in which a paper claims something, as fedex-table1"
    found = verdicts(folder)
    require(found, "folder", str(folder), allowed)
    print(render_verdicts(found))
    return 0


@_refusals()
def print_audit(folder: Path) -> int:
    """Print whether the code still gives each record in the folder; return 1 if one is stale."""
    from fedlab_edu.papers.audit import audit

    stale = list[bool]()
    for one in audit(folder):
        print(one, flush=True)
        stale.append(bool(one.stale))
    require(stale, "folder", str(folder), "one with records of reproduce")
    return int(any(stale))


@_refusals()
def print_costs(folder: Path, **given: float) -> int:
    """Print what each way of tuning costs on the digits, with errors from a record; return 0.

    Args:
        given: watts, seconds or joules, fields of a `Device`.
    """
    from fedlab_edu.papers.costs import Device, costs, render_costs

    device = Device(**given)
    print(render_costs(costs(folder, device), device))
    return 0


def new_app(folder: Path) -> int:
    """Write a Flower app into a new folder and return 0."""
    app = Path(__file__).parent / "flower" / "app"
    try:
        shutil.copytree(app, folder, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise Refusal(f"no app in {folder}: {error}") from None
    nodes = ["--federation-config", "num-supernodes=10"]  # Flower's default is 2
    command = shlex.join(["flwr", "run", str(folder), "--stream", *nodes])
    print(f"A Flower app is in {folder}. To simulate ten clients: {command}")
    return 0


@_refusals()
def rerun(
    experiment: str | None, dataset: str | None, scale: str, seeds: str, device: str, folder: Path,
    data: str | None, plan: bool = False, workers: int = 1,
) -> int:  # fmt: skip
    """Run what is missing of an experiment, print our numbers beside the paper's, and return 0.

    Without an experiment print the name and source of each; with a plan, what a run will cost.
    """
    from fedlab_edu.papers.plan import plan as estimate
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
    dataset = dataset or next(iter(one.settings.get(scale, {})), "digits")
    if plan:
        print("\n".join(estimate(one, dataset, scale, chosen, device, folder, data)))
        return 0
    path = reproduce(one, dataset, scale, chosen, device, folder, data, workers=workers)
    records = read_records(path, one)
    print(f"\n{render(one, dataset, records, scale)}\n\nThe record: {path}")
    return 0
