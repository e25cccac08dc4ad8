"""Who handed in what, from folders, downloads of other programs and a roster."""

import os
from pathlib import Path

import pytest

from fedlab_edu.grading.assignment import Refusal
from fedlab_edu.grading.downloads import Person, people, read_roster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    return path


def fill(folder: Path, *names: str) -> None:
    """Empty files, and folders where a name ends in a slash."""
    for name in names:
        path = folder / name
        path.mkdir() if name.endswith("/") else path.touch()


def given(found: list[Person]) -> dict[str, list[str]]:
    """Key -> the names of what they handed in."""
    return {one.key: [name for name, _ in one.paths] for one in found}


def roster(folder: Path, text: str, name: str = "roster.csv") -> Path:
    path = folder.parent / name
    path.write_text(text, encoding="utf-8")
    return path


def test_files_archives_and_folders_are_called_after_the_student(folder: Path) -> None:
    fill(folder, "ann.py", "bob.ipynb", "cyd.zip", "dan.tar.gz", "eve/", "-rf.py", ".DS_Store")
    fill(folder, "名前.py", "it's $(x).py", "__MACOSX/")
    found = given(people(folder))
    assert found.keys() == {"ann", "bob", "cyd", "dan", "eve", "-rf", "名前", "it's $(x)"}
    assert found["dan"] == ["dan.tar.gz"]


def test_a_download_of_canvas(folder: Path) -> None:
    fill(folder, "doejane_12345_67890_hw.py", "roejohn_LATE_222_333_hw-1.py")
    fill(folder, "doejane_12345_67891_notes.txt")
    jane, john = people(folder)
    assert (jane.key, jane.name, jane.late) == ("12345", "doejane", False)
    assert [name for name, _ in jane.paths] == ["hw.py", "notes.txt"]
    assert (john.key, john.late, john.paths[0][0]) == ("222", True, "hw.py")


def test_a_download_of_moodle(folder: Path) -> None:
    fill(folder, "Jane Doe_12345_assignsubmission_file_/", "Álvaro Núñez_7_assignsubmission_file/")
    fill(
        folder,
        "John Roe_9_assignsubmission_file_hw.py",
        "Jane Doe_12345_assignsubmission_onlinetext_/",
    )
    found = people(folder)
    assert {one.key: one.name for one in found} == {
        "12345": "Jane Doe",
        "7": "Álvaro Núñez",
        "9": "John Roe",
    }
    assert found[1].paths[0][0] == "hw.py"


def test_an_export_of_gradescope(folder: Path) -> None:
    fill(folder, "submission_1/", "submission_2/", "submission_3/")
    (folder / "submission_metadata.yml").write_text("""\
---
submission_1:
  :submitters:
  - :name: Jane Doe
    :sid: '12345'
    :email: jane@uni.edu
  :created_at: 2026-11-01 10:00:00.000000000 Z
  :score: 3.0
submission_2:
  :submitters:
  - :name: Ann
    :email: ann@uni.edu
  - :name: Bob
    :email: bob@uni.edu
""")
    found = people(folder)
    assert [(one.key, one.name) for one in found] == [
        ("12345", "Jane Doe"),
        ("ann@uni.edu", "Ann"),  # a group
        ("bob@uni.edu", "Bob"),
        ("submission_3", "submission_3"),  # of nobody whom the file knows
    ]
    assert found[0].ids == ("12345", "jane@uni.edu")
    assert found[1].paths == found[2].paths


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("name", "Jane Doe"),
        ("Student,ID,SIS User ID,SIS Login ID,Section", '"Doe, Jane",12345,s1,jdoe,A'),
        ("first name,last name,email", "Jane,Doe,jdoe@uni.edu"),
        ("Surname;First name;ID number", "Doe;Jane;12345"),
        ("\ufeffName,Note", "Jané Doe,x"),
        ("login", "doejane"),
    ],
)
def test_a_student_is_found_in_the_roster_by_name_or_id(head: str, row: str, folder: Path) -> None:
    fill(folder, "doejane_12345_67890_hw.py")
    (jane,) = people(folder, roster(folder, f"{head}\n{row}\n"))
    assert [name for name, _ in jane.paths] == ["hw.py"]
    assert jane.notes == ()
    assert "12345" in jane.ids


def test_everyone_of_the_roster_is_there_and_so_is_who_is_not_in_it(folder: Path) -> None:
    fill(folder, "ann.py", "zoe.py")
    found = people(folder, roster(folder, "name\nbob\nann\n"))
    assert given(found) == {"bob": [], "ann": ["ann.py"], "zoe": ["zoe.py"]}
    assert found[2].notes == ("not in the roster",)


def test_the_roster_in_the_folder_and_what_file_managers_leave_are_no_submissions(
    folder: Path,
) -> None:
    fill(folder, "ann.py", "Thumbs.db", "desktop.ini", "__MACOSX/", "Icon\r", ".DS_Store")
    (folder / "roster.csv").write_text("name\nann\n")
    found = people(folder, folder / "roster.csv")
    assert given(found) == {"ann": ["ann.py"]}


def test_who_could_be_two_people_is_given_to_neither(folder: Path) -> None:
    fill(folder, "Jane Doe.py")
    found = people(folder, roster(folder, "name,id\nJane Doe,1\nDoe Jane,2\n"))
    assert given(found) == {"1": [], "2": [], "Jane Doe": ["Jane Doe.py"]}
    assert "several people" in found[2].notes[0]


def test_two_of_one_name_both_stay_in_the_list(folder: Path) -> None:
    found = people(folder, roster(folder, "name\nann\nann\n"))
    assert [one.key for one in found] == ["ann", "ann (2)"]


def test_canvas_puts_a_line_of_points_under_the_head(folder: Path) -> None:
    path = roster(folder, "Student,ID,Hw (1)\n    Points Possible,,10\nAnn,1,\n")
    assert [one.key for one in read_roster(path)] == ["1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "has no column called name, id, login or email"),
        ("name\n\0\n", "NUL bytes"),
    ],
)
def test_a_roster_that_cannot_be_read_is_refused(text: str, message: str, folder: Path) -> None:
    with pytest.raises(Refusal, match=message):
        read_roster(roster(folder, text))


def test_a_folder_that_is_none_is_refused(folder: Path) -> None:
    fill(folder, "all.zip")
    with pytest.raises(Refusal, match="is no folder: unpack it first"):
        people(folder / "all.zip")
    with pytest.raises(Refusal, match="does not exist"):
        people(folder / "nowhere")
    with pytest.raises(Refusal, match=r"nowhere\.csv cannot be opened"):
        people(folder, folder / "nowhere.csv")


# --- who is who -----------------------------------------------------------------------------------


def test_names_that_look_alike_once_they_can_be_printed_stay_apart(folder: Path) -> None:
    """M\\xfcller and M\\xf6ller of an old zip, a new line for another, and very long names."""
    names = [b"M\xfcller", b"M\xf6ller", b"a\nb", b"a\rb", b"x" * 250 + b"1", b"x" * 250 + b"2"]
    for name in names:
        (folder / os.fsdecode(name)).mkdir()
    found = people(folder)
    assert len({one.key for one in found}) == 6
    assert all(one.key.isprintable() and len(one.paths) == 1 for one in found)
    assert sum(one.name == "M\N{REPLACEMENT CHARACTER}ller" for one in found) == 2
    assert {os.fsencode(one.paths[0][1].name) for one in found} == set(names)


def test_a_number_of_moodle_that_is_someone_elses_in_the_roster_does_not_win(folder: Path) -> None:
    fill(folder, "Jane Doe_2_assignsubmission_file_/", "John Roe_7_assignsubmission_file_/")
    jane, john = people(folder, roster(folder, "name,id\nJane Doe,1\nJohn Roe,2\n"))
    assert [jane.paths[0][0], john.paths[0][0]] == [
        "Jane Doe_2_assignsubmission_file_",
        "John Roe_7_assignsubmission_file_",
    ]
    assert jane.notes == ("the number or login is another one's in the roster: see who this is",)
    assert john.notes == ()


def test_a_number_finds_who_has_no_name_in_the_roster(folder: Path) -> None:
    fill(folder, "roejohn_2_9_hw.py")
    found = people(folder, roster(folder, "id\n1\n2\n"))
    assert given(found) == {"1": [], "2": ["hw.py"]}


def test_a_whole_address_goes_before_what_stands_before_its_at(folder: Path) -> None:
    fill(folder, "jdoe@a.edu.py", "ann.py")
    text = "email\njdoe@a.edu\njdoe@b.edu\nann@a.edu\n"
    found = people(folder, roster(folder, text))
    assert given(found) == {
        "jdoe@a.edu": ["jdoe@a.edu.py"],
        "jdoe@b.edu": [],
        "ann@a.edu": ["ann.py"],
    }
    assert [one.notes for one in found] == [()] * 3


def test_an_address_goes_before_a_name(folder: Path) -> None:
    fill(folder, "submission_1/")
    (folder / "submission_metadata.yml").write_text(
        "submission_1:\n  :submitters:\n  - :name: Jane Doe\n    :email: j2@uni.edu\n"
    )
    text = "name,email\nJane Doe,j1@uni.edu\nJanet Doe,j2@uni.edu\n"
    jane, janet = people(folder, roster(folder, text))
    assert (jane.paths, len(janet.paths)) == ((), 1)
    assert janet.notes == ("the name is another one's in the roster: see who this is",)


def test_a_login_goes_before_the_same_before_the_at_of_another_one(folder: Path) -> None:
    fill(folder, "jdoe.py")
    found = people(folder, roster(folder, "login\njdoe@b.edu\njdoe\n"))
    assert given(found) == {"jdoe@b.edu": [], "jdoe": ["jdoe.py"]}


def test_two_of_one_name_that_fall_on_one_of_the_roster_are_told(folder: Path) -> None:
    fill(folder, "Jane Doe_7_assignsubmission_file_/", "Jane Doe_8_assignsubmission_file_/")
    (jane,) = people(folder, roster(folder, "name\nJane Doe\n"))
    assert jane.notes == (
        "handed in as 'Jane Doe' (7), 'Jane Doe' (8): see whether that is one person",
    )


def test_the_last_upload_to_canvas_is_the_last_in_the_list(folder: Path) -> None:
    fill(folder, "a_1_1000_hw-9.py", "a_1_1000_hw-10.py", "a_1_999_hw.py", "a_1_1000_hw.py")
    (one,) = people(folder)
    assert [path.name for _, path in one.paths] == [
        "a_1_999_hw.py",
        "a_1_1000_hw.py",
        "a_1_1000_hw-9.py",
        "a_1_1000_hw-10.py",
    ]
