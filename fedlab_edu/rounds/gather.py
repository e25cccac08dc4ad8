"""Aggregation at the end of a round: add up the client updates, tile by tile."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import ClientUpdate, RoundUpdate
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.run import Run
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.scores import Score
from fedlab_edu.validate import require


class Work(NamedTuple):
    """One run's round before training: B clients, their rows of the table, and their seeds."""

    client: Int[Tensor, " B"]
    row: Int[Tensor, " B"]
    c: LocalHP
    seeds: list[int]


class Tile(NamedTuple):
    """Some clients of a round after training.

    Fields:
        run: the place of the client's run in the list of runs.
        place: the client's place in its run's round.
        client: the client's number in the federation.
        before, after: the scores of the model received, and of the personal model.
        finite: whether the client has not diverged, see `is_finite`.
    """

    run: Int[Tensor, " k"]
    place: Int[Tensor, " k"]
    client: Int[Tensor, " k"]
    update: ClientUpdate
    before: Score
    after: Score
    finite: Bool[Tensor, " k"]


class Gathered(NamedTuple):
    """One run's round after training.

    Fields:
        update: for the server; None if no client has a weight, unless Agg runs always.
        played: for the tuner and the history.
        states: client -> its next state, for clients that have not diverged.
    """

    update: RoundUpdate | None
    played: Round
    states: dict[int, Tensor]


def is_finite(update: ClientUpdate, after: Score) -> Bool[Tensor, " k"]:
    """Return whether the vectors and the loss of each client are finite."""
    finite = [v.isfinite().reshape(len(v), -1).all(1).cpu() for v in update if v is not None]
    return torch.stack([*finite, after.loss.isfinite()]).all(0)


def gather(
    runs: Sequence[Run], works: Sequence[Work], tiles: Iterable[Tile], fed: Federation
) -> list[Gathered]:
    """Add up the updates of each run's clients, without the diverged ones."""
    A, method, w = len(runs), runs[0].method, runs[0].w
    B = max(len(work.client) for work in works)
    total, change, sent = (w.new_zeros(A, size) for size in (len(w), len(w), 1))
    weights, scores = torch.zeros(A, B, dtype=torch.float64), torch.zeros(4, A, B).double()
    diverged = torch.zeros(A, B, dtype=torch.bool)
    states: list[dict[int, Tensor]] = [{} for _ in runs]
    models: list[list[tuple[Tensor, Tensor]]] = [[] for _ in runs]
    # normalised weights keep the sums in the range of float32
    usual = [method.weights(fed.train.n[work.client]).double() for work in works]
    scale = torch.stack([one.sum() for one in usual])
    by_place = pad_sequence(usual, batch_first=True)
    for run, place, client, update, before, after, finite in tiles:
        own = None if update.weight is None else update.weight.double().cpu()
        weight = by_place[run, place] if own is None else own
        weight = torch.where(finite, weight, 0.0)
        require((weight >= 0).all(), f"weights of {type(method).__name__}", weight, "at least 0")
        weights[run, place], diverged[run, place] = weight, ~finite
        ends = torch.stack(after).masked_fill(~finite, torch.inf)
        scores[:, run, place] = torch.cat([torch.stack(before), ends]).to(scores)
        p = (weight / scale[run] if own is None else weight).to(w)
        W, delta = _without_nan(update.model, finite), update.state_delta
        delta = None if delta is None else _without_nan(delta, finite)
        for a, its in _by_run(run):
            sent[a] += p[its].sum()
            total[a] += p[its] @ W[its]
            if delta is not None:
                change[a] += delta[its].sum(0)
            if method.needs_models:
                models[a].append((place[its], W[its].clone()))
        if update.state is not None:
            for row in finite.nonzero()[:, 0].tolist():
                states[int(run[row])][int(client[row])] = update.state[row].clone()
    average, change = total / sent, change / len(fed)
    return [
        _gathered(fed, *each)
        for each in zip(
            runs, works, average, change, weights, diverged, scores.unbind(1), states, models,
            strict=True,
        )
    ]  # fmt: skip


def _gathered(
    fed: Federation,
    run: Run,
    work: Work,
    average: Tensor,
    change: Tensor,
    weights: Tensor,
    diverged: Tensor,
    scores: Tensor,
    states: dict[int, Tensor],
    models: list[tuple[Tensor, Tensor]],
) -> Gathered:
    """Return one run's round; weights, diverged and scores may be padded beyond its B clients."""
    B = len(work.client)
    lost, s = diverged[:B].clone(), scores[:, :B].clone()
    size, finite = fed.val.n[work.client], ~lost
    played = Round(work.client, work.row, size, Score(*s[:2]), Score(*s[2:]), lost)
    total = weights.sum()
    if not total > 0:
        if not run.method.agg_always:
            return Gathered(None, played, states)
        average, total = run.w, torch.ones_like(total)
    every = None
    if models:
        places, rows = zip(*models, strict=True)
        every = torch.cat(rows)[torch.cat(places).argsort()][finite.to(average.device)]
    p = weights[:B][finite] / total
    n, c = fed.train.n[work.client][finite], work.c[finite]
    update = RoundUpdate(average, change, p, n, c, run.round + 1, B, run.seed, every)
    return Gathered(update, played, states)


def _by_run(run: Int[Tensor, " k"]) -> Iterator[tuple[int, slice]]:
    """Yield each run of a tile, and the slice of its clients, which are contiguous."""
    numbers, counts = run.unique_consecutive(return_counts=True)
    first = 0
    for a, k in zip(numbers.tolist(), counts.tolist(), strict=True):
        yield a, slice(first, first + k)
        first += k


def _without_nan(W: Float[Tensor, "k d"], finite: Bool[Tensor, " k"]) -> Float[Tensor, "k d"]:
    """Set rows that are not finite to 0, because 0 times NaN is NaN; copy only if there are any."""
    return W if bool(finite.all()) else W.masked_fill(~finite[:, None].to(W.device), 0)
