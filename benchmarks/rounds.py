"""Whole rounds beside a plain loop that does the same: train, score twice, average."""

import os
import resource
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.plain import plain_loop
from benchmarks.speed import with_threads
from benchmarks.workloads import GREY, TEXT, drawn, federation
from fedlab_edu import (
    Clients,
    Federation,
    LocalHP,
    Model,
    Run,
    char_lstm,
    communicate_all,
    digits,
    lenet5,
    local_sgd,
    mlp,
    start,
)
from fedlab_edu.rounds.draw import draw_work

T = TypeVar("T")
TITLE = "a whole round, ms"


class Setting(NamedTuple):
    """Runs that share a federation, and the number of rounds that are measured."""

    model: Model
    fed: Federation
    runs: list[Run]
    repeats: int


def even(
    model: Model, shape: tuple[int, ...], n: int, classes: int, batch: int, repeats: int
) -> Setting:
    """Return one run with 10 clients of n examples."""
    fed = federation(shape, classes, [n] * 10, [n // 4] * 10)
    return Setting(model, fed, [start(model, fed, LocalHP(lr=0.05, batch=batch))], repeats)


def ragged(model: Model, fed: Federation, arms: int, repeats: int) -> Setting:
    """Return one run for each arm, each with settings of its own."""
    c = drawn(arms)
    runs = [start(model, fed, c[a], seed=a) for a in range(arms)]
    return Setting(model, fed, runs, repeats)


def images() -> Federation:
    """Return 42 clients with 15 to 119 images of noise, and a quarter as many for validation."""
    sizes = torch.randint(15, 120, (42,), generator=torch.Generator().manual_seed(0)).tolist()
    return federation(GREY, 10, sizes, [n // 4 + 1 for n in sizes])


SETTINGS: dict[str, Callable[[], Setting]] = {
    "MLP 784-128-10, 10 clients of 64": lambda: even(mlp(784, 128, 10), GREY, 64, 10, 32, 30),
    "MLP 784-128-10, 27 x 10 ragged": lambda: ragged(mlp(784, 128, 10), images(), 27, 5),
    "LeNet-5, 10 clients of 64": lambda: even(lenet5(), GREY, 64, 10, 32, 15),
    "LeNet-5, 27 x 10 ragged": lambda: ragged(lenet5(), images(), 27, 5),
    "digits MLP 64-32-10, 10 clients": lambda: ragged(mlp(64, 32, 10), digits(), 1, 50),
    "digits MLP 64-32-10, 27 x 10": lambda: ragged(mlp(64, 32, 10), digits(), 27, 7),
    "char-LSTM, 10 clients of 16": lambda: even(char_lstm(), TEXT, 16, 101, 8, 5),
    "char-LSTM, 10 clients of 16, bfloat16": lambda: even(
        char_lstm(bfloat16=True), TEXT, 16, 101, 8, 5
    ),
}


def measured(setting: Setting) -> dict[str, Any]:
    """Time in turn the loop with all threads and with one, our round, and our training alone.

    Numbers are medians, without the first round. Training is its share of our round; faults are
    minor page faults of ours. Threads inside an operation spin for some milliseconds after it, so
    that the loop with all threads comes first.
    """
    model, fed, runs, repeats = setting
    times: dict[int, list[float]] = {n: [] for n in (1, os.cpu_count() or 1)}
    ours: list[float] = []
    training: list[float] = []
    faults: list[int] = []
    for _ in range(repeats + 1):
        for n in sorted(times, reverse=True):
            took, _ = with_threads(n, lambda: _timed(lambda: plain_round(runs, model, fed)))
            times[n].append(took)
        begin = _faults()
        ours.append(_timed(lambda: communicate_all(runs, model, fed))[0])
        faults.append(_faults() - begin)
        training.append(_timed(lambda: train_only(runs, model, fed))[0])
    loops = {f"threads: {n}": 1e3 * median(t[1:]) for n, t in times.items()}
    ms = [1e3 * t for t in ours[1:]]
    return {
        **loops, "ours": median(ms), "least": min(ms), "most": max(ms),
        "ratio": min(loops.values()) / median(ms),
        "training": 1e3 * median(training[1:]) / median(ms), "faults": median(faults[1:]),
    }  # fmt: skip


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begin = perf_counter()
    out = work()
    return perf_counter() - begin, out


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def train_only(runs: list[Run], model: Model, fed: Federation) -> None:
    """Train the clients of one round of each run, without scores and averages."""
    works = [draw_work(run, fed.sizes, 10) for run in runs]
    client = torch.cat([work.client for work in works])
    W = torch.cat([run.w.expand(10, -1) for run in runs]) if len(runs) > 1 else runs[0].w
    c, seeds = LocalHP.concat([work.c for work in works]), [s for work in works for s in work.seeds]
    local_sgd(model, W, fed.train[client], c, seeds)


def plain_round(runs: list[Run], model: Model, fed: Federation) -> list[Tensor]:
    """Return the next global model of each run, with one network for client after client."""
    after = []
    for run in runs:
        work = draw_work(run, fed.sizes, 10)
        n = fed.train.n[work.client].to(run.w)
        received = model.unflatten(run.w)
        for i in work.client.tolist():
            plain_score(received, fed.val, i)
        W = plain_loop(model, run.w, fed.train[work.client], work.c, work.seeds)
        for i, w in zip(work.client.tolist(), W, strict=True):
            plain_score(model.unflatten(w), fed.val, i)
        after.append(n / n.sum() @ W)
    return after


@torch.no_grad()
def plain_score(net: nn.Module, data: Clients, client: int) -> tuple[float, float]:
    x, y = data.examples(client)
    outputs = net(x)
    return float(F.cross_entropy(outputs, y)), float((outputs.argmax(1) != y).double().mean())
