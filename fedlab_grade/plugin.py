"""The pytest plugin: the marker ``q``, the fixture ``student``, and what becomes of each test.

In the project's own test run, ``student`` is the solution. A `Recorder` puts a student's file in
its place and says, test by test, how it went.
"""

import faulthandler
import io
import json
import time
import traceback
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pytest

from fedlab_grade.answer import Failure
from fedlab_grade.student import NotGradable, Student
from fedlab_grade.values import Values

PRINTED = 2000  # characters of a test's output that are kept

_RECORDER = pytest.StashKey["Recorder"]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "q(question, points, function='', aspect='', hidden=False, wall=None, "
        "invariant=False, minutes=0): one aspect "
        "of the answer to a question, as in q('ex01.2', points=1, function='minibatches', "
        "aspect='the last minibatch'). A hidden test is kept from students; wall is the limit of a "
        "call, at home of the test, in seconds; an invariant counts only once another test of the "
        "question has passed; minutes is what the question takes a student.",
    )


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student | Values:
    """Return the functions of the file that is graded.

    A test whose marker names the function that it is about gets a `Student`: each call gives an
    `Answer`, which knows its function and arguments, for the checks in `fedlab_grade.checks`.
    A test whose marker names none gets `Values`: each call gives the plain value, for ``assert``.
    """
    recorder = request.config.stash.get(_RECORDER, None)
    if recorder is not None:
        functions = recorder.student
    else:
        exercise = request.path.stem.removeprefix("test_")
        (solution,) = (request.path.parents[2] / "solutions").glob(f"{exercise}_*.py")
        functions = Student(solution)
    functions.reset()
    return functions if marker(request.node).function else Values(functions)


class Recorder:
    """A plugin that grades files in one pytest session, and reports each event as a line of JSON.

    The events: ``plan``, the tests to come; ``start``, a file is loaded (test "") or a test
    begins; ``result`` of a test; ``done``, with a file; ``broken``, the tests themselves cannot be
    run.

    Args:
        question: as in ex01.2; "" for all questions.
        skip: file -> names of tests that have had their turn; its files are graded in this order.
        limit: seconds for a test, and for loading a file. Beyond it the process ends, with a
            traceback on the channel: nothing less ends every endless loop.
        channel: where the events go; a file with a descriptor.
    """

    student: Student

    def __init__(
        self, question: str, skip: Mapping[str, Collection[str]], limit: float, channel: TextIO
    ) -> None:
        self.question, self.skip, self.limit, self.channel = question, skip, limit, channel
        self.file = ""

    def send(self, event: str, **fields: object) -> None:
        self.channel.write(json.dumps({"event": event, "file": self.file, **fields}) + "\n")
        self.channel.flush()

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[_RECORDER] = self

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.send("broken", message=report.longreprtext)

    def pytest_internalerror(self, excrepr: object) -> None:
        self.send("broken", message=str(excrepr))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one test of each name, of the question."""
        tests = {name(item): item for item in items if item.get_closest_marker("q")}
        items[:] = [t for t in tests.values() if self.question in ("", marker(t).question)]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for file in () if session.testsfailed else self.skip:
            self.file = file
            self.plan(session)
            self.grade([t for t in session.items if name(t) not in self.skip[file]])
            self.send("done")
        return True

    def plan(self, session: pytest.Session) -> None:
        self.send("plan", tests=[about(test) for test in session.items])

    def grade(self, tests: Sequence[pytest.Item]) -> None:
        """Load a file and run tests on it; what they have set up for it goes with the last."""
        try:
            with self._watched(""):
                self.student = Student(Path(self.file))
        except NotGradable as error:
            for test in tests:
                self.send("result", test=name(test), status="not gradable", message=str(error))
            return
        for test, following in zip_longest(tests, tests[1:]):
            test.ihook.pytest_runtest_protocol(item=test, nextitem=following)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, bool]:
        """Run a test and report on it; whatever it raised ends here."""
        outcome = {"status": "passed", "message": "", "likely": ""}
        pyfuncitem.user_properties.clear()  # of another file
        began = time.monotonic()
        with self._watched(name(pyfuncitem), marker(pyfuncitem).wall) as printed:
            try:
                yield
                outcome["message"] = "\n".join(str(text) for _, text in pyfuncitem.user_properties)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                outcome = outcome_of(error)
        seconds = round(time.monotonic() - began, 3)
        test, text = name(pyfuncitem), printed.text
        self.send("result", test=test, seconds=seconds, printed=text, **outcome)
        return True

    @contextmanager
    def _watched(self, test: str, limit: float | None = None) -> Iterator["Printed"]:
        """Run student's code within a time limit, and keep its output aside."""
        limit = limit or self.limit
        self.send("start", test=test, limit=limit)
        printed = Printed()
        faulthandler.dump_traceback_later(limit, exit=True, file=self.channel)
        try:
            stream = io.TextIOWrapper(printed, "utf-8", "backslashreplace", write_through=True)
            with redirect_stdout(stream), redirect_stderr(stream):
                yield printed
        finally:
            faulthandler.cancel_dump_traceback_later()


class Printed(io.BufferedIOBase):
    """A stand-in for a file that keeps the beginning, however much is printed."""

    name = "<output>"

    def __init__(self) -> None:
        self.bytes = b""

    @property
    def text(self) -> str:
        return self.bytes.decode("utf-8", "replace")[:PRINTED]

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1  # for who writes there directly, as faulthandler; it leads nowhere

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self.bytes += piece[: max(0, 4 * PRINTED - len(self.bytes))]
        return len(piece)


def name(item: pytest.Item) -> str:
    """Return the name of a test within its file."""
    return item.nodeid.partition("::")[2]


class Marker(NamedTuple):
    """The arguments of the marker ``q``."""

    question: str
    points: float
    function: str = ""
    aspect: str = ""
    hidden: bool = False
    wall: float | None = None
    invariant: bool = False
    minutes: float = 0


def marker(item: pytest.Item) -> Marker:
    found = item.get_closest_marker("q")
    return Marker(*found.args, **found.kwargs) if found else Marker("", 0)


def about(item: pytest.Item) -> dict[str, str | float]:
    """Return what is known of a test before it runs."""
    said = marker(item)._asdict()
    del said["wall"], said["minutes"]
    words = item.name.removeprefix("test_").replace("_", " ")
    return {**said, "test": name(item), "aspect": said["aspect"] or words}


def outcome_of(error: BaseException) -> dict[str, str]:
    """Return what an exception that ended a test says of the answer."""
    if isinstance(error, BaseExceptionGroup):  # hypothesis has found several
        failures = [e for e in error.exceptions if isinstance(e, AssertionError)]
        error = failures[0] if len(failures) == len(error.exceptions) else error
    if isinstance(error, AssertionError | pytest.fail.Exception):
        message = str(error) or "What this test checks does not hold."
        failure = error if isinstance(error, Failure) else Failure(message)
        return {"status": failure.status, "message": message, "likely": failure.likely}
    # It is not the student's: `call` turns all of those into a Failure.
    trace = "".join(traceback.format_exception(error, limit=-3))
    return {"status": "error", "message": trace, "likely": ""}
