"""The student's commands beside ``check``: watch, hint, progress; `fedlab_grade.cli` calls them."""

import time
from functools import partial
from pathlib import Path

from tqdm import tqdm

from fedlab_grade.assignment import course_folder, exercises
from fedlab_grade.home import hints, progress
from fedlab_grade.home.check import check_file, show, target, width
from fedlab_grade.home.watch import checks
from fedlab_grade.options import Refusal
from fedlab_grade.run import CheckBroken


def watch(question: str, file: Path | None = None) -> int:
    """Check a file now and at each save until Ctrl-C; 0."""
    chosen = target(question, file)
    say = partial(print, flush=True)
    say("Loading PyTorch; this takes some seconds.")
    try:
        for found in checks(chosen.file, chosen.tests, chosen.question):
            if isinstance(found, str):
                say(found)
            else:
                chosen.keep(found[0])
                show(*found, again="", hints=chosen.place is not None)
            clock = time.strftime("%H:%M:%S")
            say(f"-- {clock}: {chosen.file} is checked again when you save it. Ctrl-C ends this.")
    except KeyboardInterrupt:
        say()
    return 0


def hint(question: str, level: int | None = None) -> int:
    """Print the next hint to a question, and remember that; 0.

    Args:
        question: as in ex01.2.
        level: which hint, from 1; None for the one after the last that was shown.
    """
    course = course_folder()
    known = hints.choose(course / "tests" / "exercises" / "hints", question)
    place = progress.place(course)
    state = progress.load(place)
    shown = state.hints.get(question, 0)
    if level is None:
        level = max(1, min(shown + 1, len(known)))
    if not 1 <= level <= len(known):
        raise Refusal(f"there is no hint {level}; there are hints 1 to {len(known)}.")
    print(hints.render(question, known, level, width()))
    state.hints[question] = level
    progress.save(place, state)
    return 0


def overview(check: bool = False) -> int:
    """Print the points so far in all exercises, and what comes next; 0 if all is done, else 1."""
    course = course_folder()
    known = [progress.exercise_of(tests) for tests in exercises(course).values()]
    if not known:
        raise Refusal(f"{course / 'tests' / 'exercises'} holds no exercises.")
    place, problems = progress.place(course), []
    for one in tqdm(known if check else [], unit="exercise", disable=None, leave=False):
        problems += _checked(one.name, progress.load(place).checks.get(one.name), place)
    state = progress.load(place)
    print(progress.render(known, state, place, width()))
    for problem in problems:
        print(problem)
    return int(any(progress.left(e, state) for e in known) or bool(problems))


def _checked(name: str, last: progress.Checked | None, place: Path) -> list[str]:
    """Check an exercise again, in the file that was checked last; return why that cannot be."""
    try:
        chosen = target(name, place / last.file if last else None)
        report, _ = check_file(chosen.file, chosen.tests)
        chosen.keep(report)
    except (Refusal, CheckBroken) as problem:
        return [f"{name} was not checked: {problem}"]
    if any(result.status == "not gradable" for result in report.results):
        return [f"{name} cannot be graded yet: see fedlab-edu check {name} {chosen.file}"]
    return []
