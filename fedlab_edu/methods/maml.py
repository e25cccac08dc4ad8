"""MAML: a meta-learnt model that adapts to each client in a few steps.

Finn, Abbeel, Levine (2017), *Model-agnostic meta-learning for fast adaptation of deep networks*,
Algorithm 1; with clients as tasks, Chen, Luo, Dong, Li, He (2018), *Federated meta-learning with
fast convergence and efficient communication*.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.fedavg import PlainSGD
from fedlab_edu.methods.method import ClientInput, ClientUpdate, no_pull
from fedlab_edu.models.model import Model
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.local import local_sgd
from fedlab_edu.training.memory import chunks
from fedlab_edu.training.plan import minibatches, shuffles
from fedlab_edu.training.scores import gradient, hessian_product
from fedlab_edu.validate import require


@dataclass(frozen=True)
class MAML(PlainSGD):
    """Clients send the gradient g_i, with respect to w, of their loss *after* adapting w.

    A client adapts on one half of its training examples, with c as in FedAvg, without momentum and
    dropout, and takes the loss of the other half. (The papers use other data, but V_i is reserved
    for tuners.) It sends ``w - g_i``, so that b.lr is the meta learning rate. All clients have the
    same weight.

    Args:
        first_order: leave out the derivative of the adapted model with respect to w (FOMAML).
    """

    first_order: bool = False
    equal_weights: ClassVar[bool] = True

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Return the meta-gradient, and as personal model w adapted on all examples."""
        c, seeds = inputs.c, inputs.seeds
        no_pull(c, "MAML")
        for name in ("momentum", "dropout"):
            column = getattr(c, name)
            require(not column.any(), name, column, "0: MAML's derivative is that of plain SGD")
        support, query = halves(inputs.clients, seeds)
        _, g = meta_gradient(inputs.model, inputs.w, support, query, c, seeds, self.first_order)
        return ClientUpdate(model=inputs.w - g, personal=inputs.sgd(inputs.w))


def halves(clients: Clients, seeds: list[int]) -> tuple[Clients, Clients]:
    """Split each client's examples into halves, drawn by its seed; a single example is in both."""
    parts: tuple[list[Tensor], list[Tensor]] = ([], [])
    for rows, seed in zip(clients.rows, seeds, strict=True):
        mixed = rows[shuffles(len(rows), 2, seed)[1]]  # training uses the first order
        half = (len(rows) + 1) // 2
        parts[0].append(mixed[:half])
        parts[1].append(mixed[half:] if len(rows) > 1 else mixed)
    return tuple(Clients(clients.x, clients.y, tuple(rows)) for rows in parts)  # type: ignore[return-value]


def meta_gradient(
    model: Model, w: Float[Tensor, "*B d"], support: Clients, query: Clients, c: LocalHP,
    seeds: list[int], first_order: bool = False,
) -> tuple[Float[Tensor, "B d"], Float[Tensor, "B d"]]:  # fmt: skip
    """Return the adapted models w_K, and the gradients of their losses on ``query`` by w.

    With ``w_{t+1} = w_t - lr grad L_t(w_t)``, L_t the loss of step t's minibatch plus
    ``weight_decay/2 |w|^2``, and H_t the Hessian of L_t at w_t, the gradient is
    ``(I - lr H_0) ... (I - lr H_{K-1}) grad L_query(w_K)``. Each step, from the right, takes one
    Hessian-vector product. Only lr, weight_decay, batch and epochs of c are used.
    """
    steps = _steps(support, c.each(len(support)), seeds)
    w = w.expand(len(support), -1)
    adapted, g = w.clone(), w.clone()
    for i in chunks(len(support), (len(steps) + 1) * model.d * w.element_size(), w.device):
        way = [w[i]]
        plans = [(clients[i], own[i]) for clients, own in steps]
        for clients, own in plans:
            way.append(local_sgd(model, way[-1], clients, own, [0] * len(i)))
        adapted[i] = way[-1]
        u = gradient(model, way.pop(), query[i])
        if not first_order:
            for w_t, (clients, own) in zip(reversed(way), reversed(plans), strict=True):
                lr, decay = (h.to(u)[:, None] for h in (own.lr, own.weight_decay))
                u = u - lr * (hessian_product(model, w_t, clients, u) + decay * u)
        g[i] = u
    return adapted, g


def _steps(clients: Clients, c: LocalHP, seeds: list[int]) -> list[tuple[Clients, LocalHP]]:
    """Return each step's minibatches as clients of one step; finished clients have step size 0."""
    plans, settings = [], zip(seeds, c.epochs.tolist(), c.batch.tolist(), strict=True)
    for rows, (seed, epochs, size) in zip(clients.rows, settings, strict=True):
        positions = minibatches(shuffles(len(rows), epochs, seed), min(size, len(rows)))
        plans.append([rows[p[p >= 0]] for p in positions])
    steps = []
    for t in range(max(len(plan) for plan in plans)):
        batch = Clients(clients.x, clients.y, tuple(plan[t % len(plan)] for plan in plans))
        at_work = torch.tensor([t < len(plan) for plan in plans])
        one = LocalHP(lr=c.lr * at_work, weight_decay=c.weight_decay, batch=batch.n.clamp_min(1))
        steps.append((batch, one))
    return steps
