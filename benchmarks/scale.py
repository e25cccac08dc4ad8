"""Rounds of many clients: seconds of a client's step, and memory, each in a process of its own."""

import multiprocessing
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch

from benchmarks.memory import MIB, most
from benchmarks.workloads import GREY, noise
from fedlab_edu import Federation, LocalHP, communicate, mlp, start

TITLE = "rounds of many clients, MLP"
BATCH = 32


def even(clients: int) -> list[int]:
    return [64] * clients


def long_tail(clients: int) -> list[int]:
    """Sizes as in LEAF: the logarithms are normal, and the largest is far above the mean."""
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


def measured(size: tuple[Callable[[int], list[int]], int]) -> dict[str, Any]:
    """In a process that begins as a fork of a small one, see `benchmarks.memory`."""
    sizes, clients = size
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.apply(rounds, (sizes(clients),))


def rounds(sizes: list[int], repeats: int = 3) -> dict[str, Any]:
    """Rounds of all clients. The giant's images are smaller, so that the data fit in memory."""
    shape, model = GREY, mlp(784, 128, 10)
    if max(sizes) >= 50_000:
        shape, model = (1, 4, 4), mlp(16, 8, 10)
    train, val = noise(shape, 10, sizes), noise(shape, 10, [1] * len(sizes))
    names = tuple(map(str, range(len(sizes))))
    fed = Federation(train, val, val, names, 10)
    run, before, times = start(model, fed, LocalHP(lr=0.05, batch=BATCH)), most("cpu"), []
    for _ in range(repeats):
        begin = perf_counter()
        run = communicate(run, model, fed, len(fed))
        times.append(perf_counter() - begin)
    steps = sum(-(-n // BATCH) for n in sizes)
    return {
        "examples": sum(sizes), "steps": steps, "round (s)": median(times),
        "a step (us)": 1e6 * median(times) / steps, "adds (MiB)": (most("cpu") - before) / MIB,
    }  # fmt: skip
