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
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from fedlab_edu.data import Federation, digit_images, dirichlet, federate, hub
from fedlab_edu.models.model import Model, lenet5, mlp
from fedlab_edu.papers.experiment import Experiment, Published, Record, Trial
from fedlab_edu.papers.fedtune_tables import TABLES
from fedlab_edu.papers.searches import rates
from fedlab_edu.rounds.checkpoint import fingerprint, load_run, save_run
from fedlab_edu.rounds.communicate import train
from fedlab_edu.rounds.objectives import evaluate
from fedlab_edu.rounds.run import Run, start
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.arms import share_configuration
from fedlab_edu.search.baselines import hyperband, random_search
from fedlab_edu.search.bayes import Bayes, bayesian_search
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race, race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import FEDTUNE, PerClient
from fedlab_edu.search.tune import tune
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedtune import fedtune
from fedlab_edu.validate import require

GRID = FEDTUNE.client.grid()
GROUPS = 30  # of configurations that random search and Bayesian optimisation try
PIECE = 50  # rounds of the final training from one time that it is kept to the next
_JUDGED = Estimate("averaged", "loss")


class Cell(NamedTuple):
    """A data set with a budget.

    Fields:
        images: from a folder, or None for where they come from, all of them and their labels.
        total: communication rounds of the search.
        final: those of the training with what it has found.
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
        """What a record notes of it."""
        names = ("total", "alpha", "clients", "final")
        return {name: getattr(self, name) for name in names}

    @property
    def summary(self) -> str:
        """The rounds and the clients."""
        return (
            f"{self.clients} clients, Dirichlet({self.alpha:g}); {self.total} rounds to search,"
            f" {self.final} to train with what was found."
        )

    def fits(self, variant: "Personal") -> bool:
        """All do."""
        return True

    def federation(self, seed: int, data: str | None = None) -> Federation:
        """The data, divided by a seed."""
        (x, y), gen = self.images(data), generator(seed)
        rows = dirichlet(y, self.clients, self.alpha, gen)
        return federate(x, y, rows, 10, (0.6, 0.2, 0.2), gen)

    def trials(self, place: torch.device, data: str | None) -> Trial:
        """Each searches, then trains with what it has found, then tests.

        The training is kept beside the search, in a file that ends in ``.run``, until the test.
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
    """A run after so many rounds of all clients, kept in a file from piece to piece."""
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
        search: what it finds, and the rounds that it has spent.
        published: data set -> numbers.
    """

    target: ClassVar[str] = "global"
    name: str
    search: "Find"
    published: Mapping[str, Published] = field(default_factory=dict)

    def error(self, record: Record) -> float:
        """The test error in percent."""
        return 100 * float(record["error"])

    def sound(self, record: Record) -> bool:
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

    def shown(self, record: Record) -> str:
        """The test error."""
        return f"test error {record['error']:.1%} after {record['rounds']} rounds of search"


Find = Callable[[Cell, Model, Federation, int, Path], tuple[Tuner, int]]


def _differentiable(
    cell: Cell, model: Model, fed: Federation, seed: int, state: Path, **how: Any
) -> tuple[Tuner, int]:
    begun = fedtune(model, fed, GRID, cell.total, seed=seed, **how)
    done = tune(begun, model, fed, path=state)
    return done.final_run().tuner, done.used


def _joint(
    search: Callable[..., Any], part: int, cell: Cell, model: Model, fed: Federation, seed: int,
    state: Path,
) -> tuple[Tuner, int]:  # fmt: skip
    """A search for a row for each client; an arm has at most one of so many parts of the rounds."""
    spaces = PerClient(FEDTUNE.client, len(fed))
    how = {"seed": seed, "estimate": _JUDGED}
    begun = search(model, fed, spaces, cell.total, cell.total // part, **how)
    return _spent(begun, model, fed, state)


def _grid(cell: Cell, model: Model, fed: Federation, seed: int, state: Path) -> tuple[Tuner, int]:
    """Each row for all clients alike; the 30 rows are as many as the groups of random search."""
    one = bracket((cell.total // GROUPS,), len(GRID), 2)
    begun = race(model, fed, share_configuration(GRID), [one], seed=seed, estimate=_JUDGED)
    return _spent(begun, model, fed, state)


def _spent(begun: Race | Bayes, model: Model, fed: Federation, state: Path) -> tuple[Tuner, int]:
    done = tune(begun, model, fed, len(fed), path=state)
    return done.winner.tuner, done.used


def _none(cell: Cell, model: Model, fed: Federation, seed: int, state: Path) -> tuple[Tuner, int]:
    return Fixed(GRID[0]), 0


_OURS: Mapping[str, Find] = {
    "FedTune, running mean": partial(_differentiable, credit_baseline="running_mean"),
    "FedTune, REINFORCE": partial(_differentiable, credit="reinforce"),
    "FedTune, shared buffer": partial(_differentiable, buffer="shared"),
    "shared grid": _grid,
    "no search, the first row": _none,
}
_THEIRS: Mapping[str, tuple[str, Find]] = {  # by their names in `TABLES`
    "FedTune": ("FedTune", _differentiable),
    "RS": ("random search", partial(_joint, random_search, GROUPS)),
    "HB": ("Hyperband", partial(_joint, hyperband, 10)),
    "BO": ("Bayesian optimisation", partial(_joint, bayesian_search, GROUPS)),
}


@lru_cache(maxsize=1)  # the same for each seed, and large
def _images(name: str, column: str, data: str | None) -> tuple[Tensor, Tensor]:
    ok = data is None or Path(data).is_dir()
    require(ok, "data", data, "a folder that holds the data set")
    every = hub(name if data is None else data, x=column, clients=1, shuffle=False).train
    return every.x, every.y


def _digits(data: str | None) -> tuple[Tensor, Tensor]:
    require(data is None, "data", data, "none: the digits come with a package")
    x, y, _ = digit_images()
    return x, y


_MODELS = {
    ("cifar10", "lenet"): lambda: lenet5(32, 3),
    ("cifar10", "mlp"): lambda: mlp(3 * 32 * 32, 128, 10),
    ("grey", "lenet"): lambda: lenet5(28, 1),
    ("grey", "mlp"): lambda: mlp(28 * 28, 128, 10),
}
_HUB = {
    "cifar10": partial(_images, "uoft-cs/cifar10", "img"),
    "fmnist": partial(_images, "zalando-datasets/fashion_mnist", "image"),
    "mnist": partial(_images, "ylecun/mnist", "image"),
}
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
    small = Cell(_digits, lambda: mlp(64, 32, 10), final=100)
    for value in book:
        settings["book"][f"digits-{value:g}"] = small._replace(**{column: value})  # type: ignore[arg-type]
    cells: dict[str, dict[str, Published]] = {name: {} for name in _THEIRS}
    for (row, algorithm), text in TABLES[number].items():
        data, _, model = row.partition("-")
        make = _MODELS[data if data == "cifar10" else "grey", model or models[0]]
        numbers = list(map(float, text.split()))
        each = zip(_COLUMNS[column], numbers[::2], numbers[1::2], strict=True)
        for value, accuracy, sd in each:
            key = f"{row}-{value:g}"
            settings["paper"][key] = Cell(_HUB[data], make)._replace(**{column: value})  # type: ignore[arg-type]
            cells[algorithm][key] = Published(round(100 - accuracy, 2), sd, 30)
    variants = [Personal(name, find, cells[key]) for key, (name, find) in _THEIRS.items()]
    variants += [Personal(name, find) for name, find in _OURS.items()]
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
