"""Write grades for Gradescope and nbgrader; a mark that is no verdict is not written.

Both functions return the names of those without a mark.
"""

import json
import os
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from fedlab_grade.classroom.pages import told
from fedlab_grade.classroom.records import MISSING, NOT_GRADABLE, UNCLEAR, UNGRADED, Outcome, Record
from fedlab_grade.classroom.store import file_name
from fedlab_grade.escape import line, plain
from fedlab_grade.options import Refusal


def gradescope(records: Iterable[Record], folder: Path, show_hidden: bool = False) -> list[str]:
    """Write ``results.json`` of each student in a folder of their own.

    Its format asks for a score. A file that is not gradable yet has 0 as a whole, and the reason
    above everything else. A student who is ungraded has no file, nor has a submission that belongs
    to no student.
    """
    unsure = []
    for record in records:
        if record.mark is None or not record.matched:
            unsure.append(record.name)
        if record.state in (UNGRADED, UNCLEAR) or not record.matched:
            continue
        why = {
            NOT_GRADABLE: f"Not gradable yet, which counts as 0 here until it is: {record.problem}",
            MISSING: "Nothing was handed in.",
        }.get(record.state, "")
        result = {
            "score": record.mark or 0,
            "output": plain("\n".join([why, *record.notes]).strip()),
            "output_format": "text",
            "visibility": "visible",
            "execution_time": round(sum(t.seconds for t in record.tests), 3),
            "tests": [_gradescope(test, record, show_hidden) for test in record.tests],
        }
        path = folder / file_name(record.student) / "results.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return unsure


def _gradescope(test: Outcome, record: Record, show_hidden: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": line(f"{test.question} {test.aspect}"),
        "number": test.question,
        "max_score": test.max,
        "output": plain("\n".join(told(test, record.tests, show_hidden))),
        "output_format": "text",
        "visibility": "visible",
    }
    if test.points is not None and record.mark is not None:
        out |= {"score": test.points, "status": "passed" if test.status == "passed" else "failed"}
    return out


def nbgrader(records: Iterable[Record], database: Path) -> list[str]:
    """Write the marks to a gradebook of nbgrader, each question as an autograded cell.

    The gradebook is written from scratch each time, because an old one has no place for the grades
    of a new question; where that fails, the old one stays.
    """
    everyone = list(records)
    beside = database.resolve().with_name(f".{os.getpid()}.{database.name}")
    try:
        api = import_module("nbgrader.api")
        beside.unlink(missing_ok=True)
        with api.Gradebook(f"sqlite:///{beside}") as book:
            _fill(book, [record for record in everyone if record.matched])
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


def _fill(book: Any, known: Iterable[Record]) -> None:
    """Make the cells first: nbgrader gives grades to those that a submission finds."""
    known = list(known)
    most = {q: sum(t.max for t in ts) for record in known for q, ts in record.questions.items()}
    for name in {record.assignment for record in known}:
        book.update_or_create_assignment(name)
        book.update_or_create_notebook(name, name)
        for question, points in most.items():
            book.update_or_create_grade_cell(
                question, name, name, max_score=points, cell_type="code"
            )
    for record in known:
        # The name becomes a folder there.
        plain_name = re.fullmatch(r"\w[\w.@-]{0,63}", record.student)
        student = record.student if plain_name else file_name(record.student)
        book.update_or_create_student(student, last_name=line(record.name))
        if record.state in (MISSING, UNCLEAR):
            continue
        name = record.assignment
        book.update_or_create_submission(name, student)
        for question in most:
            judged = record.mark is not None and question in record.questions
            grade = book.find_grade(question, name, name, student)
            grade.auto_score = record.points(question) or 0 if judged else None
            grade.needs_manual_grade = not judged
        book.db.commit()
