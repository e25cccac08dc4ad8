"""What is wrong with an answer: first its type, then dtype and shape, last the values."""

from typing import NamedTuple

import torch
from torch import Tensor

Value = Tensor | list[Tensor]  # what the exercises ask for

RTOL, ATOL = 1e-6, 1e-8  # the answers are float64; a step in float32 on the way is no mistake
SHOWN = 24  # tensors with at most so many entries are printed in full


class Fault(NamedTuple):
    """What was returned and what was expected, to follow "returned"; and its own likely mistake."""

    text: str
    likely: str = ""


def fault_of(got: object, want: Value) -> Fault | None:
    """In what an answer differs from what is wanted; None if only by rounding."""
    if isinstance(want, Tensor):
        return form_fault(got, want) or _value_fault(got, want)
    fault = list_fault(got)
    if fault is not None:
        return fault
    assert isinstance(got, list | tuple)
    if len(got) != len(want):
        return Fault(f"{_show(got)}, expected {_show(want)}")
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if entry := fault_of(g, w):
            return Fault(f"a list in which entry {i} is {entry.text}", entry.likely)
    return None


def list_fault(got: object) -> Fault | None:
    """Why it is no list of tensors; None if it is."""
    if not isinstance(got, list | tuple):
        return Fault(f"{kind(got)}, expected a list of tensors", _instead(got, "a list"))
    for part in got:
        if not isinstance(part, Tensor):
            text = f"a list with {kind(part)} in it, expected tensors"
            return Fault(text, _instead(part, "a tensor"))
        if fault := _odd(part):
            return Fault(f"a list with {fault.text}", fault.likely)
    return None


def form_fault(got: object, want: Tensor) -> Fault | None:
    """Why it is no finite tensor of the dtype and shape that are wanted; None if it is."""
    if not isinstance(got, Tensor):
        expected = f"expected a tensor of shape {tuple(want.shape)}"
        return Fault(f"{kind(got)}, {expected}", _instead(got, "a tensor"))
    if fault := _odd(got):
        return fault
    if got.dtype != want.dtype:
        types = [str(x.dtype).removeprefix("torch.") for x in (got, want)]
        likely = f"the answer should have the dtype of the arguments, {types[1]}"
        return Fault(f"a tensor of dtype {types[0]}, expected {types[1]}", likely)
    if got.shape != want.shape:
        shapes = f"a tensor of shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        dims = f"the answer has {got.dim()} dimensions instead of {want.dim()}"
        return Fault(shapes, dims if got.dim() != want.dim() else "")
    if not got.isfinite().all():
        likely = "something is divided by zero, or grows without end"
        return Fault(f"{_show(got)}, expected finite numbers", likely)
    return None


def _odd(got: Tensor) -> Fault | None:
    """A tensor that cannot be looked at entry by entry."""
    plain = type(got) in (Tensor, torch.nn.Parameter) and not got.is_nested
    if plain and got.layout == torch.strided and not got.is_meta and not got.is_quantized:
        return None
    what = str(got.layout).removeprefix("torch.") if plain else kind(got)
    what = "meta" if got.is_meta else what
    return Fault(f"an unusual tensor ({what}), expected an ordinary one", "return a plain tensor")


def _value_fault(got: object, want: Tensor) -> Fault | None:
    assert isinstance(got, Tensor)
    right = torch.isclose(got.detach().cpu(), want, rtol=RTOL, atol=ATOL)
    if right.all():
        return None
    if want.numel() <= SHOWN:
        return Fault(f"{_show(got)}, expected {_show(want)}")
    at = tuple((~right).nonzero()[0].tolist())
    entry = f"entry {list(at)} is {_show(got[at])}, expected {_show(want[at])}"
    return Fault(f"a tensor with {int((~right).sum())} wrong entries of {want.numel()}: {entry}")


def _instead(got: object, want: str) -> str:
    return mistaken(got) or f"{want} is asked for, not {kind(got)}"


def mistaken(got: object) -> str:
    """The mistake that the mere type of an answer gives away; "" if it gives none away."""
    if got is None:
        return "there is no `return`"
    if type(got).__name__ == "coroutine":
        return "`async def` makes it so: write `def`"
    return ""


def kind(value: object) -> str:
    """The type of a value, with its article."""
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
