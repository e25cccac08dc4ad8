"""Grade submissions that may be hostile: their code runs in a sandbox, the tests do not."""

import hashlib
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from fedlab_grade.options import Limits
from fedlab_grade.process import START, Child
from fedlab_grade.run import CheckBroken, Progress, Report
from fedlab_grade.sandbox import doctor
from fedlab_grade.sandbox.processes import Way
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
        secret: of the term; tests find it in the environment as FG_SEED, and draw the same hidden
            inputs from it for all students and every regrade.
        reference: the source of a right answer. A test that fails by itself on a submission, but
            passes on the reference, counts as failed; without a reference it is an error.
        trust: allow "none", a plain process that keeps nothing hostile in check.
        jobs: how many submissions are in hand at a time, of a list at most all.
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
        "tests": str(tests), "way": way, "limits": asdict(limits),
        "secret": secret, "reference": reference,
        "private": [str(path.absolute()) for path in (tests.absolute().parent, *private)],
    }  # fmt: skip
    jobs = min(jobs, len(submissions)) if isinstance(submissions, list) else jobs
    with ExitStack() as stack:
        examiners = [stack.enter_context(_Examiner(job)) for _ in range(max(1, jobs))]
        for examiner in examiners:
            examiner.begin()
        stack.pop_all()
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
            except CheckBroken as failure:
                for test, result in progress.results.items():
                    if result.status == "not run":
                        message = FAILED.format(failure)
                        progress.change(test, status="error", message=message)
                with examiner:
                    examiner = _Examiner(job)
                examiner.begin()
            examiners.append(examiner)
            yield progress.report()
    finally:
        for examiner in (*examiners, *(examiner for examiner, _ in waiting)):
            with examiner:
                pass


class _Examiner(Child):
    """The process that holds the tests, see `fedlab_grade.sandbox.examiner`."""

    def __init__(self, job: dict[str, object]) -> None:
        secret = str(job["secret"])
        # Sets of strings, too, are to be in the same order for all students.
        order = int(hashlib.sha256(secret.encode()).hexdigest()[:8], 16)
        environment = {"PYTHONHASHSEED": f"{order}", "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"OMP_NUM_THREADS": "1"} | ({"FG_SEED": secret} if secret else {})
        super().__init__("fedlab_grade.sandbox.examiner", environment=environment)
        self._busy = False
        self.tell(job)

    def begin(self) -> None:
        event = self.event(2 * START)
        if event and event["event"] == "plan":
            self.plan: list[dict[str, object]] = event["tests"]
            return
        if event and event["event"] == "no sandbox":
            raise NoSandbox(event["message"])
        told = event["message"] if event else "".join(self.other[-20:])
        raise CheckBroken(told or "the tests did not start")

    def give(self, progress: Progress, name: str, source: str | bytes) -> None:
        try:
            text = decoded(source) if isinstance(source, bytes) else source
        except NotGradable as error:
            for test in progress.results:
                progress.change(test, status="not gradable", message=str(error))
            return
        self._busy = True
        self.tell([name, text])

    def take(self, progress: Progress, patience: float) -> None:
        end = time.monotonic() + patience
        while self._busy:
            event = self.event(end - time.monotonic())
            if event is None:
                raise CheckBroken("it hangs" if self.late else "its process ended")
            if event["event"] == "broken":
                raise CheckBroken(event["message"])
            self._busy = event["event"] != "done"
            progress.take(event)
