"""Fill in grade files of Canvas and Moodle; a mark that is no verdict is not written."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isclose
from pathlib import Path

from fedlab_grade.classroom.matching import matcher
from fedlab_grade.classroom.people import Person, distinct, letters
from fedlab_grade.classroom.records import MISSING, UNCLEAR, Record
from fedlab_grade.classroom.roster import is_maximum, read_table, student
from fedlab_grade.classroom.tables import number
from fedlab_grade.escape import line
from fedlab_grade.options import Refusal

# The columns of Canvas's gradebook by which it knows a student; they go back as they came.
CANVAS_IDS = (
    "Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Integration ID",
    "Root Account", "Section",
)  # fmt: skip
# Canvas's words for an excused student, and for one without this assignment.
_NO_MARK = ("EX", "N/A")


def fill(
    records: Iterable[Record], template: Path, out: Path, column: str = ""
) -> tuple[list[str], list[str]]:
    """Fill in one column of Canvas's gradebook, or the grades in Moodle's worksheet.

    A cell stays as it came where there is no mark for it, since Canvas takes an empty one for a
    change, and where it says that the student is excused or not meant.

    Args:
        template: as the program exports it.
        column: of Canvas's gradebook; "" for the only one that begins with the assignment's name.

    Returns: who has no mark, being not in the class or not graded; and what else does not fit, as
        sentences.

    Raises:
        Refusal: the template cannot be read, or the column is not in it.
    """
    rows, between = read_table(template)
    (_, head), *rest = rows
    body = [[*row, *[""] * (len(head) - len(row))] for _, row in rest]
    everyone = list(records)
    if {"Identifier", "Grade"} <= set(head):
        at, keys, of_canvas = head.index("Grade"), list(range(len(head))), False
        keys.remove(at)
    else:
        _check_canvas(head, template)
        name = everyone[0].assignment if everyone else ""
        at, of_canvas = _column(head, body, column, name, template), True
        keys = [i for i, title in enumerate(head) if title in CANVAS_IDS]
    titles = [letters(title) for title in head]
    people = [None if is_maximum(row) else student(titles, row, of_canvas) for row in body]
    found = _matched(people, everyone)
    order = sorted([*keys, at]) if not of_canvas else [*keys, at]
    table, empty, odd = [[head[i] for i in order]], [], []
    for place, row in enumerate(body):
        old, person = row[at], people[place]
        mark = found[place].mark if place in found else None
        kept = old.strip().upper() in _NO_MARK
        if is_maximum(row):
            most = everyone[0].max if everyone else None
            if most is not None and old and not _same(old, most):
                odd.append(f"Canvas says {old} points are possible, and here it is {most:g}")
        elif mark is None and person:
            empty.append(person.name)
        elif kept and found[place].state != MISSING:
            odd.append(f"{found[place].name} has {number(mark)} here and {old} there, which stays")
        new = [*row]
        new[at] = old if mark is None or kept else number(mark)
        table.append([new[i] for i in order])
    text = io.StringIO()
    csv.writer(text, delimiter=between, lineterminator="\n").writerows(table)
    out.write_text(text.getvalue(), encoding="utf-8")
    there = {record.student for record in found.values()}
    left = (r for r in everyone if r.student not in there)
    absent = [r.name for r in left if r.state not in (MISSING, UNCLEAR)]
    if absent:
        odd.append(f"handed in, but not found in {template.name}: {'; '.join(map(line, absent))}")
    return empty, odd


def _check_canvas(head: Sequence[str], template: Path) -> None:
    named = "Student" in head or {"LastName", "FirstName"} <= set(head)
    if not (named and {"ID", "Section"} <= set(head)):
        raise Refusal(
            f"{template} is no gradebook of Canvas, which has the columns Student (or LastName and "
            "FirstName), ID and Section, nor a worksheet of Moodle (Identifier, Grade)."
        )


def _matched(people: Sequence[Person | None], everyone: Sequence[Record]) -> dict[int, Record]:
    """Return which row is whose; a row that fits several students is left out."""
    known = [(place, one) for place, one in enumerate(people) if one]
    rows = distinct(one for _, one in known)
    places = {one.key: place for one, (place, _) in zip(rows, known, strict=True)}
    fits = matcher(rows)
    claims = {r.student: fits(Person(r.student, r.name, r.ids)) for r in everyone}
    times = Counter(one.key for _, some in claims.values() for one in some)
    out = {}
    for record in everyone:
        fit, _ = claims[record.student]
        if len(fit) == 1 and times[fit[0].key] == 1:
            out[places[fit[0].key]] = record
    return out


def _same(text: str, value: float) -> bool:
    """Whether they are equal; Canvas writes a comma in some languages."""
    try:
        return isclose(float(text.replace(",", ".")), value, abs_tol=1e-9)
    except ValueError:
        return False


def _column(head: list[str], body: list[list[str]], column: str, name: str, template: Path) -> int:
    fixed = {
        title
        for row in body
        if is_maximum(row)
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
