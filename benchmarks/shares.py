"""Rounds and whole searches: seconds, and the shares of training, scores, tuner and the rest.

The operations of both scores are a share of those of a round, which is the floor of what is not
training; the faster training is, the larger a share the same rest has. A plain loop scores both
models of each client, too: its share of training, in the first round of all arms, is beside ours.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import Lock
from time import perf_counter, process_time, thread_time
from typing import Any
from unittest import mock

from torch import Tensor

from benchmarks import rounds
from benchmarks.speed import operations_per_example
from fedlab_edu import (
    Clients,
    Federation,
    FedEx,
    FedProx,
    LocalHP,
    Model,
    Run,
    around,
    digits,
    fedpop,
    mlp,
    successive_halving,
    train,
    tune,
)
from fedlab_edu.rounds import communicate
from fedlab_edu.search.space import FEDEX, FEDPOP
from fedlab_edu.training import local
from fedlab_edu.training.threads import one_thread
from fedlab_edu.tuners.fedpop import FedPopL

TITLE = "shares of processor time"
Case = tuple[Model, Federation, list[Run], Callable[[], object]]  # the runs of a first round, work


def search(begin: Callable[..., Any], *given: Any, **options: Any) -> Callable[[], Case]:
    """Return a function that begins a search on the digits with budget (4000, 800)."""

    def make() -> Case:
        model, fed = mlp(64, 32, 10), digits()
        begun = begin(model, fed, *given, 4000, 800, method=FedProx(), **options)
        return model, fed, list(begun.runs), lambda: tune(begun, model, fed)

    return make


def hundred_rounds() -> Case:
    model, fed, runs, _ = rounds.SETTINGS["MLP 784-128-10, 10 clients of 64"]()
    return model, fed, runs, lambda: train(runs[0], model, fed, 100, progress=False)


CASES = {
    "shares: FedAvg, MLP 784-128-10": hundred_rounds,
    "shares: successive halving": search(successive_halving, FEDEX),
    "shares: successive halving, FedEx": search(
        successive_halving, FEDEX, tuner=around(FEDEX.client)
    ),
    "shares: FedPop": search(fedpop, FEDPOP),
}


def trained(
    model: Model, w: Tensor, anchor: Tensor, drift: Tensor | None, clients: Clients, c: LocalHP,
    *rest: Any,
) -> int:  # fmt: skip
    """Count the visits to examples in a call of local training."""
    return int((c.epochs * clients.n).sum())


def scored(model: Model, vectors: list[Tensor], clients: Clients) -> int:
    """Count the examples in a call of scoring."""
    return len(vectors) * int(clients.n.sum())


def uncounted(*_: Any) -> int:
    return 0


OURS = (
    (local, "_train", trained),
    (communicate, "scores_of", scored),
    (FedEx, "tell", uncounted),
    (FedPopL, "tell", uncounted),
)


def measured(make: Callable[[], Case]) -> dict[str, Any]:
    """Time the work with clocks in training, scoring and tuners, and a round of the plain loop."""
    model, fed, runs, work = make()
    seconds, (training, scores, *tells), (visits, looks, *_) = clocked(work, OURS)
    in_training, in_scores = (
        count * operations_per_example(model, fed.train.x, backward)
        for count, backward in ((visits, True), (looks, False))
    )
    loop = ((rounds, "plain_loop", uncounted),)
    with one_thread():
        _, (plain,), _ = clocked(lambda: rounds.plain_round(runs, model, fed), loop)
    return {
        "time (s)": seconds, "training": training, "scores": scores, "tuner": sum(tells),
        "rest": 1 - training - scores - sum(tells),
        "scores' operations": in_scores / (in_training + in_scores),
        "a plain loop: training": plain,
    }  # fmt: skip


def clocked(
    work: Callable[[], object], inside: Sequence[tuple[Any, str, Callable[..., int]]]
) -> tuple[float, list[float], list[int]]:
    """Return the seconds of work, and each inner function's share of processor time and count.

    Args:
        inside: for each function its module or class, its name there, and a function of the same
            arguments that counts.
    """
    spent, counts, lock = [0.0] * len(inside), [0] * len(inside), Lock()

    def timed(place: int, function: Callable[..., Any], count: Callable[..., int]) -> Any:
        def call(*args: Any) -> Any:
            begin = thread_time()
            out = function(*args)
            took = thread_time() - begin
            with lock:
                spent[place] += took
                counts[place] += count(*args)
            return out

        return call

    with ExitStack() as stack:
        for place, (owner, name, count) in enumerate(inside):
            clock = timed(place, getattr(owner, name), count)
            stack.enter_context(mock.patch.object(owner, name, clock))
        cpu, seconds = process_time(), perf_counter()
        work()
        cpu, seconds = process_time() - cpu, perf_counter() - seconds
    return seconds, [share / cpu for share in spent], counts
