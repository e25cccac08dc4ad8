"""Data sets from the Hugging Face Hub, or your own files, as a `Federation`.

The papers' data sets there::

    hub("uoft-cs/cifar10", x="img", by="label", clients=100, alpha=0.5)
    hub("ylecun/mnist", clients=100)          hub("zalando-datasets/fashion_mnist", clients=100)
    hub("flwrlabs/femnist", y="character", by="writer_id", clients=200)
    hub("flwrlabs/shakespeare", x="x", y="y", by="character_id", clients=100, shuffle=False)
    hub("flwrlabs/pacs", by="domain", side=224)
    hub("flwrlabs/office-home", by="domain", side=224)
    hub("wltjr1007/DomainNet", by="domain", side=64)

Images take a byte of memory a pixel and colour, and become floats batch by batch: at side 224, as
in the FedPop paper, 1.5 GB for PACS, 2.3 GB for Office-Home and 62 GB for DomainNet, which takes
5 GB at side 64. (The paper uses a tenth of them or less: see `fedlab_edu.papers.photographs`.)

Local files need no network: ``hub("imagefolder", data_dir="photos", clients=10)`` reads a folder
of images for each class, ``hub("parquet", data_files="mine.parquet", ...)`` a table, as in
``hub("csv", data_files="houses.csv", x=["rooms", "area"], y="price", by="town")``, a regression.
For arrays see `federate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from fedlab_edu.data.arrays import as_targets
from fedlab_edu.data.clients import Federation
from fedlab_edu.data.columns import read_inputs, side_by_side
from fedlab_edu.data.partition import FRACTIONS, enough, federate, split
from fedlab_edu.data.shakespeare import VOCABULARY, encode
from fedlab_edu.seeds import generator
from fedlab_edu.validate import extra, positive, require, require_all, whole


def hub(
    dataset: str, x: str | Sequence[str] = "image", y: str = "label", by: str = "iid",
    clients: int | None = None, alpha: float = 1.0, side: int | None = None, shuffle: bool = True,
    seed: int = 0, fractions: Sequence[float] = FRACTIONS, test: str | None = None, **options: Any,
) -> Federation:  # fmt: skip
    """Divide the "train" part of a data set among clients, each split 80 / 10 / 10 %.

    Args:
        dataset: its name on the Hub; "imagefolder", "parquet", "csv" or "json" for local files.
        x, y, side: see `from_partitions`.
        by: "iid"; "label" skews the labels by Dirichlet(alpha); a column, such as "writer_id",
            makes a client of each of its values with enough examples for the split.
        clients: how many; with a column they are drawn by the seed, and None means all.
        shuffle: mix each client's examples before the split; False if their order is time.
        fractions: see `split`.
        test: the name of the data set's own test part, often "test", to deal out evenly as the
            clients' test data, where "by" is no column. Then clients split their training part
            into training and validation alone.
        options: for ``FederatedDataset`` of flwr-datasets, and through it ``load_dataset``.

    flwr-datasets reports its use to its makers, unless FLWR_TELEMETRY_ENABLED=0 is in the
    environment before the first call. Without a network there is a ``ConnectionError``.
    """
    dealt = by in ("iid", "label")
    require(test is None or dealt, "test", test, 'None, unless by is "iid" or "label"')
    source, every = _load(dataset, by, y, clients, alpha, seed, test, options)
    columns = every.column_names
    for argument, wanted in {"x": x, "y": y, "by": y if dealt else by}.items():
        for column in [wanted] if isinstance(wanted, str) else wanted:
            require(column in columns, argument, column, f"one of the columns {columns}")
    ok, allowed = dealt or None not in every.unique(by), "one in each row, to tell its client"
    require(ok, f"a value of {by}", None, allowed)
    if dealt:
        whole("clients", clients, 1, len(every), f"from 1 to {len(every)}, the examples")
    parts = source.partitioners["train"]
    gen, names, chosen = generator(seed), None, list(range(parts.num_partitions))
    if not dealt:
        chosen = [i for i in chosen if enough(len(parts.load_partition(i)), fractions)]
        drawn = len(chosen) if clients is None else clients
        require(drawn <= len(chosen), "clients", clients, f"up to {len(chosen)}")
        order = torch.randperm(len(chosen), generator=gen)[:drawn].sort().values
        chosen = [chosen[i] for i in order]
        shown = getattr(every.features[by], "int2str", str)  # class names
        names = [shown(parts.partition_id_to_natural_id[i]) for i in chosen]
    partitions = [parts.load_partition(i) for i in chosen]
    if test is not None:
        tests = [source.load_partition(i, test) for i in chosen]
        join = extra("datasets", "data").concatenate_datasets
        whole_parts = [join([*pair]) for pair in zip(partitions, tests, strict=True)]
        fed = from_partitions(whole_parts, x, y, side, None, names, (1.0, 0.0, 0.0))
        return _with_test(fed, list(map(len, partitions)), fractions, gen if shuffle else None)
    return from_partitions(partitions, x, y, side, gen if shuffle else None, names, fractions)


def _with_test(
    fed: Federation, sizes: list[int], fractions: Sequence[float], gen: torch.Generator | None
) -> Federation:
    """Split each client's first examples into training and validation; the others are its tests."""
    each = []
    for rows, n in zip(fed.train.rows, sizes, strict=True):
        order = torch.arange(n) if gen is None else torch.randperm(n, generator=gen)
        _, (a, b), _ = split(n, (1.0 - fractions[1], fractions[1], 0.0))
        each.append((rows[order[:a]], rows[order[a:b]], rows[n:]))
    train, val, test = (replace(fed.train, rows=rows) for rows in zip(*each, strict=True))
    return replace(fed, train=train, val=val, test=test)


def _load(
    dataset: str, by: str, y: str, clients: int | None, alpha: float, seed: int,
    test: str | None, options: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the ``FederatedDataset`` of `hub`, and the whole of its "train" part."""
    extra("flwr-datasets", "data")
    from flwr_datasets import FederatedDataset, partitioner

    if clients is not None or by in ("iid", "label"):
        allowed = "a whole number of at least 1, or, with a column, None"
        clients = whole("clients", clients, 1, allowed=allowed)
    seed, alpha = whole("seed", seed, 0), positive("alpha", alpha)
    parts: Any = partitioner.NaturalIdPartitioner(by)
    if by == "iid":
        parts = partitioner.IidPartitioner(clients)
    elif by == "label":
        parts = partitioner.DirichletPartitioner(clients, y, alpha, seed=seed)
    every: dict[str, Any] = {"train": parts}
    if test is not None:
        every[test] = partitioner.IidPartitioner(clients)
    source = FederatedDataset(
        dataset=dataset, partitioners=every, shuffle=by == "iid", seed=seed, **options
    )
    try:
        return source, source.load_split("train")
    except ConnectionError as error:
        raise ConnectionError(
            f"{dataset!r} is not on this machine, and the Hugging Face Hub cannot be reached: "
            "connect to the internet and try again, or use local files: see fedlab_edu.data.hub"
        ) from error


def from_partitions(
    partitions: Sequence[Any], x: str | Sequence[str] = "image", y: str = "label",
    side: int | None = None, gen: torch.Generator | None = None, names: Sequence[str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
) -> Federation:  # fmt: skip
    """Build a federation of Hugging Face data sets (``datasets.Dataset``), one for each client.

    Their format (``with_format``) does not matter, but a transform (``with_transform``) is applied.

    Args:
        x: column of inputs. Images become uint8 (C, H, W), with C = 3 if any is in colour, and
            floats in [0, 1] when they are used (`Clients.inputs`); strings of one length become
            character numbers (see `encode`); numbers and lists of numbers stay as they are. Several
            columns of numbers become floats (M, k).
        y: column of targets: class numbers, or floats for a regression; strings, whose classes are
            in alphabetical order; single characters that follow strings x, see `encode`.
        side: width and height in pixels to resize images to.
        gen, names, fractions: see `federate`.
    """
    x = x if isinstance(x, str) else list(x)
    columns = {"x": x} if isinstance(x, str) else {f"x[{i}]": name for i, name in enumerate(x)}
    require(columns, "x", x, "a column, or several")
    side = None if side is None else whole("side", side, 1)
    tables = _tables(partitions, {**columns, "y": y})
    labels = [label for table in tables for label in table[y][:]]
    first = next(iter(tables[0][x])) if isinstance(x, str) else None
    known: tuple[str, ...] = ()
    if isinstance(first, str) and all(isinstance(c, str) and len(c) == 1 for c in labels):
        targets, classes = encode("".join(labels)).long(), VOCABULARY
    else:
        targets, classes, known = _targets(partitions, labels, y)
    inputs = read_inputs(tables, x, side) if isinstance(x, str) else side_by_side(tables, x)
    rows = torch.arange(len(labels)).split([len(part) for part in partitions])
    fed = federate(inputs, targets, rows, classes, fractions, gen, names=names)
    return replace(fed, labels=known)


def _tables(partitions: Sequence[Any], columns: Mapping[str, str]) -> list[Any]:
    """Return what gives a column of each partition by name, in plain Python."""
    many, tables = isinstance(partitions, list | tuple), []
    allowed = "a list of data sets, one for each client"
    require(many, "partitions", type(partitions).__name__, allowed)
    for i, part in enumerate(partitions):
        ok = hasattr(part, "with_format") and hasattr(part, "__len__")
        ok = ok and isinstance(part.column_names, list)
        allowed = "a datasets.Dataset, as FederatedDataset.load_partition gives"
        require(ok, f"partitions[{i}]", type(part).__name__, allowed)
        if part.format["type"] == "custom":  # a transform, which may add columns
            table = part[:]
            known = list(table)
        else:
            table = part.with_format(None)
            known = table.column_names
        for argument, column in columns.items():
            require(column in known, argument, column, f"one of the columns {known}")
        tables.append(table)
    require(
        min(map(len, partitions), default=0), "examples of the smallest client", 0, "at least 1"
    )
    return tables


def _targets(
    partitions: Sequence[Any], values: list[Any], y: str
) -> tuple[Tensor, int, tuple[str, ...]]:
    """Return targets (M,), the number of classes, 0 in a regression, and their names."""
    found, labels = as_targets(values, y)
    if found.is_floating_point():
        return found, 0, ()
    require_all(found >= 0, y, found, "class numbers of at least 0, as -1 says that there is none")
    named = {tuple(getattr(part.features.get(y), "names", ())) for part in partitions}
    require(len(named) == 1, f"names of the classes in {y}", sorted(named), "the same everywhere")
    labels = labels or named.pop()
    return found, len(labels) or int(found.max()) + 1, labels
