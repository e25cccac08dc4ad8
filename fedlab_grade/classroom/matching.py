"""Match submissions to the students of a roster.

A submission is given to a student if all that is known of it fits this student and no other one. An
ambiguous submission is kept, reported, and given to no student. While there is one, a student
without a submission has no mark, for it may be theirs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from fedlab_grade.classroom.people import CANVAS, Person, by_name, distinct

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
        for mark in _marks(one.ids, one.name):
            known.setdefault(mark, set()).add(one.key)
    of_canvas = any(i.startswith(CANVAS) for one in roster for i in one.ids)

    def fits(person: Person) -> tuple[list[Person], list[Person]]:
        own = [i for i in person.ids if i.startswith(CANVAS)] if of_canvas else []
        ids = own or person.ids or (person.name, f"{CANVAS}{person.name}")
        clues = [known.get(mark, set()) for mark in _marks(ids, "")]
        if not own:
            marks = _marks((), person.name)
            clues.append(set().union(*(known.get(mark, set()) for mark in marks)))
        clues = [clue for clue in clues if clue]
        both = set.intersection(*clues) if clues else set()
        some = set().union(*clues)
        return [students[k] for k in students if k in both], [
            students[k] for k in students if k in some
        ]

    return fits


def _marks(ids: Iterable[str], name: str) -> set[str]:
    return {f"id {i.casefold()}" for i in ids} | {f"name {form}" for form in by_name(name)}


def enrolled(roster: Sequence[Person], found: Iterable[Person]) -> list[Person]:
    """Return the roster with what each student handed in; then the unmatched."""
    fits = matcher(roster)
    of_canvas = any(i.startswith(CANVAS) for one in roster for i in one.ids)
    given: dict[str, list[Person]] = {one.key: [] for one in roster}
    strangers: list[Person] = []
    for person in found:
        all_fit, some_fit = fits(person)
        if len(all_fit) == 1:
            given[all_fit[0].key].append(person)
        else:
            strangers.append(noted(person, _why(person, all_fit, some_fit, of_canvas)))
    for key, handed in given.items():
        if len({i for one in handed for i in one.ids if ":" in i}) > 1:  # accounts of a program
            why = f"several people handed in under the name of one in the roster: {_list(handed)}"
            strangers += [noted(one, why) for one in handed]
            given[key] = []
    unclear = any(one.paths for one in strangers)
    students = [_with(one, given[one.key], fits, unclear) for one in roster]
    return distinct([*students, *(replace(one, matched=False) for one in strangers)])


def noted(person: Person, note: str) -> Person:
    """Return a person with one more note."""
    return replace(person, notes=(*person.notes, note))


def _with(one: Person, handed: Sequence[Person], fits: Fits, unclear: bool) -> Person:
    """Return a student of the roster with what they handed in, and their other ids."""
    ids = [i for h in handed for i in h.ids if fits(Person("", "", (i,)))[1] in ([], [one])]
    full = [h for h in handed if h.paths]
    out = replace(
        one,
        ids=tuple(dict.fromkeys([*one.ids, *ids])),
        paths=tuple(path for h in handed for path in h.paths),
        late=any(h.late for h in handed),
        notes=(*one.notes, *(note for h in handed for note in h.notes)),
        unclear=unclear and not full,
    )
    if len(full) > 1:
        names = ", ".join(map(_called, full))
        return noted(out, f"handed in as {names}: see whether that is one person")
    return noted(out, UNCLEAR) if out.unclear else out


def _why(
    person: Person, all_fit: Sequence[Person], some_fit: Sequence[Person], of_canvas: bool
) -> str:
    if all_fit:
        return f"several students of the roster could be this one: {_list(all_fit)}"
    if some_fit:
        return f"given to no student, because different clues fit {_list(some_fit)}"
    by_number = not of_canvas and any(i.startswith(CANVAS) for i in person.ids)
    return f"not in the roster; {GRADEBOOK}" if by_number else "not in the roster"


def _called(one: Person) -> str:
    return f"{one.name!r} ({one.key})"


def _list(people: Sequence[Person]) -> str:
    more = f" and {len(people) - SHOWN} more" if len(people) > SHOWN else ""
    return ", ".join(map(_called, people[:SHOWN])) + more
