"""A run is a value: `communicate` takes one, and returns the one after the next round.

Keeping the best run, copying it, going back to an earlier one or going on from it later are
plain list operations. All of a run's randomness belongs to its seed.
"""

from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, eq=False)
class Round:
    """What one round did: B clients, the row of the table that each used, and its scores on V_i.

    ``before`` is of the model received, ``after`` of the model that the client trained from it.
    """

    client: Int[Tensor, " B"]
    arm: Int[Tensor, " B"]
    size: Int[Tensor, " B"]
    before: Score
    after: Score


@dataclass(frozen=True, eq=False)
class Run:
    """The global model w, the server's momentum v, and all else that the next round depends on."""

    w: Float[Tensor, " d"] = field(repr=False)
    v: Float[Tensor, " d"] = field(repr=False)
    b: ServerHP
    tuner: Tuner
    seed: int = 0
    round: int = 0  # rounds played; the history may be cut, this may not
    history: tuple[Round, ...] = field(default=(), repr=False)


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

    Raises:
        ValueError: several settings where one is needed.
    """
    if tuner is None or isinstance(tuner, LocalHP):
        tuner = Fixed(tuner or LocalHP())
    b = b or ServerHP()
    require(len(b) == 1, "b", f"{len(b)} rows", "one setting of the server")
    x = fed.train.x
    w = model.init(stream(seed)).to(x if x.is_floating_point() else x.device)
    return Run(w, torch.zeros_like(w), b, tuner, seed)


class Work(NamedTuple):
    """The work of one round: B clients, the row of the table and so the setting that each trains
    with, and the seed of its minibatches."""

    client: Int[Tensor, " B"]
    arm: Int[Tensor, " B"]
    c: LocalHP
    seeds: list[int]


def ask(run: Run, fed: Federation, clients: int) -> Work:
    """Draw the clients of a run's next round, and let its tuner hand out configurations."""
    gen = generator(run.seed, run.round)
    client = fed.sample(clients, gen)
    arm = run.tuner.ask(clients, gen)
    seeds = [stream(run.seed, run.round, i) for i in client.tolist()]
    return Work(client, arm, run.tuner.table[arm], seeds)


def tell(run: Run, fed: Federation, work: Work, W: Tensor, before: Score, after: Score) -> Run:
    """The run after its clients have answered with their models W (B, d) and their scores."""
    average = weighted_average(W, fed.train[work.client].n)
    w, v = server_sgd(run.w, run.v, average, run.b, run.round + 1)
    size = fed.val[work.client].n
    tuner = run.tuner.tell(work.arm, before.error, after.error, size)
    played = Round(work.client, work.arm, size, before, after)
    history = (*run.history, played)
    return replace(run, w=w, v=v, tuner=tuner, round=run.round + 1, history=history)


def communicate(run: Run, model: Model, fed: Federation, clients: int = 10) -> Run:
    """One communication round with B clients.

    Raises:
        ValueError: B is above the number of clients.

    Source: Khodak et al. (2021), Algorithm 2; with one configuration, McMahan et al. (2017),
    Algorithm 1.
    """
    # draw B clients, and a setting c_i ~ D_theta for each
    i, _, c, seeds = work = ask(run, fed, clients)
    before = score(model, run.w, fed.val[i])  # L_{V_i}(w)
    # w_i <- Loc_{c_i}(T_i, w)
    W = local_sgd(model, run.w, fed.train[i], c, seeds)
    after = score(model, W, fed.val[i])  # L_{V_i}(w_i)
    # w <- Agg_b(w, {w_i}), theta <- update
    return tell(run, fed, work, W, before, after)


def communicate_all(
    runs: Sequence[Run], model: Model, fed: Federation, clients: int = 10
) -> list[Run]:
    """One round of each of A runs, whose A B clients all train at once.

    The numbers are those of `communicate` for one run after the other; the time is not.
    """
    works = [ask(run, fed, clients) for run in runs]
    i = torch.cat([work.client for work in works])
    w = torch.stack([run.w for run in runs]).repeat_interleave(clients, dim=0)
    seeds = [seed for work in works for seed in work.seeds]
    before = score(model, w, fed.val[i])
    W = local_sgd(model, w, fed.train[i], LocalHP.concat([work.c for work in works]), seeds)
    after = score(model, W, fed.val[i])
    answers = [zip(*(s.split(clients) for s in scores), strict=True) for scores in (before, after)]
    return [
        tell(run, fed, work, rows, Score(*first), Score(*then))
        for run, work, rows, first, then in zip(
            runs, works, W.split(clients), *answers, strict=True
        )
    ]


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
    """``sum_i n_i s_i / sum_i n_i``; +inf where a client with examples has diverged.

    Raises:
        ValueError: no client has any examples.
    """
    require(clients.n.sum() > 0, "examples of all clients", 0, "at least 1")
    p = clients.n.double() / clients.n.sum()
    return Average(*(float(p @ s) for s in of))


def evaluate(run: Run, model: Model, fed: Federation) -> Average:
    """The global objective: the global model on the test data of all clients.

    Source: Khodak et al. (2021), eq. (1), with test data E_i for V_i.
    """
    return average(score(model, run.w, fed.test), fed.test)


def personalise(run: Run, model: Model, fed: Federation, c: LocalHP | None = None) -> Average:
    """The personalised objective: each client trains the global model once more, then is tested.

    Args:
        c: how it trains; the default is row 0 of the tuner's table.

    Source: Khodak et al. (2021), eq. (2), with test data E_i for V_i.
    """
    c = run.tuner.table[0] if c is None else c
    seeds = [stream(run.seed, run.round, client, 1) for client in range(len(fed))]  # no round's
    W = local_sgd(model, run.w, fed.train, c, seeds)
    return average(score(model, W, fed.test), fed.test)
