"""Keep a student's progress: the marks of the last checks, and the hints that were shown.

Both are kept in a small file in the course folder; without it, or if it is broken, they start from
scratch.
"""

import json
import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fedlab_grade.disk import write_json
from fedlab_grade.run import Report, marks

NAME = ".fedlab-edu.json"
SCHEMA = "fedlab-edu/progress/v2"


@dataclass
class State:
    """The progress in one course folder.

    Fields:
        files: exercise -> the file that was checked last, as seen from that folder.
        marks: question -> [points won, points to win] in its last check.
        hints: question -> the level of the hint that was shown last.
    """

    files: dict[str, str] = field(default_factory=dict)
    marks: dict[str, list[float]] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Exercise:
    """An exercise: name as in ex04, title, points, and questions as in ex04.2."""

    name: str
    title: str
    points: float
    questions: Sequence[str]


def place(course: Path) -> Path:
    """Return where progress is kept: the course's folder, or the current one outside of it."""
    here = Path.cwd()
    return course if here.is_relative_to(course.resolve()) else here


def load(course: Path) -> State:
    """Return the state of a course folder; an empty one where there is none that can be read."""
    try:
        kept = json.loads((course / NAME).read_text(encoding="utf-8"))
        hints = {question: int(level) for question, level in kept["hints"].items()}
        state = State(kept["files"], kept["marks"], hints)
        ok = all(0 <= won <= most < math.inf for won, most in state.marks.values())
        ok = ok and all(map(str.isprintable, state.files.values()))
        return state if ok and kept["schema"] == SCHEMA else State()
    except Exception:  # whatever is wrong with it: the next check makes the marks again
        return State()


def save(course: Path, state: State) -> None:
    """Write the state at once; a folder that cannot be written to keeps none."""
    with suppress(OSError):
        write_json(course / NAME, {"schema": SCHEMA, **asdict(state)})


def keep(course: Path, exercise: str, report: Report) -> None:
    """Remember the marks of a check. A file that cannot be graded yet changes none of them."""
    if any(r.status == "not gradable" for r in report.results):
        return
    state = load(course)
    file = report.file.resolve()
    inside = file.is_relative_to(course.resolve())
    state.files[exercise] = str(file.relative_to(course.resolve()) if inside else file)
    for question, results in report.questions.items():
        state.marks[question] = [marks(results)[0], sum(r.points for r in results)]
    save(course, state)


def exercise_of(tests: Path) -> Exercise:
    """Return the exercise of a file of tests, which begins "Exercise 4, TITLE: 20 points."."""
    name, text = tests.stem.removeprefix("test_"), tests.read_text(encoding="utf-8")
    found = re.match(r'"""Exercise \d+, (.+): (\d+) points\.', text)
    title, points = found.groups() if found else ("", "0")
    questions = dict.fromkeys(re.findall(rf'"({name}\.\d+)"', text))
    return Exercise(name, title, float(points), [*questions])


def render(exercises: Sequence[Exercise], state: State, course: Path, width: int = 88) -> str:
    """Return points, open questions and what comes next, as text.

    Args:
        course: its folder, for the way to a file from here.
        width: of a line, in characters; with less than about 70 the titles are left out.
    """
    room = max((len(e.title) for e in exercises), default=0) if width >= 70 else 0
    lines, total, following = [], 0.0, ""
    for exercise in exercises:
        known = [state.marks[q] for q in exercise.questions if q in state.marks]
        won = sum(won for won, _ in known)
        todo = left(exercise, state)
        total += won
        told = ", ".join(q.partition(".")[2] for q in todo)
        if not known:
            told = "not checked yet"
        elif told:
            told = f"open: {told}"
        marks = f"{won:g} of {exercise.points:g}"
        line = f"  {exercise.name}  {exercise.title[:room]:<{room}}  {marks:>8}  {told}"
        lines.append(line.rstrip())
        if todo and not following:
            last = state.files.get(exercise.name)
            file = f" {os.path.relpath(course / last)}" if last else ""
            following = f"fedlab-edu check {todo[0] if known else exercise.name}{file}"
    of = sum(e.points for e in exercises)
    lines.append(f"  {'Total':<{room + 4}}  {f'{total:g} of {of:g}':>10}")
    end = f"Next:\n  {following}" if following else "Full marks in all exercises. Well done."
    return "\n".join([*lines, "", end, ""])


def left(exercise: Exercise, state: State) -> list[str]:
    """Return the questions without full marks."""
    done = {q for q, (won, points) in state.marks.items() if won >= points}
    return [q for q in exercise.questions if q not in done]
