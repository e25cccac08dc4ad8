"""The papers' global and personalised objectives, on test data."""

from typing import NamedTuple

import torch

from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.communicate import train_clients
from fedlab_edu.rounds.gather import Tile, Work
from fedlab_edu.rounds.run import Run, check_types
from fedlab_edu.seeds import seed_for
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.scores import Score, score
from fedlab_edu.training.threads import plain_mode
from fedlab_edu.validate import require, require_type


class Average(NamedTuple):
    """Loss and error rate over all clients, weighted by their numbers of examples.

    In a regression the error is the loss, see `score`.
    """

    loss: float
    error: float


def average(of: Score, clients: Clients) -> Average:
    """Return ``sum_i n_i s_i / sum_i n_i``; a diverged client has the loss +inf and the error 1."""
    require(clients.n.sum() > 0, "examples of all clients", 0, "at least 1")
    p = clients.n.double() / clients.n.sum()
    has = p > 0
    return Average(*(float(p[has] @ s[has]) for s in (of.loss, of.rates)))


def evaluate(run: Run, model: Model, fed: Federation) -> Average:
    """Return the global objective: the global model on the test data of all clients.

    Source: Khodak et al. (2021), eq. (1), with test data E_i for V_i.
    """
    check_types(model, fed, run)
    return average(score(model, run.w, fed.test), fed.test)


@plain_mode()
def personalise(run: Run, model: Model, fed: Federation, c: LocalHP | None = None) -> Average:
    """Return the personalised objective: test each personal model after one more run of Loc.

    Args:
        c: one configuration, or one for each client; by default the tuner's `final`.

    Source: Khodak et al. (2021), eq. (2), with test data E_i for V_i.
    """
    check_types(model, fed, run)
    c = run.tuner.final if c is None else c
    require_type("c", c, LocalHP, "LocalHP(lr=0.1)")
    N = len(fed)
    seeds = [seed_for(run.seed, run.round, client, 1) for client in range(N)]  # not a round's
    everyone = torch.arange(N)
    work = Work(everyone, torch.zeros_like(everyone), c.each(N), seeds)
    scores = torch.zeros(2, N, dtype=torch.float64)

    def keep(tile: Tile) -> None:
        scores[:, tile.place] = torch.stack(tile.after)

    train_clients([run], [work], model, fed.train, fed.test, keep, lambda _: None)
    return average(Score(*scores), fed.test)
