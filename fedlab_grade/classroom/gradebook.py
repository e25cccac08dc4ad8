"""Fill in grade files of Canvas and Moodle; a mark that is no verdict is not written."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path

from fedlab_grade.classroom.matching import matcher
from fedlab_grade.classroom.people import Person, letters
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
    """
    rows, between = read_table(template)
    head = rows[0][1]
    body = [[*row, *[""] * (len(head) - len(row))] for _, row in rows[1:]]
    everyone = list(records)
    moodle = {"Identifier", "Grade"} <= set(head)
    if moodle:
        at, kept = head.index("Grade"), list(range(len(head)))
    else:
        at = _column(head, body, column or (everyone[0].assignment if everyone else ""), template)
        kept = [*(i for i, title in enumerate(head) if title in CANVAS_IDS), at]
    titles = [letters(title) for title in head]
    read = {i: student(titles, row, not moodle) for i, row in enumerate(body)}
    people = {i: one for i, one in read.items() if one and not is_maximum(body[i])}
    found = _matched(people, everyone)
    empty, odd = [], []
    for i, row in enumerate(body):
        mark = found[i].mark if i in found else None
        if is_maximum(row) and everyone and row[at] and not _same(row[at], everyone[0].max):
            most = f"{everyone[0].max:g}"
            odd.append(f"Canvas says {row[at]} points are possible, and here it is {most}")
        elif i in people and mark is None:
            empty.append(people[i].name)
        elif mark is not None and row[at].strip().upper() not in _NO_MARK:
            row[at] = number(mark)
        elif mark is not None and found[i].state != MISSING:
            odd.append(f"{found[i].name} has {number(mark)} here and {row[at]} there, which stays")
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=between, lineterminator="\n")
        writer.writerows([row[j] for j in kept] for row in [head, *body])
    there = {record.student for record in found.values()}
    left = (r for r in everyone if r.student not in there)
    if absent := [line(r.name) for r in left if r.state not in (MISSING, UNCLEAR)]:
        odd.append(f"handed in, but not found in {template.name}: {'; '.join(absent)}")
    return empty, odd


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
    """Return which row is whose; a row that fits several students is left out."""
    fits = matcher([replace(one, key=str(i)) for i, one in people.items()])
    claims = [(record, *fits(Person("", record.name, record.ids))) for record in everyone]
    times = Counter(one.key for _, _, some in claims for one in some)
    own = ((record, both[0].key) for record, both, _ in claims if len(both) == 1)
    return {int(key): record for record, key in own if times[key] == 1}


def _same(text: str, value: float) -> bool:
    """Whether they are equal; Canvas writes a comma in some languages."""
    try:
        return isclose(float(text.replace(",", ".")), value, abs_tol=1e-9)
    except ValueError:
        return False
