"""An assignment of an instructor's own, and a stand-in for the grader that needs no processes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fedlab_grade.run import CheckBroken, Report, Result

SOLUTION = '''\
"""Homework."""

import math


def double(x):
    """Twice x."""
    # The trick is to add.
    total = x + x
    return total


def _halved(x):
    return x / 2


def area(r):
    return math.pi * _halved(2 * r) ** 2
'''
TESTS = """\
import pytest

q = pytest.mark.q


@q("q1", 1, function="double", aspect="whole numbers")
def test_double(student):
    assert student.call("double", 2).value == 4


@q("q1", 2, function="double", aspect="negative numbers", hidden=True)
def test_double_hidden(student):
    assert student.call("double", -77).value == -154


@q("q2", 2.5, function="area", aspect="a circle")
def test_area(student):
    assert round(student.call("area", 1).value, 5) == 3.14159
"""
RIGHT = SOLUTION
WRONG = SOLUTION.replace("x + x", "x * x")  # right for 2, not for -77

PLAN = (
    Result("test_double", "q1", "double", 1, "whole numbers"),
    Result("test_double_hidden", "q1", "double", 2, "negative numbers", hidden=True),
    Result("test_area", "q2", "area", 2.5, "a circle"),
)


def assignment_folder(folder: Path) -> Path:
    """A folder as an instructor makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw_ref.py").write_text(SOLUTION)
    (folder / "test_hw.py").write_text(TESTS)
    return folder


class StandIn:
    """Runs what is handed in right here; for tests that know what is in it.

    Fields:
        plan: the tests, as they are before anyone has answered them.
        ahead: how many submissions it has in hand before it reports on the first.
        seen: the texts that it was given, in the order of their reports; files: their names.
        broken: texts on which it breaks, as a fault of ours; ends: after which it ends in silence.
        says: text -> test -> what its result is beside what comes out.
        stops: raises KeyboardInterrupt in place of the report of this number.
    """

    def __init__(self) -> None:
        self.plan = PLAN
        self.ahead = 1
        self.seen: list[str] = []
        self.files: list[str] = []
        self.broken: set[str] = set()
        self.ends: set[str] = set()
        self.says: dict[str, dict[str, dict[str, object]]] = {}
        self.stops: int | None = None
        self.calls: dict[str, Callable[[dict], bool]] = {
            "test_double": lambda f: f["double"](2) == 4,
            "test_double_hidden": lambda f: f["double"](-77) == -154,
            "test_area": lambda f: round(f["area"](1), 5) == 3.14159,
        }

    def __call__(self, tests: Path, submissions: Iterable[tuple[str, str]]) -> Iterator[Report]:
        hand: deque[tuple[str, str]] = deque()
        source = iter(submissions)
        while True:
            while len(hand) < self.ahead and (one := next(source, None)):
                hand.append(one)
            if not hand:
                return
            name, text = hand.popleft()
            if text in self.ends:
                return
            if text in self.broken:
                raise CheckBroken("the disk is full.")
            if self.stops is not None and len(self.seen) == self.stops:
                raise KeyboardInterrupt
            self.seen.append(text)
            self.files.append(name)
            yield Report(Path(name), tuple(self._result(plan, text) for plan in self.plan))

    def _result(self, plan: Result, text: str) -> Result:
        says = self.says.get(text, {}).get(plan.test, {})
        return replace(plan, **(self._outcome(plan, text) | says))

    def _outcome(self, plan: Result, text: str) -> dict[str, object]:
        functions: dict = {}
        try:
            exec(compile(text, "hw.py", "exec"), functions)
        except SyntaxError as error:
            return {"status": "not gradable", "message": f"Python cannot read: {error}"}
        if "ours = True" in text and plan.test == "test_area":
            return {"status": "error", "message": "1 / 0"}
        if plan.function not in functions:
            return {"status": "failed", "message": f"{plan.function} is missing"}
        if self.calls[plan.test](functions):
            return {"status": "passed", "seconds": 0.25}
        told = f"{plan.function} is wrong: <b>-154</b>"
        return {"status": "failed", "message": told, "seconds": 0.25}
