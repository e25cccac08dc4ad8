"""The records of a class: its list, each student's record, and the outcome of each test."""

import platform
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fedlab_edu import __version__
from fedlab_grade.classroom.people import Person
from fedlab_grade.run import Result

GRADE = "fedlab-edu/grade/v2"  # the version of a record
GRADED, NOT_GRADABLE, UNGRADED, MISSING = "graded", "not gradable yet", "ungraded", "not handed in"
UNCLEAR = "unclear"
TEXT = 4000  # characters of a message that are kept
SHOWN = 3  # tests of a student's that have changed
AROUND, WIDE = 3, 120  # lines of an excerpt before and after, and characters of one


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test of one submission.

    Fields:
        points: won, of max; None where the test itself failed, or nothing could judge.
        status, message, likely, printed, seconds: as in `fedlab_grade.run.Result`.
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

    def unjudged(self, state: str) -> "Outcome":
        """Return the outcome of this test for a submission in a state that no test has judged."""
        status, points = {
            NOT_GRADABLE: ("not gradable", 0.0),
            UNGRADED: ("error", None),
            UNCLEAR: (MISSING, None),
        }.get(state, (state, 0.0))
        rest = {"message": "", "likely": "", "printed": "", "seconds": 0.0, "code": ""}
        return replace(self, points=points, status=status, **rest)  # type: ignore[arg-type]


def outcome(result: Result, code: str = "") -> Outcome:
    """Return the outcome of a test's result, with an excerpt of the student's code."""
    values = asdict(result) | {"max": result.points, "seconds": round(result.seconds, 3)}
    values["points"] = {"passed": result.points, "error": None}.get(result.status, 0.0)
    values |= {name: values[name][:TEXT] for name in ("message", "likely", "printed")}
    del values["invariant"]
    return Outcome(**values, code=code)


def excerpt(source: str, message: str) -> str:
    """Return the lines of a module around the one that a message names last, which is marked."""
    named = re.findall(r"\n  line (\d{1,9}), in ", message)
    lines = source.split("\n")
    at = int(named[-1]) if named else 0
    if not 0 < at <= len(lines):
        return ""
    shown = range(max(1, at - AROUND), min(len(lines), at + AROUND) + 1)
    marked = (f"{'>' if i == at else ' '} {i:>4}  {lines[i - 1][:WIDE]}".rstrip() for i in shown)
    return "\n".join(marked)


@cache
def versions() -> dict[str, str]:
    """Return the versions of the kit, Python and PyTorch."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return {"fedlab_edu": __version__, "python": platform.python_version(), "torch": torch}


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
        tests = self.questions.get(question, ())
        judged = [t.points for t in tests if t.points is not None]
        no_verdict = self.state in (NOT_GRADABLE, UNGRADED, UNCLEAR) and not judged
        own = None if no_verdict or len(judged) < len(tests) else sum(judged)
        return self.changed.get(question, own)

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
        idle = self.state in (NOT_GRADABLE, UNGRADED, UNCLEAR)
        return self.changed.get("", None if idle else round(self.won * (1 - self.penalty), 4))

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
    people: tuple[Person, ...]
    tests_sha256: str = ""
    passed: str = ""


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
        for name in dict.fromkeys([*new, *old]):
            was, now = old.get(name), new.get(name)
            if was is None or now is None:
                told = f"a new test, {now.status}" if now else "the test is gone"
            elif was.status != now.status:
                told = f"{was.status} -> {now.status}"
            elif (was.points, was.max) != (now.points, now.max):
                told = f"{_points(was)} -> {_points(now)}"
            else:
                continue
            test = now or old[name]
            out.append(f"{test.question} {test.aspect}: {told}")
        return out


def _points(test: Outcome) -> str:
    return f"{'-' if test.points is None else f'{test.points:g}'} of {test.max:g}"
