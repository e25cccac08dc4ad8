"""``python -m benchmarks [--device cuda] [--repeats 3] [--only TEXT]``: speed and memory.

The module of a table says what it measures and how: `speed`, `rounds`, `scale`, `shares`,
`searches`, `oco` or `grading`. On a GPU rows in TF32 replace whole rounds, rounds of many clients,
shares and compiled gradients.
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
    """Print each row as soon as it is measured: the whole takes minutes."""
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
