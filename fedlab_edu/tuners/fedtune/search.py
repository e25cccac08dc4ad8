"""FedTune, Algorithm 1: each client has a distribution over configurations, moved by its credit.

In a round all clients draw a configuration and train, and the server evaluates the ensemble of
their models on validation data of its own: here the validation data of all clients, together.
*FedTune: Differentiable hyperparameter optimization for personalized federated learning*
(anonymous, under review).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, SupportsIndex

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import FedAvg, Method, Server, check_mu
from fedlab_edu.models.model import Model, cross_entropy
from fedlab_edu.rounds.run import Run, check_types, start
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.race import Search
from fedlab_edu.seeds import generator
from fedlab_edu.tensors import usable_device
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedex.rules import draw_row
from fedlab_edu.tuners.fedtune.credit import credit, leave_one_out, update
from fedlab_edu.tuners.fedtune.ensemble import rows_of, train_ensemble
from fedlab_edu.tuners.fedtune.rules import project, step_raw
from fedlab_edu.validate import MOST, Checked, not_negative, require, whole


def fedtune_round(search: "FedTune", model: Model, fed: Federation) -> "FedTune":
    """Play one communication round of all N clients: Algorithm 1, lines 3-18.

    The outputs of N models on the server's M examples take about 16 N M C bytes.
    """
    N = len(fed)
    # Z_i ~ pi_i, h_i = Z_i' H
    u = torch.rand(N, generator=generator(search.seed, search.used), dtype=torch.float64)
    rows = zip(search.pi.tolist(), u.tolist(), strict=True)
    z = torch.tensor([draw_row(pi, x) for pi, x in rows])
    # theta_g = G[h]
    h = tuple(z.tolist()) if search.buffer == "joint" else ()
    begun = search._run(z, search.models.get(h, search.w0), search.used)
    # theta_i = Loc_(h_i)(theta_g, D_i), theta_g = sum_i q_i theta_i
    after, outputs = train_ensemble(begun, model, fed)
    # L of sum_i q_i theta_i(x) 1_i, and dL/d1_i
    q, y = search.method.weights(fed.train.n), fed.val.y[rows_of(fed.val)]
    classes = model.loss is cross_entropy and not y.is_floating_point()
    losses: Any = "cross_entropy" if classes else model.losses
    given = outputs, q / q.sum(), y, losses
    loss, d = credit(*given)
    if search.credit == "leave_one_out":
        d = leave_one_out(*given)
    elif search.credit == "reinforce":
        d = torch.where(d.isfinite(), loss, d)
    played = FedTuneRound(tuple(z.tolist()), loss, tuple((-d).tolist()))
    models = search._models(h, after.w)  # G[h] = theta_g
    return replace(search, logits=search._moved(z, d), models=models,
                   history=(*search.history, played))  # fmt: skip


class FedTuneRound(NamedTuple):
    """One round of FedTune.

    Fields:
        z: (N,), each client's row of the table.
        loss: of the ensemble on the server's data.
        credit: (N,), ``-d_i`` of each client, without a baseline; -inf if it has diverged.
    """

    z: tuple[int, ...]
    loss: float
    credit: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FedTune(Checked):
    """A search for one row of a table for each client; `fedtune` starts one.

    Fields:
        table: H configurations; the paper's 30 are ``FEDTUNE.client.grid()``.
        w0: the model from which every joint configuration starts.
        logits: (N, H), of each client's distribution; 0 at first: all rows are equally likely.
        total: communication rounds.
        lr: the step size; the paper gives none. Credits fall as 1/N, and are smaller still for
            models after one round, so that even 10 moves logits by little.
        credit: "dummy_one", as printed; `leave_one_out`; or "reinforce": d_i is the loss itself,
            minus its running mean. Its expectation is the gradient of the objective.
        credit_baseline: "running_mean" subtracts the mean of a client's earlier d_i; its first
            round then moves nothing. None, as printed: where most credits have one sign, the number
            of draws of a row decides.
        buffer: "joint" keeps one model for each joint configuration, as printed. Hardly any of the
            H^N comes twice before the distributions narrow, and until then each round starts from
            w0. "shared" keeps one model for all.
        param: "logits", or "raw": the step is taken by pi, as printed, and then projected. It is
            (1/pi)^2 times as long, 900 times at first for H = 30.
        cap: bytes for the models, at least for one; the least recently used model is dropped first.
        method: one with stateless clients and an Agg that only averages; its `weights` gives q_i.
        seed: of the draws and of the minibatches; clients train as in a run of that seed.
        models: joint configuration -> its model, the latest last; () -> the shared one.
        history: one entry for each round; the next round depends on it.

    A client whose model or outputs are not finite has diverged. It is left out of average and
    ensemble, and does not draw that row again, see `rules.step`.
    """

    table: LocalHP
    w0: Float[Tensor, " d"]
    logits: Float[Tensor, "N H"]
    total: Annotated[int, partial(whole, least=1, most=MOST)]
    lr: Annotated[float, not_negative] = 10.0
    credit: Literal["dummy_one", "leave_one_out", "reinforce"] = "dummy_one"
    credit_baseline: Literal["running_mean", None] = None
    buffer: Literal["joint", "shared"] = "joint"
    param: Literal["logits", "raw"] = "logits"
    cap: int = 1 << 30
    method: Method = field(default_factory=FedAvg)
    seed: Annotated[int, partial(whole, least=0)] = 0
    models: Mapping[tuple[int, ...], Float[Tensor, " d"]] = field(default_factory=dict)
    history: tuple[FedTuneRound, ...] = ()
    budget: ClassVar = ("total",)
    __repr__ = Search.__repr__
    done = Search.done

    def __post_init__(self) -> None:
        shape, H = tuple(self.logits.shape), len(self.table)
        ok = len(shape) == 2 and shape[0] and shape[1] == H
        require(ok, "shape of logits", shape, f"(N, {H}), a row for each client")
        super().__post_init__()
        object.__setattr__(self, "cap", whole("cap", self.cap, self.w0.nbytes))
        ok = isinstance(self.method, Method) and self.method.init_state(self.w0) is None
        require(ok, "method", self.method, "a method with stateless clients, such as FedAvg()")

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "FedTune":
        """Return the search after a `fedtune_round`; ``clients`` is not used."""
        require(not self.done, "search", "over", "one with rounds left")
        N = len(self.logits)
        require(len(fed) == N, "clients of the federation", len(fed), f"{N}, those of the search")
        require(fed.val.n.any(), "validation examples", 0, "at least 1: the server needs them")
        return fedtune_round(self, model, fed)

    @property
    def pi(self) -> Float[Tensor, "N H"]:
        """The distribution of each client over the rows of the table."""
        return self.logits.softmax(1)

    @property
    def entropy(self) -> Float[Tensor, " N"]:
        """The entropy ``- sum_h pi_h ln pi_h`` of each client, in nats; ln H at first."""
        return torch.special.entr(self.pi).sum(1)

    @property
    def final(self) -> Int[Tensor, " N"]:
        """The most likely row of each client; the first of equal ones."""
        return self.logits.argmax(1)

    @property
    def used(self) -> int:
        return len(self.history)

    @property
    def best_score(self) -> float:
        """The lowest loss of a round's ensemble so far; NaN before the first round."""
        return min((played.loss for played in self.history), default=nan)

    @property
    def baseline(self) -> Float[Tensor, " N"]:
        """The mean d_i of each client so far, without rounds in which it diverged; NaN if none."""
        d = -torch.tensor([p.credit for p in self.history], dtype=torch.float64)
        d = d.reshape(-1, len(self.logits))
        return d.masked_fill(~d.isfinite(), nan).nanmean(0)

    def _run(self, row: Tensor, w: Tensor, rounds: int) -> Run:
        """Return a run in which each client trains with its row of the table."""
        fixed = Fixed(self.table, row)
        return Run(Server.initial(w), {}, self.method, ServerHP(), fixed, self.seed, rounds)

    def _moved(self, z: Tensor, d: Tensor) -> Tensor:
        """Return the logits after a round."""
        if self.credit_baseline == "running_mean" or self.credit == "reinforce":
            mean = self.baseline
            # a client without a round before stays where it is, unless it has diverged
            d = torch.where(mean.isnan() & d.isfinite(), 0.0, d - mean.nan_to_num())
        if self.param == "raw":
            return update(self.pi, z, d, self.lr, lambda *one: project(step_raw(*one))).log()
        return update(self.logits, z, d, self.lr)

    def _models(self, h: tuple[int, ...], w: Tensor) -> dict[tuple[int, ...], Tensor]:
        """Return the buffer with one more model; drop the oldest beyond the cap."""
        models = {key: model for key, model in self.models.items() if key != h}
        oldest = [*models][: max(0, len(models) + 1 - self.cap // w.nbytes)]
        return {key: model for key, model in models.items() if key not in oldest} | {h: w}

    def extend(self, done: "FedTune") -> "FedTune":
        """Return a search that has begun, with this one's total, which must not be smaller."""
        require(self.total >= done.total, "total", self.total, f"at least {done.total}, as before")
        return replace(done, total=self.total)

    def final_run(self) -> Run:
        """Return a new run from w0 with `final`, and with the seed of the search."""
        return self._run(self.final, self.w0, 0)

    def to(self, device: str | torch.device) -> "FedTune":
        device = usable_device(device)
        models = {h: w.to(device) for h, w in self.models.items()}
        return replace(self, w0=self.w0.to(device), models=models)


def fedtune(
    model: Model, fed: Federation, table: LocalHP, total: SupportsIndex, *,
    lr: float = 10.0,
    credit: Literal["dummy_one", "leave_one_out", "reinforce"] = "dummy_one",
    credit_baseline: Literal["running_mean", None] = None,
    buffer: Literal["joint", "shared"] = "joint", param: Literal["logits", "raw"] = "logits",
    cap: int = 1 << 30, method: Method | None = None, seed: SupportsIndex = 0,
    w: Float[Tensor, " d"] | None = None,
) -> FedTune:  # fmt: skip
    """Start a search: ``tune(fedtune(model, fed, FEDTUNE.client.grid(), 30), model, fed)``.

    For the arguments see `FedTune`; the method is FedAvg by default, and w has the initial weights,
    see `start`.
    """
    check_types(model, fed)
    require(isinstance(table, LocalHP), "table", table, "a LocalHP, one row for each configuration")
    for i, name in enumerate(fed.names):
        ok = all(part.isfinite().all() for part in fed.val.examples(i))
        require(ok, f"validation data of client {i} ({name})", "not finite", "finite numbers")
    begun = start(model, fed, seed=seed, method=method, w=w)
    check_mu(begun.method, table)
    logits = torch.zeros(len(fed), len(table), dtype=torch.float64)
    return FedTune(table, begun.w, logits, whole("total", total, 1, MOST), lr, credit,
                   credit_baseline, buffer, param, cap, begun.method, begun.seed)  # fmt: skip
