"""Seconds of choosing one of 64 feature maps by shared fits, beside a full sweep; and memory."""

from typing import NamedTuple

import numpy as np
import torch

from benchmarks.speed import seconds
from fedlab_edu.features.selection import sweep
from fedlab_edu.features.share import share
from fedlab_edu.papers.features import FOURIER

HEAD = f"{'feature maps':38}{'64 fits':>11}{'6 shared':>10}{'ratio':>8}{'rank of the pick':>20}"
SIZES = {f"digits, 64 maps of {n:,} features": n for n in (300, 1000)}


class Picked(NamedTuple):
    """Seconds of all fits and of the shared ones, and the pick's place among all by its error."""

    fits: float
    shared: float
    rank: int

    def row(self) -> str:
        ratio = self.fits / self.shared
        return f"{self.fits:9.2f} s{self.shared:8.2f} s{ratio:7.1f}x{self.rank:20}"


def searched(n: int, device: torch.device) -> Picked:
    """Return the best of three runs each, in turn, on 1,197 digits and 300 for validation."""
    problem, rng = FOURIER.settings["book"]["digits"].problem(0, None), np.random.default_rng(0)
    place = None if device.type == "cpu" else str(device)
    maps = problem.maps(rng, 64, n, True, place)
    data = problem.data
    alone, shared = [], []
    for _ in range(3):
        took, error = seconds(lambda: sweep(maps, data, "error"), device)
        alone.append(took)
        took, history = seconds(lambda: share(maps, data, np.random.default_rng(1)), device)
        shared.append(took)
    rank = 1 + (error < error[history.pick]).sum()
    return Picked(min(alone), min(shared), int(rank))
