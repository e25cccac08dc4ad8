"""Photographs by domain: the part of PACS, Office-Home and DomainNet that FedPop's code takes.

Chen et al. (2023), Table 2; their `loaders_complex.py` follows FedBN (Li et al., 2021): a tenth of
the images of each domain, 10 classes of DomainNet, and 12 images of each class of Office-Home. The
choice is the same for all seeds. Which images they are differs, as it depends on the order of
files; so does the split of DomainNet, for which FedBN has lists of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedlab_edu.data import Federation, hub

Rows = np.ndarray  # of whole numbers
DOMAINNET = (
    "bird", "feather", "headphones", "ice_cream", "teapot",
    "tiger", "whale", "windmill", "wine_glass", "zebra",
)  # fmt: skip


def pacs() -> Federation:
    """Load a tenth of PACS: 4 domains, 7 classes."""
    return _photographs("flwrlabs/pacs", take_share(0.1))


def office_home() -> Federation:
    """Load 12 images of each class from each of Office-Home's 4 domains: 8 + 2 + 2, 65 classes."""
    return _photographs("flwrlabs/office-home", take_each(12), fractions=(8 / 12, 2 / 12, 2 / 12))


def domainnet() -> Federation:
    """Load a tenth of the images of ten classes from each of DomainNet's 6 domains."""
    return _photographs("wltjr1007/DomainNet", take_share(0.1, DOMAINNET))


def _photographs(name: str, take: Callable[[Any], Any], **how: Any) -> Federation:
    return hub(name, by="domain", side=224, shuffle=False, preprocessor=take, **how)


def take_share(share: float, classes: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Return a preprocessor that draws a share of each domain's images, of all or some classes."""

    def draw(rng: np.random.Generator, rows: Rows, label: Rows) -> Rows:
        return rng.permutation(rows)[: int(share * len(rows))]

    return _preprocessor(draw, classes)


def take_each(number: int) -> Callable[[Any], Any]:
    """Return a preprocessor that draws ``number`` images of each class in each domain.

    They come in rounds, one image of each class a round, so that each part of a split has equally
    many of each class.
    """

    def draw(rng: np.random.Generator, rows: Rows, label: Rows) -> Rows:
        of = [rng.permutation(rows[label[rows] == c])[:number] for c in np.unique(label)]
        return np.array([rows[i] for i in range(number) for rows in of if i < len(rows)], dtype=int)

    return _preprocessor(draw)


def _preprocessor(
    draw: Callable[[np.random.Generator, Rows, Rows], Rows], classes: Sequence[str] = ()
) -> Callable[[Any], Any]:
    """Return a preprocessor of flwr-datasets, which draws from each domain and decodes no image."""

    def preprocess(parts: Any) -> Any:
        from datasets import ClassLabel, DatasetDict

        data = parts["train"]
        names = data.features["label"].names
        number = {names.index(name): i for i, name in enumerate(classes or names)}
        columns = data.select_columns(["domain", "label"])[:]
        label = np.array([number.get(y, -1) for y in columns["label"]])
        domain, rng = np.array(columns["domain"]), np.random.default_rng(1)
        rows = [np.flatnonzero((domain == one) & (label >= 0)) for one in np.unique(domain)]
        kept = np.concatenate([draw(rng, of_domain, label) for of_domain in rows])
        chosen = data.select(kept).remove_columns("label").add_column("label", label[kept].tolist())
        labels = ClassLabel(names=list(classes or names))
        return DatasetDict(train=chosen.cast_column("label", labels))

    return preprocess
