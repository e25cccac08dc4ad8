"""A run is a value: `communicate` takes one, and returns the one after the next round.

Keeping the best run, copying it, going back to an earlier one or going on from it later are
plain list operations. All of a run's randomness belongs to its seed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.aggregate import server_sgd, weighted_average
from fedlab_edu.check import require
from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.draws import generator, stream
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.local import Score, local_sgd, score
from fedlab_edu.model import Model
from fedlab_edu.tuner import Fixed, Tuner


@dataclass(frozen=True)
class Round:
    """What one round did: B clients, the row of the table that each used, and its scores on V_i.

    ``before`` is of the model received, ``after`` of the model that the client trained from it.
    """

    client: Int[Tensor, " B"]
    arm: Int[Tensor, " B"]
    size: Int[Tensor, " B"]
    before: Score
    after: Score


@dataclass(frozen=True)
class Run:
    """The global model w, the server's momentum v, and all else that the next round depends on."""

    w: Float[Tensor, " d"]
    v: Float[Tensor, " d"]
    b: ServerHP
    tuner: Tuner
    seed: int = 0
    history: tuple[Round, ...] = field(default=(), repr=False)

    @property
    def round(self) -> int:
        """The number of rounds played."""
        return len(self.history)


def start(
    model: Model,
    fed: Federation,
    tuner: Tuner | LocalHP | None = None,
    b: ServerHP | None = None,
    seed: int = 0,
) -> Run:
    """A run that has not played yet, on the federation's device and with its precision.

    Args:
        tuner: a `LocalHP` c stands for the tuner of that one configuration: FedAvg.
        b: the server's hyperparameters; the default averages.
        seed: of the first weights, of the clients drawn, and of each client's minibatches.
    """
    if tuner is None or isinstance(tuner, LocalHP):
        tuner = Fixed(tuner or LocalHP())
    x = fed.train.x
    w = model.init(stream(seed)).to(x if x.is_floating_point() else x.device)
    return Run(w, torch.zeros_like(w), b or ServerHP(), tuner, seed)


def communicate(run: Run, model: Model, fed: Federation, clients: int = 10) -> Run:
    """One communication round with B clients.

    Raises:
        ValueError: B is above the number of clients.

    Source: Khodak et al. (2021), Algorithm 2; with one configuration, McMahan et al. (2017),
    Algorithm 1.
    """
    gen = generator(run.seed, run.round)
    i = fed.sample(clients, gen)  # B clients of this round
    arm = run.tuner.ask(clients, gen)  # c_i ~ D_theta
    train, val = fed.train[i], fed.val[i]
    seeds = [stream(run.seed, run.round, client) for client in i.tolist()]
    before = score(model, run.w, val)  # L_{V_i}(w)
    W = local_sgd(model, run.w, train, run.tuner.table[arm], seeds)  # w_i <- Loc_{c_i}(T_i, w)
    after = score(model, W, val)  # L_{V_i}(w_i)
    average = weighted_average(W, train.n)
    w, v = server_sgd(run.w, run.v, average, run.b, run.round + 1)  # w <- Agg_b(w, {w_i})
    tuner = run.tuner.tell(arm, before.error, after.error, val.n)  # theta <- update
    history = (*run.history, Round(i, arm, val.n, before, after))
    return replace(run, w=w, v=v, tuner=tuner, history=history)


def play(
    run: Run,
    model: Model,
    fed: Federation,
    rounds: int,
    clients: int = 10,
    watch: Callable[[Run], object] | None = None,
) -> Run:
    """The run after some more rounds; ``watch`` sees the run before the first and after each."""
    require(rounds >= 0, "rounds", rounds, "at least 0")
    if watch is not None:
        watch(run)
    for _ in range(rounds):
        run = communicate(run, model, fed, clients)
        if watch is not None:
            watch(run)
    return run


class Average(NamedTuple):
    """Loss and error rate over all clients, weighted by their numbers of examples."""

    loss: float
    error: float


def average(of: Score, clients: Clients) -> Average:
    """``sum_i n_i s_i / sum_i n_i``; +inf where a client with examples has diverged."""
    p = clients.n.double() / clients.n.sum()
    return Average(*(float((p * s)[p > 0].sum()) for s in of))


def evaluate(run: Run, model: Model, fed: Federation) -> Average:
    """The global objective: the global model on the test data of all clients.

    Source: Khodak et al. (2021), eq. (1).
    """
    return average(score(model, run.w, fed.test), fed.test)


def personalise(run: Run, model: Model, fed: Federation, c: LocalHP | None = None) -> Average:
    """The personalised objective: each client trains the global model once more, then is tested.

    Args:
        c: how it trains; the default is row 0 of the tuner's table.

    Source: Khodak et al. (2021), eq. (2).
    """
    c = run.tuner.table[0] if c is None else c
    seeds = [stream(run.seed, run.round, client) for client in range(len(fed))]
    W = local_sgd(model, run.w, fed.train, c, seeds)
    return average(score(model, W, fed.test), fed.test)
