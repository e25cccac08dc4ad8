"""What a federated method is: Loc, the client's part of a round, and Agg, the server's."""

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.check import require
from fedlab_edu.data.clients import Clients
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.model import Model


class Server(NamedTuple):
    """What the server holds between rounds.

    Fields:
        w: the global model.
        v: what its momentum has gathered.
        h: the average of what all clients keep, for methods in which they tell: SCAFFOLD's c,
            FedDyn's h; otherwise 0.
    """

    w: Float[Tensor, " d"]
    v: Float[Tensor, " d"]
    h: Float[Tensor, " d"]

    @classmethod
    def first(cls, w: Float[Tensor, " d"]) -> "Server":
        """Before the first round."""
        return cls(w, torch.zeros_like(w), torch.zeros_like(w))


class Given(NamedTuple):
    """What B clients have in hand when they begin.

    Fields:
        w, h: what the server sends, see `Server`: one for all (d,), or one for each client (B, d).
        kept: what each client kept when it was last drawn; None where the method keeps nothing.
        round: the rounds played before this one, from 0.
    """

    w: Float[Tensor, "*B d"]
    h: Float[Tensor, "*B d"]
    kept: Float[Tensor, "B d"] | None
    round: Int[Tensor, " B"]


class Answer(NamedTuple):
    """What B clients have when they are done.

    Fields:
        sent: goes to the server, which averages it: a model, or what takes a model's place.
        own: the model that the client itself would use; it is the one that is scored.
        kept: stays with the client until it is drawn again; None where it keeps nothing.
        moved: goes to the server too: by how much ``kept`` has changed; None where it is not told.
    """

    sent: Float[Tensor, "B d"]
    own: Float[Tensor, "B d"]
    kept: Float[Tensor, "B d"] | None = None
    moved: Float[Tensor, "B d"] | None = None


@runtime_checkable
class Method(Protocol):
    """A federated method (Loc, Agg).

    One of your own is easily a ``@dataclass(frozen=True)`` that inherits from FedAvg and changes
    what differs; its settings are fields, so that runs with equal ones may train together::

        @dataclass(frozen=True)
        class Clipped(FedAvg):
            most: float = 1.0

            def loc(self, model, given, clients, c, seeds):
                W = local_sgd(model, given.w, clients, c, seeds)
                step = W - given.w
                step = step * (self.most / step.norm(dim=1, keepdim=True)).clamp_max(1)
                return Answer(sent=given.w + step, own=W)

    ``weigh = staticmethod(equally)`` lets all clients count the same. Where `first` gives a vector,
    `loc` finds what each client keeps in ``given.kept``, and returns the next as ``kept``.

    Source: Khodak et al. (2021), section 2 and appendix B. Where a client keeps something from one
    round to another, Loc is not literally a function of its data and of w, as it is there.
    """

    def first(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"] | None:
        """What a client keeps before it is drawn for the first time, in a round that sends w."""

    def loc(
        self, model: Model, given: Given, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> Answer:
        """The clients' part of a round: B clients, each with its own row of c and its own seed."""

    def weigh(self, n: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """How much each client counts in the average, given its number of examples."""

    def agg(
        self,
        server: Server,
        average: Float[Tensor, " d"],
        moved: Float[Tensor, " d"],
        b: ServerHP,
        t: int,
        c: LocalHP,
    ) -> Server:
        """The server's part of round t >= 1; clients that have diverged count nowhere.

        Args:
            average: of what the clients sent, weighted by `weigh`.
            moved: the change of the average of what all clients keep, ``sum_i moved_i / N``.
            c: the settings with which the round's clients trained.
        """


def by_size(n: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
    """Every example counts the same: a client as much as it has of them."""
    return n.double()


def equally(n: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
    """Every client counts the same."""
    return torch.ones_like(n, dtype=torch.float64)


def no_pull(c: LocalHP, method: str) -> None:
    """Refuse a mu that the method would not heed."""
    allowed = f"0: {method} has no pull towards the model received, as FedProx has"
    require(not c.mu.any(), "mu", c.mu, allowed)
