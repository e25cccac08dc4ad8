"""The command ``fedlab-edu``, as a student types it."""

import subprocess
import sys
from pathlib import Path

import pytest

from fedlab_edu import __version__, cli
from fedlab_edu.grading import run
from fedlab_edu.grading.run import Report, Result

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
        (["ex07", "nowhere.py"], "there is no file nowhere.py."),
        (["ex07", "."], "there is no file .."),
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
    assert cli._for_console("✓ naïve ✗ λ") == "+ naïve x ?"


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


def test_the_whole_way_from_the_command_to_the_marks() -> None:
    command = [sys.executable, "-m", "fedlab_edu.cli", "check", "ex01"]
    untouched = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (untouched.returncode, untouched.stderr) == (1, "")
    assert "weighted_average is not written yet." in untouched.stdout
    assert untouched.stdout.endswith("save the file, and run\n  fedlab-edu check ex01.1\n\n")
