"""Spend a search's budget: with progress to be seen, and so that a crash costs a few rounds."""

from pathlib import Path
from typing import Protocol, TypeVar, cast, runtime_checkable

import torch
from tqdm import tqdm

from fedlab_edu import laws, space
from fedlab_edu.check import require
from fedlab_edu.checkpoint import fingerprint, read, write
from fedlab_edu.data.clients import Federation
from fedlab_edu.model import Model
from fedlab_edu.tuners.bayes import Bayes
from fedlab_edu.tuners.race import Estimate, Race
from fedlab_edu.tuners.search import Schedule

_KNOWN = [
    Race, Bayes, Estimate, Schedule, space.SearchSpace, space.Spaces,
    laws.Uniform, laws.LogUniform, laws.OneMinusLogUniform, laws.Choice,
]  # fmt: skip


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
    def living(self) -> list[int]:
        """The arms that have not been eliminated."""

    @property
    def lowest(self) -> float:
        """The score of the best living arm."""

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Search":
        """The search after some more rounds, of one or several arms."""

    def to(self, device: str | torch.device) -> "Search":
        """The same search, its vectors on another device."""


_S = TypeVar("_S", bound=Search)


def spend(
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
            Without a path nothing is kept.
        every: the rounds, over all arms, after which the file is written anew.
        also: classes of your own in the search, of a tuner or a method.

    Raises:
        OSError: the file cannot be read or written.
        ValueError: the file is damaged, or of another search (its settings, seed, model, data or
            B); it is left as it was.
    """
    require(every >= 1, "every", every, "at least 1")
    saved = search.used
    if path is not None:
        network = repr(model.net()), model.forward, model.loss, model.shapes
        origin = fingerprint(search, network, fed.train, fed.val, clients)
        if Path(path).exists():
            found = _resumed(search, Path(path), origin, also)
            search = cast(_S, found.to(fed.train.x.device))
            saved = search.used
        else:  # a path that cannot be written is known before anything is spent
            write((origin, search), path)
    bar = tqdm(total=search.total, initial=search.used, unit="round", disable=None)
    try:
        while not search.done:
            search = cast(_S, search.step(model, fed, clients))
            if not bar.disable:
                bar.set_postfix(best=f"{search.lowest:.3f}", arms=len(search.living), refresh=False)
            bar.update(search.used - bar.n)
            if path is not None and search.used - saved >= every:
                write((origin, search), path)
                saved = search.used
    finally:
        bar.close()
        if path is not None and search.used != saved:
            write((origin, search), path)
    return search


def _resumed(search: _S, path: Path, origin: str, also: tuple[type, ...]) -> _S:
    found = read(path, (*_KNOWN, *also), "`spend`", "`spend(also=...)`")
    ok = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], type(search))
    allowed = "a file that `spend` has written"
    require(ok, "path", str(path), allowed)
    assert isinstance(found, tuple)
    allowed = "a file of this search, with its settings, seed, model, data and B, or a new name"
    require(found[0] == origin, "path", str(path), allowed)
    assert isinstance(found[1], type(search))
    return found[1]
