"""Local training, Loc_c: all clients of a round at once, each as if it were alone.

The clients of a *tile* step side by side on one batch axis, sorted by falling number of steps, so
that the unfinished ones are always the first k and nothing is masked. Except for rounding, a result
does not depend on the other clients.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.models.layers import Drop, mix
from fedlab_edu.models.model import Model
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.memory import activations, free
from fedlab_edu.training.plan import make_plan, make_tiles, steps
from fedlab_edu.training.sgd import OPTIMIZERS, SGD
from fedlab_edu.training.threads import cores, inside_tile, plain_mode, run_parallel
from fedlab_edu.validate import one_of, require, require_type, whole

CPU_TILE_BYTES = 16 << 20  # working set of a tile that stays in a core's cache
EXAMPLES_BYTES = 64 << 20  # activations of a tile on the CPU
WORTH_A_THREAD = 4 << 20  # a smaller working set gains nothing from a second thread

# Called with the unfinished clients (k,), the step just taken, from 0, and their weights (k, d),
# which the next step overwrites. Tiles on several threads call it at the same time.
Watch = Callable[[Int[Tensor, " k"], int, Float[Tensor, "k d"]], None]


@plain_mode()
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
    optimizer: str = "sgd",
) -> Float[Tensor, "B d"]:
    """Run SGD or Adam from w on the examples of each of B clients: ``w_i = Loc_{c_i}(T_i, w)``.

    Args:
        w, c: a starting point (d,) and a row for all clients, or one for each.
        seeds: one for each client's order of examples and dropout.
        anchor: what mu pulls towards; the default is w.
        drift: a vector for each client that is added to all its gradients.
        watch: called with the weights after each step, see `Watch`.
        workers: threads on the CPU, each with its own tile; None for one on each core.
        optimizer: "sgd", or "adam" with c.momentum as its beta1, usually 0.9. All see the gradient
            of the local objective, see `LocalHP`; each round starts with new moments.

    Source: McMahan et al. (2017), Algorithm 1, ClientUpdate.
    """
    fits("w", w, model, clients)
    require_type("c", c, LocalHP, "LocalHP(lr=0.1)")
    require_type("seeds", seeds, list, "[0, 1, 2], one for each client")
    B = len(clients)
    require(B > 0, "clients", 0, "at least one")
    require(len(seeds) == B, "seeds", len(seeds), f"{B}, one for each client")
    seeds = [whole("seeds", s, -(2**63), 2**63 - 1, "whole numbers of 64 bits") for s in seeds]
    one_of(OPTIMIZERS)("optimizer", optimizer)
    if workers is not None:
        workers = whole("workers", workers, 1, allowed="at least 1, or None")
    for name, vector in (("anchor", anchor), ("drift", drift)):
        if vector is not None:
            fits(name, vector, model, clients)
    n = clients.n.numpy()
    require(n.all(), f"examples of client {n.argmin()}", 0, "at least 1")
    ok = model.drops or not c.dropout.any()
    require(ok, "dropout", c.dropout, "0 for this model, which has no dropout layer")
    c, w = c.each(B), w.detach()
    anchor = w if anchor is None else anchor.detach()
    if inside_tile() and (np.diff(steps(clients.n, c).numpy()) <= 0).all():
        every = torch.arange(B)
        return _train(model, w, anchor, drift, clients, c, seeds, every, watch, optimizer)
    out = w.new_empty(B, model.d)

    def train(tile: np.ndarray) -> tuple[Tensor, Tensor]:
        i, own = torch.from_numpy(tile), [seeds[j] for j in tile]
        start, pull = (v if v.dim() == 1 else v[i.to(v.device)] for v in (w, anchor))
        add = drift if drift is None or drift.dim() == 1 else drift[i.to(drift.device)]
        return i, _train(model, start, pull, add, clients[i], c[i], own, i, watch, optimizer)

    def store(trained: tuple[Tensor, Tensor]) -> None:
        out[trained[0]] = trained[1]

    run_parallel(train, cut(model, clients, c, w, workers), store, threads_for(w, workers))
    return out


def threads_for(w: Tensor, workers: int | None = None) -> int:
    """Return how many threads train tiles: one for a GPU, and inside a tile."""
    return 1 if w.device.type != "cpu" or inside_tile() else workers or cores()


def cut(
    model: Model, clients: Clients, c: LocalHP, w: Tensor, workers: int | None = None
) -> list[Int[np.ndarray, " k"]]:
    """Split clients with rows c into tiles that fit in memory, at least one for each thread."""
    width = torch.minimum(c.batch, clients.n)
    working_set = 4 * len(clients) * model.d * w.element_size()  # weights, speed, constant, a copy
    examples = activations(model, clients, w) * int(width.sum())
    if w.device.type == "cpu":
        number = max(-(-working_set // CPU_TILE_BYTES), -(-examples // EXAMPLES_BYTES))
        number = max(number, min(workers or cores(), -(-working_set // WORTH_A_THREAD)))
    else:
        number = -(-(working_set + examples) // max(1, free(w.device) // 2))
    return make_tiles(width.numpy(), steps(clients.n, c).numpy(), number)


@torch.no_grad()
def _train(
    model: Model, w: Tensor, anchor: Tensor, drift: Tensor | None, clients: Clients, c: LocalHP,
    seeds: list[int], place: Int[Tensor, " k"], watch: Watch | None, optimizer: str,
) -> Float[Tensor, "k d"]:  # fmt: skip
    """Train the k clients of a tile side by side; w, anchor and drift are (k, d), or (d,) for all.

    ``place`` says where they stand among all clients, for ``watch``.
    """
    W = w.expand(len(clients), -1).clone()
    sgd = SGD(model, W, c, anchor, drift, optimizer)
    plan = make_plan(clients.rows, c.epochs.numpy(), c.batch.numpy(), seeds)
    drop_seeds, rate = None, c.dropout.to(W.device)
    if c.dropout.any():  # for all steps at once
        step = torch.arange(len(plan.width), device=W.device)
        drop_seeds = mix(torch.tensor(seeds, device=W.device), step[:, None])
    rows, share = plan.rows.to(W.device), plan.share.to(W)
    for first, last in plan.windows(clients.inputs(rows[:1]).nbytes):
        window = slice(plan.offset[first], plan.offset[last])
        lengths = [plan.offset[t + 1] - plan.offset[t] for t in range(first, last)]
        now = rows[window]
        x = clients.inputs(now).split_with_sizes(lengths)
        y = clients.y.index_select(0, now).split_with_sizes(lengths)
        p = share[window].split_with_sizes(lengths)
        for i, t in enumerate(range(first, last)):
            k, b = plan.at_work[t], plan.width[t]
            drop = None if drop_seeds is None else Drop(drop_seeds[t, :k], rate[:k])
            sgd.step(x[i].view(k, b, *x[i].shape[1:]), y[i], p[i].view(k, b), drop)
            if watch is not None:
                watch(place[:k], t, W[:k])
    return W


def fits(name: str, w: Tensor, model: Model, clients: Clients) -> None:
    """Raise ``ValueError`` if w does not fit the model's size, or the data's device and dtype."""
    require_type("model", model, Model, "from_module(net)")
    require_type("clients", clients, Clients, "fed.train")
    require_type(name, w, Tensor, "run.w")
    B, d = len(clients), model.d
    ok = tuple(w.shape) in ((d,), (B, d))
    allowed = f"{(d,)}, the model's weights, or {(B, d)}"
    require(ok, f"shape of {name}", tuple(w.shape), allowed)
    x, device = clients.x, str(w.device)
    require(w.device == x.device, f"device of {name}", device, f"{x.device}, where the data are")
    same = w.dtype == x.dtype or not x.is_floating_point()
    require(same, f"dtype of {name}", str(w.dtype), f"{x.dtype}, that of the data")
