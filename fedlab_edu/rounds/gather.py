"""Aggregation at the end of a round: add up the client updates, tile by tile."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Sizes
from fedlab_edu.methods import ClientUpdate, RoundUpdate, Server
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.run import Run
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.tensors import as_float64, read_only
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.scores import Score
from fedlab_edu.validate import require, updated


class Work(NamedTuple):
    """One run's round before training: B clients, their rows of the table, and their seeds."""

    client: Int[Tensor, " B"]
    row: Int[Tensor, " B"]
    c: LocalHP
    seeds: list[int]

    def keep(self, at: Sequence[int]) -> "Work":
        """Return the work of the clients at these places only."""
        at = list(at)
        return Work(self.client[at], self.row[at], self.c[at], [self.seeds[j] for j in at])


class Tile(NamedTuple):
    """Some clients of a round after training.

    Fields:
        place: the client's place among the clients of all runs.
        before, after: the scores of the model received, and of the personal model.
        finite: whether the client has not diverged, see `is_finite`.
    """

    place: Int[Tensor, " k"]
    update: ClientUpdate
    before: Score
    after: Score
    finite: Bool[Tensor, " k"]


def is_finite(update: ClientUpdate, after: Score) -> Bool[Tensor, " k"]:
    """Return whether the vectors and the loss of each client are finite."""
    finite = np.isfinite(after.loss.numpy())
    for vector in {id(v): v for v in update if v is not None}.values():  # one may be there twice
        rows = vector.reshape(len(vector), -1)
        # summing takes much less time than looking at each entry
        entries = rows.sum(1).isfinite().cpu().numpy()
        if not entries.all():  # a sum of finite entries may overflow
            entries = rows.isfinite().all(1).cpu().numpy()
        finite &= entries
    return torch.from_numpy(finite)


class Part(NamedTuple):
    """The sums of a tile's clients, for each of the a runs that it has clients of.

    Fields:
        run: their places in the list of runs.
        total, change: the weighted sum of the models, and the sum of the changes of the states.
        weight: the sum of the weights in ``total``.
    """

    run: Int[Tensor, " a"]
    total: Float[Tensor, "a d"]
    change: Float[Tensor, "a d"] | None
    weight: Float[Tensor, " a"]


class Sums:
    """Adds up the updates of each run's clients, without the diverged ones.

    Call `part` for each tile, in any thread, `add` for each part, always in the same order because
    sums round, and then `finish`.
    """

    def __init__(self, runs: Sequence[Run], works: Sequence[Work], sizes: Sizes) -> None:
        self.runs, self.works, self.method, self.clients = runs, works, runs[0].method, len(sizes)
        self.lengths = [len(work.client) for work in works]
        self.run_of = torch.arange(len(runs)).repeat_interleave(torch.tensor(self.lengths))
        self.client, w = torch.cat([work.client for work in works]), runs[0].w
        self.n, self.size, n = sizes.train[self.client], sizes.val[self.client], len(self.client)
        usual = [as_float64(self.method.weights(n)) for n in self.n.split(self.lengths)]
        seen, name = [*map(len, usual)], f"lengths of the weights of {type(self.method).__name__}"
        require(seen == self.lengths, name, seen, f"{self.lengths}, one weight for each client")
        self.usual = torch.cat(usual).numpy()
        # normalised weights keep the sums in the range of float32
        self.share = torch.cat([weight / weight.sum() for weight in usual]).numpy()
        self.weight, self.scores = np.zeros(n), np.zeros((4, n))
        self.diverged = np.zeros(n, dtype=bool)
        self.total, self.sent = w.new_zeros(len(runs), len(w)), w.new_zeros(len(runs))
        self.change: Tensor | None = None  # of the client states, if there are any
        self.states: list[dict[int, Tensor]] = [{} for _ in runs]
        self.models = w.new_zeros(n, len(w)) if self.method.needs_models else None

    def part(self, tile: Tile) -> Part:
        """Keep a tile's scores, states and, if needed, models; return its sums."""
        run, client, update = self.run_of[tile.place], self.client[tile.place], tile.update
        at = tile.place.numpy()
        finite, scores = tile.finite.numpy(), torch.stack([*tile.before, *tile.after]).numpy()
        weight, p, W = self.usual[at], self.share[at], update.model
        kind = W.dtype
        if update.weight is not None:  # not normalised: float32 may hold none of them
            weight = p = update.weight.double().cpu().numpy()
            kind = torch.float64
        if not finite.all():
            scores[2:, ~finite], W = np.inf, _without_nan(W, tile.finite)
            weight, p = (np.where(finite, v, 0) for v in (weight, p))
        name = f"weights of {type(self.method).__name__}"
        require((weight >= 0).all(), name, weight, "at least 0")
        self.weight[at], self.scores[:, at], self.diverged[at] = weight, scores, ~finite
        if self.models is not None:
            self.models[tile.place.to(W.device)] = W
        if update.state is not None:
            for i in finite.nonzero()[0].tolist():
                self.states[int(run[i])][int(client[i])] = update.state[i].clone()
        of_run = run.unique() if len(self.runs) > 1 else run[:1]
        mine, delta = (of_run[:, None] == run).to(W), update.state_delta
        mix = mine.to(kind) * torch.from_numpy(p).to(W.device, kind)
        change = None if delta is None else mine @ _without_nan(delta, tile.finite)
        return Part(of_run, mix @ W.to(kind), change, mix.sum(1))

    def add(self, part: Part) -> None:
        """Add the sums of a tile to those of the runs."""
        at, kind = part.run.to(self.total.device), part.total.dtype
        self.total, self.sent = self.total.to(kind), self.sent.to(kind)
        self.total.index_add_(0, at, part.total)
        self.sent.index_add_(0, at, part.weight)
        if part.change is not None:
            if self.change is None:
                self.change = torch.zeros_like(self.total, dtype=part.change.dtype)
            self.change.index_add_(0, at, part.change)

    def finish(self, drawn: int | None = None) -> list[Run]:
        """Return the runs after the round; drawn, if not all clients of it have answered."""
        ends = pairwise(accumulate(self.lengths, initial=0))
        return [self._finish(a, slice(*own), drawn) for a, own in enumerate(ends)]

    def _finish(self, a: int, own: slice, drawn: int | None) -> Run:
        run, work = self.runs[a], self.works[a]
        average = (self.total[a] / self.sent[a]).to(run.w)
        change = torch.zeros_like(run.w) if self.change is None else self.change[a] / self.clients
        parts = (*self.scores[:, own], self.diverged[own], self.weight[own])
        *scores, lost, weight = (torch.from_numpy(part) for part in parts)
        played = Round(
            work.client, work.row, self.size[own], Score(*scores[:2]), Score(*scores[2:]), lost
        )
        n, c, models = self.n[own], work.c, None if self.models is None else self.models[own]
        if lost.any():
            weight, n, c = weight[~lost], n[~lost], c[~lost]
            models = None if models is None else models[~lost.to(models.device)]
        total = weight.sum()
        if not total > 0:
            if not self.method.agg_always:
                return finish_round(run, None, played, self.states[a])
            average, total = run.w, torch.ones_like(total)
        update = RoundUpdate(
            average, change, weight / total, n, c, run.round + 1, drawn or len(lost), run.seed,
            models,
        )  # fmt: skip
        return finish_round(run, update, played, self.states[a])


def finish_round(
    run: Run, update: RoundUpdate | None, played: Round, states: dict[int, Tensor]
) -> Run:
    """Return the run after Agg and the tuner's step, with the next states of some clients.

    Without an update, because all clients have diverged, w stays.
    """
    server, agg = run.server, f"{type(run.method).__name__}.agg"
    if update is not None:
        with read_only(agg, **server._asdict(), **run.b.columns):  # copies of the run share them
            server = run.method.agg(server, update, run.b)
    tell = f"{type(run.tuner).__name__}.tell"
    require(isinstance(server, Server), agg, type(server).__name__, "a Server")
    require(isinstance(server.w, Tensor), f"{agg}: w", type(server.w).__name__, "a tensor")
    for name in ("shape", "dtype"):
        seen, wanted = (getattr(one.w, name) for one in (server, run.server))
        require(seen == wanted, f"{agg}: {name} of w", str(seen), f"{wanted}, as before the round")
    fixed = type(run.tuner) is Fixed  # it learns nothing
    tuner = run.tuner if fixed else run.tuner.tell(played.result())
    require(hasattr(tuner, "ask"), tell, tuner, "the next tuner")
    return updated(
        run,
        server=server,
        states=None if run.states is None else {**run.states, **states},
        tuner=tuner,
        round=run.round + 1,
        history=(*run.history, played),
    )


def _without_nan(W: Float[Tensor, "k d"], finite: Bool[Tensor, " k"]) -> Float[Tensor, "k d"]:
    """Set rows that are not finite to 0, because 0 times NaN is NaN; copy only if there are any."""
    return W if bool(finite.all()) else W.masked_fill(~finite[:, None].to(W.device), 0)
