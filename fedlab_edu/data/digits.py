"""Handwritten digits: 1,797 images of 8 by 8 pixels from scikit-learn, without a download."""

from functools import cache

import torch
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.data.partition import by_group, dirichlet, federate, iid
from fedlab_edu.seeds import generator
from fedlab_edu.validate import require, whole

# First image of each block, roughly a writer; there are 14 blocks, but 13 writers in the source.
# A block begins by counting from 0 to 9 twice (one lacks its first 0).
_BLOCKS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)
WRITERS = len(_BLOCKS)


@cache
def digit_images() -> tuple[Tensor, Tensor, Tensor]:
    """Return x (1797, 1, 8, 8) in [0, 1], y (1797,) from 0 to 9, writer (1797,) from 0 to 13.

    Source: Alpaydin and Kaynak (1998), as shipped with scikit-learn.
    """
    from sklearn.datasets import load_digits  # here, because the import takes a second

    images, targets = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    y = torch.tensor(targets, dtype=torch.long)
    writer = torch.bucketize(torch.arange(len(y)), torch.tensor(_BLOCKS[1:]), right=True)
    return x, y, writer


def digits(by: str = "writer", clients: int = 42, alpha: float = 1.0, seed: int = 0) -> Federation:
    """Divide images (1, 8, 8) in [0, 1] of digits 0 to 9 among clients, each split 60 / 20 / 20 %.

    Args:
        by: "writer" gives each client images of one block, roughly one writer; "label" skews the
            labels by Dirichlet(alpha); "iid" deals out shuffled images.
        clients: for "writer", a multiple of 14.
        alpha: for "label": 0.1 is very skewed, 100 hardly.
        seed: of the partition and of each client's shuffle.
    """
    require(by in ("writer", "label", "iid"), "by", by, "'writer', 'label', 'iid'")
    x, y, writer = (t.clone() for t in digit_images())  # copies: the cache must not change
    gen = generator(seed)
    if by == "writer":
        allowed = f"a multiple of {WRITERS} writers"
        clients = whole("clients", clients, WRITERS, allowed=allowed)
        require(clients % WRITERS == 0, "clients", clients, allowed)
        parts = clients // WRITERS
        rows = by_group(writer, parts)
        names = [f"writer {i // parts + 1}, part {i % parts + 1}" for i in range(clients)]
        return federate(x, y, rows, 10, (0.6, 0.2, 0.2), gen, names=names)
    rows = dirichlet(y, clients, alpha, gen) if by == "label" else iid(len(y), clients, gen)
    return federate(x, y, rows, 10, (0.6, 0.2, 0.2), gen)
