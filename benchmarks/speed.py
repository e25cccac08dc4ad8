"""Seconds and arithmetic of local training, beside those of the plain loop."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unittest import mock

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.plain import plain_loop
from benchmarks.workloads import Workload
from fedlab_edu import Model, local_sgd

T = TypeVar("T")
LONG_ENOUGH = 0.2  # seconds; shorter work is repeated
TITLE = "local training"


def speed(work: Workload, device: torch.device, repeats: int) -> dict[str, Any]:
    """Time both loops in turn, the plain one at each promising number of threads; the best counts.

    The shortest times count: other programs only ever add to them. The peak is measured in between.
    Both loops train the same minibatches. Over hundreds of steps rounding may grow in float32, and
    where ours is in bfloat16 the difference is what that costs; tests compare the loops in float64.
    """
    model, c = work.model, work.c
    clients, w, seeds = work.clients.to(device), model.init(0).to(device), list(range(len(c)))

    def ours(k: int) -> Tensor:
        return local_sgd(model, w, clients[range(k)], c[:k], seeds[:k])

    def plain(k: int) -> Tensor:
        return plain_loop(model, w, clients[range(k)], c[:k], seeds[:k])

    # a first call also makes what later ones find made
    few = min(10, len(c))
    ours(few)
    trial = {
        n: with_threads(n, lambda: seconds(lambda: plain(few), device))[0] for n in threads(device)
    }
    # on a busy machine several threads wait for each other, and would cost minutes
    others: dict[int, list[float]] = {n: [] for n in trial if trial[n] < 2 * min(trial.values())}
    mine, peaks = [], []
    for _ in range(repeats):
        took, W = seconds(lambda: ours(len(c)), device)
        mine.append(took)
        peaks.append(peak(device))
        for n, times in others.items():
            took, expected = with_threads(n, lambda: seconds(lambda: plain(len(c)), device))
            times.append(took)
    best, rate = min(map(min, others.values())), operations(work) / min(mine)
    return {
        "plain loop (s)": best, "ours (s)": min(mine), "ratio": best / min(mine),
        "GFLOP/s": rate / 1e9, "of peak": rate / max(peaks),
        "largest difference": float(W.sub_(expected).abs_().max()),
    }  # fmt: skip


def in_tf32(work: Workload, device: torch.device, repeats: int) -> dict[str, Any]:
    """Do `speed` with the factors of all products rounded to TF32, where a GPU can."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    try:
        return speed(work, device, repeats)
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def compiled(work: Workload, repeats: int) -> dict[str, Any]:
    """Time our training, and with gradients through `torch.compile`, in turn, on one thread.

    The first call compiles, without the cache of an earlier one; later calls count by the least
    processor time.
    """
    if not which(os.environ.get("CXX", "g++")):
        return {"first call (s)": "no C++ compiler"}
    model, clients, c, seeds = *work, list(range(len(work.c)))
    fast, w = replace(model, gradients=torch.compile(model.gradients)), model.init(0)

    def trained(one: Model) -> tuple[float, Tensor]:
        begin = time.process_time()
        out = local_sgd(one, w, clients, c, seeds, workers=1)
        return time.process_time() - begin, out

    with TemporaryDirectory() as cache, mock.patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache):
        begin = time.perf_counter()
        _, W = trained(fast)
        first = time.perf_counter() - begin
        times = [[trained(one)[0] for one in (fast, model)] for _ in range(10 * repeats)]
    theirs, ours = map(min, zip(*times, strict=True))
    return {
        "first call (s)": first, "compiled (s)": theirs, "ours (s)": ours, "ratio": theirs / ours,
        "largest difference": float((W - trained(model)[1]).abs().max()),
    }  # fmt: skip


def operations(work: Workload) -> int:
    """Count the floating-point operations of all forward and backward passes of a workload."""
    visits = int((work.c.epochs * work.clients.n).sum())
    return visits * operations_per_example(work.model, work.clients.x)


def operations_per_example(model: Model, x: Tensor, backward: bool = True) -> int:
    """Count multiplications and additions in matrix products and convolutions, for one example.

    Counted on a device without data: there an LSTM takes its formulation in matrix products, while
    the CPU's own is one operation that cannot be looked into.
    """
    leaves = [p.requires_grad_() for p in model.views(torch.empty(1, model.d, device="meta"))]
    x = x.new_empty(1, 1, *x.shape[1:], device="meta")
    y = torch.empty(1, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counted:
        loss = model.loss(model.forward(leaves, x).flatten(0, 1), y).sum()
        if backward:
            torch.autograd.grad(loss, leaves)
    return counted.get_total_flops()


def peak(device: torch.device) -> float:
    """Return the operations a second in a product of large float32 matrices: no loop does more."""
    size = 2048 if device.type == "cpu" else 8192
    a, b = torch.rand(2, size, size, device=device)
    every = [
        with_threads(n, lambda: seconds(lambda: torch.mm(a, b), device))[0] for n in threads(device)
    ]
    return 2 * size**3 / min(every)


def threads(device: torch.device) -> list[int]:
    """Return the numbers of threads to try in an operation: one, PyTorch's choice, and all."""
    if device.type == "cuda":
        return [1]
    return sorted({1, torch.get_num_threads(), os.cpu_count() or 1})


def with_threads(n: int, work: Callable[[], T]) -> T:
    """Do some work with n threads in an operation, and put the number back."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        return work()
    finally:
        torch.set_num_threads(before)


def seconds(work: Callable[[], T], device: torch.device) -> tuple[float, T]:
    """Return the shortest time of the calls that fit into `LONG_ENOUGH`, and the last result.

    A call ends when its result is there; a GPU answers before it has finished.
    """
    took: list[float] = []
    while sum(took) < LONG_ENOUGH:
        wait(device)
        begin = time.perf_counter()
        out = work()
        wait(device)
        took.append(time.perf_counter() - begin)
    return min(took), out


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
