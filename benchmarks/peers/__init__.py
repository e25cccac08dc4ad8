"""The same round of FedAvg in other packages, beside ours: see `benchmarks.peers.__main__`."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

B, N, V, BATCH, LR = 10, 64, 16, 32, 0.05
SHAPES = ((784, 128), (128,), (128, 10), (10,))


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return images (B, n, 784) and classes (B, n), for training and for validation."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((B, N + V, 784), dtype=np.float32)
    y = rng.integers(10, size=(B, N + V))
    return x[:, :N], y[:, :N], x[:, N:], y[:, N:]


def timed(a_round: Callable[[], object], repeats: int = 30, warm_up: int = 5) -> list[float]:
    """Return the seconds of each round after the first ones, which compile."""
    times = []
    for _ in range(warm_up + repeats):
        begin = perf_counter()
        a_round()
        times.append(perf_counter() - begin)
    return times[warm_up:]
