"""The arms of a search on other processes or machines, through a `concurrent.futures` executor."""

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.communicate import communicate_all
from fedlab_edu.rounds.run import Run
from fedlab_edu.training.threads import run_parallel
from fedlab_edu.validate import require, require_type, whole

#: Plays rounds of some runs: ``play(runs, model, fed, clients, rounds)``.
Play = Callable[[Sequence[Run], Model, Federation, int, int], list[Run]]
_KEPT = dict[str, tuple[Model, Federation, int]]()  # in a worker: what its last search needs


def play_here(
    runs: Sequence[Run], model: Model, fed: Federation, clients: int, rounds: int
) -> list[Run]:
    """Return the runs after more rounds in this process."""
    for _ in range(rounds):
        runs = communicate_all(runs, model, fed, clients)
    return list(runs)


class Workers:
    """The workers of an executor, each of which plays rounds of a contiguous chunk of the runs.

    A worker gets model and data once. Runs travel without their histories, as values, so a worker
    may end at any time.
    """

    def __init__(
        self, executor: Executor, number: int | None, model: Model, fed: Federation, clients: int
    ) -> None:
        require_type("executor", executor, Executor, "ProcessPoolExecutor(4)")
        if number is None:
            number = getattr(executor, "_max_workers", None)
            allowed = f"a number, because {type(executor).__name__} does not know its own"
            require(number is not None, "workers", None, allowed)
        self._executor, self._number = executor, whole("workers", number, 1)
        self._needs = _pickled("model and fed", (model, fed, clients))
        self._token, self._sent = sha256(self._needs).hexdigest(), False

    def play(
        self, runs: Sequence[Run], model: Model, fed: Federation, clients: int, rounds: int
    ) -> list[Run]:
        """Return the runs after more rounds; a single run stays in this process.

        Raises:
            RuntimeError: a worker has ended, and the executor does not replace it.
        """
        n = min(self._number, len(runs))
        if len(runs) == 1:
            return play_here(runs, model, fed, clients, rounds)
        bare = [replace(run, history=()) for run in runs]
        chunks = [bare[len(runs) * i // n : len(runs) * (i + 1) // n] for i in range(n)]
        tasks = [(_pickled("search", chunk), rounds) for chunk in chunks]
        try:
            found = self._results(tasks, None if self._sent else self._needs)
            # workers that have started since have no data yet
            lacking = [task for task, got in zip(tasks, found, strict=True) if got is None]
            more = iter(self._results(lacking, self._needs))
        except BrokenExecutor as error:
            why = "a worker has ended before its rounds; repeat the call with a new executor"
            raise RuntimeError(f"{why} ({error})") from error
        self._sent = True
        after = [run for got in found for run in _unpickled(next(more) if got is None else got)]
        return [
            replace(new, history=old.history + new.history)
            for old, new in zip(runs, after, strict=True)
        ]

    def _results(self, tasks: Sequence[tuple[bytes, int]], needs: bytes | None) -> list[Any]:
        return list(self._executor.map(partial(_play, self._token, needs), tasks))


def _play(token: str, needs: bytes | None, task: tuple[bytes, int]) -> bytes | None:
    """Play rounds on one thread of a worker; return None if it lacks the model and the data.

    The runs are bytes, because PyTorch's tensors would stay in the worker's shared memory.
    """
    kept = _KEPT.get(token)
    if kept is None:
        if needs is None:
            return None
        kept = _unpickled(needs)
        _KEPT.clear()
        _KEPT[token] = kept
    (model, fed, clients), (runs, rounds), after = kept, task, list[Run]()

    def play(given: Sequence[Run]) -> list[Run]:
        return play_here(given, model, fed, clients, rounds)

    run_parallel(play, [_unpickled(runs)], after.extend)
    return pickle.dumps(after)


def _pickled(name: str, value: object) -> bytes:
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError, RuntimeError) as error:
        require(False, name, f"{error}", "what pickle takes, so that another process can load it")
        raise


def _unpickled(found: bytes) -> Any:
    try:
        return pickle.loads(found)
    except (AttributeError, ImportError) as error:
        allowed = "what workers can import: what a notebook or script defines goes into a module"
        require(False, "a part of the search", f"{error}", allowed)
        raise
