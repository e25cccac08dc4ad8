"""A run as a value: everything that its next round depends on, and its history.

To keep, copy or resume a run, use plain list operations. Its seed determines all its randomness.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, SupportsIndex

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation, Sizes
from fedlab_edu.methods import FedAvg, Method, Server, check_control, check_mu
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.seeds import check_default_device, seed_for
from fedlab_edu.tensors import usable_device
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.training.scores import Score
from fedlab_edu.validate import require, require_all, require_type, whole


@dataclass(frozen=True, eq=False)
class Run:
    """A run between two rounds.

    Fields:
        server: the global model w, the momentum v, and the method's own vector h.
        states: client -> client state (d,), for clients drawn so far; None where client states live
            on the Flower nodes, see `flower`.
        round: the number of rounds played.
        history: one `Round` for each played. No round depends on it, so it may be cut.
        replacement: whether a client may be drawn twice in a round.
    """

    server: Server = field(repr=False)
    states: Mapping[int, Float[Tensor, " d"]] | None = field(repr=False)
    method: Method
    b: ServerHP
    tuner: Tuner
    seed: int = 0
    round: int = 0  # rounds played
    history: tuple[Round, ...] = field(default=(), repr=False)
    replacement: bool = False

    @property
    def w(self) -> Float[Tensor, " d"]:
        """The global model."""
        return self.server.w

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "history": _packed(self.history)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, history=_unpacked(state["history"]))

    def to(self, device: str | torch.device) -> "Run":
        """Return the run with its vectors on another device."""
        device = usable_device(device)
        states = self.states and {i: vector.to(device) for i, vector in self.states.items()}
        return replace(self, server=Server(*(v.to(device) for v in self.server)), states=states)


def drop_vectors(run: Run) -> Run:
    """Return the run without vectors, which only a run that continues needs."""
    return replace(run, server=Server(*(v[:0].clone() for v in run.server)), states={})


def _packed(history: tuple[Round, ...]) -> tuple[Tensor, ...]:
    """Concatenate all rounds, because each tensor is a separate part of a file."""
    if not history:
        return ()
    columns = zip(*((r.client, r.row, r.size, r.diverged) for r in history), strict=True)
    scores = [torch.stack([*r.before, *r.after]) for r in history]
    clients = torch.tensor([len(r.client) for r in history])
    return clients, *(torch.cat(column) for column in columns), torch.cat(scores, 1)


def _unpacked(parts: tuple[Tensor, ...]) -> tuple[Round, ...]:
    if not parts:
        return ()
    clients, *columns, scores = parts
    rounds = zip(*(part.split(clients.tolist(), -1) for part in (*columns, scores)), strict=True)
    return tuple(
        Round(client, row, size, Score(*s[:2]), Score(*s[2:]), diverged)
        for client, row, size, diverged, s in rounds
    )


def check_types(model: object, fed: object, *runs: object) -> None:
    """Raise a ``ValueError`` that names the argument of another type, as if two were swapped."""
    check_default_device()
    for run in runs:
        require_type("run", run, Run, "start(model, fed)")
    require_type("model", model, Model, "from_module(net)")
    require_type("fed", fed, Federation, "federate(x, y, rows)")
    for run in runs:
        d = len(run.w)  # type: ignore[attr-defined]
        allowed = f"{model.d}, the d of the model"  # type: ignore[attr-defined]
        allowed += "" if d else "; an arm that was eliminated has no vectors"
        require(d == model.d, "length of the run's w", d, allowed)  # type: ignore[attr-defined]


def start(
    model: Model,
    fed: Federation | Sizes,
    tuner: Tuner | LocalHP | None = None,
    b: ServerHP | None = None,
    seed: SupportsIndex = 0,
    method: Method | None = None,
    replacement: bool = False,
    w: Float[Tensor, " d"] | None = None,
) -> Run:
    """Return a run before its first round, on the federation's device and in its precision.

    Args:
        fed: a federation, or the sizes of one, which are all that a server needs.
        tuner: a tuner, or one `LocalHP` for all clients. For your own see `Tuner`.
        b: the server's hyperparameters; the default averages.
        seed: of the initial weights, the clients drawn, and the minibatches. A model made by
            `from_module` starts from its network's own weights instead.
        method: FedAvg by default. For your own see `Method`.
        replacement: draw the clients of a round with replacement; for stateless clients only.
        w: the initial weights instead, such as ``model.flatten(net)`` of a network trained before,
            or the ``w`` of another run; copied.
    """
    if isinstance(fed, Sizes):
        require_type("model", model, Model, "from_module(net)")
        device, dtype = torch.device("cpu"), fed.dtype
    else:
        check_types(model, fed)
        device, dtype = fed.train.x.device, fed.sizes.dtype
    tuner, b, method = _complete(tuner, b, method, len(fed))
    require(isinstance(replacement, bool), "replacement", replacement, "True or False")
    seed = whole("seed", seed, 0)
    w = model.init(seed_for(seed)) if w is None else _checked(w, model)
    w = w.to(device, dtype)
    require_all(w.isfinite(), "w", w, f"finite numbers in {w.dtype}")
    stateless = method.init_state(w) is None
    allowed = "False, for clients of this method keep vectors"
    require(not replacement or stateless, "replacement", replacement, allowed)
    return Run(Server.initial(w), {}, method, b, tuner, seed, replacement=replacement)


def _complete(tuner: Any, b: Any, method: Any, clients: int) -> tuple[Tuner, ServerHP, Method]:
    """Fill in the defaults of `start`, and check that the three fit together."""
    if tuner is None or isinstance(tuner, LocalHP):
        tuner = Fixed(LocalHP() if tuner is None else tuner)
    lacks = [n for n in ("table", "final", "ask", "tell") if not hasattr(tuner, n)]
    allowed = "a LocalHP, or a tuner" + (f"; this one lacks {', '.join(lacks)}" if lacks else "")
    allowed += "; a method goes to method=" if isinstance(tuner, Method) else ""
    ok = isinstance(tuner, Tuner) and not isinstance(tuner, type)
    require(ok, "tuner", tuner, allowed)
    tuner.final.each(clients, "final configurations of the tuner")
    b = ServerHP() if b is None else b
    method = FedAvg() if method is None else method
    ok = isinstance(method, Method) and not isinstance(method, type)
    require(ok, "method", method, "a method, such as FedAvg(); a tuner goes to tuner=")
    check_mu(method, tuner.table)
    require_type("b", b, ServerHP, "ServerHP(lr=0.5)")
    check_control(method, b)
    require(len(b) == 1, "b", f"{len(b)} rows", "one setting of the server")
    return tuner, b, method


def _checked(w: object, model: Model) -> Tensor:
    """Return a copy of the initial weights that a user gives."""
    require_type("w", w, Tensor, "another run's w, or model.flatten(net)")
    assert isinstance(w, Tensor)
    require(w.layout == torch.strided, "layout of w", str(w.layout), "dense, as of w.to_dense()")
    require(not w.is_meta, "device of w", "meta", "one that holds numbers")
    require(tuple(w.shape) == (model.d,), "shape of w", tuple(w.shape), f"{(model.d,)}")
    require(w.is_floating_point(), "dtype of w", str(w.dtype), "floats")
    return w.detach().clone()
