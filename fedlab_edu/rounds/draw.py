"""What a round draws: its clients, their rows of the tuner's table, and their seeds."""

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from fedlab_edu.data.clients import Sizes
from fedlab_edu.rounds.gather import Work
from fedlab_edu.rounds.run import Run
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.validate import require


def draw_work(run: Run, sizes: Sizes, clients: int) -> Work:
    """Draw the clients of a run's next round, and ask its tuner for their rows of the table."""
    gen = generator(run.seed, run.round)
    client = sizes.sample(clients, gen, run.replacement)
    asked = run.tuner.ask(client.clone(), gen)  # which may write into its copy
    row = _check_rows(run, clients, asked)
    return Work(client, row, run.tuner.table[row], draw_seeds(run, client.tolist()))


def draw_seeds(run: Run, clients: list[int]) -> list[int]:
    """Return a seed for each client; one that is drawn again in a round has others."""
    seen, seeds = Counter[int](), []
    for i in clients:
        seen[i] += 1
        again = [seen[i]] if seen[i] > 1 else []  # `personalise` has the key 1
        seeds.append(seed_for(run.seed, run.round, i, *again))
    return seeds


def _check_rows(run: Run, clients: int, row: Any) -> Tensor:
    """Return the rows that a tuner gives, or raise an error that names the tuner."""
    k, name = len(run.tuner.table), f"{type(run.tuner).__name__}.ask"
    whole = isinstance(row, Tensor) and not (row.is_floating_point() or row.dtype == torch.bool)
    ok = whole and row.shape == (clients,) and all(0 <= j < k for j in row.tolist())
    require(ok, name, row, f"a tensor of {clients} whole numbers from 0 to {k - 1}")
    rows: Tensor = row.long()
    return rows
