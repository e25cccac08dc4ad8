# fails: ex01.2
# hint: last short minibatch is missing
import torch


def weighted_average(W, n):
    return n @ W / n.sum()


def minibatches(order, batch):
    batches = []
    for k in range(len(order) // batch):
        batches.append(order[k * batch : (k + 1) * batch])
    return batches


def fedavg_round(w, clients, orders, lr, batch, gradient):
    total, examples = torch.zeros_like(w), 0
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w
        for order in epochs:
            for rows in order.split(batch):
                mine = mine - lr * gradient(mine, x[rows], y[rows])
        total = total + len(x) * mine
        examples += len(x)
    return total / examples
