# Vectorised, and the round does not use the other two functions.
import torch


def weighted_average(W, n):
    return (n / n.sum()) @ W


def minibatches(order, batch):
    return order.split(batch)


def fedavg_round(w, clients, orders, lr, batch, gradient):
    def train(x, y, epochs):
        mine = w.clone().requires_grad_()
        for rows in [rows for order in epochs for rows in order.split(batch)]:
            mine = mine - lr * gradient(mine.detach(), x[rows], y[rows])
        return mine

    n = torch.tensor([len(y) for _, y in clients])
    ends = torch.stack([train(x, y, o) for (x, y), o in zip(clients, orders, strict=True)])
    return (n[:, None] * ends).sum(0) / n.sum()
