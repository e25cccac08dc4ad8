"""Make the records of the live cells: ``python -m fedlab_edu.live.records book/records``.

A record is real: it comes from training on the digits. It takes a minute or two to make all.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from fedlab_edu.data import digits
from fedlab_edu.methods.aggregate import weighted_average
from fedlab_edu.models.networks import mlp
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.local import local_sgd
from fedlab_edu.training.scores import score

LR = (0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3)
EPOCHS = (1, 2, 4)


def fedex(rounds: int = 60, clients: int = 10) -> dict[str, Any]:
    """Record the errors of each round's clients with each of 27 rows.

    The model is trained by clients that draw their row uniformly: no tuner has shaped it.

    Returns:
        "rows": step size and epochs of each row; "size" (rounds, clients), validation examples;
        "wrong" (rounds, clients, 27), how many of them were wrong after training with the row.
    """
    fed, model, gen = digits(), mlp(64, 32, 10), torch.Generator().manual_seed(0)
    grid = [(lr, epochs) for lr in LR for epochs in EPOCHS]
    k = len(grid)
    table = LocalHP(lr=[lr for lr, _ in grid], epochs=[e for _, e in grid], batch=16)
    w, wrong, sizes = model.init(seed=0), [], []
    for _ in range(rounds):
        who = fed.sample(clients, gen)
        seeds = torch.randint(10**6, (clients,), generator=gen).tolist()
        every = who.repeat_interleave(k)  # client 1 with each of the rows, then client 2, ...
        rows = torch.arange(k).repeat(clients)
        W = local_sgd(model, w, fed.train[every], table[rows], [s for s in seeds for _ in range(k)])
        size = fed.val[who].n
        error = score(model, W, fed.val[every]).error.view(clients, k)
        wrong.append((error * size[:, None]).round().int().tolist())
        sizes.append(size.tolist())
        drawn = torch.arange(clients) * k + torch.randint(k, (clients,), generator=gen)
        w = weighted_average(W[drawn], fed.train[who].n)
    return {"rows": [f"{lr:g} · {e}" for lr, e in grid], "size": sizes, "wrong": wrong}


RECORDS = {"live-fedex": fedex}


def main(folder: str, *names: str) -> None:
    """Write the records with these names, or all."""
    for name in names or RECORDS:
        text = json.dumps(RECORDS[name](), separators=(",", ":"))
        Path(folder, f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(text):,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
