"""Read the students of a class from a table of the instructor's."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fedlab_grade.classroom.people import CANVAS, MOODLE, Person, by_name, distinct, letters, tidy
from fedlab_grade.options import Refusal
from fedlab_grade.textfile import Unusable, read_regular, text_of

TABLE = 64 << 20  # bytes
SHOWN = 4  # cells of a header in a message
_IDS = {
    "id", "studentid", "sid", "idnumber", "number", "matriculationnumber", "sisuserid",
    "sisloginid", "login", "loginid", "user", "username", "email", "emailaddress", "githubusername",
    "netid", "emplid", "orgdefinedid", "identifier",
}  # fmt: skip
_NAMES = {"name", "student", "fullname", "studentname"}
_FIRST, _LAST = {"firstname", "givenname", "forename"}, {"lastname", "surname", "familyname"}
_LATE, _EXTENSION = {"late", "dayslate"}, {"extension", "extensiondays"}
KNOWN = "name (or first name and last name), id, login, email, student ID, SIS login ID, identifier"


def read_table(path: Path) -> tuple[list[tuple[int, list[str]]], str]:
    """Return the rows of a CSV file, each with its last line, and what stands between cells.

    That is the comma, semicolon or tab that is most frequent in the first line, or what Excel's
    first line ``sep=;`` says.

    Raises:
        Refusal: it cannot be read, is empty, or a quote in it is not closed.
    """
    try:
        data = read_regular(path, TABLE)
        if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
            raise Unusable('is a workbook: save it as "CSV UTF-8"')
        text = text_of(data)
    except Unusable as problem:
        raise Refusal(f"{path} {problem}.") from None
    first, _, rest = text.partition("\n")
    if told := re.fullmatch(r'"?sep=([,;\t])"?,*', first.strip(" "), re.IGNORECASE):
        between, text = told[1], f"\n{rest}"
    else:
        between = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=between, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            if any(map(str.strip, row)):
                rows.append((reader.line_num, row))
    except csv.Error as error:
        last = rows[-1][0] + 1 if rows else 1
        why = f"cannot be read from line {last} on ({error})"
        raise Refusal(f"{path} {why}: see whether a quote there is not closed.") from None
    if not rows:
        raise Refusal(f"{path} is empty.")
    return rows, between


def read_roster(path: Path) -> list[Person]:
    """Return the students in a CSV file with a column of names, of ids, or both.

    Canvas's gradebook, Moodle's grading worksheet and Gradescope's roster are such files. Rows that
    are equal in name and first id, as of a student in two sections, are one student. Canvas's
    student for tests is left out.

    Raises:
        Refusal: it cannot be read; no column is known; or a row is not what was meant, as with a
            comma in a name without quotes.
    """
    rows, between = read_table(path)
    head = [letters(cell) for cell in rows[0][1]]
    if not set(head) & (_IDS | _NAMES | _LAST):
        there = ", ".join(repr(tidy(cell)[:40]) for cell in rows[0][1][:SHOWN])
        raise Refusal(
            f"the roster {path} has no column that is known: line {rows[0][0]} has {there}. Known "
            f"are {KNOWN}."
        )
    of_canvas = is_canvas(rows)
    found: dict[object, Person] = {}
    for line, row in rows[1:]:
        if is_maximum(row):
            continue
        if why := _fault(head, row, between):
            raise Refusal(f"the roster {path}, line {line}: {why}.")
        one = student(head, row, of_canvas)
        if one is None or (of_canvas and "teststudent" in by_name(one.name)):
            continue
        same = (one.key, one.name) if one.ids else line  # two of one name may be two students
        seen = found.get(same, one)
        found[same] = replace(seen, ids=tuple(dict.fromkeys([*seen.ids, *one.ids])))
    return distinct(found.values())


def is_canvas(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether a table is Canvas's gradebook, whose ID is a number of its own."""
    head = {letters(cell) for cell in rows[0][1]}
    return {"id", "sisloginid"} <= head or any(is_maximum(row) for _, row in rows[1:3])


def is_maximum(row: Sequence[str]) -> bool:
    """Whether this row of Canvas's says how many points there are."""
    return "points possible" in row[0].lower()


def _fault(head: Sequence[str], row: Sequence[str], between: str) -> str:
    """Return why a row cannot be what was meant, "" if it can."""
    if any(map(str.strip, row[len(head) :])):
        wanted = f"a cell with {between!r} in it needs quotes"
        return f"it has more cells than the header ({len(head)}); {wanted}"
    for title, cell in zip(head, row, strict=False):
        if "\n" in cell.strip():
            return "a cell goes over several lines; see whether a quote is not closed"
        if title in _IDS and re.fullmatch(r"\d+([.,]\d+)?E\+\d+", cell.strip(), re.IGNORECASE):
            return f"{cell.strip()!r} is a number that a spreadsheet has cut short"
        if title in _LATE | _EXTENSION and not re.fullmatch(r"(\d+([.,]\d+)?)?", cell.strip()):
            return f"{cell.strip()!r} is no number of days"
    return ""


def student(head: Sequence[str], row: Sequence[str], of_canvas: bool) -> Person | None:
    """Return the student of a row; None where it has neither a name nor an id.

    Args:
        head: the titles, as of `letters`.
    """
    cells = [(title, tidy(cell)) for title, cell in zip(head, row, strict=False)]
    name = next((c for title, c in cells if title in _NAMES and c), "")
    if not name:
        parts = (c for kinds in (_FIRST, _LAST) for title, c in cells if title in kinds and c)
        name = " ".join(parts)
    ids: list[str] = []
    for title, cell in cells:
        i = _id(cell) if title in _IDS else ""
        if title == "identifier" and (participant := re.fullmatch(r"\D+ ([0-9]+)", i)):
            # Moodle's worksheet says "Participant 12", and the names of files the same number.
            ids.append(f"{MOODLE}{participant[1]}")
        elif i:
            ids.append(f"{CANVAS}{i}" if of_canvas and title == "id" else i)
    plain = [i for i in ids if not i.startswith(MOODLE)]
    key = next((i.removeprefix(CANVAS) for i in plain), name or "".join(ids)[len(MOODLE) :])
    late = [_days(c) for title, c in cells if title in _LATE and c]
    extension = sum(_days(c) for title, c in cells if title in _EXTENSION and c)
    if not key:
        return None
    return Person(
        key,
        name or key,
        tuple(dict.fromkeys(ids)),
        days=late[0] if late else None,
        extension=extension,
    )


def _id(cell: str) -> str:
    """Return an id without what spreadsheets and other programs put around it; "" for none."""
    cell = re.sub(r"^#(?=\w)", "", cell)  # Brightspace's
    cell = re.sub(r"^(\d+)\.0+$", r"\1", cell)  # of a column with gaps
    return "" if cell.casefold() == "n/a" or not any(map(str.isalnum, cell)) else cell


def _days(cell: str) -> float:
    return float(cell.replace(",", "."))
