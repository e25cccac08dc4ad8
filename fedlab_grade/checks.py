"""Check an answer in the order in which a person would look at it; the first failure speaks.

A test gets an `Answer` from ``student.call(name, *arguments)`` and passes it to `close`,
`unchanged`, `form` or `tensor`, or first to `parts` where it is a tuple. Each raises a `Failure`,
whose text is for the student. `check` does so for several cases at once.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from torch import Tensor

from fedlab_grade.answer import IN_PLACE, Answer, Failure, Stopped, also, changed, failed
from fedlab_grade.faults import NOT_FINITE, Fault, Value, convert, fault_of, form_fault, type_fault
from fedlab_grade.printing import kind, show


def close(
    answer: Answer, want: Value, wrong: Mapping[str, Value] | None = None, rule: str = ""
) -> None:
    """Raise unless the answer is ``want`` in shape and, up to rounding, in value.

    A list for an array, another dtype and whole floats for ints are converted, see `unchanged`.

    Args:
        want: a tensor, an array, a number, or a list of tensors or of numbers.
        wrong: what known mistakes return, each under a sentence that names the mistake. A
            mistake that happens to be right on these arguments is passed over.
        rule: a sentence on what is checked, to begin the message with.
    """
    fault = fault_of(answer.value, want)
    if fault is None:
        return _note(answer, want)
    for mistake, value in (wrong or {}).items():
        if fault_of(value, want) and not fault_of(answer.value, value):
            raise failed(answer, fault, mistake, rule)
    raise failed(answer, fault, rule=rule)


def _note(answer: Answer, like: Value) -> None:
    if fault := type_fault(answer.value, like):
        answer.converted.append(failed(answer, fault))


def unchanged(answer: Answer) -> None:
    """Raise unless the function has left its arguments as they were, and its answers were not
    converted by the earlier checks of the test.

    This is the last line of one test of each question, which judges form alone.
    """
    if answer.changed:
        raise Failure(f"{answer.function} changed {changed(answer)}.", IN_PLACE)
    if answer.converted:
        raise answer.converted[0]


def form(answer: Answer, like: Value) -> Any:
    """Return the answer, converted if need be, once it is known to have the shape of ``like``.

    Numbers come as int or float, and numbers in a list, of any length, too. Entries may be infinite
    or NaN.
    """
    value = convert(answer.value, like)
    if fault := form_fault(value, like):
        raise failed(answer, fault)
    _note(answer, like)
    return value


def tensor(answer: Answer, like: Tensor) -> Tensor:
    """Return the answer itself, once it is known to be a finite tensor of like shape."""
    value: Tensor = form(answer, like)
    if not value.isfinite().all():
        raise failed(answer, Fault(f"{show(value)}, expected finite numbers", NOT_FINITE))
    return value


def parts(answer: Answer, *names: str) -> list[Answer]:
    """Return the returned values, each as an answer of its own, once there are as many as names."""
    value = answer.value
    if isinstance(value, Tensor | np.ndarray) and value.shape == (len(names),):
        value = value.tolist()
    if isinstance(value, list | tuple) and len(value) == len(names):
        return [replace(answer, value=v, part=n) for v, n in zip(value, names, strict=True)]
    found = f"{len(value)} values" if isinstance(value, list | tuple) else kind(value)
    asked = ", ".join(names)
    likely = "there is no `return`" if value is None else f"the last line is `return {asked}`"
    raise failed(answer, Fault(f"{found}, expected the {len(names)} values {asked}", likely))


class Case(NamedTuple):
    """Arguments, what is to be returned for them, and a sentence that explains it."""

    arguments: tuple[Any, ...]
    want: Any = None
    rule: str = ""


def check(
    ask: Callable[..., Answer],
    mistakes: Mapping[str, Callable[..., Any]],
    cases: Iterable[Case],
    others: Iterable[Case] = (),
    judge: Callable[[Answer, Case], None] | None = None,
    names: tuple[str, ...] = (),
    only: str = "",
) -> None:
    """Raise unless the answers to all cases are right.

    Args:
        ask: the answer for the arguments of a case.
        mistakes: what known mistakes return for them, None where a mistake cannot be made; each
            under a sentence that names the mistake.
        others: cases in which a wrong answer does not count, but tells which mistake it is.
        judge: raises a Failure where an answer is not right for a case. Without it the answer must
            be what is wanted, see `close`.
        names: the parts of the answer, where it is a tuple. What is wanted, and what mistakes
            return, are then tuples, too.
        only: the one of these parts that is judged, since each has marks of its own; "" for all.

    Raises:
        Failure: of the first answer that is not right. The mistake that it names explains all
            answers, so that one that happens to look like another in one case is not taken for it.
    """
    answers: list[tuple[Answer, Case]] = []
    faults: list[tuple[Failure, Answer | None]] = []
    for case in cases:
        answer = None
        try:
            answer = ask(*case.arguments)
            answers.append((answer, case))
            judge(answer, case) if judge else _equal(answer, case.want, names, only, case.rule)
        except Failure as failure:
            faults.append((failure, answer))
    if not faults:
        return
    first, answer = faults[0]
    if answer is None:  # the function raised an exception, or is not written yet
        raise first
    for case in others:
        with suppress(Failure):
            answers.append((ask(*case.arguments), case))
    explain = (
        mistake
        for mistake, rule in mistakes.items()
        if all(_is_explained(answer, rule, case, names, only) for answer, case in answers)
    )
    more = "" if also(answer) in str(first) else also(answer)
    likely = next(explain, "") or first.likely or (IN_PLACE if answer.changed else "")
    raise Failure(f"{first}{more}", likely)


def _equal(answer: Answer, want: Any, names: tuple[str, ...], only: str, rule: str = "") -> None:
    if not names:
        return close(answer, want, rule=rule)
    for part, value in zip(parts(answer, *names), want, strict=True):
        if only in ("", part.part):
            close(part, value, rule=rule)


def _is_explained(
    answer: Answer, rule: Callable[..., Any], case: Case, names: tuple[str, ...], only: str
) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would be taken for the student's output
            value = rule(*case.arguments)
        if value is not None:
            _equal(answer, value, names, only)
    except Failure:  # also of the student's own functions, where a rule calls them
        return False
    return value is not None


_Test = TypeVar("_Test", bound=Callable[..., None])


def composite(**parts: Callable[..., Any]) -> Callable[[_Test], _Test]:
    """Judge a composite apart from its parts, which are questions of their own.

    A test that fails runs again with these functions in the place of the student's of the same
    names, and then this run decides. So a mistake in a part is charged once, and a composite that
    repeats it is told its own mistakes only.
    """

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def judge(student: Any, **more: Any) -> None:
            try:
                return test(student=student, **more)
            except Stopped:
                raise
            except Failure:
                with student.given(parts):
                    return test(student=student, **more)

        return cast(_Test, judge)

    return decorate
