"""Losses, errors and gradients of models on their clients' data, in chunks of bounded memory."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.models.model import Model, check_differentiable
from fedlab_edu.training.local import fits, threads_for
from fedlab_edu.training.memory import SCORE_BYTES, activations
from fedlab_edu.training.threads import plain_mode, run_parallel

MODELS_BYTES = 4 << 20  # models of one block, if they are more than 16
ROWS_AT_ONCE = 4096  # examples of one model in one chunk; more is no faster


class Score(NamedTuple):
    """Mean loss and error rate of each of B clients; +inf where a model has diverged."""

    loss: Float[Tensor, " B"]
    error: Float[Tensor, " B"]

    @property
    def rates(self) -> Float[Tensor, " B"]:
        """Errors, with +inf replaced by 1 unless all are +inf or errors are losses."""
        return self.error if torch.equal(self.error, self.loss) else self.error.clamp(max=1)


def score(model: Model, w: Float[Tensor, "*B d"], clients: Clients) -> Score:
    """Return the mean loss and error rate of each of B clients on its examples.

    The error is the loss where the targets are not classes, or there is one output. A client
    without examples scores 0, and has weight 0 in averages. A model whose loss is not finite has
    diverged, and scores +inf in both. Evaluation takes about `SCORE_BYTES` beside data and models,
    or the memory of one example for each thread if that is more.

    Args:
        w: one model (d,) for all clients, or one for each (B, d).
    """
    return scores_of(model, [w], clients)[0]


@plain_mode()
@torch.no_grad()
def scores_of(model: Model, vectors: Sequence[Tensor], clients: Clients) -> list[Score]:
    """Return the `score` of each of several w on the same examples, which are fetched once."""
    for w in vectors:
        fits("w", w, model, clients)
    several, B, n = len(vectors), len(clients), clients.n.numpy()
    total = np.zeros((2 * several, B))

    def evaluate(block: _Block) -> np.ndarray:
        x, y = clients.inputs(block.rows), clients.y.index_select(0, block.rows.flatten())
        outputs = torch.cat([_outputs(model, w, block.model, x) for w in vectors])
        y = y if several == 1 else torch.cat([y] * several)
        losses = model.losses(outputs, y).double()
        classes = outputs.dim() == 2 and outputs.shape[1] > 1 and y.dim() == 1
        classes = classes and not y.is_floating_point()
        wrong = outputs.argmax(-1) != y if classes else losses
        found = torch.cat([losses, wrong]).cpu().numpy().reshape(2 * several, *block.real.shape)
        place = block.client + B * np.arange(2 * several)[:, None, None]
        found = np.where(block.real, found, 0)
        return np.bincount(place.ravel(), found.ravel(), total.size).reshape(total.shape)

    def add(part: np.ndarray) -> None:
        np.add(total, part, out=total)

    w, shared = vectors[-1], all(w.dim() == 1 for w in vectors)
    run_parallel(evaluate, [*_blocks(model, w, clients, shared)], add, threads_for(w))
    losses, errors = (total / np.maximum(n, 1)).reshape(2, several, B)
    diverged = ~np.isfinite(losses)
    losses[diverged] = errors[diverged] = np.inf
    return [Score(*map(torch.from_numpy, pair)) for pair in zip(losses, errors, strict=True)]


def _outputs(model: Model, w: Tensor, which: Int[Tensor, " k"], x: Tensor) -> Tensor:
    """Return the outputs (k b, ...) for x (k, b, ...) of one model w, or of the rows ``which``."""
    if w.dim() == 1:
        return model.outputs(w[None], x.flatten(0, 1)[None])[0]
    return model.outputs(w if len(which) == len(w) else w[which.to(w.device)], x).flatten(0, 1)


class _Block(NamedTuple):
    """b examples for each of k models.

    Fields:
        model: rows of W.
        client, rows: whose examples they are, and their rows in the data.
        real: whether they count; where a model has fewer examples, one of its own is repeated.
    """

    model: Int[Tensor, " k"]
    client: Int[np.ndarray, "k b"]
    rows: Int[Tensor, "k b"]
    real: Bool[np.ndarray, "k b"]


def _blocks(
    model: Model, w: Float[Tensor, "*B d"], clients: Clients, shared: bool
) -> Iterator[_Block]:
    """Split all clients' examples into blocks of bounded memory; one model if it is shared."""
    rows, each = torch.cat(clients.rows).numpy(), clients.n.numpy()
    client = np.repeat(np.arange(len(each)), each)
    n = each.sum(keepdims=True) if shared else each  # of each model
    begin, most = np.cumsum(n) - n, int(n.max())
    k, columns = _block_shape(activations(model, clients, w), w, len(n), most)
    for first in range(0, most, columns):
        j, found = np.arange(first, min(first + columns, most)), np.flatnonzero(n > first)
        for i in range(0, len(found), k):
            some = found[i : i + k]
            real = j < n[some, None]
            at = begin[some, None] + np.where(real, j, first)
            own = torch.from_numpy(rows[at]).to(w.device)
            yield _Block(torch.from_numpy(some), client[at], own, real)


def _block_shape(example: int, w: Tensor, models: int, most: int) -> tuple[int, int]:
    """Return how many models and examples of each a block has; ``example`` is in bytes."""
    room, a_model = SCORE_BYTES // threads_for(w), w.shape[-1] * w.element_size()
    columns = max(1, min(most, ROWS_AT_ONCE // min(models, 16), (room - a_model) // example))
    k = min(ROWS_AT_ONCE // columns, max(16, MODELS_BYTES // a_model))
    return max(1, min(k, room // (columns * example + a_model))), columns


def gradient(model: Model, w: Float[Tensor, "*B d"], clients: Clients) -> Float[Tensor, "B d"]:
    """Return the gradient of each client's mean loss, ``grad L_i(w_i)``; w (d,) is for all."""
    return _derivative(model, w, clients, None)


def hessian_product(
    model: Model, w: Float[Tensor, "*B d"], clients: Clients, u: Float[Tensor, "B d"]
) -> Float[Tensor, "B d"]:
    """Return the Hessian of each client's mean loss times a vector: row i is ``H_i(w_i) u_i``.

    Raises:
        RuntimeError: a network whose gradient cannot be differentiated again.
    """
    return _derivative(model, w, clients, u)


@plain_mode()
@torch.enable_grad()
def _derivative(model: Model, w: Tensor, clients: Clients, u: Tensor | None) -> Tensor:
    fits("w", w, model, clients)
    w = w.expand(len(clients), -1).detach()
    total = torch.zeros_like(w)
    for block in _blocks(model, w, clients, shared=False):
        owner, rows = block.model.to(w.device), block.rows
        leaf = w[owner].requires_grad_()
        outputs = model.outputs(leaf, clients.inputs(block.rows)).flatten(0, 1)
        losses = model.losses(outputs, clients.y[rows].flatten(0, 1)).view_as(rows)
        check_differentiable(losses)
        p = torch.from_numpy(block.real).to(w) / clients.n.to(w)[owner, None]
        loss = (losses * p).sum()
        (d,) = torch.autograd.grad(loss, leaf, create_graph=u is not None)
        if u is not None:
            (d,) = torch.autograd.grad(d, leaf, u[owner])
        total.index_add_(0, owner, d)
    return total
