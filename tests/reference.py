"""The definition of local training: a plain PyTorch loop over clients and minibatches.

Nothing here is shared with the engine but the order of the examples, which is an input of both.
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor

from fedlab_edu import Clients, LocalHP, Model


def windows(text: str, length: int, step: int = 1) -> list[tuple[str, str]]:
    """Every step-th window of a text, with the character after it."""
    starts = range(0, len(text) - length, step)
    return [(text[i : i + length], text[i + length]) for i in starts]


def plain_loop(
    model: Model, w: Tensor, clients: Clients, c: LocalHP, seeds: list[int], adam: bool = False
) -> Tensor:
    """W (B, d): one deep copy of the network and one optimiser for each client in turn."""
    trained = []
    for i, seed in enumerate(seeds):
        x, y = clients.examples(i)
        own = c[i] if len(c) > 1 else c[0]
        start = model.unflatten(w[i] if w.dim() == 2 else w)
        net = copy.deepcopy(start)
        lr, momentum, decay = (float(h) for h in (own.lr, own.momentum, own.weight_decay))
        optimizer: torch.optim.Optimizer
        if adam:
            optimizer = torch.optim.Adam(net.parameters(), lr, (momentum, 0.999), 1e-8, decay)
        else:
            optimizer = torch.optim.SGD(net.parameters(), lr, momentum, weight_decay=decay)
        gen = torch.Generator().manual_seed(seed)
        for _ in range(int(own.epochs)):
            for batch in torch.randperm(len(y), generator=gen).split(int(own.batch)):
                pairs = zip(net.parameters(), start.parameters(), strict=True)
                distance = sum(((p - q.detach()) ** 2).sum() for p, q in pairs)
                loss = F.cross_entropy(net(x[batch]), y[batch]) + float(own.mu) / 2 * distance
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        trained.append(model.flatten(net))
    return torch.stack(trained)
