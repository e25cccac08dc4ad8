"""Random federations, configurations and methods: each round is that of a plain loop of clients."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlab_edu import (
    MAML,
    Clients,
    Ditto,
    FedAvg,
    FedDyn,
    Federation,
    FedPA,
    FedProx,
    LocalHP,
    Reptile,
    Run,
    Scaffold,
    ServerHP,
    communicate_all,
    mlp,
    start,
)
from fedlab_edu.methods import (
    DPFedAvg,
    FedAdagrad,
    FedAdam,
    FedNova,
    FedYogi,
    Krum,
    Median,
    QFedAvg,
    TrimmedMean,
)
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.tuner import Fixed
from tests.fuzz import fuzz
from tests.vectors import F64

INPUTS, CLASSES = 3, 3
METHODS: dict[str, Any] = {
    "fedavg": FedAvg(), "adam": FedAvg(optimizer="adam"), "fedprox": FedProx(), "ditto": Ditto(),
    "reptile": Reptile(), "scaffold1": Scaffold(1), "scaffold2": Scaffold(2), "feddyn": FedDyn(),
    "fednova": FedNova(), "q": QFedAvg(q=1.5), "fedadam": FedAdam(), "yogi": FedYogi(beta2=0.5),
    "adagrad": FedAdagrad(), "median": Median(), "trimmed": TrimmedMean(0.3), "krum": Krum(f=0),
    "dp": DPFedAvg(0.05, noise=0.0), "maml": MAML(), "fomaml": MAML(first_order=True),
    "fedpa": FedPA(burn_in=1, rho=0.3),
}  # fmt: skip
PULLS = ("fedprox", "ditto", "feddyn")
STATEFUL = ("ditto", "scaffold1", "scaffold2", "feddyn")
PLAIN_SGD = ("maml", "fomaml")


class Case(NamedTuple):
    name: str
    sizes: tuple[int, ...]  # of the network
    fed: Federation
    c: LocalHP
    b: ServerHP
    clients: int
    seed: int
    replacement: bool


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


@st.composite
def cases(draw: st.DrawFn, names: Sequence[str] = tuple(METHODS)) -> dict[str, Any]:
    """What `made` takes: checks of types draw random numbers, which a strategy may not."""
    name = draw(st.sampled_from(names))
    N = draw(st.integers(3, 6))
    lengths = st.lists(st.integers(0, 7), min_size=N, max_size=N)

    def column(values: st.SearchStrategy[Any]) -> Any:
        return draw(st.one_of(values, st.lists(values, min_size=N, max_size=N)))

    c = {
        "lr": column(floats(0.01, 0.3)), "batch": column(st.integers(1, 9)),
        "momentum": 0.0 if name in PLAIN_SGD else column(floats(0, 0.95)),
        "weight_decay": column(floats(0, 0.5)),
        "mu": column(floats(0.1, 1.0)) if name in PULLS else 0.0,
        "epochs": column(st.integers(2, 4) if name == "fedpa" else st.integers(1, 3)),
    }  # fmt: skip
    b = {"lr": draw(floats(0.1, 1.5)), "momentum": draw(floats(0, 0.9)),
         "decay": draw(floats(0.5, 1))}  # fmt: skip
    if "scaffold" in name:
        b["control_lr"] = draw(floats(0, 1))
    sizes = draw(st.sampled_from([(INPUTS, CLASSES), (INPUTS, 4, CLASSES)]))
    again = name not in (*STATEFUL, "krum") and draw(st.booleans())  # which would make ties
    B = draw(st.integers(3 if name == "krum" else 1, N))
    return {"name": name, "n": draw(lengths), "v": draw(lengths), "data": draw(st.integers(0, 99)),
            "sizes": sizes, "c": c, "b": b, "clients": B, "seed": draw(st.integers(0, 2**70)),
            "replacement": again}  # fmt: skip


def made(n: list[int], v: list[int], data: int, c: Any, b: Any, **rest: Any) -> Case:
    gen, N = torch.Generator().manual_seed(data), len(n)
    M = 2 * sum(n) + 2 * sum(v) + 2 * N
    x = 2 * torch.randn(M, INPUTS, generator=gen, dtype=F64)
    y, order = torch.randint(CLASSES, (M,), generator=gen), torch.randperm(M, generator=gen)
    train, val, _ = order.split([sum(n) + N, sum(v), M - sum(n) - N - sum(v)])
    one, other = (Clients(x, y, rows) for rows in (train.split([m + 1 for m in n]), val.split(v)))
    fed = Federation(one, other, other, tuple("abcdef"[:N]), CLASSES)
    return Case(fed=fed, c=LocalHP(**c), b=ServerHP(**b), **rest)


# --- the plain loop -------------------------------------------------------------------------------


def losses(sizes: tuple[int, ...], w: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Each example's loss, and whether it is wrong; linear layers lie transposed in w."""
    at = 0
    for layer, (i, o) in enumerate(pairwise(sizes)):
        x = x.relu() if layer else x
        x = x @ w[at : at + i * o].view(i, o) + w[at + i * o : at + i * o + o]
        at += i * o + o
    return F.cross_entropy(x, y, reduction="none"), x.argmax(1) != y


def slope(case: Case, w: Tensor, rows: Tensor, graph: bool = False) -> Tensor:
    leaf = w if graph else w.detach().requires_grad_()
    data = case.fed.train
    loss = losses(case.sizes, leaf, data.x[rows], data.y[rows])[0].mean()
    return torch.autograd.grad(loss, leaf, create_graph=graph)[0]


def way(case: Case, w: Tensor, rows: Tensor, c: LocalHP, seed: int, *, mu: float = 0.0,
        drift: Any = 0.0, anchor: Any = None, graph: bool = False) -> list[Tensor]:  # fmt: skip
    """The weights after each local step."""
    anchor, u, moments, found = w if anchor is None else anchor, torch.zeros_like(w), [0.0, 0.0], []
    lr, m, decay = float(c.lr), float(c.momentum), float(c.weight_decay)
    gen = torch.Generator().manual_seed(seed)
    for _ in range(int(c.epochs)):
        for batch in torch.randperm(len(rows), generator=gen).split(int(c.batch)):
            g = slope(case, w, rows[batch], graph) + decay * w + mu * (w - anchor) + drift
            if case.name == "adam":
                t = len(found) + 1
                moments = [m * moments[0] + (1 - m) * g, 0.999 * moments[1] + 0.001 * g * g]
                first, second = moments[0] / (1 - m**t), moments[1] / (1 - 0.999**t)
                w = w - lr * first / (second.sqrt() + 1e-8)
            else:
                u = m * u + g
                w = w - lr * u
            found.append(w)
    return found


def plain_steps(K: int, momentum: float) -> float:
    return sum((K - j) * momentum**j for j in range(K))


class Sent(NamedTuple):
    model: Tensor
    personal: Tensor
    weight: float
    state: Tensor | None = None
    tau: float = 1.0


def client(case: Case, w: Tensor, h: Tensor, state: Any, i: int, c: LocalHP, seed: int) -> Sent:
    rows, name, mu = case.fed.train.rows[i], case.name, float(c.mu)
    n, lr = len(rows), float(c.lr)
    if name in ("scaffold1", "scaffold2"):
        ways = way(case, w, rows, c, seed, drift=h - state)
        y, K = ways[-1], plain_steps(len(ways), float(c.momentum))
        new = slope(case, w, rows) + float(c.weight_decay) * w
        return Sent(y, y, 1.0, new if name == "scaffold1" else state - h + (w - y) / (K * lr))
    if name == "feddyn":
        y = way(case, w, rows, c, seed, mu=mu, drift=-state)[-1]
        return Sent(y, y, 1.0, state - mu * (y - w))
    if name == "ditto":
        v = way(case, state, rows, c, seed, mu=mu, anchor=w)[-1]
        return Sent(way(case, w, rows, c, seed)[-1], v, n, v)
    ways = way(case, w, rows, c, seed, mu=mu)
    y = ways[-1]
    if name == "fednova":
        tau = plain_steps(len(ways), float(c.momentum))
        return Sent((y - w) / tau, y, n, tau=tau)
    if name == "q":
        data = case.fed.train
        loss = float(losses(case.sizes, w, data.x[rows], data.y[rows])[0].mean())
        d, q = (w - y) / lr, 1.5
        weight = q * loss ** (q - 1) * float(d @ d) + loss**q / lr
        return Sent(w - loss**q * d / weight, y, weight)
    if name == "dp":
        length = float((y - w).norm())
        return Sent(w + (y - w) * min(1.0, 0.05 / length), y, 1.0)
    if name in PLAIN_SGD:
        return Sent(w - meta_slope(case, w, rows, c, seed), y, 1.0)
    if name == "fedpa":
        each = len(ways) // int(c.epochs)
        samples = torch.stack([torch.stack(ways[k * each : (k + 1) * each]).mean(0)
                               for k in range(1, int(c.epochs))])  # fmt: skip
        r = 1 / (1 + (len(samples) - 1) * 0.3)
        S = samples.T.cov() if len(samples) > 1 else torch.zeros(len(w), len(w), dtype=F64)
        sigma = r * torch.eye(len(w), dtype=F64) + (1 - r) * S
        return Sent(w - torch.linalg.solve(sigma, w - samples.mean(0)), y, n)
    weight = 1.0 if name in ("reptile", "median", "trimmed", "krum") else n
    return Sent(y, y, weight)


def meta_slope(case: Case, w: Tensor, rows: Tensor, c: LocalHP, seed: int) -> Tensor:
    """The derivative of the loss on one half after training on the other, by unrolling."""
    gen = torch.Generator().manual_seed(seed)
    mixed = rows[[torch.randperm(len(rows), generator=gen) for _ in range(2)][1]]
    half = (len(rows) + 1) // 2
    support, query = mixed[:half], mixed[half:] if len(rows) > 1 else mixed
    leaf = w.clone().requires_grad_()
    end = way(case, leaf, support, c, seed, graph=True)[-1]
    if case.name == "fomaml":
        return slope(case, end, query)
    data = case.fed.train
    loss = losses(case.sizes, end, data.x[query], data.y[query])[0].mean()
    return torch.autograd.grad(loss, leaf)[0]


def server_step(case: Case, server: Sequence[Tensor], sent: list[Sent], change: Tensor,
                c: LocalHP, t: int) -> list[Tensor]:  # fmt: skip
    (w, v, h), name, b = server, case.name, case.b
    lr, momentum = float(b.lr) * float(b.decay) ** (t - 1), float(b.momentum)
    models = torch.stack([one.model for one in sent])
    p = torch.tensor([one.weight for one in sent], dtype=F64)
    average = (p / p.sum()) @ models
    rates = {"fedadam": 0.99, "yogi": 0.5, "adagrad": 0.0}
    if name in rates:
        D, beta = average - w, rates[name]
        v, h = momentum * v + (1 - momentum) * D, h if t > 1 else torch.full_like(w, 1e-6)
        h = {"fedadam": beta * h + (1 - beta) * D**2, "adagrad": h + D**2,
             "yogi": h - (1 - beta) * D**2 * (h - D**2).sign()}[name]  # fmt: skip
        return [w + lr * v / (h.sqrt() + 1e-3), v, h]
    if name == "median":
        average = torch.from_numpy(np.median(models.numpy(), 0))
    elif name == "trimmed":
        cut = math.floor(0.3 * len(sent) + 1e-9)
        average = models.sort(0).values[cut : len(sent) - cut].mean(0)
    elif name == "krum":
        far = [[float((a - z) @ (a - z)) for z in models] for a in models]
        worth = [sum(sorted(own[:i] + own[i + 1 :])[: len(sent) - 2]) for i, own in enumerate(far)]
        average = models[worth.index(min(worth))]
    elif name == "fednova":
        average = w + float(p / p.sum() @ torch.tensor([s.tau for s in sent], dtype=F64)) * average
    elif name == "feddyn":
        average = average - (h + change) / float(c.mu.mean())
    v = momentum * v + w - average
    return [w - lr * v, v, h + float(b.control_lr) * change]


def plain_round(case: Case, run: Run, server: list[Tensor], states: dict[int, Tensor]) -> Any:
    """The server and the states after a round, and each client's losses and errors."""
    work, w = draw_work(run, case.fed.sizes, case.clients), server[0]
    first = w if case.name == "ditto" else torch.zeros_like(w)
    sent, scores, change, new = [], [], torch.zeros_like(w), dict(states)
    for k, i in enumerate(work.client.tolist()):
        old = states.get(i, first)
        one = client(case, w, server[2], old, i, work.c[k], work.seeds[k])
        sent.append(one)
        if one.state is not None:
            new[i] = one.state
            change = change + (0 if case.name == "ditto" else (one.state - old) / len(case.fed))
        x, y = case.fed.val.examples(i)
        pairs = [losses(case.sizes, model, x, y) for model in (w, one.personal)]
        scores.append([float(s.double().mean()) if len(y) else 0.0 for pair in pairs for s in pair])
    return server_step(case, server, sent, change, work.c, run.round + 1), new, scores


@pytest.mark.parametrize("name", METHODS)
@fuzz(3, 50)
@given(data=st.data(), rounds=st.integers(1, 3))
def test_a_round_is_that_of_a_plain_loop(name, data, rounds):
    case = made(**data.draw(cases([name])))
    model, N = mlp(*case.sizes), len(case.fed)
    tuner = Fixed(case.c) if len(case.c) == 1 else Fixed(case.c, torch.arange(N))
    how = {"method": METHODS[case.name], "replacement": case.replacement}
    run = start(model, case.fed, tuner, case.b, case.seed, **how)
    beside = replace(start(model, case.fed, tuner, case.b, case.seed + 1, **how), round=1)
    server, states = [run.w, torch.zeros_like(run.w), torch.zeros_like(run.w)], {}
    for _ in range(rounds):
        server, states, scores = plain_round(case, run, server, states)
        run, beside = communicate_all([run, beside], model, case.fed, case.clients)
        for seen, plain in zip(run.server, server, strict=True):
            torch.testing.assert_close(seen, plain, rtol=1e-7, atol=1e-9)
        assert run.states.keys() == states.keys()
        for i, state in states.items():
            torch.testing.assert_close(run.states[i], state, rtol=1e-7, atol=1e-9)
        seen = torch.stack([*run.history[-1].before, *run.history[-1].after], 1)
        assert seen.numpy() == pytest.approx(np.array(scores), rel=1e-7, abs=1e-9)
        server, states = [v.clone() for v in run.server], dict(run.states)
