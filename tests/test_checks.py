"""What a student reads: the checks of an answer, and the report on a file."""

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fedlab_edu.grading.checks import Answer, Failure, close, parts, tensor, tensors, unchanged
from fedlab_edu.grading.report import render
from fedlab_edu.grading.run import Report, Result


def answer(value: object, changed: tuple[str, ...] = ()) -> Answer:
    return Answer("f", value, {"n": "3"}, changed)


@pytest.mark.parametrize(
    "odd",
    [
        torch.zeros(2, dtype=torch.float64).to_sparse(),
        torch.zeros(2, dtype=torch.float64, device="meta"),
    ],
)
def test_an_unusual_tensor_is_an_answer_like_any_other_wrong_one(odd: Tensor) -> None:
    for check in (lambda a: close(a, torch.zeros(2, dtype=torch.float64)), tensors):
        with pytest.raises(Failure, match="unusual tensor"):
            check(Answer("f", [odd] if check is tensors else odd, {}, ()))


def test_checks_look_at_type_dtype_shape_finiteness_and_value_in_this_order() -> None:
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
        "a list, expected a tensor of shape (2,).",
        "a list, expected a tensor of shape (2,).",
        "a tensor of dtype float32, expected float64.",
        "a tensor of shape (1,), expected (2,).",
        "[nan, nan], expected finite numbers.",
    ]
    close(answer(want.clone().requires_grad_()), want)  # part of a graph is no mistake


def test_a_wrong_value_is_compared_with_known_mistakes_but_not_with_those_right_here() -> None:
    want, double = torch.tensor([2.0]), torch.tensor([4.0])
    wrong = {"no mistake on these arguments": want, "twice as much": double}
    with pytest.raises(Failure, match=r"returned \[4\], expected \[2\]") as failure:
        close(answer(double), want, wrong)
    assert failure.value.likely == "twice as much"
    with pytest.raises(Failure) as failure:
        close(answer(double + 1), want, wrong)
    assert failure.value.likely == ""


def test_a_change_of_the_arguments_is_the_likeliest_mistake() -> None:
    value = torch.tensor([4.0])
    with pytest.raises(Failure, match="It also changed its argument w") as failure:
        close(answer(value, changed=("w",)), value + 1, {"another": value})
    assert ".clone()" in failure.value.likely
    close(answer(value, changed=("w",)), value)
    with pytest.raises(Failure, match="f changed its argument w and b"):
        unchanged(answer(value, changed=("w", "b")))


def test_long_answers_are_told_by_their_first_wrong_entry() -> None:
    want = torch.zeros(5, 10)
    got = want.clone()
    got[3, 4] = 0.5
    with pytest.raises(Failure, match=r"1 wrong entries of 50: entry \[3, 4\] is 0.5, expected 0"):
        close(answer(got), want)


def test_an_answer_is_handed_on_only_in_the_form_asked_for() -> None:
    value = torch.tensor([1.0])
    assert torch.equal(tensor(answer(value), like=torch.zeros(1)), value)
    assert tensors(answer((value, value))) == [value, value]
    with pytest.raises(Failure, match="a float, expected a tensor"):
        tensor(answer(1.0), like=value)
    with pytest.raises(Failure, match="a Tensor, expected a list of tensors"):
        tensors(answer(value))


def test_each_of_two_returned_values_is_judged_and_named() -> None:
    one, two = torch.tensor([1.0]), torch.tensor([2.0])
    first, second = parts(answer((one, one), changed=("w",)), "w", "h")
    close(first, one)
    with pytest.raises(Failure, match=r"f with n = 3 returned h = \[1\], expected \[2\]"):
        close(second, two)
    assert second.changed == ("w",)
    for value, seen in ((one, "a Tensor"), ((one,) * 3, "3 values"), (None, "None")):
        with pytest.raises(Failure, match=f"{seen}, expected the 2 values w, h") as failure:
            parts(answer(value), "w", "h")
        assert ("no `return`" if value is None else "`return w, h`") in failure.value.likely


def test_a_report_names_marks_the_mistake_once_and_what_to_do_next() -> None:
    likely = "it is twice as much"
    first = Result("a", "ex09.1", "double", 2, "by hand", "", "failed", "Got 4.", likely, "hello\n")
    again = Result("b", "ex09.1", "double", 1, "drawn", "", "failed", "Got 8.", likely)
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
"""  # fmt: skip


def test_the_hint_of_the_test_is_for_wrong_values_without_a_known_mistake() -> None:
    wrong = Result("a", "ex09.1", "double", 2, "by hand", "add", "failed", "Got 4.")
    raised = Result("a", "ex09.1", "double", 2, "by hand", "add", "raised", "TypeError")
    assert "Hint: add." in render(Report(Path("me.py"), (wrong,)), "check")
    assert "Hint" not in render(Report(Path("me.py"), (raised,)), "check")
