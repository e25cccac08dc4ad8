"""The page for instructors: its commands exist, and its assignment does what the page says."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from fedlab_edu import __version__, cli
from fedlab_grade.assignment import find
from fedlab_grade.classroom.handout import handout
from fedlab_grade.home import progress

pytestmark = [pytest.mark.grader, pytest.mark.processes, pytest.mark.usefixtures("forked")]

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book/instructor.md").read_text()
README = (ROOT / "README.md").read_text()
FILES = re.findall(r"( *)```\{code-block\} python\n *:caption: (\S+)\n(.*?)\n *```\n", PAGE, re.S)
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    line
    for text in (PAGE, README)
    for block in re.findall(r"```shell\n(.*?)```", text, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("fedlab-edu ")
] + re.findall(r"`(fedlab-edu [a-z]+ [^`]+)`", PAGE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the assignment of the page in its folder ``clip``."""
    for margin, name, text in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(dedent(margin + text.removeprefix(margin)) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_page_exists_with_its_options(command):
    words = shlex.split(command, comments=True)[1:]
    assert cli._parser().parse_args(words).command == words[0]


def test_the_table_has_the_points_of_the_exercises_and_the_hours_of_the_pages():
    row = r"`?(?:<(ch\d\d_\w+)>`|\*\*all\*\*) \| ([\d.]+) h \| ([\d.]+) h \| (\d+) \|"
    reading, exercise, points = [], [], []
    for name, *told in re.findall(row, PAGE):
        if name:
            page = (ROOT / f"book/{name}.md").read_text("utf-8")
            reading.append(int(re.search(r"\*\*Time:\*\* about (\d+)\sminutes to read", page)[1]))
            parts = re.findall(r"- \*\*(?:Core|Experiment)\*\* \((\d+) minutes", page)
            exercise.append(sum(map(int, parts)))
            assert re.search(rf"and {exercise[-1]} for the\sexercise", page), name
            (test,) = (ROOT / "tests/exercises").glob(f"test_ex{name[2:4]}.py")
            points.append(progress.exercise_of(test).points)
        minutes = (reading[-1], exercise[-1]) if name else (sum(reading), sum(exercise))
        assert [float(x) for x in told[:2]] == [round(m / 30) / 2 for m in minutes], name
        assert float(told[2]) == (points[-1] if name else sum(points))
    assert len(points) == 10


def test_a_term_of_14_weeks_has_all_chapters_and_exercises_in_order():
    plan = PAGE.partition("**14 weeks**")[2].partition("\n\nA project")[0]
    assert re.findall(r"\| chapter (\d+)", plan) == [str(n) for n in range(1, 11)]
    assert re.findall(r"exercise (\d+)", plan) == [str(n) for n in range(1, 11)]


def test_the_wheel_of_the_page_is_that_of_this_version():
    assert f'pip install "./fedlab_edu-{__version__}-py3-none-any.whl[check]"' in PAGE


def test_each_syllabus_has_as_many_weeks_as_it_says():
    for weeks, heading in ((5, r"\*\*5 weeks\*\*"), (14, r"\*\*14 weeks\*\*")):
        rows = re.search(heading + r".*?\n\n\| week.*?\n\|[-|]+\n(.*?)\n\n", PAGE, re.DOTALL)
        assert rows is not None
        named = re.findall(r"^\| ([\d, ]+) \|", rows[1], re.MULTILINE)
        numbers = [int(n) for cell in named for n in cell.split(",")]
        assert numbers == list(range(1, weeks + 1))


def test_the_assignment_of_the_page_is_tried_as_the_page_shows(folder, capsys):
    assert cli.main(["try", "clip"]) == 0
    (table,) = (block for block in BLOCKS if "the untouched file" in block)
    assert capsys.readouterr().out == table


@pytest.mark.parametrize("number", ["01", "02", "10"])
def test_a_copy_of_an_exercise_has_its_parts_and_can_be_handed_out(number, tmp_path):
    (copying,) = (b for b in re.findall(r"```shell\n(.*?)```", PAGE, re.S) if "mkdir my02" in b)
    copying = copying.partition("fedlab-edu try")[0].replace("my02", shlex.quote(f"{tmp_path}/my"))
    subprocess.run(["sh", "-ec", copying.replace("ex02", f"ex{number}")], check=True, cwd=ROOT)
    copy, exercise = find(f"{tmp_path}/my"), find(f"ex{number}")
    assert [one.text for one in copy.typical] == [one.text for one in exercise.typical]
    assert handout(copy) == handout(exercise)


def test_answers_that_are_judged_otherwise_are_marked_and_said(folder, capsys):
    path = folder / "clip/mutants.py"
    text = path.read_text()
    for old, new in (
        ('"each entry is clipped', '"nothing is clipped'),
        ('@wrong("q2", "mean first"', '@wrong("q1", "mean first"'),
        ("normalize(v, dim=0) *", "2 * normalize(v, dim=0) *"),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    assert cli.main(["try", "clip"]) == 1
    lines = capsys.readouterr().out.splitlines()
    told = "\n".join(lines[i + 1] for i, line in enumerate(lines) if line.startswith("✗"))
    assert len(told.splitlines()) == 3
    assert "should be told 'nothing is clipped" in told
    assert "should fail q1 and nothing" in told
    assert "full marks, and fails q1: clip" in told


def test_a_question_without_a_wrong_answer_is_named(folder, capsys):
    (folder / "clip/mutants.py").unlink()
    assert cli.main(["try", "clip"]) == 0
    assert capsys.readouterr().out.endswith(
        "  q1 has no wrong answer yet\n  q2 has no wrong answer yet\n"
    )


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("mutants.py", "def f(:", "mutants.py, line 1: invalid syntax."),
        ("test_clip.py", "def f(:", "the tests cannot be run: "),
        ("clip_solution.py", None, "there is no solution beside "),
    ],
)
def test_what_cannot_be_tried_is_refused_with_the_reason(file, text, said, folder, capsys):
    if text is None:
        (folder / "clip" / file).unlink()
    else:
        (folder / "clip" / file).write_text(text)
    assert cli.main(["try", "clip"]) == 2
    assert said in capsys.readouterr().err


def test_what_students_get_of_it_has_no_answer_and_no_hidden_test(folder):
    files = handout(find("./clip"))
    assert sorted(files) == ["README.md", "clip.ipynb", "clip.py", "test_clip.py"]
    everything = "\n".join(files.values())
    assert "bound / length" not in everything
    assert "test_clipped_mean_by_hand" in everything
    assert "test_clipped_mean_of_drawn_vectors" not in everything


def test_the_lines_for_gradescope_work_with_several_uploaded_files(folder):
    """In a folder that stands for the root of Gradescope's container."""
    (lines,) = re.findall(r"```shell\n(chmod 700 /autograder.*?)```", PAGE, re.DOTALL)
    for path in ("autograder/submission", "autograder/results", "autograder/source", "tmp"):
        (folder / path).mkdir(parents=True)
    (folder / "clip").rename(folder / "autograder/source/clip")
    source = folder / "autograder/source/clip/clip_solution.py"
    (folder / "autograder/submission/clip.py").write_text(source.read_text())
    (folder / "autograder/submission/tried.py").write_text("print('my first try')\n")
    (folder / "autograder/submission/notes.txt").write_text("none\n")
    for line in re.sub(r"(?<= )/(?=autograder|tmp)", f"{folder}/", lines).splitlines():
        if line.startswith("fedlab-edu "):
            words = shlex.split(line)[1:]
            if words[0] == "grade":
                words += ["--i-trust-these-submissions", "--jobs", "1"]
            assert cli.main(words) == 0
        else:
            subprocess.run(line, shell=True, check=True)
    assert json.loads((folder / "autograder/results/results.json").read_text())["score"] == 6
    for private in ("autograder/source", "tmp/all", "tmp/grades"):  # of another user's view
        assert (folder / private).stat().st_mode & 0o077 == 0
