"""FedPA: federated posterior averaging, with SGD as a posterior sampler.

Al-Shedivat, Gillenwater, Xing, Rostamizadeh (2021), *Federated learning via posterior averaging: a
new perspective and practical algorithms*, Algorithms 1 to 4.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.fedavg import PlainSGD
from fedlab_edu.methods.method import ClientInput, ClientUpdate, no_pull
from fedlab_edu.models.model import Model
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.local import local_sgd
from fedlab_edu.training.memory import chunks
from fedlab_edu.training.plan import steps
from fedlab_edu.validate import not_negative, require, whole


@dataclass(frozen=True)
class FedPA(PlainSGD):
    """SGD as a posterior sampler: after a burn-in, each sample is a mean of consecutive iterates.

    A client estimates its posterior's mean mu_i and covariance Sigma_i from its samples. It sends
    ``w - Delta_i`` with ``Delta_i = Sigma_i^-1 (w - mu_i)``; Agg is FedAvg's.

    Args:
        burn_in: local epochs before the first sample.
        per_sample: local epochs per sample; a remainder is not used.
        rho: how far the covariance is trusted, at least 0. With 0 it is the identity, and the round
            is FedAvg of the sample means.
        plain_rounds: rounds of FedAvg before the first of FedPA.
    """

    burn_in: Annotated[int, partial(whole, least=0)] = 1
    per_sample: Annotated[int, partial(whole, least=1)] = 1
    rho: Annotated[float, not_negative] = 0.1
    plain_rounds: Annotated[int, partial(whole, least=0)] = 0

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Draw samples, at least one, by local SGD from w, and compute Delta_i; c.mu must be 0."""
        model, clients, c, seeds = inputs.model, inputs.clients, inputs.c, inputs.seeds
        no_pull(c, "FedPA")
        least = self.burn_in + self.per_sample
        require((c.epochs >= least).all(), "epochs", c.epochs, f"at least {least}: one sample")
        c = c.each(len(clients))
        w = inputs.w.expand(len(clients), -1)
        W, sent = w.clone(), w.clone()
        number = (c.epochs - self.burn_in) // self.per_sample  # samples of each client
        each = (int(number.max()) + 2) * model.d * W.element_size()
        for i in chunks(len(clients), each, W.device):
            W[i], samples = self.samples(model, w[i], clients[i], c[i], [seeds[j] for j in i])
            for row, j in enumerate(i):
                sent[j] = w[j] - delta(w[j], samples[row, : int(number[j])], self.rho)
        plain = inputs.round < self.plain_rounds
        return ClientUpdate(model=torch.where(plain[:, None].to(W.device), W, sent), personal=W)

    def samples(
        self, model: Model, w: Float[Tensor, "*B d"], clients: Clients, c: LocalHP, seeds: list[int]
    ) -> tuple[Float[Tensor, "B d"], Float[Tensor, "B l d"]]:
        """Return the last iterates, and ``(epochs_i - burn_in) // per_sample`` samples of client i.

        Source: iterate-averaged stochastic gradient sampling (IASG), Algorithm 4.
        """
        steps_each = self.per_sample * steps(clients.n, c) // c.epochs
        burn_in = self.burn_in * steps(clients.n, c) // c.epochs
        most = int(((c.epochs - self.burn_in) // self.per_sample).max())
        samples = w.new_zeros(len(clients), most, w.shape[-1])

        def watch(at: Int[Tensor, " k"], t: int, W: Float[Tensor, "k d"]) -> None:
            sample = (t - burn_in[at]) // steps_each[at]
            inside = (sample >= 0) & (sample < most)
            who = at[inside]
            share = 1 / steps_each[who].to(W)
            place = who.to(W.device), sample[inside].to(W.device)
            samples[place] += share[:, None] * W[inside.to(W.device)]

        return local_sgd(model, w, clients, c, seeds, watch=watch), samples


def delta(w: Float[Tensor, " d"], samples: Float[Tensor, "l d"], rho: float) -> Float[Tensor, " d"]:
    """Return ``Sigma^-1 (w - mu)`` for the mean mu of l samples and ``Sigma = r I + (1 - r) S``.

    S is the samples' covariance with denominator l - 1, and ``r = 1 / (1 + (l - 1) rho)``.
    Woodbury's identity needs no d by d matrix and takes ``O(l^2 d)``. The system is solved in
    float32 at least. If the samples are too far apart to solve it, the result is NaN.

    Source: Al-Shedivat et al. (2021), the shrinkage estimate of the covariance.
    """
    kind = torch.promote_types(w.dtype, torch.float32)
    if kind != w.dtype:
        return delta(w.to(kind), samples.to(kind), rho).to(w.dtype)
    l, mean = len(samples), samples.mean(0)  # noqa: E741
    r = 1 / (1 + (l - 1) * rho)
    if r == 1:
        return w - mean
    # Sigma = r I + U' U with the l rows of U
    U = (samples - mean) * ((1 - r) / (l - 1)) ** 0.5
    small = r * torch.eye(l, dtype=U.dtype, device=U.device) + U @ U.T
    solution, failed = torch.linalg.solve_ex(small, U @ (w - mean))
    return torch.where(failed == 0, (w - mean - U.T @ solution) / r, torch.nan)
