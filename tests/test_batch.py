"""Grading a class: everyone has a record, whatever happens on the way."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fedlab_edu.grading import commands
from fedlab_edu.grading.assignment import Refusal, find
from fedlab_edu.grading.batch import Batch, Change
from fedlab_edu.grading.downloads import Person, people
from fedlab_edu.grading.store import Record, Store
from tests.classroom import RIGHT, SOLUTION, WRONG, StandIn, assignment_folder


class Course:
    """A folder of submissions, and what becomes of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.assignment = assignment_folder(folder / "hw")
        self.submissions = folder / "in"
        self.submissions.mkdir()
        self.store = Store(folder / "out")
        self.grader = StandIn()

    def hand_in(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.submissions / f"{name}.py").write_text(text)

    def grade(self, again: bool = False, everyone: list[Person] | None = None) -> list[Change]:
        self.grader.seen = []
        batch = Batch(find(str(self.assignment), None), self.store, self.grader, "stand-in", again)
        return batch.run(everyone or people(self.submissions))

    @property
    def records(self) -> dict[str, Record]:
        return {record.student: record for record in self.store.records()}

    @property
    def marks(self) -> dict[str, tuple[str, float]]:
        return {name: (r.state, r.won) for name, r in self.records.items()}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_every_kind_of_submission_has_its_state_and_none_is_silently_zero(course: Course) -> None:
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


def test_a_record_holds_what_is_needed_to_understand_it_later(course: Course) -> None:
    course.hand_in(bob=WRONG)
    course.grade()
    (path,) = (course.folder / "out/grades").iterdir()
    found = json.loads(path.read_text())
    assert found["schema"] == "fedlab-edu/grade/v1"
    assert found["versions"].keys() == {"fedlab_edu", "python", "torch"}
    assert (found["back_end"], found["file"]) == ("stand-in", "bob.py")
    assert len(found["sha256"]) == len(found["tests_sha256"]) == 64
    hidden = found["tests"][1]
    assert [hidden[k] for k in ("hidden", "points", "max", "seconds")] == [True, 0, 2, 0.25]
    assert hidden["message"] == "double is wrong: <b>-154</b>"


def test_only_what_has_changed_is_graded_again(course: Course) -> None:
    course.hand_in(ann=RIGHT, bob=WRONG)
    assert course.grade() == []
    course.hand_in(bob=RIGHT)
    (change,) = course.grade()
    assert course.grader.seen == [RIGHT]
    assert str(change) == "bob: 3.5 -> 5.5 of 5.5; q1 negative numbers: failed -> passed"


def test_the_solution_has_to_pass_the_tests_once(course: Course) -> None:
    course.hand_in(ann=WRONG)
    course.grade()
    assert course.grader.seen == [SOLUTION, WRONG]
    course.grade()
    assert course.grader.seen == []
    (course.assignment / "hw_ref.py").write_text(f"{SOLUTION}\n# new\n")
    course.grade()
    assert course.grader.seen == [f"{SOLUTION}\n# new\n"]


def test_with_other_tests_all_are_graded_again(course: Course) -> None:
    course.hand_in(ann=RIGHT, bob=WRONG)
    course.grade()
    with (course.assignment / "test_hw.py").open("a") as file:
        file.write("import helper\n")
    course.grade()
    assert len(course.grader.seen) == 3
    (course.assignment / "helper.py").write_text("x = 1\n")
    course.grade()
    assert len(course.grader.seen) == 3


def test_asked_to_all_are_graded_again_and_nothing_has_changed(course: Course) -> None:
    course.hand_in(ann=RIGHT, bob=WRONG)
    course.grade()
    before = course.records
    assert course.grade(again=True) == []
    assert len(course.grader.seen) == 2
    assert course.records == before


def test_the_secret_is_made_once_and_kept_from_others(course: Course) -> None:
    first = course.store.secret()
    assert first == course.store.secret()
    assert len(first) == 32
    assert (course.folder / "out/secret").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("stop", range(1, 6))
def test_killed_at_any_point_and_resumed_the_table_is_the_same(stop: int, course: Course) -> None:
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


def test_a_fault_of_the_grader_costs_nobody_else_a_grade_and_is_tried_again(
    course: Course,
) -> None:
    course.hand_in(ann=RIGHT, bob=f"{RIGHT}\n#", cyd=WRONG)
    course.grader.broken = {f"{RIGHT}\n#"}
    course.grade()
    assert course.marks == {"ann": ("graded", 5.5), "bob": ("ungraded", 0), "cyd": ("graded", 3.5)}
    assert "the disk is full" in course.records["bob"].problem
    course.grader.broken = set()
    course.grade()
    assert course.grader.seen == [f"{RIGHT}\n#"]
    assert course.marks["bob"] == ("graded", 5.5)


def test_a_grader_that_always_fails_is_given_up(course: Course) -> None:
    texts = {f"s{i}": f"{RIGHT}# {i}\n" for i in range(9)}
    course.hand_in(**texts)
    course.grader.broken = set(texts.values())
    with pytest.raises(Refusal, match="failed 3 times: the disk is full"):
        course.grade()


def test_a_solution_that_fails_its_own_tests_stops_all(course: Course) -> None:
    (course.assignment / "hw_ref.py").write_text(WRONG)
    course.hand_in(ann=RIGHT)
    with pytest.raises(Refusal, match="does not pass its own test test_double_hidden"):
        course.grade()


def test_grades_of_two_assignments_do_not_mix(course: Course) -> None:
    course.store.begin("other", (), [])
    course.hand_in(ann=RIGHT)
    with pytest.raises(Refusal, match="holds the grades of other"):
        course.grade()


def test_a_broken_record_is_made_again(course: Course) -> None:
    course.hand_in(ann=RIGHT)
    course.grade()
    (path,) = (course.folder / "out/grades").iterdir()
    path.write_text(path.read_text()[:100])
    course.grade()
    assert course.marks == {"ann": ("graded", 5.5)}


@pytest.mark.parametrize("key", ["../../evil", "a/b", "CON", "\ud800", "x" * 300, "new\nline", ""])
def test_the_record_of_any_name_is_in_its_folder(key: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    record = Record(key, key, (), "hw", "graded", ())
    store.write(record)
    (path,) = tmp_path.rglob("*.json")
    assert path.parent == tmp_path / "grades"
    assert store.read(key) == record


def test_the_grader_of_this_machine_and_the_course_come_to_the_same_marks(tmp_path: Path) -> None:
    course = Course(tmp_path)
    course.hand_in(ann=RIGHT, bob=WRONG, cyd="import nowhere")
    found = find(str(course.assignment), None)
    course.grader, _ = commands.isolated(True, "secret", found.reference)  # type: ignore[assignment]
    Batch(found, course.store, course.grader, "").run(people(course.submissions))
    assert course.marks == {
        "ann": ("graded", 5.5),
        "bob": ("graded", 3.5),
        "cyd": ("not gradable yet", 0),
    }
    assert "No module named 'nowhere'" in course.records["cyd"].problem


def test_who_is_late_the_second_time_is_late_in_the_record(course: Course) -> None:
    course.hand_in(ann=RIGHT)
    course.grade()
    course.grade(everyone=[replace(one, late=True) for one in people(course.submissions)])
    assert course.records["ann"].late


def test_a_write_that_breaks_off_leaves_the_old_record_whole(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.hand_in(ann=RIGHT)
    course.grade()
    course.hand_in(ann=WRONG)

    def full(*paths: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="the disk is full"):
        course.grade()
    assert course.marks == {"ann": ("graded", 5.5)}


def test_a_disk_that_is_full_leaves_no_empty_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_of_two_that_make_the_secret_at_once_the_first_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "f" * 32

    def slow(length: int) -> str:
        (tmp_path / "secret").write_text(other)  # the other one, in the meantime
        return "0" * 32

    monkeypatch.setattr("secrets.token_hex", slow)
    assert Store(tmp_path).secret() == other


def test_records_of_names_that_differ_in_bytes_that_are_no_text_are_two(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.path("M\udcfcller") != store.path("M\udcf6ller")


@pytest.mark.parametrize("name", ["conftest.py", "want.json", "data/deep/x.csv"])
def test_with_other_data_all_are_graded_again(name: str, course: Course) -> None:
    with (course.assignment / "test_hw.py").open("a") as file:
        file.write("# reads data/\n")
    path = course.assignment / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# old\n")
    course.hand_in(ann=RIGHT)
    course.grade()
    course.grade()
    assert course.grader.seen == []
    path.write_text("# new\n")
    course.grade()
    assert course.grader.seen == [SOLUTION, RIGHT]


@pytest.mark.parametrize(
    "name", ["hw_ref.py", "mutants/right_a.py", "grades/class.json", ".hidden", "test_other.py"]
)
def test_what_has_no_part_in_a_test_does_not_change_its_digest(name: str, course: Course) -> None:
    before = find(str(course.assignment), None)
    digest = before.digest
    path = course.assignment / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("# new\n")
    again = replace(before, mutants=course.assignment / "mutants")
    assert again.digest == digest


def test_a_solution_that_cannot_be_handed_out_can_still_grade(course: Course) -> None:
    (course.assignment / "hw_ref.py").write_text(f"{SOLUTION}\nhalf = lambda x: x / 2\n")
    course.hand_in(ann=RIGHT)
    course.grade()
    assert course.marks == {"ann": ("graded", 5.5)}


def test_a_note_that_has_changed_is_in_the_record_without_grading_again(course: Course) -> None:
    course.hand_in(ann=RIGHT)
    course.grade()
    (ann,) = people(course.submissions)
    course.grade(everyone=[replace(ann, notes=("not in the roster",))])
    assert course.grader.seen == []
    assert course.records["ann"].notes == ("not in the roster",)


def test_of_many_changes_the_first_are_told_and_the_others_counted(course: Course) -> None:
    course.hand_in(ann=RIGHT)
    course.grade()
    (record,) = course.records.values()
    tests = [replace(record.tests[0], test=f"t{i}", aspect=str(i)) for i in range(6)]
    failed = [replace(test, status="failed", points=0.0) for test in tests]
    change = Change(replace(record, tests=tuple(tests)), replace(record, tests=tuple(failed)))
    told = "; ".join(f"q1 {i}: passed -> failed" for i in range(3))
    assert str(change) == f"ann: 6 -> 0 of 6; {told}; and 3 more"
