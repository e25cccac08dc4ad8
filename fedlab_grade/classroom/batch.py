"""Grade a class, resuming where an earlier run stopped.

A submission is graded again when its text, or a test, is another than the last time, when a fault
of ours prevented it, or when all are to be graded again. Each change to an earlier grade is told
just before it is written, so that none is lost where grading is stopped.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import tee
from pathlib import Path

from fedlab_grade.assignment import Assignment
from fedlab_grade.classroom.intake import Handed, Wanted, take
from fedlab_grade.classroom.people import Person
from fedlab_grade.classroom.records import ClassList, Record, State, shorten, unjudged, versions
from fedlab_grade.classroom.store import Store
from fedlab_grade.options import Refusal
from fedlab_grade.run import CheckBroken, Report, Result

# The tests and (name, source text) of each submission -> its report, in order and one by one.
Grader = Callable[[Path, Iterable[tuple[str, str]]], Iterator[Report]]

UNCLEAR = "a submission belongs to no student of the roster: no mark until that is settled"
NEXT = "All grades so far are kept: look at fedlab-edu doctor, and run the same command again."


@dataclass(frozen=True)
class Batch:
    """A class to be graded, and how.

    Fields:
        grader: runs submissions, see `Grader`.
        back_end: what keeps students' code apart, for the record.
        again: also grade a student whose text and tests are those of the last grade.
        step: called with each record, whether it is new or not.
        changed: called with the text of each change to an earlier grade, see `Record.changes`.
    """

    assignment: Assignment
    store: Store
    grader: Grader
    back_end: str = ""
    again: bool = False
    step: Callable[[Record], None] = lambda record: None
    changed: Callable[[str], None] = lambda change: None

    def run(self, everyone: Sequence[Person]) -> None:
        own = self.assignment
        passed = f"{own.digest} {hashlib.sha256(own.reference.encode()).hexdigest()}"
        tests = self.store.tested(own.name, passed) or self.tested()
        self.store.begin(ClassList(own.name, tests, tuple(everyone), own.digest, passed))
        # The grader may take several before its first report.
        taken, given = tee(self._open(everyone, tests))
        # By one name: a student's own may be anything.
        feed = ((f"{own.stem}.py", handed.source or "") for _, handed in taken)
        try:
            for report in self.grader(own.tests, feed):
                self._keep(self._judged(*next(given), report))
            if next(given, None):
                raise CheckBroken("it ended without a report")
        except CheckBroken as broken:
            raise Refusal(f"the grader failed: {str(broken).rstrip('.')}. {NEXT}") from None

    def tested(self) -> tuple[Result, ...]:
        """Return the tests once the solution has passed them; without a solution, as they are."""
        tests, source = self.assignment.tests, self.assignment.source
        name = "empty.py" if source is None else source.name
        try:
            (report,) = self.grader(tests, [(name, self.assignment.reference)])
        except (CheckBroken, ValueError) as error:
            why = str(error).rstrip(".")
            raise Refusal(f"the tests {tests} cannot be run: {why}.") from None
        if not report.results:
            raise Refusal(f"{tests} holds no test with the marker q.")
        failed = next((r for r in report.results if r.status != "passed"), None)
        if source is not None and failed is not None:
            raise Refusal(
                f"the solution {source} does not pass its own test {failed.test} "
                f"({failed.status}): {failed.message}"
            )
        return tuple(unjudged(result, "not run") for result in report.results)

    def _open(
        self, everyone: Sequence[Person], tests: tuple[Result, ...]
    ) -> Iterator[tuple[Person, Handed]]:
        """Yield the submissions to run, and write the records of all others on the way."""
        own = self.assignment
        wanted = Wanted(tuple(dict.fromkeys((own.stem, own.name))))
        with suppress(Refusal):  # a solution that cannot be handed out may still be graded with
            wanted = Wanted(wanted.names, own.functions, own.stub)
        lost = any(one.paths and not one.matched for one in everyone)
        idle = (State.UNCLEAR, UNCLEAR) if lost else (State.MISSING, "")
        for person in everyone:
            handed = take(person.paths, wanted) if person.paths else Handed()
            state, why = (State.NOT_GRADABLE, "") if person.paths else idle
            new = self._record(person, handed, state, tests, why)
            old = self.store.read(person.key)
            if old is not None and not self.again and _stands(old, new):
                now = replace(
                    old, name=new.name, ids=new.ids, late=new.late, file=new.file,
                    notes=new.notes, penalty=new.penalty, matched=new.matched,
                )  # fmt: skip
                if now != old:
                    self._keep(now)
                else:
                    self.step(now)
            elif handed.source is None:
                self._keep(new)
            else:
                yield person, handed

    def _keep(self, record: Record) -> None:
        old = self.store.read(record.student)
        if old is not None and (change := record.changes(old)):
            self.changed(change)
        self.store.write(record)
        self.step(record)

    def _judged(self, person: Person, handed: Handed, report: Report) -> Record:
        """Return the record of a submission that was run."""
        tests = tuple(shorten(result, handed.source or "") for result in report.results)
        record = self._record(person, handed, State.GRADED, ())
        states = {t.status for t in tests}
        if states == {"not gradable"}:
            return replace(record, state=State.NOT_GRADABLE, tests=tests, problem=tests[0].message)
        if "error" in states or not tests:
            first = next((t.message for t in tests if t.status == "error"), "no test ran")
            why = f"a test failed by itself: {first}"
            return replace(record, state=State.UNGRADED, tests=tests, problem=why)
        return replace(record, tests=tests)

    def _record(
        self, person: Person, handed: Handed, state: str, tests: Sequence[Result], problem: str = ""
    ) -> Record:
        """Return the record of a submission that no test has judged."""
        own = self.assignment
        days = (float(person.late) if person.days is None else person.days) - person.extension
        return Record(
            person.key, person.name, person.ids, own.name, state,
            tuple(unjudged(test, state) for test in tests), problem or handed.problem,
            handed.file, handed.digest if person.paths else "", days > 0, handed.notes,
            own.digest, self.back_end, versions(), date=time.strftime("%Y-%m-%d"),
            penalty=own.late.penalty(days), matched=person.matched,
        )  # fmt: skip


def _stands(old: Record, new: Record) -> bool:
    """Return whether grading again would give the earlier record."""
    same = (old.tests_sha256, old.sha256) == (new.tests_sha256, new.sha256)
    unclear = (old.state == State.UNCLEAR) != (new.state == State.UNCLEAR)
    return same and old.state != State.UNGRADED and not unclear
