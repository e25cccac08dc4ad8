"""Our round, and the plain PyTorch loop."""

import torch

from benchmarks.peers import BATCH, LR, B, N, V, data, timed
from benchmarks.rounds import plain_round
from fedlab_edu import Federation, LocalHP, Model, communicate, mlp, start
from fedlab_edu.data import Clients

SETTING = LocalHP(lr=LR, batch=BATCH)


def problem() -> tuple[Model, Federation]:
    x, y, vx, vy = (torch.from_numpy(part).flatten(0, 1) for part in data())
    train = Clients(x, y, torch.arange(B * N).split(N))
    val = Clients(vx, vy, torch.arange(B * V).split(V))
    return mlp(784, 128, 10), Federation(train, val, val, tuple("0123456789"), 10)


def ours() -> list[float]:
    model, fed = problem()
    run = start(model, fed, SETTING)
    return timed(lambda: communicate(run, model, fed, B))


def plain(threads: int) -> list[float]:
    model, fed = problem()
    run = start(model, fed, SETTING)
    torch.set_num_threads(threads)
    return timed(lambda: plain_round([run], model, fed))
