"""Rounds of many clients: neither a step's time nor the memory grows with their number."""

import multiprocessing
import resource
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch

from benchmarks.workloads import GREY, federation
from fedlab_edu import LocalHP, communicate, lenet5, mlp, start

TITLE, MEMORY = "rounds of many clients, MLP", "memory of a round, MiB"
BATCH, MIB = 32, 1 << 20


def even(clients: int) -> list[int]:
    return [64] * clients


def long_tail(clients: int) -> list[int]:
    """Return log-normal sizes, as in LEAF: the largest is far above the mean."""
    gen = torch.Generator().manual_seed(0)
    sizes = (3 + 1.2 * torch.randn(clients, generator=gen)).exp()
    return sizes.ceil().long().tolist()


def one_giant(clients: int) -> list[int]:
    return [100_000] + [10] * (clients - 1)


SIZES: dict[str, tuple[Callable[[int], list[int]], int]] = {
    **{f"{B:,} clients of 64": (even, B) for B in (10, 100, 1000, 3500)},
    **{f"{B:,} clients, log-normal sizes": (long_tail, B) for B in (10, 100, 1000, 3500)},
    "2,000 clients of 10, one of 100,000": (one_giant, 2001),
}


def in_a_small_process(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run it in a fork of a small process: a spawned one begins with the peak of its parent."""
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.apply(work, arguments)


def most(device: str = "cpu") -> float:
    """Return the peak memory so far of this process, or of its tensors on a GPU, in MiB."""
    if device != "cpu":
        return torch.cuda.max_memory_allocated(device) / MIB
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB


def rounds(sizes: list[int], repeats: int = 3) -> dict[str, Any]:
    """Measure rounds of all clients; with a giant the images are smaller, to fit in memory."""
    shape, model = GREY, mlp(784, 128, 10)
    if max(sizes) >= 50_000:
        shape, model = (1, 4, 4), mlp(16, 8, 10)
    fed = federation(shape, 10, sizes, [1] * len(sizes))
    run, before, times = start(model, fed, LocalHP(lr=0.05, batch=BATCH)), most(), []
    for _ in range(repeats):
        begin = perf_counter()
        run = communicate(run, model, fed, len(fed))
        times.append(perf_counter() - begin)
    steps = sum(-(-n // BATCH) for n in sizes)
    return {
        "examples": sum(sizes), "steps": steps, "round (s)": median(times),
        "a step (us)": 1e6 * median(times) / steps, "adds (MiB)": most() - before,
    }  # fmt: skip


def memory(clients: int, device: str) -> dict[str, Any]:
    """Measure the memory of one round of LeNet-5 clients with 64 images each."""
    model = lenet5()
    fed = federation(GREY, 10, [64] * clients, [1] * clients).to(device)
    run = start(model, fed, LocalHP(lr=0.05, batch=BATCH))
    before = most(device)
    communicate(run, model, fed, clients)
    added = most(device) - before
    return {
        "before": before, "round adds": added, "a client": added / clients, "in all": before + added
    }  # fmt: skip
