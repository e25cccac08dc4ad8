"""The instructor's command ``report``: the table of the class, pages and exports."""

from collections.abc import Sequence
from pathlib import Path

from fedlab_grade.classroom import exports as programs
from fedlab_grade.classroom import pages, tables
from fedlab_grade.classroom.store import Store
from fedlab_grade.disk import write_text
from fedlab_grade.escape import line
from fedlab_grade.run import by_question

LEFT_OVER = 10  # records of people who are no longer in the class that are named


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
        tell_left_over(store)
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


def tell_left_over(store: Store) -> None:
    """Print the students of earlier runs who are no longer in the class, and in no table."""
    found = store.left_over()
    for name, path in found[:LEFT_OVER]:
        print(f"  graded earlier, not among these submissions: {line(name)}: {path}")
    if len(found) > LEFT_OVER:
        print(f"  and {len(found) - LEFT_OVER} more")
