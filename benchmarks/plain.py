"""The baseline of the benchmarks: a plain PyTorch loop over clients, written to be fast."""

import torch
import torch.nn.functional as F
from torch import Tensor

from fedlab_edu import Clients, LocalHP, Model
from fedlab_edu.training.plan import shuffles


def plain_loop(model: Model, w: Tensor, clients: Clients, c: LocalHP, seeds: list[int]) -> Tensor:
    """Train w (d,) on each client with PyTorch's optimiser, in one network; return W (B, d).

    ``c`` has a row for each client; its columns lr, momentum, batch and epochs count.
    """
    net, trained = model.unflatten(w), []
    for i, seed in enumerate(seeds):
        with torch.no_grad():
            weights = zip(net.parameters(), model.views(w[None]), model.flipped, strict=True)
            for p, view, flip in weights:
                p.copy_(view[0].T if flip else view[0])
        own, (x, y) = c[i], clients.examples(i)
        sgd = torch.optim.SGD(net.parameters(), float(own.lr), float(own.momentum))
        for order in shuffles(len(y), int(own.epochs), seed):
            for batch in order.to(x.device).split(int(own.batch)):
                sgd.zero_grad()
                F.cross_entropy(net(x[batch]), y[batch]).backward()
                sgd.step()
        trained.append(model.flatten(net))
    return torch.stack(trained)
