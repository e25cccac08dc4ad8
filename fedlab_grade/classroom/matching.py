"""Match submissions to the students of a roster.

A submission is given to a student if all that is known of it fits this student and no other one. An
ambiguous submission is kept, reported, and given to no student. While there is one, a student
without a submission has no mark, for it may be theirs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from fedlab_grade.classroom.people import CANVAS, Person, distinct, spellings

SHOWN = 4  # students in a note
UNCLEAR = (
    "nothing was found, but a submission belongs to no student of the roster: no mark until that "
    "is settled"
)
GRADEBOOK = "to go by Canvas's numbers, take Canvas's gradebook for the roster"

# A person -> the students of a roster that fit all clues; and those that fit some.
Fits = Callable[[Person], tuple[list[Person], list[Person]]]


def matcher(roster: Sequence[Person]) -> Fits:
    """Return a function that finds a person in a roster.

    Where the roster has Canvas's own numbers and the person has one, that number decides. Else
    every id and the name are clues. A name that stands alone, as of a file, may also be an id.
    """
    students = {one.key: one for one in roster}
    known: dict[str, set[str]] = {}
    for one in roster:
        for mark in (*map(_id, one.ids), *map(_name, spellings(one.name))):
            known.setdefault(mark, set()).add(one.key)
    of_canvas = _has_canvas(roster)

    def fits(person: Person) -> tuple[list[Person], list[Person]]:
        own = [i for i in person.ids if i.startswith(CANVAS)] if of_canvas else []
        ids = own or person.ids or (person.name, f"{CANVAS}{person.name}")
        clues = [known.get(_id(i), set()) for i in ids]
        if not own:
            names = (known.get(_name(n), set()) for n in spellings(person.name))
            clues.append(set().union(*names))
        clues = [clue for clue in clues if clue]
        both, some = set.intersection(*clues) if clues else set(), set().union(*clues)
        return [students[k] for k in students if k in both], [
            students[k] for k in students if k in some
        ]

    return fits


def enrolled(roster: Sequence[Person], found: Iterable[Person]) -> list[Person]:
    """Return the roster with what each student handed in; then the unmatched."""
    fits = matcher(roster)
    given: dict[str, list[Person]] = {one.key: [] for one in roster}
    strangers: list[Person] = []
    for person in found:
        both, some = fits(person)
        if len(both) == 1:
            given[both[0].key].append(person)
            continue
        why = "not in the roster"
        if both:
            why = f"several students of the roster could be this one: {_list(both)}"
        elif some:
            why = f"given to no student, because different clues fit {_list(some)}"
        elif any(i.startswith(CANVAS) for i in person.ids) and not _has_canvas(roster):
            why = f"{why}; {GRADEBOOK}"
        strangers.append(person.noted(why))
    for key, handed in given.items():
        if len({i for one in handed for i in one.ids if ":" in i}) > 1:  # accounts of a program
            why = f"several people handed in under the name of one in the roster: {_list(handed)}"
            strangers += [one.noted(why) for one in handed]
            given[key] = []
    unclear = any(one.paths for one in strangers)
    students = [_joined(one, given[one.key], unclear) for one in roster]
    return distinct([*students, *(replace(one, matched=False) for one in strangers)])


def _joined(one: Person, handed: Sequence[Person], unclear: bool) -> Person:
    """Return a student of the roster with what they handed in."""
    full = [h for h in handed if h.paths]
    out = replace(
        one,
        paths=tuple(path for h in handed for path in h.paths),
        late=any(h.late for h in handed),
        notes=(*one.notes, *(note for h in handed for note in h.notes)),
        unclear=unclear and not full,
    )
    if len(full) > 1:
        return out.noted(f"handed in as {_list(full)}: see whether that is one person")
    return out.noted(UNCLEAR) if out.unclear else out


def _has_canvas(people: Iterable[Person]) -> bool:
    return any(i.startswith(CANVAS) for one in people for i in one.ids)


def _id(text: str) -> str:
    return f"id {text.casefold()}"


def _name(text: str) -> str:
    return f"name {text}"


def _list(people: Sequence[Person]) -> str:
    more = f" and {len(people) - SHOWN} more" if len(people) > SHOWN else ""
    return ", ".join(f"{one.name!r} ({one.key})" for one in people[:SHOWN]) + more
