"""A student, and what is the same in their name however a program writes it."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

# Before a program's own number, which may by chance be somebody's number at the university.
CANVAS, MOODLE = "canvas:", "moodle:"
WORDS = 12  # of a name; a longer one is taken as it stands
_JOINERS = "\u200c\u200d"  # they belong to names, in Persian and Hindi


@dataclass(frozen=True)
class Person:
    """A student, and what they handed in.

    Fields:
        key: unique in the class, and printable; file names and exports are made from it.
        name: as people write it.
        ids: numbers, logins and addresses. Canvas's and Moodle's own numbers begin with
            ``canvas:`` and ``moodle:``.
        paths: what they handed in, each with the name that they gave to it.
        late: the download says so.
        days: how late, as the roster says; None where it does not. extension: days granted.
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


def distinct(found: Iterable[Person]) -> list[Person]:
    """Return people with a number behind a key that is there already."""
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
        note = (f"another student is called {one.key!r} too",) if number > 1 else ()
        out.append(replace(one, key=key, notes=(*one.notes, *note)))
    return out


def tidy(text: str) -> str:
    """Return a text on one line, without spaces around it and invisible characters."""
    text = re.sub(r'^="(.*)"$', r"\1", " ".join(text.split()))  # a spreadsheet's, for texts
    seen = (c for c in text if c in _JOINERS or unicodedata.category(c) not in ("Cf", "Cc"))
    shown = (c if c in _JOINERS or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in seen)
    return "".join(shown).strip()


def by_name(name: str) -> set[str]:
    """Return the letters of a name from each word on: Canvas writes doejane, others Jane Doe."""
    words = [w for w in map(letters, re.split(r"[\s,]+", name)) if w]
    turns = len(words) if len(words) <= WORDS else min(1, len(words))
    return {"".join(words[i:] + words[:i]) for i in range(turns)}


def letters(text: str) -> str:
    """Return letters and digits only, without accents and case."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if c.isalnum() or _is_part(c))


def _is_part(c: str) -> bool:
    """Whether a mark makes another letter, as vowels do in Hindi: accents have 200 and more."""
    return unicodedata.category(c)[0] == "M" and unicodedata.combining(c) < 200
