"""FedTune, Tables 1 to 5: a configuration for each client, by budget, label skew, and clients.

The paper does not specify the server's validation data, local training, Hyperband or Bayesian
optimisation. Here each client's data are split 60 / 20 / 20 %; the server validates on all clients'
20 % and tests on the last 20 % (paper: the data set's test part); clients train for one epoch with
batches of 32; and the baselines choose by the averaged model's loss on the server's data.

FedTune starts each joint configuration from the same weights w0, and here the arms of the baselines
start from w0 as well. In the variants with own weights, each arm draws its own. With a budget of
30, an arm of random search has one round. On the digits its loss then varies with the initial
weights by a standard deviation of about 0.01, more than the effect of weight decay in that round,
so such a baseline's choice of weight decay is random.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from fedlab_edu import LocalHP, Model, evaluate, lenet5, mlp, start, tune
from fedlab_edu.data import Federation, digit_images, dirichlet, federate
from fedlab_edu.papers.experiment import (
    Experiment,
    Load,
    Record,
    Trial,
    Workload,
    bundled,
    experiment,
    on_hub,
    published,
)
from fedlab_edu.papers.fedtune_searches import GRID, RIVALS, SEARCHES, Begin, tuner_of
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.race import alone
from fedlab_edu.seeds import generator


@dataclass(frozen=True)
class Cell(Workload):
    """A data set with a budget.

    Fields:
        images: loads all images and labels, the same for each seed.
        total: communication rounds of the search.
        final: communication rounds of the training that follows.
        alpha: of the Dirichlet distribution that divides each class among the clients.
        without: names of variants that take too long here.
    """

    STORED = ("total", "alpha", "clients", "final")
    images: Load
    model: Callable[[], Model]
    total: int = 30
    alpha: float = 0.1
    clients: int = 10
    final: int = 400
    without: tuple[str, ...] = ()

    def fits(self, variant: "Personal") -> bool:
        return variant.name not in self.without

    @property
    def summary(self) -> str:
        final = f", {self.final} to train with what was found" if self.final else ""
        rounds = f"{self.total} rounds to search{final}"
        return f"{self.clients} clients, Dirichlet({self.alpha:g}); {rounds}."

    def federation(self, seed: int, data: str | None = None) -> Federation:
        """Divide the data among the clients."""
        (x, y), gen = self.images(seed, data), generator(seed)
        rows = dirichlet(y, self.clients, self.alpha, gen)
        return federate(x, y, rows, 10, (0.6, 0.2, 0.2), gen)

    def trials(self, seed: int, place: torch.device, data: str | None) -> Trial:
        model, fed = self.model(), self.federation(seed, data).to(place)
        return lambda variants, state: (v.run(self, model, fed, seed, state) for v in variants)


@dataclass(frozen=True)
class Personal:
    """A way to find a row of the grid for each client.

    Fields:
        begin: starts the search; None for the table's first row without a search.
        table: the grid, or with other epochs.
    """

    target: ClassVar[str] = "global"
    FIELDS: ClassVar = {"error", "rounds", "lr", "weight_decay"}
    name: str
    begin: Begin | None
    table: LocalHP = field(default=GRID, compare=False, repr=False)

    def search(
        self, cell: Cell, model: Model, fed: Federation, seed: int, path: Path
    ) -> tuple[Tuner, int]:
        """Finish the search, with its state in a file; return the tuner and the rounds spent."""
        if self.begin is None:
            return Fixed(self.table[0]), 0
        begun = self.begin(model, fed, total=cell.total, seed=seed)
        done = tune(begun, model, fed, len(fed), path=path)
        return tuner_of(done), done.used

    def run(self, cell: Cell, model: Model, fed: Federation, seed: int, state: Path) -> Record:
        """Search, train with the result, and test.

        Until the test the training is in a file beside the search's that ends in ``.run``.
        """
        path = state.with_suffix(".run")
        tuner, used = self.search(cell, model, fed, seed, state)
        training = alone(start(model, fed, tuner, seed=seed), cell.final)
        trained = tune(training, model, fed, len(fed), path=path).winner
        c = tuner.final.each(len(fed))
        record = {
            "error": min(1.0, evaluate(trained, model, fed).error),
            "rounds": used,
            "lr": [round(x, 6) for x in c.lr.tolist()],
            "weight_decay": [round(x, 6) for x in c.weight_decay.tolist()],
        }
        path.unlink(missing_ok=True)
        return record

    def error(self, record: Record) -> float:
        """Return the test error in percent."""
        return 100 * float(record["error"])


def _images(name: str, column: str = "image", **how: Any) -> Load:
    load = on_hub(name, x=column, clients=1, shuffle=False, **how)

    def of(seed: int, data: str | None = None) -> tuple[Tensor, Tensor]:
        every = load(seed, data).train
        return every.x, every.y

    return of


def _grey(load: Load, most: int) -> Load:
    """Take the first images, and replace their colours by the mean."""

    def of(seed: int, data: str | None = None) -> tuple[Tensor, Tensor]:
        x, y = (part[:most] for part in load(seed, data))
        return x.float().mean(1, keepdim=True).to(x.dtype), y

    return of


digits_images = bundled(lambda seed: digit_images()[:2])
_HUB = {
    "cifar10": _images("uoft-cs/cifar10", "img"),
    "fmnist": _images("zalando-datasets/fashion_mnist"),
    "mnist": _images("ylecun/mnist"),
}


def _table(
    number: int, column: str, model: str, book: tuple[Any, ...], searches: Sequence[str] = RIVALS,
    **more: dict[str, Cell],
) -> Experiment:  # fmt: skip
    """Make a table: a cell per data set and value of a field; ``book`` lists the small ones.

    Args:
        model: of the data sets whose name in the table does not say it.
        searches: names of the searches to compare.
        more: cells that the paper does not have: scale -> data set -> cell.
    """
    name = f"fedtune-table{number}"
    network = partial(lenet5, 8) if model == "lenet" else partial(mlp, 64, 32, 10)
    small = Cell(digits_images, network, final=100)
    digits = {f"digits-{value:g}": replace(small, **{column: value}) for value in book}
    for key, cell in digits.items():
        if cell.clients > 10:  # the Gaussian process has two dimensions a client
            digits[key] = replace(cell, without=("Bayesian optimisation",))
    paper = {}
    for key in published(name)["FedTune"]:  # such as cifar10-lenet-30
        data, *own, text = key.split("-")
        side, channels = (32, 3) if data == "cifar10" else (28, 1)
        make = partial(lenet5, side, channels)
        if (own or [model]) == ["mlp"]:
            make = partial(mlp, channels * side * side, 128, 10)
        paper[key] = replace(Cell(_HUB[data], make), **{column: json.loads(text)})
    variants = (Personal(v, SEARCHES[v]) for v in searches)
    against = product(searches[:1], searches[1:])
    return experiment(name, variants, against, {"book": digits, **more, "paper": paper})


_EVERY = tuple(SEARCHES)  # with our options, in the two tables that chapter 7 takes apart
_CLIENTS = (30, 50, 70, 90)  # 10 are in Table 1
#: As mnist-0.1, with images of the same size that are harder to tell apart.
_GREY = Cell(
    _grey(_images("uoft-cs/cifar10", "img", side=28), 5_000),
    partial(mlp, 784, 128, 10), final=200, without=_EVERY[len(RIVALS) :],
)  # fmt: skip
BUDGETS = _table(1, "total", "", (30, 150, 300), _EVERY)
SKEWS = {
    2: _table(2, "alpha", "lenet", (0.05, 0.5, 1, 5)),
    3: _table(
        3, "alpha", "mlp", (0.05, 0.1, 0.5, 1, 5), _EVERY, middle={"cifar10-grey-0.1": _GREY}
    ),
}
CLIENTS = {n: _table(n, "clients", model, _CLIENTS) for n, model in ((4, "lenet"), (5, "mlp"))}
TABLES_1_TO_5 = (BUDGETS, *SKEWS.values(), *CLIENTS.values())
