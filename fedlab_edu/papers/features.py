"""Khodak et al., *Weight-Sharing Beyond NAS*: Figures 1 and 2, the selection of feature maps."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from fedlab_edu.data import digit_images, passages
from fedlab_edu.features.bags import BagOfNGrams, Corpus, bag_maps
from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import RandomFourier, fourier_maps
from fedlab_edu.features.selection import Data
from fedlab_edu.papers.experiment import bundled, experiment, folder_or
from fedlab_edu.papers.selections import Maps, Problem, Task, selections
from fedlab_edu.validate import extra, require


def _of_images(x: Any, y: Any, x_val: Any, y_val: Any) -> Problem:
    data = Data(_flat(x), y, _flat(x_val), y_val, 10)

    def maps(rng: np.random.Generator, k: int, n: int, shared: bool, device: str | None) -> Any:
        chosen = RandomFourier.draw(rng, k)
        return fourier_maps(chosen, data.x, n, rng, shared, data.x_val, device)

    return Problem(data, maps, Linear())


def _of_texts(corpus: Corpus, y: Any, train: Any, val: Any) -> Problem:
    """Make a problem; train and val are row numbers."""
    y = np.asarray(y)
    data = Data(train, y[train], val, y[val], 2)

    def maps(rng: np.random.Generator, k: int, n: int, shared: bool, device: str | None) -> Any:
        require(device is None, "device", device, "'cpu': sparse features are fitted there")
        chosen = BagOfNGrams.draw(rng, k, shared)
        return bag_maps(chosen, corpus, data.x, data.y, n, data.x_val)

    return Problem(data, maps, Linear("logistic"))


def _flat(images: Any) -> Any:
    x = np.asarray(images)
    return x.reshape(len(x), -1) / np.float64(255 if x.dtype == np.uint8 else 1)


def _digits(seed: int) -> Problem:
    x, y, _ = digit_images()
    order = np.random.default_rng(seed).permutation(len(y))[:1497]  # leaves 300 for a test
    train, val = order[:1197], order[1197:]
    return _of_images(x[train], y[train], x[val], y[val])


@cache
def _speeches() -> tuple[Corpus, list[int], list[str]]:
    """Return speeches, their labels (comedy 0, tragedy 1) and their plays."""
    said = [
        (text, label, play)
        for label, genre in enumerate(("comedies", "tragedies"))
        for play, text in passages(genre)
    ]
    texts, labels, plays = map(list, zip(*said, strict=True))
    return Corpus(texts), labels, plays


def _plays(seed: int) -> Problem:
    """Make the problem comedy or tragedy, with two plays of each genre for validation."""
    corpus, y, plays = _speeches()
    rng = np.random.default_rng(seed)
    genres = [sorted({p for p, label in zip(plays, y, strict=True) if label == g}) for g in (0, 1)]
    held = np.isin(plays, [rng.choice(genre, 2, replace=False) for genre in genres])
    return _of_texts(corpus, y, np.flatnonzero(~held), np.flatnonzero(held))


@lru_cache(1)  # the same for each seed, and large
def _cifar10(source: str | None, most: int | None = None) -> Problem:
    """Make a problem of 40,000 and 10,000 images, or of ``most`` for training and half as many."""
    table = _load("uoft-cs/cifar10", source)["train"]
    order = np.random.default_rng(0).permutation(len(table))
    train, val = _first(most, *np.split(order, [len(table) * 4 // 5]))
    image, label = ("img", "label") if "img" in table.column_names else ("image", "label")
    table = table.select(np.concatenate([train, val]))
    x = np.stack([np.asarray(one.convert("RGB")) for one in table[image]])
    y, size = np.asarray(table[label]), len(train)
    return _of_images(x[:size], y[:size], x[size:], y[size:])


@lru_cache(1)  # the same for each seed, and large
def _imdb(source: str | None, most: int | None = None) -> Problem:
    """Make a problem of 25,000 and 12,500 texts, or of ``most`` for training and half as many."""
    parts = _load("stanfordnlp/imdb", source)
    require({"train", "test"} <= {*parts}, "parts of the data", [*parts], "train and test")
    train, test = parts["train"], parts["test"]
    rng = np.random.default_rng(0)
    half = rng.permutation(len(test))[: len(test) // 2]
    if most is not None:  # a file may be sorted by label
        own, half = _first(most, rng.permutation(len(train)), half)
        train = train.select(own)
    texts = [*train["text"], *test.select(half)["text"]]
    y = [*train["label"], *test.select(half)["label"]]
    return _of_texts(Corpus(texts), y, *np.split(np.arange(len(y)), [len(train)]))


def _first(most: int | None, train: Any, val: Any) -> tuple[Any, Any]:
    """Return the first ``most`` training rows and half as many validation rows, or all."""
    return (train, val) if most is None else (train[:most], val[: most // 2])


def _load(name: str, data: str | None) -> Any:
    """Load a data set from the Hugging Face Hub, or from a folder with files of its parts."""
    source = folder_or(name, data)
    load = extra("datasets", "data").load_dataset
    try:
        return load(source)
    except (OSError, ValueError) as error:  # unknown name, no network, no data files
        message = f"{source!r} can be had neither from a folder nor from the Hugging Face Hub"
        reason = str(error).partition("\n")[0]
        raise ConnectionError(f"{message}; see --data ({reason})") from error


def _sizes(what: str, sizes: Sequence[int], own: Sequence[int], each: str) -> tuple[Maps, ...]:
    shared = tuple(Maps(f"{n:,} {what}", n, True) for n in sizes)
    return shared + tuple(Maps(f"{n:,} {what}, {each}", n, False) for n in own)


FOURIER = experiment(
    "fourier-features",
    _sizes("features", (100, 300, 1000, 2000, 10_000), (300,), "own frequencies"),
    (),
    {
        "book": {"digits": Task(bundled(_digits), most=2000)},
        "middle": {"cifar10": Task(lambda _, data: _cifar10(data, 1000))},
        "paper": {"cifar10": Task(lambda _, data: _cifar10(data))},
    },
    selections,
)
_BINS = (2**10, 2**13, 2**16, 2**20, 2**22)
BAGS = experiment(
    "ngram-bins",
    _sizes("bins", _BINS, _BINS, "own hashing"),
    (),
    {
        "book": {"shakespeare": Task(bundled(_plays), most=2**16)},
        "middle": {"imdb": Task(lambda _, data: _imdb(data, 2000))},
        "paper": {"imdb": Task(lambda _, data: _imdb(data))},
    },
    selections,
)
