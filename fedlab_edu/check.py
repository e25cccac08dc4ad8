"""One sentence for every refusal: which argument, the value seen, what is allowed, what lacks."""

from importlib import import_module
from types import ModuleType

import torch
from torch import Tensor


def require(ok: object, argument: str, value: object, allowed: str) -> None:
    """Unless ``ok``, raise a ``ValueError`` that names argument, value seen and what is allowed."""
    if not ok:
        shown = value.tolist() if isinstance(value, Tensor) else value
        raise ValueError(f"{argument} is {shown!r}; allowed: {allowed}")


def extra(package: str, group: str) -> ModuleType:
    """A package that an extra of this one brings, imported now.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to get it.
    """
    try:
        return import_module(package.lower())
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{package} is missing: pip install -e '.[{group}]'") from error


def usable_device(device: str | torch.device) -> torch.device:
    """The device, or a ``ValueError`` that says why this machine cannot use it.

    Raises:
        ValueError: an unknown device, or a GPU on a machine (or in a build of PyTorch) without one.
    """
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    gpus = torch.cuda.device_count()
    allowed = "'cpu'" + "".join(f", 'cuda:{i}'" for i in range(gpus))
    if not gpus:
        allowed += " (this PyTorch sees no CUDA GPU)"
    ok = found is not None and (
        found.type == "cpu" or (found.type == "cuda" and (found.index or 0) < gpus)
    )
    require(ok, "device", str(device), allowed)
    assert found is not None
    return found
