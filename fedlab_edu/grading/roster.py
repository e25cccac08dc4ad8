"""Who is in the class, by a table of the instructor's, and who of them handed in what.

Nobody is lost, and nobody gets what may be another's: where it is not clear whose something is, it
stays by itself, with a note for the instructor.
"""

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.unpack import Unusable, read_regular, text_of

ROSTER = 8 << 20  # bytes
SHOWN = 4  # people in a note
TITLES = 8  # rows above a header

# Before a number that a program gives out by itself: by chance it may be somebody else's number at
# the university.
CANVAS, MOODLE = "canvas:", "moodle:"

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
_JOINERS = "\u200c\u200d"  # they belong to names, in Persian and Hindi


@dataclass(frozen=True)
class Person:
    """A student, and what they handed in.

    Fields:
        key: what tells them from all others; file names and exports are made from it, so it can be
            printed, as the name can.
        name: as people write it.
        ids: numbers, logins and addresses that other programs know them by. Canvas's and Moodle's
            own numbers begin with ``canvas:`` and ``moodle:``.
        paths: what they handed in, each with the name that they gave to it.
        late: the download says so.
        notes: for the instructor.
    """

    key: str
    name: str
    ids: tuple[str, ...] = ()
    paths: tuple[tuple[str, Path], ...] = ()
    late: bool = False
    notes: tuple[str, ...] = ()


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
        known = sum(_plain(cell) in _KNOWN for cell in row)
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
    head = [_plain(cell) for cell in rows[0][1]]
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
        if not one.ids and set(head) & _IDS and _plain(one.name) in _SUMS:
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
    elif first and not set(head) & _LAST and not _words(first) <= _words(name):
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


def tidy(text: str) -> str:
    """On one line, without spaces around it and signs that cannot be seen."""
    text = re.sub(r'^="(.*)"$', r"\1", " ".join(text.split()))  # a spreadsheet's, for texts
    seen = (c for c in text if c in _JOINERS or unicodedata.category(c) not in ("Cf", "Cc"))
    shown = (c if c in _JOINERS or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in seen)
    return "".join(shown).strip()


def is_maximum(row: Sequence[str]) -> bool:
    """Whether this row of Canvas's says how many points there are."""
    return "points possible" in row[0].lower()


def distinct(found: Iterable[Person]) -> list[Person]:
    """With a number behind a key that is there already, so that nobody gets lost."""
    found = list(found)
    taken = {one.key for one in found}
    seen: set[str] = set()
    out = []
    for one in found:
        key, number = one.key, 1
        while key in (seen if number == 1 else taken):
            number += 1
            key = f"{one.key} ({number})"
        seen.add(key)
        taken.add(key)
        note = (f"another one is called {one.key!r} too",) if number > 1 else ()
        out.append(replace(one, key=key, notes=(*one.notes, *note)))
    return out


def enrolled(roster: Sequence[Person], found: Iterable[Person]) -> list[Person]:
    """The roster with what each handed in; behind it those whom it does not know.

    - The number in the name of a file from Canvas decides where the roster is Canvas's gradebook:
      both are Canvas's own. It is nobody's in another roster; there the name decides.
    - Moodle's number is of one assignment. It counts, beside the name, where the roster is Moodle's
      grading worksheet, and is nobody's in another one.
    - Else the name, and every id, address and login, have to fit one person. Where two of them
      point to different people, neither gets it.
    - What stands before the @ of an address, and a login that reads like a name, count only where
      nothing else fits.
    - Two with numbers of Canvas's or Moodle's own are two people, even if one name fits both.
    """
    marks = _Marks(roster)
    given: dict[str, list[Person]] = {one.key: [] for one in roster}
    strangers: list[Person] = []
    for person in found:
        whose, notes = _whose(person, marks)
        (strangers if whose is None else given[whose.key]).append(
            replace(person, notes=(*person.notes, *notes))
        )
    for key, handed in given.items():
        if len({i for one in handed for i in one.ids if i.startswith((CANVAS, MOODLE))}) > 1:
            why = f"several people handed in under the name of one in the roster: {_list(handed)}"
            strangers += [replace(one, notes=(*one.notes, why)) for one in handed]
            given[key] = []
    owners: dict[str, set[str]] = {}
    everyone = [*((one.key, one) for one in roster), *((f"? {one.key}", one) for one in strangers)]
    for key, one in [*everyone, *((key, one) for key, handed in given.items() for one in handed)]:
        for i in one.ids:
            owners.setdefault(i.casefold(), set()).add(key)
    return distinct([*(_with(one, given[one.key], owners) for one in roster), *strangers])


def _with(one: Person, handed: Sequence[Person], owners: Mapping[str, set[str]]) -> Person:
    """A person of the roster with what they handed in, and the ids that nobody else has."""
    new = [i for h in handed for i in h.ids if owners[i.casefold()] == {one.key}]
    notes = [*one.notes, *(note for h in handed for note in h.notes)]
    full = [h for h in handed if h.paths]
    if len(full) > 1:
        names = ", ".join(map(_called, full))
        notes.append(f"handed in as {names}: see whether that is one person")
    return replace(
        one,
        ids=tuple(dict.fromkeys([*one.ids, *new])),
        paths=tuple(path for h in handed for path in h.paths),
        late=any(h.late for h in handed),
        notes=tuple(notes),
    )


class _Marks:
    """Who of the roster has which id, name and login."""

    def __init__(self, roster: Sequence[Person]) -> None:
        self.ids = _index(roster, lambda one: {i.casefold() for i in one.ids})
        self.names = _index(roster, lambda one: by_name(one.name))
        self.logins = _index(roster, lambda one: _before_at(one.ids))
        self.named = _index(roster, lambda one: {_plain(i) for i in one.ids})
        self.of_canvas = any(i.startswith(CANVAS) for i in self.ids)


def _index(
    roster: Sequence[Person], marks: Callable[[Person], Iterable[str]]
) -> dict[str, list[Person]]:
    out: dict[str, list[Person]] = {}
    for one in roster:
        for mark in marks(one):
            out.setdefault(mark, []).append(one)
    return out


def _having(index: Mapping[str, list[Person]], marks: Iterable[str]) -> list[Person]:
    """Those with one of these marks, each once."""
    return list({one.key: one for mark in sorted(marks) for one in index.get(mark, [])}.values())


def _whose(person: Person, marks: _Marks) -> tuple[Person | None, tuple[str, ...]]:
    """Whose this is, None where that is not clear; and what the instructor should see to."""
    names = _having(marks.names, by_name(person.name))
    named = ("the name", names)
    own = [i for i in person.ids if i.startswith(CANVAS)]
    if own and marks.of_canvas:
        decides = _having(marks.ids, own)
        if len(decides) == 1:
            return decides[0], _differs(decides[0], [named])
        if decides:
            return None, (_several(decides),)
        return None, ("not in the roster", *_differs(person, [named]))
    if person.ids:
        given = person.ids
        fits = [(f"{i!r}", _having(marks.ids, [i.casefold()])) for i in given]
    else:  # a file that the instructor may have called after the name or any number
        given = (person.name,)
        label = person.name.casefold()
        fits = [(f"{person.name!r}", _having(marks.ids, [label, f"{CANVAS}{label}"]))]
    weak = [
        ("the login", _having(marks.logins, _before_at(given))),
        ("the login", _having(marks.named, by_name(person.name))),
    ]
    strong = [(what, people) for what, people in [*fits, named] if people]
    clues = strong or [(what, people) for what, people in weak if people]
    if not clues:
        return None, ("not in the roster", *_hint(person, marks))
    keys = set.intersection(*({one.key for one in people} for _, people in clues))
    if len(keys) == 1:
        (one,) = (one for one in clues[0][1] if one.key in keys)
        return one, _differs(one, weak if strong else [])
    if keys:
        return None, (_several([one for one in clues[0][1] if one.key in keys]),)
    told = ", and ".join(f"{what} is of {_list(people)}" for what, people in clues)
    return None, (f"not clear who this is, so given to nobody: {told}",)


def _several(people: Sequence[Person]) -> str:
    return f"several people of the roster could be this one: {_list(people)}"


def _differs(one: Person, clues: Iterable[tuple[str, list[Person]]]) -> tuple[str, ...]:
    """For each clue that points to others only: to whom."""
    others = [(what, fit) for what, fit in clues if fit and one not in fit]
    return tuple(f"{what} is of {_list(people)}: see who this is" for what, people in others)


def _hint(person: Person, marks: _Marks) -> tuple[str, ...]:
    """Why a download may not be matched: the roster has bare numbers, or Moodle named a group."""
    bare = [i.removeprefix(CANVAS) for i in person.ids if i.startswith(CANVAS)]
    notes = [
        f"the number {i} is Canvas's own: to go by it, take Canvas's gradebook for the roster"
        for i in bare
        if i in marks.ids
    ]
    if any(i.startswith(MOODLE) for i in person.ids):
        behind = [person.name[cut.end() :] for cut in re.finditer("-", person.name)]
        fits = _having(marks.names, {name for part in behind for name in by_name(part)})
        if fits:
            notes.append(
                f"perhaps {_list(fits)}, after the name of a group: "
                "in Moodle choose all participants before you download"
            )
    return tuple(notes)


def _called(one: Person) -> str:
    return f"{one.name!r} ({one.key})"


def _list(people: Sequence[Person]) -> str:
    more = f" and {len(people) - SHOWN} more" if len(people) > SHOWN else ""
    return ", ".join(map(_called, people[:SHOWN])) + more


def _before_at(ids: Iterable[str]) -> set[str]:
    """What stands before the @ of an address; other logins and numbers as they are."""
    return {i.partition("@")[0].casefold() for i in ids}


def by_name(name: str) -> set[str]:
    """The name in both orders, for Canvas writes doejane and a roster Jane Doe or "Doe, Jane"."""
    words = [w for w in map(_plain, _split(name)) if w]
    return {"".join(words[i:] + words[:i]) for i in range(len(words))}


def _words(name: str) -> set[str]:
    return set(map(_plain, _split(name)))


def _split(name: str) -> list[str]:
    return re.split(r"[\s,]+", name)


def _plain(text: str) -> str:
    """Letters and digits only, without accents and case."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if c.isalnum() or _is_part(c))


def _is_part(c: str) -> bool:
    """Whether a mark makes another letter, as vowels do in Hindi: accents have 200 and more."""
    return unicodedata.category(c)[0] == "M" and unicodedata.combining(c) < 200
