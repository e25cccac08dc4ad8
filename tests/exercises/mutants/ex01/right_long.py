"""Index by index, with helpers, classes and prints of the student's own."""

import math
from dataclasses import dataclass

import torch


@dataclass
class Client:
    x: torch.Tensor
    y: torch.Tensor
    orders: list


def weighted_average(models, counts):
    result = torch.zeros(models.shape[1], dtype=torch.float64)
    for j in range(models.shape[1]):
        for i in range(models.shape[0]):
            result[j] += counts[i] * models[i, j]
    print("averaged", models.shape)
    return result / sum(counts)


def minibatches(order, batch):
    result = []
    for k in range(math.ceil(len(order) / batch)):
        last = min(len(order), (k + 1) * batch)
        result.append(torch.tensor([int(order[i]) for i in range(k * batch, last)]))
    return result


@torch.no_grad()
def local_training(client, w, lr, batch, gradient):
    w = w.clone()
    for order in client.orders:
        for rows in minibatches(order, batch):
            w -= lr * gradient(w, client.x[rows], client.y[rows])
            print("step", w[0])
    return w


def fedavg_round(w, clients, orders, lr, batch, gradient):
    everyone = [Client(x, y, o) for (x, y), o in zip(clients, orders, strict=True)]
    rows = torch.empty(len(everyone), len(w), dtype=w.dtype)
    for i, client in enumerate(everyone):
        rows[i] = local_training(client, w, lr, batch, gradient)
    return weighted_average(rows, [len(client.y) for client in everyone])


if __name__ == "__main__":
    print("this is not run by the check")
