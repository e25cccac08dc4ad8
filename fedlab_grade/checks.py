"""Check an answer in the order in which a person would look at it; the first failure speaks.

A test gets an `Answer` from ``student.call(name, *arguments)`` and passes it to `close`,
`unchanged`, `form`, `tensor` or `tensors`, or first to `parts` where it is a tuple. Each raises a
`Failure`, whose text is for the student. `check` does so for several cases at once.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torch import Tensor

from fedlab_grade.faults import (
    NOT_FINITE,
    Fault,
    Value,
    fault_of,
    form_fault,
    list_fault,
    plain,
)
from fedlab_grade.printing import kind, show

IN_PLACE = (
    "+=, x[j] = ..., append and sort change the argument itself: copy it first; x.clone() and, for "
    "arrays and lists, x.copy() make a copy"
)
NOTHING = "a call that returns nothing, such as xs.append(x), gives None"


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
    """Raise unless the answer is ``want`` in type, dtype, shape and, up to rounding, in value.

    Args:
        want: a tensor, an array, a number, or a list of tensors or of numbers. Where it is an int,
            or holds ints only, the answer must be of ints.
        wrong: what known mistakes return, each under a sentence that names the mistake. A
            mistake that happens to be right on these arguments is passed over.
        rule: a sentence on what is checked, to begin the message with.

    Raises:
        Failure: the answer is something else.
    """
    fault = fault_of(answer.value, want)
    if fault is None:
        return
    for mistake, value in (wrong or {}).items():
        if fault_of(value, want) and not fault_of(answer.value, value):
            raise _failure(answer, fault, mistake, rule)
    raise _failure(answer, fault, rule=rule)


def unchanged(answer: Answer) -> None:
    """Raise unless the function has left its arguments as they were.

    Raises:
        Failure: it has changed one.
    """
    if answer.changed:
        raise Failure(f"{answer.function} changed {_changed(answer)}.", IN_PLACE)


def form(answer: Answer, like: Value) -> Any:
    """Return the answer itself, once its type, dtype and shape are known to be those of ``like``.

    Numbers come as int or float, and numbers in a list, of any length, too. Entries may be infinite
    or NaN.

    Raises:
        Failure: the form is another.
    """
    fault = form_fault(answer.value, like)
    if fault is not None:
        raise _failure(answer, fault)
    return plain(answer.value, like)


def tensor(answer: Answer, like: Tensor) -> Tensor:
    """Return the answer itself, once it is known to be a finite tensor of like shape and dtype.

    Raises:
        Failure: it is not.
    """
    value: Tensor = form(answer, like)
    if not value.isfinite().all():
        raise _failure(answer, Fault(f"{show(value)}, expected finite numbers", NOT_FINITE))
    return value


def tensors(answer: Answer) -> list[Tensor]:
    """Return the answer itself, once it is known to be a list of tensors.

    Raises:
        Failure: it is not.
    """
    fault = list_fault(answer.value)
    if fault is not None:
        raise _failure(answer, fault)
    assert isinstance(answer.value, list | tuple)
    return list(answer.value)


def parts(answer: Answer, *names: str) -> list[Answer]:
    """Return the returned values, each as an answer of its own, once there are as many as names.

    Raises:
        Failure: there are more or fewer, or the answer is no tuple or list.
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
    others: Iterable[Case] = (),
    judge: Callable[[Answer, Case], None] | None = None,
    names: tuple[str, ...] = (),
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
            judge(answer, case) if judge else _equal(answer, case.want, names, case.rule)
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
        if all(_is_explained(answer, rule, case, names) for answer, case in answers)
    )
    also = "" if _also(answer) in str(first) else _also(answer)
    likely = next(explain, "") or first.likely or (IN_PLACE if answer.changed else "")
    raise Failure(f"{first}{also}", likely)


def _equal(answer: Answer, want: Any, names: tuple[str, ...], rule: str = "") -> None:
    if not names:
        return close(answer, want, rule=rule)
    for part, value in zip(parts(answer, *names), want, strict=True):
        close(part, value, rule=rule)


def _is_explained(
    answer: Answer, rule: Callable[..., Any], case: Case, names: tuple[str, ...]
) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would be taken for the student's output
            value = rule(*case.arguments)
        if value is not None:
            _equal(answer, value, names)
    except Failure:  # also of the student's own functions, where a rule calls them
        return False
    return value is not None


def _failure(answer: Answer, fault: Fault, mistake: str = "", rule: str = "") -> Failure:
    own = NOTHING if answer.part and answer.value is None else fault.likely
    likely = IN_PLACE if answer.changed else mistake or own
    part = f"{answer.part} = " if answer.part else ""
    return Failure(f"{rule} {answer} returned {part}{fault.text}.{_also(answer)}".strip(), likely)


def _also(answer: Answer) -> str:
    return f" It also changed {_changed(answer)}." if answer.changed else ""


def _changed(answer: Answer) -> str:
    return "its argument " + " and ".join(answer.changed)
