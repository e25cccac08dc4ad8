"""Runs in files: written whole or not at all, and read without running anything that is in them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError
from threading import Lock
from uuid import uuid4

import numpy as np
import torch
from torch import Tensor

from fedlab_edu import methods
from fedlab_edu.check import require
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.run import Round, Run
from fedlab_edu.scores import Score
from fedlab_edu.tuner import Fixed

_KNOWN = [
    Run, Round, Score, LocalHP, ServerHP, Fixed, methods.Server, methods.FedAvg, methods.FedProx,
    methods.Reptile, methods.Scaffold, methods.FedDyn, methods.FedPA, methods.Ditto, methods.MAML,
]  # fmt: skip


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
    run = read(path, also, "`save_run`", "`load_run`")
    require(isinstance(run, Run), "path", str(path), "a file that `save_run` has written")
    assert isinstance(run, Run)
    return run


def write(value: object, path: str | Path) -> None:
    """Write a value to a file, whole or not at all."""
    part = Path(f"{path}.{uuid4().hex}.part")
    try:
        with part.open("x+b") as f:
            torch.save(value, f)
            f.seek(0)
            f.write(file_digest(f, "sha256").digest())
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read(path: str | Path, also: Sequence[type], writer: str, reader: str) -> object:
    """The value in a file, made of no other classes than those of runs and ``also``.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: it is damaged, or has a class that is not allowed, or fields that its classes
            do not have in this version. The message names the functions that write and read it.
    """
    allowed, whole = f"a file that {writer} has written, undamaged", Path(path).read_bytes()
    content, digest = memoryview(whole)[:-_DIGEST], whole[-_DIGEST:]
    require(sha256(content).digest() == digest, "path", str(path), allowed)
    try:
        with _ONE_AT_A_TIME, torch.serialization.safe_globals([*_KNOWN, *also]):
            value = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except (
        RuntimeError,
        UnpicklingError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
    ) as error:
        unknown = str(error).partition("GLOBAL ")[2].split(" ")[0]
        classes = f", whose own classes are named to {reader}; this one has {unknown}"
        require(False, "path", str(path), allowed + (classes if unknown else ""))
    require(_of_this_version(value), "path", str(path), f"{allowed}, by this version")
    return value


def _of_this_version(value: object) -> bool:
    """Whether all dataclasses in it have the fields that they have now."""
    if is_dataclass(value) and not isinstance(value, type):
        if vars(value).keys() != {f.name for f in fields(value)}:
            return False
        value = [v for name, v in vars(value).items() if name != "history"]
    return not isinstance(value, list | tuple) or all(_of_this_version(v) for v in value)


def fingerprint(*values: object) -> str:
    """The SHA-256 of all numbers and names in some values: arrays, dataclasses, containers.

    Functions count by their names alone.
    """
    digest = sha256()
    for part in _parts(values):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """The bytes of a value, each part after what it is, so that none is taken for another."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, Tensor | np.ndarray):
        value = torch.as_tensor(value)
        yield f"{value.dtype}{tuple(value.shape)}".encode()
        flat = value.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)
        yield flat.view(torch.uint8).numpy().tobytes()
    elif isinstance(value, list | tuple):
        yield f"{name}{len(value)}".encode()
        for one in value:
            yield from _parts(one)
    elif isinstance(value, Mapping):
        yield f"{name}{len(value)}".encode()
        for key in sorted(value, key=repr):
            yield from _parts((key, value[key]))
    elif hasattr(value, "__dict__") and not callable(value):
        yield name.encode()
        yield from _parts(vars(value))
    else:
        yield f"{name if callable(value) else repr(value)};".encode()
