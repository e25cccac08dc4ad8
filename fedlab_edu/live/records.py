"""Make the records of the live cells: ``python -m fedlab_edu.live.records book/records``.

A record is real: it comes from training on the digits. It takes minutes to make all.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedlab_edu import FedProx, LocalHP, Model, Run, communicate_all, local_sgd, mlp, score, start
from fedlab_edu.data import Federation, digits
from fedlab_edu.features.maps import RandomFourier, fourier_maps
from fedlab_edu.features.selection import sweep
from fedlab_edu.methods.fedavg import weighted_average
from fedlab_edu.oco.bounds import step_grid
from fedlab_edu.oco.meta import loss_table
from fedlab_edu.oco.tasks import draw_tasks
from fedlab_edu.papers.features import FOURIER
from fedlab_edu.search.baselines import draw_arms
from fedlab_edu.search.space import FEDEX
from fedlab_edu.tuners.fedtune.credit import credit

LR = (0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3)
EPOCHS = (1, 2, 4)
WIDTHS = tuple(round(10 * 2 ** (i / 2)) for i in range(11))  # of feature maps


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


def curves(rounds: int = 40, arms: int = 81) -> dict[str, Any]:
    """Record the errors of random configurations over the rounds of a training.

    Returns:
        "size", the validation examples of all clients; "wrong" (arms, rounds), how many of them
        the model after each round has wrong.
    """
    fed, model = digits(), mlp(64, 32, 10)
    drawn = draw_arms(FEDEX, arms)
    runs = [start(model, fed, arm.tuner, arm.b, seed=0, method=FedProx()) for arm in drawn]
    return _errors(runs, model, fed, rounds)


def rates(rounds: int = 60) -> dict[str, Any]:
    """Record the errors of 31 step sizes from 0.001 to 1 over the rounds of a training.

    Returns:
        "lr" (31,); "size" and "wrong" as in `curves`.
    """
    fed, model = digits(), mlp(64, 32, 10)
    lr = [round(10 ** (i / 10 - 3), 5) for i in range(31)]
    runs = [start(model, fed, LocalHP(lr=x, batch=16), seed=0) for x in lr]
    return {"lr": lr, **_errors(runs, model, fed, rounds)}


def _errors(runs: list[Run], model: Model, fed: Federation, rounds: int) -> dict[str, Any]:
    """Train the runs side by side, and return the record of `curves`."""
    n, wrong = fed.val.n, []
    for _ in range(rounds):
        runs = communicate_all(runs, model, fed)
        wrong.append([round(float(score(model, r.w, fed.val).error @ n.double())) for r in runs])
    return {"size": int(n.sum()), "wrong": torch.tensor(wrong).T.tolist()}


def features(widths: tuple[int, ...] = WIDTHS, maps: int = 64, seed: int = 0) -> Any:
    """Record the errors of random Fourier features at each width, each with a fit of its own.

    Args:
        seed: of the split of the images, the maps, and their directions.

    Returns:
        "widths", numbers of features; "size", validation examples; "wrong" (widths, maps).
    """
    task: Any = FOURIER.workload("digits", "book")
    data = task.problem(seed).data
    chosen, wrong = RandomFourier.draw(np.random.default_rng([1, seed]), maps), []
    for n in widths:
        gen = np.random.default_rng([2, seed])
        every = fourier_maps(chosen, data.x, n, gen, True, data.x_val)
        wrong.append([round(float(e) * len(data.y_val)) for e in sweep(every, data, "error")])
    return {"widths": [*widths], "size": len(data.y_val), "wrong": wrong}


def tasks(number: int = 1000) -> dict[str, Any]:
    """Record the total loss of each of four step sizes on similar tasks on a line.

    Returns:
        "c" (4,), the step sizes; "most", an upper bound on a task's loss; "loss" (number, 4).
    """
    m, D, V, noise = 50, 2.0, 0.1, 0.4
    steps = step_grid(D, 1.0, m, 8, "geometric")
    stream = draw_tasks("absolute", number, m, 1, V, noise, torch.Generator().manual_seed(0))
    table = loss_table(stream, [-0.9], steps, D / 2)
    loss = [[round(x, 2) for x in row] for row in table.total.tolist()]
    return {"c": [round(c, 4) for c in steps.tolist()], "most": m * D, "loss": loss}


def credits(rounds: int = 60, clients: int = 10) -> dict[str, Any]:
    """Record FedTune's credits of each client with each of three step sizes.

    In a round the other clients have drawn their rows uniformly; all start from the same weights.

    Returns:
        "lr" (3,); "credit" (rounds, clients, 3), ``-d_i`` in thousandths.
    """
    fed = digits(by="label", clients=14, alpha=0.1)
    model, gen = mlp(64, 32, 10), torch.Generator().manual_seed(0)
    lr = (0.01, 0.05, 0.2)
    table, w, N, k = LocalHP(lr=lr, batch=16), model.init(seed=0), clients, len(lr)
    who, rows = torch.arange(N).repeat_interleave(k), torch.arange(k).repeat(N)
    x, y = (torch.cat([fed.val.examples(i)[j] for i in range(N)]) for j in (0, 1))
    q, found = fed.train[torch.arange(N)].n / fed.train[torch.arange(N)].n.sum(), []
    for _ in range(rounds):
        seeds = torch.randint(10**6, (N,), generator=gen).tolist()
        W = local_sgd(model, w, fed.train[who], table[rows], [s for s in seeds for _ in range(k)])
        with torch.no_grad():
            out = model.outputs(W, x.expand(N * k, *x.shape)).view(N, k, len(x), -1)
        drawn = torch.randint(k, (N,), generator=gen)
        found.append([
            [_credit(out, drawn, i, row, q, y) for row in range(k)] for i in range(N)
        ])  # fmt: skip
    return {"lr": [*lr], "credit": found}


def _credit(out: Any, drawn: torch.Tensor, i: int, row: int, q: Any, y: Any) -> float:
    """Return client i's credit if it has drawn the row, and the others theirs."""
    z = drawn.clone()
    z[i] = row
    _, d = credit(out[torch.arange(len(z)), z], q, y, "cross_entropy")
    return round(-1000 * float(d[i]), 2)


RECORDS: dict[str, Any] = {
    "live-fedex": fedex, "live-curves": curves, "live-rates": rates, "live-features": features,
    "live-tasks": tasks, "live-credits": credits,
}  # fmt: skip


def main(folder: str, *names: str) -> None:
    """Write the records with these names, or all."""
    for name in names or RECORDS:
        text = json.dumps(RECORDS[name](), separators=(",", ":"))
        Path(folder, f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(text):,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
