"""Seeds and generators: one CPU generator for every key, the same on every device.

A client's draws depend on (seed, round, client) alone.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Int, UInt64

from fedlab_edu.validate import require, require_type, whole

# the constants of SeedSequence, for 32-bit words
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R = 0xCA01F9DD, 0x4973F715
_POWERS_A = np.array([_MULT_A**i % 2**32 for i in range(4)], np.uint32)
_POWERS_B = np.array([_INIT_B, _INIT_B * _MULT_B % 2**32], np.uint32)
_NEXT_A = _MULT_A**4 % 2**32


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


def seeds_for(seeds: Sequence[int], *key: Int[np.ndarray, "A ..."]) -> UInt64[np.ndarray, "A ..."]:
    """Return `seed_for` of A seeds, each with its own keys of words below 2^32, all at once.

    The words are arrays whose first axis belongs to the seeds, such as rounds (A,) and then clients
    (A, B).

    Source: O'Neill (2015), seed_seq_fe, as in NumPy's SeedSequence.
    """
    pools = np.array([_pool(seed) for seed in seeds], np.uint32).T
    mixed, h = pools[:4], pools[4]
    for word in key:
        more = [1] * (word.ndim + 1 - mixed.ndim)
        mixed, h = mixed.reshape(*mixed.shape, *more), h.reshape(*h.shape, *more)
        hashed = _hash(word.astype(np.uint32), h * _up_to(word.ndim, _POWERS_A), _MULT_A)
        mixed, h = _fold(mixed * _MIX_L - hashed * _MIX_R), h * _NEXT_A
    low, high = _hash(mixed[:2], _up_to(mixed.ndim - 1, _POWERS_B), _MULT_B).astype(np.uint64)
    return (low | high << 32) >> 1


@lru_cache(4096)
def _pool(seed: int) -> list[int]:
    """Return SeedSequence's pool of four words, and the constant with which it hashes on."""
    words = max(4, -(-seed.bit_length() // 32))
    return [*np.random.SeedSequence(seed).pool.tolist(), _INIT_A * pow(_MULT_A, 4 * words) % 2**32]


def _up_to(axes: int, powers: np.ndarray) -> np.ndarray:
    return powers.reshape(-1, *[1] * axes)


def _hash(word: np.ndarray, h: np.ndarray, factor: int) -> np.ndarray:
    return _fold((word ^ h) * (h * factor))


def _fold(word: np.ndarray) -> np.ndarray:
    return word ^ word >> 16
