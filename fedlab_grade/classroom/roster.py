"""Who is in the class, by a table of the instructor's."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fedlab_grade.assignment import Refusal
from fedlab_grade.classroom.people import (
    CANVAS,
    MOODLE,
    Person,
    by_name,
    distinct,
    letters,
    tidy,
    words_of,
)
from fedlab_grade.textfile import Unusable, read_regular, text_of

ROSTER = 8 << 20  # bytes
SHOWN = 4  # cells of a header in a message
TITLES = 8  # rows above a header


_IDS = {
    "id", "studentid", "sid", "idnumber", "number", "matriculationnumber", "sisuserid",
    "sisloginid", "login", "loginid", "user", "username", "email", "emailaddress", "githubusername",
    "netid", "emplid", "orgdefinedid", "identifier",
}  # fmt: skip
_NAMES = {"name", "student", "fullname", "studentname"}
_FIRST, _LAST = {"firstname", "givenname", "forename"}, {"lastname", "surname", "familyname"}
_KNOWN = _IDS | _NAMES | _FIRST | _LAST
_SUMS = {"total", "totals", "average", "mean", "median", "count", "overallaverage", "classaverage"}

_BETWEEN = ",;\t"  # what may stand between cells
_SEP = re.compile(r'\s*"?sep=([^\w\s"]|\t)"?[^\S\n]*(?:\n|$)', re.IGNORECASE)  # Excel's first line


def read_table(path: Path, limit: int) -> tuple[list[list[str]], str]:
    """The rows of a CSV file from its header on, and what stands between cells.

    That is a comma, a semicolon or a tab: what makes out the most columns of people. Empty rows,
    Excel's line ``sep=;`` and titles above the header are left out.

    Raises:
        Refusal: it cannot be read, is empty, or a quote in it is not closed.
    """
    rows, between = _read(path, limit)
    return [row for _, row in rows], between


def _read(path: Path, limit: int, trim: bool = False) -> tuple[list[tuple[int, list[str]]], str]:
    """As `read_table`, each row with the line it begins on.

    Args:
        trim: spaces may stand between a quote and the end of its cell.
    """
    try:
        text = _text(read_regular(path, limit))
    except Unusable as error:
        raise Refusal(f"{path} {error}.") from None
    skipped = 0
    if told := _SEP.match(text):
        skipped, text = told[0].count("\n"), text[told.end() :]
    between = told[1] if told else max(_BETWEEN, key=lambda mark: _fit(text, mark))
    if trim:
        text = re.sub(rf'" +(?=[{re.escape(between)}\n])', '"', text)
    reader = csv.reader(io.StringIO(text), delimiter=between, strict=True, skipinitialspace=trim)
    rows: list[tuple[int, list[str]]] = []
    line = skipped + 1
    try:
        for row in reader:
            if any(map(str.strip, row)):
                rows.append((line, row))
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        why = f"cannot be read from line {line} on ({error})"
        raise Refusal(f"{path} {why}: see whether a quote there is not closed.") from None
    if not rows:
        raise Refusal(f"{path} is empty.")
    return rows[_heading(row for _, row in rows)[2] :], between


def _text(data: bytes) -> str:
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise Unusable('is a workbook: save it as "CSV UTF-8"')
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # Excel's "Unicode text"
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise Unusable("is broken UTF-16 text: save it as UTF-8") from None
    if b"\0" in data:
        raise Unusable("holds NUL bytes: save it as UTF-8")
    return text_of(data)


def _fit(text: str, between: str) -> tuple[int, int, bool]:
    """How well a table is made out by what may stand between its cells."""
    try:
        known, columns, _ = _heading(csv.reader(io.StringIO(text), delimiter=between))
    except csv.Error:
        return 0, 0, False
    # A list of "Doe, Jane" under one title is no table with commas.
    return known, columns, between not in text


def _heading(rows: Iterable[Sequence[str]]) -> tuple[int, int, int]:
    """Of the header: how many columns are known, how many there are, and which row it is.

    That is the first row, or a later one below titles, which are rows of one cell.
    """
    at, columns = 0, 0
    for row in rows:
        cells = sum(map(bool, map(str.strip, row)))
        known = sum(letters(cell) in _KNOWN for cell in row)
        columns = columns or len(row)
        if known:
            return known, len(row), at
        if cells > 1 or at > TITLES:
            break
        at += bool(cells)
    return 0, columns, 0


def read_roster(path: Path) -> list[Person]:
    """The people in a CSV file with a column of names, of ids, or both.

    Canvas's gradebook, Moodle's grading worksheet and Gradescope's roster are such files. Rows that
    are equal in name and first id, as of a student in two sections, are one person. Canvas's
    student for tests and a last row of sums without an id are left out.

    Raises:
        Refusal: it cannot be read; no column is known to hold names or ids; or a row is not what
            was meant, as with a comma in a name without quotes.
    """
    rows, between = _read(path, ROSTER, trim=True)
    head = [letters(cell) for cell in rows[0][1]]
    if not set(head) & (_IDS | _NAMES | _LAST):
        line, cells = rows[0]
        there = ", ".join(repr(tidy(cell)[:40]) for cell in cells[:SHOWN])
        raise Refusal(
            f"the roster {path} has no column called name, id, login or email: "
            f"line {line} has {there}."
        )
    # Canvas always writes these, and its ID is a number of its own.
    of_canvas = {"id", "sisloginid"} <= set(head) or any(is_maximum(row) for _, row in rows[1:])
    found: dict[object, Person] = {}
    for line, row in rows[1:]:
        if is_maximum(row):
            continue
        if why := _fault(head, row, between):
            raise Refusal(f"the roster {path}, line {line}: {why}.")
        one = _of_row(head, row, of_canvas)
        if one is None or (of_canvas and _for_tests(one)):
            continue
        if not one.ids and set(head) & _IDS and letters(one.name) in _SUMS:
            continue
        same = (one.key, one.name) if one.ids else line  # two of one name may be two people
        seen = found.get(same, one)
        found[same] = replace(seen, ids=tuple(dict.fromkeys([*seen.ids, *one.ids])))
    return distinct(found.values())


def _fault(head: Sequence[str], row: Sequence[str], between: str) -> str:
    """Why a row cannot be what was meant, "" if it can."""
    if any(map(str.strip, row[len(head) :])):
        wanted = f"a cell with {between!r} in it needs quotes"
        return f"it has more cells than the header ({len(head)}); {wanted}"
    for title, cell in zip(head, row, strict=False):
        most = 1 if title in _KNOWN else max(1, len(head) - 1)
        if any(line.count(between) >= most for line in cell.strip().split("\n")[1:]):
            return "rows are within a cell; see whether a quote is not closed"
        if title in _IDS and re.fullmatch(r"\d+([.,]\d+)?E\+\d+", cell.strip(), re.IGNORECASE):
            return f"{cell.strip()!r} is a number that a spreadsheet has cut short"
    return ""


def _of_row(head: Sequence[str], row: Sequence[str], of_canvas: bool) -> Person | None:
    cells = [(title, tidy(cell)) for title, cell in zip(head, row, strict=False)]
    first = " ".join(c for title, c in cells if title in _FIRST and c)
    last = " ".join(c for title, c in cells if title in _LAST and c)
    name = next((c for title, c in cells if title in _NAMES and c), "")
    if not name:
        name = f"{first} {last}".strip()
    elif first and not set(head) & _LAST and not words_of(first) <= words_of(name):
        name = f"{first} {name}"  # the column of last names is called "name"
    keys: list[str] = []
    ids: list[str] = []
    number = ""
    for title, cell in cells:
        i = _id(cell) if title in _IDS else ""
        if title == "identifier" and (participant := re.fullmatch(r"\D+ ([0-9]+)", i)):
            # Moodle's worksheet says "Participant 12", and the names of files the same number.
            number, name = participant[1], name or i
            ids.append(f"{MOODLE}{number}")
        elif i:
            keys.append(i)
            ids.append(f"{CANVAS}{i}" if of_canvas and title == "id" else i)
    key = next(iter(keys), number or name)
    return Person(key, name or key, tuple(dict.fromkeys(ids))) if key else None


def _id(cell: str) -> str:
    """An id without what spreadsheets and other programs put around it; "" for none."""
    cell = re.sub(r"^#(?=\w)", "", cell)  # Brightspace's
    cell = re.sub(r"^(\d+)\.0+$", r"\1", cell)  # of a column with gaps
    return "" if cell.casefold() == "n/a" or not any(map(str.isalnum, cell)) else cell


def _for_tests(one: Person) -> bool:
    """Whether this is the student that Canvas makes for the teacher to look at a course."""
    digest = any(re.fullmatch(r"[0-9a-f]{40}", i) for i in one.ids)
    return digest and "teststudent" in by_name(one.name)


def is_maximum(row: Sequence[str]) -> bool:
    """Whether this row of Canvas's says how many points there are."""
    return "points possible" in row[0].lower()
