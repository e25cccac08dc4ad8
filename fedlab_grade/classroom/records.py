"""The records of a class: its list, each student's record, and the outcome of each test."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fedlab_grade.classroom.people import Person

GRADE = "fedlab-edu/grade/v2"  # the version of a record
GRADED, NOT_GRADABLE, UNGRADED, MISSING = "graded", "not gradable yet", "ungraded", "not handed in"
UNCLEAR = "unclear"
TEXT = 4000  # characters of a message that are kept
SHOWN = 3  # tests of a student's that have changed


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test of one submission.

    Fields:
        points: won, of max; None where the test itself failed, or nothing could judge.
        status, message, likely, printed: as in `fedlab_grade.run.Result`.
        seconds: that it took.
        hidden: students are told its aspect only.
        code: the lines of the student's module around the one that the message names last.
    """

    test: str
    question: str
    function: str
    aspect: str
    points: float | None
    max: float
    status: str
    message: str = ""
    likely: str = ""
    printed: str = ""
    seconds: float = 0.0
    hidden: bool = False
    code: str = ""


@dataclass(frozen=True)
class Record:
    """The result of one student's submission.

    Fields:
        student, name, ids: see `Person`.
        file: that counted; sha256: of its text.
        state: graded; not gradable yet, for a fault of the file; ungraded, for a fault of ours; not
            handed in; unclear, while a submission that belongs to no student may be theirs.
        problem: why it is not graded, where it is not.
        notes: what the student should know about the file.
        tests_sha256: of the tests that judged.
        back_end: what kept the student's code apart.
        versions: of the kit, Python and PyTorch; date: of grading.
        penalty: the share of the points that is taken off for being late.
        matched: false where the submission belongs to no student of the roster.
        changed: question -> points by the instructor's hand, "" for the whole; comments: theirs.
    """

    student: str
    name: str
    ids: tuple[str, ...]
    assignment: str
    state: str
    tests: tuple[Outcome, ...]
    problem: str = ""
    file: str = ""
    sha256: str = ""
    late: bool = False
    notes: tuple[str, ...] = ()
    tests_sha256: str = ""
    back_end: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    schema: str = GRADE
    penalty: float = 0.0
    date: str = ""
    changed: dict[str, float] = field(default_factory=dict)
    comments: tuple[str, ...] = ()
    matched: bool = True

    def points(self, question: str) -> float | None:
        """Return the points of a question, None where not all of its tests have judged."""
        if question in self.changed:
            return self.changed[question]
        tests = self.questions.get(question, ())
        judged = [t.points for t in tests if t.points is not None]
        no_verdict = self.state in (NOT_GRADABLE, UNGRADED, UNCLEAR) and not judged
        return None if no_verdict or len(judged) < len(tests) else sum(judged)

    @property
    def won(self) -> float:
        """The points of all questions, before anything is taken off."""
        return sum(
            self.changed.get(q, sum(t.points or 0.0 for t in tests))
            for q, tests in self.questions.items()
        )

    @property
    def max(self) -> float:
        return sum(t.max for t in self.tests)

    @property
    def mark(self) -> float | None:
        """The mark, None where it would be no verdict on what the student can do."""
        if "" in self.changed:
            return self.changed[""]
        if self.state in (NOT_GRADABLE, UNGRADED, UNCLEAR):
            return None
        return round(self.won * (1 - self.penalty), 4)

    @property
    def questions(self) -> dict[str, tuple[Outcome, ...]]:
        """Question -> its tests."""
        return by_question(self.tests)


def by_question(tests: Iterable[Outcome]) -> dict[str, tuple[Outcome, ...]]:
    out: dict[str, tuple[Outcome, ...]] = {}
    for test in tests:
        out[test.question] = (*out.get(test.question, ()), test)
    return out


@dataclass(frozen=True)
class ClassList:
    """The contents of class.json.

    Fields:
        tests: as they are before anyone has answered them.
        tests_sha256: of the tests; a record with another one is of an earlier run.
        passed: stands for the tests and the solution that has passed them.
        people: everyone in order, without what they handed in.
    """

    assignment: str
    tests: tuple[Outcome, ...]
    tests_sha256: str
    passed: str
    people: tuple[Person, ...]


@dataclass(frozen=True)
class Change:
    """The difference that grading again made for a student; false if there is none."""

    before: Record
    after: Record

    def __bool__(self) -> bool:
        same = (self.before.state, self.before.penalty) == (self.after.state, self.after.penalty)
        return not same or bool(self.moved())

    def __str__(self) -> str:
        old, new = self.before, self.after
        if old.state != new.state:
            ends = (f"{r.won:g} of {r.max:g}" if r.state == GRADED else r.state for r in (old, new))
            return f"{new.name}: {' -> '.join(ends)}"
        moved = self.moved()
        if len(moved) > SHOWN:
            moved[SHOWN:] = [f"and {len(moved) - SHOWN} more"]
        if old.penalty != new.penalty:
            moved.append(f"taken off for being late: {old.penalty:.0%} -> {new.penalty:.0%}")
        of = "" if old.max == new.max else f" of {old.max:g}"
        return "; ".join([f"{new.name}: {old.won:g}{of} -> {new.won:g} of {new.max:g}", *moved])

    def moved(self) -> list[str]:
        """Return the tests whose status or points changed, and those that are new or gone."""
        old, new = ({t.test: t for t in record.tests} for record in (self.before, self.after))
        out = []
        for test in new.values():
            was = old.get(test.test)
            if was is None:
                told = f"a new test, {test.status}"
            elif was.status != test.status:
                told = f"{was.status} -> {test.status}"
            elif (was.points, was.max) != (test.points, test.max):
                told = f"{_points(was)} -> {_points(test)}"
            else:
                continue
            out.append(f"{test.question} {test.aspect}: {told}")
        gone = (t for t in old.values() if t.test not in new)
        return [*out, *(f"{t.question} {t.aspect}: the test is gone" for t in gone)]


def _points(test: Outcome) -> str:
    return f"{'-' if test.points is None else f'{test.points:g}'} of {test.max:g}"
