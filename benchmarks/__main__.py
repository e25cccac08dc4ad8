"""``python -m benchmarks [--device cuda] [--repeats 5]``: rounds against a plain loop over clients.

For each workload the two take turns, the plain loop with one thread and with all; what counts is
the ratio of the medians, the plain loop at its better number of threads. Both train the same
minibatches, and the largest difference between their weights is printed beside the times.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from fedlab_edu import Clients, LocalHP, Model, char_lstm, digits, lenet5, local_sgd, mlp
from fedlab_edu.check import usable_device
from fedlab_edu.local import shuffles


def plain_loop(model: Model, w: Tensor, clients: Clients, c: LocalHP, seeds: list[int]) -> Tensor:
    """One network, reused for client after client, and PyTorch's own optimiser."""
    net, trained = model.unflatten(w), []
    for i, seed in enumerate(seeds):
        with torch.no_grad():
            weights = zip(net.parameters(), model.views(w[None]), model.flipped, strict=True)
            for p, view, flip in weights:
                p.copy_(view[0].T if flip else view[0])
        own, (x, y) = c[i], clients.examples(i)
        sgd = torch.optim.SGD(net.parameters(), float(own.lr), float(own.momentum))
        for order in shuffles(len(y), int(own.epochs), seed):
            for batch in order.to(x.device).split(int(own.batch)):
                sgd.zero_grad()
                F.cross_entropy(net(x[batch]), y[batch]).backward()
                sgd.step()
        trained.append(model.flatten(net))
    return torch.stack(trained)


def synthetic(shape: tuple[int, ...], classes: int, sizes: list[int]) -> Clients:
    """Clients with images of noise; for a one-dimensional shape, windows of characters."""
    gen, n = torch.Generator().manual_seed(0), sum(sizes)
    if len(shape) == 1:
        x = torch.randint(1, classes, (n, *shape), generator=gen)
    else:
        x = torch.randn(n, *shape, generator=gen)
    y = torch.randint(1, classes, (n,), generator=gen)
    return Clients(x, y, torch.arange(n).split(sizes))


def ragged(jobs: int) -> tuple[list[int], LocalHP]:
    """Sizes and settings that differ from client to client, as tuners draw them."""
    gen = torch.Generator().manual_seed(1)
    sizes = torch.randint(15, 120, (jobs,), generator=gen).tolist()
    lr = 10 ** (-2.5 + 1.5 * torch.rand(jobs, generator=gen))
    momentum = 0.9 * torch.rand(jobs, generator=gen)
    batch = 2 ** torch.randint(3, 7, (jobs,), generator=gen)
    epochs = torch.randint(1, 6, (jobs,), generator=gen)
    return sizes, LocalHP(lr=lr, momentum=momentum, batch=batch, epochs=epochs)


def workloads() -> dict[str, tuple[Model, Clients, LocalHP]]:
    """Name -> model, clients and settings."""
    image, big = (1, 28, 28), mlp(784, 128, 10)
    even = LocalHP(lr=[0.05] * 10, batch=32)
    sizes, c = ragged(270)
    fed = digits()
    many = fed.train[torch.randint(42, (270,), generator=torch.Generator().manual_seed(2))]
    return {
        "MLP 784-128-10, 10 clients of 64": (big, synthetic(image, 10, [64] * 10), even),
        "MLP 784-128-10, 27 x 10 ragged": (big, synthetic(image, 10, sizes), c),
        "LeNet-5, 10 clients of 64": (lenet5(), synthetic(image, 10, [64] * 10), even),
        "digits MLP 64-32-10, 27 x 10": (mlp(64, 32, 10), many, c),
        "char-LSTM, 10 clients of 16": (
            char_lstm(), synthetic((80,), 101, [16] * 10), LocalHP(lr=[0.5] * 10, batch=8),
        ),
    }  # fmt: skip


def seconds(work: Callable[[], Tensor], device: torch.device) -> tuple[float, Tensor]:
    begin = time.perf_counter()
    out = work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begin, out


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    device, cores = usable_device(options.device), torch.get_num_threads()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {cores} cores"
    print(f"{name}, PyTorch {torch.__version__}, medians of {options.repeats}")
    print(f"{'':34}{'plain loop':>12}{'ours':>10}{'ratio':>8}   largest difference")
    for label, (model, on_cpu, c) in workloads().items():
        clients, w, seeds = on_cpu.to(device), model.init(0).to(device), list(range(len(on_cpu)))
        times: dict[str, list[float]] = {"ours": [], "1 thread": [], "all threads": []}
        for _ in range(options.repeats):
            took, W = seconds(lambda: local_sgd(model, w, clients, c, seeds), device)  # noqa: B023
            times["ours"].append(took)
            for threads, key in ((1, "1 thread"), (cores, "all threads")):
                torch.set_num_threads(threads)
                took, reference = seconds(lambda: plain_loop(model, w, clients, c, seeds), device)  # noqa: B023
                times[key].append(took)
        ours, one, every = (statistics.median(t) for t in times.values())
        plain, apart = min(one, every), float((W - reference).abs().max())
        print(f"{label:34}{plain:10.3f} s{ours:8.3f} s{plain / ours:7.1f}x{apart:12.1e}")


if __name__ == "__main__":
    main()
