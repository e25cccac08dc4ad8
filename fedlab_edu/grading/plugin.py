"""The pytest plugin: the marker ``q``, the fixture ``student``, and what becomes of each test.

In the project's own test run, ``student`` is the solution. A `Recorder` puts a student's file in
its place and says, test by test, how it went.
"""

import faulthandler
import io
import json
import traceback
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest

from fedlab_edu.grading.checks import Failure
from fedlab_edu.grading.student import NotGradable, NotWritten, Raised, Student

PRINTED = 2000  # characters of a test's output that are kept

_RECORDER = pytest.StashKey["Recorder"]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "q(question, function, points, aspect, hint=''): one aspect of the answer to a question, "
        "as in q('ex01.2', 'minibatches', points=1, aspect='the last minibatch'); the hint is for "
        "answers whose mistake the test does not know.",
    )


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    """The functions of the file that is graded."""
    recorder = request.config.stash.get(_RECORDER, None)
    if recorder is not None:
        return recorder.student
    exercise = request.path.stem.removeprefix("test_")
    (solution,) = (request.path.parents[2] / "solutions").glob(f"{exercise}_*.py")
    return Student(solution)


class Recorder:
    """Grades one file in one pytest session, and reports each event as a line of JSON.

    The events: ``plan``, the tests to come; ``start``, the file is loaded (test "") or a test
    begins; ``result`` of a test; ``broken``, the tests themselves cannot be run.

    Args:
        question: as in ex01.2; "" for all questions.
        skip: names of tests that have had their turn.
        limit: seconds for a test, and for loading the file. Beyond it the process ends, with a
            traceback on the channel: nothing less ends every endless loop.
        channel: where the events go; a file with a descriptor.
    """

    student: Student

    def __init__(
        self, file: Path, question: str, skip: Collection[str], limit: float, channel: TextIO
    ) -> None:
        self.file, self.question, self.skip = file, question, skip
        self.limit, self.channel = limit, channel

    def send(self, event: str, **fields: object) -> None:
        self.channel.write(json.dumps({"event": event, "file": str(self.file), **fields}) + "\n")
        self.channel.flush()

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[_RECORDER] = self

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.send("broken", message=report.longreprtext)

    def pytest_internalerror(self, excrepr: object) -> None:
        self.send("broken", message=str(excrepr))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        tests = {item.name: item for item in items if item.get_closest_marker("q")}
        plan = [about(item) for item in tests.values()]
        plan = [p for p in plan if self.question in ("", p["question"])]
        self.send("plan", tests=plan)
        items[:] = [tests[str(p["test"])] for p in plan if p["test"] not in self.skip]
        try:
            with self._watched(""):
                self.student = Student(self.file)
        except NotGradable as error:
            for item in items:
                self.send("result", test=item.name, status="not gradable", message=str(error))
            items.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, bool]:
        """Run a test and report on it; whatever it raised ends here."""
        status, message, likely = "passed", "", ""
        with self._watched(pyfuncitem.name) as printed:
            try:
                yield
            except Failure as failure:
                kinds = {NotWritten: "not written", Raised: "raised"}
                status = kinds.get(type(failure), "failed")
                message, likely = str(failure), failure.likely
            except Exception:  # not the student's: `call` turns all of those into a Failure
                status, message = "error", traceback.format_exc(limit=-3)
        fields = {"message": message, "likely": likely, "printed": printed.text}
        self.send("result", test=pyfuncitem.name, status=status, **fields)
        return True

    @contextmanager
    def _watched(self, test: str) -> Iterator["Printed"]:
        """Student's code runs in here: against the clock, and with its output kept aside."""
        self.send("start", test=test)
        printed = Printed()
        faulthandler.dump_traceback_later(self.limit, exit=True, file=self.channel)
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                yield printed
        finally:
            faulthandler.cancel_dump_traceback_later()


class Printed(io.TextIOBase):
    """Keeps the beginning of what is printed, however much it is."""

    text = ""

    def write(self, text: str) -> int:
        if len(self.text) < PRINTED:
            self.text += text[: PRINTED - len(self.text)]
        return len(text)


def about(item: pytest.Item) -> dict[str, str | float]:
    """What the marker says of a test."""

    def fields(
        question: str, function: str, points: float, aspect: str, hint: str = ""
    ) -> dict[str, str | float]:
        return locals()

    marker = item.get_closest_marker("q")
    assert marker is not None
    return {"test": item.name, **fields(*marker.args, **marker.kwargs)}
