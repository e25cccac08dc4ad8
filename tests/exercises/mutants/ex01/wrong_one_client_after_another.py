# fails: ex01.3
# hint: one after another: each must start from w
import torch


def weighted_average(W, n):
    return n @ W / n.sum()


def minibatches(order, batch):
    return list(order.split(batch))


def fedavg_round(w, clients, orders, lr, batch, gradient):
    models, sizes = [], []
    new = w.clone()
    for (x, y), epochs in zip(clients, orders, strict=True):
        for order in epochs:
            for rows in minibatches(order, batch):
                new = new - lr * gradient(new, x[rows], y[rows])
        models.append(new)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), torch.tensor(sizes, dtype=w.dtype))
