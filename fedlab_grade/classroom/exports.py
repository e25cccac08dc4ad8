"""Write grades for other programs; a mark that is no verdict is not written.

Each function returns notes for the instructor: who has no mark, and what does not fit.
"""

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from math import isclose
from pathlib import Path
from typing import Any

from fedlab_grade.classroom.pages import told
from fedlab_grade.classroom.people import Person, matcher
from fedlab_grade.classroom.records import Record, State
from fedlab_grade.classroom.roster import is_maximum, read_table, students
from fedlab_grade.classroom.store import file_name
from fedlab_grade.classroom.tables import number
from fedlab_grade.disk import whole, write_json
from fedlab_grade.escape import line, plain
from fedlab_grade.options import Refusal
from fedlab_grade.run import Result

# The columns of Canvas's gradebook by which it knows a student; they go back as they came.
CANVAS_IDS = (
    "Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Integration ID",
    "Root Account", "Section",
)  # fmt: skip
# Canvas's words for an excused student, and for one without this assignment.
_NO_MARK = ("EX", "N/A")


def gradescope(records: Sequence[Record], folder: Path, show_hidden: bool = False) -> list[str]:
    """Write ``results.json`` of each student in a folder of their own.

    Its format asks for a score. A file that is not gradable yet has 0 as a whole, and the reason
    above everything else. A student without a mark has no file, nor has a submission that belongs
    to no student.
    """
    for record in records:
        no_mark = record.mark is None and record.state != State.NOT_GRADABLE
        if no_mark or not record.matched:
            continue
        why = "Nothing was handed in." if record.state == State.MISSING else ""
        if record.state == State.NOT_GRADABLE and record.mark is None:
            why = f"Not gradable yet, which counts as 0 here until it is: {record.problem}"
        result = {
            "score": record.mark or 0,
            "execution_time": round(sum(t.seconds for t in record.tests), 3),
            "tests": [_test(test, record, show_hidden) for test in record.tests],
            **_shown([why, *(f"Your instructor: {c}" for c in record.comments), *record.notes]),
        }
        write_json(folder / file_name(record.student) / "results.json", result)
    return _unsure(records)


def _test(test: Result, record: Record, show_hidden: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": line(f"{test.question} {test.aspect}"),
        "number": test.question,
        "max_score": test.points,
        **_shown(told(test, record.tests, show_hidden)),
    }
    if test.won is not None and record.mark is not None:
        out |= {"score": test.won, "status": "passed" if test.status == "passed" else "failed"}
    return out


def _shown(texts: Sequence[str]) -> dict[str, str]:
    text = plain("\n".join(texts).strip())
    return {"output": text, "output_format": "text", "visibility": "visible"}


def _unsure(records: Sequence[Record]) -> list[str]:
    return _without_mark([r.name for r in records if r.mark is None or not r.matched])


def _without_mark(names: Sequence[str]) -> list[str]:
    """Return a note on those who get no mark; by semicolons, since a name may hold a comma."""
    return [f"without a mark: {'; '.join(map(line, names))}"] if names else []


def nbgrader(records: Sequence[Record], database: Path) -> list[str]:
    """Write the marks to a gradebook of nbgrader, each question as an autograded cell.

    It adds up the questions: a mark of the whole, or what is taken off for being late, is told.
    The gradebook is written from scratch each time, because an old one has no place for the grades
    of a new question; where that fails, the old one stays.
    """
    try:
        api = import_module("nbgrader.api")
        with whole(database.resolve()) as beside, api.Gradebook(f"sqlite:///{beside}") as book:
            _fill(book, [record for record in records if record.matched])
    except ModuleNotFoundError:
        raise Refusal("nbgrader is missing: pip install nbgrader") from None
    except Exception as error:  # nbgrader's own, or of the library that it keeps its data with
        why = next(iter(str(error).splitlines()), "")
        if getattr(error, "filename", "") == "alembic":  # a program that comes with nbgrader
            why += ": activate the environment that nbgrader is installed in"
        raise Refusal(f"nbgrader cannot write {database}: {type(error).__name__}: {why}.") from None
    marked = (r for r in records if r.matched and r.mark is not None and r.mark != r.won)
    other = [f"{r.name} has {number(r.mark)} here and {number(r.won)} there" for r in marked]
    return [*_unsure(records), *map(line, other)]


def _fill(book: Any, known: Sequence[Record]) -> None:
    """Fill a gradebook; the cells first, because a submission gets grades for existing ones."""
    most = {q: sum(t.points for t in ts) for record in known for q, ts in record.questions.items()}
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
        if record.state in (State.MISSING, State.UNCLEAR):
            continue
        name = record.assignment
        book.update_or_create_submission(name, student)
        for question in most:
            judged = record.mark is not None and question in record.questions
            grade = book.find_grade(question, name, name, student)
            grade.auto_score = record.points(question) or 0 if judged else None
            grade.needs_manual_grade = not judged
        book.db.commit()


def fill(everyone: Sequence[Record], template: Path, out: Path, column: str = "") -> list[str]:
    """Fill in one column of Canvas's gradebook, or the grades in Moodle's worksheet.

    A cell stays as it came where there is no mark for it, since Canvas takes an empty one for a
    change, and where it says that the student is excused or not meant.

    Args:
        template: as the program exports it.
        column: of Canvas's gradebook; "" for the only one that begins with the assignment's name.
    """
    rows, between = read_table(template)
    head, *body = (row for _, row in rows)
    moodle = {"Identifier", "Grade"} <= set(head)
    if moodle:
        at, kept = head.index("Grade"), list(range(len(head)))
        possible = [row[head.index("Maximum Grade")] for row in body if "Maximum Grade" in head]
    else:
        at = _column(head, body, column or (everyone[0].assignment if everyone else ""), template)
        kept = [*(i for i, title in enumerate(head) if title in CANVAS_IDS), at]
        possible = [row[at] for row in body if is_maximum(row)]
    people = {i: one for i, one in students(rows).items() if not one.is_test}
    found = _matched(people, everyone)
    most = max((one.max for one in everyone), default=0.0)
    other = dict.fromkeys(cell for cell in possible if cell and everyone and not _same(cell, most))
    odd = [
        f"{template.name}: {cell} points are possible, and here it is {most:g}" for cell in other
    ]
    empty = []
    for i, row in enumerate(body):
        mark = found[i].mark if i in found else None
        if i in people and mark is None:
            empty.append(people[i].name)
        elif mark is not None and row[at].strip().upper() not in _NO_MARK:
            row[at] = number(mark)
        elif mark is not None and found[i].state != State.MISSING:
            odd.append(f"{found[i].name} has {number(mark)} here and {row[at]} there, which stays")
    with whole(out) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=between, lineterminator="\n")
        writer.writerows([row[j] for j in kept] for row in [head, *body])
    there = {record.student for record in found.values()}
    left = (r for r in everyone if r.student not in there)
    if absent := [line(r.name) for r in left if r.state not in (State.MISSING, State.UNCLEAR)]:
        odd.append(f"handed in, but not found in {template.name}: {'; '.join(absent)}")
    return [*_without_mark(empty), *map(line, odd)]


def _column(head: Sequence[str], body: Sequence[list[str]], column: str, template: Path) -> int:
    """Return the place of the column to fill: the one of this name, or that begins with it."""
    named = "Student" in head or {"LastName", "FirstName"} <= set(head)
    if not (named and {"ID", "Section"} <= set(head)):
        raise Refusal(
            f"{template} is no gradebook of Canvas, which has the columns Student (or LastName and "
            "FirstName), ID and Section, nor a worksheet of Moodle (Identifier, Grade)."
        )
    maxima = [row for row in body if is_maximum(row)]
    fixed = {t for row in maxima for t, c in zip(head, row, strict=True) if "read only" in c}
    free = [t for t in head if t not in CANVAS_IDS and t not in fixed]
    begin = [t for t in free if t.casefold().startswith(column.casefold())]
    fits = [t for t in free if t == column] or begin
    if len(fits) != 1:
        raise Refusal(f"name one column of {template} with --column; there are: {'; '.join(free)}.")
    return head.index(fits[0])


def _matched(people: Mapping[int, Person], everyone: Sequence[Record]) -> dict[int, Record]:
    """Map rows to records, without rows that fit several and students outside of the roster."""
    fits = matcher([replace(one, key=str(i)) for i, one in people.items()])
    claims = [(record, *fits(Person("", record.name, record.ids))) for record in everyone]
    times = Counter(one.key for _, both, some in claims for one in both or some)
    own = ((r, both[0].key) for r, both, _ in claims if r.matched and len(both) == 1)
    return {int(key): record for record, key in own if times[key] == 1}


def _same(text: str, value: float) -> bool:
    """Return whether a text is the number; Canvas writes 1,5 in some languages."""
    try:
        return isclose(float(text.replace(",", ".")), value, abs_tol=1e-9)
    except ValueError:
        return False
