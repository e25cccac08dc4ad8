"""The interface of a federated method: Loc, the client's part of a round, and Agg, the server's."""

from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.models.model import Model
from fedlab_edu.seeds import generator
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.training.local import local_sgd
from fedlab_edu.validate import require


class Server(NamedTuple):
    """The server's state between rounds.

    Fields:
        w: the global model.
        v: the momentum.
        h: the method's own vector: SCAFFOLD's c, FedDyn's h, Adam's second moment; initially 0.
    """

    w: Float[Tensor, " d"]
    v: Float[Tensor, " d"]
    h: Float[Tensor, " d"]

    @classmethod
    def initial(cls, w: Float[Tensor, " d"]) -> "Server":
        """Return the server before the first round."""
        return cls(w, torch.zeros_like(w), torch.zeros_like(w))


class ClientInput(NamedTuple):
    """The input of B clients to a round.

    Fields:
        model, clients: the network, and the clients' training examples T_i.
        c, seeds: for each client a row of hyperparameters and a seed.
        w, h: sent by the server, see `Server`: one for all (d,), or one for each client (B, d).
        state: the client states; None for a method with stateless clients.
        round: the number of rounds before this one.
    """

    model: Model
    clients: Clients
    c: LocalHP
    seeds: list[int]
    w: Float[Tensor, "*B d"]
    h: Float[Tensor, "*B d"]
    state: Float[Tensor, "B d"] | None
    round: Int[Tensor, " B"]

    def sgd(self, w: Float[Tensor, "*B d"], **options: Any) -> Float[Tensor, "B d"]:
        """Run `local_sgd` from w on the clients' examples; for the options see there."""
        return local_sgd(self.model, w, self.clients, self.c, self.seeds, **options)


class ClientUpdate(NamedTuple):
    """The updates of B clients at the end of a round.

    Fields:
        model: sent to the server, which averages it: a model, or a vector in its place.
        personal: the model that the client itself would use, which is scored.
        state: the next client state; None for a method with stateless clients.
        state_delta: sent to the server, the change of ``state``; None if it is not sent.
        weight: sent to the server, the aggregation weight, at least 0; None for `Method.weights`.
    """

    model: Float[Tensor, "B d"]
    personal: Float[Tensor, "B d"]
    state: Float[Tensor, "B d"] | None = None
    state_delta: Float[Tensor, "B d"] | None = None
    weight: Float[Tensor, " B"] | None = None


class RoundUpdate(NamedTuple):
    """The input of the server to Agg, from the B clients that have not diverged.

    Fields:
        average: ``sum_i p_i model_i``, see `ClientUpdate`.
        state_change: the change of the mean of all client states, ``sum_i state_delta_i / N``.
        p: the normalised weights, in float64; models and average are in the run's precision, as
            the next w must be.
        n: numbers of training examples.
        c: the configurations with which the clients trained, one row each;
            `fedlab_edu.training.plan.steps` of (n, c) counts their local steps.
        round: t, from 1.
        drawn: the number of clients drawn, including diverged ones.
        seed: of the run, see `generator`.
        models: every ``model_i``; None unless the method has ``needs_models = True``.
    """

    average: Float[Tensor, " d"]
    state_change: Float[Tensor, " d"]
    p: Float[Tensor, " B"]
    n: Int[Tensor, " B"]
    c: LocalHP
    round: int
    drawn: int
    seed: int
    models: Float[Tensor, "B d"] | None = None

    def generator(self) -> torch.Generator:
        """Return a generator on the CPU for the server's draws in this round."""
        return generator(self.seed, self.round - 1, 0, 0, 0)


@runtime_checkable
class Method(Protocol):
    """A federated method (Loc, Agg).

    To write one, inherit from FedAvg in a ``@dataclass(frozen=True)`` and override what differs.
    Settings are fields, so that runs with equal settings may train together::

        from dataclasses import dataclass
        from fedlab_edu import FedAvg, server_sgd
        from fedlab_edu.methods import ClientUpdate

        @dataclass(frozen=True)
        class Clipped(FedAvg):
            most: float = 1.0

            def loc(self, inputs):
                W = inputs.sgd(inputs.w, optimizer=self.optimizer)
                step = W - inputs.w
                step = step * (self.most / step.norm(dim=1, keepdim=True)).clamp_max(1)
                return ClientUpdate(model=inputs.w + step, personal=W)

        @dataclass(frozen=True)
        class MedianAvg(FedAvg):
            needs_models = True

            def agg(self, server, update, b):
                median = update.models.quantile(0.5, dim=0)
                w, v = server_sgd(server.w, server.v, median, b, update.round)
                return server._replace(w=w, v=v)

    ``equal_weights = True`` gives all clients the same weight; ``pulls = True`` lets FedAvg's `loc`
    use c.mu, as FedProx does. If `init_state` returns a vector, `loc` gets each client's state in
    ``inputs.state`` and returns the next one. With ``needs_models = True`` Agg gets
    ``update.models``, and memory grows with their number; otherwise it is None. With ``agg_always =
    True`` Agg also runs where all clients have diverged, with no clients, and w as the average.
    Neither `loc` nor `agg` may write into the vectors and data that it is given.

    Source: Khodak et al. (2021), section 2 and appendix B, where clients are stateless.
    """

    needs_models: ClassVar[bool]
    agg_always: ClassVar[bool]

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"] | None:
        """Return the client state before a client's first round, in which the server sends w."""

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Do the clients' part of a round."""

    def weights(self, n: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """Return the aggregation weight of each client, given its number of examples."""

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Do the server's part of a round."""


def no_pull(c: LocalHP, method: str) -> None:
    """Refuse a mu that the method would ignore."""
    allowed = f"0: {method} has no pull towards the model received, as FedProx has"
    require(not c.mu.any(), "mu", c.mu, allowed)
