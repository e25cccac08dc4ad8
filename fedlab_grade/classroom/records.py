"""The records of a class: its list, and the record of each student."""

import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from importlib.metadata import version

from fedlab_edu import __version__
from fedlab_grade.classroom.people import Person
from fedlab_grade.escape import line
from fedlab_grade.run import Result, by_question

GRADE, CLASS = "fedlab-edu/grade/v3", "fedlab-edu/class/v4"  # the versions of the files
TEXT = 4000  # characters of a message that are kept
SHOWN = 3  # tests of a student's that have changed
AROUND, WIDE = 3, 120  # lines of an excerpt before and after, and characters of one


class State(StrEnum):
    """The state of a submission.

    It is not gradable yet for a fault of the file, and ungraded for a fault of ours; it is unclear
    while a submission that belongs to no student may be this student's.
    """

    GRADED = "graded"
    NOT_GRADABLE = "not gradable yet"
    UNGRADED = "ungraded"
    MISSING = "not handed in"
    UNCLEAR = "unclear"


# The states without a mark, with the status of tests that have not judged.
NO_VERDICT: dict[str, str] = {
    State.NOT_GRADABLE: "not gradable",
    State.UNGRADED: "error",
    State.UNCLEAR: "error",
}


def unjudged(test: Result, state: str) -> Result:
    """Return a test's result for a submission in a state that no test has judged."""
    said = dict.fromkeys(("message", "likely", "printed", "code"), "")
    return replace(test, status=NO_VERDICT.get(state, state), seconds=0.0, **said)  # type: ignore[arg-type]


def shorten(result: Result, module: str = "") -> Result:
    """Return a result as it is kept: its texts cut, with an excerpt of the student's module."""
    cut = {name: getattr(result, name)[:TEXT] for name in ("message", "likely", "printed")}
    code = excerpt(module, result.message)
    return replace(result, seconds=round(result.seconds, 3), code=code, **cut)


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
    python, torch = platform.python_version(), version("torch")
    return {"fedlab_edu": __version__, "python": python, "torch": torch}


@dataclass(frozen=True)
class Record:
    """The result of one student's submission.

    Fields:
        student, name, ids: see `Person`.
        tests: the results; in one that was not judged, the message is empty.
        problem: why it is not graded, where it is not.
        file: that counted; sha256: of its text.
        notes: what the student should know about the file.
        tests_sha256: of the tests that judged.
        back_end: what kept the student's code apart.
        versions: of fedlab_edu, Python and PyTorch; date: of grading.
        penalty: the share of the points that is taken off for being late.
        matched: false where the submission belongs to no student of the roster.
        changed: question -> points by the instructor's hand, "" for the whole; comments: theirs.
    """

    student: str
    name: str
    ids: tuple[str, ...]
    assignment: str
    state: str
    tests: tuple[Result, ...]
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

    @cached_property
    def questions(self) -> dict[str, tuple[Result, ...]]:
        return by_question(self.tests)

    def points(self, question: str) -> float | None:
        """Return the points of a question, None where not all of its tests have judged."""
        tests = self.questions.get(question, ())
        read = self.state != State.NOT_GRADABLE
        judged = [t.won for t in tests if read and t.won is not None]
        whole = len(judged) == len(tests) and (judged or self.state not in NO_VERDICT)
        return self.changed.get(question, sum(judged) if whole else None)

    @property
    def why(self) -> str:
        """The problem on one line; code that it quotes follows a colon."""
        return line(re.sub(r"\.?\n  ", ": ", self.problem, count=1))

    @property
    def won(self) -> float:
        """The points of all questions, before anything is taken off."""
        return sum(
            self.changed.get(q, sum(t.won or 0.0 for t in tests))
            for q, tests in self.questions.items()
        )

    @property
    def max(self) -> float:
        return sum(t.points for t in self.tests)

    @property
    def mark(self) -> float | None:
        """The mark, None where it would be no verdict on what the student can do."""
        own = None if self.state in NO_VERDICT else round(self.won * (1 - self.penalty), 4)
        return self.changed.get("", own)

    def changes(self, old: "Record") -> str:
        """Say what grading again has changed in an earlier record; "" if nothing."""
        if old.state != self.state:
            ends = (
                f"{r.won:g} of {r.max:g}" if r.state == State.GRADED else r.state
                for r in (old, self)
            )  # fmt: skip
            return f"{self.name}: {' -> '.join(ends)}"
        if self.state in (State.NOT_GRADABLE, State.MISSING, State.UNCLEAR):
            return ""  # no test has judged
        moved = _moved(*({t.test: t for t in record.tests} for record in (old, self)))
        if len(moved) > SHOWN:
            moved[SHOWN:] = [f"and {len(moved) - SHOWN} more"]
        if old.penalty != self.penalty:
            moved.append(f"taken off for being late: {old.penalty:.0%} -> {self.penalty:.0%}")
        of = "" if old.max == self.max else f" of {old.max:g}"
        head = f"{self.name}: {old.won:g}{of} -> {self.won:g} of {self.max:g}"
        return "; ".join([head, *moved]) if moved else ""


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
    tests: tuple[Result, ...]
    people: tuple[Person, ...]
    tests_sha256: str = ""
    passed: str = ""
    schema: str = CLASS


def count_states(records: Iterable[Record]) -> str:
    """Say how many records are in each state."""
    counts = Counter(str(record.state) for record in records)
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _moved(old: Mapping[str, Result], new: Mapping[str, Result]) -> list[str]:
    """Return a text for each test that is new or gone, or whose status or points changed."""
    out = []
    for name in {**new, **old}:
        was, now = old.get(name), new.get(name)
        test = now or old[name]
        if was is None or now is None:
            told = f"a new test, {now.status}" if now else "the test is gone"
        elif was.status != now.status:
            told = f"{was.status} -> {now.status}"
        elif was.points != now.points:
            won = ["-" if t.won is None else f"{t.won:g}" for t in (was, now)]
            told = f"{won[0]} of {was.points:g} -> {won[1]} of {now.points:g}"
        else:
            continue
        out.append(f"{test.question} {test.aspect}: {told}")
    return out
