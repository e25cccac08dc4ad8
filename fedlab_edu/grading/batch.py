"""Grade a class: who has a grade already is passed over, and nobody is lost.

A submission is graded again when its text, or a test, is another than the last time, when a fault
of ours prevented it, or when all are to be graded again.
"""

import hashlib
import platform
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from fedlab_edu import __version__
from fedlab_edu.grading.assignment import Assignment, Refusal
from fedlab_edu.grading.downloads import Person
from fedlab_edu.grading.intake import Handed, Wanted, collect
from fedlab_edu.grading.run import CheckBroken, Report, Result
from fedlab_edu.grading.store import (
    GRADED,
    MISSING,
    NOT_GRADABLE,
    TEXT,
    UNGRADED,
    Outcome,
    Record,
    Store,
)

# The tests and (name, source text) of each submission -> its report, in order and one by one.
Grader = Callable[[Path, Iterable[tuple[str, str]]], Iterator[Report]]

BREAKS = 3  # submissions in a row that the grader itself fails on, before it gives up
SHOWN = 3  # tests of a student's that have changed


@dataclass(frozen=True)
class Change:
    """What grading again has changed for a student."""

    before: Record
    after: Record

    def __str__(self) -> str:
        old = {t.test: t for t in self.before.tests}
        moved = [
            f"{t.question} {t.aspect}: {old[t.test].status} -> {t.status}"
            for t in self.after.tests
            if t.test in old and old[t.test].status != t.status
        ]
        if len(moved) > SHOWN:
            moved[SHOWN:] = [f"and {len(moved) - SHOWN} more"]
        if self.before.state != self.after.state:
            moved.insert(0, f"{self.before.state} -> {self.after.state}")
        total = f"{self.before.won:g} -> {self.after.won:g} of {self.after.max:g}"
        return f"{self.after.name}: {total}{'; ' if moved else ''}{'; '.join(moved)}"


@dataclass(frozen=True)
class Batch:
    """How a class is graded.

    Fields:
        grader: runs submissions, see `Grader`.
        back_end: what keeps students' code apart, for the record.
        again: also grade who has a grade of the same text and tests.
        step: called with each record, whether it is new or not.
    """

    assignment: Assignment
    store: Store
    grader: Grader
    back_end: str = ""
    again: bool = False
    step: Callable[[Record], None] = lambda record: None

    def run(self, everyone: Sequence[Person]) -> list[Change]:
        """Grade; the changes to earlier grades.

        Raises:
            Refusal: the solution does not pass its own tests, or they cannot be run.
        """
        own = self.assignment
        reference = hashlib.sha256(own.reference.encode()).hexdigest()
        passed = f"{own.digest} {reference}"
        plan = self.store.plan(own.name, passed) or self.plan()
        self.store.begin(own.name, plan, everyone, passed)
        changes: list[Change] = []
        queue: deque[tuple[Person, Handed]] = deque()
        todo = self._open(everyone, plan, changes)
        file = f"{own.stem}.py"  # not the student's name for it, which may be anything
        breaks = 0
        while True:
            try:
                for report in self.grader(own.tests, _feed(file, todo, queue)):
                    person, handed = queue.popleft()
                    self._keep(self._judged(person, handed, report), changes)
                    breaks = 0
                if queue:
                    raise CheckBroken("the grader ended without a report")
                return changes
            except CheckBroken as broken:
                breaks += 1
                if not queue or breaks >= BREAKS:
                    raise Refusal(f"grading itself failed {breaks} times: {broken}") from None
                person, handed = queue.popleft()
                why = f"the grader failed, not the submission: {broken}"
                self._keep(self._idle(person, handed, UNGRADED, why, plan), changes)
                todo = chain(list(queue), todo)
                queue.clear()

    def plan(self) -> tuple[Outcome, ...]:
        """The tests, once the solution has passed them; without a solution, as they are.

        Raises:
            Refusal: it has not, or the tests cannot be run.
        """
        source = self.assignment.source
        name = "empty.py" if source is None else source.name
        try:
            (report,) = self.grader(self.assignment.tests, [(name, self.assignment.reference)])
        except (CheckBroken, ValueError) as error:
            raise Refusal(f"the tests {self.assignment.tests} cannot be run: {error}") from None
        if not report.results:
            raise Refusal(f"{self.assignment.tests} holds no test with the marker q.")
        failed = next((r for r in report.results if r.status != "passed"), None)
        if source is not None and failed is not None:
            raise Refusal(
                f"the solution {source} does not pass its own test {failed.test} "
                f"({failed.status}): {failed.message}"
            )
        return tuple(_idle(_test(r), "not run", 0.0) for r in report.results)

    def _open(
        self, everyone: Sequence[Person], plan: tuple[Outcome, ...], changes: list[Change]
    ) -> Iterator[tuple[Person, Handed]]:
        """The submissions that are to be run; the records of all others are written on the way."""
        own = self.assignment
        names = tuple(dict.fromkeys((own.stem, own.name)))
        wanted = Wanted(names)
        with suppress(Refusal):  # a solution that cannot be handed out may still be graded with
            wanted = Wanted(names, own.functions, own.stub)
        for person in everyone:
            handed = collect(person.paths, wanted) if person.paths else Handed()
            old = self.store.read(person.key)
            if old is not None and not self.again and self._stands(old, person, handed):
                now = replace(old, notes=(*person.notes, *handed.notes))
                if now != old:
                    self.store.write(now)
                self.step(now)
            elif not person.paths:
                self._keep(self._idle(person, handed, MISSING, "", plan), changes)
            elif handed.source is None:
                record = self._idle(person, handed, NOT_GRADABLE, handed.problem, plan)
                self._keep(record, changes)
            else:
                yield person, handed

    def _stands(self, old: Record, person: Person, handed: Handed) -> bool:
        """Whether an earlier record is still what grading would come to."""
        same = (old.sha256, old.name, old.ids, old.late, old.tests_sha256) == (
            handed.digest if person.paths else "",
            person.name,
            person.ids,
            person.late,
            self.assignment.digest,
        )
        return same and old.state != UNGRADED

    def _keep(self, record: Record, changes: list[Change]) -> None:
        old = self.store.read(record.student)
        self.store.write(record)
        verdicts = [(r.state, [(t.test, t.status) for t in r.tests]) for r in (old, record) if r]
        if old is not None and verdicts[0] != verdicts[1]:
            changes.append(Change(old, record))
        self.step(record)

    def _judged(self, person: Person, handed: Handed, report: Report) -> Record:
        tests = tuple(map(_test, report.results))
        states = {t.status for t in tests}
        empty = self._idle(person, handed, GRADED, "", tests)
        if states == {"not gradable"}:
            return replace(empty, state=NOT_GRADABLE, problem=tests[0].message, tests=tests)
        if "error" in states or not tests:
            first = next((t.message for t in tests if t.status == "error"), "no test ran")
            why = f"a test failed by itself: {first}"
            return replace(empty, state=UNGRADED, problem=why, tests=tests)
        return replace(empty, tests=tests)

    def _idle(
        self, person: Person, handed: Handed, state: str, problem: str, plan: tuple[Outcome, ...]
    ) -> Record:
        """The record of a submission that no test has judged."""
        status, points = {
            NOT_GRADABLE: ("not gradable", 0.0),
            MISSING: ("not handed in", 0.0),
        }.get(state, ("error", None))
        return Record(
            person.key,
            person.name,
            person.ids,
            self.assignment.name,
            state,
            tuple(_idle(test, status, points) for test in plan),
            problem,
            handed.file,
            handed.digest if person.paths else "",
            person.late,
            (*person.notes, *handed.notes),
            self.assignment.digest,
            self.back_end,
            versions(),
        )


def versions() -> dict[str, str]:
    """Of the kit, Python and PyTorch."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return {"fedlab_edu": __version__, "python": platform.python_version(), "torch": torch}


def _feed(
    file: str, todo: Iterable[tuple[Person, Handed]], queue: deque[tuple[Person, Handed]]
) -> Iterator[tuple[str, str]]:
    """What the grader takes; it may take several before it reports on the first."""
    for person, handed in todo:
        queue.append((person, handed))
        assert handed.source is not None
        yield file, handed.source


def _test(result: Result) -> Outcome:
    points = {"passed": result.points, "error": None}.get(result.status, 0.0)
    return Outcome(
        result.test,
        result.question,
        result.function,
        result.aspect,
        points,
        result.points,
        result.status,
        result.message[:TEXT],
        result.likely[:TEXT],
        result.hint,
        result.printed[:TEXT],
        round(getattr(result, "seconds", 0.0), 3),
        getattr(result, "hidden", False),
    )


def _idle(test: Outcome, status: str, points: float | None) -> Outcome:
    return replace(
        test, points=points, status=status, message="", likely="", printed="", seconds=0.0
    )
