"""Photographs by domain: the part of PACS, Office-Home and DomainNet that FedPop's code takes.

Chen et al. (2023), Table 2; their `loaders_complex.py` follows FedBN (Li et al., 2021): a tenth of
the images of each domain, 10 classes of DomainNet, and 12 images of each class of Office-Home. The
choice is the same for all seeds. Which images they are differs, as it depends on the order of
files; so does the split of DomainNet, for which FedBN has lists of its own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fedlab_edu.papers.experiment import on_hub

SHARE, EACH = 0.1, 12  # of a domain's images; images of a class
CLASSES = (  # of DomainNet
    "bird", "feather", "headphones", "ice_cream", "teapot",
    "tiger", "whale", "windmill", "wine_glass", "zebra",
)  # fmt: skip
Rows = np.ndarray  # of whole numbers


def draw_share(rng: np.random.Generator, rows: Rows, label: Rows) -> Rows:
    """Draw a tenth of a domain's images."""
    return rng.permutation(rows)[: int(SHARE * len(rows))]


def draw_each(rng: np.random.Generator, rows: Rows, label: Rows) -> Rows:
    """Draw 12 images of each class in a domain.

    They come in rounds, one image of each class a round, so that each part of a split has equally
    many of each class.
    """
    of = [rng.permutation(rows[label[rows] == c])[:EACH] for c in np.unique(label)]
    return np.array([rows[i] for i in range(EACH) for rows in of if i < len(rows)], dtype=int)


def choose(parts: Any, draw: Callable[..., Rows] = draw_share, classes: Sequence[str] = ()) -> Any:
    """Draw photographs of all or some classes from each domain, without decoding an image.

    It is a preprocessor of flwr-datasets.
    """
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


_domains = partial(on_hub, by="domain", side=224, shuffle=False)
#: 4 domains, 7 classes.
PACS = _domains("flwrlabs/pacs", preprocessor=choose)
#: 4 domains, 65 classes, of each 8 + 2 + 2 images.
OFFICE_HOME = _domains(
    "flwrlabs/office-home",
    preprocessor=partial(choose, draw=draw_each),
    fractions=(8 / 12, 2 / 12, 2 / 12),
)
#: 6 domains.
DOMAINNET = _domains("wltjr1007/DomainNet", preprocessor=partial(choose, classes=CLASSES))
