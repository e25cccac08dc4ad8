"""Local training, Loc_c: all clients of a round at once, each exactly as if it were alone.

A *job* is one client that trains from one starting vector with its own seed and hyperparameters.
The engine cuts any list of jobs into tiles. The jobs of a tile step side by side on one batch
axis, sorted by falling number of steps, so that those still at work are always the first k:
nothing is masked, and a job's result does not depend on the company in which it is trained.
This file alone knows about ragged minibatches, tiles and threads.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedlab_edu.check import require
from fedlab_edu.data.clients import Clients
from fedlab_edu.hparams import LocalHP
from fedlab_edu.model import Model

CPU_TILE_BYTES = 16 << 20  # the working set of a tile: beyond it, it leaves a core's cache
ACTIVATIONS = 10  # what a small network keeps for its gradient, in multiples of `working_set`
WORTH_A_THREAD = 4 << 20  # a smaller working set trains no sooner on two threads than on one
ROWS_AT_ONCE = 4096  # examples evaluated in one piece: of one model, or
COLUMNS_AT_ONCE = 256  # at most so many of each of sixteen


class Score(NamedTuple):
    """Mean loss and error rate of each of B clients; +inf where a model has diverged."""

    loss: Float[Tensor, " B"]
    error: Float[Tensor, " B"]


def minibatches(orders: Int[Tensor, "E n"], batch: int) -> Int[Tensor, "steps batch"]:
    """The positions that each local step trains on; -1 fills up the last batch of an epoch.

    Epoch e visits the n examples in the order ``orders[e]``; the last short batch is kept, and a
    client with fewer examples than a batch has one batch: ``steps = E ceil(n / batch)``.
    """
    fill = -orders.shape[1] % batch
    return F.pad(orders, (0, fill), value=-1).view(-1, batch)


def shuffles(n: int, epochs: int, seed: int) -> Int[Tensor, "E n"]:
    """A fresh order of a client's n examples for each epoch, from a generator of its own."""
    gen = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(n, generator=gen) for _ in range(epochs)])


def local_sgd(
    model: Model,
    w: Float[Tensor, "*B d"],
    clients: Clients,
    c: LocalHP,
    seeds: list[int],
    workers: int | None = None,
) -> Float[Tensor, "B d"]:
    """Each of B clients runs SGD from w on its own examples: ``w_i = Loc_{c_i}(T_i, w)``.

    Args:
        w: one starting point (d,) for all, or one for each client (B, d).
        clients: B clients with at least one example each.
        c: one setting for all, or columns (B,), one for each client.
        seeds: B seeds, each of one client's order of examples.
        workers: threads on the CPU, each with a tile of its own; None for one on each core.

    Returns: W (B, d); row i is what a plain PyTorch loop over minibatches makes of client i.

    Raises:
        ValueError: a client without examples; weights or lengths that do not fit.

    Source: McMahan et al. (2017), Algorithm 1, ClientUpdate; mu is FedProx's proximal term.
    """
    B = len(clients)
    require(len(seeds) == B, "seeds", len(seeds), f"{B}, one for each client")
    require(len(c) in (1, B), "c", len(c), f"one setting, or {B} rows, one for each client")
    _fits(model, w, clients)
    for i, n in enumerate(clients.n.tolist()):
        require(n, f"examples of client {i}", n, "at least 1")
    c = c[list(range(B)) if len(c) == B else [0] * B]
    jobs = _jobs(clients, c, seeds)
    out = w.new_empty(B, model.d)

    def train(tile: list["_Job"]) -> None:
        at = torch.tensor([job.at for job in tile])
        start = (w[at] if w.dim() == 2 else w.expand(len(at), -1)).contiguous()
        out[at] = _train(model, start, clients, tile, c[at])

    working_set = 5 * w.element_size() * model.d * B  # weights, start, speed, gradient, a copy
    if w.device.type == "cpu":
        workers = workers or os.cpu_count() or 1
        number = -(-working_set // CPU_TILE_BYTES)
        number = max(number, min(workers, -(-working_set // WORTH_A_THREAD)))
        _side_by_side(train, _tiles(jobs, number), workers)
    else:
        free, _ = torch.cuda.mem_get_info(w.device)
        for tile in _tiles(jobs, -(-working_set * (1 + ACTIVATIONS) // (free // 2))):
            train(tile)
    return out


@dataclass(frozen=True)
class _Job:
    at: int  # its place in the list, and so the row of its result
    plan: Int[Tensor, "steps batch"]  # row numbers of the examples of each step, -1 for none


def _jobs(clients: Clients, c: LocalHP, seeds: list[int]) -> list[_Job]:
    jobs = []
    settings = zip(seeds, c.epochs.tolist(), c.batch.tolist(), strict=True)
    for at, (rows, (seed, epochs, batch)) in enumerate(zip(clients.rows, settings, strict=True)):
        positions = minibatches(shuffles(len(rows), epochs, seed), min(batch, len(rows)))
        jobs.append(_Job(at, torch.where(positions >= 0, rows[positions], -1)))
    return jobs


def _tiles(jobs: list[_Job], number: int) -> list[list[_Job]]:
    """That many tiles, or more so that like is with like; those with most work first."""
    tiles: list[list[_Job]] = []
    size = -(-len(jobs) // min(number, len(jobs)))
    for job in sorted(jobs, key=lambda j: (j.plan.shape[1], len(j.plan)), reverse=True):
        fits = tiles and len(tiles[-1]) < size
        if not fits or 2 * job.plan.shape[1] < tiles[-1][0].plan.shape[1]:
            tiles.append([])
        tiles[-1].append(job)
    for tile in tiles:
        tile.sort(key=lambda j: -len(j.plan))
    return sorted(tiles, key=lambda tile: -sum(j.plan.numel() for j in tile))


def _side_by_side(
    train: Callable[[list[_Job]], None], tiles: list[list[_Job]], workers: int
) -> None:
    """Train tiles on so many threads of one core each; threads inside an operation would spin."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if min(workers, len(tiles)) > 1:
            with ThreadPoolExecutor(workers, "tile", torch.set_num_threads, (1,)) as pool:
                list(pool.map(train, tiles))
        else:
            for tile in tiles:
                train(tile)
    finally:
        torch.set_num_threads(threads)


@torch.enable_grad()
def _train(
    model: Model, start: Float[Tensor, "k d"], clients: Clients, tile: list[_Job], c: LocalHP
) -> Float[Tensor, "k d"]:
    """Train the jobs of one tile side by side."""
    steps, width = len(tile[0].plan), max(j.plan.shape[1] for j in tile)
    plan = torch.full((steps, len(tile), width), -1)
    for i, job in enumerate(tile):
        plan[: len(job.plan), i, : job.plan.shape[1]] = job.plan
    real = plan >= 0
    count = real.sum(2)  # (steps, k)
    at_work, widths = (count > 0).sum(1).tolist(), count.amax(1).tolist()
    # A filler repeats a real row of its minibatch with weight 0: it is finite whenever they are.
    plan = torch.where(real, plan, plan[:, :, :1]).to(start.device)
    weight = (real.to(start.dtype) / count.clamp_min(1)[:, :, None]).to(start.device)

    W, V = start.clone(), torch.zeros_like(start)
    weights, speeds, starts = model.views(W), model.views(V), model.views(start)
    hyper = [h.to(start) for h in (c.lr, c.momentum, c.weight_decay + c.mu, c.mu)]
    heavy, prox = bool(c.momentum.any()), bool(c.mu.any())
    for t, (k, b) in enumerate(zip(at_work, widths, strict=True)):
        rows = plan[t, :k, :b]
        leaves = [p[:k].detach().requires_grad_() for p in weights]
        outputs = model.forward(leaves, clients.x[rows]).flatten(0, 1)
        losses = model.loss(outputs, clients.y[rows].flatten())
        loss = losses @ weight[t, :k, :b].flatten()
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
        _sgd_(weights, gradients, speeds, starts, [h[:k] for h in hyper], heavy, prox)
    return W


@torch.no_grad()
def _sgd_(
    weights: list[Tensor],
    gradients: tuple[Tensor | None, ...],
    speeds: list[Tensor],
    starts: list[Tensor],
    hyper: list[Tensor],
    heavy: bool,
    prox: bool,
) -> None:
    """In place: ``g += weight_decay w + mu (w - w_t)``, ``v = momentum v + g``, ``w -= lr v``."""
    for w, g, v, w_t in zip(weights, gradients, speeds, starts, strict=True):
        if g is None:  # a weight that the outputs do not depend on stays as it is
            continue
        k = len(g)
        lr, momentum, pull, mu = (h.view(k, *[1] * (g.dim() - 1)) for h in hyper)
        g = g.addcmul(w[:k], pull)
        if prox:
            g.addcmul_(w_t[:k], mu, value=-1)
        if heavy:
            g = torch.addcmul(g, v[:k], momentum, out=v[:k])
        w[:k].addcmul_(g, lr, value=-1)


def _fits(model: Model, w: Tensor, clients: Clients) -> None:
    """Refuse weights that are not the model's, or that differ in kind from the data."""
    B, d = len(clients), model.d
    ok = tuple(w.shape) in ((d,), (B, d))
    require(ok, "shape of w", tuple(w.shape), f"{(d,)}, the model's weights, or {(B, d)}")
    x = clients.x
    require(w.device == x.device, "device of w", str(w.device), f"{x.device}, where the data are")
    same = w.dtype == x.dtype or not x.is_floating_point()
    require(same, "dtype of w", str(w.dtype), f"{x.dtype}, that of the data")


@torch.no_grad()
def score(model: Model, w: Float[Tensor, "*B d"], clients: Clients) -> Score:
    """Mean loss and error rate on each client's examples, B in all.

    Args:
        w: one model (d,) for all clients, or each client's own (B, d).

    A client without examples scores 0, and weighs 0 in every average over sizes. A model whose
    loss is not finite has diverged, and scores +inf in both.

    Raises:
        ValueError: weights that do not fit the model or the clients.
    """
    _fits(model, w, clients)
    n = clients.n.to(w.device)
    total = torch.zeros(2, len(clients), dtype=torch.float64, device=w.device)
    for owner, rows, outputs in _predictions(model, w, clients):
        y = clients.y[rows]
        wrong = (outputs.argmax(-1) != y).double()
        losses = model.loss(outputs, y).double()
        total.index_add_(1, owner, torch.stack([losses, wrong]))
    loss, error = total / n.clamp_min(1)
    diverged = ~loss.isfinite()
    return Score(*(s.masked_fill(diverged, torch.inf).cpu() for s in (loss, error)))


def _predictions(
    model: Model, w: Tensor, clients: Clients
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Owner (n,), row number (n,) and outputs (n, C) of every example, in pieces."""
    if w.dim() == 1:  # one model: the examples of all clients form one long batch
        owner = torch.arange(len(clients)).repeat_interleave(clients.n)
        every = torch.cat(clients.rows).to(w.device)
        for o, r in zip(owner.split(ROWS_AT_ONCE), every.split(ROWS_AT_ONCE), strict=True):
            yield o.to(w.device), r, model(w, clients.x[r])
        return
    padded = pad_sequence(list(clients.rows), batch_first=True, padding_value=-1)
    for a in range(0, padded.shape[1], COLUMNS_AT_ONCE):
        block = padded[:, a : a + COLUMNS_AT_ONCE]
        for owner in (clients.n > a).nonzero()[:, 0].split(ROWS_AT_ONCE // COLUMNS_AT_ONCE):
            real = block[owner] >= 0
            rows = torch.where(real, block[owner], block[owner][:, :1]).to(w.device)
            outputs = model.outputs(w[owner.to(w.device)], clients.x[rows])
            mine, real = owner[:, None].expand_as(real)[real].to(w.device), real.to(w.device)
            yield mine, rows[real], outputs[real]
