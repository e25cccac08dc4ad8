"""Runs in files: written whole or not at all, and read without running anything that is in them."""

import os
from dataclasses import fields
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError
from threading import Lock
from uuid import uuid4

import torch

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
    part = Path(f"{path}.{uuid4().hex}.part")
    try:
        with part.open("x+b") as f:
            torch.save(run, f)
            f.seek(0)
            f.write(file_digest(f, "sha256").digest())
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load_run(path: str | Path, *also: type) -> Run:
    """The run in a file, with its tensors on the CPU; ``load_run(path).to("cuda")`` goes on there.

    Args:
        also: classes of your own in the run, of a tuner or a method. No other class is made, and
            no code in the file is run.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: it is no run, it is damaged, or it has a class that is not allowed.
    """
    allowed, whole = "a file that `save_run` has written, undamaged", Path(path).read_bytes()
    content, digest = whole[:-_DIGEST], whole[-_DIGEST:]
    require(sha256(content).digest() == digest, "path", str(path), allowed)
    try:
        with _ONE_AT_A_TIME, torch.serialization.safe_globals([*_KNOWN, *also]):
            run = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except (RuntimeError, UnpicklingError) as error:
        unknown = str(error).partition("GLOBAL ")[2].split(" ")[0]
        classes = f", whose own classes are named to `load_run`; this one has {unknown}"
        require(False, "path", str(path), allowed + (classes if unknown else ""))
    complete = isinstance(run, Run) and vars(run).keys() == {f.name for f in fields(Run)}
    require(complete, "path", str(path), f"{allowed}, by this version")
    assert isinstance(run, Run)
    return run
