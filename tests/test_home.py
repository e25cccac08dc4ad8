"""A student's file at home: a module and a notebook with the same answers get the same marks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fedlab_grade.classroom.intake import Handed, Wanted, collect
from fedlab_grade.home import check as home
from fedlab_grade.options import Refusal
from fedlab_grade.report import render
from fedlab_grade.run import Report, Result, marks
from tests import classroom

pytestmark = [pytest.mark.processes, pytest.mark.grader, pytest.mark.usefixtures("forked")]

CELLS = [
    "import math",
    "%matplotlib inline\nplot = open('nowhere')  # an experiment, which counts for nothing",
    "def double(x):\n    return x + x",
    "def area(r):\n    return math.pi * r * r",
]
STUB = """\
import math


def double(x):
    raise NotImplementedError("not written yet")


def area(r):
    raise NotImplementedError("not written yet")
"""


@pytest.fixture
def folder(tmp_path):
    return classroom.assignment_folder(tmp_path)


def notebook(path: Path, cells: list[str]) -> Path:
    made = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 7, "source": cell}
        for cell in cells
    ]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def statuses(report: Report) -> dict[str, str]:
    return {r.test: r.status for r in report.results}


def test_a_module_and_a_notebook_with_the_same_answers_get_the_same_result(folder):
    right = notebook(folder / "right.ipynb", CELLS)
    module = folder / "right.py"
    module.write_text("\n".join((CELLS[0], CELLS[2], CELLS[3])))
    tests = folder / "test_hw.py"
    (of_notebook, notes), (of_module, none) = (
        home.check_file(right, tests),
        home.check_file(module, tests),
    )
    assert statuses(of_notebook) == statuses(of_module)
    assert marks(of_notebook.results) == (5.5, 5.5)
    assert (of_notebook.file, notes, none) == (right, (), ())


def test_a_notebook_that_rests_on_an_earlier_run_is_told_to_restart_and_run_all(folder):
    """The kernel still knows a cell that is gone: `math` was imported in it."""
    report, notes = home.check_file(notebook(folder / "hw.ipynb", CELLS[2:]), folder / "test_hw.py")
    assert marks(report.results) == (3, 5.5)
    assert notes == (home.RESTART,)
    assert "Restart" in home.RESTART
    assert "Run All" in home.RESTART


def test_a_notebook_whose_cells_are_broken_tells_which_and_is_told_to_restart(folder):
    answers = [f"@nowhere.timed\n{cell}" for cell in CELLS[2:]]
    report, notes = home.check_file(
        notebook(folder / "hw.ipynb", ["import nowhere", "def double(x:", *answers]),
        folder / "test_hw.py",
    )
    assert set(statuses(report).values()) == {"not gradable"}
    assert any("cell 2, line 1: 'def double(x:' is not Python" in note for note in notes)
    assert notes[-1] == home.RESTART


def test_a_wrong_answer_in_a_notebook_is_no_reason_to_restart(folder):
    cells = [*CELLS[:2], "def double(x):\n    return x * x", CELLS[3]]
    report, notes = home.check_file(
        notebook(folder / "hw.ipynb", cells), folder / "test_hw.py", "q1"
    )
    assert statuses(report) == {"test_double": "passed", "test_double_hidden": "failed"}
    assert notes == ()


@pytest.mark.parametrize("text", ["", "{", '{"cells": ', "[]"])
def test_a_half_saved_notebook_is_refused_in_one_sentence(text, folder):
    (folder / "hw.ipynb").write_text(text)
    with pytest.raises(Refusal, match=r"hw.ipynb is not a notebook.*\.$"):
        home.check_file(folder / "hw.ipynb", folder / "test_hw.py")


def test_a_copy_beside_the_file_asks_for_a_choice_and_a_named_file_is_taken(folder):
    (folder / "hw.py").touch()
    with pytest.raises(Refusal, match=r"name your file: .*holds hw.py, hw_ref.py\."):
        home.target(str(folder))
    chosen = home.target(str(folder), folder / "hw.py")
    assert (chosen.tests.resolve(), chosen.place) == (folder / "test_hw.py", None)


def test_a_notebook_that_is_called_a_module_is_read_as_a_notebook(folder):
    report, notes = home.check_file(notebook(folder / "hw.py", CELLS), folder / "test_hw.py")
    assert marks(report.results) == (5.5, 5.5)
    assert notes == (f"{folder / 'hw.py'}, read as a notebook, whatever its name says.",)


def test_a_test_without_a_function_is_named_by_its_question():
    result = Result("test_a", "q1", "", 1, "by hand", status="not written")
    told = render(Report(Path("hw.py"), (result,)), "fedlab-edu check .", 88, False)
    assert "Next: write q1, save the file" in told
    watched = render(Report(Path("hw.py"), (result,)), "", 88, False)
    assert "Next: write q1 and save the file." in watched


BROKEN = "def double(x):\n    total = = x\n    return total"
FAULT = "cell 2, line 2: 'total = = x' is not Python (invalid syntax)"


def in_grading(file: Path) -> Handed:
    """Read the file as grading does."""
    wanted = Wanted(("hw",), ("double", "area"), STUB)
    return collect([(file.name, file)], wanted)


@pytest.mark.parametrize("question", ["", "q1", "q2"])
def test_a_notebook_whose_answers_are_broken_is_refused_as_in_grading(question, folder):
    cells = [CELLS[0], f"{BROKEN}\n{CELLS[3]}"]
    file = notebook(folder / "hw.ipynb", cells)
    with pytest.raises(Refusal) as told:
        home.check_file(file, folder / "test_hw.py", question)
    why = f"{FAULT}, and no other cell defines double or area: mend that cell"
    assert str(told.value) == f"{file} cannot be run: {why}."
    assert in_grading(file).problem == (
        f"What you handed in holds 'hw.ipynb', which cannot be run: {why}"
    )


def test_of_two_answers_the_broken_one_costs_its_own_question_as_in_grading(folder):
    file = notebook(folder / "hw.ipynb", [CELLS[0], BROKEN, CELLS[3]])
    report, notes = home.check_file(file, folder / "test_hw.py")
    assert statuses(report) == {
        "test_double": "raised",
        "test_double_hidden": "raised",
        "test_area": "passed",
    }
    assert report.results[0].message == f"double raised SyntaxError: {FAULT}"
    assert notes == (f"{file}, {FAULT}, so the cell does not count.",)
    module = folder / "module.py"
    module.write_text(str(in_grading(file).source))
    assert statuses(home.check_file(module, folder / "test_hw.py")[0]) == statuses(report)


def test_a_function_that_is_missing_is_told_once_and_only_where_it_is_asked_for(folder):
    file = notebook(folder / "hw.ipynb", [CELLS[0], CELLS[3]])
    tests = folder / "test_hw.py"
    assert home.check_file(file, tests)[1] == (f"{file}, no code cell defines double.",)
    assert home.check_file(file, tests, "q2")[1] == ()


def test_functions_that_only_calls_name_are_asked_for_too(folder):
    plain = classroom.TESTS.replace('function="double", ', "").replace(
        '"double", 2', "\n'double', 2"
    )
    (folder / "test_hw.py").write_text(plain)
    with pytest.raises(Refusal, match="no other cell defines double or area"):
        home.check_file(
            notebook(folder / "hw.ipynb", [f"{BROKEN}\n{CELLS[3]}"]), folder / "test_hw.py"
        )


def test_a_notebook_that_cannot_be_read_is_refused_in_the_words_of_grading(folder):
    file = folder / "HW.IPYNB"
    for data, why in (
        ("{\n'ä'".encode("latin-1"), "is not UTF-8 text (line 2): save it as UTF-8"),
        (b"#" * ((8 << 20) + 1), "is a notebook larger than 8 MB: clear its outputs"),
    ):
        file.write_bytes(data)
        with pytest.raises(Refusal) as told:
            home.check_file(file, folder / "test_hw.py")
        assert str(told.value) == f"{file} {why}."
        assert in_grading(file).problem == f"What you handed in holds 'HW.IPYNB', which {why}"
    assert home.check_file(notebook(file, CELLS), folder / "test_hw.py")[1] == ()


def test_what_a_notebook_raises_is_told_with_its_cell_and_line(folder):
    wrong = "import nowhere\n\ndef area(r):\n    y = 1\n    return r / 0"
    report, _ = home.check_file(
        notebook(folder / "hw.ipynb", [*CELLS[:3], wrong]), folder / "test_hw.py", "q2"
    )
    assert "\n  cell 4, line 5, in area: return r / 0" in report.results[0].message


def test_who_stops_in_a_notebook_is_told_where(folder):
    wrong = "def area(r):\n    while True:\n        pass"
    tests = folder / "test_hw.py"
    tests.write_text(tests.read_text().replace('function="area"', 'function="area", wall=1'))
    report, _ = home.check_file(notebook(folder / "hw.ipynb", [CELLS[0], wrong]), tests, "q2")
    assert report.results[0].status == "stopped"
    assert "\n  cell 2, line " in report.results[0].message


def test_a_module_saved_from_a_notebook_is_read_as_in_grading(folder):
    file = folder / "hw.py"
    lines = ["%matplotlib inline", "get_ipython().system('ls')", "NAME = 'J\xf6rg'"]
    text = "\n".join(("# coding: latin-1", *lines, CELLS[0], *CELLS[2:]))
    file.write_bytes(text.encode("latin-1"))
    report, notes = home.check_file(file, folder / "test_hw.py")
    assert marks(report.results) == (5.5, 5.5)
    assert report.file == file
    assert notes == (
        f"{file}, read as latin-1, as it says; better save it as UTF-8.",
        f"{file}, lines 2, 3: for Jupyter only, so ignored.",
    )
    assert tuple(f"{file}, {note}." for note in in_grading(file).notes) == notes


def test_a_notebook_that_writes_its_file_is_checked(folder):
    body = "\n".join((CELLS[0], *CELLS[2:]))
    for name in ("hw", "mine"):
        file = notebook(folder / f"{name}.ipynb", [f"%%writefile {name}.py\n{body}"])
        assert marks(home.check_file(file, folder / "test_hw.py")[0].results) == (5.5, 5.5)


def test_what_a_student_uses_does_not_load_what_an_instructor_uses():
    code = (
        "import sys; import fedlab_grade.home.check; "
        "sys.exit(any('.classroom' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("name", ["hw.py", "hw.ipynb"])
def test_who_imports_the_package_is_told_that_it_cannot_be_graded(name, folder):
    imports = "import fedlab_edu\n\n" + classroom.RIGHT
    if name == "hw.py":
        (folder / name).write_text(imports)
    else:
        notebook(folder / name, ["x = 1", imports])
    report, notes = home.check_file(folder / name, folder / "test_hw.py")
    assert report.complete
    place = "line 1, in module" if name == "hw.py" else "cell 2, line 1"
    assert "imports fedlab_edu, which is not there" in notes[0]
    assert place in notes[0]
    assert "import fedlab_edu" in notes[0].splitlines()[-1]
