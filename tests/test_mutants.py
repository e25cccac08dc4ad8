"""Typical answers to the exercises, and the module that they are written in."""

import ast
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from fedlab_grade import run
from fedlab_grade.assignment import Assignment, find
from fedlab_grade.classroom.trial import (
    SOLUTION,
    UNTOUCHED,
    answers,
    complaint,
    failed_questions,
    grade_answers,
)
from fedlab_grade.home.progress import exercise_of
from fedlab_grade.mutants import Mutant, read_mutants
from fedlab_grade.options import Refusal
from fedlab_grade.run import Report, Result, marks

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.stem.partition("_")[0] for path in (ROOT / "solutions").glob("ex*.py"))
EXERCISES = {name: find(name) for name in NAMES}
POINTS = {name: exercise_of(found.tests).points for name, found in EXERCISES.items()}
ANSWERS = {name: answers(exercise) for name, exercise in EXERCISES.items()}
Bank = Callable[[str], dict[str, Report]]

pytestmark = [pytest.mark.grader, pytest.mark.processes]


@pytest.fixture(scope="module")
def bank(forked, tmp_path_factory):
    """A function of an exercise that gives the reports on its answers: name -> report.

    An answer is graded on the questions that call what it defines. The functions of all other
    questions are the solution's, and call the solution's.
    """

    def graded(exercise: Assignment, question: str, some: list[Mutant]) -> dict[str, Report]:
        folder = tmp_path_factory.mktemp("answers")
        files = {folder / f"answer{i}.py": answer for i, answer in enumerate(some)}
        for file, answer in files.items():
            file.write_text(answer.text)
        reports = run.grade(exercise.tests, list(files), question)
        return {files[report.file].name: report for report in reports}

    @cache
    def reports(name: str) -> dict[str, Report]:
        exercise = EXERCISES[name]
        asked = callers(exercise, tmp_path_factory.mktemp("without"))
        groups: dict[str, list[Mutant]] = {}
        for answer in ANSWERS[name]:
            questions = {question for f in answer.functions for question in asked.get(f, ())}
            group = questions.pop() if len(questions) == 1 else ""  # "" is all questions
            groups.setdefault(group, []).append(answer)
        with ThreadPoolExecutor(2) as pool:
            parts = pool.map(lambda group: graded(exercise, *group), groups.items())
            return {name: report for part in parts for name, report in part.items()}

    return reports


TELLING = """
    @wraps(_solution["{0}"])
    def {0}(*given, **named):
        print("{0}")
        return _solution["{0}"](*given, **named)
"""


def callers(exercise: Assignment, folder: Path) -> dict[str, set[str]]:
    """Return function of the solution -> the questions that call it; each call prints its name."""
    tree = ast.parse(exercise.reference)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    telling = "".join(map(TELLING.format, functions))
    text = f"from functools import wraps\n\n@right\nclass telling:{telling}"
    (folder / "mutants.py").write_text(text)
    (answer,) = read_mutants(folder / "mutants.py", exercise.reference)
    (folder / "answer.py").write_text(answer.text)
    (report,) = run.grade(exercise.tests, [folder / "answer.py"])
    assert report.complete
    found: dict[str, set[str]] = {function: set() for function in functions}
    for result in report.results:
        for function in found.keys() & {*result.printed.splitlines()}:
            found[function].add(result.question)
    return found


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [pytest.param(e, a, id=f"{e}-{a.name}") for e, tried in ANSWERS.items() for a in tried],
)
def test_a_typical_answer_is_judged_as_it_is_marked(exercise, answer, bank):
    assert complaint(answer, bank(exercise)[answer.name]) == ""


@pytest.mark.parametrize(
    ("question", "known"),
    # with one epoch and a single full minibatch, the two mistakes are one
    [("ex01.2", ["one minibatch an epoch"]), ("ex03.1", []), ("ex04.5", [])],
)
def test_no_failed_test_names_another_mistake(question, known, bank):
    exercise = question.partition(".")[0]
    wrong = [answer for answer in ANSWERS[exercise] if answer.question == question]
    misled = [
        answer.name
        for answer in wrong
        for result in bank(exercise)[answer.name].questions[question]
        if result.likely and not re.search(answer.hint, f"{result.message} {result.likely}")
    ]
    assert wrong
    assert misled == known


@pytest.mark.nightly
@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_typical_answer_is_judged_so_on_all_questions(exercise, forked):
    reports = grade_answers(EXERCISES[exercise].tests, ANSWERS[exercise])
    said = {answer.name: complaint(answer, reports[answer.name]) for answer in ANSWERS[exercise]}
    assert {name: text for name, text in said.items() if text} == {}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_gets_all_points_and_the_untouched_exercise_none(exercise, bank):
    points, reports = POINTS[exercise], bank(exercise)
    assert marks(reports[SOLUTION].results) == (points, points)
    assert marks(reports[UNTOUCHED].results) == (0, points)
    assert {r.status for r in reports[UNTOUCHED].results} == {"not written"}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_each_question_has_typical_mistakes(exercise, bank):
    wrong = [answer.question for answer in ANSWERS[exercise] if answer.question]
    assert len(wrong) >= 8
    assert set(wrong) == set(bank(exercise)[SOLUTION].questions)


# --- how an answer is judged ----------------------------------------------------------------------


def report(*statuses: str, message: str = "it is twice as much") -> Report:
    """A report with one test of one point for each question."""
    results = [
        Result(f"test_{i}", f"q{i}", "f", 1, "", status=status, message=message)
        for i, status in enumerate(statuses, 1)
    ]
    return Report(Path("answer.py"), tuple(results))


@pytest.mark.parametrize(
    ("answer", "judged", "said"),
    [
        (Mutant("a", "", "q1", "twice"), report("failed", "passed"), ""),
        (Mutant("a", "", "q1", "half"), report("failed", "passed"), "should be told 'half', not: "),
        (Mutant("a", "", "q1", "twice"), report("failed", "failed"), "fails q1, q2"),
        (Mutant("a", "", "q1", "twice"), report("passed", "failed"), "fails q2"),
        (Mutant("a", "", "q1", "twice"), report("passed", "passed"), "fails nothing"),
        (Mutant("short", ""), report("passed", "passed"), ""),
        (Mutant("short", ""), report("passed", "raised"), "fails q2: it is twice as much"),
        (Mutant(SOLUTION, ""), report("stopped", "passed"), "should get full marks, and fails q1"),
        (Mutant(UNTOUCHED, ""), report("not written", "not written"), ""),
        (Mutant(UNTOUCHED, ""), report("not written", "passed"), "and wins 1 points"),
    ],
)
def test_an_answer_that_is_judged_otherwise_than_marked_is_complained_of(answer, judged, said):
    told = complaint(answer, judged)
    assert (said in told) if said else told == ""


def test_of_a_right_answer_only_the_failed_tests_are_told():
    judged = report("passed", "failed", message="seen")
    assert complaint(Mutant("short", ""), judged).count("seen") == 1


def test_a_question_fails_with_any_of_its_tests():
    first = Result("a", "q1", "f", 1, "", status="passed")
    second = Result("b", "q1", "f", 1, "", status="not run")
    assert failed_questions(Report(Path("x.py"), (first, second))) == ["q1"]


# --- the module of typical answers ----------------------------------------------------------------

WRITTEN = '''\
"""Homework."""

import math

SCALE = 2


def double(x):
    return SCALE * x


def area(r, double=None):
    return math.pi * r * (double or 1) * r


def quadruple(x):
    return double(double(x))
'''
MARKED = '''\
import operator
from math import tau

from fedlab_grade.mutants import edits, right, wrong


def half(x):
    return operator.truediv(x, 2)


@wrong("q1", "half", "half of it")
def double(x):
    return half(x)


@wrong("q2", "perimeter", r"tau \\* r")
def area(r):
    return tau * r


edits("q3", {"eightfold": ("8 times", "double(double(x))", "double(double(double(x)))")})


@edits("q1", {
    "tenth": ("a tenth", "/ 2", "/ 10"),
    "negative": ("below 0", "return", "return -"),
})
def double(x):
    """Undo halving."""
    return x / (1 / (4 / 2))


@right
class loops:
    """Sums only."""

    PLUS = 1

    def add(x, y):
        return x + PLUS * y

    def double(x):
        return add(x, x)

    def quadruple(x):
        return add(double(x), double(x))
'''


def read(tmp_path: Path, text: str = MARKED) -> dict[str, Mutant]:
    (tmp_path / "mutants.py").write_text(text)
    return {answer.name: answer for answer in read_mutants(tmp_path / "mutants.py", WRITTEN)}


def functions(answer: Mutant) -> dict:
    defined: dict = {}
    exec(answer.text, defined)
    return defined


def test_answers_have_the_names_questions_and_hints_of_their_markers(tmp_path):
    found = [(a.name, a.question, a.hint) for a in read(tmp_path).values()]
    assert found == [
        ("half", "q1", "half of it"),
        ("perimeter", "q2", r"tau \* r"),
        ("eightfold", "q3", "8 times"),
        ("tenth", "q1", "a tenth"),
        ("negative", "q1", "below 0"),
        ("loops", "", ""),
    ]


def test_a_mistake_is_in_its_function_and_the_solutions_others_do_not_call_it(tmp_path):
    half = functions(read(tmp_path)["half"])
    assert (half["double"](8), half["quadruple"](8)) == (4, 32)
    assert half["area"](1, double=2) == half["math"].pi * 2  # an argument of the same name


def test_an_edit_replaces_text_in_the_function_below_it_or_in_the_solutions(tmp_path):
    found = read(tmp_path)
    assert functions(found["tenth"])["double"](3) == pytest.approx(3 / (1 / (4 / 10)))
    assert functions(found["negative"])["double"](3) == -6
    assert functions(found["negative"])["quadruple"](3) == 12  # calls the solution's
    assert functions(found["eightfold"])["quadruple"](3) == 24


def test_imports_and_functions_of_the_module_go_along(tmp_path):
    found = read(tmp_path)
    assert functions(found["perimeter"])["area"](2) == pytest.approx(12.566370614359172)
    assert "operator" in found["half"].text
    assert all("fedlab_edu" not in answer.text for answer in found.values())


def test_a_class_holds_an_answer_of_several_definitions(tmp_path):
    loops = functions(read(tmp_path)["loops"])
    assert [loops[name](3) for name in ("double", "quadruple", "area")] == [
        6, 12, 9 * loops["math"].pi,
    ]  # fmt: skip


SHARED = """\
from fedlab_grade.mutants import wrong


@wrong("N", "zero", "area_N is 0")
def area_N(r):
    return 0
"""


def test_answers_to_several_questions_stand_once_and_are_included_for_each(tmp_path):
    written = "\n".join(f"def area_{n}(r):\n    return r * r\n" for n in (2, 3))
    (tmp_path / "shared.py").write_text(SHARED)
    for n in (2, 3):
        (tmp_path / "mutants.py").write_text(f'include("shared.py", "hw.{n}")\n')
        (zero,) = read_mutants(tmp_path / "mutants.py", written)
        assert (zero.name, zero.question, zero.hint) == ("zero", f"hw.{n}", f"area_{n} is 0")
        assert [functions(zero)[f"area_{i}"](3) for i in (2, 3)] == [9 * (n != i) for i in (2, 3)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(:\n", "mutants.py, line 1: invalid syntax"),
        ("@wrong('q1', 'x')\ndef double(x): pass\n", r"line 2: write @right, or @wrong\("),
        ("@wrong('q1', 'x', hint='y')\ndef double(x): pass\n", "line 2: write @right"),
        ("@wrong('q1', '', 'y')\ndef double(x): pass\n", "line 2: write @right"),
        ("@right()\nclass a:\n    def double(x): pass\n", "line 2: write @right"),
        ("@right\nclass a:\n    def triple(x): pass\n", "no such function; it has: double, area"),
        ("include('mutants.py')\n", r"line 1: write include\("),
        ("include('no.py', 'q1')\n", r"line 1: there is no .*/no.py to include"),
        ("include('../no.py', 'q1')\n", r"line 1: there is no .*/no.py to include"),
        ("edits('q1', {'a': ('b', 'c')})\n", r"line 1: write edits\("),
        ("edits('q1', {'a': ('b', 1, 2)})\n", r"line 1: write edits\("),
        ("edits(*'q1')\n", r"line 1: write edits\("),
        ("edits('q1', {'a': ('b', 'x', 'y')})\n", r"line 1, q1, 'a': 'x' stands 4 times"),
        ("edits('q1', {'a': ('b', 'Homework', '')})\n", r"q1, 'a': 'Homework' stands 0 times"),
        ("edits('q1', {'a': ('b', 'SCALE * x', '(')})\n", r"q1, 'a': with '\(' it is "),
        ("edits('q1', {'a': ('b', 'SCALE * x', '\\udcff')})\n", r"with '\\udcff' it is 'utf"),
        ("@edits('q1', {'a': ('b', 's', 'y')})\ndef double(x): pass\n", "'s' stands 2 times"),
        (MARKED + MARKED, "line 58: 'half' is the name of another answer"),
    ],
)
def test_a_module_that_cannot_be_understood_is_refused_by_its_line(text, told, tmp_path):
    with pytest.raises(Refusal, match=told):
        read(tmp_path, text)


def test_a_module_that_is_not_utf_8_is_refused_by_its_line(tmp_path):
    (tmp_path / "mutants.py").write_bytes(MARKED.encode() + "# für\n".encode("latin-1"))
    with pytest.raises(Refusal, match=r"mutants.py is not UTF-8 text \(line \d+\): save it"):
        read_mutants(tmp_path / "mutants.py", WRITTEN)
