"""The command ``hint``: three hints to each question of the exercises, shown one at a time.

Those of an exercise are in ``tests/exercises/hints/ex04.toml``: for each question a table with the
keys ``what``, ``where`` and ``how``.
"""

import tomllib
from pathlib import Path
from textwrap import fill

from fedlab_grade.assignment import course_folder
from fedlab_grade.home import progress
from fedlab_grade.home.check import width
from fedlab_grade.options import Refusal

LEVELS = {"what": "what is asked", "where": "where to look", "how": "how to do it"}
END = "That was the last one. The solution is folded under the exercise in the book."


def hint(question: str, level: int | None = None) -> int:
    """Print the next hint to a question, and remember that; 0.

    Args:
        question: as in ex01.2.
        level: which hint, from 1; None for the one after the last that was shown.
    """
    course = course_folder()
    known = choose(course / "tests" / "exercises" / "hints", question)
    place = progress.place(course)
    state = progress.load(place)
    shown = state.hints.get(question, 0)
    if level is None:
        level = max(1, min(shown + 1, len(known)))
    if not 1 <= level <= len(known):
        raise Refusal(f"there is no hint {level}; there are hints 1 to {len(known)}.")
    print(render(question, known, level, width()))
    state.hints[question] = level
    progress.save(place, state)
    return 0


def read(path: Path) -> dict[str, tuple[str, ...]]:
    """Return question -> its hints, the least telling first."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    for question, hints in tables.items():
        if list(hints) != list(LEVELS):
            raise ValueError(f"{path}: {question} has {list(hints)}; allowed: {list(LEVELS)}")
    return {question: tuple(hints.values()) for question, hints in tables.items()}


def choose(folder: Path, question: str) -> tuple[str, ...]:
    """Return the hints to one question."""
    exercise, _, number = question.partition(".")
    known = {path.stem: path for path in sorted(folder.glob("ex*.toml"))}
    if exercise not in known:
        there = ", ".join(known) or "none"
        raise Refusal(f"there are no hints to {exercise!r}; there are some to: {there}.")
    hints = read(known[exercise])
    if not number:
        raise Refusal(f"name a question: {', '.join(hints)}.")
    if question not in hints:
        raise Refusal(f"there is no question {question!r}; there are: {', '.join(hints)}.")
    return hints[question]


def render(question: str, hints: tuple[str, ...], level: int, width: int = 88) -> str:
    """Return one hint, and which come after it."""
    names = list(LEVELS.values())
    words = fill(hints[level - 1], width, initial_indent="  ", subsequent_indent="  ")
    left = [f"{number} ({names[number - 1]})" for number in range(level + 1, len(hints) + 1)]
    more = f"Left: {', '.join(left)}. The next one:\n  fedlab-edu hint {question}" if left else END
    title = f"{question}, hint {level} of {len(hints)}: {names[level - 1]}"
    return f"{title}\n\n{words}\n\n{more}\n"
