"""Randomness is an argument: one CPU generator for every key, the same on every device.

A client's draws depend on (seed, round, client) alone: not on who trains beside it, on the
device, or on where a run was interrupted and resumed.
"""

import numpy as np
import torch

from fedlab_edu.check import require


def stream(seed: int, *key: int) -> int:
    """A 63-bit seed for the key; keys that differ anywhere, or in length, give unrelated ones.

    Raises:
        ValueError: a seed below 0.
    """
    require(seed >= 0, "seed", seed, "a whole number of at least 0")
    state = np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def generator(seed: int, *key: int) -> torch.Generator:
    """A generator of its own for the key, on the CPU."""
    return torch.Generator().manual_seed(stream(seed, *key))
