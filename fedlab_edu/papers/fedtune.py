"""FedTune, Tables 1 to 5: a configuration for each client, by budget, label skew, and clients.

The paper leaves open what its server validates on, how clients train, and how Hyperband and
Bayesian optimisation are set up. Here each client's data are divided into 60 / 20 / 20 %, the
server has the 20 % for validation of all, tests are on the last 20 % of all (theirs: the data set's
test part), clients train for one epoch with batches of 32, and the baselines choose by the loss of
the averaged model on the server's data.

Each arm of a baseline has first weights of its own, while FedTune begins each joint configuration
with the same ones. With a budget of 30 an arm of random search has one round. On the digits the
loss that it is judged by then varies with the first weights, by a standard deviation of about 0.01,
more than all that weight decay does in that round: which weight decay such a baseline chooses is a
lottery.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from fedlab_edu.data import Federation, dirichlet, federate
from fedlab_edu.models.model import Model, mlp
from fedlab_edu.papers.experiment import Experiment, Published, Record, Trial
from fedlab_edu.papers.fedtune_data import HUB, MODELS, digit_data
from fedlab_edu.papers.fedtune_searches import GRID, OURS, THEIRS, Find
from fedlab_edu.papers.fedtune_tables import TABLES
from fedlab_edu.papers.searches import rates
from fedlab_edu.rounds.checkpoint import fingerprint, load_run, save_run
from fedlab_edu.rounds.communicate import train
from fedlab_edu.rounds.objectives import evaluate
from fedlab_edu.rounds.run import Run, start
from fedlab_edu.seeds import generator
from fedlab_edu.validate import require

PIECE = 50  # rounds of the final training between two writes of its file


class Cell(NamedTuple):
    """A data set with a budget.

    Fields:
        images: all images and labels, from a folder or, for None, from their source.
        total: communication rounds of the search.
        final: communication rounds of the training with its result.
        alpha: of the Dirichlet draw that divides each class among the clients.
    """

    images: Callable[[str | None], tuple[Tensor, Tensor]]
    model: Callable[[], Model]
    total: int = 30
    alpha: float = 0.1
    clients: int = 10
    final: int = 400

    @property
    def budget(self) -> Record:
        """The settings that a record notes."""
        names = ("total", "alpha", "clients", "final")
        return {name: getattr(self, name) for name in names}

    @property
    def summary(self) -> str:
        """A line on rounds and clients."""
        return (
            f"{self.clients} clients, Dirichlet({self.alpha:g}); {self.total} rounds to search,"
            f" {self.final} to train with what was found."
        )

    def fits(self, variant: "Personal") -> bool:
        """Return True: every variant runs on it."""
        return True

    def federation(self, seed: int, data: str | None = None) -> Federation:
        """Return the data, divided among clients."""
        (x, y), gen = self.images(data), generator(seed)
        rows = dirichlet(y, self.clients, self.alpha, gen)
        return federate(x, y, rows, 10, (0.6, 0.2, 0.2), gen)

    def trials(self, place: torch.device, data: str | None) -> Trial:
        """Return the trial of a variant: search, train with the result, test.

        Until the test, the training is stored beside the search in a file that ends in ``.run``.
        """
        model = self.model()

        @lru_cache(maxsize=1)
        def federation(seed: int) -> Federation:
            return self.federation(seed, data).to(place)

        def run(variant: Personal, seed: int, state: Path, later: Sequence[Any]) -> Record:
            fed, kept = federation(seed), state.with_suffix(".run")
            tuner, used = variant.search(self, model, fed, seed, state)
            begun = start(model, fed, tuner, seed=seed)
            trained = _trained(begun, model, fed, self.final, kept)
            c = tuner.final.each(len(fed))
            record = {
                "error": min(1.0, evaluate(trained, model, fed).error),
                "rounds": used,
                "lr": [round(x, 6) for x in c.lr.tolist()],
                "weight_decay": [round(x, 6) for x in c.weight_decay.tolist()],
            }
            kept.unlink(missing_ok=True)
            return record

        return run


def _trained(begun: Run, model: Model, fed: Federation, rounds: int, path: Path) -> Run:
    """Train a run with all clients, and store it in a file every `PIECE` rounds."""
    run = begun
    if path.exists():
        run = load_run(path).to(begun.w.device)
        ours, its = (fingerprint(one.tuner, one.seed, one.method, one.b) for one in (begun, run))
        allowed = "the file of this training, or none: delete it to train from the start"
        require(ours == its and run.round <= rounds, "path", str(path), allowed)
    while run.round < rounds:
        run = train(run, model, fed, min(PIECE, rounds - run.round), len(fed))
        save_run(run, path)
    return run


@dataclass(frozen=True)
class Personal:
    """A way to find each client a row of the grid.

    Fields:
        search: returns the tuner found, and the rounds spent.
        published: data set -> numbers.
    """

    target: ClassVar[str] = "global"
    name: str
    search: Find
    published: Mapping[str, Published] = field(default_factory=dict)

    def error(self, record: Record) -> float:
        """The test error in percent."""
        return 100 * float(record["error"])

    def is_valid(self, record: Record) -> bool:
        """Whether its error is a rate, its rounds are a number, and its settings are the grid's."""
        grid, found = (
            {(round(lr, 6), round(decay, 6)) for lr, decay in zip(*columns, strict=True)}
            for columns in (
                (GRID.lr.tolist(), GRID.weight_decay.tolist()),
                (record["lr"], record["weight_decay"]),
            )
        )
        ok = type(record["rounds"]) is int and record["rounds"] >= 0
        return ok and rates([record["error"]]) and found <= grid and len(found) > 0

    def describe(self, record: Record) -> str:
        """The test error."""
        return f"test error {record['error']:.1%} after {record['rounds']} rounds of search"


_COLUMNS: dict[str, tuple[float, ...]] = {
    "total": tuple(range(30, 301, 30)),
    "alpha": (0.05, 0.1, 0.5, 1, 5),
    "clients": (10, 30, 50, 70, 90),
}


def _table(
    number: int, column: str, models: tuple[str, ...], claim: str, book: tuple[float, ...] = ()
) -> Experiment:
    """A table of the paper, which has a cell of each data set and value of one of the `Cell`'s
    fields; the book's scale has only some of the values."""
    settings: dict[str, dict[str, Cell]] = {"book": {}, "paper": {}}
    small = Cell(digit_data, lambda: mlp(64, 32, 10), final=100)
    for value in book:
        settings["book"][f"digits-{value:g}"] = small._replace(**{column: value})  # type: ignore[arg-type]
    cells: dict[str, dict[str, Published]] = {name: {} for name in THEIRS}
    for (row, algorithm), text in TABLES[number].items():
        data, _, model = row.partition("-")
        make = MODELS[data if data == "cifar10" else "grey", model or models[0]]
        numbers = list(map(float, text.split()))
        each = zip(_COLUMNS[column], numbers[::2], numbers[1::2], strict=True)
        for value, accuracy, sd in each:
            key = f"{row}-{value:g}"
            settings["paper"][key] = Cell(HUB[data], make)._replace(**{column: value})  # type: ignore[arg-type]
            cells[algorithm][key] = Published(round(100 - accuracy, 2), sd, 30)
    variants = [Personal(name, find, cells[key]) for key, (name, find) in THEIRS.items()]
    variants += [Personal(name, find) for name, find in OURS.items()]
    return Experiment(
        f"fedtune-table{number}", f"FedTune, Table {number}", claim, tuple(variants),
        tuple(("FedTune", other.name) for other in variants[1:]),
        {scale: of for scale, of in settings.items() if of},
    )  # fmt: skip


_MOST = "FedTune finds the best settings"
BUDGETS = _table(1, "total", ("lenet", "mlp"), f"{_MOST} at every budget.", (30, 150, 300))
SKEWS = {
    2: _table(2, "alpha", ("lenet",), f"{_MOST}, by most where labels are skewed."),
    3: _table(3, "alpha", ("mlp",), f"{_MOST}, by most where labels are skewed.",
              (0.05, 0.1, 0.5, 1, 5)),
}  # fmt: skip
CLIENTS = {
    4: _table(4, "clients", ("lenet",), f"{_MOST} for any number of clients."),
    5: _table(5, "clients", ("mlp",), f"{_MOST} for any number of clients.", (10, 30)),
}
TABLES_1_TO_5 = (BUDGETS, *SKEWS.values(), *CLIENTS.values())
