"""Checkpoints: runs in files, written atomically and read without executing their contents."""

import os
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from errno import ENOENT
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from pathlib import Path
from pickle import PicklingError, UnpicklingError
from typing import Any
from uuid import uuid4

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import ONE_AT_A_TIME, Model
from fedlab_edu.rounds.fingerprint import state_of
from fedlab_edu.rounds.identity import differences, identity
from fedlab_edu.rounds.run import Run, check_types
from fedlab_edu.validate import require

_DIGEST = sha256().digest_size  # bytes; the digest is the end of a file
_NO_PICKLE = (PicklingError, AttributeError, TypeError, RuntimeError)
_BROKEN = (RuntimeError, UnpicklingError, ValueError, TypeError, LookupError, AttributeError)


def save_run(
    run: Run, path: str | Path, model: Model | None = None, fed: Federation | None = None
) -> None:
    """Write a run to a file atomically: a crash leaves either the old file or the new one.

    Args:
        model, fed: give both, and `load_run` can refuse the file for another model or other data.

    Raises:
        OSError: the file cannot be written; the old file is intact.
        ValueError: ``run`` is something else, such as a search, or holds NumPy values, which
            `load_run` would refuse; the model uses a value without a fingerprint, see `identity`.
    """
    allowed = "a Run, such as search.winner; tune(search, ..., path=...) keeps a search"
    require(isinstance(run, Run), "run", type(run).__name__, allowed)

    def check(whole: bytes) -> None:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(BytesIO(whole))
        foreign = [name for name in names if name.startswith("numpy")]
        require(not foreign, "run", foreign, "built-in numbers and tensors: store float(x)")

    write((_origin(model, fed), run), path, check)


def load_run(
    path: str | Path, *also: type, model: Model | None = None, fed: Federation | None = None
) -> Run:
    """Read a run from a file, with its tensors on the CPU; see `Run.to`.

    Args:
        also: classes of your own in the run, such as a tuner or a method. No other class is
            instantiated, and no code in the file is executed.
        model, fed: give both to make sure that the run was saved with this model and these data.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: the file holds no run, is damaged, or has a class that is not allowed; it was
            saved with another model or other data, or without any.
    """
    allowed = "a file that `save_run` has written"
    whole, ours = as_path(path).read_bytes(), _origin(model, fed)
    found = read(whole, path, also, f"{allowed}, undamaged", "`load_run`")
    pair = isinstance(found, tuple) and len(found) == 2
    ok = pair and isinstance(found[0], dict) and isinstance(found[1], Run)
    require(ok, "path", str(path), allowed)
    theirs, run = found
    if ours:
        require(theirs, "path", str(path), "a run that was saved with model and fed")
        differ = ", ".join(differences(theirs, ours))
        allowed = f"a run of this model and these data; that run has another {differ}"
        require(not differ, "path", str(path), allowed)
    return run


def _origin(model: Model | None, fed: Federation | None) -> dict[str, str]:
    require((model is None) == (fed is None), "model and fed", "one of them", "both, or neither")
    if model is None or fed is None:
        return {}
    check_types(model, fed)
    return identity(model, fed)


def as_path(path: object) -> Path:
    """Convert to a Path; raise a ValueError for another type, a folder, a device or a pipe."""
    allowed = "a str or a Path: the name of a file"
    require(isinstance(path, str | os.PathLike), "path", type(path).__name__, allowed)
    file = Path(path)  # type: ignore[arg-type]
    # a device would be replaced, and reading a pipe does not end
    require(file.is_file() or not file.exists(), "path", str(path), "a new name, or a file's")
    return file


def write(value: object, path: str | Path, check: Callable[[bytes], object] | None = None) -> None:
    """Write a value to a file atomically; write through a link to its target.

    A killed process leaves ``<path>.<letters>.part`` behind. Delete it when no process is writing.
    Raise an error for a folder, a device, or a file in a folder that does not exist.
    ``check`` gets all bytes of the file before any is written; its errors propagate.
    """
    file = Path(os.path.realpath(as_path(path)))
    if not file.parent.is_dir():
        raise FileNotFoundError(ENOENT, "No such folder", str(file.parent))
    packed = BytesIO()  # torch.save to a file hides errors, even Ctrl-C
    try:
        torch.save(value, packed)
    except _NO_PICKLE as error:
        allowed = "what pickle takes, such as classes and functions at the top of a module"
        require(False, "a part of what is saved", str(error), allowed)
    packed.write(sha256(packed.getbuffer()).digest())
    if check is not None:
        check(packed.getvalue())
    part = file.with_name(f"{file.name[:50]}.{uuid4().hex}.part")  # names have 255 bytes at most
    try:
        with part.open("xb") as f:
            f.write(packed.getbuffer())
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def read(whole: bytes, path: str | Path, also: Sequence[type], allowed: str, reader: str) -> Any:
    """Return the value in the bytes of a file, made of our values and classes of ``also`` only.

    Ours are the frozen dataclasses and named tuples of this package: creating one has no side
    effects. The error message names what is allowed, and the ``reader`` that takes ``also``.

    Raises:
        ValueError: the file is damaged, has a class that is not allowed, or lacks fields that its
            classes have in this version.
    """
    classes = "classes of your own, as (MyTuner,)"
    require(isinstance(also, tuple | list), "also", also, classes)
    for one in also:
        require(isinstance(one, type), "also", f"a {type(one).__name__}", classes)
    content, digest = memoryview(whole)[:-_DIGEST], whole[-_DIGEST:]
    require(sha256(content).digest() == digest, "path", str(path), allowed)
    lacks = None
    try:
        with ONE_AT_A_TIME:  # the safe classes are one list
            named = torch.serialization.get_unsafe_globals_in_checkpoint(BytesIO(content))
            ours = [found for name in named if (found := _value_class(name))]
            with torch.serialization.safe_globals([*ours, *also]):
                value = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except _BROKEN as error:
        unknown = str(error).partition("GLOBAL ")[2].split(" ")[0]
        lacks = f"; this one has {unknown}, a class to name in {reader}" if unknown else ""
    # not within `except`: the traceback would begin with PyTorch's advice to trust the file
    require(lacks is None, "path", str(path), f"{allowed}{lacks}")
    require(_of_this_version(value), "path", str(path), f"{allowed}, by this version")
    return value


def _value_class(name: str) -> type | None:
    """Return the frozen dataclass or named tuple of this package that has a full name, or None."""
    home, _, own = name.rpartition(".")
    if not home.startswith("fedlab_edu.") or "__" in home:
        return None
    try:
        found = getattr(import_module(home), own, None)
    except ImportError:
        return None
    if not isinstance(found, type) or found.__module__ != home:
        return None
    frozen = getattr(getattr(found, "__dataclass_params__", None), "frozen", False)
    return found if frozen or (issubclass(found, tuple) and hasattr(found, "_fields")) else None


def _of_this_version(value: object) -> bool:
    if is_dataclass(value) and not isinstance(value, type):
        state, names = state_of(value), {f.name for f in fields(value)}
        if not names <= state.keys():
            return False
        value = [state[name] for name in names - {"history"}]
    return not isinstance(value, list | tuple) or all(_of_this_version(v) for v in value)
