"""Submissions matched to students, from folders, downloads of other programs and a roster."""

import os
import random
from pathlib import Path

import pytest

from fedlab_grade.classroom.downloads import people
from fedlab_grade.classroom.people import Person
from fedlab_grade.options import Refusal

pytestmark = pytest.mark.grader


@pytest.fixture
def folder(tmp_path):
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


def test_files_archives_and_folders_are_called_after_the_student(folder):
    fill(folder, "ann.py", "bob.ipynb", "cyd.zip", "dan.tar.gz", "eve/", "-rf.py", ".DS_Store")
    fill(folder, "名前.py", "it's $(x).py", "__MACOSX/")
    found = given(people(folder))
    assert found.keys() == {"ann", "bob", "cyd", "dan", "eve", "-rf", "名前", "it's $(x)"}
    assert found["dan"] == ["dan.tar.gz"]


def test_a_download_of_canvas(folder):
    fill(folder, "doejane_12345_67890_hw.py", "roejohn_LATE_222_333_hw-1.py")
    fill(folder, "doejane_12345_67891_notes.txt")
    jane, john = people(folder)
    assert (jane.key, jane.name, jane.late) == ("12345", "doejane", False)
    assert [name for name, _ in jane.paths] == ["hw.py", "notes.txt"]
    assert (john.key, john.late, john.paths[0][0]) == ("222", True, "hw.py")


def test_a_download_of_moodle(folder):
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


def test_an_export_of_gradescope(folder):
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
    assert (
        found[1].paths == found[2].paths == (("submission_2", folder.resolve() / "submission_2"),)
    )


def metadata(folder: Path, text: str) -> None:
    (folder / "submission_metadata.yml").write_text(text, encoding="utf-8")


def test_gradescope_s_keys_may_lack_their_colon_and_its_names_may_be_empty(folder):
    fill(folder, "1/", "submission_2/", "submission_3/")
    metadata(
        folder,
        """\
1:
  submitters:
  - name: Jane Doe
    sid: 12345
submission_2:
  :submitters:
  - :name: ''
    :email: ann@uni.edu
submission_3:
  :submitters:
  - :name: ''
    :email:
  - nobody
""",
    )
    found = people(folder)
    assert [(one.key, one.name, one.ids) for one in found] == [
        ("12345", "Jane Doe", ("12345",)),
        ("ann@uni.edu", "ann@uni.edu", ("ann@uni.edu",)),
        ("submission_3", "submission_3", ()),
    ]


def test_whom_gradescope_lists_without_a_folder_is_there_with_a_note(folder):
    fill(folder, "submission_1/")
    group = "  - :name: Ann\n    :email: ann@uni.edu\n"
    metadata(
        folder,
        f"submission_1:\n  :submitters:\n{group}"
        f"submission_2:\n  :submitters:\n{group}  - :name: Bob\n    :email: bob@uni.edu\n",
    )
    ann, bob = people(folder)  # Ann has handed in something else
    assert (ann.key, len(ann.paths), ann.notes) == ("ann@uni.edu", 1, ())
    why = "in Gradescope's list, but there is no folder 'submission_2'"
    assert (bob.key, bob.paths, bob.notes) == ("bob@uni.edu", (), (why,))
    ann, bob = people(folder, roster(folder, "email\nann@uni.edu\nbob@uni.edu\n"))
    assert (len(ann.paths), bob.paths, bob.notes) == (1, (), (why,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "holds no list of submissions"),
        ("", "holds no list of submissions"),
        ("a: [\n", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_list_of_gradescope_s_that_is_none_is_refused(text, message, folder):
    fill(folder, "submission_1/")
    metadata(folder, text)
    with pytest.raises(Refusal, match=rf"submission_metadata\.yml {message}"):
        people(folder)


def test_a_deep_list_of_gradescope_s_is_refused_by_the_slow_reader_too(folder, monkeypatch):
    monkeypatch.delattr("yaml.CBaseLoader", raising=False)  # where PyYAML has no libyaml
    metadata(folder, "a: " + "[" * 5_000 + "]" * 5_000)
    with pytest.raises(Refusal, match=r"is too deeply nested|maximum recursion depth"):
        people(folder)


def test_gradescope_s_numbers_and_names_stay_as_they_are_written(folder):
    """YAML takes 0123 for 83, 1_0 for 10, "no" for false, and 2026-99-99 for a broken date."""
    fill(folder, "submission_1/", "submission_2/")
    metadata(
        folder,
        """\
submission_1:
  :submitters:
  - :name: No
    :sid: 0123
    :email: ~
  :created_at: !ruby/object:Time 2026-99-99
submission_2:
  :submitters:
  - :name: "Eve\\n\\u202ePoe"
    :sid: 1_0
    :email: null
  - :name: Eve Roe
    :sid: 1_0
    :email: [1]
""",
    )
    assert [(one.key, one.name, one.ids) for one in people(folder)] == [
        ("0123", "No", ("0123",)),
        ("1_0", "Eve Poe", ("1_0",)),
        ("1_0 (2)", "Eve Roe", ("1_0",)),
    ]


def test_who_is_in_two_submissions_of_gradescope_is_one_person(folder):
    fill(folder, "submission_1/", "submission_2/")
    team = "  :submitters:\n  - :name: Ann\n    :sid: '1'\n  - :name: Bob\n"
    metadata(folder, "".join(f"submission_{i}:\n{team}" for i in range(1, 5)))
    ann, *bobs = people(folder)
    assert [name for name, _ in ann.paths] == ["submission_1", "submission_2"]
    assert ann.notes == ("is in several submissions: 'submission_1', 'submission_2'",)
    # Of Bob no more than the name is known, so these may be four.
    assert [(one.name, len(one.paths)) for one in bobs] == [
        ("Bob", 1),
        ("Bob", 1),
        ("Bob", 0),
        ("Bob", 0),
    ]
    assert len({one.key for one in bobs}) == 4


def test_nobody_of_gradescope_s_list_is_lost_without_any_folder(folder):
    who = "- :name: Ann\n    :sid: '1'\n"
    metadata(folder, "".join(f"submission_{i}:\n  :submitters:\n  {who}" for i in (1, 2)))
    (ann,) = people(folder)
    assert (ann.key, ann.paths) == ("1", ())
    assert [note.split()[-1] for note in ann.notes] == ["'submission_1'", "'submission_2'"]


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("Student,ID,SIS User ID,SIS Login ID,Section", '"Roe, Jane",12345,s1,jdoe,A'),
        ("LastName;FirstName;ID;SIS Login ID;Section", "Roe;Jane;12345;jdoe;A"),
        ("\ufeffName,Note", '"Doe, Jané",x'),
        ("login", "doejane"),
    ],
)
def test_a_student_is_found_in_the_roster_by_number_or_name(head, row, folder):
    fill(folder, "doejane_12345_67890_hw.py")
    (jane,) = people(folder, roster(folder, f"{head}\n{row}\n"))
    assert [name for name, _ in jane.paths] == ["hw.py"]
    assert jane.notes == ()


def test_without_canvas_s_numbers_no_name_is_guessed_and_no_mark_is_lost(folder):
    fill(folder, "doejane_12345_67890_hw.py")
    jane, stranger = people(folder, roster(folder, "name,id\nJane Doe,7\n"))
    assert (jane.paths, stranger.matched) == ((), False)
    assert "take Canvas's gradebook for the roster" in stranger.notes[0]


def test_everyone_of_the_roster_is_there_and_so_is_who_is_not_in_it(folder):
    fill(folder, "ann.py", "zoe.py")
    found = people(folder, roster(folder, "name\nbob\nann\n"))
    assert given(found) == {"bob": [], "ann": ["ann.py"], "zoe": ["zoe.py"]}
    assert found[2].notes == ("not in the roster",)


def test_the_roster_in_the_folder_and_what_file_managers_leave_are_no_submissions(folder):
    fill(folder, "ann.py", "Thumbs.db", "desktop.ini", "__MACOSX/", "Icon\r", ".DS_Store")
    (folder / "roster.csv").write_text("name\nann\n")
    found = people(folder, folder / "roster.csv")
    assert given(found) == {"ann": ["ann.py"]}


def test_a_hidden_module_or_archive_is_somebody_s_and_not_lost(folder):
    fill(folder, ".ada.py", ".bob.zip", ".DS_Store", ".git/", "._cyd.py", ".py")
    assert given(people(folder)) == {".ada": [".ada.py"], ".bob": [".bob.zip"], ".py": [".py"]}


def test_a_folder_that_is_none_is_refused(folder):
    fill(folder, "all.zip")
    with pytest.raises(Refusal, match="is no folder: unpack it first"):
        people(folder / "all.zip")
    with pytest.raises(Refusal, match="does not exist"):
        people(folder / "nowhere")
    with pytest.raises(Refusal, match=r"nowhere\.csv cannot be opened"):
        people(folder, folder / "nowhere.csv")


# --- who is who -----------------------------------------------------------------------------------


def test_names_that_look_alike_once_they_can_be_printed_stay_apart(folder):
    """M\\xfcller and M\\xf6ller of an old zip, a new line for another, and very long names."""
    names = [b"M\xfcller", b"M\xf6ller", b"a\nb", b"a\rb", b"x" * 250 + b"1", b"x" * 250 + b"2"]
    for name in names:
        (folder / os.fsdecode(name)).mkdir()
    found = people(folder)
    assert len({one.key for one in found}) == 6
    assert all(one.key.isprintable() and len(one.paths) == 1 for one in found)
    assert sum(one.name == "M\N{REPLACEMENT CHARACTER}ller" for one in found) == 2
    assert {os.fsencode(one.paths[0][1].name) for one in found} == set(names)


def test_the_last_upload_to_canvas_is_the_last_in_the_list(folder):
    fill(folder, "a_1_1000_hw-9.py", "a_1_1000_hw-10.py", "a_1_999_hw.py", "a_1_1000_hw.py")
    (one,) = people(folder)
    assert [path.name for _, path in one.paths] == [
        "a_1_999_hw.py",
        "a_1_1000_hw.py",
        "a_1_1000_hw-9.py",
        "a_1_1000_hw-10.py",
    ]


def test_a_folder_and_a_link_are_called_as_a_file_would_be(folder):
    """An archive is often unpacked to a folder of its own name."""
    fill(folder, "doejane_12345_67890_hw.zip/", "roejohn_9_8_hw/", "ann.zip/", "eve/")
    (folder / "bob.py").symlink_to(folder / "eve")
    assert given(people(folder)) == {
        "ann": ["ann.zip"],
        "bob": ["bob.py"],
        "12345": ["hw.zip"],
        "eve": ["eve"],
        "9": ["hw"],
    }


def test_files_of_one_student_are_one_and_of_two_with_one_number_are_not(folder):
    fill(folder, "ann.py", "ann.ipynb", "7.py", "roejohn_7_1_hw.py", "roejohn_7_2_hw.py")
    fill(folder, "Jane_2026_11_hw.py", "Bob_2026_11_hw.py")  # a date, and no number of Canvas's
    found = people(folder)
    assert given(found) == {
        "ann": ["ann.ipynb", "ann.py"],
        "7": ["7.py"],
        "7 (2)": ["hw.py", "hw.py"],
        "2026": ["hw.py"],
        "2026 (2)": ["hw.py"],
    }
    assert found[-1].name == "roejohn"
    assert next(one for one in found if one.key == "2026 (2)").notes


def test_late_uploads_and_the_gradebook_of_canvas(folder):
    fill(folder, "leekim_LATE_11_901_hw.py", "leekim_12_902_hw.py")
    text = (
        "Student;ID;SIS Login ID;Section;hw (9)\n    Points Possible;;;;10\n"
        "Lee, Kim;12;kl;A;\nLee, Kimberly;11;kk;A;\nPoe, Eve;13;ep;A;\n"
    )
    kim, kimberly, eve = people(folder, roster(folder, text))
    assert [path.name for _, path in kim.paths] == ["leekim_12_902_hw.py"]
    assert [path.name for _, path in kimberly.paths] == ["leekim_LATE_11_901_hw.py"]
    assert (kim.late, kimberly.late, eve.late, eve.paths) == (False, True, False, ())


@pytest.mark.parametrize(("sis", "login"), [("", "0af9" * 10), ("s1,", "0af9" * 10), ("s1,", "")])
def test_canvas_s_test_student_is_known_by_its_ids_and_a_student_of_that_name_is_not_it(
    sis, login, folder
):
    fill(folder, "studenttest_99_902_hw.py", "studenttest_LATE_99_9_hw.py")
    fill(folder, "studenttest_12_901_hw.py")
    text = f"Student,ID,{sis and 'SIS User ID,'}SIS Login ID,Section\n"
    text += f'"Student, Test",12,{sis}ts,A\n"Roe, Sam",13,{sis}sr,A\n'
    text += f'"Student, Test",99,{sis and ","}{login},A\n'
    real, sam, tried = people(folder, roster(folder, text))
    assert (real.key, real.is_test, len(real.paths)) == ("12", False, 1)
    assert (sam.paths, sam.is_test) == ((), False)
    assert all(one.matched for one in (real, sam, tried))
    assert (tried.key, tried.is_test, len(tried.paths)) == ("99", True, 2)
    assert not any(one.is_test for one in people(folder))  # the name alone says nothing


# --- odd names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "key", "called", "ids", "file", "late"),
    [
        ("van_der_berg_LATE_5_9_hw-1.py", "5", "van_der_berg", "canvas:5", "hw.py", True),
        ("anna_2_lee_5_9_my_hw_1_2.py", "5", "anna_2_lee", "canvas:5", "my_hw_1_2.py", False),
        ("o'neil (jr)_5_9_hw (1).py", "5", "o'neil (jr)", "canvas:5", "hw (1).py", False),
        ("עברית_5_9_hw.py", "5", "עברית", "canvas:5", "hw.py", False),
        ("_LATE_5_9_hw.py", "5", "no name (5)", "canvas:5", "hw.py", True),
        ("doejane_LATE_5_text.html", "5", "doejane", "canvas:5", "text.html", True),
        ("doejane_5_link.html", "5", "doejane", "canvas:5", "link.html", False),
        ("A_B C_7_assignsubmission_file_hw.py", "7", "A_B C", "moodle:7", "hw.py", False),
        ("_7_assignsubmission_file_hw.py", "7", "no name (7)", "moodle:7", "hw.py", False),
        ("A 2_B_7_assignsubmission_pdf_x_1_2.py", "7", "A 2_B", "moodle:7", "x_1_2.py", False),
        ("A_7_assignsubmission_file_h\nw-1.py", "7", "A", "moodle:7", "h\ufffdw-1.py", False),
        ("A_7_assignsubmission_file_", "7", "A", "moodle:7", "A_7_assignsubmission_file_", False),
        # The student chose the rest of the name.
        (
            "ada_101_9000_answers_question_4_1_final.py",
            "101",
            "ada",
            "canvas:101",
            "answers_question_4_1_final.py",
            False,
        ),
        (
            "ada_LATE_101_9000_x_7_assignsubmission_file_hw.py",
            "101",
            "ada",
            "canvas:101",
            "x_7_assignsubmission_file_hw.py",
            True,
        ),
        (
            "ada_101_9000_anon_12345_9_hw.py",
            "101",
            "ada",
            "canvas:101",
            "anon_12345_9_hw.py",
            False,
        ),
        ("ada_101_9000_5_6_hw.py", "101", "ada", "canvas:101", "5_6_hw.py", False),
        ("Eve_7_assignsubmission_file_x_1_2_y.py", "7", "Eve", "moodle:7", "x_1_2_y.py", False),
        (
            "Eve_7_assignsubmission_file_Bob_8_assignsubmission_file_hw.py",
            "7",
            "Eve",
            "moodle:7",
            "Bob_8_assignsubmission_file_hw.py",
            False,
        ),
    ],
)
def test_a_name_of_canvas_s_or_moodle_s_is_taken_apart(name, key, called, ids, file, late, folder):
    fill(folder, name)
    (one,) = people(folder)
    assert (one.key, one.name, "".join(one.ids), one.late) == (key, called, ids, late)
    assert one.paths == ((file, folder.resolve() / name),)


def test_all_parts_of_one_student_are_one_person(folder):
    fill(folder, "Anna_Lena Meyer_3_assignsubmission_file_/")
    fill(folder, "Anna_Lena Meyer_3_assignsubmission_onlinetext_/", "Poe_4_assignsubmission_file_/")
    fill(folder, "_5_assignsubmission_file_/", "_5_assignsubmission_onlinetext_/")
    found = people(folder, roster(folder, "name,id\nAnna Lena Meyer,5\nEve Poe,3\n"))
    assert [(one.name, len(one.paths)) for one in found] == [
        ("Anna Lena Meyer", 2),
        ("Eve Poe", 0),
        ("no name (5)", 2),  # and not whom the university calls 5
        ("Poe", 1),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "anon_12345_9_hw.py", "LATE_anon_12345_9_hw.py", "anon_aB3dE_9_hw.py",
        "doe_jane5_question_12345_9_hw.py", "doe_jane_question_99_7_a_12345_9_hw.py",
        "hw_final.py", "question_4.py", "12345_question_1_2_x.py", "submission.zip",
    ],
)  # fmt: skip
def test_a_name_without_a_number_of_the_student_is_nobody_s_and_turns_nothing_into_a_0(
    name, folder
):
    fill(folder, name)
    text = "Student,ID,SIS Login ID,Section\nAnn,12345,a,A\nBob,9,b,A\nCyd,5,c,A\n"
    *students, stranger = people(folder, roster(folder, text))
    assert [(one.paths, one.matched) for one in students] == [((), True)] * 3
    assert not stranger.matched
    assert (len(stranger.paths), stranger.notes[0]) == (1, "not in the roster")


def test_files_that_are_only_named_like_canvas_s_are_not_one_person_s(folder):
    fill(folder, "hw_1_2_ann.py", "hw_1_2_bob.py", "a_b_1_2_hw.py", "a_b_1_2_hw-1.py")
    assert given(people(folder)) == {
        "1": ["hw.py", "hw.py"],
        "hw_1_2_ann": ["hw_1_2_ann.py"],
        "hw_1_2_bob": ["hw_1_2_bob.py"],
    }


def test_no_file_is_lost_or_given_twice_whatever_its_name(folder):
    parts = ["_", "LATE_", "anon_", "1", "12_", "hw.py", "ann", "_assignsubmission_file_", "\udcff"]
    parts += ["_question_", "(2)", "א\u202eב", "'", "\n", "-1.py", "text.html", "É", "E\u0301"]
    draw = random.Random(0)
    names = {"".join(draw.choices(parts, k=draw.randint(1, 6))) for _ in range(400)}
    names |= {"é" * 127 + "1", "é" * 127 + "2", "1" * 250 + "_1_a", "ann_" + "1" * 200 + "_1_a"}
    for name in names:
        (folder / name).mkdir()
    text = "name,id\nann,1\nÉ ann,12\n'ann',2\nab,(2)\n"
    for everyone in (people(folder), people(folder, roster(folder, text))):
        there = [path.name for one in everyone for _, path in one.paths]
        assert sorted(there) == sorted(names)
        assert len({one.key for one in everyone}) == len(everyone)
        assert all(one.key.isprintable() and one.name.isprintable() for one in everyone)


def test_one_number_behind_two_names_that_cannot_be_printed_is_of_two(folder):
    names = [b"M\xfcller_7_1_hw.py", b"M\xf6ller_7_2_hw.py", b"a\nb_8_3_hw.py", b"a\rb_8_4_hw.py"]
    for name in names:
        (folder / os.fsdecode(name)).touch()
    found = people(folder)
    assert [len(one.paths) for one in found] == [1, 1, 1, 1]
    assert all(one.name.isprintable() for one in found)


def test_one_late_file_makes_late_and_another_program_s_number_makes_another(folder):
    fill(folder, "bob_7_1_hw.py", "bob_LATE_7_2_notes.py", "bob_7_assignsubmission_file_/")
    assert [(one.ids, len(one.paths), one.late) for one in people(folder)] == [
        (("moodle:7",), 1, False),
        (("canvas:7",), 2, True),
    ]
