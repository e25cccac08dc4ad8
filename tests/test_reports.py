"""Reports for instructors, students and other programs."""

import base64
import csv
import hashlib
import io
import json
import re
import sys
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from markdown_it import MarkdownIt

from fedlab_grade import escape
from fedlab_grade.classroom import commands, exports, pages, tables
from fedlab_grade.classroom.people import Person
from fedlab_grade.classroom.records import ClassList, Record
from fedlab_grade.classroom.store import Store
from fedlab_grade.options import Refusal
from fedlab_grade.run import Result

pytestmark = pytest.mark.grader

EVIL = (
    "=cmd|' /C calc'!A0 <script>alert(1)</script> <img src=x onerror=alert(1)> "
    "[x](javascript:alert(1)) ![x](http://evil) `code` ``` \x1b[31mred\x1b[0m \x1b]0;title\x07 \0\n"
    "::set-output name=grade::100\n  ::stop-commands::x\n##[set-env]x\n```\n# A heading\n\u202eabc"
)


def record(student: str = "ann", *points: float | None, **fields: object) -> Record:
    """q1: two tests of 1 and 2 points, the second one hidden; q2: one of 2.5."""
    about = [
        ("q1", "double", "whole", 1),
        ("q1", "double", "negative", 2),
        ("q2", "area", "r", 2.5),
    ]
    tests = []
    for i, (question, function, aspect, most) in enumerate(about):
        won = points[i] if points else 0.0
        status = {None: "error", most: "passed"}.get(won, "failed")
        likely = "you squared it" if question == "q1" else ""
        message = f"{function} is wrong: {'secret input' if i == 1 else 'got 4'}"
        tests.append(
            Result(f"t{i}", question, function, most, aspect, False, status, message, likely,
                   seconds=0.5, hidden=i == 1)
        )  # fmt: skip
    values = {"state": "graded", "assignment": "hw", "ids": (), "name": student} | fields
    return Record(student, tests=tuple(tests), **values)


markdown_page = partial(pages.student_page, kind="md")

CLASS = [
    record("ann", 1, 2, 2.5, ids=("11",)),
    record("bob", 1, 0, 0, ids=("12",), late=True),
    record("cyd", 0, 0, 0, ids=("13",), state="not gradable yet", problem="no Python"),
    record("dan", 1, 2, None, ids=("14",), state="ungraded", problem="1 / 0"),
    record("eve", 0, 0, 0, ids=("15",), state="not handed in"),
]


def class_csv(table: tables.Table) -> str:
    return tables.as_csv([table.head, *table.rows])


def table(records: list[Record]) -> tables.Table:
    return tables.Table({"q1": 3, "q2": 2.5}, records)


# --- harmless -----------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The elements and attributes of a page, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def evil() -> Record:
    test = Result("t", EVIL, EVIL, 1, EVIL, False, "failed", EVIL, EVIL, EVIL)
    return Record(EVIL, EVIL, (EVIL,), EVIL, "graded", (test,), EVIL, EVIL, notes=(EVIL,))


def everything(one: Record) -> list[str]:
    rows = tables.Table({EVIL: 1}, [one])
    return [
        pages.class_page(EVIL, rows),
        pages.student_page(one),
        markdown_page(one),
        tables.class_text(rows),
        class_csv(rows),
        tables.as_csv([tables.Difficulty._fields, *rows.difficulty]),
    ]


def test_no_page_holds_an_element_of_a_students():
    ours = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li", "pre"}
    ours |= {"table", "thead", "tbody", "tr", "th", "td", "a", "div", "button", "script"}
    for page in everything(evil())[:2]:
        found = Tags(page)
        assert found.tags <= ours
        assert not {a for a in found.attributes if a.startswith("on") or a == "src"}


def test_markdown_holds_no_element_link_picture_or_heading_of_a_students():
    for one in (evil(), Record(EVIL, EVIL, (), EVIL, "not gradable yet", (), EVIL, notes=(EVIL,))):
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown_page(one))
        flat = [*tokens, *(child for token in tokens for child in token.children or [])]
        kinds = {token.type for token in flat}
        assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline"}
        assert [t.tag for t in tokens if t.type == "heading_open"][:1] == ["h1"]
        assert {t.tag for t in tokens if t.type == "heading_open"} <= {"h1", "h2"}
        assert "A heading" not in [t.content for t in tokens if t.type == "inline"]


def test_no_text_holds_control_codes_or_commands_of_a_students():
    for text in everything(evil()):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
        assert not re.search(r"(?m)^\s*::|##\[", text)


def test_no_cell_of_a_table_is_a_formula():
    for text in everything(evil())[4:6]:
        for row in list(csv.reader(io.StringIO(text)))[1:]:
            assert not [cell for cell in row if cell[:1] in "=+-@|%" and cell]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1", "'=1"),
        (" \t+1", "'+1"),
        ("\uff1d1", "'\uff1d1"),
        ("a=1", "a=1"),
        ("", ""),
        ("x;=1+1;y", "x,=1+1,y"),
        (";@x", "',@x"[1:]),
        ("a\r=1", "a =1"),
        ("a\t-1", "a -1"),
    ],
)
def test_a_formula_gets_an_apostrophe(text, cell):
    assert escape.cell(text) == cell


@pytest.mark.parametrize("between", [",", ";", "\t"])
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t=", "\r=", " ="])
def test_no_cell_is_a_formula_whatever_a_spreadsheet_splits_lines_at(sign, between):
    for mark in (";", "\t", "\r", "\n", ",", '";', '",'):
        text = escape.cell(f"x{mark}{sign}1+1{mark}y")
        line = tables.as_csv([["ann", text, "graded"]])
        for row in csv.reader(io.StringIO(line), delimiter=between):
            assert not [cell for cell in row if cell.strip(" \"'")[:1] in ("=", "+", "-", "@")]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.567, "1234.567"), (1234567.0, "1234567"), (0.1 + 0.2, "0.3"), (2.5, "2.5"), (3.0, "3")],
)
def test_points_are_written_with_all_their_digits(value, text):
    assert tables.number(value) == text
    assert tables.as_csv([[value]]) == f"{text}\n"


def test_code_of_a_students_is_shown_as_it_is():
    code = "x = a[::2] + b  # 1 < 2"
    assert escape.plain(code) == code
    assert f"\n{code}\n" in escape.fenced(code)


# --- the class ----------------------------------------------------------------------------------


def test_the_table_shows_everyone_and_tells_0_from_no_mark():
    rows = list(csv.reader(io.StringIO(class_csv(table(CLASS)))))
    assert rows[0] == ["student", "name", "state", "q1", "q2", "total", "max", "remark", "page"]
    assert [row[2:6] for row in rows[1:]] == [
        ["graded", "3", "2.5", "5.5"],
        ["graded", "1", "0", "1"],
        ["not gradable yet", "", "", ""],
        ["ungraded", "", "", ""],
        ["not handed in", "0", "0", "0"],
    ]
    assert [row[7] for row in rows[1:]] == ["", "late", "no Python", "1 / 0", ""]


def test_the_table_says_where_a_page_is_and_what_the_instructor_should_see_to():
    rows = tables.Table({"q1": 3, "q2": 2.5}, CLASS[:2], {"bob": ["not in the roster"]})
    remark, page = list(csv.reader(io.StringIO(class_csv(rows))))[2][7:]
    assert remark == "late, not in the roster"
    assert re.fullmatch(r"students/bob-[0-9a-f]{12}\.html", page)


def test_code_that_a_problem_quotes_follows_a_colon_in_the_table():
    unread = replace(CLASS[2], problem="Python cannot read line 1: invalid syntax\n  retrun 1")
    endless = replace(CLASS[2], problem="The import was stopped.\n  line 3, in module: while True:")
    assert [row[7] for row in table([unread, endless]).rows] == [
        "Python cannot read line 1: invalid syntax: retrun 1",
        "The import was stopped: line 3, in module: while True:",
    ]


def test_difficulty_counts_graded_submissions_only():
    first, second = table(CLASS).difficulty
    assert (first.graded, first.full_marks, first.mean) == (2, 0.5, pytest.approx((3 + 1) / 2 / 3))
    assert (first.mistake, first.times) == ("you squared it", 1)
    assert (second.full_marks, second.mean, second.mistake) == (0.5, 0.5, "area is wrong: got 4")


def test_a_click_on_a_column_sorts_the_class_and_no_other_script_may_run():
    page = pages.class_page("hw", table(CLASS))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    assert "script" not in pages.student_page(CLASS[0])
    head, _, body = page.partition('<table id="students">')[2].partition("</thead>")
    assert re.findall(r"<button>(.*?)</button>", head) == [
        "student", "q1", "q2", "total", "state", "remark",
    ]  # fmt: skip
    assert body.partition("</tbody>")[0].count("<tr>") == len(CLASS)


def test_difficulty_of_nothing_is_no_division_by_zero():
    assert [d.mean for d in table(CLASS[2:]).difficulty] == [0, 0]


# --- a student ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [pages.student_page, markdown_page])
def test_of_a_hidden_test_a_student_reads_the_aspect_only(page):
    one = record("bob", 0, 0, 0)
    assert callable(page)
    assert "negative" in page(one)
    assert "got 4" in page(one)
    assert "secret input" not in page(one)
    assert "secret input" in page(one, show_hidden=True)


def test_a_fault_of_ours_is_not_blamed_on_the_student():
    text = pages.student_page(CLASS[3])
    assert "The fault is not in your file" in text
    assert "area is wrong" not in text


def test_not_gradable_yet_says_why_and_that_it_is_no_zero():
    text = markdown_page(CLASS[2])
    assert "not the same as 0 points" in text
    assert "no Python" in text


@pytest.mark.parametrize("page", [pages.student_page, markdown_page])
def test_a_test_that_was_not_run_says_why_where_a_call_of_its_question_was_stopped(page):
    why = "Not run: an earlier call in this question was stopped."
    assert callable(page)
    tests = record("bob", 0, 0, 0).tests
    idle = [replace(test, status="not run") for test in tests]
    stopped = replace(tests[0], status="stopped", message="was stopped")
    one = replace(CLASS[1], tests=(stopped, idle[1], idle[2]))
    assert page(one).count(why) == 1  # the other question was not stopped
    assert why not in page(replace(CLASS[3], tests=tuple(idle)))  # grading had not come to it


@pytest.mark.parametrize("page", [pages.student_page, markdown_page])
def test_where_a_file_could_not_be_loaded_for_one_test_its_page_says_why(page):
    assert callable(page)
    first, *others = record("bob", 1, 2, 2.5).tests
    late = replace(first, status="not gradable", message="The import did not finish")
    assert "The import did not finish" in page(replace(CLASS[1], tests=(late, *others)))


@pytest.mark.parametrize("page", [pages.student_page, markdown_page])
def test_what_was_said_in_the_question_already_is_not_said_again(page):
    assert callable(page)
    first, hidden, other = record("bob", 0, 0, 0).tests
    twins = (first, replace(first, test="t1"), replace(other, message=first.message))
    text = page(replace(CLASS[1], tests=twins))
    assert text.count("The same as above.") == 1
    assert text.count(first.message) == 2  # in each question once
    for tests in ((replace(hidden, message=first.message), replace(first, test="t2")),
                  (first, replace(first, printed="1"))):  # fmt: skip
        assert "The same as above" not in page(replace(CLASS[1], tests=tests))
    loud = tuple(replace(test, printed="a line") for test in twins)
    assert page(replace(CLASS[1], tests=loud)).count("The same as above.") == 1


def test_full_marks_some_marks_and_none_have_colours_of_their_own():
    for points, colours in (((1, 2, 2.5), ["good", "good"]), ((1, 0, 0), ["some", "bad"])):
        shown = re.findall(r'class="n (\w+)">', pages.student_page(record("ann", *points)))
        assert shown == colours


def test_notes_about_a_student_are_for_the_instructor_and_notes_about_the_file_for_both(
    tmp_path, capsys
):
    store = Store(tmp_path)
    ann = Person("ann", "ann", notes=("not in the roster",))
    store.begin(ClassList("hw", CLASS[0].tests, (ann,)))
    store.write(replace(CLASS[0], notes=("of two files the last one counts",)))
    assert commands._told(store) == 0
    assert "  see to: ann: not in the roster\n" in capsys.readouterr().out
    assert commands.report(tmp_path, exports=["gradescope"]) == 0
    assert re.search(r"ann .* graded +not in the roster", capsys.readouterr().out)
    assert "not in the roster" in (tmp_path / "report/class.html").read_text()
    sent = [p for p in (tmp_path / "report").glob("*/**/*") if p.is_file()]
    assert {p.suffix for p in sent} == {".html", ".md", ".json"}
    for path in sent:
        assert "the last one counts" in path.read_text()
        assert "roster" not in path.read_text()


# --- other programs -----------------------------------------------------------------------------


def test_gradescope_gets_scores_and_no_message_of_a_hidden_test(tmp_path):
    assert exports.gradescope(CLASS, tmp_path) == ["without a mark: cyd; dan"]
    found = {p.parent.name[:3]: json.loads(p.read_text()) for p in tmp_path.rglob("results.json")}
    assert found["ann"]["score"] == 5.5
    assert [t["max_score"] for t in found["bob"]["tests"]] == [1, 2, 2.5]
    assert [t["status"] for t in found["bob"]["tests"]] == ["passed", "failed", "failed"]
    assert "secret input" not in json.dumps(found["bob"])
    assert found["eve"]["score"] == 0
    assert [t["score"] for t in found["eve"]["tests"]] == [0, 0, 0]


def test_a_submission_that_belongs_to_nobody_is_exported_to_no_program(tmp_path):
    stranger = replace(record("zoe", 1, 2, 2.5), matched=False)
    assert exports.gradescope([CLASS[0], stranger], tmp_path) == ["without a mark: zoe"]
    assert [p.parent.name[:3] for p in tmp_path.rglob("results.json")] == ["ann"]


def test_gradescope_gets_a_mark_by_hand_and_the_instructor_s_comment(tmp_path):
    dan = replace(CLASS[3], changed={"": 4.0}, comments=("by mail",))  # a test of ours has failed
    assert exports.gradescope([dan], tmp_path) == []
    (path,) = tmp_path.rglob("results.json")
    found = json.loads(path.read_text())
    assert (found["score"], found["output"]) == (4, "Your instructor: by mail")


def test_in_gradescope_not_gradable_yet_is_0_with_a_reason_and_ungraded_has_no_file(tmp_path):
    cyd = replace(CLASS[2], tests=CLASS[0].tests)  # whatever points may stand there
    exports.gradescope([*CLASS[:2], cyd, *CLASS[3:]], tmp_path)
    folders = sorted(p.parent.name[:3] for p in tmp_path.rglob("results.json"))
    assert folders == ["ann", "bob", "cyd", "eve"]
    (path,) = tmp_path.glob("cyd*/results.json")
    found = json.loads(path.read_text())
    assert found["score"] == 0
    assert found["output"].splitlines()[0] == (
        "Not gradable yet, which counts as 0 here until it is: no Python"
    )
    assert [t for t in found["tests"] if "score" in t or "status" in t] == []


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Quiz (7),hw (99),Total
    Points Possible,,,,,10,5.5,(read only)
"Doe, Ann",11,s1,ann,"A, B",3,,
"Roe, Bob",99,s2,bob,A,3,1,
"Poe, Cyd",13,s3,cyd,A,3,2,
"Nobody, New",77,s4,new,A,3,4.25,
"""
# The class as a roster of logins gives it.
HERE = [replace(one, ids=(one.student,)) for one in CLASS]


def filled(
    text: str, everyone: list[Record], folder: Path, between: str = ","
) -> tuple[list[list[str]], list[str], list[str]]:
    """The rows that come out, who has no mark, and what does not fit."""
    (folder / "book.csv").write_text(text, encoding="utf-8")
    notes = exports.fill(everyone, folder / "book.csv", folder / "out.csv")
    told = "without a mark: "
    empty = [name for note in notes[:1] if told in note for name in note[len(told) :].split("; ")]
    odd = notes[bool(empty) :]
    out = (folder / "out.csv").read_text("utf-8")
    return list(csv.reader(io.StringIO(out), delimiter=between)), empty, odd


def marks(text: str, everyone: list[Record], folder: Path) -> list[str]:
    """The column as it comes out, without its head and the points that are possible."""
    return [row[-1] for row in filled(text, everyone, folder)[0] if "oints" not in row[0]][1:]


def test_canvas_gets_its_own_columns_back_and_one_filled_in(tmp_path):
    rows, empty, odd = filled(CANVAS, HERE, tmp_path)
    assert empty == ["Poe, Cyd", "Nobody, New"]
    assert odd == ["handed in, but not found in book.csv: dan"]  # eve has handed in nothing
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw (99)"],
        ["    Points Possible", "", "", "", "", "5.5"],
        ["Doe, Ann", "11", "s1", "ann", "A, B", "5.5"],
        ["Roe, Bob", "99", "s2", "bob", "A", "1"],
        ["Poe, Cyd", "13", "s3", "cyd", "A", "2"],  # Canvas takes an empty cell for a change
        ["Nobody, New", "77", "s4", "new", "A", "4.25"],  # of another section, for example
    ]


def test_a_column_of_canvas_s_that_is_called_late_may_hold_dates(tmp_path):
    text = "Student,ID,Section,Late,hw (99)\nann,1,A,12.03.2026,\n"
    rows, empty, odd = filled(text, [record("ann", 1, 2, 2.5)], tmp_path)
    assert (rows[1][-1], empty, odd) == ("5.5", [], [])


def test_who_is_excused_or_not_meant_stays_so(tmp_path):
    text = CANVAS.replace('A, B",3,', 'A, B",3,EX').replace(",A,3,1,", ",A,3,N/A,")
    text += '"Poe, Eve",78,s5,eve,A,3,ex,\n'
    rows, empty, odd = filled(text, HERE, tmp_path)
    assert [row[-1] for row in rows[2:]] == ["EX", "N/A", "2", "4.25", "ex"]
    assert empty == ["Poe, Cyd", "Nobody, New"]
    assert odd[:2] == [  # eve has handed in nothing
        "ann has 5.5 here and EX there, which stays",
        "bob has 1 here and N/A there, which stays",
    ]
    assert len(odd) == 3


def test_canvas_may_have_semicolons_and_the_name_in_two_columns(tmp_path):
    login = "0af9" * 10  # Canvas's, of its Test Student
    text = (
        "\ufeffLastName;FirstName;ID;SIS User ID;SIS Login ID;Root Account;Section;hw (99)\n"
        ";;;;;;;Manual Posting\n"
        "    Points Possible;;;;;;;5,50\n"
        "Doe;Ann Marie;11;s1;amd;uni.edu;A;0,25\n"
        f"Student;Test;12;;{login};;A;\n"
    )
    everyone = [record("Ann Marie Doe", 1, 2, 2.5)]
    rows, empty, odd = filled(text, everyone, tmp_path, ";")
    assert rows == [
        ["LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Root Account", "Section",
         "hw (99)"],
        ["", "", "", "", "", "", "", "Manual Posting"],
        ["    Points Possible", "", "", "", "", "", "", "5,50"],
        ["Doe", "Ann Marie", "11", "s1", "amd", "uni.edu", "A", "5.5"],
        ["Student", "Test", "12", "", login, "", "A", ""],
    ]  # fmt: skip
    assert (empty, odd) == ([], [])  # its Test Student is nobody without a mark


NAMES = """\
Student,ID,Section,hw (99)
Points Possible,,,10
"Lovelace, Ada",1,A,
"Müller, Jörg Peter",2,A,
"Lee, Kim",3,A,
"Lee, Kim",4,A,
"Roe, Sam",5,A,
"""


def test_canvas_finds_who_is_known_by_name_only_in_both_orders_but_guesses_nobody(tmp_path):
    people = ["Ada Lovelace", "jorg peter muller", "Kim Lee", "Sam Roe", "Roe, Sam"]
    everyone = [record(name, 1, 2, 2.5, name=name) for name in people]
    rows, empty, odd = filled(NAMES, everyone, tmp_path)
    assert [row[-1] for row in rows[2:]] == ["5.5", "5.5", "", "", ""]
    assert empty == ["Lee, Kim", "Lee, Kim", "Roe, Sam"]
    assert odd == [
        "book.csv: 10 points are possible, and here it is 5.5",
        "handed in, but not found in book.csv: Kim Lee; Sam Roe; Roe, Sam",
    ]


def test_two_of_one_name_are_told_by_canvas_s_number_where_a_roster_has_it(tmp_path):
    everyone = [
        record("3", 1, 0, 0, name="Kim Lee", ids=("canvas:3",)),
        record("4", 0, 2, 0, name="Kim Lee", ids=("canvas:4",)),
    ]
    assert marks(NAMES, everyone, tmp_path) == ["", "", "1", "2", ""]
    unsure = [everyone[0], replace(everyone[1], ids=("8",))]  # the other row may be of both
    assert marks(NAMES, unsure, tmp_path) == ["", "", "", "", ""]


def test_a_submission_that_fits_two_of_the_roster_is_nobody_s_in_canvas_too(tmp_path):
    stranger = replace(record("Ada Lovelace", 1, 2, 2.5), name="Ada Lovelace", matched=False)
    rows, empty, odd = filled(NAMES, [stranger], tmp_path)
    assert [row[-1] for row in rows[2:]] == ["", "", "", "", ""]
    assert "Lovelace, Ada" in empty
    assert odd[-1] == "handed in, but not found in book.csv: Ada Lovelace"


MOODLE = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Feedback comments
Participant 11,Ann Doe,ann@uni.edu,Submitted,,6.00,
Participant 12,Bob Roe,bob@uni.edu,Submitted,2.00,6.00,"fine, so far"
Participant 13,Kim Lee,kim@uni.edu,No submission,,6.00,
"""


def test_moodle_s_worksheet_gets_the_grades_and_keeps_everything_else(tmp_path):
    everyone = [
        record("ann", 1, 2, 2.5, name="Ann Doe", ids=("moodle:11",)),
        record("bob", 1, 0, 0, name="Bob Roe", ids=("bob@uni.edu",)),
        replace(record("kim", 0, 0, 0, name="Kim Lee", ids=()), state="unclear"),
        record("zoe", 1, 0, 0, name="Zoe", ids=()),
    ]
    rows, empty, odd = filled(MOODLE, everyone, tmp_path)
    before = list(csv.reader(io.StringIO(MOODLE)))
    odd.remove("book.csv: 6.00 points are possible, and here it is 5.5")
    assert [row[4] for row in rows] == ["Grade", "5.5", "1", ""]
    assert [[*row[:4], *row[5:]] for row in rows] == [[*row[:4], *row[5:]] for row in before]
    assert (empty, odd) == (["Kim Lee"], ["handed in, but not found in book.csv: Zoe"])


def test_two_of_one_name_are_told_by_their_numbers_in_moodle(tmp_path):
    text = MOODLE.replace("Bob Roe,bob@", "Ann Doe,ann2@")
    first = record("ann@uni.edu", 1, 0, 0, name="Ann Doe", ids=("moodle:11", "ann@uni.edu"))
    second = record("ann2@uni.edu", 0, 2, 0, name="Ann Doe", ids=("moodle:12", "ann2@uni.edu"))
    rows, _, _ = filled(text, [first, second], tmp_path)
    assert [row[4] for row in rows] == ["Grade", "1", "2", ""]
    unsure = replace(second, ids=("8",))  # either row may be of this student
    assert [row[4] for row in filled(text, [first, unsure], tmp_path)[0]][1:3] == ["", "2.00"]


BOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,hw (99)
"Doe, Jane",2,1,jane,A,
"Roe, John",7,2,john,A,
"""


def test_nobody_gets_the_mark_of_another_whose_number_is_theirs_in_canvas(tmp_path):
    jane = record("1", 1, 2, 2.5, name="Jane Doe", ids=("1", "canvas:2"))
    john = record("2", 1, 0, 0, name="John Roe", ids=("2", "canvas:7"))
    assert marks(BOOK, [john, jane], tmp_path) == ["5.5", "1"]
    plain = [replace(john, ids=("2",)), replace(jane, ids=("1",))]
    assert marks(BOOK, plain, tmp_path) == ["5.5", "1"]
    only = BOOK.replace("SIS User ID,", "").replace(",2,1,", ",2,").replace(",7,2,", ",7,")
    assert marks(only, plain, tmp_path) == ["5.5", "1"]  # by name
    unlike = [replace(one, name=f"X {one.name}") for one in plain]
    assert marks(only, unlike, tmp_path) == ["", ""]  # 2 is the number of Jane in Canvas


@pytest.mark.parametrize(
    ("people", "out"),
    [
        # Canvas's own number decides, and of another number no name does.
        ([("x", ("canvas:2",))], ["1", ""]),
        ([("Jane Doe", ("canvas:7",))], ["", "1"]),
        ([("Jane Doe", ("canvas:9", "jane"))], ["", ""]),
        ([("Jane Doe", ("canvas:2",)), ("y", ("canvas:2",))], ["", ""]),
        ([("Jane Doe", ("canvas:2", "canvas:7"))], ["", ""]),  # two accounts
        # The university's.
        ([("x", ("JANE",))], ["1", ""]),
        ([("jane", ())], ["1", ""]),  # a file jane.py
        ([("John Roe", ("1",))], ["", ""]),  # the number is Jane's
        ([("John Roe", ("1",)), ("Jane Doe", ())], ["", ""]),
        ([("x", ("1",)), ("y", ("1",))], ["", ""]),
        ([("x", ("1",)), ("Jane Doe", ("1",))], ["", ""]),
        ([("x", ("1", "john"))], ["", ""]),
        ([("Jane Doe", ("1",)), ("Jane Doe", ("5",))], ["", ""]),
        # What may be a number of Canvas's, where there is no name.
        ([("7", ())], ["", "1"]),
        ([("7", ("7",))], ["", ""]),
        ([("2", ("2",))], ["", "1"]),  # the university's goes before it
        ([("z", ("7",))], ["", ""]),
        ([("7", ("canvas:9", "7"))], ["", ""]),
    ],
)
def test_canvas_gets_a_mark_where_no_clue_is_of_another(people, out, tmp_path):
    wins = [(1, 0, 0), (0, 2, 0)]
    everyone = [
        record(f"r{i}", *wins[i], name=name, ids=ids) for i, (name, ids) in enumerate(people)
    ]
    assert marks(BOOK, everyone, tmp_path) == out


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a,b\n", "", "is no gradebook of Canvas"),
        ("", "", "is empty"),
        (f"{CANVAS}Poe,1,,,A,3,2,,9\n", "", "has more cells in line 7 than in its header"),
        (NAMES.replace("Section", "Class"), "", "which has the columns .* ID and Section"),
        (NAMES.replace("Student", "LastName"), "", "which has the columns Student"),
        (CANVAS, "Exam", r"name one column .* there are: Quiz \(7\); hw \(99\)\.$"),
        (CANVAS, "Total", r"there are: Quiz \(7\); hw \(99\)\.$"),
        (CANVAS.replace("Quiz", "hw quiz"), "", "name one column"),
    ],
)
def test_a_gradebook_without_the_column_is_refused(text, column, message, tmp_path):
    (tmp_path / "book.csv").write_text(text)
    with pytest.raises(Refusal, match=message):
        exports.fill(CLASS, tmp_path / "book.csv", tmp_path / "out.csv", column)


class MissingEntry(ValueError):
    """The error of the same name in nbgrader."""


class Nbgrader:
    """A stand-in for ``nbgrader.api`` 0.9.6, as far as the export goes, which keeps JSON.

    As there, a submission gets grades for those cells that exist when it is made, and what is in
    the file already stays.
    """

    fails: Exception | None = None

    def __init__(self, url: str) -> None:
        self.path = Path(url.removeprefix("sqlite:///"))
        assert self.path.is_absolute()
        empty: dict = {"assignments": {}, "students": {}, "grades": {}}
        self.data = json.loads(self.path.read_text()) if self.path.exists() else empty
        self.db = self
        self.commit()

    def __enter__(self) -> "Nbgrader":
        return self

    def __exit__(self, *error: object) -> None:
        self.db = None

    def commit(self) -> None:
        grades = {
            student: {q: vars(g) if isinstance(g, SimpleNamespace) else g for q, g in cells.items()}
            for student, cells in self.data["grades"].items()
        }
        self.path.write_text(json.dumps(self.data | {"grades": grades}))

    def update_or_create_assignment(self, name: str) -> None:
        self.data["assignments"].setdefault(name, {})

    def update_or_create_notebook(self, name: str, assignment: str) -> None:
        self.data["assignments"][assignment].setdefault(name, {})

    def update_or_create_grade_cell(
        self, name: str, notebook: str, assignment: str, max_score: float, cell_type: str
    ) -> None:
        assert cell_type == "code"
        self.data["assignments"][assignment][notebook][name] = max_score

    def update_or_create_student(self, student: str, last_name: str) -> None:
        self.data["students"][student] = last_name
        self.commit()

    def update_or_create_submission(self, assignment: str, student: str) -> None:
        if self.fails:
            raise self.fails
        if student not in self.data["students"]:
            raise MissingEntry(f"No such student: {student}")
        cells = [q for book in self.data["assignments"][assignment].values() for q in book]
        new = {q: SimpleNamespace(auto_score=None, needs_manual_grade=False) for q in cells}
        self.data["grades"].setdefault(student, new)

    def find_grade(self, cell: str, notebook: str, assignment: str, student: str) -> object:
        assert cell in self.data["assignments"][assignment][notebook]
        if cell not in self.data["grades"][student]:
            raise MissingEntry(f"No such grade: {assignment}/{notebook}/{cell} for {student}")
        return self.data["grades"][student][cell]


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(Nbgrader, "fails", None)
    monkeypatch.setitem(sys.modules, "nbgrader", ModuleType("nbgrader"))
    api = ModuleType("nbgrader.api")
    monkeypatch.setattr(api, "Gradebook", Nbgrader, raising=False)
    monkeypatch.setitem(sys.modules, "nbgrader.api", api)
    return Nbgrader


def test_nbgrader_gets_a_grade_for_each_question(stand_in, tmp_path):
    path = tmp_path / "gradebook.db"
    assert exports.nbgrader(CLASS, path) == ["without a mark: cyd; dan"]
    found = json.loads(path.read_text())
    assert found["assignments"] == {"hw": {"hw": {"q1": 3, "q2": 2.5}}}
    assert found["students"].keys() == {"ann", "bob", "cyd", "dan", "eve"}
    scores = {
        student: [(g["auto_score"], g["needs_manual_grade"]) for g in cells.values()]
        for student, cells in found["grades"].items()
    }
    assert scores == {  # eve has handed in nothing
        "ann": [(3, False), (2.5, False)],
        "bob": [(1, False), (0, False)],
        "cyd": [(None, True), (None, True)],
        "dan": [(None, True), (None, True)],
    }


def test_a_mark_that_is_not_the_sum_of_its_questions_is_told_for_nbgrader(stand_in, tmp_path):
    late, mailed = replace(CLASS[0], penalty=0.1), replace(CLASS[4], changed={"": 4.0})
    assert exports.nbgrader([late, CLASS[1], mailed], tmp_path / "gradebook.db") == [
        "ann has 4.95 here and 5.5 there",
        "eve has 4 here and 0 there",
    ]


def test_a_question_that_came_later_is_in_nbgrader_s_gradebook_too(stand_in, tmp_path):
    path = tmp_path / "gradebook.db"
    exports.nbgrader(CLASS[:2], path)
    new = replace(CLASS[0].tests[0], test="t3", question="q3")
    old, first = CLASS[1], replace(CLASS[0], tests=(*CLASS[0].tests, new))
    exports.nbgrader([old, first], path)
    grades = json.loads(path.read_text())["grades"]
    assert grades["ann"]["q3"] == {"auto_score": 1, "needs_manual_grade": False}
    assert grades["bob"]["q3"] == {"auto_score": None, "needs_manual_grade": True}
    assert [p.name for p in tmp_path.iterdir()] == ["gradebook.db"]


def test_no_two_students_share_a_folder_of_nbgrader_s(stand_in, tmp_path):
    names = ["a b", "a_b", "a/b", "..", ".", "-rf", "x" * 200, "名前", "a.b@c-d"]
    path = tmp_path / "gradebook.db"
    exports.nbgrader([record(name, 1, 2, 2.5, name=name) for name in names], path)
    found = json.loads(path.read_text())["students"]
    assert list(found.values()) == names
    assert all(re.fullmatch(r"\w[\w.@-]{,63}", key) for key in found)
    assert {"a_b", "名前", "a.b@c-d"} < found.keys()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MissingEntry("No such student: ann\nmore"), "MissingEntry: No such student: ann\\.$"),
        (OSError("disk I/O error"), "OSError: disk I/O error"),
        (
            FileNotFoundError(2, "No such file", "alembic"),
            "FileNotFoundError: .*: activate the environment",
        ),
        (RuntimeError(), "RuntimeError: "),
    ],
)
def test_whatever_fails_in_nbgrader_is_refused_and_the_old_gradebook_stays(
    error, message, stand_in, tmp_path
):
    path = tmp_path / "gradebook.db"
    path.write_text("old")
    stand_in.fails = error
    with pytest.raises(Refusal, match=rf"nbgrader cannot write .*gradebook\.db: {message}"):
        exports.nbgrader(CLASS, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["gradebook.db"]


def test_without_nbgrader_its_gradebook_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader.api", None)
    with pytest.raises(Refusal, match="pip install nbgrader"):
        exports.nbgrader(CLASS, tmp_path / "gradebook.db")


def test_the_report_of_a_folder_is_there_for_everyone(tmp_path, capsys):
    store = Store(tmp_path)
    everyone = [Person(r.student, r.name) for r in CLASS] + [Person("fay", "fay")]
    old = [tmp_path / "report/students/gone.html", tmp_path / "report/gradescope/gone/results.json"]
    for path in old:
        path.parent.mkdir(parents=True)
        path.write_text("of a student who is no longer in the class")
    store.begin(ClassList("hw", CLASS[0].tests, tuple(everyone)))
    for one in CLASS:
        store.write(one)
    assert commands.report(tmp_path, exports=["gradescope"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"fay +5.5  ungraded +grading was stopped", told)
    assert "without a mark: cyd; dan; fay" in told
    assert not [path for path in old if path.exists()]
    files = {p.name for p in (tmp_path / "report").iterdir()}
    assert files == {
        "class.html",
        "class.csv",
        "questions.csv",
        "students",
        "gradescope",
    }
    assert len(list((tmp_path / "report/students").glob("*.html"))) == 6


def test_without_nbgrader_all_other_exports_are_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader.api", None)
    store = Store(tmp_path)
    store.begin(ClassList("hw", CLASS[0].tests, (Person("ann", "ann"),)))
    (tmp_path / "book.csv").write_text(CANVAS)
    with pytest.raises(Refusal, match="pip install nbgrader"):
        commands.report(tmp_path, exports=["nbgrader"], canvas=tmp_path / "book.csv")
    assert (tmp_path / "report/canvas.csv").exists()


def test_without_grades_there_is_no_report(tmp_path):
    with pytest.raises(Refusal, match="holds no grades: run fedlab-edu grade first"):
        commands.report(tmp_path)
