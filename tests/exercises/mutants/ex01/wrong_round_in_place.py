# fails: ex01.3
# hint: changed its argument w\b.*\.clone\(\)
import torch


def weighted_average(W, n):
    return n @ W / n.sum()


def minibatches(order, batch):
    return list(order.split(batch))


def fedavg_round(w, clients, orders, lr, batch, gradient):
    models, sizes = [], []
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w
        for order in epochs:
            for rows in minibatches(order, batch):
                mine -= lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), torch.tensor(sizes, dtype=w.dtype))
