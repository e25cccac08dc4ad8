"""Whole searches on the digits: seconds, and the shares of training, scoring and the rest.

A plain loop scores both models of each client, too: its share of training, in the first round of
all arms, stands beside ours.
"""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Lock
from time import perf_counter, process_time, thread_time
from types import ModuleType
from typing import Any
from unittest import mock

from benchmarks import rounds
from fedlab_edu import FedProx, around, digits, fedpop, mlp, successive_halving, tune
from fedlab_edu.rounds import communicate
from fedlab_edu.search.space import FEDEX, FEDPOP
from fedlab_edu.training import local

TITLE = "searches on digits, (4000, 800)"
SEARCHES: dict[str, Callable[[Any, Any], Any]] = {
    "successive halving": lambda model, fed: successive_halving(
        model, fed, FEDEX, 4000, 800, method=FedProx()
    ),
    "successive halving with FedEx": lambda model, fed: successive_halving(
        model, fed, FEDEX, 4000, 800, method=FedProx(), tuner=around(FEDEX.client)
    ),
    "FedPop": lambda model, fed: fedpop(model, fed, FEDPOP, 4000, 800, method=FedProx()),
}


def measured(search: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Run a search with clocks in local training and in scoring, and a round by the plain loop."""
    model, fed = mlp(64, 32, 10), digits()
    begun = search(model, fed)
    ours = {"_train": local, "scores_of": communicate}
    seconds, training, scores = clocked(lambda: tune(begun, model, fed), ours)
    runs, loop = list(begun.runs), {"plain_loop": rounds}
    _, plain = clocked(lambda: rounds.plain_round(runs, model, fed), loop)
    return {
        "time (s)": seconds, "training": training, "scores": scores,
        "rest": 1 - training - scores, "a plain loop: training": plain,
    }  # fmt: skip


def clocked(work: Callable[[], object], inside: dict[str, ModuleType]) -> list[float]:
    """Return seconds by the clock, and the shares of processor time of some functions."""
    spent, lock = dict.fromkeys(inside, 0.0), Lock()

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            begin = thread_time()
            out = function(*args, **options)
            with lock:
                spent[name] += thread_time() - begin
            return out

        return call

    with ExitStack() as stack:
        for name, module in inside.items():
            clock = timed(name, getattr(module, name))
            stack.enter_context(mock.patch.object(module, name, clock))
        cpu, seconds = process_time(), perf_counter()
        work()
        cpu, seconds = process_time() - cpu, perf_counter() - seconds
    return [seconds, *(share / cpu for share in spent.values())]
