"""Decisions of an instructor: marks changed by hand, comments, late penalties and extensions."""

import csv
import json
from pathlib import Path

import pytest

from fedlab_edu import cli
from fedlab_grade.assignment import find
from fedlab_grade.classroom import commands
from fedlab_grade.classroom.store import Store
from fedlab_grade.options import Late, Refusal
from tests import classroom

pytestmark = [pytest.mark.processes, pytest.mark.grader]

GRADE = ["grade", "in", "--assignment", "./hw", "--out", "out"]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Ann is right, Bob is wrong in q1, Cyd has handed in nothing; graded by a stand-in."""
    monkeypatch.setattr(commands, "isolated", lambda *job: (classroom.StandIn(), "stand-in"))
    monkeypatch.chdir(tmp_path)
    classroom.assignment_folder(tmp_path / "hw")
    Path("in").mkdir()
    Path("in/ann.py").write_text(classroom.RIGHT)
    Path("in/bob.py").write_text(classroom.WRONG)
    Path("class.csv").write_text("name,id\nAnn,1\nBob,2\nCyd,3\n")
    return tmp_path


def grade() -> None:
    assert cli.main([*GRADE, "--roster", "class.csv"]) == 0


def table() -> dict[str, dict[str, str]]:
    assert cli.main(["report", "out"]) == 0
    with Path("out/report/class.csv").open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_mark_that_was_changed_by_hand_and_a_comment_survive_grading_again(course):
    grade()
    before = table()
    assert [before[k]["total"] for k in "123"] == ["5.5", "3.5", "0"]
    rows = 'Bob,q1,2.5,"half right; see me"\nann,,6,\n3,,1.5,by mail\nBob,,,well done\n'
    with Path("out/changes.csv").open("a") as file:
        file.write(rows)
    for again in ([], ["--again"]):
        assert cli.main([*GRADE, "--roster", "class.csv", *again]) == 0
        after = table()
        assert [after[k]["total"] for k in "123"] == ["6", "5", "1.5"]
        assert (after["2"]["q1"], after["2"]["q2"]) == ("2.5", "2.5")
        assert after["1"]["remark"] == "changed by hand, above the maximum"  # 6 of 5.5
        assert after["2"]["remark"] == "changed by hand"
    Path("in/bob.py").write_text(classroom.RIGHT)
    grade()
    assert table()["2"]["total"] == "5"
    (page,) = Path("out/report/students").glob("2-*.html")
    text = page.read_text()
    assert "Your instructor: q1: half right; see me" in text
    assert "Your instructor: well done" in text
    assert "Your instructor has changed the points." in text
    assert Path("out/changes.csv").read_text(encoding="utf-8-sig").endswith(rows)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Zoe,q1,1,", "line 2: the student is 'Zoe'; allowed: a name or an id of one student"),
        ("Bob,q9,1,", "line 2: the question is 'q9'; allowed: q1, q2"),
        ("Bob,q1,one,", "line 2: the points is 'one'; allowed: a number, or a comment"),
        ("Bob,q1,-1,", "line 2: the points is '-1'"),
        ("Bob,q1,,", "line 2: the points is ''; allowed: a number, or a comment"),
        ('Bob,q1,1,"a', "not closed"),
    ],
)
def test_a_change_that_is_not_understood_is_refused(row, said, course, capsys):
    grade()
    with Path("out/changes.csv").open("a") as file:
        file.write(f"{row}\n")
    assert cli.main(["report", "out"]) == 2
    assert said in capsys.readouterr().err


def test_a_mark_by_hand_for_a_file_that_cannot_be_graded_has_no_points_of_questions(course):
    Path("in/bob.py").write_text("def double(x) return x")
    grade()
    assert table()["2"]["total"] == ""
    with Path("out/changes.csv").open("a") as file:
        file.write("Bob,,4,handed in by mail\n")
    bob = table()["2"]
    assert [bob[key] for key in ("q1", "q2", "total")] == ["", "", "4"]
    (page,) = Path("out/report/students").glob("2-*.html")
    assert "<p>4 of 5.5 points. Your instructor has changed the points.</p>" in page.read_text()
    assert cli.main(["report", "out", "--export", "gradescope"]) == 0
    (path,) = Path("out/report/gradescope").glob("2-*/results.json")
    found = json.loads(path.read_text())
    assert (found["score"], found["output"]) == (4, "Your instructor: handed in by mail")


def test_what_canvas_s_test_student_handed_in_is_left_out_by_grade(course, capsys):
    login = "0af9" * 10
    text = f'Student,ID,SIS Login ID,Section\n"Student, Test",7,{login},A\n"Lee, Ann",8,al,A\n'
    Path("class.csv").write_text(text)
    for path in Path("in").iterdir():
        path.unlink()
    Path("in/studenttest_7_1_hw.py").write_text(classroom.RIGHT)
    Path("in/leeann_8_1_hw.py").write_text(classroom.RIGHT)
    grade()
    told = capsys.readouterr().out
    assert "left out: studenttest_7_1_hw.py, of Canvas's Test Student" in told
    assert table().keys() == {"8"}


def test_changes_saved_by_a_spreadsheet_with_semicolons_are_read(course):
    grade()
    text = "\ufeffstudent;question;points;comment\nBob;q1;2,5;\n"
    Path("out/changes.csv").write_text(text, encoding="utf-8")
    assert table()["2"]["q1"] == "2.5"


def test_two_rows_with_points_for_one_question_of_a_student_are_refused_by_line(course):
    grade()
    with Path("out/changes.csv").open("a") as file:
        file.write("Bob,q1,2,a\nBob,q1,,b\n2,q1,3,\n")
    with pytest.raises(Refusal, match="line 4: the question is 'q1'; allowed: points in one row"):
        Store(Path("out")).changes(Store(Path("out")).read_class().people, ["q1", "q2"])


def test_days_late_cost_a_share_of_the_points_after_the_extension(course, capsys):
    Path("hw/assignment.toml").write_text("[late]\npercent = 10\nmost = 50\n")
    Path("class.csv").write_text("name,id,late,extension\nAnn,1,2.5,1\nBob,2,9,1\nCyd,3,,\n")
    grade()
    found = table()
    assert [found[k]["total"] for k in "123"] == ["4.4", "1.75", "0"]  # 2 days, and at most 50 %
    assert found["1"]["remark"] == "late, 20% taken off"
    assert found["1"]["q1"] == "3"
    (page,) = Path("out/report/students").glob("1-*.html")
    assert "4.4 of 5.5 points. It was handed in late: 20% are taken off 5.5." in page.read_text()
    with Path("out/changes.csv").open("a") as file:
        file.write("Bob,,3,\n")
    assert (table()["2"]["total"], table()["2"]["remark"]) == ("3", "late, changed by hand")
    Path("class.csv").write_text("name,id,late,extension\nAnn,1,2.5,3\nBob,2,9,1\nCyd,3,,\n")
    capsys.readouterr()
    grade()  # nothing is run again for that
    assert "taken off for being late: 20% -> 0%" in capsys.readouterr().out
    assert table()["1"]["total"] == "5.5"


def test_late_in_a_download_of_canvas_counts_as_a_day(course):
    Path("hw/assignment.toml").write_text("[late]\npercent = 10\n")
    Path("in/ann.py").rename("in/ann_LATE_7_8_hw.py")
    Path("in/bob.py").rename("in/bob_LATE_9_8_hw.py")
    Path("class.csv").write_text("name,id,extension\nAnn,1,\nBob,2,1\nCyd,3,\n")
    grade()
    assert [table()[k]["total"] for k in "12"] == ["4.95", "3.5"]


def test_without_a_rule_being_late_costs_nothing(course):
    Path("class.csv").write_text("name,id,late,extension\nAnn,1,9,\nBob,2,2,2\nCyd,3,,\n")
    grade()
    assert [table()[k]["total"] for k in "12"] == ["5.5", "3.5"]
    assert [table()[k]["remark"] for k in "12"] == ["late", ""]  # Bob has an extension
    Path("hw/assignment.toml").write_text("[late]\npercentage = 10\n")
    with pytest.raises(Refusal, match=r"late\.percentage is unknown; allowed: percent, most"):
        _ = find("./hw").late


def test_lateness_costs_at_most_all_points():
    assert Late(percent=30, most=1e9).penalty(9) == 1


def test_a_rule_that_is_no_table_is_refused(course):
    Path("hw/assignment.toml").write_text("late = 3\n")
    with pytest.raises(Refusal, match=r"late is 3; allowed: a table, as in \[late\]"):
        _ = find("./hw").late


def test_a_rule_for_late_ones_is_no_reason_to_run_anything_again(course):
    digest = find("./hw").digest
    Path("hw/assignment.toml").write_text("[late]\npercent = 10\n")
    assert find("./hw").digest == digest


def test_the_page_of_a_student_begins_with_a_table_of_the_questions(course):
    grade()
    table()
    (path,) = Path("out/report/students").glob("2-*.html")
    page = path.read_text()
    head, _, rest = page.partition("</table>")
    assert 'href="#q1">q1</a></td><td class="name">double</td>' in head
    assert '<td class="n some">1 of 3</td><td class="some">1 of 2 tests</td>' in head
    assert '<td class="n good">2.5 of 2.5</td><td class="good">full marks</td>' in head
    assert '<h2 id="q1">' in rest
    assert "graded on 20" in rest
    text = path.with_suffix(".md").read_text()
    assert (
        "| q1 | double | 1 of 3 | 1 of 2 tests |\n| q2 | area | 2.5 of 2.5 | full marks |\n" in text
    )


def test_the_page_of_the_class_has_a_histogram_of_the_marks(course):
    grade()
    table()
    page = Path("out/report/class.html").read_text()
    assert "the mean of those with a mark is 3.</p>" in page  # (5.5 + 3.5 + 0) / 3
    assert page.count('class="bar"') == 10
    assert '<td class="n">4.95 to 5.5</td><td class="n">1</td>' in page


def test_messages_of_hidden_tests_are_shown_from_a_day_on(course, capsys):
    grade()
    said = "What this test gives to your function is not shown."
    for words, hidden in (([], True), (["--show-hidden"], False),
                          (["--show-hidden", "2020-02-02"], False),
                          (["--show-hidden", "9999-01-01"], True)):  # fmt: skip
        assert cli.main(["report", "out", *words]) == 0
        (page,) = Path("out/report/students").glob("2-*.html")
        assert (said in page.read_text()) == hidden
    with pytest.raises(SystemExit):
        cli.main(["report", "out", "--show-hidden", "tomorrow"])
    assert "'tomorrow'; allowed: a date as 2026-12-24" in capsys.readouterr().err


def test_a_change_settles_who_is_unclear(course, capsys):
    Path("in/stranger.py").write_text(classroom.RIGHT)
    with Path("class.csv").open("a") as file:
        file.write("Dan,4\n")
    grade()
    told = capsys.readouterr().out
    assert "  unclear: Cyd; Dan: a submission belongs to no student of the roster: no mark" in told
    assert "  see to: stranger: not in the roster" in told
    assert [table()[k]["total"] for k in ("3", "stranger")] == ["", "5.5"]
    assert table()["3"]["state"] == "unclear"
    with Path("out/changes.csv").open("a") as file:
        file.write("Cyd,,0,has left the course\n")
    assert table()["3"]["total"] == "0"
    assert next(iter(Store(Path("out")).records())).mark == 5.5


def test_a_page_shows_the_students_own_code_around_the_line_that_failed(course, monkeypatch):
    grader = classroom.StandIn()
    lines = classroom.WRONG.split("\n")
    at = next(i for i, text in enumerate(lines, start=1) if "x * x" in text)
    said = f"double raised E\n  line 1, in module: x\n  line {at}, in double: total = x * x"
    grader.says = {classroom.WRONG: {"test_double": {"status": "raised", "message": said}}}
    monkeypatch.setattr(commands, "isolated", lambda *job: (grader, "stand-in"))
    grade()
    table()
    (page,) = Path("out/report/students").glob("2-*.html")
    shown = page.read_text().partition(f"&gt; {at:>4}      total = x * x\n")
    assert shown[1]
    assert f"\n  {at - 1:>4}      # The trick is to add." in shown[0]
    assert f"  {at + 1:>4}      return total\n" in shown[2]
    assert page.with_suffix(".md").read_text().count(f"  > {at:>4}      total = x * x") == 1
