"""Grades in the gradebooks of Canvas and nbgrader; a mark that is no verdict stays empty."""

import csv
import io
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.escape import line
from fedlab_edu.grading.store import MISSING, Record
from fedlab_edu.grading.tables import as_csv, number
from fedlab_edu.grading.unpack import Unusable, read_regular, text_of

# The columns of Canvas's gradebook by which it knows a student; they go back as they came.
CANVAS_IDS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Section")


def canvas(records: Iterable[Record], template: Path, out: Path, column: str = "") -> list[str]:
    """Canvas's gradebook with one column filled in.

    Args:
        template: as Canvas exports it.
        column: its name; "" for the only one that begins with the assignment's name.

    Returns: those who have no mark: in the template but not in the class, and who is not graded.

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
    name = everyone[0].assignment if everyone else ""
    at = _column(head, column, name, template)
    keys = [i for i, title in enumerate(head) if title in CANVAS_IDS]
    known = {i.casefold(): r for r in everyone for i in (*r.ids, r.student)}
    names = {line(r.name).casefold(): r for r in everyone}
    table, empty = [[head[i] for i in [*keys, at]]], []
    for row in rows[1:]:
        row = [*row, *[""] * (len(head) - len(row))]
        kept = [row[i] for i in keys]
        if "points possible" in row[head.index("Student")].lower():
            table.append([*kept, row[at]])
            continue
        ids = [row[head.index(t)] for t in CANVAS_IDS[1:4] if t in head]
        found = next((known[i.casefold()] for i in ids if i and i.casefold() in known), None)
        found = found or names.get(row[head.index("Student")].casefold())
        mark = found.mark if found else None
        if mark is None and row[head.index("Student")]:
            empty.append(row[head.index("Student")])
        table.append([*kept, number(mark)])
    out.write_text(as_csv(table), encoding="utf-8")
    return empty


def _column(head: list[str], column: str, name: str, template: Path) -> int:
    fits = (
        [t for t in head if t == column]
        if column
        else [t for t in head if t not in CANVAS_IDS and t.casefold().startswith(name.casefold())]
    )
    if len(fits) != 1:
        others = ", ".join(t for t in head if t not in CANVAS_IDS)
        raise Refusal(f"name one column of {template} with --column; there are: {others}.")
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
