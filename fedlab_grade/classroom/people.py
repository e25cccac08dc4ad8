"""The students of a class, and the spelling of names and ids."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

# Before a program's own number, which may by chance be another student's number at the university.
CANVAS, MOODLE = "canvas:", "moodle:"
_JOINERS = "\u200c\u200d"  # they belong to names, in Persian and Hindi


@dataclass(frozen=True)
class Person:
    """A student, and what they handed in.

    Fields:
        key: unique in the class, and printable; file names and exports are made from it.
        ids: numbers, logins and addresses; Canvas's and Moodle's own numbers begin with
            ``canvas:`` and ``moodle:``.
        paths: what they handed in, each with the name that they gave to it.
        late: the download says so.
        days: late, as the roster says, None where it does not; extension: days granted.
        notes: for the instructor.
        unclear: nothing was found, but a submission that belongs to no student may be theirs.
        matched: false for a submission that belongs to no student of the roster.
    """

    key: str
    name: str
    ids: tuple[str, ...] = ()
    paths: tuple[tuple[str, Path], ...] = ()
    late: bool = False
    notes: tuple[str, ...] = ()
    days: float | None = None
    extension: float = 0.0
    unclear: bool = False
    matched: bool = True

    def noted(self, note: str) -> "Person":
        """Return the student with one more note."""
        return replace(self, notes=(*self.notes, note))


def distinct(found: Iterable[Person]) -> list[Person]:
    """Return people with a number behind a key that is there already."""
    found = list(found)
    taken, seen, out = {one.key for one in found}, set[str](), []
    for one in found:
        key, number = one.key, 1
        while key in (seen if number == 1 else taken):
            number += 1
            key = f"{one.key} ({number})"
        seen.add(key)
        taken.add(key)
        other = replace(one, key=key)
        out.append(other.noted(f"another student is called {one.key!r} too") if number > 1 else one)
    return out


def tidy(text: str) -> str:
    """Return a text on one line, without spaces around it and invisible characters."""
    text = re.sub(r'^="(.*)"$', r"\1", " ".join(text.split()))  # a spreadsheet's, for texts
    seen = (c for c in text if c in _JOINERS or unicodedata.category(c) not in ("Cf", "Cc"))
    shown = (c if c in _JOINERS or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in seen)
    return "".join(shown).strip()


def spellings(name: str) -> set[str]:
    """Return the letters of a name; "Doe, Jane" is Jane Doe, too."""
    return {letters(name), letters(" ".join(reversed(name.split(",", 1))))} - {""}


def letters(text: str) -> str:
    """Return letters and digits only, without accents and case."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    # A mark makes another letter, as vowels do in Hindi; accents are of class 200 and more.
    return "".join(
        c
        for c in parts
        if c.isalnum() or (unicodedata.category(c)[0] == "M" and unicodedata.combining(c) < 200)
    )
