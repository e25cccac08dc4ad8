"""The command ``fedlab-edu``, as a student types it."""

import csv
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedlab_edu import __version__, cli
from fedlab_grade import assignment, run
from fedlab_grade import cli as grader
from fedlab_grade.assignment import Assignment, find
from fedlab_grade.classroom import commands
from fedlab_grade.classroom.store import Store
from fedlab_grade.home import progress
from fedlab_grade.options import Limits, Refusal
from fedlab_grade.run import Report, Result
from fedlab_grade.sandbox.view import NoSandbox
from tests import classroom

pytestmark = [pytest.mark.processes, pytest.mark.grader]

ROOT = Path(__file__).parents[1]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course folder with one exercise, two folders above the current one."""
    for name in ("exercises/ex07_topic.py", "tests/exercises/test_ex07.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notes" / "deep")
    return tmp_path


@pytest.fixture
def graded(monkeypatch):
    """The (tests, file, question) of each grading, in which all answers are right."""
    calls = []

    def grade(tests: Path, files: list[Path], question: str, start: object) -> list[Report]:
        calls.append((tests.resolve(), files[0].resolve(), question))
        result = Result("test", question or "ex07.1", "f", 1, "by hand", status="passed")
        return [Report(files[0], (result,))]

    monkeypatch.setattr(run, "grade", grade)
    monkeypatch.setattr(progress, "keep", lambda *report: None)
    return calls


def test_the_file_of_the_course_folder_is_graded_from_anywhere_below_it(course, graded, capsys):
    assert cli.main(["check", "ex07"]) == 0
    assert cli.main(["check", "ex07.2"]) == 0
    tests, file = course / "tests/exercises/test_ex07.py", course / "exercises/ex07_topic.py"
    assert graded == [(tests, file, ""), (tests, file, "ex07.2")]
    assert "../../exercises/ex07_topic.py" in capsys.readouterr().out


def test_a_file_of_the_students_own_is_graded_wherever_it_lies(course, graded, capsys):
    Path("mine.py").touch()
    assert cli.main(["check", "ex07.1", "mine.py"]) == 0
    assert graded[0][1] == course / "notes/deep/mine.py"
    assert "fedlab-edu check ex07 mine.py" in capsys.readouterr().out


def test_the_file_in_a_folder_of_the_course_comes_before_the_one_in_exercises(course, graded):
    Path("ex07_mine.py").touch()
    assert cli.main(["check", "ex07"]) == 0
    assert graded[0][1] == course / "notes/deep/ex07_mine.py"


def test_a_copy_that_is_called_as_in_the_readme_comes_before_the_exercise_itself(course, graded):
    Path("ex07_topic.py").touch()
    Path("my_ex07.py").touch()
    assert cli.main(["check", "ex07"]) == 0
    assert graded[0][1] == course / "notes/deep/my_ex07.py"
    for name in ("ex07_topic.py", "my_ex07.py"):
        Path(name).rename(course / "exercises" / name)
    assert cli.main(["check", "ex07"]) == 0
    assert graded[1][1] == course / "exercises/my_ex07.py"


def test_outside_the_course_folder_it_is_the_file_that_lies_there(
    tmp_path, monkeypatch, graded, capsys
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["check", "ex01"]) == 2  # and not the blank of the editable package
    told = capsys.readouterr().err
    assert f"name your file: {tmp_path} should hold one my_ex01.py or ex01_*.py" in told
    Path("ex01_mine.py").touch()
    assert cli.main(["check", "ex01"]) == 0
    expected = (ROOT / "tests/exercises/test_ex01.py", tmp_path / "ex01_mine.py", "")
    assert graded == [expected]


def test_a_file_alone_is_of_the_exercise_that_its_name_holds(course, graded, capsys):
    for name in ("ex07_by_me.ipynb", "x.ipynb", "my_ex07.py", "regex07.py"):
        Path(name).touch()
    assert cli.main(["check", "ex07_by_me.ipynb"]) == 2  # it is no notebook
    assert "ex07_by_me.ipynb" in capsys.readouterr().err
    assert cli.main(["check", "my_ex07.py"]) == 0
    tests = course / "tests/exercises/test_ex07.py"
    assert graded == [(tests, course / "notes/deep/my_ex07.py", "")]
    assert cli.main(["check", "regex07.py"]) == 2
    assert cli.main(["check", "x.ipynb"]) == 2
    assert "name the exercise first: fedlab-edu check ex01 x.ipynb" in capsys.readouterr().err
    assert cli.main(["check", "ans/none.ipynb"]) == 2
    assert "there is no exercise 'ans/none.ipynb'; there are: ex07." in capsys.readouterr().err


def test_a_file_in_a_folder_that_was_handed_out_is_checked_by_the_tests_beside_it(course, graded):
    for folder in ("ex07", "clip"):
        Path(folder).mkdir()
        tests, file = Path(folder) / "test_it.py", Path(folder) / "ex07_it.py"
        tests.touch()
        file.touch()
        assert cli.main(["check", str(file)]) == 0
        assert graded.pop() == (Path.cwd() / tests, Path.cwd() / file, "")


def test_a_folder_that_was_handed_out_has_no_hints_to_point_to(course, graded, monkeypatch, capsys):
    wrong = Result("test", "ex07.1", "f", 1, "by hand", status="failed", message="Got 4.")
    monkeypatch.setattr(run, "grade", lambda tests, files, *_, **how: [Report(files[0], (wrong,))])
    Path("mine").mkdir()
    for name in ("mine/test_it.py", "mine/it_by_me.py"):
        Path(name).touch()
    for target, hinted in (("ex07", True), ("mine", False)):
        assert cli.main(["check", target]) == 1
        assert ("fedlab-edu hint ex07.1" in capsys.readouterr().out) == hinted


def test_tests_that_a_student_keeps_in_exercises_do_not_make_it_a_folder_that_was_handed_out(
    course, graded
):
    for name in ("test_mine.py", "ex07_it.py"):
        (course / "exercises" / name).touch()
    file = course / "exercises" / "ex07_it.py"
    assert cli.main(["check", str(file)]) == 0
    assert graded.pop() == (course / "tests/exercises/test_ex07.py", file, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ex08"], "there is no exercise 'ex08'; there are: ex07."),
        (["../ex07"], "there is no exercise '../ex07'; there are: ex07."),
        (["/none/my.py"], "there is no exercise '/none/my.py'; there are: ex07."),
        (["my**"], "there is no exercise 'my**'; there are: ex07."),
        (["ex07", "nowhere.py"], "there is no file 'nowhere.py'."),
        (["ex07", "."], "there is no file '.'."),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(arguments, message, course, capsys):
    assert cli.main(["check", *arguments]) == 2
    assert capsys.readouterr() == ("", f"fedlab-edu: {message}\n")


def test_two_files_of_one_exercise_ask_for_a_choice(course, capsys):
    (course / "exercises/ex07_old.py").touch()
    assert cli.main(["check", "ex07"]) == 2
    assert "holds ex07_old.py, ex07_topic.py" in capsys.readouterr().err


def test_without_a_course_folder_it_says_where_to_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "site-packages/fedlab_grade/assignment.py"
    monkeypatch.setattr(assignment, "__file__", str(installed))
    assert cli.main(["check", "ex01"]) == 2
    error = capsys.readouterr().err
    assert "in the project's folder" in error
    assert "the installed package does not contain" in error


def test_alone_the_command_lists_its_commands(capsys):
    assert cli.main([]) == 0
    listed = re.findall(r"^    ([a-z]+)", capsys.readouterr().out, re.MULTILINE)
    assert listed == [
        "check", "watch", "hint", "progress", "try", "release", "grade", "report", "doctor",
        "reproduce", "verdicts", "records", "costs", "flower",
    ]  # fmt: skip


def test_without_pytest_it_says_how_to_get_it(course, monkeypatch, capsys):
    monkeypatch.setattr(grader, "find_spec", lambda name: None)
    assert cli.main(["check", "ex07"]) == 2
    assert "pip install 'fedlab_edu[check]'" in capsys.readouterr().err


@pytest.mark.parametrize(("terminal", "no_colour"), [(True, ""), (True, "1"), (False, "")])
def test_colour_is_for_terminals_that_want_it(
    terminal, no_colour, course, graded, monkeypatch, capsys
):
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    cli.main(["check", "ex07"])
    assert ("\033[" in capsys.readouterr().out) == (terminal and not no_colour)


def test_the_ticks_have_a_stand_in_where_the_console_lacks_them():
    assert "✓ naïve ✗ λ".encode("cp1252", errors="console").decode("cp1252") == "+ naïve x ?"


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"fedlab-edu {__version__}\n"


def test_the_command_itself_does_not_load_torch():
    """The package's own names, which need PyTorch, are left out of this."""
    code = (
        "import sys, types; p = types.ModuleType('fedlab_edu'); p.__version__ = '0'; "
        f"p.__path__ = [{str(ROOT / 'fedlab_edu')!r}]; sys.modules['fedlab_edu'] = p; "
        "import fedlab_edu.cli, fedlab_grade.report; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_whole_way_from_the_command_to_the_marks(tmp_path):
    for name in ("exercises", "tests/exercises"):  # a copy, for `progress` keeps these marks
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("mutants"))
    command = [sys.executable, "-m", "fedlab_edu", "check", "ex01"]
    untouched = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (untouched.returncode, untouched.stderr) == (1, "")
    assert "weighted_average is not written yet." in untouched.stdout
    assert untouched.stdout.endswith("For a hint:\n  fedlab-edu hint ex01.1\n\n")


# --- for instructors ------------------------------------------------------------------------------


@pytest.fixture
def classroom_grader(monkeypatch):
    """(trust, length of the secret) of each batch, which a stand-in grades."""
    calls = []

    def isolated(
        chosen: Assignment, secret: str, trust: bool, *how: object
    ) -> tuple[classroom.StandIn, str]:
        assert chosen.reference == classroom.SOLUTION
        calls.append((trust, len(secret)))
        return classroom.StandIn(), "stand-in"

    monkeypatch.setattr(commands, "isolated", isolated)
    return calls


def test_an_instructors_own_folder_from_release_to_report(
    tmp_path, monkeypatch, capsys, classroom_grader
):
    monkeypatch.chdir(tmp_path)
    classroom.assignment_folder(tmp_path / "hw")
    Path("in").mkdir()
    Path("in/ann.py").write_text(classroom.RIGHT)
    Path("in/bob.py").write_text(classroom.WRONG)
    Path("class.csv").write_text("name\nann\nbob\ncyd\n")
    assert cli.main(["release", "hw", "--out", "out/hw.zip"]) == 0
    assert Path("out/hw.zip").is_file()
    command = ["grade", "in", "--assignment", "hw", "--roster", "class.csv"]
    assert cli.main(command) == 0
    assert cli.main([*command, "--again", "--i-trust-these-submissions"]) == 0
    assert classroom_grader == [(False, 32), (True, 32)]
    capsys.readouterr()
    assert cli.main(["report", "grades-hw", "--export", "gradescope"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:4]]
    assert rows == [
        ["ann", "3", "2.5", "5.5", "5.5", "graded"],
        ["bob", "1", "2.5", "3.5", "5.5", "graded"],
        ["cyd", "0", "0", "0", "5.5", "not", "handed", "in"],
    ]


@pytest.mark.parametrize("mark", ["", "\ufeff"])  # which some editors write
def test_limits_and_jobs_reach_the_grader(mark, tmp_path, monkeypatch, capsys):
    folder = classroom.assignment_folder(tmp_path / "hw")
    options = f"{mark}[limits]\ncall = 3\ntotal = 60.5\n"
    (folder / "assignment.toml").write_text(options, encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ann.py").write_text(classroom.RIGHT)
    told = []
    monkeypatch.setattr(
        commands,
        "isolated",
        lambda *job: told.append((job[0].limits, job[-1])) or (classroom.StandIn(), ""),
    )
    command = ["grade", str(tmp_path / "in"), "--assignment", str(folder)]
    command += ["--out", str(tmp_path / "out")]
    assert cli.main(command) == 0
    assert cli.main([*command, "--jobs", "7"]) == 0
    limits = Limits(call=3, total=60.5)
    assert told == [(limits, 2), (limits, 7)]
    for number in ("0", "x", "-1", "1000"):
        with pytest.raises(SystemExit):
            cli.main([*command, "--jobs", number])
        assert "allowed: a number from 1 to 64" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[limits]\nseconds = 3\n",
            "limits.seconds is unknown; allowed: call, calls, total,",
        ),
        ("[limits]\ncall = 0\n", "limits.call is 0; allowed: a positive number up to 1000000000."),
        ("[limits]\ncall = inf\n", "limits.call is inf; allowed: a positive number"),
        ("[limits]\ntotal = 1e300\n", "limits.total is 1e+300; allowed: a positive number"),
        ("[limits]\ncall = '3'\n", "limits.call is '3'; allowed: a positive number"),
        ("[limits]\nmemory = 1.5\n", "limits.memory is 1.5; allowed: a positive whole number"),
        ("[limit]\ncall = 3\n", "[limit] is unknown; allowed: limits, late."),
        ("[limits\n", "assignment.toml cannot be read: "),
    ],
)
def test_a_limit_that_is_none_is_refused(text, said, tmp_path):
    folder = classroom.assignment_folder(tmp_path / "hw")
    (folder / "assignment.toml").write_text(text)
    with pytest.raises(Refusal) as refusal:
        _ = find(str(folder)).limits
    assert said in str(refusal.value)


def test_other_limits_are_a_reason_to_grade_again(tmp_path):
    folder = classroom.assignment_folder(tmp_path / "hw")
    digests = {find(str(folder)).digest}
    for text in ("[limits]\ncall = 10\n", "[limits]\ncall = 11\n"):
        (folder / "assignment.toml").write_text(text)
        digests.add(find(str(folder)).digest)
    assert len(digests) == 2  # 10 seconds are the default


def test_a_fault_of_ours_is_in_the_exit_status(tmp_path, capsys, classroom_grader):
    folder = classroom.assignment_folder(tmp_path / "hw")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ann.py").write_text(f"ours = True\n{classroom.RIGHT}")
    out = str(tmp_path / "out")
    command = ["grade", str(tmp_path / "in"), "--assignment", str(folder), "--out", out]
    assert cli.main(command) == 1
    assert "ungraded: ann: a test failed by itself: 1 / 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["grade", "nowhere", "--assignment", "ex01"], "nowhere does not exist."),
        (["grade", ".", "--assignment", "ex99"], "there is no assignment 'ex99'; there are: ex01"),
        (["grade", ".", "--assignment", "./none"], "there is no folder none."),
        (["release", "ex99", "--out", "x"], "there is no assignment 'ex99'"),
        (["release", ".", "--out", "x"], "should hold one test_*.py, and holds none."),
        (["report", "nowhere"], "nowhere holds no grades: run fedlab-edu grade first."),
    ],
)
def test_what_an_instructor_cannot_do_is_said_in_one_sentence(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_where_nothing_keeps_submissions_apart_grading_is_refused(tmp_path, monkeypatch, capsys):
    def choose(trust: bool) -> str:
        raise NoSandbox("this machine gives no isolation.")

    monkeypatch.setattr("fedlab_grade.sandbox.doctor.choose", choose)
    folder = classroom.assignment_folder(tmp_path / "hw")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ann.py").write_text(classroom.RIGHT)
    out = str(tmp_path / "out")
    command = ["grade", str(tmp_path / "in"), "--assignment", str(folder), "--out", out]
    assert cli.main(command) == 2
    assert capsys.readouterr().err == "fedlab-edu: this machine gives no isolation.\n"


def test_a_student_checks_what_was_handed_out_as_a_module_and_as_a_notebook(
    tmp_path, monkeypatch, capsys
):
    folder = classroom.assignment_folder(tmp_path / "hw")
    assert cli.main(["release", str(folder), "--out", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    files = {path.name for path in Path().iterdir()}
    assert files == {"hw.py", "hw.ipynb", "test_hw.py", "README.md"}
    assert cli.main(["check", "."]) == 1
    assert "double is not written yet" in capsys.readouterr().out
    notebook = json.loads(Path("hw.ipynb").read_text())
    for cell in notebook["cells"]:
        if "def double" in "".join(cell["source"]):
            cell["source"] = "%time\ndef double(x):\n    return x + x\n"
    Path("hw.ipynb").write_text(json.dumps(notebook))
    assert cli.main(["check", ".", "hw.ipynb"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^hw.ipynb$", out, re.MULTILINE)
    assert re.search(r"q1  double +1 of 1\n", out)
    assert re.search(r"q2  area +0 of 2.5\n", out)
    assert out.endswith("save the file, and run\n  fedlab-edu check . hw.ipynb\n\n")


@pytest.mark.parametrize("out", ["in", "in/grades", "in/../in", "elsewhere"])
def test_grades_do_not_go_among_the_submissions(
    out, tmp_path, monkeypatch, capsys, classroom_grader
):
    monkeypatch.chdir(tmp_path)
    classroom.assignment_folder(tmp_path / "hw")
    Path("in").mkdir()
    Path("elsewhere").symlink_to("in")
    Path("in/ann.py").write_text(classroom.RIGHT)
    assert cli.main(["grade", "in", "--assignment", "hw", "--out", out]) == 2
    assert "within the submissions: name another folder" in capsys.readouterr().err
    assert [p.name for p in Path("in").iterdir()] == ["ann.py"]


@pytest.mark.parametrize("command", [["grade", "in", "--assignment"], ["release"]])
def test_an_empty_out_is_refused(command, capsys):
    with pytest.raises(SystemExit):
        cli.main([*command, "ex01", "--out", ""])
    assert "argument --out: it is empty" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error():
    command = [sys.executable, "-m", "fedlab_edu", "progress"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 1


def test_tests_without_the_marker_are_named_by_release_and_check(tmp_path, capsys):
    folder = classroom.assignment_folder(tmp_path / "hw")
    tests = folder / "test_hw.py"
    tests.write_text("def test_double(student):\n    assert student.call('double', 2).value == 4\n")
    solution = next(p for p in folder.glob("*.py") if p != tests)
    for command in (
        ["check", str(folder), str(solution)],
        ["release", str(folder), "--out", str(tmp_path / "out")],
    ):
        assert cli.main(command) == 2
        assert "test_hw.py holds no test with the marker q" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """It grades instead of this machine; the current folder has an assignment, hw, and its in/."""
    grader = classroom.StandIn()
    monkeypatch.setattr(commands, "isolated", lambda *job: (grader, "stand-in"))
    monkeypatch.chdir(tmp_path)
    classroom.assignment_folder(tmp_path / "hw")
    Path("in").mkdir()
    return grader


GRADE = ["grade", "in", "--assignment", "hw"]


@pytest.mark.parametrize("end", ["Ctrl-C", "the grader breaks", "the disk is full"])
def test_each_change_is_printed_as_it_happens_however_grading_ends(
    end, stand_in, monkeypatch, capsys
):
    for name in ("ann", "bob", "cyd", "dan", "eve"):
        Path(f"in/{name}.py").write_text(classroom.WRONG)
    assert cli.main(GRADE) == 0
    assert "Changed" not in capsys.readouterr().out
    for name in ("ann", "bob"):
        Path(f"in/{name}.py").write_text(classroom.RIGHT)
    for name in ("cyd", "dan", "eve"):
        Path(f"in/{name}.py").write_text(f"{classroom.RIGHT}# {name}")
    if end == "Ctrl-C":
        stand_in.stops, stand_in.seen = 2, []
    elif end == "the grader breaks":
        stand_in.broken = {f"{classroom.RIGHT}# {name}" for name in ("cyd", "dan", "eve")}
    else:
        write = Store.write

        def full(store: Store, record: object) -> None:
            if record.student == "cyd":
                raise OSError(28, "the disk is full", "x")
            write(store, record)

        monkeypatch.setattr(Store, "write", full)
    assert cli.main(GRADE) == (130 if end == "Ctrl-C" else 2)
    told = "3.5 -> 5.5 of 5.5; q1 negative numbers: failed -> passed"
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["Changed since the last time:", f"  ann: {told}", f"  bob: {told}"]
    assert len([line for line in lines if line.startswith("Changed")]) == 1


def test_a_change_is_out_before_the_next_submission_is_graded(stand_in, monkeypatch):
    """Also where the output is a file, whose buffer a kill would lose."""
    for name in ("ann", "bob"):
        Path(f"in/{name}.py").write_text(classroom.WRONG)
    commands.grade(Path("in"), "hw")
    for name in ("ann", "bob"):
        Path(f"in/{name}.py").write_text(classroom.RIGHT)
    stand_in.stops, stand_in.seen = 1, []
    with Path("log").open("w") as log:
        monkeypatch.setattr(sys, "stdout", log)
        assert commands.grade(Path("in"), "hw") == 130
        assert "ann: 3.5 -> 5.5" in Path("log").read_text()


def test_the_same_command_resumes_after_ctrl_c_but_not_with_again_and_says_so(stand_in, capsys):
    for name in ("ann", "bob", "cyd"):
        Path(f"in/{name}.py").write_text(classroom.RIGHT)
    stand_in.stops = 2  # after the solution and ann
    assert cli.main(GRADE) == 130
    assert "1 are graded, and stay so; the same command resumes" in capsys.readouterr().err
    stand_in.stops, stand_in.seen = None, []
    assert cli.main(GRADE) == 0
    assert len(stand_in.seen) == 2
    stand_in.stops, stand_in.seen = 2, []
    assert cli.main([*GRADE, "--again"]) == 130
    error = capsys.readouterr().err
    assert "goes on" not in error
    assert "3 are graded, and stay so" in error
    assert "the same command begins with the first one once more" in error
    stand_in.stops, stand_in.seen = None, []
    assert cli.main([*GRADE, "--again"]) == 0
    assert len(stand_in.seen) == 3


def test_whoever_is_no_longer_among_the_submissions_is_named(stand_in, capsys):
    for i in range(13):
        Path(f"in/s{i:02}.py").write_text(classroom.RIGHT)
    cli.main(GRADE)
    assert "graded earlier" not in capsys.readouterr().out
    for i in range(1, 13):
        Path(f"in/s{i:02}.py").unlink()
    for command in (GRADE, ["report", "grades-hw"]):
        assert cli.main(command) == 0
        out = capsys.readouterr().out
        named = re.findall(r"graded earlier, not among these submissions: (\w+): (\S+)", out)
        assert [name for name, _ in named] == [f"s{i:02}" for i in range(1, 11)]
        assert all(Path(path).is_file() for _, path in named)
        assert "\n  and 2 more\n" in out


def test_submissions_grades_and_roster_beside_the_tests_are_no_reason_to_grade_again(stand_in):
    Path("in").rename("hw/in")
    with Path("hw/test_hw.py").open("a") as file:
        file.write('# without\nX = "in", "out", "class.csv"\n')
    Path("hw/in/ann.py").write_text(classroom.RIGHT)
    Path("hw/class.csv").write_text("name\nann\n")
    command = [
        "grade",
        "hw/in",
        "--assignment",
        "hw",
        "--out",
        "hw/out",
        "--roster",
        "hw/class.csv",
    ]
    assert cli.main(command) == 0
    assert stand_in.seen == [classroom.SOLUTION, classroom.RIGHT]
    Path("hw/in/bob.py").write_text(classroom.WRONG)
    Path("hw/class.csv").write_text("name\nann\nbob\n")
    stand_in.seen = []
    assert cli.main(command) == 0
    assert stand_in.seen == [classroom.WRONG]


def test_a_reader_of_a_grading_that_has_seen_enough_is_no_fault_of_the_disk(stand_in, monkeypatch):
    Path("in/ann.py").write_text(classroom.WRONG)
    cli.main(GRADE)
    Path("in/ann.py").write_text(classroom.RIGHT)

    def closed(*words: object, **how: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(commands, "print", closed, raising=False)
    with pytest.raises(BrokenPipeError):  # which the command line knows, see below
        commands.grade(Path("in"), "hw")
    with pytest.raises(BrokenPipeError):
        commands.report(Path("grades-hw"))


@pytest.mark.nightly
def test_killed_for_real_and_resumed_the_table_is_that_of_a_run_without_a_break(
    stand_in, monkeypatch
):
    """The command and its own grader, ended by SIGKILL; the stand-in grades without a break."""
    texts = (classroom.RIGHT, classroom.WRONG, "def double(x:")
    slow = "import time\ntime.sleep(0.5)\n"  # no file could end the wait: a submission sees none
    for i in range(4):
        Path(f"in/s{i}.py").write_text(f"{slow if i > 2 else ''}# {i}\n{texts[i % 3]}")

    def table(out: str) -> list[list[str]]:
        """All but the remarks, in which each grader has its own words."""
        assert cli.main(["report", out]) == 0
        with Path(out, "report/class.csv").open(newline="") as file:
            return [row[:7] for row in csv.reader(file)]

    assert cli.main([*GRADE, "--out", "whole"]) == 0
    words = [*GRADE, "--out", "killed", "--i-trust-these-submissions", "--jobs", "1"]
    command = [sys.executable, "-m", "fedlab_edu", *words]
    grades = Path("killed/grades")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while process.poll() is None and len(list(grades.glob("*.json"))) < 2:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in grades.glob("*.json")}
    assert 2 <= len(before) < 4
    assert [row[2] for row in table("killed")].count("ungraded") == 4 - len(before)
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert table("killed") == table("whole")
    assert [row[5] for row in table("whole")[1:]] == ["5.5", "3.5", "", "5.5"]


def test_exports_are_written_before_anything_is_printed(stand_in, monkeypatch):
    Path("in/ann.py").write_text(classroom.WRONG)
    cli.main(GRADE)

    def closed(*words: object, **how: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(commands, "print", closed, raising=False)
    with pytest.raises(BrokenPipeError):
        commands.report(Path("grades-hw"), exports=["gradescope"])
    assert list(Path("grades-hw/report/gradescope").glob("*/results.json"))


def test_a_terminal_that_lacks_a_character_shows_a_question_mark(tmp_path, monkeypatch):
    record = "fedex-table1-digits-book.jsonl"
    shutil.copy(Path(__file__).parents[1] / "book" / "records" / record, tmp_path)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert cli.main(["verdicts", "--folder", str(tmp_path)]) == 0
    assert b" ? " in written.getvalue()  # for ±


def test_a_pipe_that_is_closed_is_no_mistake_that_a_command_refuses():
    with pytest.raises(BrokenPipeError), cli._refusals():
        raise BrokenPipeError(32, "Broken pipe")
    with pytest.raises(Refusal, match="no space left"), cli._refusals():
        raise OSError("no space left")
