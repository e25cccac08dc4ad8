"""What instructors and students read, and what other programs get."""

import csv
import io
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from fedlab_edu.grading import commands, escape, exports, gradebooks, pages, tables
from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.downloads import Person
from fedlab_edu.grading.store import Outcome, Record, Store

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
            Outcome(f"t{i}", question, function, aspect, won, most, status, message, likely,
                 "a hint", seconds=0.5, hidden=i == 1)
        )  # fmt: skip
    values = {"state": "graded", "assignment": "hw", "ids": (), "name": student} | fields
    return Record(student, tests=tuple(tests), **values)  # type: ignore[arg-type]


CLASS = [
    record("ann", 1, 2, 2.5, ids=("11",)),
    record("bob", 1, 0, 0, ids=("12",), late=True),
    record("cyd", 0, 0, 0, ids=("13",), state="not gradable yet", problem="no Python"),
    record("dan", 1, 2, None, ids=("14",), state="ungraded", problem="1 / 0"),
    record("eve", 0, 0, 0, ids=("15",), state="not handed in"),
]


def table(records: list[Record]) -> tables.Table:
    out = tables.Table({"q1": 3, "q2": 2.5})
    for one in records:
        out.add(one)
    return out


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
    test = Outcome("t", EVIL, EVIL, EVIL, 0, 1, "failed", EVIL, EVIL, EVIL, EVIL, hidden=False)
    return Record(EVIL, EVIL, (EVIL,), EVIL, "graded", (test,), EVIL, EVIL, notes=(EVIL,))


def everything(one: Record) -> list[str]:
    rows = tables.Table({EVIL: 1})
    rows.add(one, "page.html")
    return [
        pages.class_page(EVIL, rows),
        pages.student_page(one),
        pages.student_markdown(one),
        tables.class_text(rows),
        tables.class_csv(rows),
        tables.difficulty_csv(rows),
        tables.difficulty_text(rows),
    ]


def test_no_page_holds_an_element_of_a_students() -> None:
    ours = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li", "pre"}
    ours |= {"table", "tr", "th", "td", "a"}
    for page in everything(evil())[:2]:
        found = Tags(page)
        assert found.tags <= ours
        assert not {a for a in found.attributes if a.startswith("on") or a == "src"}


def test_markdown_holds_no_element_link_picture_or_heading_of_a_students() -> None:
    for one in (evil(), Record(EVIL, EVIL, (), EVIL, "not gradable yet", (), EVIL, notes=(EVIL,))):
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(pages.student_markdown(one))
        flat = [*tokens, *(child for token in tokens for child in token.children or [])]
        kinds = {token.type for token in flat}
        assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline"}
        assert [t.tag for t in tokens if t.type == "heading_open"][:1] == ["h1"]
        assert {t.tag for t in tokens if t.type == "heading_open"} <= {"h1", "h2"}
        assert "A heading" not in [t.content for t in tokens if t.type == "inline"]


def test_no_text_holds_control_codes_or_commands_of_a_students() -> None:
    for text in everything(evil()):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
        assert not re.search(r"(?m)^\s*::|##\[", text)


def test_no_cell_of_a_table_is_a_formula() -> None:
    for text in everything(evil())[4:6]:
        for row in list(csv.reader(io.StringIO(text)))[1:]:
            assert not [cell for cell in row if cell[:1] in "=+-@|%" and cell]


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1", "'=1"), (" \t+1", "'+1"), ("\uff1d1", "'\uff1d1"), ("a=1", "a=1"), ("", "")],
)
def test_a_formula_gets_an_apostrophe(text: str, cell: str) -> None:
    assert escape.cell(text) == cell


def test_code_of_a_students_is_shown_as_it_is() -> None:
    code = "x = a[::2] + b  # 1 < 2"
    assert escape.plain(code) == code
    assert f"\n{code}\n" in escape.fenced(code)


# --- the class ----------------------------------------------------------------------------------


def test_the_table_shows_everyone_and_tells_0_from_no_mark() -> None:
    rows = list(csv.reader(io.StringIO(tables.class_csv(table(CLASS)))))
    assert rows[0] == ["student", "name", "state", "q1", "q2", "total", "max", "remark"]
    assert [row[2:6] for row in rows[1:]] == [
        ["graded", "3", "2.5", "5.5"],
        ["graded", "1", "0", "1"],
        ["not gradable yet", "", "", ""],
        ["ungraded", "", "", ""],
        ["not handed in", "0", "0", "0"],
    ]
    assert [row[7] for row in rows[1:]] == ["", "late", "no Python", "1 / 0", ""]


def test_difficulty_counts_graded_submissions_only() -> None:
    first, second = table(CLASS).difficulty()
    assert (first.graded, first.full, first.mean) == (2, 0.5, pytest.approx((3 + 1) / 2 / 3))
    assert (first.mistake, first.often) == ("you squared it", 1)
    assert (second.full, second.mean, second.mistake) == (0.5, 0.5, "area is wrong: got 4")


def test_difficulty_of_nothing_is_no_division_by_zero() -> None:
    assert [d.mean for d in table(CLASS[2:]).difficulty()] == [0, 0]


# --- a student ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [pages.student_page, pages.student_markdown])
def test_of_a_hidden_test_a_student_reads_the_aspect_only(page: object) -> None:
    one = record("bob", 0, 0, 0)
    assert callable(page)
    assert "negative" in page(one)
    assert "got 4" in page(one)
    assert "secret input" not in page(one)
    assert "secret input" in page(one, show_hidden=True)


def test_a_fault_of_ours_is_not_blamed_on_the_student() -> None:
    text = pages.student_page(CLASS[3])
    assert "The fault is not in your file" in text
    assert "area is wrong" not in text


def test_not_gradable_yet_says_why_and_that_it_is_no_zero() -> None:
    text = pages.student_markdown(CLASS[2])
    assert "not the same as 0 points" in text
    assert "no Python" in text


# --- other programs -----------------------------------------------------------------------------


def test_gradescope_gets_scores_and_no_message_of_a_hidden_test(tmp_path: Path) -> None:
    assert exports.gradescope(CLASS, tmp_path) == ["cyd", "dan"]
    found = {p.parent.name[:3]: json.loads(p.read_text()) for p in tmp_path.rglob("results.json")}
    assert found["ann"]["score"] == 5.5
    assert [t["max_score"] for t in found["bob"]["tests"]] == [1, 2, 2.5]
    assert [t["status"] for t in found["bob"]["tests"]] == ["passed", "failed", "failed"]
    assert "secret input" not in json.dumps(found["bob"])
    assert "not gradable yet" in found["cyd"]["output"].lower()
    assert "score" not in found["dan"]
    assert "score" not in found["dan"]["tests"][2]


def test_classroom_50_gets_whole_numbers(tmp_path: Path) -> None:
    assert exports.classroom50(CLASS, tmp_path) == ["cyd", "dan"]
    found = {p.parent.name[:3]: json.loads(p.read_text()) for p in tmp_path.rglob("result.json")}
    assert found.keys() == {"ann", "bob", "eve"}
    bob = found["bob"]
    assert (bob["schema"], bob["score"], bob["max-score"]) == ("classroom50/result/v1", 2, 11)
    assert [t["score"] for t in bob["tests"]] == [2, 0, 0]
    assert {type(t["max-score"]) for t in bob["tests"]} == {int}
    assert all(bob[k] for k in ("classroom", "submission", "commit", "release", "review"))


def test_junit_has_a_suite_for_everyone(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    assert exports.junit([*CLASS, evil()], path) == []
    suites = ElementTree.parse(path).getroot().findall("testsuite")
    counts = [[s.get(k) for k in ("tests", "failures", "errors", "skipped")] for s in suites]
    assert counts[0] == ["3", "0", "0", "0"]
    assert counts[1] == ["3", "2", "0", "0"]
    assert counts[3] == ["3", "0", "1", "0"]
    assert len(suites[1].findall("testcase/failure")) == 2


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Quiz (7),hw (99),Total
    Points Possible,,,,,10,5.5,
"Doe, Ann",11,s1,ann,"A, B",3,,
"Roe, Bob",99,s2,12,A,3,1,
"Poe, Cyd",13,s3,cyd,A,3,,
"Nobody, New",77,s4,new,A,3,,
"""


def test_canvas_gets_its_own_columns_back_and_one_filled_in(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(CANVAS)
    out = tmp_path / "out.csv"
    empty = gradebooks.canvas(CLASS, tmp_path / "book.csv", out)
    assert empty == ["Poe, Cyd", "Nobody, New"]
    assert list(csv.reader(io.StringIO(out.read_text()))) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw (99)"],
        ["    Points Possible", "", "", "", "", "5.5"],
        ["Doe, Ann", "11", "s1", "ann", "A, B", "5.5"],
        ["Roe, Bob", "99", "s2", "12", "A", "1"],
        ["Poe, Cyd", "13", "s3", "cyd", "A", ""],
        ["Nobody, New", "77", "s4", "new", "A", ""],
    ]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a,b\n", "", "is no gradebook of Canvas"),
        (CANVAS, "Exam", r"name one column .* there are: Quiz \(7\), hw \(99\), Total"),
        (CANVAS.replace("Quiz", "hw quiz"), "", "name one column"),
    ],
)
def test_a_gradebook_without_the_column_is_refused(
    text: str, column: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "book.csv").write_text(text)
    with pytest.raises(Refusal, match=message):
        gradebooks.canvas(CLASS, tmp_path / "book.csv", tmp_path / "out.csv", column)


def test_without_nbgrader_its_gradebook_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nbgrader.api", None)
    with pytest.raises(Refusal, match="pip install nbgrader"):
        gradebooks.nbgrader(CLASS, tmp_path / "gradebook.db")


def test_the_report_of_a_folder_is_there_for_everyone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    everyone = [Person(r.student, r.name) for r in CLASS] + [Person("fay", "fay")]
    store.begin("hw", CLASS[0].tests, everyone)
    for one in CLASS:
        store.write(one)
    assert commands.report(tmp_path, exports=["gradescope", "junit"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"fay +5.5  ungraded +grading was stopped", told)
    assert "without a mark: cyd, dan, fay" in told
    files = {p.name for p in (tmp_path / "report").iterdir()}
    assert files == {
        "class.html",
        "class.csv",
        "questions.csv",
        "students",
        "gradescope",
        "junit.xml",
    }
    assert len(list((tmp_path / "report/students").glob("*.html"))) == 6


def test_without_grades_there_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="holds no grades: run fedlab-edu grade first"):
        commands.report(tmp_path)
