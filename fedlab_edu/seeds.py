"""Seeds and generators: one CPU generator for every key, the same on every device.

A client's draws depend on (seed, round, client) alone.
"""

import numpy as np
import torch

from fedlab_edu.validate import require, require_type, whole


def seed_for(seed: int, *key: int) -> int:
    """Return a 63-bit seed for the key; different keys give unrelated seeds."""
    keyed = np.random.SeedSequence(whole("seed", seed, 0), spawn_key=key)
    return int(keyed.generate_state(1, np.uint64)[0]) >> 1


def generator(seed: int, *key: int) -> torch.Generator:
    """Return a CPU generator for the key."""
    return torch.Generator().manual_seed(seed_for(seed, *key))


def check_default_device() -> None:
    """Refuse a default device of PyTorch's other than the CPU, where generators and rows are."""
    seen, allowed = torch.empty(0).device, "'cpu'; fed.to('cuda') moves the data to a GPU"
    require(seen.type == "cpu", "PyTorch's default device", str(seen), allowed)


def check_generator(gen: object) -> None:
    """Refuse all but a generator of PyTorch's, and a default device on which it cannot draw."""
    check_default_device()
    require_type("gen", gen, torch.Generator, "torch.Generator().manual_seed(0)")
