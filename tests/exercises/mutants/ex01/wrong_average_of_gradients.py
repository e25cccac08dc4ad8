# fails: ex01.3
# hint: averages the clients' gradients at w
import torch


def weighted_average(W, n):
    return n @ W / n.sum()


def minibatches(order, batch):
    return list(order.split(batch))


def fedavg_round(w, clients, orders, lr, batch, gradient):
    gradients = torch.stack([gradient(w, x, y) for x, y in clients])
    n = torch.tensor([len(x) for x, _ in clients], dtype=w.dtype)
    return w - lr * weighted_average(gradients, n)
