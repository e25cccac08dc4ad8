"""Losses, errors and gradients of models on their clients' data, in chunks of bounded memory."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedlab_edu.data.clients import Clients
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.training.local import fits
from fedlab_edu.training.memory import SCORE_BYTES, activations

ROWS_AT_ONCE = 4096  # examples of one model in one chunk; more is no faster


@storable
class Score(NamedTuple):
    """Mean loss and error rate of each of B clients; +inf where a model has diverged."""

    loss: Float[Tensor, " B"]
    error: Float[Tensor, " B"]

    @property
    def rates(self) -> Float[Tensor, " B"]:
        """Errors, with +inf replaced by 1 unless all are +inf or errors are losses."""
        return self.error if torch.equal(self.error, self.loss) else self.error.clamp(max=1)


@torch.no_grad()
def score(model: Model, w: Float[Tensor, "*B d"], clients: Clients) -> Score:
    """Return the mean loss and error rate of each of B clients on its examples.

    The model w is one (d,) for all clients, or one for each (B, d). The error is the loss where the
    targets are not classes, or there is one output. A client without examples scores 0, and has
    weight 0 in averages. A model whose loss is not finite has diverged, and scores +inf in both.
    Evaluation takes about `SCORE_BYTES` beside data and models, or the memory of one example if
    that is more.

    Raises:
        ValueError: weights that do not fit the model or the clients.
    """
    fits("w", w, model, clients)
    n = clients.n.to(w.device)
    total = torch.zeros(2, len(clients), dtype=torch.float64, device=w.device)
    for owner, rows, outputs in _predictions(model, w, clients):
        y = clients.y[rows]
        losses = model.losses(outputs, y).double()
        classes = outputs.dim() == 2 and outputs.shape[1] > 1 and y.dim() == 1
        classes = classes and not y.is_floating_point()
        wrong = (outputs.argmax(-1) != y).double() if classes else losses
        total.index_add_(1, owner, torch.stack([losses, wrong]))
    loss, error = total / n.clamp_min(1)
    diverged = ~loss.isfinite()
    return Score(*(s.masked_fill(diverged, torch.inf).cpu() for s in (loss, error)))


def _predictions(
    model: Model, w: Tensor, clients: Clients
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield owner (n,), row number (n,) and outputs (n, C) of all examples, in chunks."""
    if w.dim() == 1:  # one model: all clients' examples form one long batch
        size = min(ROWS_AT_ONCE, max(1, SCORE_BYTES // activations(model, clients, w)))
        owner = torch.arange(len(clients)).repeat_interleave(clients.n)
        every = torch.cat(clients.rows).to(w.device)
        for o, r in zip(owner.split(size), every.split(size), strict=True):
            yield o.to(w.device), r, model(w, clients.x[r])
        return
    for owner, rows, real in _blocks(model, w, clients):
        outputs = model.outputs(w[owner], clients.x[rows])
        yield owner[:, None].expand_as(real)[real], rows[real], outputs[real]


def _blocks(
    model: Model, w: Tensor, clients: Clients
) -> Iterator[tuple[Int[Tensor, " k"], Int[Tensor, "k b"], Bool[Tensor, "k b"]]]:
    """Yield clients (k,), rows of their examples (k, b), and a mask of the real ones."""
    example, a_model = activations(model, clients, w), w.element_size() * model.d
    columns = max(1, min(ROWS_AT_ONCE // 16, SCORE_BYTES // example))
    together = max(1, min(16, SCORE_BYTES // (columns * example + a_model)))
    padded = pad_sequence(list(clients.rows), batch_first=True, padding_value=-1)
    for first in range(0, padded.shape[1], columns):
        block = padded[:, first : first + columns]
        for owner in (clients.n > first).nonzero()[:, 0].split(together):
            real = block[owner] >= 0
            rows = torch.where(real, block[owner], block[owner][:, :1])
            yield owner.to(w.device), rows.to(w.device), real.to(w.device)


def gradient(model: Model, w: Float[Tensor, "*B d"], clients: Clients) -> Float[Tensor, "B d"]:
    """Return the gradient of each client's mean loss: row i is ``grad L_i(w_i)``; w may be shared.

    Raises:
        ValueError: weights that do not fit the model or the clients.
    """
    return _derivative(model, w, clients, None)


def hessian_product(
    model: Model, w: Float[Tensor, "*B d"], clients: Clients, u: Float[Tensor, "B d"]
) -> Float[Tensor, "B d"]:
    """Return the Hessian of each client's mean loss times a vector: row i is ``H_i(w_i) u_i``.

    Raises:
        ValueError: weights that do not fit the model or the clients.
        RuntimeError: a network whose gradient cannot be differentiated again.
    """
    return _derivative(model, w, clients, u)


@torch.enable_grad()
def _derivative(model: Model, w: Tensor, clients: Clients, u: Tensor | None) -> Tensor:
    fits("w", w, model, clients)
    w = w.expand(len(clients), -1).detach()
    total = torch.zeros_like(w)
    for owner, rows, real in _blocks(model, w, clients):
        leaf = w[owner].requires_grad_()
        outputs = model.outputs(leaf, clients.x[rows]).flatten(0, 1)
        losses = model.losses(outputs, clients.y[rows].flatten(0, 1)).view_as(real)
        p = real.to(w) / clients.n.to(w)[owner, None]
        loss = (losses * p).sum()
        (d,) = torch.autograd.grad(loss, leaf, create_graph=u is not None)
        if u is not None:
            (d,) = torch.autograd.grad(d, leaf, u[owner])
        total.index_add_(0, owner, d)
    return total
