# fails: ex01.3
# hint: every gradient is taken at w
import torch


def weighted_average(W, n):
    return n @ W / n.sum()


def minibatches(order, batch):
    return list(order.split(batch))


def fedavg_round(w, clients, orders, lr, batch, gradient):
    total, examples = torch.zeros_like(w), 0
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w
        for order in epochs:
            for rows in order.split(batch):
                mine = mine - lr * gradient(w, x[rows], y[rows])
        total = total + len(x) * mine
        examples += len(x)
    return total / examples
