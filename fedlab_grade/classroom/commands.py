"""The instructor's commands: grade, release, doctor and report; `fedlab_grade.cli` calls them."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tqdm import tqdm

from fedlab_grade.assignment import Assignment, find
from fedlab_grade.classroom import exports as programs
from fedlab_grade.classroom import handout, pages, tables
from fedlab_grade.classroom.batch import Batch, Grader
from fedlab_grade.classroom.downloads import people
from fedlab_grade.classroom.records import State, count_states
from fedlab_grade.classroom.store import Store
from fedlab_grade.disk import write_text
from fedlab_grade.escape import line
from fedlab_grade.options import Refusal
from fedlab_grade.run import by_question
from fedlab_grade.textfile import printable

LEFT_OVER = 10  # records of people who are no longer in the class that are named


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
        again: also grade a student whose file and tests are those of the last grade.
        trust: run submissions even where this machine cannot keep them apart.
        jobs: submissions that are graded at a time; each keeps a core busy.
    """
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
        kept = len(list((store.folder / "grades").glob("*.json")))
        goes = "begins with the first one once more" if again else "resumes from here"
        said = f"stopped. {kept} are graded, and stay so; the same command {goes}."
        print(f"fedlab-edu: {said}", file=sys.stderr)
        return 130
    return _told(store)


def release(assignment: str, out: Path) -> int:
    """Write what students get, as a folder or a zip; 0."""
    chosen = find(assignment)
    files = handout.handout(chosen)
    assert chosen.source is not None
    handout.write(files, out, chosen.source)
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
) -> tuple[Grader, str]:
    """Return the grader of this machine, and the name of its isolation.

    Submissions can read neither the solution nor what is apart from the tests.

    Args:
        secret, trust, jobs: see `fedlab_grade.sandbox.isolated.grade_isolated`.

    Raises:
        NoSandbox: there is none, and the submissions are not trusted; also as the grader runs.
    """
    from fedlab_grade.sandbox.doctor import choose
    from fedlab_grade.sandbox.isolated import grade_isolated

    way, sources = choose(trust), [chosen.source] if chosen.source else []
    grader = partial(
        grade_isolated, isolation=way, limits=chosen.limits, secret=secret, trust=trust, jobs=jobs,
        reference=chosen.reference, private=[*chosen.apart, *sources],
    )  # fmt: skip
    return grader, way


def _told(store: Store) -> int:
    """Print the number of students in each state, and the students to look at."""
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
    _tell_left_over(store)
    print(f"Next: fedlab-edu report {store.folder}")
    return int(any(record.state == State.UNGRADED for record in records))


def report(
    folder: Path,
    show_hidden: bool = False,
    exports: Sequence[str] = (),
    canvas: Path | None = None,
    moodle: Path | None = None,
    column: str = "",
) -> int:
    """Print the table of the class, and write the pages and exports; 0.

    Args:
        show_hidden: students read the messages of hidden tests too.
        exports: some of gradescope and nbgrader.
        canvas: Canvas's gradebook, moodle: Moodle's grading worksheet, to be filled in.
        column: of Canvas's gradebook; "" for the one that begins with the assignment's name.
    """
    store, target = Store(folder), folder / "report"
    lines: list[str] = []

    def said(name: str, path: Path, notes: Sequence[str]) -> None:
        lines.extend([f"{name}: {path}", *(f"  {note}" for note in notes)])

    table = _write_pages(store, target, show_hidden)
    try:  # before anything is printed: who reads that may stop in the middle
        for name, template in (("canvas", canvas), ("moodle", moodle)):
            if template:
                path = target / f"{name}.csv"
                said(name, path, programs.fill(table.records, template, path, column))
        if "gradescope" in exports:
            path = target / "gradescope"
            _empty(path, "*/results.json")
            said("gradescope", path, programs.gradescope(table.records, path, show_hidden))
        if "nbgrader" in exports:  # at last, since it may not be installed
            path = target / "gradebook.db"
            said("nbgrader", path, programs.nbgrader(table.records, path))
    finally:
        print(f"{tables.class_text(table)}\n")
        _tell_left_over(store)
        print("\n".join([f"Pages and tables: {target}", *lines]))
    return 0


def _write_pages(store: Store, target: Path, show_hidden: bool) -> tables.Table:
    """Write all pages and tables of a class, and return its table."""
    about = store.read_class()
    points = {q: sum(t.points for t in ts) for q, ts in by_question(about.tests).items()}
    notes = {one.key: one.notes for one in about.people}
    table = tables.Table(points, list(store.records()), notes)
    _empty(target / "students", "*.html", "*.md")

    def write(name: str, text: str) -> None:
        # a spreadsheet knows UTF-8 by the mark at the beginning
        write_text(target / name, text, "utf-8-sig" if name.endswith(".csv") else "utf-8")

    write("class.html", pages.class_page(about.assignment, table))
    write("class.csv", tables.as_csv([table.head, *table.rows]))
    write("questions.csv", tables.as_csv([tables.Difficulty._fields, *table.difficulty]))
    for record in table.records:
        page = tables.page_of(record.student)
        write(page, pages.student_page(record, show_hidden))
        write(page.replace(".html", ".md"), pages.student_page(record, show_hidden, "md"))
    return table


def _empty(folder: Path, *patterns: str) -> None:
    """Remove the files of an earlier report: their students may have left the class."""
    for path in [path for pattern in patterns for path in folder.glob(pattern)]:
        path.unlink()


def _tell_left_over(store: Store) -> None:
    """Print the students of earlier runs who are no longer in the class, and in no table."""
    found = store.left_over()
    for name, path in found[:LEFT_OVER]:
        print(f"  graded earlier, not among these submissions: {line(name)}: {path}")
    if len(found) > LEFT_OVER:
        print(f"  and {len(found) - LEFT_OVER} more")
