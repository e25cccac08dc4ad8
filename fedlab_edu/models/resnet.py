"""ResNet-18 with group normalisation instead of batch normalisation."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

from torch import Tensor, nn

from fedlab_edu.models.copies import Copies
from fedlab_edu.models.model import Model
from fedlab_edu.models.module import from_module
from fedlab_edu.validate import MOST, whole

GROUPS = 32  # groups of channels, as in Wu and He (2018)


class _Block(nn.Module):
    """Two 3 by 3 convolutions and a shortcut, which is a 1 by 1 convolution if the size changes."""

    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.norm1 = nn.GroupNorm(GROUPS, o)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.norm2 = nn.GroupNorm(GROUPS, o)
        changes = stride > 1 or i != o
        shortcut = [nn.Conv2d(i, o, 1, stride, bias=False), nn.GroupNorm(GROUPS, o)]
        self.around = nn.Sequential(*shortcut if changes else [])

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(y)) + self.around(x)).relu()


def _resnet18(classes: int) -> nn.Module:
    widths = (64, 64, 128, 256, 512)
    stages = [
        block
        for k, (i, o) in enumerate(pairwise(widths))
        for block in (_Block(i, o, 2 if k else 1), _Block(o, o, 1))
    ]
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.GroupNorm(GROUPS, 64), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Dropout(0.0), nn.Linear(512, classes),
    )  # fmt: skip


def resnet18(classes: int = 7) -> Model:
    """Build ResNet-18 for images (3, side, side), side 224 in the papers: 11.2 million weights.

    Each example is normalised in 32 groups of channels. Batch normalisation's running statistics
    are not weights, so neither SGD nor the server's average would update them.

    Args:
        classes: 7 for PACS, 65 for Office-Home; 345 for DomainNet, of which FedPop takes 10.

    Source: He, Zhang, Ren, Sun (2016), *Deep residual learning for image recognition*, table 1; Wu,
    He (2018), *Group normalization*, which Hsieh et al. (2020), *The non-IID data quagmire of
    decentralized machine learning*, recommend for federated learning.
    """
    net = partial(_resnet18, whole("classes", classes, 1, MOST))
    forward = Copies(net)
    return replace(from_module(forward.net), net=net, forward=forward)
