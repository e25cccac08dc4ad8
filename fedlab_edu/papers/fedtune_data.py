"""Data sets and models of the FedTune paper's experiments."""

from functools import lru_cache, partial
from pathlib import Path

from torch import Tensor

from fedlab_edu.data import digit_images, hub
from fedlab_edu.models.model import lenet5, mlp
from fedlab_edu.validate import require


@lru_cache(maxsize=1)  # the same for each seed, and large
def images(name: str, column: str, data: str | None) -> tuple[Tensor, Tensor]:
    """Return all training images and labels of a data set of the hub, or of a folder."""
    ok = data is None or Path(data).is_dir()
    require(ok, "data", data, "a folder that holds the data set")
    every = hub(name if data is None else data, x=column, clients=1, shuffle=False).train
    return every.x, every.y


def digit_data(data: str | None) -> tuple[Tensor, Tensor]:
    """Return the digits of scikit-learn."""
    require(data is None, "data", data, "none: the digits come with a package")
    x, y, _ = digit_images()
    return x, y


MODELS = {
    ("cifar10", "lenet"): lambda: lenet5(32, 3),
    ("cifar10", "mlp"): lambda: mlp(3 * 32 * 32, 128, 10),
    ("grey", "lenet"): lambda: lenet5(28, 1),
    ("grey", "mlp"): lambda: mlp(28 * 28, 128, 10),
}
HUB = {
    "cifar10": partial(images, "uoft-cs/cifar10", "img"),
    "fmnist": partial(images, "zalando-datasets/fashion_mnist", "image"),
    "mnist": partial(images, "ylecun/mnist", "image"),
}
