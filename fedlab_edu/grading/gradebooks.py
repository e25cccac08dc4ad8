"""Grades in the gradebooks of Canvas and nbgrader; a mark that is no verdict stays empty."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from math import isclose
from pathlib import Path

from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.downloads import Person, by_name
from fedlab_edu.grading.escape import line
from fedlab_edu.grading.store import MISSING, Record
from fedlab_edu.grading.tables import as_csv, number
from fedlab_edu.grading.unpack import Unusable, read_regular, text_of

# The columns of Canvas's gradebook by which it knows a student; they go back as they came.
CANVAS_IDS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Section")


def canvas(
    records: Iterable[Record], template: Path, out: Path, column: str = ""
) -> tuple[list[str], list[str]]:
    """Canvas's gradebook with one column filled in.

    Args:
        template: as Canvas exports it.
        column: its name; "" for the only one that begins with the assignment's name.

    Returns: who has no mark, being not in the class or not graded; and what else does not fit, as
        sentences.

    Raises:
        Refusal: the template cannot be read, or the column is not in it.
    """
    try:
        rows = list(csv.reader(io.StringIO(text_of(read_regular(template, 64 << 20)))))
    except (Unusable, csv.Error) as error:
        raise Refusal(f"{template} {error}.") from None
    head = rows[0] if rows else []
    if "ID" not in head or "Student" not in head:
        raise Refusal(f"{template} is no gradebook of Canvas: it has no columns Student and ID.")
    everyone = list(records)
    body = [[*row, *[""] * (len(head) - len(row))] for row in rows[1:]]
    at = _column(head, body, column, everyone[0].assignment if everyone else "", template)
    keys = [i for i, title in enumerate(head) if title in CANVAS_IDS]
    student = head.index("Student")
    found = _matched(head, body, everyone)
    table, empty, odd = [[head[i] for i in [*keys, at]]], [], []
    for place, row in enumerate(body):
        kept = [row[i] for i in keys]
        if _is_maximum(row[student]):
            table.append([*kept, row[at]])
            most = everyone[0].max if everyone else None
            if most is not None and row[at] and not _same(row[at], most):
                odd.append(f"Canvas says {row[at]} points are possible, and here it is {most:g}")
            continue
        mark = found[place].mark if place in found else None
        if mark is None and row[student]:
            empty.append(row[student])
        table.append([*kept, number(mark)])
    out.write_text(as_csv(table), encoding="utf-8")
    there = {record.student for record in found.values()}
    absent = [r.name for r in everyone if r.student not in there and r.state != MISSING]
    if absent:
        odd.append(f"handed in, but not in this gradebook: {'; '.join(map(line, absent))}")
    return empty, odd


def _matched(head: list[str], body: list[list[str]], everyone: list[Record]) -> dict[int, Record]:
    """Which row is whose: by id, and of the rest by name where only one row and one record fit."""
    known = {i.casefold(): r for r in everyone for i in (*r.ids, r.student)}
    columns = [head.index(title) for title in CANVAS_IDS[1:4] if title in head]
    found: dict[int, Record] = {}
    for at, row in enumerate(body):
        ids = [row[i].casefold() for i in columns]
        if one := next((known[i] for i in ids if i and i in known), None):
            found[at] = one
    taken = {record.student for record in found.values()}
    left = [(r, by_name(Person(r.student, r.name, r.ids))) for r in everyone]
    left = [(r, names) for r, names in left if r.student not in taken]
    fits: dict[int, list[Record]] = {}
    for at, row in enumerate(body):
        name = row[head.index("Student")]
        if at not in found and name and not _is_maximum(name):
            turned = by_name(Person("", name))
            fits[at] = [record for record, names in left if names & turned]
    times = Counter(record.student for records in fits.values() for record in records)
    alone = {at: rs[0] for at, rs in fits.items() if len(rs) == 1 and times[rs[0].student] == 1}
    return found | alone


def _is_maximum(student: str) -> bool:
    """Whether this row says how many points there are."""
    return "points possible" in student.lower()


def _same(text: str, value: float) -> bool:
    try:
        return isclose(float(text), value, abs_tol=1e-9)
    except ValueError:
        return False


def _column(head: list[str], body: list[list[str]], column: str, name: str, template: Path) -> int:
    fixed = {
        title
        for row in body
        if _is_maximum(row[head.index("Student")])
        for title, cell in zip(head, row, strict=False)
        if "read only" in cell.lower()
    }
    free = [t for t in head if t not in CANVAS_IDS and t not in fixed]
    fits = (
        [t for t in free if t == column]
        if column
        else [t for t in free if t.casefold().startswith(name.casefold())]
    )
    if len(fits) != 1:
        raise Refusal(f"name one column of {template} with --column; there are: {'; '.join(free)}.")
    return head.index(fits[0])


def nbgrader(records: Iterable[Record], database: Path) -> list[str]:
    """The marks in a gradebook of nbgrader's, each question a cell that was graded by itself.

    Returns: who keeps an empty mark, to be graded by hand.

    Raises:
        Refusal: nbgrader is not installed.
    """
    try:
        api = import_module("nbgrader.api")
    except ModuleNotFoundError:
        raise Refusal(
            "this needs nbgrader, which is no part of the kit: pip install nbgrader"
        ) from None
    unsure = []
    with api.Gradebook(f"sqlite:///{database.resolve()}") as book:
        for record in records:
            name = record.assignment
            book.update_or_create_assignment(name)
            book.update_or_create_notebook(name, name)
            for question, tests in record.questions.items():
                most = sum(t.max for t in tests)
                book.update_or_create_grade_cell(
                    question, name, name, max_score=most, cell_type="code"
                )
            student = _key(record)
            book.update_or_create_student(student, last_name=line(record.name))
            if record.state == MISSING:
                continue
            book.update_or_create_submission(name, student)
            for question, tests in record.questions.items():
                grade = book.find_grade(question, name, name, student)
                judged = record.mark is not None
                grade.auto_score = sum(t.points or 0 for t in tests) if judged else None
                grade.needs_manual_grade = not judged
            if record.mark is None:
                unsure.append(record.name)
            book.db.commit()
    return unsure


def _key(record: Record) -> str:
    """What nbgrader calls the student: it makes folders of it."""
    return re.sub(r"[^\w.@-]", "_", record.student)
