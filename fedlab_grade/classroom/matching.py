"""Who of a roster handed in what.

Nobody is lost, and nobody gets what may be another's: where it is not clear whose something is, it
stays by itself, with a note for the instructor.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fedlab_grade.classroom.people import CANVAS, MOODLE, Person, by_name, distinct, letters

SHOWN = 4  # people in a note


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
        self.named = _index(roster, lambda one: {letters(i) for i in one.ids})
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
