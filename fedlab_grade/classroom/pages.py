"""Reports as files: the class and each student as HTML, each student as Markdown too."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from fedlab_grade.classroom.records import Record, State, count_states
from fedlab_grade.classroom.tables import Table, called, number
from fedlab_grade.escape import fenced, markdown, plain
from fedlab_grade.options import extra
from fedlab_grade.report import SIGNS
from fedlab_grade.run import Result

STATES: dict[str, str] = {
    State.NOT_GRADABLE: "This submission cannot be graded yet, which is not the same as 0 points:",
    State.UNGRADED: "This submission is not graded. The fault is not in your file; your instructor "
    "has been told. Points so far:",
    State.MISSING: "Nothing was handed in.",
    State.UNCLEAR: "Nothing of yours was found. If you handed something in, tell your instructor.",
}
BINS = 10  # bars of the histogram
SCRIPT = (Path(__file__).parent / "templates/sort.js").read_text(encoding="utf-8")


@cache
def _templates() -> Any:
    """Return the templates; all that they show is without control characters, and HTML escaped."""
    jinja2 = extra("jinja2")
    out = jinja2.Environment(
        loader=jinja2.PackageLoader("fedlab_grade.classroom"),
        autoescape=lambda name: not name.endswith(".md"),
        finalize=lambda value: plain(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    out.filters |= {"markdown": markdown, "fenced": fenced, "number": number}
    out.globals |= {"called": called, "colour": _colour, "line": _line, "said": _said, "told": told}
    return out


def render(template: str, **values: Any) -> str:
    """Return a template filled in."""
    return str(_templates().get_template(template).render(**values))


def class_page(assignment: str, table: Table) -> str:
    """Return the class as a page of HTML, with a link to each student's."""
    totals, most = table.totals, table.most
    places = [min(BINS - 1, int(BINS * max(0.0, t) / most)) if most else 0 for t in totals]
    counts = [places.count(i) for i in range(BINS)]
    ends = [number(round(most * i / BINS, 2)) for i in range(BINS + 1)]
    return render(
        "class.html",
        assignment=assignment,
        table=table,
        states=count_states(table.records),
        mean=number(round(fmean(totals), 2)) if totals else "-",
        bins=[
            (f"{ends[i]} to {ends[i + 1]}", n, n / max(1, *counts)) for i, n in enumerate(counts)
        ],
        script=SCRIPT,
        hash=base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode(),
    )


def student_page(record: Record, show_hidden: bool = False, kind: str = "html") -> str:
    """Return a student's report as a page of HTML, or as Markdown (``md``)."""
    return render(
        f"student.{kind}",
        record=record,
        show_hidden=show_hidden,
        summary=_summary(record),
        problem=record.problem if record.state == State.NOT_GRADABLE else "",
        questions=record.questions if record.state in (State.GRADED, State.UNGRADED) else {},
        made=_made(record),
    )


def _colour(points: float | None, most: float) -> str:
    if points is None:
        return "some"
    return "good" if points >= most else "some" if points else "bad"


def _said(record: Record, question: str) -> str:
    """Return how a question went, in a few words."""
    states = [t.status for t in record.questions[question]]
    if question in record.changed:
        return "changed by your instructor"
    if set(states) == {"not written"}:
        return "not written yet"
    stopped = ", stopped" if "stopped" in states else ""
    passed = states.count("passed")
    return "full marks" if passed == len(states) else f"{passed} of {len(states)} tests{stopped}"


def told(test: Result, among: Sequence[Result], show_hidden: bool = False) -> list[str]:
    """Return what a student reads about a test, beside its aspect; the likely cause comes first.

    Args:
        among: all tests of the record.
    """
    if test.status == "not run":
        stopped = any(t.question == test.question and t.status == "stopped" for t in among)
        return ["Not run: an earlier call in this question was stopped."] * stopped
    if test.status in ("passed", "not handed in"):
        return [test.message] if test.message else []  # what the instructor reads
    if all(t.status == "not gradable" for t in among):  # it is said once, of the file
        return []
    if test.status == "error":
        return ["The test failed by itself; this is no fault of your file."]
    if test.hidden and not show_hidden:
        return ["What this test gives to your function is not shown."]
    before = (t for t in takewhile(lambda t: t is not test, among) if show_hidden or not t.hidden)
    about = attrgetter("question", "status", "message", "likely", "printed")
    if about(test) in map(about, before):
        return ["The same as above."]
    printed = test.printed.strip()
    likely = f"Likely: {test.likely}." if test.likely else ""
    texts: Iterable[str] = (likely, test.message, test.code)
    return [*filter(None, texts), *([f"Your code printed:\n{printed}"] if printed else [])]


def _summary(record: Record) -> str:
    late = " It was handed in late." if record.late else ""
    if record.penalty and record.mark is not None:
        late = f" It was handed in late: {record.penalty:.0%} are taken off {number(record.won)}."
    if record.changed:
        late += " Your instructor has changed the points."
    said = STATES.get(record.state, "") if "" not in record.changed else ""
    if record.state in (State.NOT_GRADABLE, State.MISSING, State.UNCLEAR) and not record.changed:
        return f"{said}{late}"
    mark = record.won if record.mark is None else record.mark
    return f"{said} {number(mark)} of {number(record.max)} points.{late}".lstrip()


def _line(test: Result) -> str:
    hidden = ", hidden" if test.hidden else ""
    idle = ", not run" if test.status == "not run" else ""
    points = "not judged" if test.won is None else f"{number(test.won)} of {number(test.points)}"
    return f"{SIGNS.get(test.status, '✗')} {test.aspect or test.test} ({points}{hidden}{idle})"


def _made(record: Record) -> str:
    parts = [f"{name} {version}" for name, version in record.versions.items() if version]
    file = [f"file {record.file}", f"SHA-256 {record.sha256[:16]}"] if record.file else []
    date = [f"graded on {record.date}"] if record.date else []
    return f"{'; '.join([*file, *date, *parts])}."
