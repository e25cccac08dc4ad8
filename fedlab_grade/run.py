"""Grade files at home: their code runs in a child process, which may hang or die."""

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedlab_grade.process import Child, ending
from fedlab_grade.textfile import stopped_at

LIMIT = 10.0  # seconds for one test; an honest answer takes a few hundredths of one
WITHHELD = "This holds, but counts only once another test of the question has passed."


@dataclass(frozen=True)
class Result:
    """The result of one test.

    Fields:
        status: passed; failed; raised, by an exception; not written, the untouched stub; not
            gradable, the file cannot be run; stopped, by the clock or by an end of the process;
            not run, after another test of the question was stopped; error, the test is at fault.
        message: what was expected and what came; likely: the mistake that explains it, if known.
        printed: the beginning of what the student's code printed.
        hidden: it is kept from students; invariant: it counts once another test of the question
            has passed; seconds: how long it took; code: the lines of the file that the message is
            about, on a student's page.
    """

    test: str
    question: str
    function: str
    points: float
    aspect: str
    invariant: bool = False
    status: str = "not run"
    message: str = ""
    likely: str = ""
    printed: str = ""
    hidden: bool = False
    seconds: float = 0.0
    code: str = ""

    @property
    def won(self) -> float | None:
        """The points won, None where the test itself failed."""
        return {"passed": self.points, "error": None}.get(self.status, 0.0)


def by_question(results: Sequence[Result]) -> dict[str, tuple[Result, ...]]:
    """Return question -> its results, in order."""
    names = dict.fromkeys(r.question for r in results)
    return {name: tuple(r for r in results if r.question == name) for name in names}


@dataclass(frozen=True)
class Report:
    """The results of one file, in the order of the tests."""

    file: Path
    results: tuple[Result, ...]

    @property
    def questions(self) -> dict[str, tuple[Result, ...]]:
        return by_question(self.results)

    @property
    def complete(self) -> bool:
        return all(r.status == "passed" for r in self.results)


def marks(results: Sequence[Result]) -> tuple[float, float]:
    """Return points won, and points to win, over the tests that were able to judge."""
    judged = [(r.won, r.points) for r in results if r.won is not None]
    return sum(won for won, _ in judged), sum(points for _, points in judged)


class CheckBroken(Exception):
    """The tests cannot be run: the fault is ours, not the student's."""


def grade(
    tests: Path,
    files: Sequence[Path],
    question: str = "",
    limit: float = LIMIT,
    start: Callable[[], Child] | None = None,
) -> list[Report]:
    """Return the reports on some students' files, each of which answers the same exercise.

    Args:
        tests: a file of tests marked with ``q``.
        question: as in ex01.2, the only one to grade; "" for all.
        limit: seconds for one test, and for loading a file.
        start: starts the process in which they run; None for `Child`.

    Raises:
        CheckBroken: the tests cannot be run.
    """
    todo = {str(file): Progress(file) for file in files}
    reports, start = [], start or Child
    while todo:
        skip = {name: progress.skip() for name, progress in todo.items()}
        with start() as child:
            child.tell({"tests": str(tests), "skip": skip, "question": question, "limit": limit})
            while event := child.event():
                if event["event"] == "broken":
                    raise CheckBroken(event["message"])
                child.limit = event.get("limit", child.limit)
                todo[event["file"]].take(event)
                if event["event"] == "done":
                    reports.append(todo.pop(event["file"]).report())
                if not todo:
                    return reports
            name, progress = next(iter(todo.items()))
            progress.stop(child)
        if len(progress.skip()) == len(progress.results):
            reports.append(todo.pop(name).report())
    return reports


class Progress:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.results: dict[str, Result] = {}
        self.running: str | None = None  # the test that has begun; "" while the file is loaded

    def take(self, event: dict) -> None:
        if event["event"] == "plan":
            for test in event["tests"]:
                self.results.setdefault(test["test"], Result(**test))
        elif event["event"] == "start":
            self.running = event["test"]
        elif event["event"] == "result":
            self.change(**{k: v for k, v in event.items() if k not in ("event", "file")})
            self.running = None

    def change(self, test: str, **news: object) -> None:
        self.results[test] = replace(self.results[test], **news)  # type: ignore[arg-type]

    def stop(self, child: Child) -> None:
        """Note that the process ended in the middle of this file, in which test, and why."""
        code, trace = child.end(), "".join(child.other)
        if self.running is None:
            raise CheckBroken(trace or f"the process ended with exit status {code}")
        test = self.results.get(self.running)
        who = (test.function or f"The answer to {test.question}") if test else "Loading the file"
        likely = ""
        if child.late or "Timeout" in trace:
            message = f"{who} was still running after {child.limit:g} seconds, and was stopped"
            likely = "a loop that never ends"
        else:
            message = f"{who} {ending(code)}"
        file = str(self.file)
        message += f".{stopped_at(trace, file, linecache.getlines(file))}"
        for name in [self.running] if self.running else self.results:
            status = "stopped" if self.running else "not gradable"
            self.change(name, status=status, message=message, likely=likely)
        self.running = None

    def skip(self) -> list[str]:
        """Return the tests that are done, and the rest of each question that was stopped."""
        results = self.results.values()
        stopped = {r.question for r in results if r.status == "stopped"}
        return [r.test for r in results if r.status != "not run" or r.question in stopped]

    def withhold(self) -> None:
        """Fail the invariants of each question of which no other test has passed."""
        passed = [r for r in self.results.values() if r.status == "passed"]
        questions = {r.question for r in passed if not r.invariant}
        for result in (r for r in passed if r.question not in questions):
            self.change(result.test, status="failed", message=WITHHELD)

    def report(self) -> Report:
        for test in self.results.keys() - self.skip():
            self.change(test, status="error", message="The check did not run.")
        self.withhold()
        return Report(self.file, tuple(self.results.values()))
