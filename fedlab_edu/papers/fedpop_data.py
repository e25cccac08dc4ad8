"""The workloads of Chen et al. (2023), *FedPop*: at the scale of the paper and of the book."""

from collections.abc import Callable
from functools import partial
from typing import Any

from fedlab_edu.data import Federation, digits, genres, hub, sensors
from fedlab_edu.models.model import char_lstm, cnn_cifar, mlp
from fedlab_edu.models.resnet import resnet18
from fedlab_edu.papers.fedex import SETTINGS
from fedlab_edu.papers.searches import Setting
from fedlab_edu.search.space import (
    FEDEX_SHAKESPEARE,
    FEDPOP,
    FEDPOP_CROSS_SILO,
    SearchSpace,
    Spaces,
)


def _cifar(alpha: float | None, seed: int) -> Federation:
    """Return 500 clients with 100 training images each (by alpha: on average), a tenth of them for
    validation."""
    by: dict[str, Any] = {"by": "iid"} if alpha is None else {"by": "label", "alpha": alpha}
    return hub("uoft-cs/cifar10", x="img", clients=500, seed=seed, **by)


def _mixed(name: str, x: str, y: str, clients: int, seed: int) -> Federation:
    """Shuffle all examples and share them out: what this paper calls i.i.d."""
    return hub(name, x=x, y=y, by="iid", clients=clients, seed=seed)


_FEMNIST = partial(_mixed, "flwrlabs/femnist", "image", "character", 3550)
_PLAYS = partial(_mixed, "flwrlabs/shakespeare", "x", "y", 1129)
CIFAR = {
    f"cifar10-{name}": Setting(partial(_cifar, alpha), lambda: cnn_cifar(32), FEDPOP, 4000, 800)
    for name, alpha in (("iid", None), ("1", 1.0), ("0.5", 0.5))
}
LEAF = {
    "femnist-iid": SETTINGS["paper"]["femnist"]._replace(federation=_FEMNIST),
    "femnist": SETTINGS["paper"]["femnist"],
    "shakespeare-iid": SETTINGS["paper"]["shakespeare"]._replace(federation=_PLAYS),
    "shakespeare": SETTINGS["paper"]["shakespeare"],
}


def _small(federation: Callable[..., Federation], **how: Any) -> Setting:
    """A data set at the book's scale."""
    model = partial(mlp, 64, 32, 10)
    return Setting(lambda seed: federation(seed=seed, **how), model, FEDPOP, 200, 40)


DIGITS = {
    "digits": _small(digits),
    "digits-iid": _small(digits, by="iid"),
    "digits-1": _small(digits, by="label", alpha=1.0),
    "digits-0.5": _small(digits, by="label", alpha=0.5),
}


def _domains(name: str, domains: int, classes: int) -> Setting:
    """Return a setting with images of 224 by 224 pixels, all domains in each round, and 9 members.

    DomainNet has all its 345 classes here. The printed accuracies are 28 to 33 points above those
    on the 65 classes of Office-Home, and can hardly be of 345 classes; the paper gives no number.
    """
    return Setting(
        lambda seed: hub(name, by="domain", side=224, seed=seed),
        lambda: resnet18(classes), FEDPOP_CROSS_SILO, 1000, 200, eliminations=2, clients=domains,
    )  # fmt: skip


# Genres train for one epoch, like all clients with lines of Shakespeare. Data are the same for
# every seed, because windows keep the order of the plays.
_GENRES = Spaces(
    SearchSpace(
        {
            **FEDEX_SHAKESPEARE.client.distributions,
            "batch": FEDPOP_CROSS_SILO.client.distributions["batch"],
        }
    ),
    FEDEX_SHAKESPEARE.server,
)
SILOS = {
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
