"""Chen et al. (2023), *FedPop*: Tables 1 to 4 and Figure 5, all tuners under one selection rule.

All tuners run in populations with equal first weights, judged by FedPop's score, eq. (5). Random
search and successive halving are FedPop without evolution; FedEx is FedEx in each of their members.
(The paper selects by test accuracy, and its FedEx by rules of its own.)

As in the authors' code the clients' hyperparameters are the seven of FedEx; mu only with FedProx.
CIFAR-10 departs as for FedEx, see `fedlab_edu.papers.fedex`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import torch

from fedlab_edu.data import Federation, digits, genres, hub, sensors
from fedlab_edu.methods import FedAvg, FedProx, Method, Scaffold
from fedlab_edu.models.model import Model
from fedlab_edu.models.networks import char_lstm, cnn_cifar, mlp
from fedlab_edu.models.resnet import resnet18
from fedlab_edu.papers import fedpop_tables as printed
from fedlab_edu.papers.experiment import Experiment, Published, Record
from fedlab_edu.papers.fedex import SETTINGS
from fedlab_edu.papers.searches import Setting, both, rates, tested
from fedlab_edu.search.arms import draw_arms
from fedlab_edu.search.space import (
    FEDEX_SHAKESPEARE,
    FEDPOP,
    FEDPOP_CROSS_SILO,
    SearchSpace,
    Spaces,
)
from fedlab_edu.tuners.fedex import around
from fedlab_edu.tuners.fedpop import FedPop, fedpop

TunerName = Literal["none", "FedEx", "FedPop-G", "FedPop-L", "FedPop"]
Target = Literal["global", "personalised"]


@dataclass(frozen=True)
class Member:
    """A tuner in random search or successive halving.

    Fields:
        target: which error is reported: of the global model, or after training on each client.
        published: data set -> numbers.
    """

    name: str
    wrapper: Literal["RS", "SHA"]
    tuner: TunerName
    target: Target
    method: Method = field(default_factory=FedAvg)
    published: Mapping[str, Published] = field(default_factory=dict)

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> FedPop:
        """Start the search."""
        spaces = setting.spaces
        if not isinstance(self.method, FedProx) and "mu" in spaces.client.distributions:
            spaces = spaces._replace(client=spaces.client.without("mu"))
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
        """Return the other's search if only its target differs, else None."""
        of = (self.wrapper, self.tuner, repr(self.method))
        same = isinstance(other, Member) and of == (other.wrapper, other.tuner, repr(other.method))
        return search if same else None

    def measure(self, search: FedPop, model: Model, fed: Federation) -> Record:
        """Return the record of a finished search: `tested`, and two counts.

        Keys:
            rounds: the communication rounds spent.
            tried: the number of configurations with which clients trained.
        """
        tried = search.tried
        if self.tuner == "FedEx":  # which may never draw some rows of its table
            rows = (torch.cat([r.row for r in run.history]) for run in search.runs)
            tried = sum(len(used.unique()) for used in rows)
        return tested(search.winner, model, fed) | {"rounds": search.used, "tried": tried}

    def error(self, record: Record) -> float:
        """Return the test error of the target, in percent."""
        return 100 * float(record[self.target])

    def is_valid(self, record: Record) -> bool:
        """Return whether the errors are rates and the counts positive."""
        counts = [record["rounds"], record["tried"]]
        ok = all(type(count) is int and count > 0 for count in counts)
        return ok and rates([record["global"], record["personalised"]])

    def describe(self, record: Record) -> str:
        """Describe both test errors and the number of configurations tried."""
        return f"{both(record)}, {record['tried']} configurations tried"


_TARGETS: tuple[Target, ...] = ("global", "personalised")
Column = tuple[Literal["RS", "SHA"], TunerName]
_RS: tuple[Column, ...] = (("RS", "none"), ("RS", "FedEx"), ("RS", "FedPop"))
_SHA: tuple[Column, ...] = (("SHA", "none"), ("SHA", "FedEx"), ("SHA", "FedPop"))
_PARTS: tuple[Column, ...] = (_RS[0], ("RS", "FedPop-G"), ("RS", "FedPop-L"), _RS[2])


def _cifar(alpha: float | None, seed: int) -> Federation:
    """Divide the training images among 500 clients, i.i.d. or by alpha, a tenth for validation."""
    by: dict[str, Any] = {"by": "iid"} if alpha is None else {"by": "label", "alpha": alpha}
    return hub("uoft-cs/cifar10", x="img", clients=500, seed=seed, **by)


def _mixed(name: str, x: str, y: str, clients: int, seed: int) -> Federation:
    """Shuffle all examples and divide them among the clients: the i.i.d. of this paper."""
    return hub(name, x=x, y=y, by="iid", clients=clients, seed=seed)


_FEMNIST = partial(_mixed, "flwrlabs/femnist", "image", "character", 3550)
_PLAYS = partial(_mixed, "flwrlabs/shakespeare", "x", "y", 1129)
_CIFAR = {
    f"cifar10-{name}": Setting(partial(_cifar, alpha), lambda: cnn_cifar(32), FEDPOP, 4000, 800)
    for name, alpha in (("iid", None), ("1", 1.0), ("0.5", 0.5))
}
_LEAF = {
    "femnist-iid": SETTINGS["paper"]["femnist"]._replace(federation=_FEMNIST),
    "femnist": SETTINGS["paper"]["femnist"],
    "shakespeare-iid": SETTINGS["paper"]["shakespeare"]._replace(federation=_PLAYS),
    "shakespeare": SETTINGS["paper"]["shakespeare"],
}


def _small(federation: Callable[..., Federation], **how: Any) -> Setting:
    """Return a data set at the book's scale."""
    model = partial(mlp, 64, 32, 10)
    return Setting(lambda seed: federation(seed=seed, **how), model, FEDPOP, 200, 40)


_DIGITS = {
    "digits": _small(digits),
    "digits-iid": _small(digits, by="iid"),
    "digits-1": _small(digits, by="label", alpha=1.0),
    "digits-0.5": _small(digits, by="label", alpha=0.5),
}


def _domains(name: str, domains: int, classes: int) -> Setting:
    """Return images of 224 x 224 pixels; all domains train in each round, and 9 members start.

    DomainNet has all its 345 classes here. The paper does not state its number of classes: the
    printed accuracies, 28 to 33 points above Office-Home's (65 classes), suggest far fewer.
    """
    return Setting(
        lambda seed: hub(name, by="domain", side=224, seed=seed),
        lambda: resnet18(classes), FEDPOP_CROSS_SILO, 1000, 200, eliminations=2, clients=domains,
    )  # fmt: skip


#: One epoch, as for Shakespeare. Windows keep the order of the plays: all seeds have the same data.
_BATCH = {"batch": FEDPOP_CROSS_SILO.client.distributions["batch"]}
_GENRES = Spaces(
    SearchSpace({**FEDEX_SHAKESPEARE.client.distributions, **_BATCH}), FEDEX_SHAKESPEARE.server
)
_SILOS = {
    "book": {
        "sensors": _small(sensors)._replace(spaces=FEDPOP_CROSS_SILO, clients=6),
        "genres": _small(genres, length=10, step=2000)._replace(
            model=lambda: char_lstm(hidden=32, depth=1), spaces=_GENRES, clients=6
        ),
    },
    "paper": {
        "pacs": _domains("flwrlabs/pacs", 4, 7),
        "office-home": _domains("flwrlabs/office-home", 4, 65),
        "domainnet": _domains("wltjr1007/DomainNet", 6, 345),
    },
}
_CIFAR_SCALES = {"book": _DIGITS, "paper": _CIFAR}


def _budgets(setting: Setting, members: int, caps: Sequence[int], cap: int) -> dict[str, Setting]:
    """Return settings with ``members`` and each of ``caps``, and with 5, 10, 15, 20 and ``cap``.

    The setting that is in both lists has the name of its cap only.
    """
    by_cap = {f"rc{R}": setting._replace(total=members * R, cap=R) for R in caps}
    others = [N for N in (5, 10, 15, 20) if members != N]
    return by_cap | {f"nc{N}": setting._replace(total=N * cap, cap=cap) for N in others}


def _experiment(
    number: str, claim: str, columns: Sequence[Column], against: Sequence[tuple[int, int]],
    settings: Mapping[str, Mapping[str, Setting]], cells: Mapping[str, tuple[str, str]],
    method: Method | None = None,
) -> Experiment:  # fmt: skip
    """Make a variant per column and target; ``against`` are pairs of places of columns."""
    how, variants = FedAvg() if method is None else method, []
    for column, (wrapper, tuner) in enumerate(columns):
        for t, target in enumerate(_TARGETS):
            published = {}
            for data, texts in cells.items():
                numbers = list(map(float, texts[t].split()))[2 * column : 2 * column + 2]
                if numbers:
                    published[data] = Published(round(100 - numbers[0], 2), numbers[1], 5)
            name = f"{wrapper}{'' if tuner == 'none' else f' + {tuner}'}, {target}"
            variants.append(Member(name, wrapper, tuner, target, how, published))
    names, k = [v.name for v in variants], len(_TARGETS)
    pairs = [(names[k * i + t], names[k * j + t]) for i, j in against for t in range(k)]
    name = f"fedpop-{number.lower().replace(' ', '').replace(',', '-')}"
    source = f"Chen et al. (2023), {number}"
    return Experiment(name, source, claim, tuple(variants), tuple(pairs), settings)


_OF_THREE = ((2, 1), (2, 0), (1, 0))
_BEST = "FedPop beats FedEx, and FedEx the search alone"
_FIGURE_5 = {
    "book": _budgets(_DIGITS["digits"], 5, (10, 20, 40, 80), 40),
    "paper": {
        f"{name}-{budget}": setting
        for name, of, members, caps, cap in (
            ("cifar10-iid", _CIFAR["cifar10-iid"], 5, (200, 400, 800, 1600), 800),
            ("femnist", _LEAF["femnist"], 10, (100, 200, 300, 400), 200),
            ("shakespeare", _LEAF["shakespeare"], 5, (200, 400, 800, 1600), 800),
        )
        for budget, setting in _budgets(of, members, caps, cap).items()
    },
}
EXPERIMENTS = (
    _experiment("Table 1", f"{_BEST}, in most cells.", (*_RS, *_SHA),
                (*_OF_THREE, (5, 4), (5, 3), (4, 3)),
                {"book": _DIGITS, "paper": {**_CIFAR, **_LEAF}}, printed.TABLE_1),
    _experiment("Table 2", f"{_BEST}, where each client is a domain.", _SHA, _OF_THREE,
                _SILOS, printed.TABLE_2),
    _experiment("Table 3", "FedPop-G and FedPop-L help alone, and most together.", _PARTS,
                ((1, 0), (2, 0), (3, 0)), _CIFAR_SCALES, printed.TABLE_3),
    _experiment("Table 4, FedProx", f"{_BEST}, with FedProx, too.", _RS, _OF_THREE,
                _CIFAR_SCALES, printed.FEDPROX, FedProx()),
    _experiment("Table 4, SCAFFOLD", f"{_BEST}, with SCAFFOLD, too.", _RS, _OF_THREE,
                _CIFAR_SCALES, printed.SCAFFOLD, Scaffold()),
    _experiment("Figure 5", "More rounds for each member help, and more members do not.", _RS,
                _OF_THREE, _FIGURE_5, {}),
)  # fmt: skip
