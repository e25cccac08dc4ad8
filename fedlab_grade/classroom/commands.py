"""The instructor's commands: grade, release and doctor; `fedlab_grade.cli` calls them."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from fedlab_grade.assignment import Assignment, find
from fedlab_grade.classroom.records import State, count_states
from fedlab_grade.classroom.report import tell_left_over
from fedlab_grade.classroom.store import Store
from fedlab_grade.escape import line
from fedlab_grade.options import Refusal
from fedlab_grade.textfile import printable

if TYPE_CHECKING:
    from fedlab_grade.classroom.batch import Grader
    from fedlab_grade.run import Report


def grade(
    submissions: Path,
    assignment: str,
    roster: Path | None = None,
    out: Path | None = None,
    again: bool = False,
    trust: bool = False,
    jobs: int = 2,
) -> int:
    """Grade a class; 0, 1 where someone is ungraded for a fault of ours, 130 after Ctrl-C.

    Args:
        out: where the grades go; None for a folder in the current one.
        again: also who has a grade of the same file and tests.
        trust: run submissions even where this machine cannot keep them apart.
        jobs: submissions that are graded at a time; each keeps a core busy.
    """
    from fedlab_grade.classroom.batch import Batch
    from fedlab_grade.classroom.downloads import people

    chosen = find(assignment)
    store = Store(Path(f"grades-{chosen.name}") if out is None else out)
    if store.folder.resolve().is_relative_to(submissions.resolve()):
        raise Refusal(
            f"the grades would go to {store.folder}, within the submissions: "
            "name another folder with --out."
        )
    lists = [] if roster is None else [roster]
    chosen = replace(chosen, apart=(submissions, store.folder, *lists))
    heads = iter(["Changed since the last time:\n"])

    def changed(change: str) -> None:
        with tqdm.external_write_mode():
            print(f"{next(heads, '')}  {line(change)}", flush=True)

    try:
        found = people(submissions, roster)
        for name in [path.name for one in found if one.is_test for _, path in one.paths]:
            print(f"left out: {line(name)}, of Canvas's Test Student")
        everyone = [one for one in found if not one.is_test]
        if not everyone:
            raise Refusal(f"{submissions} holds no submissions.")
        grader, back_end = isolated(chosen, store.secret(), trust, jobs)
        with tqdm(total=len(everyone), unit="student", disable=None) as bar:
            step = lambda record: bar.update()  # noqa: E731
            Batch(chosen, store, grader, back_end, again, step, changed).run(everyone)
    except KeyboardInterrupt:
        return _stopped(store, again)
    return _told(store)


def _stopped(store: Store, again: bool) -> int:
    """Say after Ctrl-C how far it came; 130."""
    kept = len(list((store.folder / "grades").glob("*.json")))
    goes = "begins with the first one once more" if again else "resumes from here"
    said = f"stopped. {kept} are graded, and stay so; the same command {goes}."
    print(f"fedlab-edu: {said}", file=sys.stderr)
    return 130


def release(assignment: str, out: Path) -> int:
    """Write what students get, as a folder or a zip; 0."""
    from fedlab_grade.classroom.handout import handout, write

    chosen = find(assignment)
    files = handout(chosen)
    assert chosen.source is not None
    write(files, out, chosen.source)
    print(f"{out}: {', '.join(files)}")
    return 0


def doctor() -> int:
    """Say how well this machine keeps submissions apart; 0, or 1 where it cannot."""
    from fedlab_grade.sandbox.doctor import examine

    way, told = examine()
    print(told)
    return int(way == "none")


def isolated(
    chosen: Assignment, secret: str, trust: bool = False, jobs: int = 2
) -> tuple["Grader", str]:
    """Return the grader of this machine, and the name of its isolation.

    Submissions can read neither the solution nor what is apart from the tests.

    Args:
        secret, trust, jobs: see `fedlab_grade.sandbox.isolated.grade_isolated`.

    Raises:
        NoSandbox: there is none, and the submissions are not trusted; also as the grader runs.
    """
    from fedlab_grade.sandbox.doctor import choose
    from fedlab_grade.sandbox.isolated import grade_isolated

    way, limits, reference = choose(trust), chosen.limits, chosen.reference
    private = [*chosen.apart, *([chosen.source] if chosen.source else [])]

    def grader(tests: Path, submissions: Iterable[tuple[str, str]]) -> "Iterator[Report]":
        known = len(submissions) if isinstance(submissions, list) else jobs
        return grade_isolated(
            tests, submissions, way, limits, secret=secret, reference=reference,
            private=private, trust=trust, jobs=min(known, jobs),
        )  # fmt: skip

    return grader, way


def _told(store: Store) -> int:
    """Print how many there are of each state, and who needs a look."""
    records = list(store.records())
    students = "1 student" if len(records) == 1 else f"{len(records)} students"
    print(f"{students}: {count_states(records)}. The grades: {store.folder}")
    for state in (State.UNGRADED, State.NOT_GRADABLE, State.UNCLEAR, State.MISSING):
        names: dict[str, list[str]] = {}
        for one in (record for record in records if record.state == state):
            names.setdefault(printable(one.why, 160), []).append(line(one.name))
        for why, some in names.items():
            print(f"  {state}: {'; '.join(some)}{why and f': {why}'}")
    for person in store.read_class().people:
        for note in person.notes:
            print(f"  see to: {line(person.name)}: {line(note)}")
    tell_left_over(store)
    print(f"Next: fedlab-edu report {store.folder}")
    return int(any(record.state == State.UNGRADED for record in records))
