"""Reports as files: the class and each student as HTML, each student as Markdown too."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

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
from fedlab_grade.escape import fenced, html, markdown

# Nothing is loaded and no script runs, whatever the page holds.
_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
 padding: 0 1rem; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #8888; }}
td.n, th.n {{ text-align: right; white-space: nowrap; }}
.wide {{ overflow-x: auto; }}
.wide td:first-child, .wide th:first-child {{ white-space: nowrap; }}
.wide td:last-child {{ min-width: 14rem; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere;
 border-left: 3px solid #8888; padding-left: .6rem; }}
</style>
</head>
<body>
"""
_FOOT = "</body>\n</html>\n"

STATES = {
    NOT_GRADABLE: "This submission cannot be graded yet, which is not the same as 0 points:",
    UNGRADED: "This submission is not graded. The fault is not in your file; your instructor has "
    "been told. Points so far:",
    MISSING: "Nothing was handed in.",
    UNCLEAR: "Nothing of yours was found. If you handed something in, tell your instructor.",
}
SIGNS = {"passed": "✓", "error": "!", "not run": "-"}


def class_page(assignment: str, table: Table) -> str:
    """The class as a page of HTML, with a link to each student's."""
    questions = "".join(f'<th class="n">{html(q)}</th>' for q in table.questions)
    most = sum(table.questions.values())
    rows = []
    for row in table.rows:
        name = html(row.name if row.name == row.student else f"{row.name} ({row.student})")
        link = f'<a href="{html(row.page)}">{name}</a>' if row.page else name
        points = "".join(f'<td class="n">{number(p)}</td>' for p in row.points)
        total = f'<td class="n">{number(row.total)}</td><td>{html(row.state)}</td>'
        rows.append(f"<tr><td>{link}</td>{points}{total}<td>{html(row.remark)}</td></tr>")
    hard = [
        f"<tr><td>{html(d.question)} {html(d.function)}</td>"
        f'<td class="n">{d.full:.0%} of {d.graded}</td><td class="n">{d.mean:.0%}</td>'
        f"<td>{html(d.mistake)}{f' ({d.often})' if d.mistake else ''}</td></tr>"
        for d in table.difficulty()
    ]
    states = ", ".join(f"{count} {state}" for state, count in table.states().items())
    return "".join(
        [
            _HEAD.format(title=html(assignment)),
            f"<h1>{html(assignment)}</h1>\n<p>{len(table.rows)} students: {states}. "
            f"Points are out of {number(most)}.</p>\n",
            "<h2>Questions</h2>\n<div class='wide'><table>\n",
            "<tr><th>question</th><th class='n'>full marks</th><th class='n'>mean</th>"
            "<th>most frequent mistake</th></tr>\n",
            "\n".join(hard),
            "\n</table></div>\n<h2>Students</h2>\n<div class='wide'><table>\n<tr><th>student</th>",
            f"{questions}<th class='n'>total</th><th>state</th><th>remark</th></tr>\n",
            "\n".join(rows),
            "\n</table></div>\n",
            _FOOT,
        ]
    )


def student_page(record: Record, show_hidden: bool = False) -> str:
    """A student's report as a page of HTML."""
    out = [
        _HEAD.format(title=f"{html(record.assignment)}: {html(record.name)}"),
        f"<h1>{html(record.assignment)}: {html(record.name)}</h1>\n",
        f"<p>{html(_summary(record))}</p>\n",
    ]
    if record.problem and record.state == NOT_GRADABLE:
        out.append(f"<pre>{html(record.problem)}</pre>\n")
    if record.state in (GRADED, UNGRADED):
        for question, tests in record.questions.items():
            out.append(f"<h2>{html(_title(question, tests))}</h2>\n<ul>\n")
            for test in tests:
                out.append(f"<li>{html(_line(test))}")
                out += [
                    f"<pre>{html(text)}</pre>" for text in told(test, record.tests, show_hidden)
                ]
                out.append("</li>\n")
            out.append("</ul>\n")
    if record.notes:
        notes = "".join(f"<li>{html(note)}</li>\n" for note in record.notes)
        out.append(f"<h2>About your file</h2>\n<ul>\n{notes}</ul>\n")
    return "".join([*out, f"<p>{html(_made(record))}</p>\n", _FOOT])


def student_markdown(record: Record, show_hidden: bool = False) -> str:
    """A student's report as Markdown."""
    out = [f"# {markdown(record.assignment)}: {markdown(record.name)}", ""]
    out += [markdown(_summary(record)), ""]
    if record.problem and record.state == NOT_GRADABLE:
        out += [fenced(record.problem), ""]
    if record.state in (GRADED, UNGRADED):
        for question, tests in record.questions.items():
            out += [f"## {markdown(_title(question, tests))}", ""]
            for test in tests:
                out += [f"- {markdown(_line(test))}", ""]
                for text in told(test, record.tests, show_hidden):
                    out += [*(f"  {row}".rstrip() for row in fenced(text).splitlines()), ""]
    if record.notes:
        out += ["## About your file", "", *(f"- {markdown(note)}" for note in record.notes), ""]
    return "\n".join([*out, markdown(_made(record)), ""])


def told(test: Outcome, among: Sequence[Outcome], show_hidden: bool = False) -> Iterable[str]:
    """What a student reads about a test, beside its aspect.

    Args:
        among: all tests of the record.
    """
    if test.status == "not run":
        if any(t.question == test.question and t.status == "stopped" for t in among):
            yield "Not run: an earlier call in this question was stopped."
        return
    if test.status in ("passed", "not handed in"):
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
    if test.likely:
        yield f"Likely: {test.likely}."
    elif test.hint and test.status == "failed":
        yield f"Hint: {test.hint}."
    if test.printed.strip():
        yield f"Your code printed:\n{test.printed.strip()}"


def _summary(record: Record) -> str:
    late = " It was handed in late." if record.late else ""
    total = f"{number(record.won)} of {number(record.max)} points."
    said = STATES.get(record.state)
    if record.state in (NOT_GRADABLE, MISSING, UNCLEAR):
        return f"{said}{late}"
    return f"{said} {total}{late}" if said else f"{total}{late}"


def _title(question: str, tests: Iterable[Outcome]) -> str:
    tests = tuple(tests)
    won = sum(t.points or 0 for t in tests)
    most = sum(t.max for t in tests)
    name = f"{question} {tests[0].function}".strip()
    return f"{name}: {number(won)} of {number(most)}"


def _line(test: Outcome) -> str:
    sign = SIGNS.get(test.status, "✗")
    hidden = ", hidden" if test.hidden else ""
    idle = ", not run" if test.status == "not run" else ""
    points = "not judged" if test.points is None else f"{number(test.points)} of {number(test.max)}"
    return f"{sign} {test.aspect or test.test} ({points}{hidden}{idle})"


def _made(record: Record) -> str:
    parts = [f"{name} {version}" for name, version in record.versions.items() if version]
    file = [f"file {record.file}", f"SHA-256 {record.sha256[:16]}"] if record.file else []
    return f"{'; '.join([*file, *parts])}."
