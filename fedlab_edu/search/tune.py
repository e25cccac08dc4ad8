"""The driver of all searches: it shows progress, and resumes after a crash."""

import os
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import ONE_AT_A_TIME, Model
from fedlab_edu.progress import progress_bar
from fedlab_edu.rounds.checkpoint import fingerprint, read, write
from fedlab_edu.rounds.run import check_types
from fedlab_edu.validate import require, whole


@runtime_checkable
class Search(Protocol):
    """A search as a value: what the driver needs to know of it."""

    @property
    def total(self) -> int:
        """The communication rounds of the whole search, over all arms."""

    @property
    def used(self) -> int:
        """The communication rounds so far."""

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""

    @property
    def best_score(self) -> float:
        """The best score so far; lower is better."""

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Search":
        """Return the search after some more rounds, of one or several arms."""

    def to(self, device: str | torch.device) -> "Search":
        """Return the same search, with its vectors on another device."""


_S = TypeVar("_S", bound=Search)


def tune(
    search: _S,
    model: Model,
    fed: Federation,
    clients: int = 10,
    *,
    path: str | Path | None = None,
    every: int = 100,
    also: tuple[type, ...] = (),
) -> _S:
    """Run a search to its end, and return it; a bar shows progress, see `progress_bar`.

    Args:
        clients: B, for each round of each arm.
        path: a file for the state of the search, written whole or not at all: regularly, at the
            end, and when an exception or Ctrl-C stops the search. To resume, repeat the call: the
            numbers are those of a search that was never stopped (on a GPU, up to rounding, because
            free memory decides what is added up together). A kill while writing may leave a
            ``.part`` file, which can be deleted. Without a path nothing is stored.
        every: the file is written after this number of rounds, over all arms.
        also: your own classes of tuners or methods in the search.

    Raises:
        OSError: the file cannot be read or written.
        ValueError: the file is damaged, or of another search (its settings, seed, model, data or
            B), or the search holds something that a file cannot; the file is left as it was.
    """
    check_types(model, fed)
    ok = isinstance(search, Search) and not isinstance(search, type)
    require(ok, "search", type(search).__name__, "a search, such as random_search(...)")
    clients, every = whole("clients", clients, 1), whole("every", every, 1)
    file, new = None, False
    if path is not None:
        origin = fingerprint(search, _network(model), fed.train, fed.val, clients)
        file = _File(Path(os.path.realpath(path)), origin, also)
        new = not file.path.exists()
        if not new:
            search = cast(_S, file.read(search).to(fed.train.x.device))
        if new or not search.done:  # refuse now what cannot be stored
            file.write(search)
    began = saved = search.used
    bar = progress_bar(total=search.total, initial=search.used, unit="round")
    try:
        while not search.done:
            search = cast(_S, search.step(model, fed, clients))
            if not bar.disable:
                bar.set_postfix(best=f"{search.best_score:.3f}", refresh=False)
            bar.update(search.used - bar.n)
            if file is not None and search.used - saved >= every:
                file.write(search)
                saved = search.used
    finally:
        bar.close()
        if file is not None and search.used != saved:
            file.write(search)
        if file is not None and new and search.used == began and not search.done:
            file.path.unlink(missing_ok=True)  # no round was trained: leave the name free
    return search


class _File(NamedTuple):
    """The file of a search. ``origin`` is the fingerprint of all that its numbers depend on."""

    path: Path
    origin: str
    also: tuple[type, ...]

    def read(self, like: _S) -> _S:
        allowed = "a file that `tune` has written, undamaged"
        return self._search(self.path.read_bytes(), like, allowed)

    def write(self, search: Search) -> None:
        """Write the search, if it can be read again."""
        allowed = "the file of a search that can be read again"
        write((self.origin, search), self.path, lambda whole: self._search(whole, search, allowed))

    def _search(self, whole: bytes, like: _S, allowed: str) -> _S:
        found = read(whole, self.path, self.also, allowed, "`tune(also=...)`")
        ok = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], type(like))
        require(ok, "path", str(self.path), "a file that `tune` has written")
        assert isinstance(found, tuple)
        allowed = (
            "a file of this search, with its settings, seed, model (of a network of your own its "
            "first weights, too: seed PyTorch before you make it), data and B, or a new name"
        )
        require(found[0] == self.origin, "path", str(self.path), allowed)
        assert isinstance(found[1], type(like))
        return found[1]


def _network(model: Model) -> tuple[object, ...]:
    """Return what distinguishes a model; leave PyTorch's global generator as it was."""
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        return repr(model.net()), model.forward, model.loss, model.shapes
