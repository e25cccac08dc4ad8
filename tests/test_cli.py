"""The command ``fedlab-edu``, as a student types it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fedlab_edu import __version__, cli
from fedlab_edu.grading import commands, escape, progress, run
from fedlab_edu.grading.run import Report, Result
from fedlab_edu.grading.sandbox import NoSandbox
from tests import classroom

ROOT = Path(__file__).parents[1]


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course folder with one exercise, two folders above the current one."""
    for name in ("exercises/ex07_topic.py", "tests/exercises/test_ex07.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notes" / "deep")
    return tmp_path


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, Path, str]]:
    """The (tests, file, question) of each grading, in which all answers are right."""
    calls = []

    def grade(tests: Path, files: list[Path], question: str) -> list[Report]:
        calls.append((tests.resolve(), files[0].resolve(), question))
        result = Result("test", question or "ex07.1", "f", 1, "by hand", status="passed")
        return [Report(files[0], (result,))]

    monkeypatch.setattr(run, "grade", grade)
    monkeypatch.setattr(progress, "keep", lambda *report: None)
    return calls


def test_the_file_of_the_course_folder_is_graded_from_anywhere_below_it(
    course: Path, graded: list[tuple[Path, Path, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", "ex07"]) == 0
    assert cli.main(["check", "ex07.2"]) == 0
    tests, file = course / "tests/exercises/test_ex07.py", course / "exercises/ex07_topic.py"
    assert graded == [(tests, file, ""), (tests, file, "ex07.2")]
    assert "../../exercises/ex07_topic.py" in capsys.readouterr().out


def test_a_file_of_the_students_own_is_graded_wherever_it_lies(
    course: Path, graded: list[tuple[Path, Path, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.py").touch()
    assert cli.main(["check", "ex07.1", "mine.py"]) == 0
    assert graded[0][1] == course / "notes/deep/mine.py"
    assert "fedlab-edu check ex07 mine.py" in capsys.readouterr().out


def test_outside_the_course_folder_it_is_the_one_with_the_editable_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graded: list[tuple[Path, Path, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.main(["check", "ex01"])
    assert graded[0][1] == ROOT / "exercises/ex01_fedavg.py"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ex08"], "there is no exercise 'ex08'; there are: ex07."),
        (["../ex07"], "there is no exercise '../ex07'; there are: ex07."),
        (["ex07", "nowhere.py"], "there is no file 'nowhere.py'."),
        (["ex07", "."], "there is no file '.'."),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(
    arguments: list[str], message: str, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", *arguments]) == 2
    assert capsys.readouterr() == ("", f"fedlab-edu: {message}\n")


def test_two_files_of_one_exercise_ask_for_a_choice(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (course / "exercises/ex07_old.py").touch()
    assert cli.main(["check", "ex07"]) == 2
    assert "holds ex07_old.py, ex07_topic.py" in capsys.readouterr().err


def test_without_a_course_folder_it_says_where_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "site-packages/fedlab_edu/cli.py"))
    assert cli.main(["check", "ex01"]) == 2
    assert "in the course folder" in capsys.readouterr().err


def test_without_pytest_it_says_how_to_get_it(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["check", "ex07"]) == 2
    assert "pip install -e '.[check]'" in capsys.readouterr().err


@pytest.mark.parametrize(("terminal", "no_colour"), [(True, ""), (True, "1"), (False, "")])
def test_colour_is_for_terminals_that_want_it(
    terminal: bool,
    no_colour: str,
    course: Path,
    graded: list[tuple[Path, Path, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    cli.main(["check", "ex07"])
    assert ("\033[" in capsys.readouterr().out) == (terminal and not no_colour)


def test_the_ticks_have_a_stand_in_where_the_console_lacks_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = type("Console", (), {"encoding": "cp1252"})
    monkeypatch.setattr(sys, "stdout", console)
    assert escape.for_console("✓ naïve ✗ λ") == "+ naïve x ?"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"fedlab-edu {__version__}\n"


def test_the_command_itself_does_not_load_torch() -> None:
    """The package's own names, which need PyTorch, are left out of this."""
    code = (
        "import sys, types; p = types.ModuleType('fedlab_edu'); p.__version__ = '0'; "
        f"p.__path__ = [{str(ROOT / 'fedlab_edu')!r}]; sys.modules['fedlab_edu'] = p; "
        "import fedlab_edu.cli, fedlab_edu.grading.report; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_whole_way_from_the_command_to_the_marks(tmp_path: Path) -> None:
    for name in ("exercises", "tests/exercises"):  # a copy, for `progress` keeps these marks
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("mutants"))
    command = [sys.executable, "-m", "fedlab_edu.cli", "check", "ex01"]
    untouched = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (untouched.returncode, untouched.stderr) == (1, "")
    assert "weighted_average is not written yet." in untouched.stdout
    assert untouched.stdout.endswith("save the file, and run\n  fedlab-edu check ex01.1\n\n")


# --- for instructors ------------------------------------------------------------------------------


@pytest.fixture
def classroom_grader(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, int]]:
    """(trust, length of the secret) of each batch, which a stand-in grades."""
    calls = []

    def isolated(
        trust: bool, secret: str, reference: str, private: list[Path]
    ) -> tuple[classroom.StandIn, str]:
        assert reference == classroom.SOLUTION
        calls.append((trust, len(secret)))
        return classroom.StandIn(), "stand-in"

    monkeypatch.setattr(commands, "isolated", isolated)
    return calls


def test_an_instructors_own_folder_from_release_to_report(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    classroom_grader: list[tuple[bool, int]],
) -> None:
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
    assert cli.main(["report", "grades-hw", "--export", "junit"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:4]]
    assert rows == [
        ["ann", "3", "2.5", "5.5", "5.5", "graded"],
        ["bob", "1", "2.5", "3.5", "5.5", "graded"],
        ["cyd", "0", "0", "0", "5.5", "not", "handed", "in"],
    ]


def test_a_fault_of_ours_is_in_the_exit_status(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    classroom_grader: list[tuple[bool, int]],
) -> None:
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
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_where_nothing_keeps_submissions_apart_grading_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def choose(trust: bool) -> str:
        raise NoSandbox("this machine gives no isolation.")

    monkeypatch.setattr("fedlab_edu.grading.doctor.choose", choose)
    folder = classroom.assignment_folder(tmp_path / "hw")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ann.py").write_text(classroom.RIGHT)
    out = str(tmp_path / "out")
    command = ["grade", str(tmp_path / "in"), "--assignment", str(folder), "--out", out]
    assert cli.main(command) == 2
    assert capsys.readouterr().err == "fedlab-edu: this machine gives no isolation.\n"


def test_a_student_checks_what_was_handed_out_as_a_module_and_as_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
    out: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    classroom_grader: list[tuple[bool, int]],
) -> None:
    monkeypatch.chdir(tmp_path)
    classroom.assignment_folder(tmp_path / "hw")
    Path("in").mkdir()
    Path("elsewhere").symlink_to("in")
    Path("in/ann.py").write_text(classroom.RIGHT)
    assert cli.main(["grade", "in", "--assignment", "hw", "--out", out]) == 2
    assert "within the submissions: name another folder" in capsys.readouterr().err
    assert [p.name for p in Path("in").iterdir()] == ["ann.py"]


@pytest.mark.parametrize("command", [["grade", "in", "--assignment"], ["release"]])
def test_an_empty_out_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([*command, "ex01", "--out", ""])
    assert "argument --out: it is empty" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "fedlab_edu.cli", "progress"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 1


def test_tests_without_the_marker_are_named_by_release_and_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
