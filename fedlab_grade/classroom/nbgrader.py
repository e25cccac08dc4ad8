"""Write grades to a gradebook of nbgrader; a mark that is no verdict is not written."""

import os
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from fedlab_grade.classroom.records import MISSING, UNCLEAR, Record
from fedlab_grade.classroom.store import file_name
from fedlab_grade.escape import line
from fedlab_grade.options import Refusal


def write(records: Iterable[Record], database: Path) -> list[str]:
    """Write the marks to a gradebook of nbgrader, each question as an autograded cell.

    The gradebook is written from scratch each time, because an old one has no place for the grades
    of a new question. Notes made in it by hand are lost: keep them in a copy.

    Returns: the names of those without a mark, to be graded by hand.

    Raises:
        Refusal: nbgrader is not installed, or fails; an earlier gradebook stays as it is.
    """
    everyone = list(records)
    known = [record for record in everyone if record.matched]
    beside = database.resolve().with_name(f".{os.getpid()}.{database.name}")
    try:
        api = import_module("nbgrader.api")
        beside.unlink(missing_ok=True)
        with api.Gradebook(f"sqlite:///{beside}") as book:
            cells = _cells(book, known)
            for record in known:
                _enter(book, record, cells[record.assignment])
        os.replace(beside, database)
    except ModuleNotFoundError:
        raise Refusal(
            "this needs nbgrader, which is no part of the kit: pip install nbgrader"
        ) from None
    except Exception as error:  # nbgrader's own, or of the library that it keeps its data with
        why = next(iter(str(error).splitlines()), "")
        if getattr(error, "filename", "") == "alembic":  # a program that comes with nbgrader
            why += ": activate the environment that nbgrader is installed in"
        raise Refusal(f"nbgrader cannot write {database}: {type(error).__name__}: {why}.") from None
    finally:
        beside.unlink(missing_ok=True)
    return [r.name for r in everyone if r.mark is None or not r.matched]


def _cells(book: Any, everyone: Iterable[Record]) -> dict[str, dict[str, float]]:
    """Make the cells of each assignment: nbgrader gives grades to those that a submission finds.

    Returns: assignment -> question -> its points.
    """
    out: dict[str, dict[str, float]] = {}
    for record in everyone:
        points = {q: sum(t.max for t in tests) for q, tests in record.questions.items()}
        out.setdefault(record.assignment, {}).update(points)
    for name, cells in out.items():
        book.update_or_create_assignment(name)
        book.update_or_create_notebook(name, name)
        for question, most in cells.items():
            book.update_or_create_grade_cell(question, name, name, max_score=most, cell_type="code")
    return out


def _enter(book: Any, record: Record, cells: Iterable[str]) -> None:
    """Put a student in, and the submission if there is one."""
    name, student = record.assignment, _key(record.student)
    book.update_or_create_student(student, last_name=line(record.name))
    if record.state in (MISSING, UNCLEAR):
        return
    book.update_or_create_submission(name, student)
    for question in cells:
        tests = record.questions.get(question, ())
        judged = record.mark is not None and bool(tests)
        grade = book.find_grade(question, name, name, student)
        grade.auto_score = sum(t.points or 0 for t in tests) if judged else None
        grade.needs_manual_grade = not judged
    book.db.commit()


def _key(student: str) -> str:
    """Return nbgrader's name of a student, which becomes a folder."""
    return student if re.fullmatch(r"\w[\w.@-]{0,63}", student) else file_name(student)
