"""Chen et al. (2023), *FedPop*: Tables 1 to 4 and Figure 5, all tuners under one selection rule.

All are members of a population that begins with the same weights and is judged by eq. (5), FedPop's
score; random search and successive halving are FedPop without evolution, and FedEx is FedEx in each
member of these. (The paper selects by test accuracy, and its FedEx by rules of its own.)

FedPop's seven hyperparameters of the clients are, as in the authors' code, those of FedEx; the mu
of FedProx is one of them only where that is the method. CIFAR-10 departs as for FedEx, see
`fedlab_edu.papers.fedex`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch

from fedlab_edu.data import Federation
from fedlab_edu.methods import FedAvg, FedProx, Method, Scaffold
from fedlab_edu.models.model import Model
from fedlab_edu.papers import fedpop_tables as printed
from fedlab_edu.papers.experiment import Experiment, Published, Record
from fedlab_edu.papers.fedpop_data import CIFAR, DIGITS, LEAF, SILOS
from fedlab_edu.papers.searches import Setting, both, rates, tested
from fedlab_edu.search.arms import draw_arms
from fedlab_edu.search.space import (
    SearchSpace,
    Spaces,
)
from fedlab_edu.tuners.fedex import around
from fedlab_edu.tuners.fedpop import FedPop, fedpop

TunerName = Literal["none", "FedEx", "FedPop-G", "FedPop-L", "FedPop"]
Target = Literal["global", "personalised"]


@dataclass(frozen=True)
class Member:
    """A tuner in a wrapper; random search eliminates no member.

    Fields:
        target: what is reported: the global model's error, or that after training on each client.
        published: data set -> numbers.
    """

    name: str
    wrapper: Literal["RS", "SHA"]
    tuner: TunerName
    target: Target
    method: Method = field(default_factory=FedAvg)
    published: Mapping[str, Published] = field(default_factory=dict)

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> FedPop:
        """The search before its first round."""
        spaces = setting.spaces
        if not isinstance(self.method, FedProx):
            distributions = {
                name: law for name, law in spaces.client.distributions.items() if name != "mu"
            }
            spaces = Spaces(SearchSpace(distributions), spaces.server)
        begun = fedpop(
            model, fed, spaces, setting.total, setting.cap, eta=setting.eta,
            eliminations=setting.eliminations if self.wrapper == "SHA" else 0,
            G=self.tuner in ("FedPop", "FedPop-G"), L=self.tuner in ("FedPop", "FedPop-L"),
            method=self.method, seed=seed,
        )  # fmt: skip
        if self.tuner != "FedEx":
            return begun
        arms = draw_arms(spaces, len(begun.runs), seed, around(spaces.client, setting.k))
        pairs = zip(begun.runs, arms, strict=True)
        return replace(begun, runs=tuple(replace(run, tuner=arm.tuner) for run, arm in pairs))

    def again(self, other: object, search: FedPop) -> FedPop | None:
        """The other's search, if it differs in its target alone."""
        of = (self.wrapper, self.tuner, repr(self.method))
        same = isinstance(other, Member) and of == (other.wrapper, other.tuner, repr(other.method))
        return search if same else None

    def measure(self, search: FedPop, model: Model, fed: Federation) -> Record:
        """Return the record of a finished search: see `tested`.

        Keys:
            rounds: the communication rounds spent.
            tried: how many vectors of hyperparameters clients have trained with.
        """
        tried = search.tried
        if self.tuner == "FedEx":  # which draws from its table; not all of it need have had a turn
            tried = sum(
                len({*torch.cat([r.row for r in run.history]).tolist()}) for run in search.runs
            )
        return tested(search.winner, model, fed) | {"rounds": search.used, "tried": tried}

    def error(self, record: Record) -> float:
        """The test error in percent of its target."""
        return 100 * float(record[self.target])

    def is_valid(self, record: Record) -> bool:
        """Whether its errors are rates, and it has spent and tried something."""
        counts = [record["rounds"], record["tried"]]
        ok = all(type(count) is int and count > 0 for count in counts)
        return ok and rates([record["global"], record["personalised"]])

    def describe(self, record: Record) -> str:
        """Both test errors, and the number of configurations tried."""
        return f"{both(record)}, {record['tried']} configurations tried"


_TARGETS: tuple[Target, ...] = ("global", "personalised")
Column = tuple[Literal["RS", "SHA"], TunerName]
_RS: tuple[Column, ...] = (("RS", "none"), ("RS", "FedEx"), ("RS", "FedPop"))
_SHA: tuple[Column, ...] = (("SHA", "none"), ("SHA", "FedEx"), ("SHA", "FedPop"))
_PARTS: tuple[Column, ...] = (
    ("RS", "none"), ("RS", "FedPop-G"), ("RS", "FedPop-L"), ("RS", "FedPop"),
)  # fmt: skip


_CIFAR_SCALES = {"book": DIGITS, "paper": CIFAR}


def _budgets(setting: Setting, members: int, caps: Sequence[int], cap: int) -> dict[str, Setting]:
    """Return settings: ``members`` with each of the caps, and 5, 10, 15, 20 members with ``cap``.

    What is both, so many members with that one cap, goes by the name of its cap alone.
    """
    by_cap = {f"rc{R}": setting._replace(total=members * R, cap=R) for R in caps}
    others = [N for N in (5, 10, 15, 20) if members != N]
    return by_cap | {f"nc{N}": setting._replace(total=N * cap, cap=cap) for N in others}


def _experiment(
    number: str,
    claim: str,
    columns: Sequence[Column],
    against: Sequence[tuple[int, int]],
    settings: Mapping[str, Mapping[str, Setting]],
    cells: Mapping[str, tuple[str, str]],
    method: Method | None = None,
) -> Experiment:
    """Return an experiment with each column for each target; ``against`` holds pairs of columns."""
    variants = []
    for column, (wrapper, tuner) in enumerate(columns):
        for t, target in enumerate(_TARGETS):
            published = {}
            for data, texts in cells.items():
                numbers = list(map(float, texts[t].split()))[2 * column : 2 * column + 2]
                if numbers:
                    published[data] = Published(round(100 - numbers[0], 2), numbers[1], 5)
            how = FedAvg() if method is None else method
            name = _name((wrapper, tuner), target)
            variants.append(Member(name, wrapper, tuner, target, how, published))
    pairs = [
        (_name(columns[one], target), _name(columns[other], target))
        for one, other in against
        for target in _TARGETS
    ]
    name = f"fedpop-{number.lower().replace(' ', '').replace(',', '-')}"
    source = f"Chen et al. (2023), {number}"
    return Experiment(name, source, claim, tuple(variants), tuple(pairs), settings)


def _name(column: Column, target: Target) -> str:
    wrapper, tuner = column
    return f"{wrapper}{'' if tuner == 'none' else f' + {tuner}'}, {target}"


_OF_THREE = ((2, 1), (2, 0), (1, 0))
_BEST = "FedPop beats FedEx, and FedEx the search alone"
EXPERIMENTS = (
    _experiment(
        "Table 1", f"{_BEST}, in most cells.", (*_RS, *_SHA),
        (*_OF_THREE, (5, 4), (5, 3), (4, 3)),
        {"book": DIGITS, "paper": {**CIFAR, **LEAF}}, printed.TABLE_1,
    ),
    _experiment(
        "Table 2", f"{_BEST}, where each client is a domain.", _SHA, _OF_THREE,
        SILOS, printed.TABLE_2,
    ),
    _experiment(
        "Table 3", "FedPop-G and FedPop-L help alone, and most together.", _PARTS,
        ((1, 0), (2, 0), (3, 0)), _CIFAR_SCALES, printed.TABLE_3,
    ),
    _experiment(
        "Table 4, FedProx", f"{_BEST}, with FedProx, too.", _RS, _OF_THREE,
        _CIFAR_SCALES, printed.FEDPROX, FedProx(),
    ),
    _experiment(
        "Table 4, SCAFFOLD", f"{_BEST}, with SCAFFOLD, too.", _RS, _OF_THREE,
        _CIFAR_SCALES, printed.SCAFFOLD, Scaffold(),
    ),
    _experiment(
        "Figure 5", "More rounds for each member help, and more members do not.", _RS, _OF_THREE,
        {
            "book": _budgets(DIGITS["digits"], 5, (10, 20, 40, 80), 40),
            "paper": {
                f"{name}-{budget}": setting
                for name, of, members, caps, cap in (
                    ("cifar10-iid", CIFAR["cifar10-iid"], 5, (200, 400, 800, 1600), 800),
                    ("femnist", LEAF["femnist"], 10, (100, 200, 300, 400), 200),
                    ("shakespeare", LEAF["shakespeare"], 5, (200, 400, 800, 1600), 800),
                )
                for budget, setting in _budgets(of, members, caps, cap).items()
            },
        },
        {},
    ),
)  # fmt: skip
