"""A student, and what their names have in common, in whichever way a program writes them."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

# Before a number that a program gives out by itself: by chance it may be somebody else's number at
# the university.
CANVAS, MOODLE = "canvas:", "moodle:"
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


def tidy(text: str) -> str:
    """On one line, without spaces around it and signs that cannot be seen."""
    text = re.sub(r'^="(.*)"$', r"\1", " ".join(text.split()))  # a spreadsheet's, for texts
    seen = (c for c in text if c in _JOINERS or unicodedata.category(c) not in ("Cf", "Cc"))
    shown = (c if c in _JOINERS or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in seen)
    return "".join(shown).strip()


def by_name(name: str) -> set[str]:
    """The name in both orders, for Canvas writes doejane and a roster Jane Doe or "Doe, Jane"."""
    words = [w for w in map(letters, split_name(name)) if w]
    return {"".join(words[i:] + words[:i]) for i in range(len(words))}


def words_of(name: str) -> set[str]:
    return set(map(letters, split_name(name)))


def split_name(name: str) -> list[str]:
    return re.split(r"[\s,]+", name)


def letters(text: str) -> str:
    """Letters and digits only, without accents and case."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if c.isalnum() or _is_part(c))


def _is_part(c: str) -> bool:
    """Whether a mark makes another letter, as vowels do in Hindi: accents have 200 and more."""
    return unicodedata.category(c)[0] == "M" and unicodedata.combining(c) < 200
