"""A device without hardware, which refuses what CUDA refuses or would copy without a word.

Its tensors hold a CPU tensor each. An operation on tensors of both devices fails, unless it is a
copy that the code asks for, or the CPU's tensor is a number. So does an index on the CPU, which
CUDA would copy at each call, and a generator of the other device.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from fedlab_edu.data import clients
from fedlab_edu.rounds import run
from fedlab_edu.training import local, memory, threads

_setup_privateuseone_for_python_backend("elsewhere")
# `torch.random.fork_rng` and `torch.utils.checkpoint`, in whatever test, ask all devices.
torch.elsewhere.get_rng_state = lambda device: torch.empty(0)
torch.elsewhere.set_rng_state = lambda state, device: None
torch.elsewhere.get_amp_supported_dtype = lambda: []
DEVICE = torch.device("elsewhere", 0)
COPIES = {"aten::_to_copy", "aten::copy_"}


class Elsewhere(Tensor):
    """A tensor of the other device."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Elsewhere":
        made = Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=DEVICE,
            storage_offset=inner.storage_offset(),
        )  # fmt: skip
        made.inner = inner
        return made

    def tolist(self) -> Any:
        return self.inner.tolist()

    def __repr__(self, **_: Any) -> str:
        return f"Elsewhere({self.inner!r})"

    @classmethod
    def __torch_dispatch__(cls, f: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        return dispatch(f, given, named or {})


class Device(TorchDispatchMode):
    """Makes the tensors that name the device."""

    def __torch_dispatch__(self, f: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        return dispatch(f, given, named or {})


class Literals(TorchFunctionMode):
    """Makes tensors of Python's numbers, for which PyTorch leaves out the mode above."""

    def __torch_function__(self, f: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        named = named or {}
        if f in (torch.tensor, torch.as_tensor) and named.get("device") is not None:
            return f(*given, **{**named, "device": "cpu"}).to(named["device"])
        if f in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(given[1], list):
            given = given[0], torch.tensor(given[1]).to(given[0].device), *given[2:]
        return f(*given, **named)


def dispatch(f: Any, given: Any, named: dict[str, Any]) -> Any:
    """Do an operation on the CPU, if all its tensors are of one device."""
    every = tree_leaves((given, named))
    away = [x for x in every if isinstance(x, Elsewhere)]
    here = [x for x in every if isinstance(x, Tensor) and not isinstance(x, Elsewhere) and x.dim()]
    target = named.get("device")
    there = bool(away) if target is None else torch.device(target).type == DEVICE.type
    if f._schema.name not in COPIES:
        assert not (away and here), f"{f} moves {[tuple(x.shape) for x in here]} between devices"
        drawn = any(isinstance(x, torch.Generator) for x in every)
        assert not (there and drawn), f"{f} draws with a generator of the CPU"
    inner = tree_map(lambda x: x.inner if isinstance(x, Elsewhere) else x, (given, named))
    if target is not None:
        inner[1]["device"] = "cpu"
    out = f(*inner[0], **inner[1])
    first = f._schema.arguments[0] if f._schema.arguments else None
    if first is not None and first.alias_info and first.alias_info.is_write:
        return given[0]
    return tree_map(lambda x: Elsewhere(x) if isinstance(x, Tensor) and there else x, out)


@torch.no_grad()
def write_into(vector: Tensor, parameters: Iterable[Tensor]) -> None:
    """Do what ``vector_to_parameters`` does by ``.data =``, which leaves ``inner`` as it was."""
    parameters = list(parameters)
    parts = vector.split([p.numel() for p in parameters])
    for p, part in zip(parameters, parts, strict=True):
        p.copy_(part.view_as(p))


@contextmanager
def elsewhere() -> Iterator[torch.device]:
    """Let the package use the device, on this thread alone."""
    with (
        mock.patch.object(clients, "usable_device", torch.device),
        mock.patch.object(run, "usable_device", torch.device),
        mock.patch.object(threads, "cores", return_value=1),
        mock.patch.object(memory, "_measure", return_value=1000),  # looks at addresses
        mock.patch.object(memory, "free", return_value=1 << 20),
        mock.patch.object(local, "free", return_value=1 << 20),  # several tiles
        mock.patch.object(nn.utils, "vector_to_parameters", write_into),
        Device(),
        Literals(),
    ):
        yield DEVICE
