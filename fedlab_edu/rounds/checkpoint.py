"""Runs in files: written whole or not at all, and read without running anything that is in them."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError
from threading import Lock
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from torch import Tensor

from fedlab_edu.registry import import_home, storable_classes
from fedlab_edu.rounds.run import Run
from fedlab_edu.validate import require

_DIGEST = sha256().digest_size  # bytes at the end of a file: the digest of those before
_ONE_AT_A_TIME = Lock()  # what PyTorch may unpickle is one list for all threads


def save_run(run: Run, path: str | Path) -> None:
    """Write a run to a file, whole: a reader, or a crash, meets what was there before or the new.

    Raises:
        OSError: the file cannot be written; what was there before is still there.
    """
    write(run, path)


def load_run(path: str | Path, *also: type) -> Run:
    """The run in a file, with its tensors on the CPU; ``load_run(path).to("cuda")`` goes on there.

    Args:
        also: classes of your own in the run, of a tuner or a method. No other class is made, and
            no code in the file is run.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: it is no run, it is damaged, or it has a class that is not allowed.
    """
    allowed = "a file that `save_run` has written"
    run = read(Path(path).read_bytes(), path, also, f"{allowed}, undamaged", "`load_run`")
    require(isinstance(run, Run), "path", str(path), allowed)
    assert isinstance(run, Run)
    return run


def write(value: object, path: str | Path, check: Callable[[bytes], object] | None = None) -> None:
    """Write a value to a file, whole or not at all; of a link, to the file that it points to.

    A process that is killed as it writes leaves ``<path>.<letters>.part`` behind. It may be deleted
    when nobody is writing; we do not, for it might be another process's that is still at work.

    Args:
        check: of all bytes of the file, before any is written; what it raises is raised.
    """
    packed = BytesIO()  # PyTorch's archives hide why a file cannot be written, even Ctrl-C
    torch.save(value, packed)
    packed.write(sha256(packed.getbuffer()).digest())
    if check is not None:
        check(packed.getvalue())
    file = os.path.realpath(path)
    part = Path(f"{file}.{uuid4().hex}.part")
    try:
        with part.open("xb") as f:
            f.write(packed.getbuffer())
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def read(whole: bytes, path: str | Path, also: Sequence[type], allowed: str, reader: str) -> object:
    """The value in a file of these bytes, of no other classes than our own and ``also``.

    Args:
        allowed, reader: what is allowed, and the function that takes ``also``, for the message.

    Raises:
        ValueError: it is damaged, or has a class that is not allowed, or lacks fields that its
            classes have in this version.
    """
    content, digest = memoryview(whole)[:-_DIGEST], whole[-_DIGEST:]
    require(sha256(content).digest() == digest, "path", str(path), allowed)
    imported: set[str] = set()
    while True:
        try:
            with _ONE_AT_A_TIME, torch.serialization.safe_globals([*storable_classes(), *also]):
                value = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
            break
        except (
            RuntimeError,
            UnpicklingError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
        ) as error:
            unknown = str(error).partition("GLOBAL ")[2].split(" ")[0]
        if unknown not in imported and import_home(unknown):
            imported.add(unknown)
            continue
        classes = f", whose own classes are named to {reader}; this one has {unknown}"
        require(False, "path", str(path), allowed + (classes if unknown else ""))
    require(_of_this_version(value), "path", str(path), f"{allowed}, by this version")
    return value


def _of_this_version(value: object) -> bool:
    """Whether all dataclasses in it have the fields that they have now."""
    if is_dataclass(value) and not isinstance(value, type):
        state, names = _state(value), {f.name for f in fields(value)}
        if not names <= state.keys():
            return False
        value = [state[name] for name in names - {"history"}]
    return not isinstance(value, list | tuple) or all(_of_this_version(v) for v in value)


def fingerprint(*values: object) -> str:
    """The SHA-256 of all numbers and names in some values: arrays, dataclasses, containers.

    Functions count by their names alone; other things that can be called, by what they hold.
    """
    digest = sha256()
    for part in _parts(values):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """The bytes of a value, each part after what it is, so that none is taken for another."""
    kind, name = type(value).__qualname__, getattr(value, "__qualname__", None)
    if isinstance(value, set | frozenset):  # in an order that is not this process's own
        value = sorted(value, key=repr)
    if isinstance(value, Tensor | np.ndarray):
        value = torch.as_tensor(value)
        yield f"{value.dtype}{tuple(value.shape)}".encode()
        flat = value.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)
        yield flat.view(torch.uint8).numpy().tobytes()
    elif isinstance(value, list | tuple):
        yield f"{kind}{len(value)}".encode()
        for one in value:
            yield from _parts(one)
    elif isinstance(value, Mapping):
        yield f"{kind}{len(value)}".encode()
        for key in sorted(value, key=repr):
            yield from _parts((key, value[key]))
    elif isinstance(value, partial):
        yield kind.encode()
        yield from _parts((value.func, value.args, value.keywords))
    elif name is None and (hasattr(value, "__dict__") or _state(value)):
        yield kind.encode()
        yield from _parts(_state(value))
    else:
        yield f"{name or repr(value)};".encode()


def _state(value: object) -> dict[str, object]:
    """What it holds, by name, without cached properties: they come when somebody asks."""
    state: Any = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)  # what is in slots comes second
    held = {name: one for part in parts for name, one in (part or {}).items()}
    cached = {n for n in held if isinstance(getattr(type(value), n, None), cached_property)}
    return {n: one for n, one in held.items() if n not in cached}
