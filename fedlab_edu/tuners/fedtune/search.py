"""FedTune: each client has a distribution over configurations of its own, which its credit moves.

In a round all clients draw a configuration and train, and the server tries the ensemble of their
models on validation data that it has itself. *FedTune: Differentiable hyperparameter optimization
for personalized federated learning* (anonymous, under review), Algorithm 1; what it does not say is
filled in here: see the fields of `FedTune`. That the server holds data like those of the clients is
an assumption of the paper, which no other tuner here makes: FedEx needs the clients' scores alone.
Our server's data are the validation data of all clients, put together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Literal, NamedTuple, SupportsIndex, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.methods import FedAvg, Method, Server
from fedlab_edu.models.model import Model, cross_entropy
from fedlab_edu.registry import storable
from fedlab_edu.rounds.communicate import draw_work, finish_round, train_clients
from fedlab_edu.rounds.gather import Tile, gather
from fedlab_edu.rounds.run import Run, start
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.seeds import generator
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.training.memory import SCORE_BYTES, activations
from fedlab_edu.training.scores import ROWS_AT_ONCE
from fedlab_edu.tuners.fedex.rules import draw_row
from fedlab_edu.tuners.fedtune.credit import credit, diverged, project, update, update_raw
from fedlab_edu.validate import MOST, number, require, usable_device, whole

Credit = Literal["dummy_one", "reinforce"]
Baseline = Literal["running_mean"]
Buffer = Literal["joint", "shared"]
Param = Literal["logits", "raw"]
_ALLOWED = {
    "credit": get_args(Credit), "credit_baseline": (None, *get_args(Baseline)),
    "buffer": get_args(Buffer), "param": get_args(Param),
}  # fmt: skip


@storable
class FedTuneRound(NamedTuple):
    """What a round did: the row of the table that each of N clients drew, the ensemble's loss on
    the server's data, and each client's credit, without a baseline: -inf if it has diverged."""

    z: tuple[int, ...]
    loss: float
    credit: tuple[float, ...]


@storable
@dataclass(frozen=True, eq=False)
class FedTune:
    """A search for one row of a table for each client, as a value; `fedtune` begins one.

    Fields:
        table: H configurations; the paper's 30 are ``FEDTUNE.client.grid()``.
        w0: the model from which every joint configuration starts.
        logits: (N, H), of each client's distribution; 0 at first, so that all rows are as likely.
        total: the communication rounds to spend.
        lr: the step; the paper gives none. Credits fall as 1/N with the number of clients, and
            those of models after one round are smaller still, so that even 10 moves logits by
            little. By pi itself a step goes (1/pi)^2 times as far, 900 times at first for H = 30.
        credit: "dummy_one", as printed, or "reinforce": d_i is the loss itself, for all clients the
            same, always less its running mean. That is the gradient of the objective, in the mean.
        credit_baseline: "running_mean" takes off client i's d_i the mean of its d_i in the rounds
            before; in its first round it then does not move. As printed there is none: where most
            credits have one sign, how often a row was drawn decides. Those of good models are
            positive, and whatever is drawn gains; those of models after one round may be negative,
            and rows that were never drawn then share the top.
        buffer: "joint" keeps a model for each joint configuration, as printed; of H^N ones, hardly
            any comes twice before the distributions narrow, and until then each round starts from
            w0. "shared" goes on with one model whatever is drawn.
        param: "logits", or "raw": the step is taken by pi, as printed, and then projected.
        cap: bytes for the models; the one that was used longest ago goes first.
        method: one with stateless clients. Its `weights` gives the shares q_i: D_i / D in FedAvg.
        seed: of the draws and of the minibatches. A round's clients train as in a run of that seed.
        models: joint configuration -> its model, the latest last; () -> the one if it is shared.
        history: of each round what it did; the next one depends on it.

    A client whose model or outputs are not finite has diverged. It is left out of the average and
    of the ensemble, and does not draw that row again, unless all its other rows have diverged, too;
    with "raw" the row is left with a probability of 1e-6.

    Raises:
        ValueError: a value that is not allowed; a cap below one model.
    """

    table: LocalHP
    w0: Float[Tensor, " d"] = field(repr=False)
    logits: Float[Tensor, "N H"] = field(repr=False)
    total: int
    lr: float = 10.0
    credit: Credit = "dummy_one"
    credit_baseline: Baseline | None = None
    buffer: Buffer = "joint"
    param: Param = "logits"
    cap: int = 1 << 30
    method: Method = field(default_factory=FedAvg)
    seed: int = 0
    models: Mapping[tuple[int, ...], Float[Tensor, " d"]] = field(default_factory=dict, repr=False)
    history: tuple[FedTuneRound, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        shape, H = tuple(self.logits.shape), len(self.table)
        ok = len(shape) == 2 and shape[0] and shape[1] == H
        require(ok, "shape of logits", shape, f"(N, {H}), a row for each client")
        for name, allowed in _ALLOWED.items():
            require(getattr(self, name) in allowed, name, getattr(self, name), str(allowed))
        require(0 <= number(self.lr) < inf, "lr", self.lr, "a finite number of at least 0")
        object.__setattr__(self, "lr", number(self.lr))
        for name, least in (("total", 1), ("seed", 0), ("cap", self.w0.nbytes)):
            most = MOST if name == "total" else None
            object.__setattr__(self, name, whole(name, getattr(self, name), least, most))
        ok = isinstance(self.method, Method) and self.method.init_state(self.w0) is None
        require(ok, "method", self.method, "a method with stateless clients, such as FedAvg()")

    @property
    def pi(self) -> Float[Tensor, "N H"]:
        """Each client's distribution over the rows of the table."""
        return self.logits.softmax(1)

    @property
    def entropy(self) -> Float[Tensor, " N"]:
        """Of each client ``- sum_h pi_h ln pi_h``, in nats; ln H at first."""
        return torch.special.entr(self.pi).sum(1)

    @property
    def final(self) -> Int[Tensor, " N"]:
        """Each client's most likely row of the table, of equal ones the first.

        Rows that were never drawn are equal, so that their order in the table may decide.
        """
        return self.logits.argmax(1)

    @property
    def used(self) -> int:
        """The communication rounds that have been spent."""
        return len(self.history)

    @property
    def done(self) -> bool:
        """Whether all have."""
        return self.used >= self.total

    @property
    def alive(self) -> list[int]:
        """The one arm that there is, for `tune`."""
        return [0]

    @property
    def best_score(self) -> float:
        """The lowest loss of a round's ensemble so far; NaN before the first round."""
        return min((played.loss for played in self.history), default=nan)

    @property
    def baseline(self) -> Float[Tensor, " N"]:
        """The mean of each client's d_i so far, without rounds in which it has diverged; NaN where
        there is none."""
        d = -torch.tensor([p.credit for p in self.history], dtype=torch.float64)
        d = d.reshape(-1, len(self.logits))
        return d.masked_fill(~d.isfinite(), nan).nanmean(0)

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "FedTune":
        """One communication round of all N clients; ``clients``, which `tune` gives, is not used.

        Beside what training takes, it takes about 16 N M C bytes for what N models say about the
        server's M examples.

        Raises:
            ValueError: the search is over; other clients than those that it began with; no
                validation data.

        Source: FedTune, Algorithm 1, lines 3-18.
        """
        require(not self.done, "search", "over", "one with rounds left")
        N = len(self.logits)
        require(len(fed) == N, "clients of the federation", len(fed), f"{N}, those of the search")
        require(fed.val.n.any(), "validation examples", 0, "at least 1: the server needs them")
        # Z_i ~ pi_i, h_i = Z_i' H
        u = torch.rand(N, generator=generator(self.seed, self.used), dtype=torch.float64)
        rows = zip(self.pi.tolist(), u.tolist(), strict=True)
        z = torch.tensor([draw_row(pi, x) for pi, x in rows])
        # theta_g = G[h]
        h = tuple(z.tolist()) if self.buffer == "joint" else ()
        begun = self._run(z, self.models.get(h, self.w0), self.used)
        # theta_i = Loc_(h_i)(theta_g, D_i), theta_g = sum_i q_i theta_i
        after, outputs = _round(begun, model, fed)
        # L of sum_i q_i theta_i(x) 1_i, and dL/d1_i
        q, y = self.method.weights(fed.train.n), fed.val.y[_rows(fed.val)]
        classes = model.loss is cross_entropy and not y.is_floating_point()
        loss, d = credit(outputs, q / q.sum(), y, "cross_entropy" if classes else model.losses)
        if self.credit == "reinforce":
            d = torch.where(d.isfinite(), loss, d)
        played = FedTuneRound(tuple(z.tolist()), loss, tuple((-d).tolist()))
        return replace(
            self,
            logits=self._moved(z, d),
            models=self._models(h, after.w),  # G[h] = theta_g
            history=(*self.history, played),
        )

    def _run(self, row: Tensor, w: Tensor, rounds: int) -> Run:
        """A run that has played some rounds, of clients that each have a row of the table."""
        fixed = Fixed(self.table, row)
        return Run(Server.initial(w), {}, self.method, ServerHP(), fixed, self.seed, rounds)

    def _moved(self, z: Tensor, d: Tensor) -> Tensor:
        """The logits after a round."""
        if self.credit_baseline == "running_mean" or self.credit == "reinforce":
            mean = self.baseline
            # a client without a round before stays where it is, unless it has diverged
            d = torch.where(mean.isnan() & d.isfinite(), 0.0, d - mean.nan_to_num())
        if self.param == "raw":
            return project(update_raw(self.pi, z, d, self.lr)).log()
        return update(self.logits, z, d, self.lr)

    def _models(self, h: tuple[int, ...], w: Tensor) -> dict[tuple[int, ...], Tensor]:
        """The buffer with one more model, and without those for which there is no room."""
        models = {key: model for key, model in self.models.items() if key != h}
        oldest = [*models][: max(0, len(models) + 1 - self.cap // w.nbytes)]
        return {key: model for key, model in models.items() if key not in oldest} | {h: w}

    def final_run(self) -> Run:
        """The run, not yet begun, that trains from w0 with what the search has found.

        Its seed is the search's, so that it is the run that `start` gives with `Fixed`: those of
        searches of one seed differ in their settings alone.
        """
        return self._run(self.final, self.w0, 0)

    def to(self, device: str | torch.device) -> "FedTune":
        """The same search, its vectors on another device.

        Raises:
            ValueError: this machine has no such device.
        """
        device = usable_device(device)
        models = {h: w.to(device) for h, w in self.models.items()}
        return replace(self, w0=self.w0.to(device), models=models)


def fedtune(
    model: Model,
    fed: Federation,
    table: LocalHP,
    total: SupportsIndex,
    *,
    lr: float = 10.0,
    credit: Credit = "dummy_one",
    credit_baseline: Baseline | None = None,
    buffer: Buffer = "joint",
    param: Param = "logits",
    cap: int = 1 << 30,
    method: Method | None = None,
    seed: SupportsIndex = 0,
) -> FedTune:
    """A search that has not begun: ``tune(fedtune(model, fed, table, 30), model, fed)``.

    Args: see the fields of `FedTune`.

    Raises:
        ValueError: a value that is not allowed; validation data that are not finite.
    """
    require(isinstance(table, LocalHP), "table", table, "a LocalHP, one row for each candidate")
    for i, name in enumerate(fed.names):
        ok = all(part.isfinite().all() for part in fed.val.examples(i))
        require(ok, f"validation data of client {i} ({name})", "not finite", "finite numbers")
    begun = start(model, fed, seed=seed, method=method)
    logits = torch.zeros(len(fed), len(table), dtype=torch.float64)
    return FedTune(table, begun.w, logits, whole("total", total, 1, MOST), lr, credit,
                   credit_baseline, buffer, param, cap, begun.method, begun.seed)  # fmt: skip


def _round(begun: Run, model: Model, fed: Federation) -> tuple[Run, Float[Tensor, "N M C"]]:
    """The run after a round of all clients, and what their models say about the server's data; NaN
    of those that have diverged."""
    N = len(fed)
    work = draw_work(begun, fed, N)
    said: dict[int, Tensor] = {}

    def tiles() -> Iterator[Tile]:
        for tile in train_clients([begun], [work], model, fed.train, fed.val):
            outputs = _outputs(model, tile.update.personal, fed.val)
            finite = tile.finite & ~diverged(outputs).cpu()
            outputs[~finite] = nan
            said.update(zip(tile.client.tolist(), outputs, strict=True))
            yield tile._replace(finite=finite)  # what has diverged is in neither average

    (gathered,) = gather([begun], [work], tiles(), fed)
    return finish_round(begun, gathered), torch.stack([said[i] for i in range(N)])


@torch.no_grad()
def _outputs(model: Model, W: Float[Tensor, "B d"], data: Clients) -> Float[Tensor, "B M C"]:
    """What each of B models says about all examples of all clients."""
    B = len(W)
    most = min(ROWS_AT_ONCE, SCORE_BYTES // activations(model, data, W))
    parts = _rows(data).split(max(1, most // B))
    each = (data.x[rows].expand(B, *[-1] * data.x.dim()) for rows in parts)
    return torch.cat([model.outputs(W, x) for x in each], 1)


def _rows(data: Clients) -> Int[Tensor, " M"]:
    """The rows of all clients' examples, end to end."""
    return torch.cat(data.rows).to(data.x.device)
