"""Seconds of choosing one of 64 feature maps by shared fits, beside a full sweep; and memory."""

from typing import Any

import numpy as np
import torch

from benchmarks.speed import seconds
from fedlab_edu.features.selection import sweep
from fedlab_edu.features.share import share
from fedlab_edu.papers.features import FOURIER

TITLE = "choosing a feature map"
SIZES = {f"digits, 64 maps of {n:,} features": n for n in (300, 1000)}


def searched(n: int, device: torch.device) -> dict[str, Any]:
    """Return the best of three runs each, in turn, on 1,197 digits and 300 for validation.

    The rank is that of the picked map among all by its error.
    """
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
    fits, rank = min(alone), 1 + (error < error[history.pick]).sum()
    return {
        "64 fits (s)": fits, "6 shared (s)": min(shared), "ratio": fits / min(shared),
        "rank of the pick": int(rank),
    }  # fmt: skip
