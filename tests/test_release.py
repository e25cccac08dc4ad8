"""The students' files are made from the solutions, and give nothing of them away."""

import re
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from fedlab_grade.assignment import find
from fedlab_grade.classroom.handout import guard, handout, public, write
from fedlab_grade.notebook import convert
from fedlab_grade.options import Refusal
from fedlab_grade.release import main, outline, release
from tests import classroom

pytestmark = pytest.mark.grader

ROOT = Path(__file__).parents[1]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.py"))


def test_the_exercises_are_in_step_with_the_solutions():
    released = {p.name: p.read_text() for p in (ROOT / "exercises").glob("*.py")}
    assert released == {p.name: release(p.read_text(), p.name) for p in SOLUTIONS}


def test_no_line_of_a_solution_is_in_any_released_file():
    texts = [p.read_text() for p in (ROOT / "exercises").rglob("*") if p.suffix != ".pyc"]
    released = {line.strip() for text in texts for line in text.splitlines()}
    secret = []
    for path in SOLUTIONS:
        for block in path.read_text().split("# BEGIN SOLUTION")[1:]:
            secret += [s.strip() for s in block.split("# END SOLUTION")[0].splitlines()]
    assert len(secret) > 15
    assert not {s for s in secret if s.strip("()[]{},")} & released


SOURCE = '''\
# %% tags=["exercise", "q1"]
def double(x):
    """Twice x."""
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION
'''


def test_a_release_has_a_stub_in_place_of_the_answer():
    assert (
        release(SOURCE)
        == '''\
# %% tags=["exercise", "q1"]
def double(x):
    """Twice x."""
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
'''
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    # END SOLUTION\n", "", "line 1: the markers of this cell are ['# BEGIN SOLUTION'];"),
        ("# BEGIN SOLUTION", "# nothing", "line 1: the markers of this cell are ['# END SOLUT"),
        ("return x + x", "# BEGIN SOLUTION", "line 1: the markers of this cell are ['# BEGIN SOLU"),
        ("# END SOLUTION", "#end solution", "line 1: the markers of this cell are ['# BEGIN SOLUT"),
        ("    # END SOLUTION", "# %%\n# END SOLUTION", "line 1: the markers of this cell are ["),
        ("# %%", "# %%\n# END SOLUTION\n# %%", "line 1: the markers of this cell are ['# END SO"),
        (SOURCE[29:], "x = 2\n", "line 1: the markers of this cell are []; allowed: in turn"),
        ("def double(x)", "def double(x", "line 2 of the student's file: it is not Python"),
    ],
)
def test_a_release_that_would_give_answers_away_or_not_run_is_refused(old, new, message):
    with pytest.raises(Refusal, match=re.escape(f"ex09.py, {message}")):
        release(SOURCE.replace(old, new), "ex09.py")


def test_every_solution_is_released_and_named(tmp_path, capsys):
    for name in ("ex08_a.py", "ex09_b.py", "notes.py"):
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "out").mkdir()
    main(str(tmp_path), str(tmp_path / "out"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["ex08_a.py", "ex09_b.py"]
    assert (tmp_path / "out/ex09_b.py").read_text() == release(SOURCE)
    assert len(capsys.readouterr().out.splitlines()) == 2


# --- what else goes out ---------------------------------------------------------------------------


def test_a_plain_solution_keeps_its_docstrings_and_loses_its_answers():
    assert (
        outline(classroom.SOLUTION)
        == '''\
"""Homework."""

import math


def double(x):
    """Twice x."""
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")




def area(r):
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
'''
    )


def test_methods_lose_their_answers_too():
    text = "class A:\n    size = 1\n    def f(self):\n        # trick\n        return 1\n"
    assert outline(text).splitlines()[:4] == [
        *text.splitlines()[:3],
        "        # Your answer goes here: replace the next line.",
    ]
    assert "trick" not in outline(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "hw.py: it has no function to take an answer out of"),
        ("def f(:\n", "hw.py: it is not Python"),
        ("def f(x): return x\n", "line 1: put the body of f on lines of its own"),
    ],
)
def test_a_plain_solution_without_an_answer_is_refused(text, message):
    with pytest.raises(Refusal, match=message):
        outline(text, "hw.py")


@pytest.fixture
def assignment(tmp_path):
    return find(str(classroom.assignment_folder(tmp_path / "hw")))


def test_students_get_a_module_a_notebook_the_public_tests_and_a_readme(assignment, tmp_path):
    files = handout(assignment)
    assert list(files) == ["hw.py", "hw.ipynb", "test_hw.py", "README.md"]
    assert convert(files["hw.ipynb"]).source.count("not written yet") == 2
    assert "test_double_hidden" not in files["test_hw.py"]
    assert "-77" not in "".join(files.values())
    compile(files["test_hw.py"], "test_hw.py", "exec")
    assert "more tests are run than you can run here: 1." in files["README.md"]
    write(files, tmp_path / "out", assignment.tests.parent / "hw_ref.py")
    assert {p.name: p.read_text() for p in (tmp_path / "out").iterdir()} == files


def test_a_release_as_a_zip_is_the_same_every_time(assignment, tmp_path):
    made = []
    for name in ("a", "b"):
        write(handout(assignment), tmp_path / name / "hw.zip", tmp_path / "hw/hw_ref.py")
        made.append((tmp_path / name / "hw.zip").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "a/hw.zip") as archive:
        assert archive.namelist()[0] == "hw/hw.py"


def test_the_solution_is_not_overwritten(assignment, tmp_path):
    with pytest.raises(Refusal, match="holds the solution: name another folder"):
        write(handout(assignment), tmp_path / "hw", tmp_path / "hw/hw_ref.py")
    assert (tmp_path / "hw/hw_ref.py").read_text() == classroom.SOLUTION


HIDDEN_TESTS = [
    '@q("q1", 1, hidden=True)\ndef test_a(student):\n    secret()\n',
    '@q("q1", 1, "f", "", "", True)\ndef test_a(student):\n    secret()\n',
    'later = partial(q, "q1", hidden=True)\n\n@later(points=2)\ndef test_a(s):\n    secret()\n',
    'a = partial(q, hidden=True)\nb = partial(a, "q1")\n\n@b(2)\ndef test_a(s):\n    secret()\n',
    "def test_a():\n    secret()\n",  # a test of the tests
]


@pytest.mark.parametrize("text", HIDDEN_TESTS)
def test_hidden_tests_stay_behind(text):
    kept, _ = public(f'{text}\n\n@q("q1", 1, hidden=False)\ndef test_b(student):\n    seen()\n')
    assert "secret" not in kept
    assert "seen()" in kept


def test_what_looks_hidden_in_another_way_is_not_handed_out():
    with pytest.raises(Refusal, match="hidden=True where only a decorator"):
        public("class TestA:\n    @q('q1', 1, hidden=True)\n    def test_a(self): ...\n")


SECRET = "# BEGIN SOLUTION\na = f(x)\nreturn a + b\n# END SOLUTION\n"


@pytest.mark.parametrize(
    ("work", "tests", "message"),
    [
        ("x\n   a = f(x)\n", "", "would give away the line 'a = f\\(x\\)'"),
        ('{"cells": [{"source": ["x\\n", "return a + b"]}]}', "", "away the line 'return a"),
        ("", "a = f(x)\n\n    return a + b\n", "'a = f\\(x\\)' and the line after it"),
        ("", "x\n  return a + b\na = f(x)\n", None),  # by chance
        ("x = 1\n", "a = f(x)\n", None),
    ],
)
def test_the_guard_lets_no_answer_out(work, tests, message):
    name = "hw.ipynb" if work.startswith("{") else "hw.py"
    with pytest.raises(Refusal, match=message) if message else nullcontext():
        guard(SECRET, {name: work}, {"test_hw.py": tests})


def test_the_guard_knows_an_answer_of_one_line():
    with pytest.raises(Refusal, match="the answer 'return 2'"):
        guard("# BEGIN SOLUTION\nreturn 2\n# END SOLUTION\n", {}, {"t.py": "  return 2\n"})


@pytest.mark.parametrize("exercise", [path.stem[:4] for path in SOLUTIONS])
def test_each_exercise_of_the_course_can_be_handed_out(exercise):
    files = handout(find(exercise))
    stem = next(path.stem for path in SOLUTIONS if path.stem.startswith(exercise))
    assert files[f"{stem}.py"] == (ROOT / "exercises" / f"{stem}.py").read_text()
    assert "BEGIN SOLUTION" not in "".join(files.values())


def test_a_folder_with_a_plain_solution_is_an_assignment_as_it_is():
    toy = find(str(ROOT / "tests/toy"))
    assert (toy.name, toy.stem) == ("hw", "hw")
    assert toy.functions == ("fedavg", "log_uniform", "successive_halving", "dirichlet_split")
    files = handout(toy)
    assert re.findall(r"def (test_\w+)", files["test_hw.py"]) == ["test_fedavg_public"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "should hold one test_.*, and holds none"),
        ({"test_a.py": "", "test_b.py": ""}, "holds test_a.py, test_b.py"),
        (
            {"test_a.py": "", "x.py": "# BEGIN SOLUTION", "y.py": "# BEGIN SOLUTION"},
            "should hold one solution, and holds x.py, y.py",
        ),
    ],
)
def test_a_folder_that_is_no_assignment_is_refused(files, message, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(Refusal, match=message):
        find(str(tmp_path))


def test_an_unknown_assignment_is_told_which_there_are():
    with pytest.raises(Refusal, match="there is no assignment 'ex99'; there are: ex01, ex02"):
        find("ex99")


@pytest.mark.parametrize("named", ["{}", "hw", "./hw/", "hw/../hw", "."])
def test_the_tests_bring_the_files_that_they_import(named, tmp_path, monkeypatch):
    home = tmp_path / "hw"
    home.mkdir()
    texts = {"test_hw.py": "import one", "one.py": "from two import x", "two.py": "", "no.py": ""}
    for name, text in texts.items():
        (home / name).write_text(text)
    monkeypatch.chdir(home if named == "." else tmp_path)
    folder = named.format(home)
    files = find(folder).files
    assert {p.name for p in files} == {"test_hw.py", "one.py", "two.py"}
    assert {p.parent for p in files} == {Path(folder)}


def test_tests_that_are_not_python_are_not_released(tmp_path):
    folder = classroom.assignment_folder(tmp_path)
    (folder / "test_hw.py").write_text("q = pytest.mark.q\ndef (\n")
    with pytest.raises(Refusal, match=r"test_hw\.py, line 2: invalid syntax\.$"):
        handout(find(str(folder)))


@pytest.mark.parametrize("name", ["hw_ref.py", "test_hw.py"])
def test_a_file_of_the_instructor_s_that_is_not_utf_8_is_refused(name, tmp_path):
    path = classroom.assignment_folder(tmp_path) / name
    path.write_bytes(path.read_bytes() + b"# \xe9\n")
    with pytest.raises(Refusal, match=rf"{name} is not UTF-8 text \(line \d+\): save it as UTF-8"):
        handout(find(str(tmp_path)))


# --- a plain solution that would give itself away -------------------------------------------------

PLAIN = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    "more",
    [
        "double = lambda x: x + x\n",
        "try:\n    import torch\nexcept ImportError:\n    def g(x):\n        return 17\n",
        "if True:\n    def g(x):\n        return 17\n",
        "TABLE = {'g': [lambda x: 17]}\n",
        "with open('x') as y:\n    class G:\n        z = 17\n",
        "class G:\n    g = lambda self: 17\n",
        "class G:\n    if True:\n        def g(self):\n            return 17\n",
    ],
)
def test_a_function_where_it_would_stay_is_refused(more):
    line = 5 if more.startswith("class") else 4
    with pytest.raises(Refusal, match=rf"hw.py, line {line}: a function within another"):
        outline(f"{PLAIN}\n{more}", "hw.py")


def test_a_lambda_in_a_signature_may_stay():
    assert "key=lambda v: v" in outline("def f(x, key=lambda v: v):\n    return key(x)\n")


def test_comments_below_the_last_statement_go_out_with_it():
    text = "def f(x):\n    return x\n\n    # also right: x + 0\n\n  # and x\n\n\n# kept\nY = 1\n"
    assert outline(text).splitlines()[2:] == [
        '    raise NotImplementedError("not written yet")',
        *["", "", "# kept", "Y = 1"],
    ]
    method = (
        "class A:\n    def f(self):\n        return 1\n        # trick\n\n    # kept\n    x = 1\n"
    )
    assert "trick" not in outline(method)
    assert "# kept\n    x = 1" in outline(method)


def test_a_strange_line_end_does_not_shift_what_is_taken_out():
    text = f"# a\u2028b\x0cc\n{PLAIN}"
    assert outline(text).startswith("# a\u2028b\x0cc\ndef f(x):\n    # Your answer")
    assert "x + 1" not in outline(text)
    kept, _ = public('# \u2028\n@q("q1", 1, hidden=True)\ndef test_a(s):\n    secret()\nx = 1\n')
    assert kept == "# \u2028\nx = 1\n"


@pytest.mark.parametrize(
    "text", ["def f(\n    x\n): return x\n", 'def f(x):\n    """A\n    b."""; return x\n']
)
def test_a_body_on_the_lines_of_something_else_is_refused(text):
    with pytest.raises(Refusal, match="is not Python; put the body of each function"):
        outline(text)


@pytest.mark.parametrize(
    ("solution", "line"),
    [
        (
            "try:\n    import a\nexcept ImportError:\n    def g(x):\n        return 17\n",
            "return 17",
        ),
        ("double = lambda x: x + x\n", "double = lambda x: x + x"),
        ("def f(x):\n    return x\n    # or x + 0\n", "# or x + 0"),
        ("def f(x):\n    # the trick\n    return x\n", "# the trick"),
        ("def f(x):\n    def g(y):\n        return 17\n    return g(x)\n", "return 17"),
        ("class A:\n    def f(self):\n        return 17\n", "return 17"),
        ("def _f(x):\n    return 17\n", "return 17"),
    ],
)
def test_the_guard_finds_the_answers_of_a_plain_solution_by_itself(solution, line):
    with pytest.raises(Refusal, match=re.escape(f"would give away the line {line!r}")):
        guard(solution, {"hw.py": f"import a\n{line}\n"}, {})


def test_the_guard_lets_signatures_and_docstrings_pass():
    text = 'def f(x, key=lambda v: v):\n    """Twice."""\n    return key(x)\n'
    guard(text, {"hw.py": outline(text)}, {})
