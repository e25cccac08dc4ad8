"""Spend a search's budget: with progress to be seen, and so that a crash costs a few rounds."""

import os
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import torch
from tqdm import tqdm

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import ONE_AT_A_TIME, Model
from fedlab_edu.rounds.checkpoint import fingerprint, read, write
from fedlab_edu.validate import require


@runtime_checkable
class Search(Protocol):
    """A budget that is being spent, as a value."""

    @property
    def total(self) -> int:
        """The communication rounds that may be spent, over all arms."""

    @property
    def used(self) -> int:
        """Those that have been."""

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""

    @property
    def alive(self) -> list[int]:
        """The arms that have not been eliminated."""

    @property
    def best_score(self) -> float:
        """The score of the best living arm."""

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Search":
        """The search after some more rounds, of one or several arms."""

    def to(self, device: str | torch.device) -> "Search":
        """The same search, its vectors on another device."""


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
    """The search when its budget has been spent; in a terminal a bar shows how far it is.

    Args:
        clients: B, for each round of each arm.
        path: a file for the search's state, written whole or not at all: every so many rounds, at
            the end, and when an exception or Ctrl-C stops it. If it is there already, that search
            goes on, with the same numbers as one that was never stopped (on a GPU, where the free
            memory decides what is added up together, to rounding); repeat the call that wrote it.
            A kill in the middle of writing leaves a ``.part`` file beside it, of no use to anybody.
            Without a path nothing is kept.
        every: the rounds, over all arms, after which the file is written anew.
        also: classes of your own in the search, of a tuner or a method.

    Raises:
        OSError: the file cannot be read or written.
        ValueError: the file is damaged, or of another search (its settings, seed, model, data or
            B), or the search has something in it that could not be read again; the file is left as
            it was.
    """
    require(every >= 1, "every", every, "at least 1")
    file, new = None, False
    if path is not None:
        origin = fingerprint(search, _network(model), fed.train, fed.val, clients)
        file = _File(Path(os.path.realpath(path)), origin, also)
        new = not file.path.exists()
        if not new:
            search = cast(_S, file.read(search).to(fed.train.x.device))
        if new or not search.done:  # what cannot be written is known before anything is spent
            file.write(search)
    began = saved = search.used
    bar = tqdm(total=search.total, initial=search.used, unit="round", disable=None)
    try:
        while not search.done:
            search = cast(_S, search.step(model, fed, clients))
            if not bar.disable:
                bar.set_postfix(
                    best=f"{search.best_score:.3f}", arms=len(search.alive), refresh=False
                )
            bar.update(search.used - bar.n)
            if file is not None and search.used - saved >= every:
                file.write(search)
                saved = search.used
    finally:
        bar.close()
        if file is not None and search.used != saved:
            file.write(search)
        if file is not None and new and search.used == began and not search.done:
            file.path.unlink(missing_ok=True)  # nothing is lost, and the name is free for another
    return search


class _File(NamedTuple):
    """Where a search is kept, and what it must be a search of.

    Fields:
        origin: the fingerprint of all that its numbers depend on.
        also: see `tune`.
    """

    path: Path
    origin: str
    also: tuple[type, ...]

    def read(self, like: _S) -> _S:
        allowed = "a file that `tune` has written, undamaged"
        return self._search(self.path.read_bytes(), like, allowed)

    def write(self, search: Search) -> None:
        """And not before it is known that it can be read again."""
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
    """What tells a model from others; PyTorch's global generator is left as it was."""
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        return repr(model.net()), model.forward, model.loss, model.shapes
