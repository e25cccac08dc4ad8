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

import torch
from torch import Tensor

Value = Tensor | list[Tensor]  # what the exercises ask for

RTOL, ATOL = 1e-6, 1e-8  # the answers are float64; a step in float32 on the way is no mistake
SHOWN = 24  # tensors with at most so many entries are printed in full
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
    fault = _fault(answer.value, want)
    if fault is None:
        return
    for mistake, value in (wrong or {}).items():
        if _fault(value, want) and not _fault(answer.value, value):
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
    fault = _form_fault(answer.value, like)
    if fault is not None:
        raise _failure(answer, fault)
    assert isinstance(answer.value, Tensor)
    return answer.value.detach().cpu()


def tensors(answer: Answer) -> list[Tensor]:
    """The answer itself, once it is known to be a list of tensors.

    Raises:
        Failure: it is not.
    """
    fault = _list_fault(answer.value)
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
    raise _failure(answer, _Fault(f"{found}, expected the {len(names)} values {asked}", likely))


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


class _Fault(NamedTuple):
    """What was returned and what was expected, to follow "returned"; and its own likely mistake."""

    text: str
    likely: str = ""


def _failure(answer: Answer, fault: _Fault, mistake: str = "", rule: str = "") -> Failure:
    also = f" It also changed {_changed(answer)}." if answer.changed else ""
    likely = IN_PLACE if answer.changed else mistake or fault.likely
    part = f"{answer.part} = " if answer.part else ""
    return Failure(f"{rule} {answer} returned {part}{fault.text}.{also}".strip(), likely)


def _changed(answer: Answer) -> str:
    return "its argument " + " and ".join(answer.changed)


def _fault(got: object, want: Value) -> _Fault | None:
    if isinstance(want, Tensor):
        return _form_fault(got, want) or _value_fault(got, want)
    fault = _list_fault(got)
    if fault is not None:
        return fault
    assert isinstance(got, list | tuple)
    if len(got) != len(want):
        return _Fault(f"{_show(got)}, expected {_show(want)}")
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if entry := _fault(g, w):
            return _Fault(f"a list in which entry {i} is {entry.text}", entry.likely)
    return None


def _list_fault(got: object) -> _Fault | None:
    if not isinstance(got, list | tuple):
        return _Fault(f"{kind(got)}, expected a list of tensors", _instead(got, "a list"))
    for part in got:
        if not isinstance(part, Tensor):
            text = f"a list with {kind(part)} in it, expected tensors"
            return _Fault(text, _instead(part, "a tensor"))
        if fault := _odd(part):
            return _Fault(f"a list with {fault.text}", fault.likely)
    return None


def _form_fault(got: object, want: Tensor) -> _Fault | None:
    if not isinstance(got, Tensor):
        expected = f"expected a tensor of shape {tuple(want.shape)}"
        return _Fault(f"{kind(got)}, {expected}", _instead(got, "a tensor"))
    if fault := _odd(got):
        return fault
    if got.dtype != want.dtype:
        types = [str(x.dtype).removeprefix("torch.") for x in (got, want)]
        likely = f"the answer should have the dtype of the arguments, {types[1]}"
        return _Fault(f"a tensor of dtype {types[0]}, expected {types[1]}", likely)
    if got.shape != want.shape:
        shapes = f"a tensor of shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        dims = f"the answer has {got.dim()} dimensions instead of {want.dim()}"
        return _Fault(shapes, dims if got.dim() != want.dim() else "")
    if not got.isfinite().all():
        likely = "something is divided by zero, or grows without end"
        return _Fault(f"{_show(got)}, expected finite numbers", likely)
    return None


def _odd(got: Tensor) -> _Fault | None:
    """A tensor that cannot be looked at entry by entry."""
    plain = type(got) in (Tensor, torch.nn.Parameter) and not got.is_nested
    if plain and got.layout == torch.strided and not got.is_meta and not got.is_quantized:
        return None
    what = str(got.layout).removeprefix("torch.") if plain else kind(got)
    what = "meta" if got.is_meta else what
    return _Fault(f"an unusual tensor ({what}), expected an ordinary one", "return a plain tensor")


def _value_fault(got: object, want: Tensor) -> _Fault | None:
    assert isinstance(got, Tensor)
    right = torch.isclose(got.detach().cpu(), want, rtol=RTOL, atol=ATOL)
    if right.all():
        return None
    if want.numel() <= SHOWN:
        return _Fault(f"{_show(got)}, expected {_show(want)}")
    at = tuple((~right).nonzero()[0].tolist())
    entry = f"entry {list(at)} is {_show(got[at])}, expected {_show(want[at])}"
    return _Fault(f"a tensor with {int((~right).sum())} wrong entries of {want.numel()}: {entry}")


def _instead(got: object, want: str) -> str:
    return "there is no `return`" if got is None else f"{want} is asked for, not {kind(got)}"


def kind(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _show(value: object) -> str:
    """A short tensor, or list of short tensors, in full; else what it is and its size."""
    if isinstance(value, Tensor):
        if value.numel() > SHOWN:
            return f"a tensor of shape {tuple(value.shape)}"
        return f"{value.item():.5g}" if value.dim() == 0 else f"[{', '.join(map(_show, value))}]"
    if isinstance(value, list | tuple):
        size = sum(part.numel() if isinstance(part, Tensor) else 1 for part in value)
        short = max(size, len(value)) <= SHOWN
        return f"[{', '.join(map(_show, value))}]" if short else f"a list of {len(value)} entries"
    return repr(value) if isinstance(value, int | float) else kind(value)


def printable(value: object) -> str:
    """A number, or a tensor of few entries, as text; "" for anything longer."""
    short = isinstance(value, int | float) or (isinstance(value, Tensor) and value.numel() <= SHOWN)
    return _show(value) if short else ""
