"""Seconds and memory of grading a class, and whether a kill changes its table."""

import csv
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fedlab_grade.assignment import find

COURSE = Path(__file__).parents[1]
EXERCISE = "ex01_fedavg"
LEFT_OUT = '@drift(points=4, function="table_3"'  # it trains; the other tests are ten
FAILED = ("ex01.1", "ex01.2")  # by the wrong answers that are handed in
CLASSES = {"grading 300 submissions, 10 tests": 300}
TITLE = "grading a class"
OFTEN = 0.1  # seconds from one look at the grades to the next
MIB = 1 << 10  # in the kibibytes that /proc counts in


def graded(n: int, seed: int = 0) -> dict[str, Any]:
    """Grade n submissions by the command, in a process of its own; needs Linux or macOS.

    Memory is the peak of the command and its two examiners, which hold the tests; 0 where there is
    no /proc. "Killed at" is the number of grades on the disk then. Where this machine gives no
    isolation they are run without, because they are ours.

    Raises:
        RuntimeError: the command fails, or leaves a submission ungraded.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        assignment(folder / "ex01")
        submissions(folder / "in", n)
        begin, most, third = time.perf_counter(), 0, 0
        with command(folder, "whole") as process:
            while process.poll() is None:
                most = max(most, memory(process.pid))
                if not third and grades(folder / "whole") >= n // 3:
                    third = most
                time.sleep(OFTEN)
        seconds = time.perf_counter() - begin
        finished(process, folder, "whole")
        killed, resumed = with_a_kill(folder, n, seed)
        same = table(folder / "whole") == table(folder / "killed")
        record = json.loads(next((folder / "whole/grades").glob("*.json")).read_bytes())
        return {
            "in all (s)": seconds, "each (s)": seconds / n, "at 1/3 (MiB)": third / MIB,
            "at the end (MiB)": most / MIB, "killed at": killed, "then (s)": resumed,
            "same table": same, "kept apart by": record["back_end"],
        }  # fmt: skip


def with_a_kill(folder: Path, n: int, seed: int) -> tuple[int, float]:
    """Kill a run at a drawn point and resume it; return the grades at the kill, and all seconds.

    The run has the secret of the whole one, and so the same hidden inputs.
    """
    (folder / "killed").mkdir()
    shutil.copy(folder / "whole/secret", folder / "killed/secret")
    rng = random.Random(seed)
    stop, pause = rng.randrange(1, n - 5), rng.random()
    begin = time.perf_counter()
    with command(folder, "killed") as process:
        while process.poll() is None and grades(folder / "killed") < stop:
            time.sleep(OFTEN)
        time.sleep(pause)  # the kill is to fall anywhere, and not only behind a grade
        process.kill()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"it ended before it could be killed: {said(folder, 'killed')}")
    killed = grades(folder / "killed")
    with command(folder, "killed") as process:
        process.wait()
    finished(process, folder, "killed")
    return killed, time.perf_counter() - begin


def assignment(folder: Path) -> None:
    """Write exercise 1 without the test that trains, as an assignment of its own: ten tests."""
    folder.mkdir()
    found = find("ex01")
    for path in (COURSE / f"solutions/{EXERCISE}.py", *found.files):
        shutil.copy(path, folder)
    source = found.tests.read_text(encoding="utf-8")
    kept = [part for part in source.split("\n\n\n") if not part.startswith(LEFT_OUT)]
    (folder / "test_ex01.py").write_text("\n\n\n".join(kept), encoding="utf-8")


def submissions(folder: Path, n: int) -> None:
    """Write wrong and right answers to the exercise in turn, each with a text of its own."""
    folder.mkdir()
    typical = find("ex01").typical
    right = cycle(answer.text for answer in typical if not answer.question)
    wrong = cycle(answer.text for answer in typical if answer.question in FAILED)
    for i in range(n):
        text = next(right if i % 2 else wrong)
        (folder / f"student{i:03}.py").write_text(f"{text}\n# {i}\n", encoding="utf-8")


def command(folder: Path, out: str) -> subprocess.Popen[bytes]:
    """Start the command; its output goes to a file."""
    words = ["grade", "in", "--assignment", "./ex01", "--out", out, "--i-trust-these-submissions"]
    with (folder / f"{out}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "fedlab_edu", *words],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def finished(process: subprocess.Popen[bytes], folder: Path, out: str) -> None:
    if process.returncode:
        raise RuntimeError(f"grading ended with {process.returncode}: {said(folder, out)}")


def said(folder: Path, out: str) -> str:
    return (folder / f"{out}.log").read_text(encoding="utf-8")[-2000:]


def grades(out: Path) -> int:
    """Count the grades that are written."""
    return len(list((out / "grades").glob("*.json")))


def memory(pid: int) -> int:
    """Return the peak memory of a process and its children so far, in KiB; 0 once it has ended."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        texts = [Path(f"/proc/{p}/status").read_text() for p in (pid, *children)]
        return sum(int(text.partition("VmHWM:")[2].split()[0]) for text in texts)
    except (OSError, IndexError):
        return 0


def table(out: Path) -> list[list[str]]:
    """Return the table of the class, as the command ``report`` writes it."""
    command = [sys.executable, "-m", "fedlab_edu", "report", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    with (out / "report/class.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))
