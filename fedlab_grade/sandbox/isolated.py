"""Grade submissions that may be hostile: their code runs in a sandbox, the tests do not."""

import hashlib
import json
import os
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from fedlab_grade.options import Limits
from fedlab_grade.run import CheckBroken, Progress, Report
from fedlab_grade.sandbox import doctor
from fedlab_grade.sandbox.processes import START, Way
from fedlab_grade.sandbox.view import NoSandbox
from fedlab_grade.student import NotGradable, decoded

LIMITS = Limits()
SPARE = 60.0  # seconds beyond its limit after which the grading of a submission has failed
FAILED = "The grader failed on this submission, which is no fault of the answer: {}."


def grade_isolated(
    tests: Path,
    submissions: Iterable[tuple[str, str | bytes]],
    isolation: Way | None = None,
    limits: Limits = LIMITS,
    question: str = "",
    secret: str = "",
    reference: str = "",
    trust: bool = False,
    jobs: int = 2,
    private: Iterable[Path] = (),
) -> Iterator[Report]:
    """Yield the reports on submissions, in their order.

    Args:
        tests: a file of tests marked with ``q``.
        submissions: name and source of each; bytes that are not UTF-8 are not gradable.
        isolation: as `doctor.choose` gives it, which is the default.
        question: as in ex01.2, the only one to grade; "" for all.
        secret: of the term. Tests find it in the environment as FG_SEED; with the same one, all
            students and every regrade get the same hidden inputs.
        reference: the source of a right answer. Where a test cannot go on with what a submission
            returned, but can with the reference, the submission is at fault. Without it that test
            counts as an error, and is not judged.
        trust: allow "none", a plain process that keeps nothing hostile in check.
        jobs: how many submissions are in hand at a time.
        private: files and folders that no submission may read, beside the folder of the tests.

    Raises:
        NoSandbox: the submissions are not trusted, and nothing here holds them or hides the
            private files from them.
        CheckBroken: the tests cannot be run.
    """
    way = doctor.choose(trust) if isolation is None else isolation
    if way == "none" and not trust:
        raise NoSandbox(doctor.REFUSAL)
    job: dict[str, object] = {
        "tests": str(tests), "question": question, "way": way, "limits": asdict(limits),
        "secret": secret, "reference": reference,
        "private": [str(path.absolute()) for path in (tests.absolute().parent, *private)],
    }  # fmt: skip
    examiners = [_Examiner(job) for _ in range(max(1, jobs))]
    for examiner in examiners:
        examiner.begin()
    return _grade(examiners, job, iter(submissions), limits)


def _grade(
    examiners: list["_Examiner"],
    job: dict[str, object],
    submissions: Iterator[tuple[str, str | bytes]],
    limits: Limits,
) -> Iterator[Report]:
    """Give each examiner one submission at a time, and yield their reports in turn."""
    waiting: deque[tuple[_Examiner, Progress]] = deque()
    try:
        while True:
            while examiners and (one := next(submissions, None)):
                progress = Progress(Path(one[0]))
                progress.take({"event": "plan", "tests": examiners[0].plan})
                waiting.append((examiners.pop(), progress))
                waiting[-1][0].give(progress, *one)
            if not waiting:
                return
            examiner, progress = waiting.popleft()
            try:
                examiner.take(progress, limits.total + SPARE)
            except _Failed as failure:
                for test, result in progress.results.items():
                    if result.status == "not run":
                        message = FAILED.format(failure)
                        progress.change(test, status="error", message=message)
                examiner.end()
                examiner = _Examiner(job)
                examiner.begin()
            examiners.append(examiner)
            yield progress.report()
    finally:
        for examiner in (*examiners, *(examiner for examiner, _ in waiting)):
            examiner.end()


class _Failed(Exception):
    """The reason why the examiner has given no results."""


class _Examiner:
    """The process that holds the tests, see `fedlab_grade.sandbox.examiner`."""

    plan: list[dict[str, object]]

    def __init__(self, job: dict[str, object]) -> None:
        secret = str(job["secret"])
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTEST_ADDOPTS",)}
        # Sets of strings, too, are to be in the same order for all students.
        environment["PYTHONHASHSEED"] = str(
            int(hashlib.sha256(secret.encode()).hexdigest()[:8], 16)
        )
        environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"OMP_NUM_THREADS": "1"} | ({"FG_SEED": secret} if secret else {})
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", "-m", "fedlab_grade.sandbox.examiner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self._job = job
        self._rest = b""
        self._busy = False

    def begin(self) -> None:
        """Hand it the job, and wait until it is ready.

        Raises:
            NoSandbox, CheckBroken: it cannot be.
        """
        self._write(self._job)
        other = []
        for line in self._lines(2 * START):
            try:
                event = json.loads(line)
            except ValueError:  # a warning, or the traceback of its end
                other.append(line.decode("utf-8", "replace"))
                continue
            if event["event"] == "no sandbox":
                self.end()
                raise NoSandbox(event["message"])
            if event["event"] == "plan":
                self.plan = event["tests"]
                return
            self.end()
            raise CheckBroken(event["message"])
        self.end()
        raise CheckBroken("\n".join(other[-20:]) or "the tests did not start")

    def give(self, progress: Progress, name: str, source: str | bytes) -> None:
        """Let it begin with a submission."""
        try:
            text = decoded(source) if isinstance(source, bytes) else source
        except NotGradable as error:
            for test in progress.results:
                progress.change(test, status="not gradable", message=str(error))
            return
        self._busy = True
        self._write([name, text])

    def _write(self, message: object) -> None:
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()

    def take(self, progress: Progress, patience: float) -> None:
        """Wait for the results of the submission.

        Raises:
            _Failed: there are not all of them.
        """
        if not self._busy:
            return
        for line in self._lines(patience):
            with suppress(ValueError):
                event = json.loads(line)
                if event["event"] == "done":
                    self._busy = False
                    return
                if event["event"] == "broken":
                    raise _Failed(event["message"])
                progress.take(event)
        raise _Failed("its process ended" if self._process.poll() is not None else "it hangs")

    def _lines(self, patience: float) -> Iterator[bytes]:
        """Yield what it says, until it has ended or the time is up."""
        end = time.monotonic() + patience
        assert self._process.stderr is not None
        pipe = self._process.stderr.fileno()
        while True:
            while b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                yield line
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                return
            piece = os.read(pipe, 1 << 16)
            if not piece:
                return
            self._rest += piece

    def end(self) -> None:
        """End it; its workers end with it."""
        self._process.kill()
        self._process.communicate()
