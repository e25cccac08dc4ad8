"""Theorem 4.1 at the size at which its bound begins to say something: many seeds of many tasks."""

from time import perf_counter
from typing import Any

import torch
from scipy.stats import sem

from benchmarks.scale import most
from fedlab_edu.oco.bandit import bandit_eg
from fedlab_edu.oco.bounds import bound, grid_size, step_grid
from fedlab_edu.oco.losses import Constants
from fedlab_edu.oco.meta import LossTable, loss_table, task_averaged_regret
from fedlab_edu.oco.rules import bandit_eta
from fedlab_edu.oco.tasks import draw_tasks, similarity
from fedlab_edu.seeds import generator

TITLE = "Theorem 4.1"
RUNS = {
    "oco, 200 seeds, 1,000 tasks of 100": (200, 1_000, 100),
    "oco, 200 seeds, 10,000 tasks of 100": (200, 10_000, 100),
}
V, NOISE = 0.1, 0.9  # so that all data are in the unit ball
CONSTANTS = Constants(D=2.0, G=2.0, b=2.0)


def theorem(seeds: int, tau: int, m: int) -> dict[str, Any]:
    """Run the theorem's algorithm on quadratic losses in two dimensions, drawn for each seed.

    The regret is a mean over seeds, with its standard error, beside the regret of the best step
    size of the grid, and the bound, a mean over the seeds' V.
    """
    torch.set_num_threads(1)  # the work fits into the cache of one core
    began = perf_counter()
    k = grid_size(*CONSTANTS, m, tau)
    steps = step_grid(CONSTANTS.D, CONSTANTS.G, m, k)
    tables = []
    for seed in range(seeds):
        tasks = draw_tasks("quadratic", tau, m, 2, V, NOISE, generator(seed))
        tables.append(loss_table(tasks, [0.0, 0.0], steps, CONSTANTS.D / 2))
    table = LossTable(*(torch.stack(x) for x in zip(*tables, strict=True)))
    draws = torch.rand(seeds, tau, generator=generator(seeds), dtype=torch.float64)
    arms = bandit_eg(table.total, bandit_eta(CONSTANTS.b, m, tau, k), draws=draws).arms
    regret = task_averaged_regret(table, arms)
    best = table.regret.mean(1).amin(1).mean().item()
    bounds = [bound(*CONSTANTS, m, tau, v, steps) for v in similarity(table.optimum).tolist()]
    return {
        "time (s)": perf_counter() - began, "memory (MiB)": most(),
        "regret": regret.mean().item(), "its error": float(sem(regret)), "best step": best,
        "bound": sum(bounds) / seeds,
    }  # fmt: skip
