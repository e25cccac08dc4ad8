"""Texts that a student reads: the checks of an answer, and the report on a file."""

import math
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fedlab_grade.answer import Stopped
from fedlab_grade.checks import (
    Answer,
    Case,
    Failure,
    check,
    close,
    composite,
    form,
    parts,
    tensor,
    unchanged,
)
from fedlab_grade.faults import ATOL, RTOL
from fedlab_grade.printing import printable, show
from fedlab_grade.report import render
from fedlab_grade.run import Progress, Report, Result, marks
from fedlab_grade.student import NotWritten, Raised, Student
from fedlab_grade.wire import Unknown

pytestmark = pytest.mark.grader


def answer(value: object, changed: tuple[str, ...] = ()) -> Answer:
    return Answer("f", value, {"n": "3"}, changed)


def test_a_mistake_that_is_right_here_explains_no_answer_beyond_the_tolerance():
    right, beyond = (1 + share * (RTOL + ATOL) for share in (0.8, 1.5))
    close(answer(right), 1.0)
    with pytest.raises(Failure) as raised:
        close(answer(beyond), 1.0, {"the mean is forgotten": right})
    assert raised.value.likely != "the mean is forgotten"


def test_a_composite_that_was_stopped_is_not_run_again():
    runs = []

    @composite(half=lambda x: x / 2)
    def judge(student: object) -> None:
        runs.append(student)
        raise Stopped("f was stopped")

    with pytest.raises(Stopped):
        judge(student=SimpleNamespace(given=lambda parts: nullcontext()))
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("odd", "said"),
    [("to_sparse()", "a sparse_coo tensor"), ("to('meta')", "a meta tensor")],
)
def test_an_unusual_tensor_is_an_answer_like_any_other_wrong_one(odd, said):
    text = f"import torch\ndef f(): return torch.zeros(2, dtype=torch.float64).{odd}\n"
    found = Student(Path("f.py"), f"{text}def g(): return [f()]\n")
    with pytest.raises(Failure, match=rf"returned {said}, expected a tensor of shape \(2,\)"):
        close(found.call("f"), torch.zeros(2, dtype=torch.float64))
    with pytest.raises(Failure, match=f"returned a list with {said} in it, expected tensors"):
        form(found.call("g"), [torch.zeros(2)])


def test_an_answer_has_plain_types_and_no_functions_but_those_it_was_given():
    text = "import collections\nP = collections.namedtuple('P', 'a b')\n"
    found = Student(Path("f.py"), f"{text}def f(g, x):\n    x[0] = g\n    return P(g, print)\n")
    value, names, after = found.run("f", [len, [0]], {}, None)
    assert (names, after) == (["g", "x"], [len, [len]])
    assert type(value).__name__ == "P"
    assert isinstance(value, Unknown)
    value, _, _ = Student(Path("f.py"), "def f(g): return [g, print]").run("f", [len], {}, None)
    assert value[0] is len
    assert isinstance(value[1], Unknown)


def test_checks_look_at_type_shape_finiteness_and_value_in_this_order():
    want = torch.tensor([1.0, 2.0], dtype=torch.float64)
    seen = []
    for value in (None, [[nan := torch.nan]], [nan], torch.tensor([[nan]]), want[:1] * nan):
        with pytest.raises(Failure) as failure:
            close(answer(value), want)
        seen.append(str(failure.value))
    with pytest.raises(Failure) as failure:
        close(answer(want * nan), want)
    assert [re.sub(r"f with n = 3 returned ", "", s) for s in [*seen, str(failure.value)]] == [
        "None, expected a tensor of shape (2,).",
        "a tensor of shape (1, 1), expected (2,).",
        "a tensor of shape (1,), expected (2,).",
        "a tensor of shape (1, 1), expected (2,).",
        "a tensor of shape (1,), expected (2,).",
        "[nan, nan], expected finite numbers: [1, 2].",
    ]
    close(answer(want.clone().requires_grad_()), want)  # part of a graph is no mistake


CONVERTIBLE = [  # what comes, what is wanted, what is said of the form
    ([1, 2.5], torch.tensor([1, 2.5], dtype=torch.float64), "a list, expected a tensor"),
    (np.array([1, 2]), torch.tensor([1.0, 2.0], dtype=torch.float64), "an array, expected a tens"),
    (torch.tensor([0.1, 1 / 3]), torch.tensor([0.1, 1 / 3]).double(), "dtype float32, expected fl"),
    (torch.tensor([0.1 + 1e-6]), torch.tensor([0.1]).double(), "dtype float32, expected float64"),
    (torch.tensor([1.0, 2.0]), torch.tensor([1, 2]), "dtype float32, expected int64"),
    ([[1.0, 2.0]], [torch.tensor([1, 2])], "a list with a list in it"),
    ([torch.tensor([1.0])], [torch.tensor([1])], "dtype float32, expected int64"),
    ([1.0, 0.5], np.array([1, 0.5]), "a list, expected an array"),
    (np.array([1, 0.5], "f4"), np.array([1, 0.5]), "dtype float32, expected float64"),
    (3.0, 3, "the float 3.0, expected an int"),
    ([3.0, 4.0], [3, 4], "a list with the float 3.0 in it"),
]


@pytest.mark.parametrize(("got", "want", "said"), CONVERTIBLE)
def test_another_type_costs_the_form_alone_and_hides_no_mistake(got, want, said):
    right, wrong = answer(got), answer(got)
    close(right, want)
    with pytest.raises(Failure, match=re.escape(said)):
        unchanged(right)
    with pytest.raises(Failure) as failure:
        close(wrong, _plus_one(want), {"one is missing": want})
    assert failure.value.likely == "one is missing"


def _plus_one(value: Any) -> Any:
    return [_plus_one(x) for x in value] if isinstance(value, list) else value + 1


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (torch.tensor([1.5]), torch.tensor([1])),
        (1.5, 1),
        (torch.tensor([True]), torch.tensor([1.0])),
        (torch.tensor([1.0]), torch.tensor([True])),
        (torch.tensor([math.nan]), torch.tensor([1])),
        ([[1.0], [1.0, 2.0]], torch.ones(2, 2)),
        (["1"], torch.ones(1)),
        (torch.tensor([0.1003]), torch.tensor([0.1]).double()),
    ],
)
def test_what_would_change_a_number_is_not_converted(got, want):
    with pytest.raises(Failure):
        close(answer(got), want)


def test_a_wrong_value_is_compared_with_known_mistakes_but_not_with_those_right_here():
    want, double = torch.tensor([2.0]), torch.tensor([4.0])
    wrong = {"no mistake on these arguments": want, "twice as much": double}
    with pytest.raises(Failure, match=r"returned \[4\], expected \[2\]") as failure:
        close(answer(double), want, wrong)
    assert failure.value.likely == "twice as much"
    with pytest.raises(Failure) as failure:
        close(answer(double + 1), want, wrong)
    assert failure.value.likely == ""


def test_a_change_of_the_arguments_is_the_likeliest_mistake():
    value = torch.tensor([4.0])
    with pytest.raises(Failure, match="It also changed its argument w") as failure:
        close(answer(value, changed=("w",)), value + 1, {"another": value})
    assert ".clone()" in failure.value.likely
    close(answer(value, changed=("w",)), value)
    with pytest.raises(Failure, match="f changed its arguments w and b"):
        unchanged(answer(value, changed=("w", "b")))


def test_long_answers_are_told_by_their_first_wrong_entry():
    want = torch.zeros(5, 10)
    got = want.clone()
    got[3, 4] = 0.5
    with pytest.raises(Failure, match=r"1 wrong entries of 50: entry \[3, 4\] is 0.5, expected 0"):
        close(answer(got), want)


def test_an_answer_is_handed_on_only_in_the_form_asked_for():
    value = torch.tensor([1.0])
    assert torch.equal(tensor(answer(value), like=torch.zeros(1)), value)
    assert form(answer((value, value)), [value]) == (value, value)
    with pytest.raises(Failure, match="a float, expected a tensor"):
        tensor(answer(1.0), like=value)
    with pytest.raises(Failure, match="a tensor, expected a list of tensors"):
        form(answer(value), [value])
    with pytest.raises(Failure, match="a tensor, expected a list of tensors"):
        close(answer(value), [value])


def test_each_of_two_returned_values_is_judged_and_named():
    one, two = torch.tensor([1.0]), torch.tensor([2.0])
    first, second = parts(answer((one, one), changed=("w",)), "w", "h")
    close(first, one)
    with pytest.raises(Failure, match=r"f with n = 3 returned h = \[1\], expected \[2\]"):
        close(second, two)
    assert second.changed == ("w",)
    for value, seen in ((one, "a tensor"), ((one,) * 3, "3 values"), (None, "None")):
        with pytest.raises(Failure, match=f"{seen}, expected the 2 values w, h") as failure:
            parts(answer(value), "w", "h")
        assert ("no `return`" if value is None else "`return w, h`") in failure.value.likely


def message_of(value: object, want: Any) -> str:
    """Return what a student reads who returned the value."""
    with pytest.raises(Failure) as failure:
        close(answer(value), want)
    return f"{failure.value} {failure.value.likely}".removeprefix("f with n = 3 returned ")


@pytest.mark.parametrize(
    ("value", "want", "message"),
    [
        ({}, np.ones(1), "a dict, expected an array of shape (1,). an array is asked for"),
        (np.ma.masked_array(["a"]), np.ones(1), "a MaskedArray, expected an array of shape (1,)."),
        (np.ones((1, 2)), np.ones(2), "an array of shape (1, 2), expected (2,). the answer has 2"),
        (np.ones(2) * np.nan, np.ones(2), "[nan, nan], expected finite numbers: [1, 1]. inf and"),
        (np.ones((5, 6)), np.eye(5, 6), "an array with 25 wrong entries of 30: entry [0, 1] is 1"),
        (2.5, 1, "the float 2.5, expected an int. an int is asked for"),
        ("2", 1.0, "a str, expected a number."),
        (None, 1, "None, expected an int. there is no `return`"),
        (10**20, 1.0, "an int of more than 18 digits, expected a number."),
        (1.0000051, 1.0000062, "1.0000051, expected 1.0000062."),
        (3, [3], "an int, expected a list of numbers. a list is asked for, not an int"),
        ([1, "a"], [1, 2], "a list with a str in it, expected an int in each place."),
        ([1, 2], [1, 2, 3], "[1, 2], expected [1, 2, 3]."),
        ([1_000_001, 2], [1_000_000, 2], "[1000001, 2], expected [1000000, 2]."),
        ([0.5, np.inf], [0.5, 1.0], "[0.5, inf], expected finite numbers: [0.5, 1]. inf and NaN"),
        ("up", "down", "'up', expected 'down'."),
        (3, "down", "an int, expected a text."),
        (None, "down", "None, expected a text. there is no `return`"),
    ],
)
def test_a_wrong_array_number_or_list_is_told_as_a_tensor_is(value, want, message):
    assert message_of(value, want).startswith(message)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (np.float64(2), np.asarray(2.0)),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
        (2, 2.0),
        ("up", "up"),
        (np.str_("up"), "up"),
        (np.int64(2), 2),
        (torch.tensor(0.5), 0.5),
        ((1, np.int64(2)), [1, 2]),
        (np.array([0.5, 1.5]), [0.5, 1.5]),
        ([], []),
        ([torch.ones(1), torch.zeros(2)], [torch.ones(1), torch.zeros(2)]),
    ],
)
def test_an_equal_value_is_right_in_each_type_that_can_stand_for_the_one_asked_for(value, want):
    close(answer(value), want)


def test_the_form_of_an_answer_is_asked_for_without_its_values():
    assert form(answer(np.float64(2)), 0.0) == 2.0
    assert type(form(answer(np.int64(2)), 0)) is int
    assert form(answer(np.array([3, 4, 5])), [0]) == [3, 4, 5]
    assert np.isnan(form(answer(np.ones(2) * np.nan), np.zeros(2))).all()
    assert form(answer(torch.ones(1, requires_grad=True)), torch.zeros(1)).requires_grad is False
    with pytest.raises(Failure, match=r"the float 2\.5, expected an int"):
        form(answer(2.5), 0)
    with pytest.raises(Failure, match="expected finite numbers"):
        tensor(answer(torch.ones(1) / 0), like=torch.zeros(1))


def test_long_values_are_shown_by_their_size_and_short_ones_in_full():
    assert show(np.array([[1, 2.5]])) == show([[1, 2.5]]) == "[[1, 2.5]]"
    assert show(np.zeros((5, 6))) == "an array of shape (5, 6)"
    assert show([torch.zeros(20), torch.zeros(9)]) == "a list of 2 entries"
    assert show(123456) == "123456"
    assert printable([0.5, 1, np.nan]) == "[0.5, 1, nan]"
    assert printable([0.5] * 40) == "40 numbers"
    assert printable("aggressive") == "'aggressive'"
    assert printable("a" * 25) == ""
    assert printable([torch.zeros(1)]) == printable(len) == printable(np.zeros(40)) == ""


DOUBLED = {"add it twice": lambda x: x, "2 x, not x^2": lambda x: x * x}


def fault_of(function: Callable[[int], int], *arguments: int) -> Failure:
    """Return the failure of a function that should double its argument."""
    cases = [Case((x,), 2 * x) for x in arguments]
    with pytest.raises(Failure) as fault:
        check(lambda x: Answer("double", function(x), {"x": str(x)}, ()), DOUBLED, cases)
    return fault.value


def test_a_mistake_is_named_only_if_it_explains_every_answer():
    assert fault_of(lambda x: x * x, 1, 2, 3).likely == "2 x, not x^2"
    assert fault_of(lambda x: 1, 1, 2, 3).likely == ""


def test_no_mistake_is_named_where_there_is_no_answer():
    def unwritten(x: int) -> int:
        raise NotWritten("double is not written yet.")

    fault = fault_of(unwritten, 1, 2)
    assert type(fault) is NotWritten
    assert fault.likely == ""


def test_cases_with_several_values_are_checked_part_by_part():
    def check_pair(low: object, high: object) -> None:
        cases = [Case((3,), ([1, 2], 3.0), "From 1 to 3.")]
        mistakes = {"the last one is missing": lambda n: ([1], 3.0)}
        check(lambda n: answer((low, high)), mistakes, cases, names=("low", "high"))

    check_pair([1, 2], 3)
    with pytest.raises(
        Failure, match=r"From 1 to 3\. f with n = 3 returned low = \[1\]"
    ) as failure:
        check_pair([1], 3.0)
    assert failure.value.likely == "the last one is missing"
    with pytest.raises(Failure, match="returned high = None, expected a number") as failure:
        check_pair([1, 2], None)
    assert "a call that returns nothing" in failure.value.likely


@pytest.mark.parametrize("value", [np.array([0.5, np.nan]), torch.tensor([0.5]), [0.5]])
def test_a_function_gets_copies_and_its_changes_to_them_are_noticed(value, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def keep(x): return x\ndef change(x): x[0] = 7.0\n")
    student, before = Student(file), str(value)
    unchanged(student.call("keep", value))
    changed = student.call("change", value)
    assert (changed.changed, changed.given) == (("x",), {"x": printable(value)})
    assert str(value) == before


@pytest.mark.parametrize(
    "value",
    [{"w": [torch.zeros(2), 1.5]}, [math.nan, np.float32(1)], (True, None, "a"), [print, range(3)]],
)
def test_arguments_of_any_plain_type_are_compared_to_the_last_bit(value, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def keep(x, n): return 1\ndef grow(x, n): n.append(x)\n")
    unchanged(Student(file).call("keep", value, []))
    assert Student(file).call("grow", value, []).changed == ("n",)


def test_a_change_of_a_dict_is_noticed(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def pop(d):\n    d['w'][0] = 1\n")
    assert Student(file).call("pop", {"w": torch.zeros(2)}).changed == ("d",)


def test_one_part_of_a_pair_is_judged_without_the_other():
    def ask(n: int) -> Answer:
        return answer((n, n))

    mistakes = {"it is n + 1": lambda n: (0, n)}
    judge = partial(check, ask, mistakes, [Case((3,), (3, 4))], names=("low", "high"))
    judge(only="low")
    with pytest.raises(Failure, match="returned high = 3, expected 4") as failure:
        judge(only="high")
    assert failure.value.likely == "it is n + 1"


def test_of_an_exception_those_classes_are_told_that_are_pythons():
    odd = "class Odd(UnicodeError): ...\nOdd.__name__ = 'KeyError'\ndef f():\n    raise Odd"
    with pytest.raises(Raised, match="f raised KeyError") as told:
        Student(Path("hw.py"), odd).call("f")
    assert told.value.kinds == [
        "UnicodeError",
        "ValueError",
        "Exception",
        "BaseException",
        "object",
    ]


COMPOSITE = """
def half(x): return x / 4
def right(x): return half(x) + 1
def wrong(x): return half(x) + 2
def part(x): return half(x)
"""


def test_a_composite_is_judged_with_the_parts_of_the_reference(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(COMPOSITE)
    mine = Student(file)

    def judged(name: str, want: float) -> None:
        @composite(half=lambda x: x / 2)
        def test(student: Student) -> None:
            close(student.call(name, 8), want)

        test(student=mine)

    judged("right", 5.0)
    judged("right", 3.0)  # with the student's own part
    judged("half", 2.0)
    with pytest.raises(Failure, match=r"returned 6, expected 5"):  # not 4: that has two mistakes
        judged("wrong", 5.0)
    with pytest.raises(Failure):
        judged("half", 4.0)  # nobody's own question is answered by the reference
    assert mine.call("half", 8).value == 2


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("torch.ones(2, 3) @ torch.ones(2, dtype=torch.float64)", "shapes do not fit"),
        ("torch.ones(2, 2).T @ torch.tensor([1, 2])", "two dtypes meet"),
        ("torch.ones(2, 2) @ torch.ones(2, 1).double()", "two dtypes meet"),
        ("torch.ones(3) + torch.ones(2)", "shapes do not fit"),
        ("np.ones(3) + np.ones(2)", "shapes do not fit"),
        ("np.ones((2, 3)) @ np.ones(2)", "shapes do not fit"),
        ("torch.ones(2, 3).view(4)", "shapes do not fit"),
        ("torch.zeros(2, dtype=torch.int64).add_(0.5)", "cannot hold floats"),
        ("torch.ones(2, requires_grad=True).sub_(1)", "changed in place while its gradient"),
        ("torch.ones(2).sum().backward()", "nothing was recorded"),
        ("torch.ones(2, requires_grad=True).numpy()", "leaves the graph"),
        ("float(torch.ones(2))", "a single number is asked for"),
        ("bool(np.ones(2) > 0)", "a single number is asked for"),
        ("torch.ones(2)[torch.ones(1)]", "position must be an int"),
        ("np.ones(2)[1.0]", "position must be an int"),
        ("torch.ones(2)[2]", "beyond the end"),
        ("[1.0, 2.0] - [0.5, 1.0]", "a list has no arithmetic"),
        ("[torch.ones(2)].mean(0)", "a list is not an array"),
        ("math.sqrt(2.0)", "a module is not imported"),
        ("raise RuntimeError('No CUDA GPUs are available')", "there is no GPU"),
        ("torch.ones(2).norm(dim=3)", "no such dim"),
        ("np.ones(2).sum(axis=1)", "no such dim"),
    ],
)
def test_the_common_exceptions_of_tensors_have_a_likely_cause(code, cause, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(f"import numpy as np\nimport torch\ndef f(): {code}\n")
    with pytest.raises(Raised) as failure:
        Student(file).call("f")
    assert cause in failure.value.likely


def test_a_report_names_marks_the_mistake_once_and_what_to_do_next():
    likely = "it is twice as much"
    first = Result(
        "a", "ex09.1", "double", 2, "by hand", False, "failed", "Got 4.", likely, "hello\n"
    )
    again = Result("b", "ex09.1", "double", 1, "drawn", False, "failed", "Got 8.", likely)
    right = Result("c", "ex09.2", "triple", 3, "by hand", status="passed")
    assert render(Report(Path("me.py"), (first, again, right)), "check {question}", 40) == """\
me.py

  ex09.1  double                  0 of 3
    ✗ by hand                     0 of 2
        Got 4.
        Likely: it is twice as much.
        Your code printed:
         | hello
    ✗ drawn                       0 of 1
        as above

  ex09.2  triple                  3 of 3

  Total                           3 of 6

Next: look at double, save the file, and run
  check ex09.1
For a hint:
  fedlab-edu hint ex09.1
"""  # fmt: skip


def test_a_report_points_to_the_hints_of_the_course_and_prints_none():
    wrong = Result("a", "ex09.1", "double", 2, "by hand", status="failed", message="Got 4.")
    own = Result("a", "q1", "double", 2, "by hand", status="failed", message="Got 4.")
    assert "fedlab-edu hint ex09.1" in render(Report(Path("me.py"), (wrong,)), "check")
    assert "hint" not in render(Report(Path("me.py"), (own,)), "check")


def test_an_invariant_counts_once_another_test_of_its_question_has_passed():
    def question(name: str, value: str, invariant: str) -> list[Result]:
        return [
            Result(f"{name}-value", name, "f", 2, "value", status=value),
            Result(f"{name}-invariant", name, "f", 1, "arguments", True, invariant),
        ]

    results = [
        *question("q1", "passed", "passed"),
        *question("q2", "failed", "passed"),
        *question("q3", "raised", "raised"),
    ]
    progress = Progress(Path("me.py"))
    progress.results = {r.test: r for r in results}
    settled = progress.report().results
    assert [r.status for r in settled] == [
        "passed", "passed", "failed", "failed", "raised", "raised",
    ]  # fmt: skip
    assert marks(settled) == (3, 9)
    assert "counts only once" in settled[3].message
