"""The grades of an assignment on the disk: one JSON per student, and one for the class.

    OUT/class.json            the assignment, its tests, and everyone in order
    OUT/grades/NAME-HASH.json what became of one student's submission
    OUT/secret                what hidden inputs are drawn from; keep it to grade again alike
    OUT/changes.csv           marks that the instructor changes by hand, and comments for students

Each file is written in full beside its place and then put there, so that a killed run leaves whole
files only. No command writes ``changes.csv`` once it is there, so that changes survive grading
again. A row of it names a student, perhaps a question, and the new points, a comment, or both;
points without a question are the mark of the whole.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from fedlab_grade.classroom.people import Person, letters, matcher
from fedlab_grade.classroom.records import ClassList, Record, State
from fedlab_grade.classroom.roster import read_table
from fedlab_grade.disk import write_json, write_text
from fedlab_grade.escape import line
from fedlab_grade.options import Refusal
from fedlab_grade.run import Result, by_question

HEAD = ("student", "question", "points", "comment")  # of changes.csv

Changes = dict[str, tuple[dict[str, float], tuple[str, ...]]]  # student -> points, comments
_T = TypeVar("_T", ClassList, Record)


def file_name(student: str) -> str:
    """Return the stem of a student's files, safe on any disk whatever the key."""
    short = re.sub(r"[^A-Za-z0-9]+", "-", student)[:40].strip("-")
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{short}-{digest}".lstrip("-")


class Store:
    """The folder of one assignment's grades."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, about: ClassList) -> None:
        """Write the list of the class and the tests, before anything is graded."""
        self.tested(about.assignment, about.passed)  # it refuses another assignment
        people = tuple(replace(one, paths=()) for one in about.people)
        write_json(self.folder / "class.json", asdict(replace(about, people=people)))
        if not (self.folder / "changes.csv").exists():
            write_text(self.folder / "changes.csv", f"{','.join(HEAD)}\n", "utf-8-sig")

    def tested(self, assignment: str, passed: str) -> tuple[Result, ...]:
        """Return the tests if the solution has passed these very tests before, else none."""
        if not (self.folder / "class.json").exists():
            return ()
        earlier = self.read_class()
        if earlier.assignment != assignment:
            raise Refusal(
                f"{self.folder} holds the grades of {earlier.assignment}: "
                "name another folder with --out."
            )
        return earlier.tests if earlier.passed == passed else ()

    def read_class(self) -> ClassList:
        """Return what `begin` wrote."""
        path = self.folder / "class.json"
        if not path.exists():
            raise Refusal(f"{self.folder} holds no grades: run fedlab-edu grade first.")
        if (found := _read(ClassList, path)) is None:
            raise Refusal(
                f"{path} is broken or of another version: delete it and run fedlab-edu grade "
                "again; the grades beside it are kept."
            )
        return found

    def secret(self) -> str:
        """Return the seed of hidden inputs, the same for all students and every time."""
        path = self.folder / "secret"
        if not path.exists():
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            new = secrets.token_hex(16)
            with suppress(FileExistsError):  # another process was faster
                place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(place, "w") as file:
                    file.write(new)
        found = path.read_text("utf-8", errors="replace").strip()
        if len(found) < 16:
            raise Refusal(f"{path} is empty or broken: put the old one back, or delete it.")
        return found

    def path(self, student: str) -> Path:
        return self.folder / "grades" / f"{file_name(student)}.json"

    def write(self, record: Record) -> None:
        write_json(self.path(record.student), asdict(record))

    def read(self, student: str) -> Record | None:
        """Return a student's record; None where there is none of this version."""
        return _record(self.path(student))

    def records(self) -> Iterator[Record]:
        """Yield everyone of the class in order, with the changes by hand.

        A student without a record of these tests is ungraded.
        """
        about = self.read_class()
        by_hand = self.changes(about.people, list(by_question(about.tests)))
        for one in about.people:
            record = self.read(one.key)
            if record is None or record.tests_sha256 != about.tests_sha256:
                why = "grading was stopped before it came to this submission"
                record = Record(
                    one.key, one.name, one.ids, about.assignment, State.UNGRADED, about.tests, why,
                    late=one.late, matched=one.matched,
                )  # fmt: skip
            points, comments = by_hand.get(one.key, ({}, ()))
            penalty = 0.0 if "" in points else record.penalty
            yield replace(record, changed=points, comments=comments, penalty=penalty)

    def changes(self, people: Sequence[Person], questions: Sequence[str]) -> Changes:
        """Return the changes: student -> new points by question ("" for all), and comments."""
        path = self.folder / "changes.csv"
        if not path.exists():
            return {}
        (_, head), *rows = read_table(path)[0]
        titles = [letters(title) for title in head]
        if not {"student"} <= set(titles) <= set(HEAD):
            raise Refusal(f"{path} has the columns {', '.join(head)}; allowed: {', '.join(HEAD)}.")
        fits = matcher(people)
        out: Changes = {}
        for number, row in rows:
            cells = dict.fromkeys(HEAD, "") | dict(zip(titles, map(str.strip, row), strict=True))
            label, question, points, comment = (cells[title] for title in HEAD)
            found = [one for one in people if one.key == label] or fits(Person("", label))[0]
            wanted = re.fullmatch(r"(\d{1,6}([.,]\d{1,6})?)?", points)
            marks, comments = out.get(found[0].key, ({}, ())) if found else ({}, ())
            for ok, what, seen, allowed in (
                (len(found) == 1, "student", label, "a name or an id of one student of the class"),
                (question in ("", *questions), "question", question, ", ".join(questions)),
                (wanted and (points or comment), "points", points, "a number, or a comment"),
                (not points or question not in marks, "question", question, "points in one row"),
            ):
                if not ok:
                    said = f"the {what} is {seen!r}; allowed: {allowed}"
                    raise Refusal(f"{path}, line {number}: {said}.")
            if points:
                marks[question] = float(points.replace(",", "."))
            if comment:
                comments = (*comments, line(f"{question}: {comment}" if question else comment))
            out[found[0].key] = marks, comments
        return out

    def left_over(self) -> list[tuple[str, Path]]:
        """Return name and file of each record whose student is no longer in the class."""
        here = {self.path(one.key) for one in self.read_class().people}
        others = sorted(p for p in (self.folder / "grades").glob("*.json") if p not in here)
        found = [(_record(path), path) for path in others]
        return [(record.name if record else path.stem, path) for record, path in found]


def _fields(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a class list or a record, with tuples for JSON's lists."""
    parts = {"tests": Result, "people": Person}
    return {
        name: value if not isinstance(value, list)
        else tuple(parts[name](**_fields(one)) if name in parts else one for one in value)
        for name, value in found.items()
    }  # fmt: skip


def _read(kind: type[_T], path: Path) -> _T | None:
    """Return what a file holds; None if it is broken or of another version."""
    try:
        found = kind(**_fields(json.loads(path.read_bytes())))
    except (ValueError, TypeError, AttributeError):
        return None
    return found if found.schema == kind.schema else None


def _record(path: Path) -> Record | None:
    try:
        return _read(Record, path)
    except OSError:  # missing, or unreadable: that costs one student's mark, not the class's report
        return None
