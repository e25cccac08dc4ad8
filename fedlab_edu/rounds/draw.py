"""What a round draws: its clients, their rows of the tuner's table, and their seeds."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlab_edu.data.clients import Sizes
from fedlab_edu.rounds.gather import Work
from fedlab_edu.rounds.run import Run
from fedlab_edu.seeds import seed_for, seeds_for
from fedlab_edu.validate import require


def draw_work(run: Run, sizes: Sizes, clients: int) -> Work:
    """Draw the clients of a run's next round, and ask its tuner for their rows of the table."""
    return draw_works([run], sizes, clients)[0]


def draw_works(runs: Sequence[Run], sizes: Sizes, clients: int) -> list[Work]:
    """Do `draw_work` for several runs."""
    of_run, rounds = [run.seed for run in runs], np.array([run.round for run in runs])
    client, row, gen = [], [], torch.Generator()
    for run, seed in zip(runs, seeds_for(of_run, rounds).tolist(), strict=True):
        gen.manual_seed(seed)
        client.append(sizes.sample(clients, gen, run.replacement))
        asked = run.tuner.ask(client[-1].clone(), gen)  # which may write into its copy
        row.append(_check_rows(run, clients, asked))
    seeds = seeds_for(of_run, rounds, torch.stack(client).numpy()).tolist()
    for run, drawn, given in zip(runs, client, seeds, strict=True):
        if run.replacement:
            _renew(given, run, drawn.tolist())
    c = [run.tuner.table[own] for run, own in zip(runs, row, strict=True)]
    return [Work(*work) for work in zip(client, row, c, seeds, strict=True)]


def _renew(seeds: list[int], run: Run, clients: list[int]) -> None:
    """Give clients that are drawn again in a round other seeds; `personalise` has the key 1."""
    drawn: Counter[int] = Counter()
    for place, i in enumerate(clients):
        drawn[i] += 1
        if drawn[i] > 1:
            seeds[place] = seed_for(run.seed, run.round, i, drawn[i])


def _check_rows(run: Run, clients: int, row: Any) -> Tensor:
    """Return the rows that a tuner gives, or raise an error that names the tuner."""
    k, name = len(run.tuner.table), f"{type(run.tuner).__name__}.ask"
    whole = isinstance(row, Tensor) and not (row.is_floating_point() or row.dtype == torch.bool)
    ok = whole and row.shape == (clients,) and all(0 <= j < k for j in row.tolist())
    require(ok, name, row, f"a tensor of {clients} whole numbers from 0 to {k - 1}")
    rows: Tensor = row.long()
    return rows
