"""Grading a class: everyone has a record, whatever happens on the way."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import grading
from fedlab_grade import run
from fedlab_grade.assignment import find
from fedlab_grade.classroom import batch, commands
from fedlab_grade.classroom.batch import Batch
from fedlab_grade.classroom.downloads import people
from fedlab_grade.classroom.intake import Handed, Wanted
from fedlab_grade.classroom.people import Person
from fedlab_grade.classroom.records import TEXT, ClassList, Record
from fedlab_grade.classroom.store import Store, file_name
from fedlab_grade.options import Refusal
from fedlab_grade.run import Result
from tests.classroom import PLAN, RIGHT, SOLUTION, WRONG, StandIn, assignment_folder

pytestmark = [pytest.mark.processes, pytest.mark.grader]


class Course:
    """A folder of submissions, and what becomes of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.assignment = assignment_folder(folder / "hw")
        self.submissions = folder / "in"
        self.submissions.mkdir()
        self.store = Store(folder / "out")
        self.grader = StandIn()
        self.told: list[str] = []  # of the last run, whether it came to its end or not
        self.steps: list[str] = []

    def hand_in(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.submissions / f"{name}.py").write_text(text)

    def grade(self, again: bool = False, everyone: list[Person] | None = None) -> list[str]:
        self.grader.seen, self.told, self.steps = [], [], []
        found = find(str(self.assignment))
        step: Callable[[Record], None] = lambda record: self.steps.append(record.student)  # noqa: E731
        Batch(found, self.store, self.grader, "stand-in", again, step, self.told.append).run(
            everyone or people(self.submissions)
        )
        return self.told

    @property
    def records(self) -> dict[str, Record]:
        return {record.student: record for record in self.store.records()}

    @property
    def marks(self) -> dict[str, tuple[str, float]]:
        return {name: (r.state, r.won) for name, r in self.records.items()}


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_every_kind_of_submission_has_its_state_and_none_is_silently_zero(course):
    course.hand_in(ann=RIGHT, bob=WRONG, cyd="def double(:", dan=f"ours = True\n{RIGHT}", eve="é")
    (course.submissions / "eve.py").write_bytes(b"\xe9")
    (course.submissions / "fay").mkdir()
    roster = course.folder / "roster.csv"
    roster.write_text("name\nann\nbob\ncyd\ndan\neve\nfay\nguy\n")
    course.grade(everyone=people(course.submissions, roster))
    assert course.marks == {
        "ann": ("graded", 5.5),
        "bob": ("graded", 3.5),
        "cyd": ("not gradable yet", 0),
        "dan": ("ungraded", 3),
        "eve": ("not gradable yet", 0),
        "fay": ("not gradable yet", 0),
        "guy": ("not handed in", 0),
    }
    assert [record.mark for record in course.records.values()] == [5.5, 3.5, *[None] * 4, 0]
    problems = [course.records[name].problem for name in ("cyd", "dan", "eve", "fay")]
    expected = ["Python cannot read", "a test failed by itself", "UTF-8", "is empty"]
    assert all(e in p for e, p in zip(expected, problems, strict=True))
    assert {record.max for record in course.records.values()} == {5.5}


def test_a_record_holds_what_is_needed_to_understand_it_later(course):
    course.hand_in(bob=WRONG)
    course.grade()
    (path,) = (course.folder / "out/grades").iterdir()
    found = json.loads(path.read_text())
    assert found["schema"] == "fedlab-edu/grade/v3"
    assert found["versions"].keys() == {"fedlab_edu", "python", "torch"}
    assert (found["back_end"], found["file"]) == ("stand-in", "bob.py")
    assert len(found["sha256"]) == len(found["tests_sha256"]) == 64
    hidden = found["tests"][1]
    assert [hidden[k] for k in ("hidden", "status", "points", "seconds")] == [
        True,
        "failed",
        2,
        0.25,
    ]
    assert hidden["message"] == "double is wrong: <b>-154</b>"


def test_only_what_has_changed_is_graded_again(course):
    course.hand_in(ann=RIGHT, bob=WRONG)
    assert course.grade() == []
    course.hand_in(bob=RIGHT)
    (change,) = course.grade()
    assert course.grader.seen == [RIGHT]
    assert change == "bob: 3.5 -> 5.5 of 5.5; q1 negative numbers: failed -> passed"


def test_the_solution_has_to_pass_the_tests_once(course):
    course.hand_in(ann=WRONG)
    course.grade()
    assert course.grader.seen == [SOLUTION, WRONG]
    course.grade()
    assert course.grader.seen == []
    (course.assignment / "hw_ref.py").write_text(f"{SOLUTION}\n# new\n")
    course.grade()
    assert course.grader.seen == [f"{SOLUTION}\n# new\n"]


def test_with_other_tests_all_are_graded_again(course):
    course.hand_in(ann=RIGHT, bob=WRONG)
    course.grade()
    with (course.assignment / "test_hw.py").open("a") as file:
        file.write("import helper\n")
    course.grade()
    assert len(course.grader.seen) == 3
    (course.assignment / "helper.py").write_text("x = 1\n")
    course.grade()
    assert len(course.grader.seen) == 3


def test_asked_to_all_are_graded_again_and_nothing_has_changed(course):
    course.hand_in(ann=RIGHT, bob=WRONG)
    course.grade()
    before = course.records
    assert course.grade(again=True) == []
    assert len(course.grader.seen) == 2
    assert course.records == before


def test_the_secret_is_made_once_and_kept_from_others(course):
    first = course.store.secret()
    assert first == course.store.secret()
    assert len(first) == 32
    assert (course.folder / "out/secret").stat().st_mode & 0o077 == 0
    assert (course.folder / "out").stat().st_mode & 0o077 == 0  # and so are the grades


BY_NIGHT = [pytest.param(stop, marks=pytest.mark.nightly) for stop in (2, 4)]


@pytest.mark.parametrize("stop", [1, 3, 5, *BY_NIGHT])
def test_killed_at_any_point_and_resumed_the_table_is_the_same(stop, course):
    course.hand_in(**{f"s{i}": (RIGHT, WRONG, "(")[i % 3] for i in range(6)})
    course.grade()
    whole = course.marks
    course.store = Store(course.folder / "other")
    course.grader.stops = stop
    with pytest.raises(KeyboardInterrupt):
        course.grade()
    assert list(course.marks) == list(whole)  # who is not graded yet is there as well
    course.grader.stops = None
    course.grade()
    assert len(course.grader.seen) == 6 - (stop - 1)
    assert course.marks == whole


@pytest.mark.parametrize("ahead", [1, 2, 3])
@pytest.mark.parametrize("how", ["broken", "ends"])
def test_a_grader_that_fails_ends_all_keeps_the_grades_and_the_next_run_resumes(how, ahead, course):
    """Also where it ends in silence, be it with submissions in hand or not taken yet."""
    course.hand_in(ann=RIGHT, bob=f"{RIGHT}\n#", cyd=WRONG, dan=RIGHT)
    course.grader.ahead = ahead
    getattr(course.grader, how).add(f"{RIGHT}\n#")
    why = {"broken": "the disk is full", "ends": "it ended without a report"}[how]
    with pytest.raises(Refusal) as refusal:
        course.grade()
    assert str(refusal.value) == (
        f"the grader failed: {why}. All grades so far are kept: look at fedlab-edu doctor, and run "
        "the same command again."
    )
    assert course.marks["ann"] == ("graded", 5.5)
    stopped = "grading was stopped before it came to this submission"
    assert [course.records[name].problem for name in ("bob", "cyd", "dan")] == [stopped] * 3
    getattr(course.grader, how).clear()
    course.grade()
    assert course.grader.seen == [f"{RIGHT}\n#", WRONG, RIGHT]
    assert [won for _, won in course.marks.values()] == [5.5, 5.5, 3.5, 5.5]


def test_a_solution_that_fails_its_own_tests_stops_all(course):
    (course.assignment / "hw_ref.py").write_text(WRONG)
    course.hand_in(ann=RIGHT)
    with pytest.raises(Refusal, match="does not pass its own test test_double_hidden"):
        course.grade()


def test_grades_of_two_assignments_do_not_mix(course):
    course.store.begin(ClassList("other", (), ()))
    with pytest.raises(Refusal, match="holds the grades of other: name another folder with --out"):
        course.store.begin(ClassList("hw", (), ()))
    course.hand_in(ann=RIGHT)
    with pytest.raises(Refusal, match="holds the grades of other"):
        course.grade()


def test_a_broken_record_is_made_again(course):
    course.hand_in(ann=RIGHT)
    course.grade()
    (path,) = (course.folder / "out/grades").iterdir()
    path.write_text(path.read_text()[:100])
    course.grade()
    assert course.marks == {"ann": ("graded", 5.5)}


def test_a_record_that_cannot_be_read_stops_no_other(course):
    course.hand_in(ann=RIGHT, bob=RIGHT)
    course.grade()
    path = course.store.path("bob")
    path.unlink()
    path.mkdir()
    assert course.marks == {"ann": ("graded", 5.5), "bob": ("ungraded", 0)}


@pytest.mark.parametrize("key", ["../../evil", "a/b", "CON", "\ud800", "x" * 300, "new\nline", ""])
def test_the_record_of_any_name_is_in_its_folder(key, tmp_path):
    store = Store(tmp_path)
    record = Record(key, key, (), "hw", "graded", ())
    store.write(record)
    (path,) = tmp_path.rglob("*.json")
    assert path.parent == tmp_path / "grades"
    assert store.read(key) == record


def test_the_grader_of_this_machine_and_the_course_come_to_the_same_marks(forked, tmp_path):
    course = Course(tmp_path)
    course.hand_in(ann=RIGHT, bob=WRONG, cyd="import nowhere")
    found = find(str(course.assignment))
    course.grader, _ = commands.isolated(found, "secret", trust=True, jobs=1)
    Batch(found, course.store, course.grader, "").run(people(course.submissions))
    assert course.marks == {
        "ann": ("graded", 5.5),
        "bob": ("graded", 3.5),
        "cyd": ("not gradable yet", 0),
    }
    assert "No module named 'nowhere'" in course.records["cyd"].problem


@pytest.mark.parametrize("news", [{"late": True}, {"name": "Ann Lee"}, {"ids": ("7",)}])
def test_what_is_new_about_a_student_is_in_the_record_without_grading_again(news, course):
    course.hand_in(ann=RIGHT)
    (ann,) = people(course.submissions)
    course.grade(everyone=[ann])
    before = course.records["ann"]
    course.grade(everyone=[replace(ann, **news)])
    assert course.grader.seen == []
    assert course.records["ann"] == replace(before, **news)


def test_what_is_new_about_a_file_is_in_the_record_without_grading_again(course):
    course.hand_in(ann=RIGHT)
    course.grade()
    (course.submissions / "ann.py").unlink()
    (course.submissions / "ann").mkdir()
    for name, text in (("hw.py", RIGHT), ("other.py", "x = 1")):
        (course.submissions / "ann" / name).write_text(text)
    course.grade()
    assert course.grader.seen == []
    assert course.records["ann"].file == "hw.py"
    (note,) = course.records["ann"].notes
    assert "other.py" in note


def test_notes_for_the_instructor_are_in_the_class_list_and_not_in_the_record(course):
    course.hand_in(ann=RIGHT)
    (ann,) = people(course.submissions)
    course.grade(everyone=[replace(ann, notes=("not in the roster",))])
    assert course.records["ann"].notes == ()
    assert course.store.read_class().people == (
        Person("ann", "ann", (), (), False, ("not in the roster",)),
    )


def test_a_write_that_breaks_off_leaves_the_old_record_whole(course, monkeypatch):
    course.hand_in(ann=RIGHT)
    course.grade()
    course.hand_in(ann=WRONG)

    def full(*paths: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="the disk is full"):
        course.grade()
    assert course.marks == {"ann": ("graded", 5.5)}


def test_a_disk_that_is_full_leaves_no_empty_secret(tmp_path, monkeypatch):
    store = Store(tmp_path / "out")

    def full(length: int) -> str:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("secrets.token_hex", full)
        with pytest.raises(OSError, match="the disk is full"):
            store.secret()
    assert list(store.folder.iterdir()) == []
    assert len(store.secret()) == 32
    (store.folder / "secret").write_text("\n")
    with pytest.raises(Refusal, match="secret is empty or broken"):
        store.secret()


def test_of_two_that_make_the_secret_at_once_the_first_one_counts(tmp_path, monkeypatch):
    other = "f" * 32

    def slow(length: int) -> str:
        (tmp_path / "secret").write_text(other)  # the other one, in the meantime
        return "0" * 32

    monkeypatch.setattr("secrets.token_hex", slow)
    assert Store(tmp_path).secret() == other


@pytest.mark.parametrize(
    ("key", "beginning"),
    [("../../evil", "evil-"), ("Ann Lee!", "Ann-Lee-"), ("-rf", "rf-"), ("", ""), ("中", "")],
)
def test_a_file_name_begins_with_what_can_be_read_of_the_key(key, beginning):
    assert re.fullmatch(rf"{beginning}[0-9a-f]{{12}}", file_name(key))


def test_records_of_names_that_differ_in_bytes_that_are_no_text_are_two():
    assert file_name("M\udcfcller") != file_name("M\udcf6ller")


@pytest.mark.parametrize(
    "name", ["test_hw.py", "conftest.py", "helper.py", "data/deep/x.csv", "want.json"]
)
def test_after_a_change_of_any_file_beside_the_tests_all_are_graded_again(name, course):
    path = course.assignment / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("# old\n")
    course.hand_in(ann=RIGHT)
    course.grade()
    course.grade()
    assert course.grader.seen == []
    with path.open("a") as file:
        file.write("# new\n")
    course.grade()
    assert course.grader.seen == [SOLUTION, RIGHT]


@pytest.mark.parametrize(
    "name",
    ["hw_ref.py", "mutants/right_a.py", "mutants.py", ".hidden", ".venv/x.py", "x.pyc",
     "data/__pycache__/x.pyc"],
)  # fmt: skip
def test_what_has_no_part_in_a_test_does_not_change_its_digest(name, course):
    found = find(str(course.assignment))
    before = found.digest
    path = course.assignment / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{SOLUTION}\n# new\n")
    assert replace(found).digest == before


@pytest.mark.parametrize("name", ["in/ann.py", "data/in/ann.py", "class.csv"])
def test_submissions_and_rosters_beside_the_tests_have_no_part_in_them(name, course):
    path = course.assignment / name
    path.parent.mkdir(parents=True, exist_ok=True)
    apart = path if path.suffix == ".csv" else path.parent
    digests: dict[bool, list[str]] = {True: [], False: []}
    for text in ("# old\n", "# new\n"):
        path.write_text(text)
        for left_out, seen in digests.items():
            found = find(str(course.assignment))
            named_apart = (Path(os.path.relpath(apart)),) if left_out else ()
            seen.append(replace(found, apart=named_apart).digest)
    assert len(set(digests[True])) == 1
    assert len(set(digests[False])) == 2


def test_a_link_to_a_folder_is_not_followed(course):
    (course.assignment / "loop").symlink_to(course.assignment)
    assert find(str(course.assignment)).digest


def test_another_name_of_the_same_data_is_another_digest(course):
    (course.assignment / "data").mkdir()
    (course.assignment / "data/a.csv").write_text("1\n")
    before = find(str(course.assignment)).digest
    (course.assignment / "data/a.csv").rename(course.assignment / "data/b.csv")
    assert find(str(course.assignment)).digest != before


def test_a_solution_that_cannot_be_handed_out_can_still_grade(course):
    (course.assignment / "hw_ref.py").write_text(f"{SOLUTION}\nhalf = lambda x: x / 2\n")
    course.hand_in(ann=RIGHT)
    course.grade()
    assert course.marks == {"ann": ("graded", 5.5)}


def test_of_many_changes_the_first_are_told_and_the_others_counted(course):
    course.hand_in(ann=RIGHT)
    course.grade()
    (record,) = course.records.values()
    tests = [replace(record.tests[0], test=f"t{i}", aspect=str(i)) for i in range(6)]
    failed = [replace(test, status="failed") for test in tests]
    change = replace(record, tests=tuple(failed)).changes(replace(record, tests=tuple(tests)))
    told = "; ".join(f"q1 {i}: passed -> failed" for i in range(3))
    assert change == f"ann: 6 -> 0 of 6; {told}; and 3 more"


# --- what has changed -----------------------------------------------------------------------------


def test_other_points_for_the_same_answers_are_a_change(course):
    course.hand_in(ann=RIGHT, bob=WRONG)
    course.grade()
    with (course.assignment / "test_hw.py").open("a") as file:
        file.write("# twice the points\n")
    course.grader.plan = tuple(replace(one, points=2 * one.points) for one in PLAN)
    assert course.grade() == [
        "ann: 5.5 of 5.5 -> 11 of 11; q1 whole numbers: 1 of 1 -> 2 of 2; "
        "q1 negative numbers: 2 of 2 -> 4 of 4; q2 a circle: 2.5 of 2.5 -> 5 of 5",
        "bob: 3.5 of 5.5 -> 7 of 11; q1 whole numbers: 1 of 1 -> 2 of 2; "
        "q1 negative numbers: 0 of 2 -> 0 of 4; q2 a circle: 2.5 of 2.5 -> 5 of 5",
    ]


def test_a_test_that_is_new_or_gone_is_a_change(course):
    course.hand_in(ann=RIGHT)
    course.grade()
    (course.assignment / "test_hw.py").write_text("# other tests\n")
    course.grader.plan = (*PLAN[:2], replace(PLAN[2], test="test_circle", aspect="the unit circle"))
    course.grader.calls["test_circle"] = lambda f: False
    course.grader.says[SOLUTION] = {"test_circle": {"status": "passed"}}
    course.hand_in(ann=f"{RIGHT}\n")
    assert course.grade() == [
        "ann: 5.5 -> 3 of 5.5; q2 the unit circle: a new test, failed; "
        "q2 a circle: the test is gone"
    ]


def outcome(most: float, status: str) -> Result:
    return Result("t", "q1", "double", most, "whole", status=status)


def test_points_alone_are_a_change_and_none_are_shown_as_a_dash():
    old = Record("ann", "ann", (), "hw", "graded", (outcome(1, "passed"),))
    assert old.changes(old) == ""
    assert replace(old, tests=(outcome(2, "passed"),)).changes(old) == (
        "ann: 1 of 1 -> 2 of 2; q1 whole: 1 of 1 -> 2 of 2"
    )
    old = replace(old, tests=(outcome(1, "error"),))
    assert replace(old, tests=(outcome(2, "error"),)).changes(old) == (
        "ann: 0 of 1 -> 0 of 2; q1 whole: - of 1 -> - of 2"
    )


@pytest.mark.parametrize("state", ["not gradable yet", "not handed in", "unclear"])
def test_other_tests_change_nothing_for_a_submission_that_they_have_not_judged(state):
    old = Record("ann", "ann", (), "hw", state, (outcome(1, "not handed in"),))
    assert replace(old, tests=(outcome(2, "not handed in"),)).changes(old) == ""


def test_another_state_is_a_change_and_all_that_is_told(course):
    course.hand_in(ann=RIGHT, bob="(")
    course.grade()
    for name in ("ann", "bob"):
        (course.submissions / f"{name}.py").unlink()
    missing = [Person("ann", "ann"), Person("bob", "bob")]
    assert course.grade(everyone=missing) == [
        "ann: 5.5 of 5.5 -> not handed in",
        "bob: not gradable yet -> not handed in",
    ]
    one = course.records["ann"]
    change = replace(one, state="ungraded").changes(one)
    assert change == "ann: not handed in -> ungraded"


def test_a_change_is_told_before_it_is_written_so_that_no_kill_loses_it(course):
    course.hand_in(ann=RIGHT, bob=RIGHT)
    course.grade()
    course.hand_in(ann=WRONG, bob=WRONG)
    course.grader.stops = 1
    with pytest.raises(KeyboardInterrupt):
        course.grade()
    assert [change.partition(":")[0] for change in course.told] == ["ann"]
    course.grader.stops = None

    def killed(change: str) -> None:
        raise KeyboardInterrupt

    found = find(str(course.assignment))
    with pytest.raises(KeyboardInterrupt):
        Batch(found, course.store, course.grader, changed=killed).run(people(course.submissions))
    assert course.marks["bob"] == ("graded", 5.5)
    assert course.grade() == ["bob: 5.5 -> 3.5 of 5.5; q1 negative numbers: passed -> failed"]


# --- stopped --------------------------------------------------------------------------------------


def test_after_a_kill_marks_of_older_tests_do_not_stand_beside_new_ones(course):
    course.hand_in(ann=RIGHT, bob=WRONG, cyd="(")
    course.grade(everyone=[*people(course.submissions), Person("dan", "Dan", ("4",), late=True)])
    with (course.assignment / "test_hw.py").open("a") as file:
        file.write("# new\n")
    course.grader.stops = 2  # the solution and ann
    with pytest.raises(KeyboardInterrupt):
        course.grade(
            everyone=[*people(course.submissions), Person("dan", "Dan", ("4",), late=True)]
        )
    assert course.marks == {"ann": ("graded", 5.5)} | dict.fromkeys(
        ("bob", "cyd", "dan"), ("ungraded", 0)
    )
    dan = course.records["dan"]
    assert (dan.name, dan.ids, dan.late, dan.max, dan.mark) == ("Dan", ("4",), True, 5.5, None)
    assert dan.problem == "grading was stopped before it came to this submission"


def test_whoever_was_graded_and_is_not_in_the_class_now_is_left_over(course):
    course.hand_in(ann=RIGHT, bob=WRONG, cyd=RIGHT)
    course.grade()
    assert course.store.left_over() == []
    (course.submissions / "bob.py").unlink()
    (course.submissions / "cyd.py").unlink()
    course.grade()
    bob, cyd = course.store.path("bob"), course.store.path("cyd")
    cyd.write_text("{")
    assert list(course.marks) == ["ann"]
    assert course.store.left_over() == [("bob", bob), (cyd.stem, cyd)]


# --- what a record says ---------------------------------------------------------------------------


def test_what_is_asked_for_is_known_to_those_who_read_the_files(course, monkeypatch):
    """By the name of the solution and that of the tests, with what is in the file and its stub."""
    (course.assignment / "hw_ref.py").rename(course.assignment / "hw_double_ref.py")
    asked: list[Wanted] = []

    def collect(paths: object, wanted: Wanted) -> Handed:
        asked.append(wanted)
        return Handed("hw.py", RIGHT)

    monkeypatch.setattr(batch, "take", collect)
    course.hand_in(ann=RIGHT)
    course.grade()
    stub = find(str(course.assignment)).stub
    assert "double" in stub
    assert "x + x" not in stub
    assert [(w.names, w.functions, w.stub) for w in asked] == [
        (("hw_double", "hw"), ("double", "area"), stub)
    ]
    assert course.grader.files == ["hw_double_ref.py", "hw_double.py"]


def test_without_a_solution_the_tests_are_taken_as_they_are(course):
    (course.assignment / "hw_ref.py").unlink()
    course.hand_in(ann=RIGHT, bob="(")
    course.grade(everyone=[*people(course.submissions), Person("cyd", "cyd")])
    assert course.marks == {
        "ann": ("graded", 5.5), "bob": ("not gradable yet", 0), "cyd": ("not handed in", 0),
    }  # fmt: skip
    idle = course.records["cyd"].tests
    assert [(t.status, t.won, t.points, t.message) for t in idle] == [
        ("not handed in", 0, most, "") for most in (1, 2, 2.5)
    ]
    assert course.records["cyd"].sha256 == ""
    assert [t.status for t in course.store.read_class().tests] == ["not run"] * 3


def test_the_tests_of_whoever_was_not_judged_hold_nothing_of_the_solution_s_run(course):
    talk = {"message": "m", "likely": "l", "printed": "p", "seconds": 9.0}
    course.grader.says[SOLUTION] = {one.test: talk for one in PLAN}
    (course.submissions / "fay").mkdir()
    course.grade(everyone=[*people(course.submissions), Person("cyd", "cyd")])
    for name, status, points in (("cyd", "not handed in", 0), ("fay", "not gradable", 0)):
        for test in course.records[name].tests:
            assert (test.status, test.won) == (status, points)
            assert (test.message, test.likely, test.printed, test.seconds) == ("", "", "", 0)


def test_tests_without_a_marker_are_a_refusal(course):
    course.grader.plan = ()
    course.hand_in(ann=RIGHT)
    with pytest.raises(Refusal, match=r"test_hw.py holds no test with the marker q\."):
        course.grade()


def test_a_record_holds_what_a_test_said_and_of_long_texts_the_beginning(course):
    long = {name: f"{name} {'x' * TEXT}" for name in ("message", "likely", "printed")}
    course.hand_in(bob=WRONG)
    course.grader.says[WRONG] = {
        "test_double": long | {"status": "raised", "seconds": 0.12345},
        "test_area": {"status": "failed", "message": "m", "likely": "l", "printed": "p"},
    }
    course.grade()
    first, second, third = course.records["bob"].tests
    for name, text in long.items():
        assert getattr(first, name) == text[:4000]
    assert (first.status, first.won, first.points, first.seconds) == ("raised", 0, 1, 0.123)
    assert (first.hidden, second.hidden) == (False, True)
    assert (third.message, third.likely, third.printed) == ("m", "l", "p")
    assert (third.question, third.function, third.aspect) == ("q2", "area", "a circle")


def test_one_test_that_could_not_load_the_file_leaves_the_others_their_points(course):
    course.hand_in(bob=WRONG)
    course.grader.says[WRONG] = {"test_double": {"status": "not gradable"}}
    course.grade()
    assert course.marks == {"bob": ("graded", 2.5)}


def test_a_report_without_a_result_is_a_fault_of_ours(course):
    course.hand_in(ann=RIGHT)
    course.grade()
    course.grader.plan = ()
    course.hand_in(ann=WRONG)
    course.grade()
    assert course.records["ann"].problem == "a test failed by itself: no test ran"
    assert course.records["ann"].state == "ungraded"


def test_each_step_is_told_once_whether_somebody_is_graded_now_or_was_before(course):
    course.hand_in(ann=RIGHT, bob="(")
    (course.submissions / "fay").mkdir()
    everyone = [*people(course.submissions), Person("guy", "guy")]
    for again in (False, False, True):
        course.grade(again, everyone)
        assert sorted(course.steps) == ["ann", "bob", "fay", "guy"]


# --- on the disk ----------------------------------------------------------------------------------


def test_a_record_and_a_class_list_come_back_from_the_disk_as_they_were(tmp_path):
    store = Store(tmp_path)
    test = Result("t", "q", "f", 2.5, "a", True, "error", "m", "l", "p", True, 0.5, "c")
    record = Record("k", "N", ("1", "2"), "hw", "ungraded", (test,), "why", "hw.py", "ab", True,
                    ("a", "b"), "cd", "bwrap", {"torch": "2"})  # fmt: skip
    store.write(record)
    assert store.read("k") == record
    given = Person("k", "N", ("1",), (("a", tmp_path),), True, ("n",))
    store.begin(ClassList("hw", (test,), (given,), "cd", "x"))
    about = store.read_class()
    assert about.people == (Person("k", "N", ("1",), (), True, ("n",)),)
    assert (about.assignment, about.tests, about.tests_sha256, about.passed) == (
        "hw", (test,), "cd", "x",
    )  # fmt: skip
    assert store.tested("hw", "x") == (test,)
    assert store.tested("hw", "y") == ()
    assert Store(tmp_path / "new").tested("hw", "x") == ()


def test_a_record_of_another_version_is_none(course):
    course.hand_in(ann=RIGHT)
    course.grade()
    path = course.store.path("ann")
    for change in ({"schema": "fedlab-edu/grade/v1"}, {"schema": None}, {"more": 1}):
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        assert course.store.read("ann") is None
        assert course.marks["ann"] == ("ungraded", 0)
        course.grade()
        assert course.marks["ann"] == ("graded", 5.5)
    for text in (
        "{}",
        "[]",
        "null",
        "7",
        '{"schema": "fedlab-edu/grade/v3", "tests": [3]}',
        "\xff",
    ):
        path.write_bytes(text.encode("latin-1"))
        assert course.store.read("ann") is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"schema": "fedlab-edu/class/v4"}',
        '{"schema": "other/v2", "assignment": "hw", "tests": [], "people": []}',
    ],
)
def test_a_broken_class_list_is_said_to_be_broken_by_every_command(text, course):
    message = "class.json is broken or of another version: delete it and run fedlab-edu grade again"
    course.hand_in(ann=RIGHT)
    course.grade()
    (course.folder / "out/class.json").write_text(text)
    for command in (course.store.read_class, course.grade, lambda: list(course.store.records())):
        with pytest.raises(Refusal, match=message):
            command()
    assert course.grader.seen == []  # it is said before anything is run
    (course.folder / "out/class.json").unlink()
    course.grade()
    assert course.grader.seen == [SOLUTION]  # the grades were kept
    assert course.marks == {"ann": ("graded", 5.5)}


def test_a_class_list_that_cannot_be_read_is_not_taken_for_none(tmp_path):
    (tmp_path / "class.json").mkdir()
    with pytest.raises(IsADirectoryError, match=r"class\.json"):
        Store(tmp_path).read_class()
    for folder in (tmp_path / "none", Path(__file__)):
        with pytest.raises(Refusal, match="holds no grades: run fedlab-edu grade first"):
            Store(folder).read_class()


def test_a_secret_that_was_left_half_written_is_refused(tmp_path):
    (tmp_path / "secret").write_text("0123")
    with pytest.raises(Refusal, match="secret is empty or broken: put the old one back"):
        Store(tmp_path).secret()


# --- the benchmark --------------------------------------------------------------------------------


def test_the_benchmark_grades_right_and_wrong_answers_to_ten_tests_of_the_course(forked, tmp_path):
    grading.assignment(tmp_path / "ex01")
    grading.submissions(tmp_path / "in", 22)
    found = find(str(tmp_path / "ex01"))
    assert found.source
    files = sorted((tmp_path / "in").iterdir())
    reports = run.grade(found.tests, [found.source, *files])
    assert [len(report.results) for report in reports] == [10] * 23
    assert [report.complete for report in reports] == [True, *[False, True] * 11]
    assert len({path.read_text() for path in files}) == 22
