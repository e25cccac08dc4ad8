"""The examples of each local step of a tile, and tiles of jobs that are alike."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.training.hparams import LocalHP

WINDOW_BYTES = 1 << 20  # examples that are fetched together; they should stay in a core's cache


def minibatches(orders: Int[Tensor, "E n"], batch: int) -> Int[Tensor, "steps batch"]:
    """Return the positions of each local step's examples; -1 fills up the last batch of an epoch.

    Epoch e visits the n examples in the order ``orders[e]``. The last, short batch is kept, so that
    ``steps = E ceil(n / batch)``.
    """
    fill = -orders.shape[1] % batch
    return F.pad(orders, (0, fill), value=-1).view(-1, batch)


def shuffles(n: int, epochs: int, seed: int) -> Int[Tensor, "E n"]:
    """Draw an order of a client's n examples for each epoch, with the client's own generator."""
    return torch.stack(_orders(n, epochs, torch.Generator().manual_seed(seed)))


def _orders(n: int, epochs: int, gen: torch.Generator) -> list[Int[Tensor, " n"]]:
    return [torch.randperm(n, generator=gen) for _ in range(epochs)]


def steps(n: Int[Tensor, " B"], c: LocalHP) -> Int[Tensor, " B"]:
    """Return each client's number of local steps, ``epochs ceil(n / batch)``."""
    return c.epochs * -(-n // c.batch)


def make_tiles(
    width: Int[np.ndarray, " J"], steps: Int[np.ndarray, " J"], number: int
) -> list[Int[np.ndarray, " k"]]:
    """Split J jobs into tiles of ``J / number`` jobs, or fewer, of similar width, most work first.

    Width is the size of a job's minibatches. The jobs of a tile are in the order of falling steps.
    """
    size = -(-len(width) // min(number, len(width)))
    tiles: list[list[int]] = []
    for job in np.lexsort((-steps, -width)).tolist():
        if not tiles or len(tiles[-1]) >= size or 2 * width[job] < width[tiles[-1][0]]:
            tiles.append([])
        tiles[-1].append(job)
    cut = [np.array(tile)[np.argsort(-steps[tile], kind="stable")] for tile in tiles]
    return sorted(cut, key=lambda tile: -int(width[tile] @ steps[tile]))


class Plan(NamedTuple):
    """The examples of each step of a tile, whose jobs are sorted by falling number of steps.

    Step t trains the first k_t jobs on up to b_t examples each. Its ``k_t b_t`` entries follow
    those of step t - 1: a plan is as long as its examples, not as its longest job times its jobs.

    Fields:
        rows: row numbers of the examples. Shorter minibatches repeat a row of their own, which is
            finite if they are.
        share: 1 / the number of examples in the minibatch, and 0 for repeated rows.
        at_work, width, offset: k_t, b_t, and the first entry of each step and of the end.
    """

    rows: Int[Tensor, " entries"]
    share: Float[Tensor, " entries"]
    at_work: list[int]
    width: list[int]
    offset: list[int]

    def windows(self, example_bytes: int) -> list[tuple[int, int]]:
        """Return ranges of steps whose examples fit in `WINDOW_BYTES`, or of one step."""
        found, first = [], 0
        for t in range(1, len(self.offset)):
            last = t == len(self.offset) - 1
            if last or (self.offset[t + 1] - self.offset[first]) * example_bytes > WINDOW_BYTES:
                found.append((first, t))
                first = t
        return found


def make_plan(
    rows: Sequence[Tensor],
    epochs: Int[np.ndarray, " k"],
    batch: Int[np.ndarray, " k"],
    seeds: list[int],
) -> Plan:
    """Draw each job's order of its rows, and lay out the steps; see `Plan`."""
    n = np.array([own.shape[0] for own in rows])  # len is twice as slow
    width = np.minimum(batch, n)
    per_epoch = -(-n // width)
    total = epochs * n
    gen, orders = torch.Generator(), []
    for m, e, seed in zip(n.tolist(), epochs.tolist(), seeds, strict=True):
        orders += _orders(m, e, gen.manual_seed(seed))
    order = torch.cat(orders).numpy() + (n.cumsum() - n).repeat(total)
    # each minibatch: step, job, number of examples, first place in `order`
    at_work = len(n) - np.bincount(epochs * per_epoch).cumsum()[:-1]
    t = np.arange(len(at_work)).repeat(at_work)
    job = _count_each(at_work)
    epoch, place = np.divmod(t, per_epoch[job])
    done = place * width[job]
    size = np.minimum(width[job], n[job] - done)
    begin = (total.cumsum() - total)[job] + epoch * n[job] + done
    b = np.maximum.reduceat(size, at_work.cumsum() - at_work)
    # the same for each entry
    begin, size = begin.repeat(b[t]), size.repeat(b[t])
    column = _count_each(b[t])
    real = column < size
    filled = torch.cat([*rows]).numpy()[order[begin + column * real]]
    share = real / size
    offset = np.concatenate([[0], (at_work * b).cumsum()])
    parts = torch.from_numpy(filled), torch.from_numpy(share)
    return Plan(*parts, at_work.tolist(), b.tolist(), offset.tolist())


def _count_each(lengths: Int[np.ndarray, " m"]) -> Int[np.ndarray, " entries"]:
    """Count from 0 to below each length, one after another."""
    return np.arange(lengths.sum()) - (lengths.cumsum() - lengths).repeat(lengths)
