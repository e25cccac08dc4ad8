"""The grades of an assignment on the disk: one JSON per student, and one for the class.

    OUT/class.json            the assignment, its tests, and everyone in order
    OUT/grades/NAME-HASH.json what became of one student's submission
    OUT/secret                what hidden inputs are drawn from; keep it to grade again alike

Each file is written in full beside its place and then put there, so that a killed run leaves whole
files only.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.downloads import Person

GRADE, CLASS = "fedlab-edu/grade/v1", "fedlab-edu/class/v1"
GRADED, NOT_GRADABLE, UNGRADED, MISSING = "graded", "not gradable yet", "ungraded", "not handed in"
TEXT = 4000  # characters of a message that are kept


@dataclass(frozen=True)
class Outcome:
    """One test of one submission.

    Fields:
        points: won, of max; None where the test itself failed, or nothing could judge.
        status, message, likely, hint, printed: as in `fedlab_edu.grading.run.Result`.
        seconds: that it took.
        hidden: students are told its aspect only.
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
    hint: str = ""
    printed: str = ""
    seconds: float = 0.0
    hidden: bool = False


@dataclass(frozen=True)
class Record:
    """What became of one student's submission.

    Fields:
        student, name, ids: see `Person`.
        file: that counted; sha256: of its text.
        state: graded; not gradable yet, for a fault of the file; ungraded, for a fault of ours; not
            handed in.
        problem: why it is not graded, where it is not.
        tests_sha256: of the tests that judged.
        back_end: what kept the student's code apart.
        versions: of the kit, Python and PyTorch.
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

    @property
    def won(self) -> float:
        return sum(t.points or 0.0 for t in self.tests)

    @property
    def max(self) -> float:
        return sum(t.max for t in self.tests)

    @property
    def mark(self) -> float | None:
        """The points, None where they would be no verdict on what the student can do."""
        return None if self.state in (NOT_GRADABLE, UNGRADED) else self.won

    @property
    def questions(self) -> dict[str, tuple[Outcome, ...]]:
        """Question -> its tests."""
        return by_question(self.tests)


def by_question(tests: Iterable[Outcome]) -> dict[str, tuple[Outcome, ...]]:
    out: dict[str, tuple[Outcome, ...]] = {}
    for test in tests:
        out[test.question] = (*out.get(test.question, ()), test)
    return out


class Store:
    """The folder of one assignment's grades."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(
        self,
        assignment: str,
        plan: Sequence[Outcome],
        everyone: Sequence[Person],
        passed: str = "",
    ) -> None:
        """Note who is in the class and what is asked, before anything is graded.

        Args:
            passed: stands for the tests and the solution that has passed them, see `plan`.

        Raises:
            Refusal: the folder holds the grades of another assignment, or cannot be written to.
        """
        path = self.folder / "class.json"
        if path.exists() and (other := self.read_class()["assignment"]) != assignment:
            raise Refusal(f"{self.folder} holds the grades of {other}: name another folder.")
        people = [
            {"key": p.key, "name": p.name, "ids": p.ids, "late": p.late, "notes": p.notes}
            for p in everyone
        ]
        tests = [asdict(test) for test in plan]
        text = {"schema": CLASS, "assignment": assignment, "passed": passed, "tests": tests}
        write(path, text | {"people": people})

    def plan(self, assignment: str, passed: str) -> tuple[Outcome, ...]:
        """The tests, where the solution has passed these very tests before; else none."""
        with suppress(Refusal):
            found = self.read_class()
            if (found["assignment"], found["passed"]) == (assignment, passed):
                return tuple(Outcome(**test) for test in found["tests"])
        return ()

    def read_class(self) -> dict[str, Any]:
        """What `begin` wrote.

        Raises:
            Refusal: nothing was graded here.
        """
        path = self.folder / "class.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise Refusal(f"{self.folder} holds no grades: run fedlab-edu grade first.") from None
        if not isinstance(found, dict) or found.get("schema") != CLASS:
            raise Refusal(f"{path} is of another version: grade again into another folder.")
        return found

    def secret(self) -> str:
        """What hidden inputs are drawn from, the same for all students and every time.

        Raises:
            Refusal: it is empty, so that anyone could draw the same.
        """
        path = self.folder / "secret"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".secret.{os.getpid()}")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            try:
                with os.fdopen(os.open(beside, flags, 0o600), "w") as file:
                    file.write(secrets.token_hex(16))
                _put_first(beside, path)
            finally:
                beside.unlink(missing_ok=True)
        found = path.read_text("utf-8", errors="replace").strip()
        if len(found) < 16:
            raise Refusal(f"{path} is empty or broken: put the old one back, or delete it.")
        return found

    def path(self, student: str) -> Path:
        """Where a student's record is; the name is safe on every disk, whatever the key."""
        short = re.sub(r"[^A-Za-z0-9]+", "-", student)[:40].strip("-")
        digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return self.folder / "grades" / f"{short}-{digest}.json".lstrip("-")

    def write(self, record: Record) -> None:
        write(self.path(record.student), asdict(record))

    def read(self, student: str) -> Record | None:
        """A student's record; None where there is none of this version."""
        try:
            found = json.loads(self.path(student).read_text(encoding="utf-8"))
            if found["schema"] != GRADE:
                return None
            tests = tuple(Outcome(**test) for test in found.pop("tests"))
            known = {f.name for f in fields(Record)}
            values: dict[str, Any]
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
            return Record(tests=tests, **{k: v for k, v in values.items() if k in known})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def records(self) -> Iterator[Record]:
        """Everyone of the class, in order; ungraded, who has no record yet."""
        about = self.read_class()
        plan = tuple(Outcome(**test) for test in about["tests"])
        for one in about["people"]:
            record = self.read(one["key"])
            yield record or Record(
                one["key"], one["name"], tuple(one["ids"]), about["assignment"], UNGRADED, plan,
                "grading was stopped before it came to this submission", late=one["late"],
            )  # fmt: skip


def _put_first(beside: Path, path: Path) -> None:
    """Give a file its place, unless another process was faster."""
    try:
        os.link(beside, path)
    except FileExistsError:
        pass
    except OSError:  # no links on this disk
        os.replace(beside, path)


def write(path: Path, value: object) -> None:
    """Put JSON in its place at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps(value, indent=1, ensure_ascii=True)  # lone surrogates fit in, too
    beside.write_text(text + "\n", encoding="utf-8", newline="\n")
    os.replace(beside, path)
