"""A communication round: `communicate` returns the run after it."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.methods import ClientInput, ClientUpdate, Method
from fedlab_edu.models.model import Model
from fedlab_edu.progress import progress_bar
from fedlab_edu.rounds.draw import draw_works
from fedlab_edu.rounds.gather import Sums, Tile, Work, is_finite
from fedlab_edu.rounds.result import divergence
from fedlab_edu.rounds.run import Run, check_types
from fedlab_edu.tensors import read_only
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.local import cut, threads_for
from fedlab_edu.training.scores import scores_of
from fedlab_edu.training.threads import one_thread, run_parallel
from fedlab_edu.validate import require, whole

_Part = TypeVar("_Part")


class StopTraining(Exception):
    """An exception to raise in ``watch`` of `train`, or a callback of `tune`, to stop early."""


def communicate(run: Run, model: Model, fed: Federation, clients: int = 10) -> Run:
    """Return the run after one more communication round with B clients.

    Source: Khodak et al. (2021), Algorithm 2; with one configuration, McMahan et al. (2017),
    Algorithm 1.
    """
    return communicate_all([run], model, fed, clients)[0]


def communicate_all(
    runs: Sequence[Run], model: Model, fed: Federation, clients: int = 10
) -> list[Run]:
    """Return A runs after one more round each, as from `communicate` up to rounding.

    All clients of runs with equal methods train at once.
    """
    ok = isinstance(runs, Sequence)
    require(ok, "runs", type(runs).__name__, "a list of runs: [start(model, fed)]")
    check_types(model, fed, *runs)
    require(runs, "runs", [*runs], "at least one")
    after = list(runs)
    with one_thread():
        for places in _by_method(runs):
            group = [runs[a] for a in places]
            # draw B clients, and a setting c_i ~ D_theta for each
            works = draw_works(group, fed.sizes, clients)
            sums = Sums(group, works, fed.sizes)
            # w_i <- Loc_{c_i}(T_i, w), L_{V_i}(w) and L_{V_i}(w_i), and the sums of the w_i
            train_clients(group, works, model, fed.train, fed.val, sums.part, sums.add)
            # w <- Agg_b(w, {w_i}), theta <- update
            for a, run in zip(places, sums.finish(), strict=True):
                after[a] = run
    return after


def _by_method(runs: Sequence[Run]) -> list[list[int]]:
    """Return the places of runs, grouped by methods that are equal in all fields."""
    # == may ignore the fields of a subclass of a dataclass
    methods = [(type(run.method), getattr(run.method, "__dict__", run.method)) for run in runs]
    first = [next(a for a, b in enumerate(methods) if b is m or _equal(b, m)) for m in methods]
    return [[a for a, b in enumerate(first) if b == one] for one in dict.fromkeys(first)]


def _equal(one: object, other: object) -> bool:
    """Return whether two values are equal; those with tensors are if they hold the same ones."""
    try:
        return bool(one == other)
    except (RuntimeError, ValueError):  # a tensor or an array has no truth value
        return False


def train(
    run: Run,
    model: Model,
    fed: Federation,
    rounds: int,
    clients: int = 10,
    watch: Callable[[Run], object] | None = None,
    *,
    progress: bool = True,
) -> Run:
    """Return the run after some more rounds; warn once if training diverges, see `divergence`.

    Args:
        watch: called with the run before the first round and after each; what it prints stands
            above the bar. If it raises `StopTraining`, the run so far is returned.
        progress: show a bar, see `progress_bar`.
    """
    check_types(model, fed, run)
    rounds = whole("rounds", rounds, 0)
    require(watch is None or callable(watch), "watch", watch, "a function of a run, or None")
    first, found = None, None
    with suppress(StopTraining):
        if watch is not None:
            watch(run)
        with progress_bar(range(rounds), unit="round", hidden=not progress) as bar:
            for _ in bar:
                run = communicate(run, model, fed, clients)
                first = first or run.history[-1]
                if found is None and (found := divergence(first, run.history[-1])):
                    warnings.warn(f"round {run.round}: {found}; try a lower lr", stacklevel=2)
                if watch is not None:
                    with bar.external_write_mode():
                        watch(run)
    return run


def train_clients(
    runs: Sequence[Run],
    works: Sequence[Work],
    model: Model,
    data: Clients,
    tests: Clients,
    part: Callable[[Tile], _Part],
    add: Callable[[_Part], object],
) -> None:
    """Train all clients of all runs by Loc, in tiles that stay in a core's cache.

    A tile has the scores on ``tests`` of the models received and of the personal models. Its thread
    calls ``part`` while they are in the cache; ``add`` gets the results in the order of the tiles.
    """
    for run in runs:
        allowed = "client states; those of this run live on the Flower nodes"
        require(run.states is not None, "states", run.states, allowed)
    method = runs[0].method
    run_of = np.repeat(np.arange(len(runs)), [len(work.client) for work in works])
    client = torch.cat([work.client for work in works])
    c = LocalHP.concat([work.c for work in works])
    seeds = [seed for work in works for seed in work.seeds]
    w, h = _shared([run.w for run in runs]), _shared([run.server.h for run in runs])
    initial = [method.init_state(run.w) for run in runs]
    played = torch.tensor([run.round for run in runs])

    def train(tile: np.ndarray) -> _Part:
        i = torch.from_numpy(tile)
        of_run, mine = torch.from_numpy(run_of[tile]), client[i]
        state, at = _states(runs, initial, of_run.tolist(), mine.tolist()), of_run.to(w.device)
        received, sent = (v if v.dim() == 1 else v.index_select(0, at) for v in (w, h))
        own = model, data[mine], c[i], [seeds[j] for j in tile]
        update = run_loc(method, ClientInput(*own, received, sent, state, played[of_run]))
        before, after = scores_of(model, [received, update.personal], tests[mine])
        return part(Tile(i, update, before, after, is_finite(update, after)))

    run_parallel(train, cut(model, data[client], c, w), add, threads_for(w))


def run_loc(method: Method, inputs: ClientInput) -> ClientUpdate:
    """Return what Loc gives, without graphs, which would grow from round to round.

    Raises:
        ValueError: an incomplete update of a user's own method, or one that writes into its inputs.
    """
    given = {"w": inputs.w, "h": inputs.h, "x": inputs.clients.x, "y": inputs.clients.y}
    with read_only(f"{type(method).__name__}.loc", **given):
        update = method.loc(inputs)
    shape = len(inputs.clients), inputs.model.d
    _check(update, method, shape, inputs.w, inputs.state is not None)
    vectors: list[Any] = [v if v is None or not v.requires_grad else v.detach() for v in update]
    return ClientUpdate(*vectors)


def _check(
    update: object, method: Method, shape: tuple[int, int], w: Tensor, has_state: bool
) -> None:
    """Refuse an incomplete update of a user's own method."""
    loc = f"{type(method).__name__}.loc"
    require(isinstance(update, ClientUpdate), loc, type(update).__name__, "a ClientUpdate")
    assert isinstance(update, ClientUpdate)
    state = "a vector" if update.state is not None else None
    allowed = "None where `init_state` returns None, and a vector for each client where it does not"
    require((state is not None) == has_state, f"{loc}: state", state, allowed)
    for name, W in zip(update._fields, update, strict=True):
        if W is not None:
            require(isinstance(W, Tensor), f"{loc}: {name}", type(W).__name__, "a tensor")
            seen, wanted = tuple(W.shape), shape if name != "weight" else shape[:1]
            require(seen == wanted, f"{loc}: shape of {name}", seen, f"{wanted}")
            ok, allowed = name == "weight" or W.dtype == w.dtype, f"{w.dtype}, that of w"
            require(ok, f"{loc}: dtype of {name}", str(W.dtype), allowed)


def _shared(vectors: list[Tensor]) -> Float[Tensor, "*A d"]:
    """Stack the vectors of runs, or return one if all are equal, so that no client copies it."""
    first, *others = vectors
    return first if all(torch.equal(first, v) for v in others) else torch.stack(vectors)


def _states(
    runs: Sequence[Run], initial: list[Tensor | None], of_run: list[int], clients: list[int]
) -> Float[Tensor, "k d"] | None:
    """Return the states of some clients; None if they are stateless."""
    pairs = zip(of_run, clients, strict=True)
    found = ((runs[a].states or {}).get(i, initial[a]) for a, i in pairs)
    vectors = [v for v in found if v is not None]
    return torch.stack(vectors) if vectors else None
