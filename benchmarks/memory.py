"""Peak memory of a round, each in a process of its own."""

import multiprocessing
import resource
import sys
from typing import NamedTuple

import torch

from benchmarks.workloads import GREY, noise
from fedlab_edu import Federation, LocalHP, communicate, lenet5, start

HEAD = f"{'memory of a round':38}{'before':>11}{'round adds':>12}{'a client':>11}{'in all':>11}"
MIB = 1 << 20


class Peak(NamedTuple):
    """Bytes in use before a round of B clients, with their data, and at its peak."""

    clients: int
    before: int
    most: int

    def row(self) -> str:
        adds = self.most - self.before
        before, added, each, most = (
            size / MIB for size in (self.before, adds, adds / self.clients, self.most)
        )
        return f"{before:7.0f} MiB{added:8.0f} MiB{each:7.2f} MiB{most:7.0f} MiB"


def peak_memory(clients: int, device: str) -> Peak:
    """Measure one round of LeNet-5 clients with 64 images each.

    It runs in a process that is a fork of a small one: a spawned process begins with the peak of
    its parent.
    """
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.apply(a_round, (clients, device))


def a_round(clients: int, device: str) -> Peak:
    model = lenet5()
    train, test = noise(GREY, 10, [64] * clients), noise(GREY, 10, [1] * clients)
    names = tuple(str(i) for i in range(clients))
    fed = Federation(train, test, test, names, 10).to(device)
    run = start(model, fed, LocalHP(lr=0.05, batch=32))
    before = most(device)
    communicate(run, model, fed, clients)
    return Peak(clients, before, most(device))


def most(device: str) -> int:
    """The largest number of bytes that this process, or its tensors on a GPU, have held so far."""
    if device != "cpu":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
