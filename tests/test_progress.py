"""Progress: the marks of the last checks, kept in a file that may be lost or broken."""

import json
import os
from pathlib import Path

import pytest

from fedlab_edu import cli
from fedlab_grade.home import progress
from fedlab_grade.run import Report, Result

pytestmark = [pytest.mark.processes, pytest.mark.grader]

TESTS = '''\
"""Exercise {number}, by hand: 5 points."""

import pytest


@pytest.mark.q("ex0{number}.1", 2, function="one")
def test_one(student):
    assert student.call("one").value == 1


@pytest.mark.q("ex0{number}.2", 3, function="two")
def test_two(student):
    assert student.call("two").value == 2
'''
HINTS = '["{0}.1"]\nwhat = ""\nwhere = ""\nhow = ""\n["{0}.2"]\nwhat = ""\nwhere = ""\nhow = ""\n'
ONE, TWO = "def one():\n    return 1\n", "def two():\n    return 2\n"


@pytest.fixture
def course(forked, tmp_path, monkeypatch):
    """A course of two exercises with two questions each, which nobody has begun."""
    for number in (1, 2):
        for name, text in (
            (f"exercises/ex0{number}_x.py", ""),
            (f"tests/exercises/test_ex0{number}.py", TESTS.format(number=number)),
            (f"tests/exercises/hints/ex0{number}.toml", HINTS.format(f"ex0{number}")),
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(file: Path, **status: str) -> Report:
    """Return the report of exercise 1, where ex01.1 has 2 points and ex01.2 has 3."""
    points = {"one": 2, "two": 3}
    results = (Result(q, f"ex01.{points[q] - 1}", q, points[q], "", status=s)
               for q, s in status.items())  # fmt: skip
    return Report(file, tuple(results))


def seen(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """The exit status, the lines of the table with single blanks, and what comes next."""
    status = cli.main(["progress", *arguments])
    table, following = capsys.readouterr().out.split("\n\n")[:2]
    return status, [" ".join(line.split()) for line in table.splitlines()], following


def test_in_a_new_course_nothing_is_checked_and_the_first_exercise_is_next(course, capsys):
    status, table, following = seen(capsys)
    assert status == 1
    assert table[0] == "ex01 by hand 0 of 5 not checked yet"
    assert table[-1] == "Total 0 of 10"
    assert following == "Next:\n  fedlab-edu check ex01"


def test_points_and_open_questions_are_those_of_the_last_checks(course, capsys):
    mine = course / "my.py"
    progress.keep(course, "ex01", report(mine, one="failed", two="passed"))
    _, table, following = seen(capsys)
    assert table[0] == "ex01 by hand 3 of 5 open: 1"
    assert following == "Next:\n  fedlab-edu check ex01.1 my.py"
    progress.keep(course, "ex01", report(mine, one="passed"))  # the other one was not asked for
    _, table, following = seen(capsys)
    assert table[0] == "ex01 by hand 5 of 5"
    assert following == "Next:\n  fedlab-edu check ex02"
    progress.keep(course, "ex01", report(mine, one="passed", two="raised"))
    _, table, _ = seen(capsys)
    assert table[0] == "ex01 by hand 2 of 5 open: 2"


def test_a_question_that_was_never_checked_is_open(course, capsys):
    progress.keep(course, "ex01", report(course / "my.py", one="passed"))
    _, table, _ = seen(capsys)
    assert table[0] == "ex01 by hand 2 of 5 open: 2"


def test_a_file_that_cannot_be_graded_yet_takes_no_points_away(course):
    progress.keep(course, "ex01", report(course / "my.py", one="passed"))
    before = progress.load(course)
    progress.keep(course, "ex01", report(course / "my.py", one="not gradable", two="not gradable"))
    assert progress.load(course) == before


def test_the_way_to_the_file_is_right_from_any_folder(course, capsys, monkeypatch):
    progress.keep(course, "ex01", report(course / "exercises/ex01_x.py", one="failed"))
    monkeypatch.chdir(course / "exercises")
    assert seen(capsys)[2] == "Next:\n  fedlab-edu check ex01.1 ex01_x.py"


def test_check_checks_all_exercises_and_the_check_command_keeps_its_marks(course, capsys):
    (course / "my.py").write_text(ONE)
    assert cli.main(["check", "ex01", "my.py"]) == 1
    capsys.readouterr()
    assert seen(capsys)[1][0] == "ex01 by hand 2 of 5 open: 2"
    (course / "my.py").write_text(ONE + TWO)
    (course / "exercises/ex02_x.py").write_text(TWO)
    status, table, following = seen(capsys, "--check")
    assert status == 1
    assert table[0] == "ex01 by hand 5 of 5"
    assert table[1] == "ex02 by hand 3 of 5 open: 1"
    assert following == "Next:\n  fedlab-edu check ex02.1 exercises/ex02_x.py"
    (course / "exercises/ex02_x.py").write_text(ONE + TWO)
    status, table, following = seen(capsys, "--check")
    assert (status, table[-1]) == (0, "Total 10 of 10")
    assert following.startswith("Full marks in all exercises.")


def test_what_cannot_be_checked_is_said_and_keeps_its_points(course, capsys):
    progress.keep(course, "ex01", report(course / "gone.py", one="passed"))
    (course / "exercises/ex02_x.py").write_text("def one(:\n")
    assert cli.main(["progress", "--check"]) == 1
    out = capsys.readouterr().out
    assert "2 of 5  open: 2" in out
    assert "ex01 was not checked: there is no file" in out
    assert "ex02 cannot be graded yet" in out


BROKEN = {
    "empty": "",
    "half": '{"schema": "fedlab-edu/progress/v2", "mar',
    "other JSON": "[1, 2]",
    "other version": '{"schema": "v0", "files": {}, "marks": {}, "hints": {}}',
    "no hints": '{"schema": "fedlab-edu/progress/v2", "files": {}, "marks": {}}',
    "words for numbers": '{"schema": "fedlab-edu/progress/v2", "files": {}, "marks": {}, '
    '"hints": {"a": "x"}}',
    "a level without end": '{"schema": "fedlab-edu/progress/v2", "files": {}, "marks": {}, '
    '"hints": {"a": Infinity}}',
    "a number for a file": '{"schema": "fedlab-edu/progress/v2", "files": {"ex01": 1}, '
    '"marks": {}, "hints": {}}',
    "deep": "[" * 100_000,
}
ODD_MARKS = ["[1]", "[1, NaN]", "[3, 2]", "[-1, 2]", "7", '["x", 1]', "[1, 2, 3]", "null"]


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_a_fresh_start(text, course, capsys):
    (course / progress.NAME).write_text(text)
    assert progress.load(course) == progress.State()
    assert seen(capsys)[1][-1] == "Total 0 of 10"
    progress.keep(course, "ex01", report(course / "my.py", one="passed"))
    assert seen(capsys)[1][-1] == "Total 2 of 10"


@pytest.mark.parametrize("marks", ODD_MARKS)
def test_marks_that_are_none_are_a_fresh_start(marks, course):
    kept = f'"files": {{"ex01": "my.py"}}, "marks": {{"ex01.1": {marks}}}, "hints": {{}}'
    text = f'{{"schema": "{progress.SCHEMA}", {kept}}}'
    (course / progress.NAME).write_text(text)
    assert progress.load(course) == progress.State()
    (course / progress.NAME).write_text(text.replace(marks, "[1, 2]"))
    assert progress.load(course).marks == {"ex01.1": [1.0, 2.0]}


def test_bytes_that_are_no_text_are_a_fresh_start(course):
    (course / progress.NAME).write_bytes(b"\xff\xfe\x00")
    assert progress.load(course) == progress.State()


def test_a_write_that_is_interrupted_leaves_the_file_as_it_was(course, monkeypatch):
    progress.save(course, progress.State(hints={"ex01.1": 1}))
    before = (course / progress.NAME).read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        progress.save(course, progress.State(hints={"ex01.1": 2}))
    assert (course / progress.NAME).read_bytes() == before
    assert [p.name for p in course.glob(".*") if p.is_file()] == [progress.NAME]
    assert json.loads(before)["hints"] == {"ex01.1": 1}


def test_a_folder_that_cannot_be_written_to_keeps_nothing_and_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    progress.keep(tmp_path / "file", "ex01", report(tmp_path / "my.py", one="passed"))
    assert progress.load(tmp_path / "file") == progress.State()


def test_in_the_course_each_exercise_has_its_title_and_its_points():
    folder = Path(__file__).parent / "exercises"
    found = [progress.exercise_of(p) for p in sorted(folder.glob("test_ex*.py"))]
    assert all(e.title and e.points for e in found)
    assert found[3].title == "FedEx by hand"


def test_marks_of_a_question_that_there_is_not_do_not_count(course, capsys):
    marks = {"ex01.1": [2.0, 2.0], "junk": [9.0, 9.0]}
    progress.save(course, progress.State({"ex01": "my.py"}, marks))
    lines = seen(capsys)[1]
    assert lines[-1] == "Total 2 of 10"
    assert "open: 2" in lines[0]


def test_a_file_with_control_codes_in_its_name_is_not_shown(course):
    progress.save(course, progress.State({"ex01": "\x1b[2Jmy.py"}))
    assert progress.load(course) == progress.State()


def test_outside_the_course_progress_is_kept_where_the_student_works(tmp_path, monkeypatch):
    course, mine = tmp_path / "course", tmp_path / "mine"
    for folder in (course / "notes", mine):
        folder.mkdir(parents=True)
    monkeypatch.chdir(course / "notes")
    assert progress.place(course) == course
    monkeypatch.chdir(mine)
    assert progress.place(course) == mine
