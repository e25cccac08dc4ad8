"""Workloads: networks, clients of noise or of digits, and settings."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from fedlab_edu import Clients, LocalHP, Model, char_lstm, cnn_cifar, cnn_femnist, lenet5, mlp
from fedlab_edu.data import Federation, digits

GREY, COLOUR, TEXT = (1, 28, 28), (3, 24, 24), (80,)


class Workload(NamedTuple):
    """B clients, each with a row of c, and the network that they train."""

    model: Model
    clients: Clients
    c: LocalHP


def workloads() -> dict[str, Callable[[], Workload]]:
    """Return name -> a function that makes the workload; the largest take a gigabyte."""
    big = mlp(784, 128, 10)
    return {
        "MLP 784-128-10, 10 clients of 64": lambda: even(big, GREY, 10, 64, 32),
        "MLP 784-128-10, 27 x 10 ragged": lambda: ragged(big, GREY),
        "LeNet-5, 10 clients of 64": lambda: even(lenet5(), GREY, 10, 64, 32),
        "LeNet-5, 27 x 10 ragged": lambda: ragged(lenet5(), GREY),
        "digits MLP 64-32-10, 27 x 10": many_digits,
        "char-LSTM, 10 clients of 16": lambda: even(char_lstm(), TEXT, 10, 16, 8, 101, 0.5),
        "char-LSTM, 10 clients, bfloat16": lambda: even(
            char_lstm(bfloat16=True), TEXT, 10, 16, 8, 101, 0.5
        ),
        "FEMNIST CNN, 10 clients of 64": lambda: even(cnn_femnist(), GREY, 10, 64, 32, 62),
        "CIFAR CNN, 10 clients of 64": lambda: even(cnn_cifar(), COLOUR, 10, 64, 32),
        "MLP 784-128-10, 10 clients of 32": lambda: even(big, GREY, 10, 32, 16),
        "MLP 784-128-10, 100 clients of 32": lambda: even(big, GREY, 100, 32, 16),
        "MLP 784-128-10, 1000 clients of 32": lambda: even(big, GREY, 1000, 32, 16),
    }


def even(
    model: Model, shape: tuple[int, ...], B: int, n: int, batch: int, classes: int = 10,
    lr: float = 0.05,
) -> Workload:  # fmt: skip
    """Return B clients with n examples each, one epoch, one setting for all."""
    return Workload(model, noise(shape, classes, [n] * B), LocalHP(lr=[lr] * B, batch=batch))


def ragged(model: Model, shape: tuple[int, ...]) -> Workload:
    """Return 27 arms of 10 clients, with sizes of their own and settings as tuners draw them."""
    sizes = torch.randint(15, 120, (270,), generator=torch.Generator().manual_seed(0)).tolist()
    return Workload(model, noise(shape, 10, sizes), drawn(270))


def many_digits() -> Workload:
    """Return 27 arms of 10 clients, drawn from the 42 of `digits`."""
    who = torch.randint(42, (270,), generator=torch.Generator().manual_seed(2))
    return Workload(mlp(64, 32, 10), digits().train[who], drawn(270))


def drawn(jobs: int) -> LocalHP:
    """Draw settings that differ from job to job: minibatches of 8 to 64, 1 to 5 epochs.

    Source: ranges after the search space of Khodak et al. (2021), appendix D.
    """
    gen = torch.Generator().manual_seed(1)
    lr = 10 ** (-2.5 + 1.5 * torch.rand(jobs, generator=gen))
    momentum = 0.9 * torch.rand(jobs, generator=gen)
    batch = 2 ** torch.randint(3, 7, (jobs,), generator=gen)
    epochs = torch.randint(1, 6, (jobs,), generator=gen)
    return LocalHP(lr=lr, momentum=momentum, batch=batch, epochs=epochs)


def noise(shape: tuple[int, ...], classes: int, sizes: list[int]) -> Clients:
    """Return clients with images of noise; for a one-dimensional shape, windows of characters."""
    gen, n = torch.Generator().manual_seed(0), sum(sizes)
    if len(shape) == 1:
        x = torch.randint(1, classes, (n, *shape), generator=gen)
    else:
        x = torch.randn(n, *shape, generator=gen)
    y = torch.randint(1, classes, (n,), generator=gen)
    return Clients(x, y, torch.arange(n).split(sizes))


def federation(
    shape: tuple[int, ...], classes: int, train: list[int], val: list[int]
) -> Federation:
    """Return clients with so many training examples of noise, and so many to validate and test."""
    held = noise(shape, classes, val)
    names = tuple(map(str, range(len(train))))
    return Federation(noise(shape, classes, train), held, held, names, classes)
