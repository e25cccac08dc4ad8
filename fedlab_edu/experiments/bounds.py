"""Exercise 6: how far a bound is from the truth."""

import torch

from fedlab_edu.oco.bandit import bandit_eg
from fedlab_edu.oco.bounds import bound, grid_size, step_grid
from fedlab_edu.oco.meta import loss_table, task_averaged_regret
from fedlab_edu.oco.rules import bandit_eta
from fedlab_edu.oco.tasks import draw_tasks, similarity
from fedlab_edu.seeds import generator

LOSSES = 100  # of a client


def looseness(V: float, tau: int, seed: int) -> float:
    """Return the bound of the theorem divided by the regret of a run of its algorithm.

    The clients' losses are |w - z| on [-1, 1]. Their numbers z scatter by 0.5 around -V or V. The
    first start is 0; grid, number of arms and step size are the theorem's.

    Args:
        V: how different the clients are, from 0 to 0.5.
        tau: how many clients come, one after the other.
        seed: of the clients and of the arms drawn.
    """
    gen, D, G, b = generator(seed), 2.0, 1.0, 2.0
    k = grid_size(D, G, b, LOSSES, tau)
    steps = step_grid(D, G, LOSSES, k)
    tasks = draw_tasks("absolute", tau, LOSSES, 1, V, 0.5, gen)
    table = loss_table(tasks, [0.0], steps, D / 2)
    draws = torch.rand(tau, generator=gen, dtype=torch.float64)
    arms = bandit_eg(table.total, bandit_eta(b, LOSSES, tau, k), draws=draws).arms
    regret = float(task_averaged_regret(table, arms))
    return bound(D, G, b, LOSSES, tau, float(similarity(table.optimum)), steps) / regret
