"""The students of a class, and how submissions are matched to those of a roster.

A submission is given to a student if all that is known of it fits this student and no other one. An
ambiguous submission is kept, reported, and given to no student.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from fedlab_grade.textfile import some

# Before a program's own number, which may by chance be another student's number at the university.
CANVAS, MOODLE = "canvas:", "moodle:"
SHOWN = 4  # students in a note
GRADEBOOK = "to go by Canvas's numbers, take Canvas's gradebook for the roster"
_JOINERS = "\u200c\u200d"  # they belong to names, in Persian and Hindi


@dataclass(frozen=True)
class Person:
    """A student, and what they handed in.

    Fields:
        key: unique in the class, and printable; file names and exports are made from it.
        ids: numbers, logins and addresses; Canvas's and Moodle's own numbers begin with
            ``canvas:`` and ``moodle:``.
        paths: what they handed in, each with the name that they gave to it.
        late: whether the download says that it is late.
        days: days late by the roster, None where it says nothing; extension: days granted.
        notes: for the instructor.
        matched: false for a submission that belongs to no student of the roster.
        is_test: whether it is Canvas's Test Student.
    """

    key: str
    name: str
    ids: tuple[str, ...] = ()
    paths: tuple[tuple[str, Path], ...] = ()
    late: bool = False
    notes: tuple[str, ...] = ()
    days: float | None = None
    extension: float = 0.0
    matched: bool = True
    is_test: bool = False

    def noted(self, note: str) -> "Person":
        return replace(self, notes=(*self.notes, note))


def distinct(found: Sequence[Person]) -> list[Person]:
    """Return the people, with a number added to each repeated key."""
    taken, seen, out = {one.key for one in found}, set[str](), []
    for one in found:
        if one.key in seen:
            keys = (f"{one.key} ({number})" for number in count(2))
            key = next(key for key in keys if key not in taken)
            taken.add(key)
            note = f"another student is called {one.key!r} too"
            one = replace(one, key=key).noted(note)
        seen.add(one.key)
        out.append(one)
    return out


def tidy(text: str) -> str:
    """Return a text on one line, without spaces around it and invisible characters."""
    text = re.sub(r'^="(.*)"$', r"\1", " ".join(text.split()))  # a spreadsheet's, for texts
    seen = (c for c in text if c in _JOINERS or unicodedata.category(c) not in ("Cf", "Cc"))
    shown = (c if c in _JOINERS or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in seen)
    return "".join(shown).strip()


def spellings(name: str) -> set[str]:
    """Return the letters of a name; "Doe, Jane" is Jane Doe, too."""
    return {letters(name), in_order(name)} - {""}


def in_order(name: str) -> str:
    """Return the letters of a name, those of "Doe, Jane" as of Jane Doe."""
    return letters(" ".join(reversed(name.split(",", 1))))


def letters(text: str) -> str:
    """Return letters and digits only, without accents and case."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    # A mark makes another letter, as vowels do in Hindi; accents are of class 200 and more.
    return "".join(
        c
        for c in parts
        if c.isalnum() or (unicodedata.category(c)[0] == "M" and unicodedata.combining(c) < 200)
    )


# A person -> the students of a roster that fit all clues, and the students that fit some.
Fits = Callable[[Person], tuple[list[Person], list[Person]]]


def matcher(roster: Sequence[Person]) -> Fits:
    """Return a function that finds a person in a roster.

    Where the roster has Canvas's own numbers and the person has one, that number decides. Else
    every id and the name are clues. A name that stands alone, as of a file, may also be an id.
    """
    by_id, by_name = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for one in roster:
        for i in one.ids:
            by_id[i.casefold()].add(one.key)
        for name in spellings(one.name):
            by_name[name].add(one.key)
    of_canvas = _has_canvas(roster)

    def fits(person: Person) -> tuple[list[Person], list[Person]]:
        own = [i for i in person.ids if of_canvas and i.startswith(CANVAS)]
        ids = own or person.ids or (person.name, f"{CANVAS}{person.name}")
        clues = [by_id.get(i.casefold(), set()) for i in ids]
        if not own:
            clues.append(set().union(*(by_name.get(n, ()) for n in spellings(person.name))))
        clues = [clue for clue in clues if clue] or [set()]
        by_all, by_any = set.intersection(*clues), set.union(*clues)
        return [s for s in roster if s.key in by_all], [s for s in roster if s.key in by_any]

    return fits


def enrolled(roster: Sequence[Person], found: Iterable[Person]) -> list[Person]:
    """Return the roster with what each student handed in; then the unmatched."""
    fits = matcher(roster)
    given: dict[str, list[Person]] = {one.key: [] for one in roster}
    strangers: list[Person] = []
    for person in found:
        by_all, by_any = fits(person)
        if len(by_all) == 1:
            given[by_all[0].key].append(person)
            continue
        why = "not in the roster"
        if by_all:
            why = f"several students of the roster could be this one: {_list(by_all)}"
        elif by_any:
            why = f"given to no student, because different clues fit {_list(by_any)}"
        elif _has_canvas([person]) and not _has_canvas(roster):
            why = f"{why}; {GRADEBOOK}"
        strangers.append(person.noted(why))
    for key, handed in given.items():
        if len({i for one in handed for i in one.ids if i.startswith((CANVAS, MOODLE))}) > 1:
            why = f"several people handed in under the name of one in the roster: {_list(handed)}"
            strangers += [one.noted(why) for one in handed]
            given[key] = []
    students = [_joined(one, given[one.key]) for one in roster]
    return distinct([*students, *(replace(one, matched=False) for one in strangers)])


def _joined(one: Person, handed: Sequence[Person]) -> Person:
    """Return a student of the roster with what they handed in."""
    full = [h for h in handed if h.paths]
    notes = [*one.notes, *(note for h in handed for note in h.notes)]
    if len(full) > 1:
        notes.append(f"handed in as {_list(full)}: see whether that is one person")
    paths = tuple(path for h in handed for path in h.paths)
    return replace(one, paths=paths, late=any(h.late for h in handed), notes=tuple(notes))


def _has_canvas(people: Iterable[Person]) -> bool:
    return any(i.startswith(CANVAS) for one in people for i in one.ids)


def _list(people: Sequence[Person]) -> str:
    return some([f"{one.name!r} ({one.key})" for one in people], SHOWN)
