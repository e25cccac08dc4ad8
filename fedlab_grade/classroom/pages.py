"""Reports as files: the class and each student as HTML, each student as Markdown too."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from statistics import fmean
from typing import Any

from fedlab_grade.classroom.records import (
    GRADED,
    MISSING,
    NOT_GRADABLE,
    UNCLEAR,
    UNGRADED,
    Outcome,
    Record,
)
from fedlab_grade.classroom.tables import Table, number
from fedlab_grade.escape import fenced, markdown, plain
from fedlab_grade.options import extra

STATES = {
    NOT_GRADABLE: "This submission cannot be graded yet, which is not the same as 0 points:",
    UNGRADED: "This submission is not graded. The fault is not in your file; your instructor has "
    "been told. Points so far:",
    MISSING: "Nothing was handed in.",
    UNCLEAR: "Nothing of yours was found. If you handed something in, tell your instructor.",
}
SIGNS = {"passed": "✓", "error": "!", "not run": "-"}
BINS, WIDTH = 10, 20.0  # bars of the histogram, and the longest one's width in rem


@cache
def _templates() -> Any:
    """Return the templates; all that they show is escaped, and without control characters."""
    jinja2 = extra("jinja2")

    def harmless(value: object) -> object:
        return plain(value) if type(value) is str else value

    return jinja2.Environment(
        loader=jinja2.PackageLoader("fedlab_grade.classroom"),
        autoescape=True,
        finalize=harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def class_page(assignment: str, table: Table) -> str:
    """Return the class as a page of HTML, with a link to each student's."""
    totals = [row.total for row in table.rows if row.total is not None]
    most = sum(table.questions.values())
    html: str = (
        _templates()
        .get_template("class.html")
        .render(
            assignment=assignment,
            table=table,
            states=", ".join(f"{count} {state}" for state, count in table.states().items()),
            most=number(most),
            mean=number(round(fmean(totals), 2)) if totals else "-",
            bins=list(_bins(totals, most)),
            hard=table.difficulty(),
            number=number,
        )
    )
    return html


def _bins(totals: Sequence[float], most: float) -> Iterator[tuple[str, int, float]]:
    """Yield (range of points, number of students, width of the bar) of a histogram."""
    places = [min(BINS - 1, int(BINS * max(0.0, t) / most)) if most else 0 for t in totals]
    counts = [places.count(i) for i in range(BINS)]
    for i, count in enumerate(counts):
        ends = (number(round(most * j / BINS, 2)) for j in (i, i + 1))
        yield " to ".join(ends), count, WIDTH * count / max(1, *counts)


def student_page(record: Record, show_hidden: bool = False) -> str:
    """Return a student's report as a page of HTML."""
    questions = [
        {
            "name": question,
            "function": tests[0].function,
            "points": number(record.points(question)) or "-",
            "most": number(sum(t.max for t in tests)),
            "colour": _colour(record.points(question), sum(t.max for t in tests)),
            "said": _said(record, question),
            "tests": [
                {
                    "line": _line(test),
                    "colour": _colour(test.points, test.max),
                    "likely": next(iter(split[0]), ""),
                    "texts": split[1],
                }
                for test in tests
                for split in [_split(told(test, record.tests, show_hidden))]
            ],
        }
        for question, tests in record.questions.items()
    ]
    html: str = (
        _templates()
        .get_template("student.html")
        .render(
            record=record,
            summary=_summary(record),
            judged=record.state in (GRADED, UNGRADED),
            questions=questions,
            made=_made(record),
        )
    )
    return html


def _split(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the likely causes, which come first, and the rest."""
    everything = list(texts)
    first = [text for text in everything if text.startswith("Likely: ")]
    return first, [text for text in everything if text not in first]


def _colour(points: float | None, most: float) -> str:
    if points is None:
        return "some"
    return "good" if points >= most else "some" if points else "bad"


def _said(record: Record, question: str) -> str:
    """Return how a question went, in a few words."""
    tests = record.questions[question]
    if record.changed.get(question) is not None:
        return "changed by your instructor"
    passed = sum(t.status == "passed" for t in tests)
    stopped = ", stopped" if any(t.status == "stopped" for t in tests) else ""
    if all(t.status == "not written" for t in tests):
        return "not written yet"
    return "full marks" if passed == len(tests) else f"{passed} of {len(tests)} tests{stopped}"


def student_markdown(record: Record, show_hidden: bool = False) -> str:
    """Return a student's report as Markdown."""
    out = [f"# {markdown(record.assignment)}: {markdown(record.name)}", ""]
    out += [markdown(_summary(record)), ""]
    out += [line for text in record.comments for line in (markdown(f"Comment: {text}"), "")]
    if record.problem and record.state == NOT_GRADABLE:
        out += [fenced(record.problem), ""]
    if record.state in (GRADED, UNGRADED):
        for question, tests in record.questions.items():
            most = number(sum(t.max for t in tests))
            name = f"{question} {tests[0].function}".strip()
            points = number(record.points(question)) or "-"
            out += [f"## {markdown(f'{name}: {points} of {most}')}", ""]
            for test in tests:
                out += [f"- {markdown(_line(test))}", ""]
                for text in told(test, record.tests, show_hidden):
                    out += [*(f"  {row}".rstrip() for row in fenced(text).splitlines()), ""]
    if record.notes:
        out += ["## About your file", "", *(f"- {markdown(note)}" for note in record.notes), ""]
    return "\n".join([*out, markdown(_made(record)), ""])


def told(test: Outcome, among: Sequence[Outcome], show_hidden: bool = False) -> Iterable[str]:
    """Yield what a student reads about a test, beside its aspect.

    Args:
        among: all tests of the record.
    """
    if test.status == "not run":
        if any(t.question == test.question and t.status == "stopped" for t in among):
            yield "Not run: an earlier call in this question was stopped."
        return
    if test.status in ("passed", "not handed in"):
        yield from [test.message] if test.message else []  # what the instructor reads
        return
    if all(t.status == "not gradable" for t in among):  # it is said once, of the file
        return
    if test.status == "error":
        yield "The test failed by itself; this is no fault of your file."
        return
    if test.hidden and not show_hidden:
        yield "What this test gives to your function is not shown."
        return
    before = [t for t in takewhile(lambda t: t is not test, among) if show_hidden or not t.hidden]
    said = {(t.question, t.message, t.likely) for t in before if t.status == test.status}
    if (test.question, test.message, test.likely) in said and not test.printed.strip():
        yield "The same as above."
        return
    yield test.message
    if test.code:
        yield test.code
    if test.likely:
        yield f"Likely: {test.likely}."
    if test.printed.strip():
        yield f"Your code printed:\n{test.printed.strip()}"


def _summary(record: Record) -> str:
    late = " It was handed in late." if record.late else ""
    if record.penalty and record.mark is not None:
        late = f" It was handed in late: {record.penalty:.0%} are taken off {number(record.won)}."
    if record.changed:
        late += " Your instructor has changed the points."
    said = STATES.get(record.state)
    if record.state in (NOT_GRADABLE, MISSING, UNCLEAR) and not record.changed:
        return f"{said}{late}"
    mark = record.won if record.mark is None else record.mark
    total = f"{number(mark)} of {number(record.max)} points.{late}"
    return f"{said} {total}" if said else total


def _line(test: Outcome) -> str:
    sign = SIGNS.get(test.status, "✗")
    hidden = ", hidden" if test.hidden else ""
    idle = ", not run" if test.status == "not run" else ""
    points = "not judged" if test.points is None else f"{number(test.points)} of {number(test.max)}"
    return f"{sign} {test.aspect or test.test} ({points}{hidden}{idle})"


def _made(record: Record) -> str:
    parts = [f"{name} {version}" for name, version in record.versions.items() if version]
    file = [f"file {record.file}", f"SHA-256 {record.sha256[:16]}"] if record.file else []
    date = [f"graded on {record.date}"] if record.date else []
    return f"{'; '.join([*file, *date, *parts])}."
