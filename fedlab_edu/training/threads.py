"""Threads for the tiles of local training."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

_Tile = TypeVar("_Tile")


def cores() -> int:
    """Return how many cores this process may use; all of them on macOS, which does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_parallel(train: Callable[[_Tile], None], tiles: list[_Tile], workers: int) -> None:
    """Train tiles on ``workers`` threads, one core each: threads inside an operation would spin."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if min(workers, len(tiles)) > 1:
            with ThreadPoolExecutor(workers, "tile", torch.set_num_threads, (1,)) as pool:
                list(pool.map(train, tiles))
        else:
            for tile in tiles:
                train(tile)
    finally:
        torch.set_num_threads(threads)
