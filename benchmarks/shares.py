"""Whole searches on the digits: seconds, and the shares of training, scoring and the rest."""

from collections.abc import Callable
from threading import Lock
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple
from unittest import mock

from fedlab_edu import FedProx, around, digits, fedpop, mlp, successive_halving, tune
from fedlab_edu.rounds import communicate
from fedlab_edu.search.space import FEDEX, FEDPOP
from fedlab_edu.training import local

HEAD = (
    f"{'searches on digits, (4000, 800)':38}{'time':>11}{'training':>10}{'scores':>10}{'rest':>8}"
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
    """Seconds by the clock, and shares of the processor's time."""

    seconds: float
    training: float
    scores: float

    def row(self) -> str:
        rest = 1 - self.training - self.scores
        return f"{self.seconds:9.2f} s{self.training:10.0%}{self.scores:10.0%}{rest:8.0%}"


def measured(search: Callable[[Any, Any], Any]) -> Shares:
    """Run a search with clocks in local training and in scoring."""
    model, fed = mlp(64, 32, 10), digits()
    spent, lock = {"training": 0.0, "scores": 0.0}, Lock()

    def clocked(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            begin = thread_time()
            out = work(*args, **options)
            with lock:
                spent[name] += thread_time() - begin
            return out

        return timed

    begun = search(model, fed)
    with (
        mock.patch.object(local, "_train", clocked("training", local._train)),
        mock.patch.object(communicate, "score", clocked("scores", communicate.score)),
    ):
        cpu, clock = process_time(), perf_counter()
        tune(begun, model, fed)
        cpu, clock = process_time() - cpu, perf_counter() - clock
    return Shares(clock, spent["training"] / cpu, spent["scores"] / cpu)
