"""FedTune's step size and local epochs, which the paper does not give; its Figures 2, 5 and 6."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from statistics import mean
from typing import Any, ClassVar

from fedlab_edu import Federation, LocalHP, Model, evaluate, fedtune, lenet5, mlp, start, train
from fedlab_edu.papers.curves import curves
from fedlab_edu.papers.experiment import Experiment, Record, experiment
from fedlab_edu.papers.fedtune import Cell, Personal, digits_images
from fedlab_edu.papers.fedtune_searches import GRID, SEARCHES, search_shared, tuner_of
from fedlab_edu.papers.report import means

ETAS, EPOCHS = (0.1, 1, 10, 100, 300), (1, 3, 5)
MARKS = (10, 30, 60, 90, 120, 150)  # rounds of a search, in `FIGURE_2`
FOLLOWED = ("FedTune", "FedTune, running mean", "random search", "Hyperband", "shared grid")
RATES = LocalHP(lr=[0.1, 0.05, 0.01, 0.005, 0.001])
_SMALL = Cell(digits_images, partial(mlp, 64, 32, 10))
_FOLLOWED = replace(_SMALL, total=MARKS[-1], final=100)


def step_name(eta: float, epochs: int) -> str:
    """Return the name of a variant of `STEPS`."""
    return f"FedTune, eta {eta:g}, epochs {epochs}"


def _steps() -> Experiment:
    """Vary FedTune's step size, and the epochs of a round in the search and after it."""
    variants, against = [], []
    for epochs in EPOCHS:
        table = LocalHP(lr=GRID.lr, weight_decay=GRID.weight_decay, epochs=epochs)
        for eta in ETAS:
            begin = partial(fedtune, table=table, lr=eta)
            variants.append(Personal(step_name(eta, epochs), begin))
        grid = partial(search_shared, table=table)
        others = (
            Personal(f"shared grid, epochs {epochs}", grid),
            Personal(f"no search, epochs {epochs}", None, table=table),
        )
        against += [(step_name(eta, epochs), o.name) for eta, o in product(ETAS, others)]
        variants += others
    budgets = {f"digits-{n}": replace(_SMALL, total=n, final=100) for n in (30, 150, 300)}
    return experiment("fedtune-steps", variants, against, {"book": budgets})


@dataclass(frozen=True)
class Traced:
    """A search whose rounds are recorded: 5 step sizes, without weight decay.

    Fields:
        eta: FedTune's step size.
    """

    target: ClassVar[str] = "rounds"
    FIELDS: ClassVar = {"likeliest", "credit", "loss"}
    name: str
    eta: float

    def run(self, cell: Cell, model: Model, fed: Federation, seed: int, state: Path) -> Record:
        """Search, and return what each round was like."""
        search, likeliest = fedtune(model, fed, RATES, cell.total, seed=seed, lr=self.eta), []
        while not search.done:
            search = search.step(model, fed)
            likeliest.append(search.final.tolist())
        credits = [[round(r, 4) for r in one.credit] for one in search.history]
        losses = [round(one.loss, 4) for one in search.history]
        return {"likeliest": likeliest, "credit": credits, "loss": losses}


def changes(record: Record, first: int, last: int) -> int:
    """Count how often a client's likeliest row changes from round ``first`` to ``last``."""
    rounds = record["likeliest"][first - 1 : last]
    return sum(a != b for both in pairwise(rounds) for a, b in zip(*both, strict=True))


def thirds(record: Record) -> dict[str, float]:
    """Return the changes of likeliest rows and 1000 times the mean credit, in two thirds."""
    total, found = len(record["likeliest"]), dict[str, float]()
    for name, a, b in (("first", 0, total // 3), ("last", 2 * (total // 3), total)):
        found[f"changes, {name} third"] = changes(record, max(a, 1), b)
        credits = [1000 * x for one in record["credit"][a:b] for x in one]
        found[f"1000 credit, {name} third"] = mean(credits)
    return found


@dataclass(frozen=True)
class Followed(Personal):
    """A search whose findings, after each of `MARKS`, are trained with and tested."""

    FIELDS: ClassVar = {"curve"}

    def run(self, cell: Cell, model: Model, fed: Federation, seed: int, state: Path) -> Record:
        """Search, and return the test errors along the way."""
        search: Any = self.begin(model, fed, total=cell.total, seed=seed)  # type: ignore[misc]
        curve, marks = [], list(MARKS)
        while not search.done:
            search = search.step(model, fed, len(fed))
            if search.used < marks[0] and not search.done:
                continue
            marks = [mark for mark in marks if mark > search.used]
            begun = start(model, fed, tuner_of(search), seed=seed)
            after = train(begun, model, fed, cell.final, len(fed), progress=False)
            curve.append([search.used, round(min(1.0, evaluate(after, model, fed).error), 4)])
        return {"curve": curve}


STEPS = _steps()
FIGURE_2 = experiment(
    "fedtune-figure2",
    (Followed(name, SEARCHES[name]) for name in FOLLOWED),
    product(FOLLOWED[:1], FOLLOWED[1:]),
    {
        "book": {
            "digits-150": _FOLLOWED,
            # other skews, as in Tables 2 and 3, and more clients, as in Tables 4 and 5
            **{f"digits-150-alpha-{a:g}": replace(_FOLLOWED, alpha=a) for a in (0.05, 1, 5)},
            "digits-150-clients-30": replace(_FOLLOWED, clients=30),
            "digits-150-lenet": replace(_FOLLOWED, alpha=1, model=partial(lenet5, 8)),  # Table 2
        }
    },
    curves,
)
FIGURE_5 = experiment(
    "fedtune-figure5",
    (Traced(f"eta {eta:g}", eta) for eta in (1, 10, 100)),
    (),
    {"book": {"digits-3": replace(_SMALL, total=300, clients=3, final=0)}},
    partial(means, thirds, "Changes of likeliest rows"),
)
FIGURES = (STEPS, FIGURE_2, FIGURE_5)
