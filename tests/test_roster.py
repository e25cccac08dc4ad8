"""The students of a roster, matched to submissions."""

import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest

from fedlab_grade.classroom.people import GRADEBOOK as GRADEBOOK_FIRST
from fedlab_grade.classroom.people import Person, distinct, enrolled
from fedlab_grade.classroom.roster import read_roster, read_table
from fedlab_grade.options import Refusal

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
        ("\ufeffSurname;First name;ID number\nDoe;Ann;7\n", "Ann Doe", ("7",)),
        ("Name\tE-Mail\nAnn, Doe\ta@uni.edu\n", "Ann, Doe", ("a@uni.edu",)),
        ('name,id,note\n"Doe, Ann",7,"a; b; c"\n', "Doe, Ann", ("7",)),
        ("name,id\r\nAnn,7\r\n\r\n", "Ann", ("7",)),
        ("name,id\nAnn,7.0\n", "Ann", ("7",)),
        ('name,id\nAnn,"=""007"""\n', "Ann", ("007",)),
        ("name,id\nAnn,-\n", "Ann", ()),
        (GRADEBOOK + '"Doe, Ann",7,s7,ann1,A,\n', "Doe, Ann", ("canvas:7", "s7", "ann1")),
        (
            "LastName;FirstName;ID;SIS Login ID;Section;hw (9)\nDoe;Ann;7;ann1;A;\n",
            "Ann Doe",
            ("canvas:7", "ann1"),
        ),
        ("Student,ID,hw (9)\n    Points Possible,,10\nAnn,7,\n", "Ann", ("canvas:7",)),
        ("Student,ID,Section\nAnn,7,A\n", "Ann", ("7",)),  # of the university: Canvas has a login
        (
            "Identifier,Full name,Email address,Grade\nParticipant 12,Ann,a@x.y,\n",
            "Ann",
            ("moodle:12", "a@x.y"),
        ),
    ],
)
def test_a_roster_has_names_and_ids(text, name, ids, tmp_path):
    (one,) = read_roster(table(tmp_path, text))
    assert (one.name, one.ids, one.paths, one.notes) == (name, ids, (), ())
    keys = [i.removeprefix("canvas:") for i in ids if not i.startswith("moodle:")]
    assert one.key == (keys[0] if keys else name)


def test_who_is_in_two_sections_is_one_student(tmp_path):
    text = "name,id,email,section\nAnn,1,,A\nAnn,1,ann@uni.edu,B\nAnn,2,,A\nBob,1,,A\n"
    found = read_roster(table(tmp_path, text))
    assert [(one.name, one.ids) for one in found] == [
        ("Ann", ("1", "ann@uni.edu")),
        ("Ann", ("2",)),
        ("Bob", ("1",)),
    ]
    assert len({one.key for one in found}) == 3


@pytest.mark.parametrize(
    "rows",
    [
        "Ann,a@uni.edu\nAnn,A@Uni.edu\n",
        "ANN,a@uni.edu\nAnn,a@uni.edu\n",
        '"Doe, Ann",a@uni.edu\nAnn Doe,a@uni.edu\n',
        "Jos\u00e9,a@uni.edu\nJose\u0301,a@uni.edu\n",
        "Ann,a@uni.edu\nname,email\nAnn,a@uni.edu\n",
    ],
)
def test_one_student_may_be_written_in_two_ways(rows, tmp_path):
    mail = Person("A@UNI.EDU", "A@UNI.EDU", (), (("hw.py", Path("a")),))
    (one,) = enrolled(read_roster(table(tmp_path, f"name,email\n{rows}")), [mail])
    assert (len(one.paths), one.notes) == (1, ())


def test_of_two_sections_the_fewest_days_late_and_the_longest_extension_count(tmp_path):
    text = "name,id,late,extension\nAnn,1,,\nAnn,1,3,2\nBob,2,2,4\nBob,2,1,\nCyd,3,,\n"
    found = read_roster(table(tmp_path, text))
    assert [(one.days, one.extension) for one in found] == [(3, 2), (1, 4), (None, 0)]


@pytest.mark.parametrize("between", [";", ",", "\t"])
def test_a_first_line_of_excel_s_says_what_is_between_cells(between, tmp_path):
    text = f"sep={between}\n" + f"name{between}id\nAnn{between}1\n"
    (one,) = read_roster(table(tmp_path, text))
    assert (one.name, one.ids) == ("Ann", ("1",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("sep=;\n", "is empty"),
        ("\n , \n", "is empty"),
        (
            "Nachname;Vorname\nDoe;Ann\n",
            "no column that is known: line 1 has 'Nachname'",
        ),
        ("Nom,Note\nAnn,1\n", r"Known are name \(or first name and last name\), id, login, email"),
        (
            "name,id\nDoe, Ann,7\n",
            r"has more cells in line 2 than in its header \(2\): a cell with .,. in it needs",
        ),
        ("name,id\nAnn,1.2E+11\n", "line 2: '1.2E\\+11' is a number that a spreadsheet has cut"),
        ('name,id\n"Ann,7\nBob,8\n', "cannot be read from line 2 on .*not closed"),
        ('name,id\n"Ann,7\nBob"",8\n"Cyd",9\n', "not closed"),
        ('name,id\n"Ann\nBob",8\n', "line 3: a cell goes over several lines"),
        ("name,late\nAnn,two\n", "line 2: 'two' is no number of days"),
        (f"name,late\nAnn,{10**400}\n", "line 2: '1000.*' is no number of days"),
        ("name,id\n", "lists no student"),
        ("name\0\nAnn\n", "NUL"),
    ],
)
def test_a_roster_that_cannot_be_read_is_refused(text, message, tmp_path):
    with pytest.raises(Refusal, match=message):
        read_roster(table(tmp_path, text))


def test_a_roster_in_another_coding_or_of_another_program_is_told_what_to_do(tmp_path):
    path = tmp_path / "roster.csv"
    for data, told in (
        ("name\nJörg\n".encode("latin-1"), r"is not UTF-8 text \(line 2\): save it as UTF-8"),
        ("name\nAnn\n".encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        (b"PK\x03\x04", 'is a workbook: save it as "CSV UTF-8"'),
        (b"\xd0\xcf\x11\xe0", 'is a workbook: save it as "CSV UTF-8"'),
    ):
        path.write_bytes(data)
        with pytest.raises(Refusal, match=told):
            read_roster(path)


def test_a_table_keeps_the_cells_as_they_are(tmp_path):
    rows, between = read_table(table(tmp_path, "a;b\n  x ;\n\n;y\n"))
    assert (rows, between) == ([(1, ["a", "b"]), (2, ["  x ", ""]), (4, ["", "y"])], ";")


def test_canvas_s_rows_of_settings_are_no_students(tmp_path):
    text = GRADEBOOK + ",,,,,Manual Posting\n"
    text += '"Doe, Ann",7,s7,ann1,A,\n'
    assert [one.name for one in read_roster(table(tmp_path, text))] == ["Doe, Ann"]


def test_who_teaches_is_no_student_of_gradescope_s_roster(tmp_path):
    text = "First Name,Last Name,SID,Email,Role\nAnn,Lee,1,a@x.y,Student\nBob,Roe,2,b@x.y,TA\n"
    assert [one.name for one in read_roster(table(tmp_path, text))] == ["Ann Lee"]


def test_of_two_columns_with_one_title_both_ids_and_the_first_name_count(tmp_path):
    text = "Name,Email,E-mail,Name\nAnn,a@x.y,ann@x.y,Tutor\nBob,,b@x.y,Tutor\n"
    found = read_roster(table(tmp_path, text))
    assert [(one.name, one.ids) for one in found] == [
        ("Ann", ("a@x.y", "ann@x.y")),
        ("Bob", ("b@x.y",)),
    ]


def test_days_late_and_extensions_are_in_the_roster(tmp_path):
    text = "name;late;extension\nAnn;1,5;2\nBob;;\nCyd;0;\n"
    found = read_roster(table(tmp_path, text))
    assert [(one.days, one.extension) for one in found] == [(1.5, 2), (None, 0), (0, 0)]


def test_signs_that_join_letters_stay_in_a_name(tmp_path):
    name = "\u0645\u06cc\u200c\u062e"
    (one,) = read_roster(table(tmp_path, f"name\n{name}\u200b\n"))
    assert one.name == name


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
def test_no_two_people_have_one_key(keys, out):
    parts: Iterable[str] = keys.split("|") if "|" in keys else keys.split()
    found = [one.key for one in distinct([Person(key, key) for key in parts])]
    assert "|".join(found) == (out if "|" in out else out.replace(" ", "|"))
    assert len(set(found)) == len(found)


# --- whose is what --------------------------------------------------------------------------------


def test_a_file_is_found_by_name_or_any_id(tmp_path):
    text = "name,id,email\nAda Lovelace,7,ada@uni.edu\nBob,8,bob@uni.edu\n"
    for label in ("ada lovelace", "Lovelace, Ada", "AdaLovelace", "7", "ADA@uni.edu"):
        assert whose(tmp_path, text, file(label)) == [("7", 1, ()), ("8", 0, ())]


@pytest.mark.parametrize("name", ["Müller, Jörg", "jorg muller", "JÖRG_MÜLLER"])
@pytest.mark.parametrize("row", ["Jörg Müller", '"Müller, Jörg"'])
def test_a_name_is_the_same_without_accents_and_with_a_comma_for_the_other_order(
    name, row, tmp_path
):
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, f"name\n{row}\n")
        assert whose(tmp_path, text, file(name))[0][1] == 1


def test_a_name_in_another_order_is_not_guessed(tmp_path):
    assert whose(tmp_path, "name\nJane Doe\n", file("Doe Jane"))[0] == ("Jane Doe", 0, ())


def test_where_nobody_s_file_is_left_who_handed_in_nothing_is_clear(tmp_path):
    text = "name\nann\nbob\n"
    assert whose(tmp_path, text, file("ann")) == [("ann", 1, ()), ("bob", 0, ())]


def test_a_file_that_belongs_to_nobody_is_told_from_those_of_the_roster(tmp_path):
    roster = read_roster(table(tmp_path, "name\nann\nbob\n"))
    everyone = enrolled(roster, [file("ann"), file("bobb")])
    assert [(one.key, one.matched) for one in everyone] == [
        ("ann", True),
        ("bob", True),
        ("bobb", False),
    ]
    assert [one.notes for one in everyone] == [(), (), ("not in the roster",)]


@pytest.mark.parametrize(
    ("text", "found", "note"),
    [
        ("name,id\nAnn,1\nBob,1\n", file("1"), "several students of the roster could be this one"),
        ("name\nann\nann\n", file("ann"), "several students of the roster could be this one"),
        (
            'name,id\nJane Doe,1\n"Doe, Jane",2\n',
            file("Jane Doe"),
            "several students of the roster could be this one: 'Jane Doe' (1), 'Doe, Jane' (2)",
        ),
        (
            "name,id\nAnn,1\nBob,2\n",
            gradescope("Ann", "2"),
            "given to no student, because different clues fit 'Ann' (1), 'Bob' (2)",
        ),
        ("name,id\nAnn,1\n", file("zoe"), "not in the roster"),
        ("id\n12\n", canvas("doejane", 12), f"not in the roster; {GRADEBOOK_FIRST}"),
    ],
)
def test_what_is_not_clear_is_given_to_nobody_and_noted(text, found, note, tmp_path):
    *students, (_, files, notes) = whose(tmp_path, text, found)
    assert {n for _, n, _ in students} == {0}
    assert files == 1
    assert notes[0].startswith(note)


def test_in_canvas_s_gradebook_the_number_in_a_file_of_canvas_decides(tmp_path):
    text = GRADEBOOK + '"Lee, Kim",12,s2,kl,A,\n"Lee, Kimberly",11,s1,kk,A,\n'
    assert whose(tmp_path, text, canvas("leekim", 11)) == [("12", 0, ()), ("11", 1, ())]
    clear = whose(tmp_path, text, canvas("leekim", 12), canvas("leekimberly", 11))
    assert clear == [("12", 1, ()), ("11", 1, ())]
    # Somebody of another section, whose name is also one of this section.
    _, _, other = whose(tmp_path, text, canvas("leekim", 77))
    assert other == ("77", 1, ("not in the roster",))


@pytest.mark.parametrize("download", [canvas, moodle])
def test_in_another_roster_a_program_s_own_number_is_nobody_s_and_the_name_decides(
    download, tmp_path
):
    text = "name,id\nJane Doe,7\nJohn Roe,5\n"
    assert whose(tmp_path, text, download("John Roe", 7)) == [("7", 0, ()), ("5", 1, ())]


def test_in_moodle_s_worksheet_number_and_name_have_to_agree(tmp_path):
    text = "Identifier,Full name,Grade\nParticipant 12,Ann,\nParticipant 13,Bob,\n"
    assert [n for _, n, _ in whose(tmp_path, text, moodle("Ann", 12))] == [1, 0]
    assert [n for _, n, _ in whose(tmp_path, text, moodle("Ann", 13))] == [0, 0, 1]


@pytest.mark.parametrize("download", [canvas, moodle])
def test_two_accounts_of_one_name_in_a_download_are_not_one_of_the_roster(download, tmp_path):
    one, *others = whose(
        tmp_path, 'name,id\n"Lee, Kim",3\n', download("leekim", 1), download("leekim", 2)
    )
    assert one == ("3", 0, ())
    assert [files for _, files, _ in others] == [1, 1]
    assert all("several people handed in under the name" in notes[0] for _, _, notes in others)


def test_ids_with_colons_are_no_accounts_of_a_program(tmp_path):
    text = "name,id,email\nAnn,uni:7,x:a@uni.edu\n"
    assert whose(tmp_path, text, gradescope("Ann", "uni:7", "x:a@uni.edu")) == [("uni:7", 1, ())]


def test_two_files_that_fall_on_one_of_the_roster_are_told(tmp_path):
    found = whose(tmp_path, "name,id\nAnn,7\n", file("ann"), file("7"))
    assert found == [
        ("7", 2, ("handed in as 'ann' (ann), '7' (7): see whether that is one person",))
    ]


def test_an_id_of_another_student_s_gives_a_submission_to_nobody(tmp_path):
    roster = read_roster(table(tmp_path, "name,id\nAnn Lee,7\nBob,8\n"))
    ann, bob, stranger = enrolled(roster, [gradescope("Ann Lee", "7", "8")])
    assert (ann.paths, bob.paths, stranger.ids) == ((), (), ("7", "8"))


def test_a_note_names_a_few_students_only(tmp_path):
    text = "name,id\n" + "".join(f"S{i},1\n" for i in range(9))
    *_, (_, _, (note, *_)) = whose(tmp_path, text, file("1"))
    assert note.endswith("'S3' (1 (4)) and 5 more")
