"""Checks of an answer, in the order in which a person would look at it; the first failure speaks.

A test gets an `Answer` from ``student.call(name, *arguments)`` and passes it to `close`,
`unchanged`, `tensor` or `tensors`, or first to `parts` where it is a pair. Each raises a `Failure`,
whose text is for the student. `check` does so for several cases at once.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torch import Tensor

from fedlab_edu.grading.faults import Fault, Value, fault_of, form_fault, kind, list_fault

IN_PLACE = "+= and -= work in place: make a copy with .clone() first"


class Failure(AssertionError):
    """What was expected and what came; and, where it is known, the likely mistake."""

    def __init__(self, message: str, likely: str = "") -> None:
        super().__init__(message)
        self.likely = likely


@dataclass(frozen=True)
class Answer:
    """What a function of the student's returned.

    Fields:
        function: its name.
        given: those of its arguments that are short enough to print, by name.
        changed: the names of the arguments that are not what they were before the call.
        part: which of several returned values this is; "" where there is one.
    """

    function: str
    value: object
    given: Mapping[str, str]
    changed: tuple[str, ...]
    part: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value}" for name, value in self.given.items())
        return f"{self.function} with {given}" if given else self.function


def close(
    answer: Answer, want: Value, wrong: Mapping[str, Value] | None = None, rule: str = ""
) -> None:
    """The answer is ``want`` in type, dtype, shape and, up to rounding, in value.

    Args:
        wrong: what known mistakes return, each under a sentence that names the mistake. A
            mistake that happens to be right on these arguments is passed over.
        rule: a sentence on what is checked, to begin the message with.

    Raises:
        Failure: it is not.
    """
    fault = fault_of(answer.value, want)
    if fault is None:
        return
    for mistake, value in (wrong or {}).items():
        if fault_of(value, want) and not fault_of(answer.value, value):
            raise _failure(answer, fault, mistake, rule)
    raise _failure(answer, fault, rule=rule)


def unchanged(answer: Answer, in_place: str = IN_PLACE) -> None:
    """The function has left its arguments as they were.

    Args:
        in_place: how else they come to be changed.

    Raises:
        Failure: it has not.
    """
    if answer.changed:
        raise Failure(f"{answer.function} changed {_changed(answer)}.", in_place)


def tensor(answer: Answer, like: Tensor) -> Tensor:
    """The answer itself, once it is known to be a finite tensor of like shape and dtype.

    Raises:
        Failure: it is not.
    """
    fault = form_fault(answer.value, like)
    if fault is not None:
        raise _failure(answer, fault)
    assert isinstance(answer.value, Tensor)
    return answer.value.detach().cpu()


def tensors(answer: Answer) -> list[Tensor]:
    """The answer itself, once it is known to be a list of tensors.

    Raises:
        Failure: it is not.
    """
    fault = list_fault(answer.value)
    if fault is not None:
        raise _failure(answer, fault)
    assert isinstance(answer.value, list | tuple)
    return list(answer.value)


def parts(answer: Answer, *names: str) -> list[Answer]:
    """The returned values, each as an answer of its own, once there are as many as names.

    Raises:
        Failure: there are not.
    """
    value = answer.value
    if isinstance(value, list | tuple) and len(value) == len(names):
        return [replace(answer, value=v, part=n) for v, n in zip(value, names, strict=True)]
    found = f"{len(value)} values" if isinstance(value, list | tuple) else kind(value)
    asked = ", ".join(names)
    likely = "there is no `return`" if value is None else f"the last line is `return {asked}`"
    raise _failure(answer, Fault(f"{found}, expected the {len(names)} values {asked}", likely))


class Case(NamedTuple):
    """Arguments, what is to be returned for them, and a sentence that explains it."""

    arguments: tuple[Any, ...]
    want: Any = None
    rule: str = ""


def check(
    ask: Callable[..., Answer],
    mistakes: Mapping[str, Callable[..., Any]],
    cases: Iterable[Case],
    equal: Callable[..., None],
    others: Iterable[Case] = (),
    judge: Callable[[Answer, Case], None] | None = None,
    in_place: str = IN_PLACE,
) -> None:
    """The answers to all cases are right.

    Args:
        ask: the answer for the arguments of a case.
        mistakes: what known mistakes return for them, None where a mistake cannot be made; each
            under a sentence that names the mistake.
        equal: as `close`, called with an answer and a value, or with these and a rule.
        others: cases in which a wrong answer does not count, but tells which mistake it is.
        judge: raises a Failure where an answer is not right for a case. Without it the answer must
            be equal to what is wanted.
        in_place: how arguments come to be changed, see `unchanged`.

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
            judge(answer, case) if judge else equal(answer, case.want, case.rule)
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
        if all(_is_explained(answer, rule, case, equal) for answer, case in answers)
    )
    also = f" It also changed {_changed(answer)}." if answer.changed else ""
    also = "" if also in str(first) else also
    likely = next(explain, "") or first.likely or (in_place if answer.changed else "")
    raise Failure(f"{first}{also}", likely)


def _is_explained(
    answer: Answer, rule: Callable[..., Any], case: Case, equal: Callable[..., None]
) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would be taken for the student's output
            value = rule(*case.arguments)
        if value is not None:
            equal(answer, value)
    except Failure:  # also of the student's own functions, where a rule calls them
        return False
    return value is not None


def _failure(answer: Answer, fault: Fault, mistake: str = "", rule: str = "") -> Failure:
    also = f" It also changed {_changed(answer)}." if answer.changed else ""
    likely = IN_PLACE if answer.changed else mistake or fault.likely
    part = f"{answer.part} = " if answer.part else ""
    return Failure(f"{rule} {answer} returned {part}{fault.text}.{also}".strip(), likely)


def _changed(answer: Answer) -> str:
    return "its argument " + " and ".join(answer.changed)
