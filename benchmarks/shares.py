"""Whole searches on the digits: seconds, and the shares of training, scoring and the rest.

A plain loop scores both models of each client, too: its share of training, in the first round of
all arms, stands beside ours.
"""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Lock
from time import perf_counter, process_time, thread_time
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

from benchmarks import rounds
from fedlab_edu import FedProx, around, digits, fedpop, mlp, successive_halving, tune
from fedlab_edu.rounds import communicate
from fedlab_edu.search.space import FEDEX, FEDPOP
from fedlab_edu.training import local

HEAD = (
    f"{'searches on digits, (4000, 800)':38}{'time':>11}{'training':>10}{'scores':>10}{'rest':>8}"
    f"{'a plain loop: training':>24}"
)
SEARCHES: dict[str, Callable[[Any, Any], Any]] = {
    "successive halving": lambda model, fed: successive_halving(
        model, fed, FEDEX, 4000, 800, method=FedProx()
    ),
    "successive halving with FedEx": lambda model, fed: successive_halving(
        model, fed, FEDEX, 4000, 800, method=FedProx(), tuner=around(FEDEX.client)
    ),
    "FedPop": lambda model, fed: fedpop(model, fed, FEDPOP, 4000, 800, method=FedProx()),
}


class Shares(NamedTuple):
    """Seconds by the clock, and shares of the processor's time, ours and a plain loop's."""

    seconds: float
    training: float
    scores: float
    loop: float

    def row(self) -> str:
        rest = 1 - self.training - self.scores
        ours = f"{self.seconds:9.2f} s{self.training:10.0%}{self.scores:10.0%}{rest:8.0%}"
        return f"{ours}{self.loop:24.0%}"


def measured(search: Callable[[Any, Any], Any]) -> Shares:
    """Run a search with clocks in local training and in scoring, and a round by the plain loop."""
    model, fed = mlp(64, 32, 10), digits()
    begun = search(model, fed)
    ours = {"_train": local, "scores_of": communicate}
    seconds, training, scores = clocked(lambda: tune(begun, model, fed), ours)
    runs, loop = list(begun.runs), {"plain_loop": rounds}
    return Shares(
        seconds, training, scores, clocked(lambda: rounds.plain_round(runs, model, fed), loop)[1]
    )


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
