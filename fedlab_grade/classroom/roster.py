"""Read the students of a class from a table of the instructor's."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fedlab_grade.classroom.people import CANVAS, MOODLE, Person, distinct, in_order, letters, tidy
from fedlab_grade.limited import limited
from fedlab_grade.options import Refusal
from fedlab_grade.textfile import Unusable, read_regular, text_of

TABLE = 64 << 20  # bytes
SHOWN = 4  # cells of a header in a message
_IDS = {
    "id", "studentid", "sid", "idnumber", "number", "matriculationnumber", "sisuserid",
    "sisloginid", "login", "loginid", "user", "username", "email", "emailaddress", "githubusername",
    "netid", "emplid", "orgdefinedid", "identifier",
}  # fmt: skip
_NAMES = ("name", "student", "fullname", "studentname")
_FIRST, _LAST = ("firstname", "givenname", "forename"), ("lastname", "surname", "familyname")
_LATE, _EXTENSION = ("late", "dayslate"), ("extension", "extensiondays")
_TEST = ("studenttest", "teststudent")  # with whom instructors try an assignment in Canvas
_STAFF = {"instructor", "ta", "reader"}  # of Gradescope's roster
KNOWN = "name (or first name and last name), id, login, email, student ID, SIS login ID, identifier"


def read_table(path: Path) -> tuple[list[tuple[int, list[str]]], str]:
    """Return the rows of a CSV file, each with the number of its last line, and the separator.

    The separator is named by a first line such as Excel's sep=; or else it is the comma, semicolon
    or tab that is most frequent in the first line. All rows have as many cells as the first.
    """
    try:
        rows, between = limited(_table, path)
    except Unusable as problem:
        raise Refusal(f"{path} {problem}.") from None
    return [(line, row) for line, row in rows], between


def _table(path: Path) -> tuple[list[tuple[int, list[str]]], str]:
    data = read_regular(path, TABLE)
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise Unusable('is a workbook: save it as "CSV UTF-8"')
    text = text_of(data)
    first = text.partition("\n")[0]
    said = re.fullmatch(r"sep=([,;\t])\s*", first, re.IGNORECASE)
    between = said[1] if said else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=between, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        rows += ((reader.line_num, row) for row in reader if any(map(str.strip, row)))
    except csv.Error as error:
        why = f"cannot be read from line {rows[-1][0] + 1 if rows else 1} on ({error})"
        raise Unusable(f"{why}: see whether a quote there is not closed") from None
    rows = rows[1:] if said else rows
    if not rows:
        raise Unusable("is empty")
    head = rows[0][1]  # which comes again where a table was put below another
    rows, width = [rows[0], *(r for r in rows[1:] if r[1] != head)], len(head)
    for line, row in rows:
        if any(map(str.strip, row[width:])):
            more = f"has more cells in line {line} than in its header ({width})"
            raise Unusable(f"{more}: a cell with {between!r} in it needs quotes")
    return [(line, [*row, *[""] * width][:width]) for line, row in rows], between


def read_roster(path: Path) -> list[Person]:
    """Return the students in a CSV file with a column of names, of ids, or both.

    Canvas's gradebook, Moodle's grading worksheet and Gradescope's roster are such files. Rows that
    are equal in name and first id, as of a student in two sections, are one student, up to case,
    accents and the order of names; the fewest days late and the longest extension count.
    Gradescope's roster also has those who teach, who are none.
    """
    rows, _ = read_table(path)
    (first, titles), *rest = rows
    head = [letters(cell) for cell in titles]
    if not _IDS.union(_NAMES, _LAST) & set(head):
        there = ", ".join(repr(tidy(cell)[:40]) for cell in titles[:SHOWN])
        raise Refusal(
            f"the roster {path} has no column that is known: line {first} has {there}. Known "
            f"are {KNOWN}."
        )
    for line, row in rest:
        if not is_maximum(row) and (why := _fault(head, row)):
            raise Refusal(f"the roster {path}, line {line}: {why}.")
    found: dict[object, Person] = {}
    for number, one in students(rows).items():
        # two of one name may be two students
        same = (one.key.casefold(), in_order(one.name) or one.name) if one.ids else number
        seen = found.get(same, one)
        days = min((d for d in (seen.days, one.days) if d is not None), default=None)
        extension = max(seen.extension, one.extension)
        ids = tuple(dict.fromkeys([*seen.ids, *one.ids]))
        found[same] = replace(seen, ids=ids, days=days, extension=extension)
    if not found:
        raise Refusal(f"the roster {path} lists no student.")
    return distinct([*found.values()])


def students(rows: Sequence[tuple[int, Sequence[str]]]) -> dict[int, Person]:
    """Return the number of each row below the head, from 0 -> its student."""
    head = [letters(cell) for cell in rows[0][1]]
    tables = {
        i: [(t, c) for t, cell in zip(head, row, strict=True) if (c := tidy(cell))]
        for i, (_, row) in enumerate(rows[1:])
        if not is_maximum(row)
    }
    # Canvas's gradebook, whose ID is a number of its own.
    of_canvas = {"id", "sisloginid"} <= {*head} or any(is_maximum(row) for _, row in rows[1:3])
    of_sis = any("sisuserid" in dict(cells) for cells in tables.values())
    found = {i: _student(cells, of_canvas, of_sis) for i, cells in tables.items()}
    return {i: one for i, one in found.items() if one}


def is_maximum(row: Sequence[str]) -> bool:
    """Return whether this is the row of Canvas's gradebook with the maximum points."""
    return "points possible" in row[0].lower()


def _fault(head: Sequence[str], row: Sequence[str]) -> str:
    """Return why a row cannot be what was meant, "" if it can."""
    for title, cell in zip(head, map(str.strip, row), strict=True):
        if "\n" in cell:
            return "a cell goes over several lines; see whether a quote is not closed"
        if title in _IDS and re.fullmatch(r"\d+([.,]\d+)?E\+\d+", cell, re.IGNORECASE):
            return f"{cell!r} is a number that a spreadsheet has cut short"
        if title in _LATE + _EXTENSION and not re.fullmatch(r"(\d{1,6}([.,]\d+)?)?", cell):
            return f"{cell!r} is no number of days"
    return ""


def _student(cells: list[tuple[str, str]], of_canvas: bool, of_sis: bool) -> Person | None:
    """Return the student of a row; None for one who teaches, or without a name and an id.

    Args:
        cells: title, as of `letters`, and text; of_sis: some rows have a SIS User ID.
    """

    def of(titles: Sequence[str]) -> list[str]:
        return [cell for title in titles for own, cell in cells if own == title]

    def days(titles: Sequence[str]) -> list[float]:
        found = (cell.replace(",", ".") for cell in of(titles))
        return [float(cell) for cell in found if re.fullmatch(r"\d+(\.\d+)?", cell)]

    ids: dict[str, str] = {}  # with a program's mark -> without it
    for title, cell in cells:
        number = re.fullmatch(r"\D+ ([0-9]+)", cell) if title == "identifier" else None
        if number:  # Moodle's worksheet says "Participant 12", and the names of files the same
            ids[f"{MOODLE}{number[1]}"] = number[1]
        elif title in _IDS and any(map(str.isalnum, cell)):
            plain = re.sub(r"^(\d+)\.0+$", r"\1", cell)  # of a column with gaps
            ids[f"{CANVAS}{plain}" if of_canvas and title == "id" else plain] = plain
    name = next(iter(of(_NAMES)), " ".join(of(_FIRST) + of(_LAST)))
    keys = [plain for own, plain in ids.items() if not own.startswith(MOODLE)]
    key = next(filter(None, [*keys, name, *ids.values()]), "")
    first = dict(reversed(cells))  # of two columns with one title
    if not key or first.get("role", "").casefold() in _STAFF:
        return None
    # In Canvas it has no SIS User ID, and a hash for a login.
    hashed = of_sis or re.fullmatch(r"[0-9a-f]{40}", first.get("sisloginid", ""))
    is_test = of_canvas and letters(name) in _TEST and "sisuserid" not in first and bool(hashed)
    late, extension = next(iter(days(_LATE)), None), sum(days(_EXTENSION))
    return Person(key, name or key, tuple(ids), days=late, extension=extension, is_test=is_test)
