"""``python -m benchmarks [--device cuda] [--repeats 3] [--only TEXT]``: speed and memory.

For each workload, local training and a plain PyTorch loop over the clients take turns, the plain
loop with one thread and with all. What counts is the ratio of the shortest times, the plain loop at
its better number of threads. Both train the same minibatches; the largest difference between their
weights is printed beside the times. GFLOP/s counts the operations of forward and backward passes;
the percentage is that of what the machine does in a product of large float32 matrices. Rounding in
float32 may grow over hundreds of steps; the tests hold both loops together in float64.

A whole round is training, two scores and the average: medians, the plain loop with one thread and
with all, and ours, in turn. Training is its share of our round; faults are its minor page faults.
The faults of the first rounds, in which memory grows, are no measure of later ones.
Rounds of many clients show that a step takes as long, and that memory does not grow with them.

Whole searches on the digits: the shares of processor time in local training, in the two scores of
each client, and in the rest: draws, averages, the tuner, and Python's garbage collector. A
plain loop scores and draws as well; its share of training stands last. The faster training is, the
larger a share the same rest has.

A race is a whole search: successive halving, its arms together and one by one. Each is run once.
A search in two processes, one thread each, is measured beside the threads of one.
FedEx is measured against the same round, and the same search, without it.

FedPop is a whole search beside its members without evolution.

FedTune is a whole search beside as many rounds of FedAvg with the same clients; it is run once.

Theorem 4.1 is run on the CPU whatever the device, in one thread; its bound is beside its regret.

Memory is that of whole rounds, each in a process of its own.

A class is graded by the command itself: wrong and right answers in turn to two questions of
exercise 1, which have ten tests. It is graded twice, the second time with a kill at a drawn point.
Memory is the peak of the command and its examiners, after a third of the submissions and after all.
"""

import argparse
import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from benchmarks import (
    features,
    fedex,
    fedpop,
    fedtune,
    grading,
    memory,
    oco,
    races,
    rounds,
    scale,
    shares,
    speed,
    workers,
)
from benchmarks.workloads import Workload, workloads
from fedlab_edu import LocalHP
from fedlab_edu.tensors import usable_device

T = TypeVar("T")
ROUNDS = {f"LeNet-5, a round of {B} clients of 64": B for B in (10, 100, 1000)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Speed and memory.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="what has this text in its name")
    options = parser.parse_args(arguments)
    device = usable_device(options.device)
    torch.backends.cudnn.allow_tf32 = False  # convolutions in float32, as matrix products are
    print(f"{machine(device)}; the best of {options.repeats}")

    def training(make: Callable[[], Workload]) -> str:
        return speed.speed(make(), device, options.repeats).row()

    def a_whole_round(make: Callable[[], rounds.Setting]) -> str:
        return rounds.measured(make()).row()

    def many(size: tuple[Callable[[int], list[int]], int]) -> str:
        return scale.measured(size).row()

    def a_search(make: Callable[..., Any]) -> str:
        return shares.measured(make).row()

    def a_race(budget: tuple[int, int]) -> str:
        return races.raced(budget, device).row()

    def fedex_round(c: LocalHP) -> str:
        return fedex.rounds(c, device).row()

    def maps(n: int) -> str:
        return features.searched(n, device)

    def fedex_race(budget: tuple[int, int]) -> str:
        return fedex.races(budget, device).row()

    def fedpop_search(budget: tuple[int, int]) -> str:
        return fedpop.searched(budget, device).row()

    def fedtune_search(rounds: int) -> str:
        return fedtune.searched(rounds, device).row()

    def a_theorem(size: tuple[int, int, int]) -> str:
        return oco.measured(size).row()

    def a_round(clients: int) -> str:
        return memory.peak_memory(clients, options.device).row()

    def apart(size: tuple[int, int]) -> str:
        return workers.measured(size).row()

    def a_class(n: int) -> str:
        return grading.graded(n).row()

    table(speed.HEAD, workloads(), options.only, training)
    if device.type == "cpu":
        table(rounds.HEAD, rounds.SETTINGS, options.only, a_whole_round)
        table(scale.HEAD, scale.SIZES, options.only, many)
        table(shares.HEAD, shares.SEARCHES, options.only, a_search)
        table(workers.HEAD, workers.SIZES, options.only, apart)
    table(races.HEAD, races.BUDGETS, options.only, a_race)
    table(fedex.HEAD, fedex.ROUNDS, options.only, fedex_round)
    table(fedex.HEAD, fedex.RACES, options.only, fedex_race)
    table(fedpop.HEAD, fedpop.BUDGETS, options.only, fedpop_search)
    table(fedtune.HEAD, fedtune.BUDGETS, options.only, fedtune_search)
    table(features.HEAD, features.SIZES, options.only, maps)
    table(oco.HEAD, oco.RUNS, options.only, a_theorem)
    table(memory.HEAD, ROUNDS, options.only, a_round)
    table(grading.HEAD, grading.CLASSES, options.only, a_class)


def table(head: str, rows: dict[str, T], only: str, measure: Callable[[T], str]) -> None:
    """Each row as soon as it is measured: the whole takes minutes."""
    chosen = {label: what for label, what in rows.items() if only in label}
    if chosen:
        print(f"\n{head}")
    for label, what in chosen.items():
        print(f"{label:38}{measure(what)}", flush=True)


def machine(device: torch.device) -> str:
    name = f"CPU, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the start"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return f"{name}; PyTorch {torch.__version__}"


if __name__ == "__main__":
    main()
