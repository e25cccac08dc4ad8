"""``python -m benchmarks [--device cuda] [--repeats 3] [--only TEXT]``: speed and memory.

For each workload, local training and a plain PyTorch loop over the clients take turns, the plain
loop with one thread and with all. What counts is the ratio of the shortest times, the plain loop at
its better number of threads. Both train the same minibatches; the largest difference between their
weights is printed beside the times. GFLOP/s counts the operations of forward and backward passes;
"of peak" is their part of what the machine does in a product of large float32 matrices. Rounding in
float32 may grow over hundreds of steps; the tests hold both loops together in float64. In the
row in bfloat16 only ours is, so that the difference is what it costs. A GPU measures some rows
again in TF32, both loops. Rows of `torch.compile` have the seconds of the first call, which
compiles, and the processor time of later ones.

A whole round is training, two scores and the average: medians, the plain loop with one thread and
with all, and ours, in turn. Training is its share of our round; faults are its minor page faults.
The faults of the first rounds, in which memory grows, are no measure of later ones.
Rounds of many clients show that a step takes as long, and that memory does not grow with them.

Rounds of FedAvg, and whole searches on the digits: the shares of processor time in local training,
in the two scores of each client, in the step of the clients' tuner, and in the rest: draws,
averages, and Python's garbage collector. The scores' share of all operations is a floor of what is
not training. A plain loop scores and draws as well; its share of training stands last. The faster
training is, the larger a share the same rest has.

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
from typing import Any

import torch

from benchmarks import grading, oco, rounds, scale, searches, shares, speed
from benchmarks.workloads import workloads
from fedlab_edu.tensors import usable_device

ROUNDS = {f"LeNet-5, a round of {B} clients of 64": B for B in (10, 100, 1000)}

COMPILED = "MLP 784-128-10, 10 clients of 64", "LeNet-5, 10 clients of 64", "digits MLP"
Measure = Callable[[Any], dict[str, Any]]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Speed and memory.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="what has this text in its name")
    options = parser.parse_args(arguments)
    device = usable_device(options.device)
    torch.backends.cudnn.allow_tf32 = False  # convolutions in float32, as matrix products are
    print(f"{machine(device)}; the best of {options.repeats}")
    for title, rows, measure in tables(device, options.repeats):
        table(title, {name: what for name, what in rows.items() if options.only in name}, measure)


def tables(device: torch.device, repeats: int) -> list[tuple[str, dict[str, Any], Measure]]:
    """Return the title of each table, its rows by name, and a function that measures one.

    What is measured has the names of columns, some with a unit.
    """
    compiled = {
        f"{name}, compiled": make for name, make in workloads().items() if name.startswith(COMPILED)
    }
    on_cpu: list[tuple[str, dict[str, Any], Measure]] = [
        (rounds.TITLE, rounds.SETTINGS, lambda make: rounds.measured(make())),
        (scale.TITLE, scale.SIZES, lambda n: scale.in_a_small_process(scale.rounds, n[0](n[1]))),
        (shares.TITLE, shares.CASES, shares.measured),
        (speed.TITLE, compiled, lambda make: speed.compiled(make(), repeats)),
    ]
    fast = {f"{name}, TF32": make for name, make in workloads().items() if "10 clients" in name}
    on_gpu = (speed.TITLE, fast, lambda make: speed.in_tf32(make(), device, repeats))
    return [
        (speed.TITLE, workloads(), lambda make: speed.speed(make(), device, repeats)),
        *(on_cpu if device.type == "cpu" else [on_gpu]),
        *(
            (title, rows, lambda row: row[0](row[1], device))
            for title, rows in searches.TABLES.items()
        ),
        (oco.TITLE, oco.RUNS, lambda size: scale.in_a_small_process(oco.theorem, *size)),
        (scale.MEMORY, ROUNDS, lambda n: scale.in_a_small_process(scale.memory, n, str(device))),
        (grading.TITLE, grading.CLASSES, grading.graded),
    ]


def table(title: str, rows: dict[str, Any], measure: Measure) -> None:
    """Each row as soon as it is measured: the whole takes minutes."""
    for place, (label, what) in enumerate(rows.items()):
        found = measure(what)
        if not place:
            print(f"\n{title:38}" + "".join(f"{name:>{max(12, len(name) + 2)}}" for name in found))
        cells = {name: f"{v:.4g}" if isinstance(v, float) else str(v) for name, v in found.items()}
        shown = "".join(f"{cell:>{max(12, len(name) + 2)}}" for name, cell in cells.items())
        print(f"{label:38}{shown}", flush=True)


def machine(device: torch.device) -> str:
    name = f"CPU, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the start"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return f"{name}; PyTorch {torch.__version__}"


if __name__ == "__main__":
    main()
