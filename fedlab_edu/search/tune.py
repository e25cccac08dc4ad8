"""The driver of all searches: it shows progress, and resumes after a crash."""

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from inspect import signature
from math import inf
from operator import eq
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, NamedTuple, TypeVar, cast

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.progress import progress_bar
from fedlab_edu.rounds.checkpoint import as_path, read, write
from fedlab_edu.rounds.communicate import StopTraining
from fedlab_edu.rounds.identity import differences, identity
from fedlab_edu.rounds.run import check_types
from fedlab_edu.search.race import Search
from fedlab_edu.search.workers import Workers
from fedlab_edu.training.threads import plain_mode
from fedlab_edu.validate import require, whole

_S = TypeVar("_S", bound=Search)


def tune(
    search: _S, model: Model, fed: Federation, clients: int = 10, *, path: str | Path | None = None,
    every: int = 100, also: tuple[type, ...] = (), callback: Callable[[_S], object] | None = None,
    executor: Executor | None = None, workers: int | None = None,
) -> _S:  # fmt: skip
    """Run a search to its end, and return it; a bar shows progress, see `progress_bar`.

    It warns at the end if all arms have diverged, or the best is worse than its initial weights.

    Args:
        clients: B, for each round of each arm.
        path: a file for the state of the search, from which the same call resumes it. The numbers
            are those of a search that was never stopped (on a GPU, up to rounding). A larger total
            extends random and Bayesian search, Hyperband and FedTune, see `Race.extend`. The file
            is written whole or not at all: before the first step, regularly, at the end, and when
            an exception, Ctrl-C or SIGTERM stops the search. (SIGTERM then ends the process by
            ``SystemExit(143)``, if the call is in the main thread and no other handler is set. A
            kill while writing may leave a ``.part`` file, which can be deleted.)
        every: the file is written after this number of rounds, over all arms.
        also: your own classes in the file: of tuners, methods, or the search itself.
        callback: called with the search after each step, to log or to stop: if it raises
            `StopTraining`, the search so far is returned; other exceptions propagate.
        executor: trains the arms in its workers, each on one thread: a ``ProcessPoolExecutor``
            here, or Dask's ``client.get_executor(pure=False)`` on a cluster. The search is the same
            up to rounding. A step then lasts up to the next elimination, or ``every`` rounds if
            there is a path. Not for FedTune, which trains one run.
        workers: the number of workers, if the executor does not know it.

    Raises:
        OSError: the file cannot be read or written.
        ValueError: the file is damaged, or of another search, see `identity`: its settings, seed,
            network, loss, data or B; or the search or the model holds something that a file cannot.
            The file is left as it was.
        RuntimeError: a worker has ended, and the executor does not replace it; see `Workers`.
    """
    check_types(model, fed)
    ok = isinstance(search, Search) and not isinstance(search, type)
    require(ok, "search", type(search).__name__, "a search, such as random_search(...)")
    clients, every = whole("clients", clients, 1), whole("every", every, 1)
    require(callback is None or callable(callback), "callback", callback, "a function, or None")
    file, new = None, False
    if path is not None:
        origin = identity(model, fed, clients=clients, search=search)
        file = _File(Path(os.path.realpath(as_path(path))), origin, also)
        if not (new := not file.path.exists()):
            search = cast(_S, file.read(search).to(fed.train.x.device))
        if new or not search.done:  # refuse now what cannot be stored
            file.write(search)
    most = every if file else search.total
    how = _options(executor, workers, model, fed, clients, search, most)
    began = saved = search.used
    bar = progress_bar(total=search.total, initial=search.used, unit="round")
    with plain_mode(), sigterm_exits(file is not None), suppress(StopTraining):
        try:
            while not search.done:
                search = cast(_S, search.step(model, fed, clients, **how))
                if not bar.disable:
                    bar.set_postfix(best=f"{search.best_score:.3f}", refresh=False)
                bar.update(search.used - bar.n)
                if file is not None and search.used - saved >= every:
                    file.write(search)
                    saved = search.used
                if callback is not None:
                    with bar.external_write_mode():
                        callback(search)
        finally:
            bar.close()
            if file is not None and search.used != saved:
                file.write(search)
            if file is not None and new and search.used == began and not search.done:
                file.path.unlink(missing_ok=True)  # no round was trained: leave the name free
    found = search.done and getattr(search, "warning", None)
    if search.done and not found and search.best_score == inf:
        found = "no arm has a finite score"
    if found:
        warnings.warn(f"{found}; try lower learning rates", stacklevel=2)
    return search


def _options(
    executor: Executor | None, workers: int | None, model: Model, fed: Federation, clients: int,
    search: Any, most: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the arguments with which a search plays its rounds in the workers of an executor."""
    if executor is None:
        require(workers is None, "workers", workers, "None without an executor")
        return {}
    allowed = f"None: a {type(search).__name__} search trains one run"
    require("play" in signature(search.step).parameters, "executor", executor, allowed)
    return {"play": Workers(executor, workers, model, fed, clients).play, "most": most}


@contextmanager
def sigterm_exits(wanted: bool) -> Iterator[None]:
    """Turn SIGTERM into an exception, unless the program has a handler of its own."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    ours = wanted and current_thread() is main_thread()
    ours = ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        if ours and signal.getsignal(signal.SIGTERM) is leave:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _File(NamedTuple):
    """The file of a search. ``origin`` is the identity of the search when it began."""

    path: Path
    origin: dict[str, Any]
    also: tuple[type, ...]

    def read(self, like: Search) -> Search:
        """Return the search of the file, with the budget of the one that is like it."""
        theirs, found = self._content(self.path.read_bytes(), "a file that `tune` has written")
        differ = differences(theirs, self.origin)
        if not differ:
            return found
        budget = {f"search.{name}" for name in getattr(like, "budget", ())}
        if budget and all(name in budget or self._begins_with(theirs, name) for name in differ):
            return cast(Any, like).extend(found)
        why = ""
        if found.total != like.total:  # the arms are others, too
            why = f"; its total, {found.total}, has decided its earlier rounds"
            kept = [n for n in differ if not n.startswith("search.") or n == "search.type"]
            differ = ["total", *kept]
        names = dict.fromkeys(name.rpartition(".")[2] for name in differ)
        shown = ", ".join("initial weights" if name == "server" else name for name in names)
        allowed = f"a new name, or the file of this search; that search has another {shown}{why}"
        require(False, "path", str(self.path), allowed)
        return found

    def write(self, search: Search) -> None:
        """Write the search, if it can be read again."""
        allowed = "the file of a search that can be read again"
        write((self.origin, search), self.path, lambda whole: self._content(whole, allowed))

    def _content(self, whole: bytes, allowed: str) -> tuple[dict[str, Any], Search]:
        found = read(whole, self.path, self.also, f"{allowed}, undamaged", "`tune(also=...)`")
        ok = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Search)
        require(ok and isinstance(found[0], dict), "path", str(self.path), allowed)
        return found

    def _begins_with(self, theirs: dict[str, Any], name: str) -> bool:
        """Return whether one list of fingerprints only has more entries at its end."""
        one, other = theirs.get(name), self.origin.get(name)
        return isinstance(one, list) and isinstance(other, list) and all(map(eq, one, other))
