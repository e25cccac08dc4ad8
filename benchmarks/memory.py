"""Peak memory of a round, each in a process of its own."""

import multiprocessing
import resource
import sys
from typing import Any

import torch

from benchmarks.workloads import GREY, noise
from fedlab_edu import Federation, LocalHP, communicate, lenet5, start

TITLE = "memory of a round, MiB"
MIB = 1 << 20


def peak_memory(clients: int, device: str) -> dict[str, Any]:
    """Measure one round of LeNet-5 clients with 64 images each.

    It runs in a process that is a fork of a small one: a spawned process begins with the peak of
    its parent.
    """
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.apply(a_round, (clients, device))


def a_round(clients: int, device: str) -> dict[str, Any]:
    model = lenet5()
    train, test = noise(GREY, 10, [64] * clients), noise(GREY, 10, [1] * clients)
    names = tuple(str(i) for i in range(clients))
    fed = Federation(train, test, test, names, 10).to(device)
    run = start(model, fed, LocalHP(lr=0.05, batch=32))
    before = most(device) / MIB
    communicate(run, model, fed, clients)
    added = most(device) / MIB - before
    return {
        "before": before, "round adds": added, "a client": added / clients, "in all": before + added
    }  # fmt: skip


def most(device: str) -> int:
    """The largest number of bytes that this process, or its tensors on a GPU, have held so far."""
    if device != "cpu":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
