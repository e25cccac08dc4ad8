"""Whose is what: the people of a roster, and what was handed in."""

import codecs
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest

from fedlab_grade.assignment import Refusal
from fedlab_grade.classroom.matching import enrolled
from fedlab_grade.classroom.people import Person, distinct
from fedlab_grade.classroom.roster import ROSTER, read_roster, read_table

pytestmark = pytest.mark.grader

GRADEBOOK = "Student,ID,SIS User ID,SIS Login ID,Section,hw (9)\n    Points Possible,,,,,10\n"


def table(folder: Path, text: str) -> Path:
    path = folder / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return path


def file(label: str) -> Person:
    """A file or folder that is called after its student."""
    return Person(label, label, (), ((label, Path(label)),))


def canvas(name: str, number: int, late: bool = False) -> Person:
    return Person(str(number), name, (f"canvas:{number}",), (("hw.py", Path(name)),), late)


def moodle(name: str, number: int) -> Person:
    return Person(str(number), name, (f"moodle:{number}",), (("hw.py", Path(name)),))


def gradescope(name: str, *ids: str) -> Person:
    return Person(ids[0] if ids else name, name, ids, (("submission_1", Path("s")),))


def whose(folder: Path, text: str, *found: Person) -> list[tuple[str, int, tuple[str, ...]]]:
    """(key, number of files, notes) of everyone."""
    everyone = enrolled(read_roster(table(folder, text)), found)
    return [(one.key, len(one.paths), one.notes) for one in everyone]


# --- read a roster --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "ids"),
    [
        ("name\nAnn\n", "Ann", ()),
        ("login\nann1\n", "ann1", ("ann1",)),
        ("Surname;First name;ID number\nDoe;Ann;7\n", "Ann Doe", ("7",)),
        ('"a; b; c; d; e; f",name,id\n,Ann,7\n', "Ann", ("7",)),  # a title with semicolons
        (GRADEBOOK + '"Doe, Ann",7,s7,ann1,A,\n', "Doe, Ann", ("canvas:7", "s7", "ann1")),
        (
            "LastName;FirstName;ID;SIS Login ID;Section;hw (9)\nDoe;Ann;7;ann1;A;\n",
            "Ann Doe",
            ("canvas:7", "ann1"),
        ),
        ("Student,ID,hw (9)\n    Points Possible,,10\nAnn,7,\n", "Ann", ("canvas:7",)),
        ("Student,ID,Section\nAnn,7,A\n", "Ann", ("7",)),  # of the university: Canvas has a login
    ],
)
def test_a_roster_has_names_and_ids(
    text: str, name: str, ids: tuple[str, ...], tmp_path: Path
) -> None:
    (one,) = read_roster(table(tmp_path, text))
    assert (one.name, one.ids, one.paths, one.notes) == (name, ids, (), ())
    assert one.key == (ids[0].removeprefix("canvas:") if ids else name)


def test_who_is_in_two_sections_is_one_person(tmp_path: Path) -> None:
    text = "name,id,email,section\nAnn,1,,A\nAnn,1,ann@uni.edu,B\nAnn,2,,A\nBob,1,,A\n"
    found = read_roster(table(tmp_path, text))
    assert [(one.key, one.name, one.ids) for one in found] == [
        ("1", "Ann", ("1", "ann@uni.edu")),
        ("2", "Ann", ("2",)),
        ("1 (2)", "Bob", ("1",)),
    ]
    assert [one.notes for one in found] == [(), (), ("another one is called '1' too",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n , \n", "is empty"),
        ("sep=;\n", "is empty"),
        ("a,b\n1,2\n", "has no column called name, id, login or email: line 1 has 'a', 'b'"),
        ("Ann\n" * 20 + "name\n", "login or email: line 1 has 'Ann'"),  # no title is so long
        ("\nCourse,7\nname,id\n", "login or email: line 2 has 'Course', '7'"),
        ("name\n\0\n", "NUL bytes: save it as UTF-8"),
        ("name\n" + "x" * 200_000 + "\n", "field larger than field limit"),
    ],
)
def test_a_roster_that_cannot_be_read_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=message) as refused:
        read_roster(table(tmp_path, text))
    assert "roster.csv" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('Name,ID\n"Jane Doe,1001\nMax,1006\nEve,1007', 2),
        ('\nsep=,\nName,ID\nAnn,1\n"Two\nLines",2\n"Jane Doe,1001\nMax,1006\n', 7),
        ('Name,ID\n"Jane Doe,1001\nMax,1006\n"Eve",1007\n', 2),
        ('"Name,ID\nJane Doe,1001\n', 1),
        ('sep=,\n"Name,ID\nJane Doe,1001\n', 2),
    ],
)
def test_a_quote_that_is_not_closed_swallows_nobody(text: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=f"cannot be read from line {line} on .* a quote there is"):
        read_roster(table(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('Name,ID\n"Jane,1\nMax,2\nEve",3\n', "line 2: rows are within a cell"),
        ('Name,ID,Note\nAnn,1,\nJane,1,"x\nMax,2,y"\n', "line 3: rows are within a cell"),
        ('Name,ID,a,b\n"Jane,1\nMax,2",3,,\n', "line 2: rows are within a cell"),
        (
            "Name,ID\nAnn,1\nDoe, Jane,1001\n",
            r"line 3: it has more cells .* ',' in it needs quotes",
        ),
        ("Name,ID\nAnn,1.23E+11\nBob,1.23E+11\n", r"line 2: '1.23E\+11' is a number .* cut short"),
    ],
)
def test_a_row_that_is_not_what_was_meant_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(Refusal, match=message):
        read_roster(table(tmp_path, text))


def test_a_roster_of_more_than_8_mb_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path, "name\n")
    os.truncate(path, ROSTER + 1)
    with pytest.raises(Refusal, match="is larger than 8 MB"):
        read_roster(path)


def test_a_table_says_what_stands_between_its_cells(tmp_path: Path) -> None:
    assert read_table(table(tmp_path, "a;name\n1,5;Ann\n;\n"), 99)[1] == ";"
    assert read_table(table(tmp_path, "a,b;c\n , \n,\n1,2\n"), 99) == (
        [["a", "b;c"], ["1", "2"]],
        ",",
    )


@pytest.mark.parametrize(
    "text",
    [
        "\n\nName;ID\nDoe, Jane;7\n",
        ";;\nName;ID\n ; \nDoe, Jane;7\n",
        "sep=;\nName;ID\nDoe, Jane;7\n",
        '"sep=;"\r\nName;ID\r\nDoe, Jane;7\r\n',
        "SEP=|\nName|ID\nDoe, Jane|7\n",
        "sep=\t\nName\tID\nDoe, Jane\t7\n",
        "Name\tID\nDoe, Jane\t7\n",
        "Class of autumn; all\n\nName\tID\nDoe, Jane\t7\n",  # a title
        ' Name , ID \n "Doe, Jane" , "7" \n',
        'Name,ID,Note\n"Doe, Jane",7,"late;\nsee mail, please"\n',
        'Name,ID\n"=""Doe, Jane""",="7"\n',
        '\ufeffName,ID\n"Doe,\u200b Jane\u202c",\u200e7\xa0\n',
        "Name;ID\nDoe, Jane;7.0\nTotal;\nAverage;-\n",
        "Name;OrgDefinedId\nDoe, Jane;#7\n",
        "Name;ID;Email\nDoe, Jane;7;n/a\n",
        "\n" * 20 + "Name;ID;Points\nDoe, Jane;7;1.5E+10\n",
        'Name,ID\n"\nDoe, Jane",7\n',
    ],
)
def test_a_roster_is_read_as_other_programs_write_it(text: str, tmp_path: Path) -> None:
    (one,) = read_roster(table(tmp_path, text))
    assert (one.key, one.name, one.ids) == ("7", "Doe, Jane", ("7",))


@pytest.mark.parametrize("bom", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_excel_s_unicode_text_is_read(bom: bytes, tmp_path: Path) -> None:
    order = "utf-16-le" if bom == codecs.BOM_UTF16_LE else "utf-16-be"
    path = tmp_path / "roster.txt"
    path.write_bytes(bom + "Name\tID\r\nJörg\t7\r\n".encode(order))
    (one,) = read_roster(path)
    assert (one.name, one.ids) == ("Jörg", ("7",))
    path.write_bytes(bom + b"N")
    with pytest.raises(Refusal, match="is broken UTF-16 text"):
        read_roster(path)


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_a_workbook_is_refused_by_its_name(start: bytes, tmp_path: Path) -> None:
    path = tmp_path / "roster.xlsx"
    path.write_bytes(start + b"\0\xff")
    with pytest.raises(Refusal, match='is a workbook: save it as "CSV UTF-8"'):
        read_roster(path)


def test_one_column_of_names_with_commas_is_one_column(tmp_path: Path) -> None:
    found = read_roster(table(tmp_path, "Name\nDoe, Jane\nDoe, Max\n"))
    assert [one.name for one in found] == ["Doe, Jane", "Doe, Max"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Name,First name\nDoe,Jane\n", "Jane Doe"),  # of the family, where there is no other
        ("Name,First name\nJane Doe,Jane\n", "Jane Doe"),
        ("Name,First name,Surname\nJ. Doe,Jane,Doe\n", "J. Doe"),
    ],
)
def test_a_column_called_name_may_be_of_last_names(text: str, name: str, tmp_path: Path) -> None:
    assert [one.name for one in read_roster(table(tmp_path, text))] == [name]


def test_signs_for_nothing_are_no_id_that_people_share(tmp_path: Path) -> None:
    found = read_roster(table(tmp_path, "name,id\nAnn,-\nBob,-\nCyd,N/A\nTotal,3\nMean,\n"))
    assert [(one.key, one.notes) for one in found] == [
        ("Ann", ()),
        ("Bob", ()),
        ("Cyd", ()),
        ("3", ()),  # who is called so, and has an id
    ]
    assert [one.name for one in read_roster(table(tmp_path, "name\nTotal\n"))] == ["Total"]


def test_canvas_s_student_for_tests_and_its_rows_of_settings_are_nobody(tmp_path: Path) -> None:
    digest = "0123456789abcdef0123456789abcdef01234567"
    text = GRADEBOOK + f",,,,,Manual Posting\nAnn,7,s7,{digest},A,\n"
    text += f'"Student, Test",8,,{digest},A,\n"Student, Test",9,s9,test,A,\n'
    assert [one.key for one in read_roster(table(tmp_path, text))] == ["7", "9"]
    text = f'name,id\n"Student, Test",{digest}\n'  # in no other program's
    assert [one.key for one in read_roster(table(tmp_path, text))] == [digest]


def test_moodle_s_worksheet_knows_the_numbers_of_its_files(tmp_path: Path) -> None:
    text = (
        "Identifier,Full name,ID number,Grade\n"
        "Participant 11,Jane Doe,,\nParticipant 12,Jane Doe,s7,\nParticipant 13,Bob,,\n"
    )
    found = read_roster(table(tmp_path, text))
    assert [(one.key, one.ids) for one in found] == [
        ("11", ("moodle:11",)),
        ("s7", ("moodle:12", "s7")),
        ("13", ("moodle:13",)),
    ]
    both = whose(tmp_path, text, moodle("Jane Doe", 12), moodle("Jane Doe", 11))
    assert [files for _, files, _ in both] == [1, 1, 0]
    # A worksheet of another assignment has other numbers: then name and number do not agree.
    *class_, stranger = whose(tmp_path, text, moodle("Bob", 11))
    assert [files for _, files, _ in class_] == [0, 0, 0]
    assert stranger[1] == 1
    blind = "Identifier,Status\nParticipant 11,Submitted\nParticipant 12,No submission\n"
    found = read_roster(table(tmp_path, blind))
    assert [(one.key, one.name) for one in found] == [
        ("11", "Participant 11"),
        ("12", "Participant 12"),
    ]
    assert [n for _, n, _ in whose(tmp_path, blind, moodle("Participant", 11))] == [1, 0]
    (one,) = read_roster(table(tmp_path, "name,id\nAnn,AB 12\n"))  # no worksheet
    assert one.ids == ("AB 12",)
    # GitHub Classroom's identifiers are ids like others.
    (one,) = read_roster(table(tmp_path, "identifier,github_username\nann@uni.edu,ann1\n"))
    assert one.ids == ("ann@uni.edu", "ann1")


def test_a_name_of_moodle_s_behind_that_of_a_group_is_told(tmp_path: Path) -> None:
    bob, stranger = whose(tmp_path, "name\nAnn-Lee Poe\n", moodle("Group A-Ann-Lee Poe", 5))
    assert (bob[1], stranger[1]) == (0, 1)
    assert stranger[2][1].startswith("perhaps 'Ann-Lee Poe' (Ann-Lee Poe), after the name of a ")
    assert len(whose(tmp_path, "name\nBob\n", moodle("Group A-Ann Poe", 5))[1][2]) == 1
    assert len(whose(tmp_path, "name\nLee Poe\n", file("Ann-Lee Poe"))[1][2]) == 1


def test_signs_that_join_letters_stay_in_a_name(tmp_path: Path) -> None:
    persian = "می\u200cدم"
    (one,) = read_roster(table(tmp_path, f"name\n{persian}\u200f\ue000\n"))
    assert one.name == f"{persian}\N{REPLACEMENT CHARACTER}"


def test_a_table_keeps_the_spaces_in_its_cells(tmp_path: Path) -> None:
    text = 'sep=,\nA title\nname, id\n  Ann ," 7"\n'
    assert read_table(table(tmp_path, text), 99)[0] == [["name", " id"], ["  Ann ", " 7"]]


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "out"),
    [
        ("a b", "a b"),
        ("a a a", "a|a (2)|a (3)"),
        ("1|1|1 (2)", "1|1 (3)|1 (2)"),  # a key of one's own is kept
        ("1|1 (2)|1", "1|1 (2)|1 (3)"),
        ("1|1 (2)|1 (2)|1", "1|1 (2)|1 (2) (2)|1 (3)"),
    ],
)
def test_no_two_people_have_one_key(keys: str, out: str) -> None:
    parts: Iterable[str] = keys.split("|") if "|" in keys else keys.split()
    found = [one.key for one in distinct([Person(key, key) for key in parts])]
    assert "|".join(found) == (out if "|" in out else out.replace(" ", "|"))
    assert len(set(found)) == len(found)


def test_a_number_of_two_people_of_the_roster_is_nobodys(tmp_path: Path) -> None:
    found = whose(tmp_path, "name,id\nAnn,1\nBob,1\n", file("1"))
    assert [(key, files) for key, files, _ in found] == [("1", 0), ("1 (2)", 0), ("1 (3)", 1)]
    assert found[1][2] == ("another one is called '1' too",)  # the roster's own note stays
    assert found[2][2][0] == (
        "several people of the roster could be this one: 'Ann' (1), 'Bob' (1 (2))"
    )
    shared = whose(tmp_path, "name,id\nAnn,1\nBob,1\n", gradescope("Bob", "1"))
    assert [files for _, files, _ in shared] == [0, 1]  # the number fits both, the name one


def test_two_of_one_name_get_neither_of_them_what_has_the_name_only(tmp_path: Path) -> None:
    found = whose(tmp_path, "name\nann\nann\n", file("ann"))
    assert [(key, files) for key, files, _ in found] == [("ann", 0), ("ann (2)", 0), ("ann (3)", 1)]
    assert "several people" in found[2][2][0]
    found = whose(tmp_path, "name,id\nJane Doe,1\nDoe Jane,2\n", file("Jane Doe"))
    assert [files for _, files, _ in found] == [0, 0, 1]


# --- Canvas's and Moodle's own numbers ------------------------------------------------------------


def test_in_canvas_s_gradebook_the_number_in_a_file_of_canvas_decides(tmp_path: Path) -> None:
    text = GRADEBOOK + '"Lee, Kim",12,s2,kl,A,\n"Lee, Kimberly",11,s1,kk,A,\n'
    kim, kimberly = whose(tmp_path, text, canvas("leekim", 11))
    assert kim == ("12", 0, ())
    assert kimberly == ("11", 1, ("the name is of 'Lee, Kim' (12): see who this is",))
    clear = whose(tmp_path, text, canvas("leekim", 12), canvas("leekimberly", 11))
    assert clear == [("12", 1, ()), ("11", 1, ())]
    # Somebody of another section, whose name is also one of this section.
    _, _, other = whose(tmp_path, text, canvas("leekim", 77))
    assert other[:2] == ("77", 1)
    assert other[2] == ("not in the roster", "the name is of 'Lee, Kim' (12): see who this is")


def test_a_number_of_canvas_that_two_people_have_is_nobodys(tmp_path: Path) -> None:
    text = GRADEBOOK + "Ann,12,s1,a,A,\nBob,12,s2,b,A,\n"
    found = whose(tmp_path, text, canvas("ann", 12))
    assert [files for _, files, _ in found] == [0, 0, 1]
    why = "several people of the roster could be this one: 'Ann' (12), 'Bob' (12 (2))"
    assert found[2][2][0] == why


def test_a_file_of_canvas_is_not_found_by_a_number_of_the_university(tmp_path: Path) -> None:
    text = GRADEBOOK + "Ann,12,7,a,A,\n"
    assert [files for _, files, _ in whose(tmp_path, text, canvas("bob", 7))] == [0, 1]
    assert [files for _, files, _ in whose(tmp_path, text, gradescope("Xi", "12"))] == [0, 1]
    assert [files for _, files, _ in whose(tmp_path, text, gradescope("Xi", "7"))] == [1]


@pytest.mark.parametrize("download", [canvas, moodle])
def test_in_another_roster_the_number_in_the_name_of_a_file_is_nobodys(
    download: object, tmp_path: Path
) -> None:
    assert callable(download)
    text = "name,id\nJohn Roe,2\nJane Doe,1\n"
    found = [download("Jane Doe", 2), download("John Roe", 7), download("Eve Poe", 1)]
    assert [(key, files) for key, files, _ in whose(tmp_path, text, *found)] == [
        ("2", 1),
        ("1", 1),
        ("1 (2)", 1),
    ]
    everyone = enrolled(read_roster(table(tmp_path, text)), found)
    program = download.__name__
    assert [one.ids for one in everyone] == [
        ("2", f"{program}:7"),
        ("1", f"{program}:2"),
        (f"{program}:1",),
    ]
    assert everyone[0].paths[0][1] == Path("John Roe")
    assert everyone[1].notes == ()


def test_a_download_of_canvas_and_a_roster_of_numbers_say_what_is_missing(tmp_path: Path) -> None:
    _, _, john = whose(tmp_path, "id\n1\n2\n", canvas("roejohn", 2))
    assert john[:2] == ("2 (2)", 1)
    assert john[2][1].startswith("the number 2 is Canvas's own: to go by it, take Canvas's")
    (_, _, eve) = whose(tmp_path, "id\n1\n2\n", canvas("poeeve", 3))
    assert eve[2] == ("not in the roster",)


def test_a_file_that_is_called_after_a_number_of_canvas_is_found(tmp_path: Path) -> None:
    text = GRADEBOOK + "Ann,12,7,a,A,\nBob,7,9,b,A,\n"
    assert [files for _, files, _ in whose(tmp_path, text, file("12"))] == [1, 0]
    assert [files for _, files, _ in whose(tmp_path, text, file("9"))] == [0, 1]
    assert [files for _, files, _ in whose(tmp_path, text, file("7"))] == [0, 0, 1]  # whose 7?


# --- names, addresses, logins ---------------------------------------------------------------------


def test_where_the_name_and_an_id_are_of_two_people_neither_gets_it(tmp_path: Path) -> None:
    text = "name,email,login\nJane Doe,j1@uni.edu,jane\nJanet Doe,j2@uni.edu,Jane Doe\n"
    *class_, stranger = whose(tmp_path, text, gradescope("Jane Doe", "j2@uni.edu"))
    assert [files for _, files, _ in class_] == [0, 0]
    assert stranger[:2] == ("j2@uni.edu (2)", 1)
    assert stranger[2][0] == (
        "not clear who this is, so given to nobody: 'j2@uni.edu' is of 'Janet Doe' (j2@uni.edu), "
        "and the name is of 'Jane Doe' (j1@uni.edu)"
    )
    assert [files for _, files, _ in whose(tmp_path, text, file("Jane Doe"))] == [0, 0, 1]
    two = gradescope("Eve", "jane", "j2@uni.edu")
    assert [files for _, files, _ in whose(tmp_path, text, two)] == [0, 0, 1]


def test_ids_that_are_anothers_too_do_not_go_over_to_the_roster(tmp_path: Path) -> None:
    text = "name,id\nAnn,1\nBob,2\n"
    found = [gradescope("Ann", "1", "a@x.edu"), gradescope("Bob", "2", "a@x.edu")]
    everyone = enrolled(read_roster(table(tmp_path, text)), found)
    assert [one.ids for one in everyone] == [("1",), ("2",)]
    everyone = enrolled(read_roster(table(tmp_path, text)), found[:1])
    assert [one.ids for one in everyone] == [("1", "a@x.edu"), ("2",)]
    stranger = gradescope("Eve", "A@X.edu")
    everyone = enrolled(read_roster(table(tmp_path, text)), [found[0], stranger])
    assert [one.ids for one in everyone] == [("1",), ("2",), ("A@X.edu",)]
    stranger = Person("1", "Eve", ("a@x.edu",))  # of the same key as Ann
    everyone = enrolled(read_roster(table(tmp_path, text)), [found[0], stranger])
    assert everyone[0].ids == ("1",)


def test_capitals_in_an_id_make_no_difference(tmp_path: Path) -> None:
    text = "name,email\nAnn,Ann.Doe@Uni.edu\nBob,bob@uni.edu\nAl,ann.doe@other.edu\n"
    found = whose(tmp_path, text, gradescope("A.", "ANN.DOE@uni.edu"), gradescope("B.", "BOB"))
    assert [files for _, files, _ in found] == [1, 1, 0]


@pytest.mark.parametrize(
    ("known", "given", "same"),
    [
        ("Jané Doe", "doejane", True),
        (unicodedata.normalize("NFC", "Jörg Lüß"), unicodedata.normalize("NFD", "Lüß Jörg"), True),
        ("\uff2a\uff41ne D\uff4fe", "Jane Doe", True),  # letters of full width
        ("O'Neill, Ann-Marie", "annmarieoneill", True),
        ("Doe, Jane Mary", "Jane Mary Doe", True),
        ("राम", "रीम", False),  # the vowels are no accents
        ("ばん", "はん", False),  # nor is what makes another syllable
        ("!", "?", False),
    ],
)
def test_a_name_is_the_same_without_accents_and_in_any_order(
    known: str, given: str, same: bool, tmp_path: Path
) -> None:
    found = whose(tmp_path, f'name\n"{known}"\n', file(given))
    assert [files for _, files, _ in found] == ([1] if same else [0, 1])


def test_a_whole_address_goes_before_what_stands_before_its_at(tmp_path: Path) -> None:
    text = "email\njdoe@a.edu\njdoe@b.edu\nann@a.edu\n"
    assert whose(tmp_path, text, file("jdoe@a.edu"), file("ann")) == [
        ("jdoe@a.edu", 1, ()),
        ("jdoe@b.edu", 0, ()),
        ("ann@a.edu", 1, ()),
    ]
    assert [files for _, files, _ in whose(tmp_path, text, file("jdoe"))] == [0, 0, 0, 1]


def test_a_login_goes_before_the_same_before_the_at_of_another_one(tmp_path: Path) -> None:
    found = whose(tmp_path, "login\njdoe@b.edu\njdoe\n", file("jdoe"))
    assert found == [("jdoe@b.edu", 0, ()), ("jdoe", 1, ())]


def test_a_login_of_another_one_is_told_where_the_name_fits(tmp_path: Path) -> None:
    text = "name,email\nJane Roe,roe@uni.edu\nJohn Doe,jdoe@uni.edu\n"
    jane, john = whose(tmp_path, text, gradescope("Jane Roe", "jdoe@mail.com"))
    assert jane[1:] == (1, ("the login is of 'John Doe' (jdoe@uni.edu): see who this is",))
    assert john[1] == 0


def test_a_login_that_reads_like_a_name_counts_where_nothing_else_fits(tmp_path: Path) -> None:
    assert [n for _, n, _ in whose(tmp_path, "login\ndoejane\n", canvas("doejane", 5))] == [1]
    text = "name,login\nKim Lee,kl\nKimberly Lee,leekim\n"
    kim, kimberly = whose(tmp_path, text, canvas("leekim", 5))
    assert (kim[1], kimberly[1]) == (1, 0)
    assert kim[2] == ("the login is of 'Kimberly Lee' (leekim): see who this is",)


# --- what is kept ---------------------------------------------------------------------------------


def test_what_a_download_says_of_a_student_goes_over_to_the_roster(tmp_path: Path) -> None:
    roster = read_roster(table(tmp_path, "name\nAnn\nBob\n"))
    ann, bob = enrolled(roster, [canvas("ann", 5, late=True), canvas("bob", 6)])
    assert (ann.late, bob.late) == (True, False)
    absent = Person("9", "Bob", ("9",), notes=("has no folder",))
    assert enrolled(roster, [absent])[1].notes == ("has no folder",)


def test_two_files_that_fall_on_one_of_the_roster_are_told(tmp_path: Path) -> None:
    text = "name,login\nJane Doe,jane\n"
    note = "handed in as 'Jane Doe' (Jane Doe), 'jane' (jane): see whether that is one person"
    assert whose(tmp_path, text, file("Jane Doe"), file("jane")) == [("jane", 2, (note,))]
    absent = Person("9", "Jane Doe", notes=("has no folder",))  # no second hand-in
    assert whose(tmp_path, text, file("jane"), absent) == [("jane", 1, ("has no folder",))]


@pytest.mark.parametrize("download", [canvas, moodle])
def test_two_of_one_name_in_a_download_are_not_one_of_the_roster(
    download: object, tmp_path: Path
) -> None:
    assert callable(download)
    why = (
        "several people handed in under the name of one in the roster: "
        "'Jane Doe' (7), 'Jane Doe' (8)"
    )
    found = [download("Jane Doe", 7), download("Jane Doe", 8)]
    assert whose(tmp_path, "name\nJane Doe\n", *found) == [
        ("Jane Doe", 0, ()),
        ("7", 1, (why,)),
        ("8", 1, (why,)),
    ]


def test_a_note_names_a_few_people_only(tmp_path: Path) -> None:
    text = "name,id\n" + "".join(f"ann,{i}\n" for i in range(9))
    note = whose(tmp_path, text, file("ann"))[-1][2][0]
    assert note.endswith("'ann' (3) and 5 more")
