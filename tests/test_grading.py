"""Files of answers that are neither right nor wrong, tried on two small questions.

All files are graded once, in child processes, as ``fedlab-edu check`` grades them. For typical
answers to the exercises see ``test_mutants.py``.
"""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from fedlab_grade.classroom.trial import failed_questions, told
from fedlab_grade.report import render
from fedlab_grade.run import CheckBroken, grade, marks

pytestmark = [pytest.mark.grader, pytest.mark.processes, pytest.mark.usefixtures("forked")]

TESTS = """
import pytest
import torch
from fedlab_grade.checks import close, unchanged

W, n = torch.tensor([[1.0, 2.0], [3.0, 6.0]]), torch.tensor([1.0, 3.0])

@pytest.mark.q("ex01.1", 1, function="weighted_average")
def test_average(student):
    close(student.call("weighted_average", W, n), torch.tensor([2.5, 5.0]))

@pytest.mark.q("ex01.2", 1, function="minibatches")
@pytest.mark.parametrize("size", [5, 6, 2, 23, 9])
def test_minibatches(student, size):
    order = torch.arange(size).flip(0)
    answer = student.call("minibatches", order, 2)
    close(answer, list(order.split(2)))
    unchanged(answer)
"""
RIGHT_TEXT = """
import torch

def weighted_average(W, n):
    return n / n.sum() @ W

def minibatches(order, batch):
    return order.split(batch)
"""

# Name -> the body of `minibatches`, and what the student reads about it.
ODD = {
    "none": ("pass\n\nminibatches = None", "minibatches in your file is None, not a function"),
    "coroutine": ("pass\n\nasync def minibatches(order, batch): pass", "a coroutine.*write `def`"),
    "no_return": ("order.split(batch)", "returned None, expected a list.*there is no `return`"),
    "generator": ("yield order", "returned a generator, expected a list of tensors"),
    "plain_numbers": ("return [[3, 0]]", r"returned \[\[3, 0\]\], expected \[\[4, 3\], "),
    "floats": ("return list(order.double().split(batch))", "dtype float64, expected int64"),
    "two_axes": ("return list(order[None].split(batch, 1))", "2 dimensions instead of 1"),
    "raises": ("return [][batch]", r"raised IndexError.*\n  line \d+, in minibatches: return \[\]"),
    "misspelt": ("return minibatchs(order)", "NameError: name 'minibatchs' is not defined"),
    "recursion": ("return minibatches(order, batch)", "calls itself without end"),
    "exit": ("raise SystemExit", "raised SystemExit.*end a function with `return`"),
    "interrupt": ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    "input": ("return input()", r"input\(\) cannot ask anyone"),
    "not_written": ("raise NotImplementedError('not written yet')", "is not written yet"),
    "endless": ("while True: len('x' * 50)", r"still running after 3 .*\n  line \d+, in minib"),
    "ends_process": ("import os; os._exit(0)", "ended the Python process, with exit status 0"),
}
STOPPED = ("endless", "ends_process")  # these take the process with them
# Name -> the whole file, and what the student reads about it.
UNREADABLE = {
    "syntax": (b"def f(:\n", r"Python cannot read line 1: invalid syntax\n  def f\(:"),
    "tabs": (b"if 1:\n\tx = 1\n        y = 2\n", "Python cannot read line 3: .*tabs and spaces"),
    "import": (b"\nimport nowhere\n", "No module named 'nowhere'\n  line 2, in module"),
    "helper": (b"from . import mine\n", "relative import.*\n.*\nLikely: an answer is one file"),
    "exit_at_once": (b"import sys\nsys.exit(0)\n", "SystemExit: 0\n  line 2.*\nLikely: exit"),
    "form_feed": ("\x0c\nX = '\u2028'\n1 / 0\n".encode(), r"line 3, in module: 1 / 0"),
    "magic": (b"%matplotlib inline\n", "Lines with % or ! are for Jupyter only"),
    "exported": (b"get_ipython().run_line_magic('matplotlib', 'inline')\n", "for Jupyter only"),
    "latin_1": ("# Größe\n".encode("latin-1"), "not UTF-8 text"),
    "utf_16": (RIGHT_TEXT.encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
    "zeros": (bytes(9), "NUL bytes"),
    "endless_load": (
        b"while True:\n    pass\n",
        "still running after 3 .*\n  line [12], in module",
    ),
}
PRINTS = "[print('x' * 50) for _ in range(3_000)]; return order.split(batch)"
ODD_OUTPUT = b"""
import faulthandler, sys
sys.stdout.write("\\ud800")
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.buffer.write(b"x")
faulthandler.enable()
sys.stderr.close()
"""
BROKEN = """\
import pytest
@pytest.mark.q("ex01.1", function="weighted_average", points=2, aspect="of ours")
def test_with_a_fault(student):
    1 / 0
@pytest.mark.q("ex01.1", function="weighted_average", points=3, aspect="of theirs")
def test_without(student):
    student.call("weighted_average", *__import__("torch").ones(2, 3, 3))
"""


def with_minibatches(body: str) -> bytes:
    return f"{RIGHT_TEXT}\n\ndef minibatches(order, batch):\n    {body}\n".encode()


@pytest.fixture(scope="module")
def reports(forked, tmp_path_factory):
    """The reports on what else a file can do: file name without .py -> report."""
    folder = tmp_path_factory.mktemp("answers")
    tests = tmp_path_factory.mktemp("tests") / "test_ex01.py"
    tests.write_text(TESTS)
    texts = {name: with_minibatches(body) for name, (body, _) in ODD.items()}
    texts |= {name: text for name, (text, _) in UNREADABLE.items()}
    texts |= {
        "no_function": RIGHT_TEXT.replace("def minibatches", "def minibatch").encode(),
        "no_callable": f"{RIGHT_TEXT}\nminibatches = 3\n".encode(),
        "not_finite": RIGHT_TEXT.replace("n / n.sum() @", "n / 0 @").encode(),
        "empty": b"",
        "windows": b"\xef\xbb\xbf" + RIGHT_TEXT.replace("\n", "\r\n").encode(),
        "odd_output": RIGHT_TEXT.encode() + ODD_OUTPUT,
        "print_flood": with_minibatches(PRINTS) + b"\nfor _ in range(50_000): print('x' * 50)\n",
        "broken_test": RIGHT_TEXT.encode(),
    }
    files = {name: folder / f"{name}.py" for name in texts}
    for name, text in texts.items():
        files[name].write_bytes(text)
    (folder / "test_ex01.py").write_text(BROKEN)
    apart = [files.pop(name) for name in (*STOPPED, "endless_load")]
    broken = [files.pop("broken_test")]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(grade, tests, apart, limit=3.0),
            pool.submit(grade, tests, list(files.values())),
            pool.submit(grade, folder / "test_ex01.py", broken),
        ]
        return {report.file.stem: report for job in jobs for report in job.result()}


@pytest.mark.parametrize("name", ["windows", "print_flood", "odd_output"])
def test_line_ends_and_prints_cost_no_marks(name, reports):
    assert reports[name].complete, told(reports[name].results)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_explained_and_the_other_questions_keep_their_marks(name, reports):
    report = reports[name]
    assert failed_questions(report) == ["ex01.2"]
    assert re.search(ODD[name][1], told(report.questions["ex01.2"]), re.DOTALL)


@pytest.mark.parametrize(
    ("name", "question", "message"),
    [
        ("no_function", "ex01.2", "Your file has no function minibatches"),
        ("no_callable", "ex01.2", "minibatches in your file is an int, not a function"),
        ("not_finite", "ex01.1", r"returned \[inf, inf\], expected finite numbers"),
    ],
)
def test_what_cannot_be_called_or_counted_is_named(name, question, message, reports):
    assert failed_questions(reports[name]) == [question]
    assert re.search(message, told(reports[name].results))


def test_an_empty_file_is_not_said_to_have_misspelt_names(reports):
    said = set(told(reports["empty"].results).splitlines())
    assert said == {"Your file defines no functions. "}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_run_is_not_gradable_and_says_why(name, reports):
    report = reports[name]
    assert {r.status for r in report.results} == {"not gradable"}
    page = render(report, "check {question}")
    assert len(re.findall("cannot be graded yet", page)) == 1
    assert re.search(UNREADABLE[name][1], report.results[0].message)


@pytest.mark.parametrize("name", STOPPED)
def test_after_a_stop_only_the_rest_of_that_question_is_not_run(name, reports):
    states = [r.status for r in reports[name].questions["ex01.2"]]
    assert states == ["stopped", *["not run"] * 4]


def test_output_is_kept_for_the_student_but_not_all_of_a_flood(reports):
    printed = {len(r.printed) for r in reports["print_flood"].questions["ex01.2"]}
    assert printed == {2000}


def test_a_fault_of_a_test_is_no_fault_of_the_answer(reports):
    report = reports["broken_test"]
    assert [r.status for r in report.results] == ["error", "passed"]
    assert marks(report.results) == (3, 3)
    assert not report.complete
    page = render(report, "check {question}")
    assert "not your answer: please tell your instructor" in page
    assert "3 of 3, 2 not judged" in page


def test_tests_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "test_ex01.py").write_text("def test(:\n")
    with pytest.raises(CheckBroken, match="SyntaxError"):
        grade(tmp_path / "test_ex01.py", [tmp_path / "mine.py"])


def test_what_a_passed_test_records_is_told_of_each_file(tmp_path):
    tests = tmp_path / "test_text.py"
    tests.write_text(
        "import pytest\n\n"
        "@pytest.mark.q('q1', 1, function='text')\n"
        "def test_text(student, record_property):\n"
        "    record_property('reading', student.call('text').value)\n"
    )
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for file in files:
        file.write_text(f"def text(): return {file.stem!r}\n")
    reports = grade(tests, files)
    assert [report.results[0].message for report in reports] == ["one", "two"]


def test_the_marker_can_give_a_call_more_or_less_time(tmp_path):
    tests = tmp_path / "test_slow.py"
    tests.write_text(
        "import pytest\n\n"
        "@pytest.mark.q('q1', 1, function='nap', wall=30)\n"
        "def test_long(student):\n    assert student.call('nap', 2).value is None\n\n"
        "@pytest.mark.q('q2', 1, function='nap', wall=0.5)\n"
        "def test_short(student):\n    assert student.call('nap', 4).value is None\n"
    )
    answer = tmp_path / "slow.py"
    answer.write_text("import time\n\ndef nap(s):\n    time.sleep(s)\n")
    (report,) = grade(tests, [answer], limit=1.0)
    assert [r.status for r in report.results] == ["passed", "stopped"]
    assert "still running after 0.5 seconds" in report.results[1].message
