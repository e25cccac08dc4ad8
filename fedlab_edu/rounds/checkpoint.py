"""Checkpoints: runs in files, written atomically and read without executing their contents."""

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

_DIGEST = sha256().digest_size  # bytes; the digest is the end of a file
_ONE_AT_A_TIME = Lock()  # PyTorch's safe classes are one list for all threads


def save_run(run: Run, path: str | Path) -> None:
    """Write a run to a file atomically: a crash leaves either the old file or the new one.

    Raises:
        OSError: the file cannot be written; the old file is intact.
        ValueError: the run has NumPy values, which `load_run` would refuse.
    """

    def check(whole: bytes) -> None:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(BytesIO(whole))
        foreign = [name for name in names if name.startswith("numpy")]
        require(not foreign, "run", foreign, "built-in numbers and tensors: store float(x)")

    write(run, path, check)


def load_run(path: str | Path, *also: type) -> Run:
    """Read a run from a file, with its tensors on the CPU; see `Run.to`.

    Args:
        also: classes of your own in the run, such as a tuner or a method. No other class is
            instantiated, and no code in the file is executed.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: the file holds no run, is damaged, or has a class that is not allowed.
    """
    allowed = "a file that `save_run` has written"
    run = read(Path(path).read_bytes(), path, also, f"{allowed}, undamaged", "`load_run`")
    require(isinstance(run, Run), "path", str(path), allowed)
    assert isinstance(run, Run)
    return run


def write(value: object, path: str | Path, check: Callable[[bytes], object] | None = None) -> None:
    """Write a value to a file atomically; write through a link to its target.

    A killed process leaves ``<path>.<letters>.part`` behind. Delete it when no process is writing.
    ``check`` gets all bytes of the file before any is written; its errors propagate.
    """
    packed = BytesIO()  # torch.save to a file hides errors, even Ctrl-C
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
    """Return the value in the bytes of a file, made of our own classes and ``also`` only.

    The error message names what is allowed, and the ``reader`` that takes ``also``.

    Raises:
        ValueError: the file is damaged, has a class that is not allowed, or lacks fields that its
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
    if is_dataclass(value) and not isinstance(value, type):
        state, names = _state(value), {f.name for f in fields(value)}
        if not names <= state.keys():
            return False
        value = [state[name] for name in names - {"history"}]
    return not isinstance(value, list | tuple) or all(_of_this_version(v) for v in value)


def fingerprint(*values: object) -> str:
    """Return the SHA-256 of all numbers and names in arrays, dataclasses and containers.

    Functions enter by name only, other callables by their contents.
    """
    digest = sha256()
    for part in _parts(values):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """Yield the bytes of a value, each part after its type, so that different values differ."""
    kind, name = type(value).__qualname__, getattr(value, "__qualname__", None)
    if isinstance(value, set | frozenset):  # because the order differs between processes
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
    """Return the attributes of a value by name, without cached properties."""
    state: Any = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)  # slots come second
    held = {name: one for part in parts for name, one in (part or {}).items()}
    cached = {n for n in held if isinstance(getattr(type(value), n, None), cached_property)}
    return {n: one for n, one in held.items() if n not in cached}
