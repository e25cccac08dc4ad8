"""Who handed in what: a folder of submissions, or a download of Canvas, Moodle or Gradescope.

Where there is a roster, everyone of it is in the list, whether they handed in or not.
"""

import csv
import hashlib
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedlab_edu.check import extra
from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.unpack import Unusable, printable, read_regular, text_of

ROSTER = 8 << 20  # bytes
METADATA = 256 << 20  # bytes of Gradescope's, which holds old results too
GRADESCOPE = "submission_metadata.yml"

# doejane_LATE_12345_67890_hw-1.py: the name, the student's number in Canvas, the upload's, the file
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_(?P<upload>\d+)_(?P<file>.+)")
# Jane Doe_12345_assignsubmission_file_, a folder or the beginning of a file's name
_MOODLE = re.compile(
    r"(?P<name>[^_]+)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?"
)
# What file managers leave behind.
_STRAY = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "$recycle.bin"}
_ENDINGS = re.compile(r"\.(py|ipynb|zip|tar|tar\.gz|tgz)$", re.IGNORECASE)
_IDS = {
    "id", "studentid", "sid", "idnumber", "number", "matriculationnumber", "sisuserid",
    "sisloginid", "login", "loginid", "user", "username", "email", "emailaddress", "githubusername",
}  # fmt: skip
_NAMES = {"name", "student", "fullname", "studentname"}
_FIRST, _LAST = {"firstname", "givenname", "forename"}, {"lastname", "surname", "familyname"}


@dataclass(frozen=True)
class Person:
    """A student, and what they handed in.

    Fields:
        key: what tells them from all others; file names and exports are made from it, so it can be
            printed, as the name can.
        name: as people write it.
        ids: numbers, logins and addresses that other programs know them by.
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


def people(folder: Path, roster: Path | None = None) -> list[Person]:
    """Everyone who handed in, and everyone of the roster; in the roster's order, then by name.

    Args:
        roster: may lie in the folder.

    Raises:
        Refusal: there is no such folder or roster, or they cannot be read.
    """
    if not folder.is_dir():
        there = "is no folder: unpack it first" if folder.exists() else "does not exist"
        raise Refusal(f"{folder} {there}.")
    home = folder.resolve()
    ours = [home / GRADESCOPE, *([roster.resolve()] if roster else [])]
    names = sorted((p.name for p in folder.iterdir()), key=_upload)
    names = [name for name in names if name[0] != "." and name.casefold() not in _STRAY]
    entries = [home / name for name in names if home / name not in ours]
    if (folder / GRADESCOPE).is_file():
        found = _gradescope(folder / GRADESCOPE, entries)
    else:
        found = _merged(_one(path) for path in entries)
    if roster is None:
        return found
    return _enrolled(read_roster(roster), found)


def read_roster(path: Path) -> list[Person]:
    """The people in a CSV file with a column of names, of ids, or both; Canvas's gradebook is one.

    Raises:
        Refusal: it cannot be read, or no column is known to hold names or ids.
    """
    try:
        text = text_of(read_regular(path, ROSTER))
        dialect = (
            ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
        )
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=dialect) if any(row)]
    except (Unusable, csv.Error) as error:
        raise Refusal(f"the roster {path} {error}.") from None
    if not rows:
        raise Refusal(f"the roster {path} is empty.")
    head = [_plain(cell) for cell in rows[0]]
    if not set(head) & (_IDS | _NAMES | _LAST):
        raise Refusal(f"the roster {path} has no column called name, id, login or email.")
    found = []
    for row in rows[1:]:
        cells = [(h, c.strip()) for h, c in zip(head, row, strict=False) if c.strip()]
        first = " ".join(c for h, c in cells if h in _FIRST)
        last = " ".join(c for h, c in cells if h in _LAST)
        name = next((c for h, c in cells if h in _NAMES), f"{first} {last}".strip())
        ids = tuple(dict.fromkeys(c for h, c in cells if h in _IDS))
        if (name or ids) and "points possible" not in name.lower():
            found.append(Person(ids[0] if ids else name, name or ids[0], ids))
    return _distinct(found)


def _upload(name: str) -> tuple[int, int, str]:
    """To sort what Canvas has of one student: later ones last, and hw-10.py behind hw-9.py."""
    match = _CANVAS.fullmatch(name)
    version = re.search(r"-(\d+)\.\w+$", name) if match else None
    return int(match["upload"]) if match else 0, int(version[1]) if version else 0, name


def _one(path: Path) -> Person:
    """What the name of a file or folder says."""
    shown = path.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    for pattern in (_MOODLE, _CANVAS):
        match = pattern.fullmatch(shown)
        if match and (pattern is _MOODLE or not path.is_dir()):
            parts = match.groupdict()
            file = parts.get("file") or shown
            if "upload" in parts:  # a second upload of hw.py is called hw-1.py
                file = re.sub(r"-\d+(\.\w+)$", r"\1", file)
            late, given = bool(parts.get("late")), ((file, path),)
            return Person(parts["id"], parts["name"], (parts["id"],), given, late)
    is_folder = path.is_dir() and not path.is_symlink()
    stem = path.name if is_folder else _ENDINGS.sub("", path.name)
    label = printable(stem, 200)
    # Two names may look alike once they can be printed: old Windows' Müller and Möller do.
    mark = hashlib.sha256(os.fsencode(stem)).hexdigest()[:8]
    return Person(label if label == stem else f"{label} #{mark}", label, (), ((shown, path),))


def _gradescope(metadata: Path, entries: Sequence[Path]) -> list[Person]:
    yaml = extra("yaml", "grade")
    try:
        text = text_of(read_regular(metadata, METADATA))
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        about = yaml.load(text, Loader=loader)
        found = []
        for path in entries:
            one = about.pop(path.name, None) if isinstance(about, dict) else None
            found += list(_submitters(one, path)) or [_one(path)]
    except (Unusable, yaml.YAMLError) as error:
        raise Refusal(f"{metadata} cannot be read: {str(error).splitlines()[0]}.") from None
    return _distinct(found)


def _submitters(about: object, path: Path) -> Iterator[Person]:
    """Everyone of a group; Gradescope's keys begin with a colon."""
    if not isinstance(about, Mapping):
        return
    team = about.get(":submitters", about.get("submitters"))
    for one in team if isinstance(team, list) else []:
        if isinstance(one, Mapping):
            parts = {str(key).lstrip(":"): str(value) for key, value in one.items() if value}
            ids = tuple(parts[key] for key in ("sid", "email") if key in parts)
            name = parts.get("name", "") or (ids[0] if ids else path.name)
            yield Person(ids[0] if ids else name, name, ids, ((path.name, path),))


def _merged(found: Iterable[Person]) -> list[Person]:
    """One person for all that has the same key."""
    out: dict[str, Person] = {}
    for one in found:
        seen = out.get(one.key)
        out[one.key] = (
            one
            if seen is None
            else replace(seen, paths=seen.paths + one.paths, late=seen.late or one.late)
        )
    return sorted(out.values(), key=lambda one: (one.name.casefold(), one.key))


def _enrolled(roster: list[Person], found: list[Person]) -> list[Person]:
    """The roster with what each handed in; behind it those whom it does not know."""
    given: dict[str, list[Person]] = {one.key: [] for one in roster}
    strangers = []
    for person in found:
        found_by = [
            (what, [one for one in roster if marks(one) & marks(person)])
            for what, marks in (
                ("address", _addresses),
                ("name", by_name),
                ("number or login", _by_id),
                ("login", _by_login),
            )
        ]
        # A number of Moodle's or Canvas's may by chance be someone else's in the roster.
        fits = next((two for _, two in found_by if len(two) == 1), [])
        if fits:
            others = [what for what, two in found_by if two and fits[0] not in two]
            notes = (
                [f"the {others[0]} is another one's in the roster: see who this is"]
                if others
                else []
            )
            given[fits[0].key].append(replace(person, notes=(*person.notes, *notes)))
        else:
            several = any(two for _, two in found_by)
            why = (
                "several people of the roster could be this one" if several else "not in the roster"
            )
            strangers.append(replace(person, notes=(*person.notes, why)))
    return _distinct([_with(one, given[one.key]) for one in roster] + strangers)


def _with(one: Person, handed: list[Person]) -> Person:
    ids = dict.fromkeys([*one.ids, *(i for h in handed for i in h.ids)])
    paths = tuple(path for h in handed for path in h.paths)
    notes = (*one.notes, *dict.fromkeys(note for h in handed for note in h.notes))
    if len(handed) > 1:
        names = ", ".join(f"{h.name!r} ({h.key})" for h in handed)
        notes += (f"handed in as {names}: see whether that is one person",)
    late = any(h.late for h in handed)
    return replace(one, ids=tuple(ids), paths=paths, late=late, notes=notes)


def _distinct(found: list[Person]) -> list[Person]:
    """With a number behind a key that is there already, so that nobody gets lost."""
    taken: dict[str, int] = {}
    out = []
    for one in found:
        taken[one.key] = taken.get(one.key, 0) + 1
        again = taken[one.key]
        note = f"another one is called {one.key!r} too"
        out.append(
            one
            if again == 1
            else replace(one, key=f"{one.key} ({again})", notes=(*one.notes, note))
        )
    return out


def _by_id(one: Person) -> set[str]:
    return {i.casefold() for i in (*one.ids, one.key)}


def _addresses(one: Person) -> set[str]:
    return {i for i in _by_id(one) if "@" in i}


def _by_login(one: Person) -> set[str]:
    """Also what stands before the @ of an address."""
    return {i.partition("@")[0] for i in _by_id(one)}


def by_name(one: Person) -> set[str]:
    """The name in both orders, for Canvas writes doejane and a roster Jane Doe or "Doe, Jane"."""
    words = [w for w in map(_plain, re.split(r"[\s,]+", one.name)) if w]
    turned = {"".join(words[i:] + words[:i]) for i in range(len(words))}
    return turned | {_plain(i) for i in one.ids if not i.isdigit() and "@" not in i}


def _plain(text: str) -> str:
    """Letters and digits only, without accents and case."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if c.isalnum())
