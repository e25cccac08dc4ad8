"""Data sets from the Hugging Face Hub, or your own files, as a `Federation`.

The papers' data sets there::

    hub("uoft-cs/cifar10", x="img", by="label", clients=100, alpha=0.5)
    hub("ylecun/mnist", clients=100)          hub("zalando-datasets/fashion_mnist", clients=100)
    hub("flwrlabs/femnist", y="character", by="writer_id", clients=200)
    hub("flwrlabs/shakespeare", x="x", y="y", by="character_id", clients=100, shuffle=False)
    hub("flwrlabs/pacs", by="domain", side=224)
    hub("flwrlabs/office-home", by="domain", side=224)
    hub("wltjr1007/DomainNet", by="domain", side=64)

Images take four bytes of memory a pixel and colour: at side 224, as in the FedPop paper, 6 GB for
PACS, 9.4 GB for Office-Home and 247 GB for DomainNet, which takes 20 GB at side 64.

Local files need no network: ``hub("imagefolder", data_dir="photos", clients=10)`` reads a folder
of images for each class, ``hub("parquet", data_files="mine.parquet", ...)`` a table. For arrays
see `federate`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Num, UInt8
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.data.partition import enough, federate
from fedlab_edu.data.shakespeare import VOCABULARY, encode
from fedlab_edu.seeds import generator
from fedlab_edu.validate import require


def hub(
    dataset: str,
    x: str = "image",
    y: str = "label",
    by: str = "iid",
    clients: int | None = None,
    alpha: float = 1.0,
    side: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    **options: Any,
) -> Federation:
    """Divide the "train" part of a data set among clients, each split 80 / 10 / 10 %.

    Args:
        dataset: its name on the Hub; "imagefolder", "parquet", "csv" or "json" for local files.
        x, y, side: see `from_partitions`.
        by: "iid"; "label" skews the labels by Dirichlet(alpha); a column, such as "writer_id",
            makes a client of each of its values with enough examples for the split.
        clients: how many; with a column they are drawn by the seed, and None means all.
        shuffle: mix each client's examples before the split; False if their order is time.
        options: for ``FederatedDataset`` of flwr-datasets, and through it ``load_dataset``.

    flwr-datasets reports its use to its makers, unless FLWR_TELEMETRY_ENABLED=0 is in the
    environment before the first call.

    Raises:
        ModuleNotFoundError: flwr-datasets is not installed. ConnectionError: there is no network.
        ValueError: no such column, or a number of clients that the data do not allow.
    """
    dealt = by in ("iid", "label")
    source, whole = _load(dataset, by, y, clients, alpha, seed, options)
    columns = whole.column_names
    for argument, column in {"x": x, "y": y, "by": y if dealt else by}.items():
        require(column in columns, argument, column, f"one of the columns {columns}")
    parts = source.partitioners["train"]
    gen, names, chosen = generator(seed), None, list(range(parts.num_partitions))
    if not dealt:
        chosen = [i for i in chosen if enough(len(parts.load_partition(i)))]
        wanted = len(chosen) if clients is None else clients
        require(wanted <= len(chosen), "clients", clients, f"up to {len(chosen)}")
        drawn = torch.randperm(len(chosen), generator=gen)[:wanted].sort().values
        chosen = [chosen[i] for i in drawn]
        shown = getattr(whole.features[by], "int2str", str)  # class names
        names = [shown(parts.partition_id_to_natural_id[i]) for i in chosen]
    partitions = [parts.load_partition(i) for i in chosen]
    return from_partitions(partitions, x, y, side, gen if shuffle else None, names)


def _load(
    dataset: str, by: str, y: str, clients: int | None, alpha: float, seed: int, options: Any
) -> tuple[Any, Any]:
    """Return the ``FederatedDataset`` of `hub`, and the whole of its "train" part."""
    try:
        from flwr_datasets import FederatedDataset, partitioner
    except ModuleNotFoundError as error:
        message = "flwr-datasets is missing: pip install 'fedlab_edu[data]'"
        raise ModuleNotFoundError(message) from error
    ok = by not in ("iid", "label") if clients is None else clients >= 1
    require(ok, "clients", clients, "a whole number of at least 1, or, with a column, None")
    parts: Any = partitioner.NaturalIdPartitioner(by)
    if by == "iid":
        parts = partitioner.IidPartitioner(clients)
    elif by == "label":
        parts = partitioner.DirichletPartitioner(clients, y, alpha, seed=seed)
    source = FederatedDataset(
        dataset=dataset, partitioners={"train": parts}, shuffle=by == "iid", seed=seed, **options
    )
    try:
        return source, source.load_split("train")
    except ConnectionError as error:
        raise ConnectionError(
            f"{dataset!r} is not on this machine, and the Hugging Face Hub cannot be reached: "
            "connect to the internet and try again, or use local files: see fedlab_edu.data.hub"
        ) from error


def from_partitions(
    partitions: Sequence[Any],
    x: str = "image",
    y: str = "label",
    side: int | None = None,
    gen: torch.Generator | None = None,
    names: Sequence[str] | None = None,
) -> Federation:
    """Build a federation of Hugging Face data sets (``datasets.Dataset``), one for each client.

    Args:
        x: column of inputs. Images become float32 (C, H, W) in [0, 1], with C = 3 if any is in
            colour; strings of one length become character numbers (see `encode`); numbers and
            lists of numbers stay as they are.
        y: column of targets: whole numbers of at least 0, or single characters.
        side: width and height in pixels to resize images to.
        gen, names: see `federate`.

    Raises:
        ValueError: columns of other kinds, inputs of several shapes, or a client without examples.
    """
    sizes = [len(part) for part in partitions]
    require(min(sizes, default=0), "examples of the smallest client", 0, "at least 1")
    labels = [label for part in partitions for label in part[y][:]]
    if isinstance(labels[0], str):
        require(set(map(len, labels)) == {1}, y, labels[:9], "single characters, or whole numbers")
        targets, classes = encode("".join(labels)).long(), VOCABULARY
    else:
        ok = all(isinstance(label, int) and label >= 0 for label in labels)
        require(ok, y, labels[:9], "whole numbers of at least 0, or single characters")
        targets = torch.tensor(labels, dtype=torch.long)
        classes = getattr(partitions[0].features[y], "num_classes", max(labels) + 1)
    rows = torch.arange(len(labels)).split(sizes)
    return federate(_inputs(partitions, x, side), targets, rows, classes, gen=gen, names=names)


def _inputs(partitions: Sequence[Any], x: str, side: int | None) -> Num[Tensor, "M ..."]:
    first = partitions[0][0][x]
    if isinstance(first, str):
        texts = [text for part in partitions for text in part[x][:]]
        lengths = sorted(set(map(len, texts)))
        require(len(lengths) == 1, f"lengths of {x}", lengths[:9], "one length")
        return encode("".join(texts)).view(len(texts), -1)
    if not hasattr(first, "convert"):  # no image
        return torch.cat([torch.tensor(part[x][:]) for part in partitions])
    images = [_pixels(image, side) for part in partitions for image in part[x]]
    channels = max(map(len, images))
    images = [image.expand(channels, -1, -1) for image in images]
    shapes = sorted({tuple(image.shape) for image in images})
    require(len(shapes) == 1, f"shapes of {x}", shapes[:9], "one shape; `side` makes it so")
    return torch.stack(images).float().div_(255)


def _pixels(image: Any, side: int | None) -> UInt8[Tensor, "C H W"]:
    """Convert a PIL image to grey (1, H, W) or RGB (3, H, W)."""
    require(image.mode[0] not in "IF", "mode of an image", image.mode, "8 bits for each channel")
    image = image.convert("L" if image.mode in ("1", "L", "LA") else "RGB")
    pixels = torch.tensor(np.asarray(image if side is None else image.resize((side, side))))
    return pixels[None] if pixels.dim() == 2 else pixels.permute(2, 0, 1)
