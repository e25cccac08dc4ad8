"""Randomness is an argument: one CPU generator for every key, the same on every device.

A client's draws depend on (seed, round, client) alone: not on who trains beside it, on the
device, or on where a run was interrupted and resumed.
"""

import numpy as np
import torch

from fedlab_edu.validate import whole


def seed_for(seed: int, *key: int) -> int:
    """A 63-bit seed for the key; keys that differ anywhere, or in length, give unrelated ones.

    Raises:
        ValueError: a seed below 0.
    """
    keyed = np.random.SeedSequence(whole("seed", seed, 0), spawn_key=key)
    return int(keyed.generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(seed: int, *key: int) -> torch.Generator:
    """A generator of its own for the key, on the CPU."""
    return torch.Generator().manual_seed(seed_for(seed, *key))
