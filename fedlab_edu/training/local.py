"""Local training, Loc_c: all clients of a round at once, each as if it were alone.

A *job* is one client that trains from one starting vector with its own seed and hyperparameters.
The jobs of a *tile* step side by side on one batch axis, sorted by falling number of steps, so that
the unfinished ones are always the first k and nothing is masked. Except for rounding, a result does
not depend on the other jobs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.models.layers import Drop, mix
from fedlab_edu.models.model import Model
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.memory import activations, free
from fedlab_edu.training.threads import cores, run_parallel
from fedlab_edu.validate import require

CPU_TILE_BYTES = 16 << 20  # working set of a tile that stays in a core's cache
EXAMPLES_BYTES = 64 << 20  # activations of a tile on the CPU
WORTH_A_THREAD = 4 << 20  # a smaller working set gains nothing from a second thread

# Called with the unfinished jobs (k,), the step just taken, from 0, and their weights (k, d), which
# the next step overwrites. Tiles on several threads call it at the same time.
Watch = Callable[[Int[Tensor, " k"], int, Float[Tensor, "k d"]], None]


def minibatches(orders: Int[Tensor, "E n"], batch: int) -> Int[Tensor, "steps batch"]:
    """Return the positions of each local step's examples; -1 fills up the last batch of an epoch.

    Epoch e visits the n examples in the order ``orders[e]``. The last, short batch is kept, so that
    ``steps = E ceil(n / batch)``.
    """
    fill = -orders.shape[1] % batch
    return F.pad(orders, (0, fill), value=-1).view(-1, batch)


def shuffles(n: int, epochs: int, seed: int) -> Int[Tensor, "E n"]:
    """Draw an order of a client's n examples for each epoch, with the client's own generator."""
    gen = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(n, generator=gen) for _ in range(epochs)])


def steps(n: Int[Tensor, " B"], c: LocalHP) -> Int[Tensor, " B"]:
    """Return each client's number of local steps, ``epochs ceil(n / batch)``."""
    return c.epochs * -(-n // c.batch)


def local_sgd(
    model: Model,
    w: Float[Tensor, "*B d"],
    clients: Clients,
    c: LocalHP,
    seeds: list[int],
    *,
    anchor: Float[Tensor, "*A d"] | None = None,
    drift: Float[Tensor, "B d"] | None = None,
    watch: Watch | None = None,
    workers: int | None = None,
) -> Float[Tensor, "B d"]:
    """Run SGD from w on the examples of each of B clients: ``w_i = Loc_{c_i}(T_i, w)``.

    Args:
        w, c: a starting point (d,) and a row for all clients, or one for each.
        seeds: one for each client's order of examples and dropout.
        anchor: what mu pulls towards; the default is w.
        drift: a vector for each client that is added to all its gradients.
        watch: called with the weights after each step, see `Watch`.
        workers: threads on the CPU, each with its own tile; None for one on each core.

    Raises:
        ValueError: a client without examples; weights or lengths that do not fit; dropout for a
            model without a dropout layer.

    Source: McMahan et al. (2017), Algorithm 1, ClientUpdate.
    """
    require(len(clients) > 0, "clients", 0, "at least one")
    require(len(seeds) == len(clients), "seeds", len(seeds), f"{len(clients)}, one for each client")
    require(workers is None or workers >= 1, "workers", workers, "at least 1, or None")
    c = c.each(len(clients))
    w, anchor = w.detach(), (w if anchor is None else anchor).detach()
    _check(model, clients, c, {"w": w, "anchor": anchor, "drift": drift})
    out = w.new_empty(len(clients), model.d)

    def train(tile: list["_Job"]) -> None:
        at = torch.tensor([job.at for job in tile])
        own = [None if s is None else s[at] if s.dim() == 2 else s for s in (w, anchor, drift)]
        out[at] = _train(model, _Terms(*own), clients, tile, c[at], watch)  # type: ignore[arg-type]

    jobs, workers = _jobs(clients, c, seeds), workers or cores()
    examples = activations(model, clients, w) * sum(job.plan.shape[1] for job in jobs)
    tiles = _tiles(jobs, _tiles_needed(out, examples, workers))
    if w.device.type == "cpu":
        run_parallel(train, tiles, workers)
    else:
        for tile in tiles:
            train(tile)
    return out


def _check(model: Model, clients: Clients, c: LocalHP, vectors: dict[str, Tensor | None]) -> None:
    for name, vector in vectors.items():
        if vector is not None:
            fits(name, vector, model, clients)
    for i, n in enumerate(clients.n.tolist()):
        require(n, f"examples of client {i}", n, "at least 1")
    ok = model.drops or not c.dropout.any()
    require(ok, "dropout", c.dropout, "0 for this model, which has no dropout layer")


def _tiles_needed(out: Tensor, examples: int, workers: int) -> int:
    """Return how many tiles fit in memory and use the threads; ``examples`` is in bytes."""
    working_set = 5 * out.nbytes  # weights, anchor, speed, gradient, a copy
    if out.device.type != "cpu":
        return -(-(working_set + examples) // max(1, free(out.device) // 2))
    number = max(-(-working_set // CPU_TILE_BYTES), -(-examples // EXAMPLES_BYTES))
    return max(number, min(workers, -(-working_set // WORTH_A_THREAD)))


@dataclass(frozen=True)
class _Job:
    at: int  # its position in the list, and its row in the result
    plan: Int[Tensor, "steps batch"]  # row numbers of the examples of each step, -1 for none
    seed: int


class _Terms(NamedTuple):
    """The vectors of a tile's jobs: one for each (k, d), or one for all (d,)."""

    start: Tensor
    anchor: Tensor
    drift: Tensor | None


def _jobs(clients: Clients, c: LocalHP, seeds: list[int]) -> list[_Job]:
    jobs = []
    settings = zip(seeds, c.epochs.tolist(), c.batch.tolist(), strict=True)
    for at, (rows, (seed, epochs, batch)) in enumerate(zip(clients.rows, settings, strict=True)):
        positions = minibatches(shuffles(len(rows), epochs, seed), min(batch, len(rows)))
        jobs.append(_Job(at, torch.where(positions >= 0, rows[positions], -1), seed))
    return jobs


def _tiles(jobs: list[_Job], number: int) -> list[list[_Job]]:
    """Split the jobs into at least ``number`` tiles of similar batch width, largest first."""
    tiles: list[list[_Job]] = []
    size = -(-len(jobs) // min(number, len(jobs)))
    for job in sorted(jobs, key=lambda j: (j.plan.shape[1], len(j.plan)), reverse=True):
        room = tiles and len(tiles[-1]) < size
        if not room or 2 * job.plan.shape[1] < tiles[-1][0].plan.shape[1]:
            tiles.append([])
        tiles[-1].append(job)
    for tile in tiles:
        tile.sort(key=lambda j: -len(j.plan))
    return sorted(tiles, key=lambda tile: -sum(j.plan.numel() for j in tile))


@torch.enable_grad()
def _train(
    model: Model,
    terms: _Terms,
    clients: Clients,
    tile: list[_Job],
    c: LocalHP,
    watch: Watch | None,
) -> Float[Tensor, "k d"]:
    """Train the jobs of one tile side by side."""
    rows, weight, at_work, widths = _schedule(tile, terms.start)
    W = terms.start.expand(len(tile), -1).clone()
    V = torch.zeros_like(W)
    weights, speeds = model.views(W), model.views(V)
    hyper = [h.to(W) for h in (c.lr, c.momentum, c.weight_decay + c.mu)]  # the last is the pull
    heavy = bool(c.momentum.any())
    # part of the gradient that does not depend on w: drift - mu anchor
    constant = None
    if c.mu.any() or terms.drift is not None:
        flat = -c.mu.to(W)[:, None] * terms.anchor
        constant = model.views(flat if terms.drift is None else flat.add_(terms.drift))
    at, seeds = torch.tensor([job.at for job in tile]), torch.tensor([job.seed for job in tile])
    seeds, rate = seeds.to(W.device), c.dropout.to(W.device)
    for t, (k, b) in enumerate(zip(at_work, widths, strict=True)):
        leaves = [p[:k].detach().requires_grad_() for p in weights]
        x, y = clients.x[rows[t, :k, :b]], clients.y[rows[t, :k, :b]]
        drop = (Drop(mix(seeds[:k], t), rate[:k]),) if c.dropout.any() else ()
        losses = model.losses(model.forward(leaves, x, *drop).flatten(0, 1), y.flatten(0, 1))
        loss = losses @ weight[t, :k, :b].flatten()
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
        _sgd_(weights, gradients, speeds, constant, [h[:k] for h in hyper], heavy)
        if watch is not None:
            watch(at[:k], t, W[:k])
    return W


def _schedule(
    tile: list[_Job], like: Tensor
) -> tuple[Int[Tensor, "steps k b"], Float[Tensor, "steps k b"], list[int], list[int]]:
    """Return row and weight of each step's examples, its number of unfinished jobs, its width."""
    steps, width = len(tile[0].plan), max(j.plan.shape[1] for j in tile)
    plan = torch.full((steps, len(tile), width), -1)
    for i, job in enumerate(tile):
        plan[: len(job.plan), i, : job.plan.shape[1]] = job.plan
    real = plan >= 0
    count = real.sum(2)  # (steps, k)
    at_work, widths = (count > 0).sum(1).tolist(), count.amax(1).tolist()
    # A filler repeats a real row of its minibatch with weight 0, so it is finite if they are.
    rows = torch.where(real, plan, plan[:, :, :1]).to(like.device)
    weight = (real.to(like.dtype) / count.clamp_min(1)[:, :, None]).to(like.device)
    return rows, weight, at_work, widths


@torch.no_grad()
def _sgd_(
    weights: list[Tensor],
    gradients: tuple[Tensor | None, ...],
    speeds: list[Tensor],
    constant: list[Tensor] | None,
    hyper: list[Tensor],
    heavy: bool,
) -> None:
    """Update in place: ``g += pull w + constant``, ``v = momentum v + g``, ``w -= lr v``."""
    for i, (w, g, v) in enumerate(zip(weights, gradients, speeds, strict=True)):
        if g is None:  # the outputs do not depend on this weight
            continue
        k = len(g)
        lr, momentum, pull = (h.view(k, *[1] * (g.dim() - 1)) for h in hyper)
        g = g.addcmul(w[:k], pull)
        if constant is not None:
            g.add_(constant[i][:k])
        if heavy:
            g = torch.addcmul(g, v[:k], momentum, out=v[:k])
        w[:k].addcmul_(g, lr, value=-1)


def fits(name: str, w: Tensor, model: Model, clients: Clients) -> None:
    """Raise ``ValueError`` if w does not fit the model's size, or the data's device and dtype."""
    B, d = len(clients), model.d
    ok = tuple(w.shape) in ((d,), (B, d))
    allowed = f"{(d,)}, the model's weights, or {(B, d)}"
    require(ok, f"shape of {name}", tuple(w.shape), allowed)
    x, device = clients.x, str(w.device)
    require(w.device == x.device, f"device of {name}", device, f"{x.device}, where the data are")
    same = w.dtype == x.dtype or not x.is_floating_point()
    require(same, f"dtype of {name}", str(w.dtype), f"{x.dtype}, that of the data")
