"""Run the tests on one submission after the other, in the process that holds the tests.

    python -m fedlab_grade.sandbox.examiner < JOB_AND_SUBMISSIONS

It is trusted, and no student's code runs in it: that is in workers of a sandbox, from which come
answers only. The job comes as the first line, not on the command line, which all users can read and
which holds no more than 128 KB. The tests are collected once. Each then runs in a fork of this
process, with a worker of its own: none sees what an earlier one has drawn or left behind, all
students get the same inputs, and this process stays as it is. Its events are those of
`plugin.Recorder`.
"""

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TextIO

import pytest
from _pytest.runner import runtestprotocol

from fedlab_grade import callables, child, plugin
from fedlab_grade.limited import in_fork, limit
from fedlab_grade.options import Limits
from fedlab_grade.sandbox.processes import Worker, Zygote
from fedlab_grade.sandbox.remote import Remote
from fedlab_grade.sandbox.view import NoSandbox
from fedlab_grade.sandbox.zygote import ready_to_fork
from fedlab_grade.student import NotGradable, seed_all

SPARE = 2 << 30  # bytes that a test may take
SLOW = ("matplotlib.pyplot", "pandas", "scipy.stats", "sklearn.datasets")
LIBRARIES = {module.partition(".")[0]: module for module in SLOW}
# Not \s, which would take the square of the number of blank lines, in each test.
IMPORTED = re.compile(r"^[ \t]*(?:import|from)[ \t]+(\w+)", re.MULTILINE)
STUMBLED = "The check could not go on with what your code returned: "


class Examiner(plugin.Recorder):
    """A recorder of submissions, each of which comes as a line of JSON: [file, text]."""

    def __init__(self, job: dict[str, Any], channel: TextIO) -> None:
        super().__init__("", {}, 0.0, channel)
        self.limits = Limits(**job["limits"])
        self.way, self.secret, self.reference = job["way"], job["secret"], job["reference"]
        self._private = [Path(path) for path in job["private"]]
        self._sound: dict[str, bool] = {}  # test -> whether the reference passes it
        self._zygote: Zygote | None = None
        # Outside of bubblewrap they would write to root's disk.
        self._to_load = LIBRARIES.copy() if self.way == "bwrap" else {}
        self._pipe = -1  # in the fork for a test: where its result goes

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Examine submissions until there are no more."""
        self.plan(session)
        ready_to_fork()
        for line in sys.stdin:
            file, text = json.loads(line)
            self.file = file
            self._examine(session.items, file, text)
            self.send("done")
        if self._zygote:
            self._zygote.close()
        return True

    def _examine(self, items: list[pytest.Item], file: str, text: str) -> None:
        deadline = time.monotonic() + self.limits.total
        stopped: set[str] = set()
        for item in items:
            question = plugin.marker(item).question
            if question in stopped:
                continue
            if time.monotonic() > deadline:
                message = f"All {self.limits.total:g} seconds for this file were used up before."
                result = {"status": "stopped", "message": message}
            else:
                result = self._judge(item, file, text, deadline)
            if result["status"] == "not gradable" and item is items[0]:
                for other in items:
                    self.send("result", test=plugin.name(other), **result)
                return
            if result["status"] == "stopped":
                stopped.add(question)
            self.send("result", test=plugin.name(item), **result)

    def _judge(self, item: pytest.Item, file: str, text: str, deadline: float) -> dict[str, Any]:
        """Return the result of one test; it is no fault of ours if the reference passes."""
        result = self._run(item, file, text, deadline)
        if not result.pop("heard") or result["status"] != "error" or not self.reference:
            return result
        test = plugin.name(item)
        if test not in self._sound:
            end = time.monotonic() + self.limits.total
            sound = self._run(item, "reference.py", self.reference, end)
            self._sound[test] = sound["status"] == "passed"
        if self._sound[test]:
            last = result["message"].strip().splitlines()[-1]
            result |= {"status": "failed", "message": f"{STUMBLED}{last}"}
        return result

    def _run(self, item: pytest.Item, file: str, text: str, deadline: float) -> dict[str, Any]:
        """Return the result of one test, run in a fork of this process.

        It tells, too, whether the test has heard anything from the file.
        """
        call = float(plugin.marker(item).wall or self.limits.call)
        worker = self.worker(text)
        patience = self.limits.calls * call
        end = time.monotonic() + patience
        allowed = f"the {patience:g} seconds for this test" if end < deadline else ""
        end = min(deadline, end)

        def act(pipe: int) -> None:
            self._pipe = pipe
            limit(SPARE)
            seed_all(int(hashlib.sha256(f"{self.secret} {item.name}".encode()).hexdigest()[:8], 16))
            try:
                limits = replace(self.limits, call=call)
                heard = partial(os.write, pipe, b"\n")
                self.student = Remote(file, text, worker, limits, end, allowed, heard)
            except NotGradable as error:
                self.tell(status="not gradable", message=str(error))
            reports = runtestprotocol(item, log=False, nextitem=None)
            trouble = "\n".join(r.longreprtext for r in reports if not r.passed)
            self.tell(status="error", message=trouble or "The test did not run.")

        try:
            told, _, _ = in_fork(act, end + 1 - time.monotonic())
        finally:
            worker.let_go()
        heard = {"heard": told.startswith(b"\n")}
        with suppress(ValueError):
            return json.loads(told) | heard
        late = "it took too long" if time.monotonic() > end else "its process ended"
        message = f"The check of this test gave no result:\n{late}."
        return {"status": "error", "message": message} | heard

    def worker(self, text: str = "") -> Worker:
        """Return a fresh worker for a file; restart the sandbox once if it has ended.

        Libraries that the file imports are loaded in the sandbox itself, once, if in time.
        """
        names = IMPORTED.findall(text) if self._to_load else ()
        libraries = [self._to_load.pop(name) for name in names if name in self._to_load]
        for _ in range(2):
            if self._zygote is None:
                self._zygote = Zygote(self.way, self.limits, self._private)
            try:
                return self._zygote.worker(libraries)
            except NoSandbox:
                self._zygote, libraries = None, []
        raise NoSandbox("the sandbox ends at once")

    # --- in the fork --------------------------------------------------------------------------

    def tell(self, **result: object) -> NoReturn:
        """Write the result to the pipe, and end this process."""
        os.write(self._pipe, json.dumps(result).encode())
        os._exit(0)

    def send(self, event: str, **fields: object) -> None:
        """Send an event; in the fork, the first result is the last."""
        if self._pipe < 0:
            return super().send(event, **fields)
        if event != "result":
            return None
        student = self.student
        assert isinstance(student, Remote)
        del fields["test"]
        fields["printed"] = callables.clean(
            student.printed.decode("utf-8", "replace"), plugin.PRINTED
        )
        self.tell(**fields)

    @contextmanager
    def _watched(self, test: str, limit: float | None = None) -> Iterator[plugin.Printed]:
        yield plugin.Printed()


def main() -> None:
    """Run the job; the first event after the plan says that there is a sandbox."""
    job, channel = child.begin()
    examiner = Examiner(job, channel)
    try:
        examiner.worker().let_go()
        child.run_tests(job, examiner)
    except NoSandbox as error:
        examiner.send("no sandbox", message=str(error))
    os._exit(0)


if __name__ == "__main__":
    main()
