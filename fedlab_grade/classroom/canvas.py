"""Grades in Canvas's gradebook; a mark that is no verdict is not written."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from fedlab_grade.assignment import Refusal
from fedlab_grade.classroom.people import CANVAS, by_name
from fedlab_grade.classroom.records import MISSING, Record
from fedlab_grade.classroom.roster import is_maximum, read_table
from fedlab_grade.classroom.tables import number
from fedlab_grade.escape import line

GRADEBOOK = 64 << 20  # bytes
# The columns of Canvas's gradebook by which it knows a student; they go back as they came.
CANVAS_IDS = (
    "Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Integration ID",
    "Root Account", "Section",
)  # fmt: skip
_SIS = ("SIS User ID", "SIS Login ID")
# What Canvas writes for a student who is excused, and for whom the assignment is not meant.
_NO_MARK = ("EX", "N/A")


@dataclass(frozen=True)
class _Row:
    """A student of Canvas's gradebook.

    Fields:
        name: the last name first, or both in a cell each.
        id: Canvas's own number; others: from the university.
    """

    cells: list[str]
    name: str
    id: str
    others: tuple[str, ...]


def fill(
    records: Iterable[Record], template: Path, out: Path, column: str = ""
) -> tuple[list[str], list[str]]:
    """Canvas's gradebook with one column filled in.

    A cell stays as it came where there is no mark for it, since Canvas takes an empty one for a
    change, and where it says that the student is excused or not meant.

    Args:
        template: as Canvas exports it, with commas or semicolons.
        column: its name; "" for the only one that begins with the assignment's name.

    Returns: who has no mark, being not in the class or not graded; and what else does not fit, as
        sentences.

    Raises:
        Refusal: the template cannot be read, or the column is not in it.
    """
    (head, *body), between = read_table(template, GRADEBOOK)
    named = "Student" in head or {"LastName", "FirstName"} <= set(head)
    if not (named and {"ID", "Section"} <= set(head)):
        raise Refusal(
            f"{template} is no gradebook of Canvas: it needs the columns Student (or LastName and "
            "FirstName), ID and Section, as Canvas exports them."
        )
    body = [[*row, *[""] * (len(head) - len(row))] for row in body]
    everyone = list(records)
    at = _column(head, body, column, everyone[0].assignment if everyone else "", template)
    keys = [i for i, title in enumerate(head) if title in CANVAS_IDS]
    rows = [_row(head, cells) for cells in body]
    found = _matched(rows, everyone)
    table, empty, odd = [[head[i] for i in [*keys, at]]], [], []
    for place, row in enumerate(rows):
        old = row.cells[at]
        mark = found[place].mark if place in found else None
        kept = old.strip().upper() in _NO_MARK
        if is_maximum(row.cells):
            most = everyone[0].max if everyone else None
            if most is not None and old and not _same(old, most):
                odd.append(f"Canvas says {old} points are possible, and here it is {most:g}")
        elif mark is None and row.name:
            empty.append(row.name)
        elif kept and found[place].state != MISSING:
            odd.append(f"{row.name} has {number(mark)} here and {old} in Canvas, which stays")
        table.append([*(row.cells[i] for i in keys), old if mark is None or kept else number(mark)])
    text = io.StringIO()
    csv.writer(text, delimiter=between, lineterminator="\n").writerows(table)
    out.write_text(text.getvalue(), encoding="utf-8")
    there = {record.student for record in found.values()}
    absent = [r.name for r in everyone if r.student not in there and r.state != MISSING]
    if absent:
        odd.append(f"handed in, but not found in this gradebook: {'; '.join(map(line, absent))}")
    return empty, odd


def _row(head: Sequence[str], cells: list[str]) -> _Row:
    about = dict(zip(head, cells, strict=False))
    name = about.get("Student", "") or f"{about.get('LastName', '')} {about.get('FirstName', '')}"
    others = tuple(about[title].casefold() for title in _SIS if about.get(title))
    return _Row(cells, name.strip(), about["ID"].strip(), others)


# A row -> for each clue that fits somebody, whom it fits, by key.
_Clues = Callable[[_Row], list[dict[str, Record]]]


def _matched(rows: Sequence[_Row], everyone: Sequence[Record]) -> dict[int, Record]:
    """Which row is whose; where two clues do not agree, or fit several, it is nobody's.

    Who has a number of Canvas's own goes by it alone. For others decides what the university calls
    them, as long as the name is not another one's; then the name; and at last, of whom no name is
    known, whether what they are called is Canvas's number.
    """
    named: dict[str, set[int]] = {}
    called = _called(everyone)
    for at, row in enumerate(rows):
        for student in called(row):
            named.setdefault(student, set()).add(at)
    found: dict[int, Record] = {}
    closed = {at for at, row in enumerate(rows) if is_maximum(row.cells)}
    taken: set[str] = set()
    for step in (_by_own_number, _by_university, _by_name, _by_number):
        look = step([r for r in everyone if r.student not in taken])
        clues = {at: look(row) for at, row in enumerate(rows) if at not in closed}
        claims = {at: _in_all(people) for at, people in clues.items() if people}
        times = Counter(student for people in claims.values() for student in people)
        for at, people in claims.items():
            closed.add(at)
            taken |= people.keys() or set().union(*clues[at])
            alone = [s for s in people if times[s] == 1 and at in named.get(s, {at})]
            if len(people) == len(alone) == 1:
                found[at] = people[alone[0]]
    return found


def _in_all(clues: Sequence[dict[str, Record]]) -> dict[str, Record]:
    return {key: r for key, r in clues[0].items() if all(key in clue for clue in clues)}


def _known(everyone: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """Id -> who has it. Who has none may be called by one."""
    out: dict[str, dict[str, Record]] = {}
    for record in everyone:
        for i in record.ids or (record.name,):
            out.setdefault(i.casefold(), {})[record.student] = record
    return out


def _own(record: Record) -> bool:
    return any(i.startswith(CANVAS) for i in record.ids)


def _by_own_number(everyone: list[Record]) -> _Clues:
    known = _known(everyone)
    return lambda row: _fitting(known.get(f"{CANVAS}{row.id}"))


def _by_university(everyone: list[Record]) -> _Clues:
    known = _known(r for r in everyone if not _own(r))
    called = _called(everyone)

    def look(row: _Row) -> list[dict[str, Record]]:
        clues = _fitting(*map(known.get, row.others))
        return [*clues, *_fitting(called(row))] if clues else []

    return look


def _by_name(everyone: list[Record]) -> _Clues:
    called = _called(everyone)

    def look(row: _Row) -> list[dict[str, Record]]:
        same = called(row)
        return _fitting(same, {key: r for key, r in same.items() if row.id in r.ids})

    return look


def _by_number(everyone: list[Record]) -> _Clues:
    known = _known(r for r in everyone if not _own(r) and r.name in (r.ids or (r.name,)))
    return lambda row: _fitting(known.get(row.id))


def _fitting(*clues: dict[str, Record] | None) -> list[dict[str, Record]]:
    return [clue for clue in clues if clue]


def _called(everyone: Iterable[Record]) -> Callable[[_Row], dict[str, Record]]:
    """A row -> those of its name, without those who go by a number of Canvas's."""
    others = [(by_name(r.name), r) for r in everyone if not _own(r)]

    def called(row: _Row) -> dict[str, Record]:
        names = by_name(row.name)
        return {r.student: r for known, r in others if known & names}

    return called


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
