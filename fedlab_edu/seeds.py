"""Seeds and generators: one CPU generator for every key, the same on every device.

A client's draws depend on (seed, round, client) alone.
"""

import numpy as np
import torch

from fedlab_edu.validate import whole


def seed_for(seed: int, *key: int) -> int:
    """Return a 63-bit seed for the key; different keys give unrelated seeds."""
    keyed = np.random.SeedSequence(whole("seed", seed, 0), spawn_key=key)
    return int(keyed.generate_state(1, np.uint64)[0]) >> 1


def generator(seed: int, *key: int) -> torch.Generator:
    """Return a CPU generator for the key."""
    return torch.Generator().manual_seed(seed_for(seed, *key))
