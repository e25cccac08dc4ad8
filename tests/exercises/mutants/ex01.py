"""Typical answers to exercise 1, right and wrong."""

import math
from dataclasses import dataclass

import torch

from fedlab_grade.mutants import edits, include, right, wrong


@right
class long:
    """Index by index, with helpers, classes and prints of the student's own."""

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
            for rows in minibatches(order, batch):  # a helper of the student's own
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


@right
class short:
    """Vectorised, and the round does not use the average."""

    def weighted_average(W, n):
        return (n / n.sum()) @ W

    def fedavg_round(w, clients, orders, lr, batch, gradient):
        def train(x, y, epochs):
            mine = w.clone().requires_grad_()
            for rows in [rows for order in epochs for rows in order.split(batch)]:
                mine = mine - lr * gradient(mine.detach(), x[rows], y[rows])
            return mine

        n = torch.tensor([len(y) for _, y in clients])
        ends = torch.stack([train(x, y, o) for (x, y), o in zip(clients, orders, strict=True)])
        return (n[:, None] * ends).sum(0) / n.sum()


@wrong("ex01.1", "average in place", r"changed its argument W\b.*\.clone\(\)")
def weighted_average(W, n):
    for w_i, n_i in zip(W, n, strict=True):
        w_i *= n_i
    return W.sum(0) / n.sum()


@wrong("ex01.1", "average over the weights", "must run over the clients")
def weighted_average(W, n):
    return W.mean(1)


@wrong("ex01.1", "divided by the number of clients", "by the number of clients")
def weighted_average(W, n):
    return sum(n[i] * W[i] for i in range(len(W))) / len(W)


@wrong("ex01.1", "not divided", "not yet divided by the sum of all n_i")
def weighted_average(W, n):
    average = torch.zeros(W.shape[1], dtype=W.dtype)
    for i in range(len(W)):
        average += n[i] * W[i]
    return average


@wrong("ex01.1", "plain mean", "plain mean")
def weighted_average(W, n):
    return W.mean(0)


@wrong("ex01.1", "first model", "first client's model")
def weighted_average(W, n):
    return W[0].clone()


@wrong("ex01.1", "not added up", "not yet added up")
def weighted_average(W, n):
    return n[:, None] * W


def play(split, w, clients, orders, lr, gradient):
    models = []
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w
        for rows in [rows for order in epochs for rows in split(order)]:
            mine = mine - lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
    n = torch.tensor([len(x) for x, _ in clients], dtype=w.dtype)
    return n @ torch.stack(models) / n.sum()


@edits("ex01.2", {
    "batch many minibatches": ("size of a minibatch, not their number", ".split", ".chunk"),
    "minibatches without order": ("visited as they lie: use the given orders",
        "order.", "torch.arange(len(order))."),
    "one minibatch an epoch": ("its first minibatch only", "order.split(batch)", "[order[:batch]]"),
})  # fmt: skip
def fedavg_round(w, clients, orders, lr, batch, gradient):
    return play(lambda order: order.split(batch), w, clients, orders, lr, gradient)


@wrong("ex01.2", "empty minibatch", "given an empty minibatch")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    def split(order):
        return [order[k * batch : (k + 1) * batch] for k in range(len(order) // batch + 1)]

    return play(split, w, clients, orders, lr, gradient)


@wrong("ex01.2", "no short minibatch", "last short minibatch of an epoch is missing")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    def split(order):
        return [order[k * batch : (k + 1) * batch] for k in range(len(order) // batch)]

    return play(split, w, clients, orders, lr, gradient)


@wrong("ex01.2", "overlapping minibatches", "the minibatches overlap")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    def split(order):
        return [order[i : i + batch] for i in range(len(order))]

    return play(split, w, clients, orders, lr, gradient)


@wrong("ex01.2", "average of gradients", "averages the clients' gradients at w")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    gradients = torch.stack([gradient(w, x, y) for x, y in clients])
    n = torch.tensor([len(x) for x, _ in clients], dtype=w.dtype)
    return w - lr * weighted_average(gradients, n)


@wrong("ex01.2", "each epoch from w", "only the last epoch counts")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    models, sizes = [], []
    for (x, y), epochs in zip(clients, orders, strict=True):
        for order in epochs:
            mine = w.clone()
            for rows in order.split(batch):
                mine -= lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), torch.tensor(sizes, dtype=w.dtype))


@wrong("ex01.2", "first epoch only", "only the first epoch")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    models, sizes = [], []
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w
        for rows in epochs[0].split(batch):
            mine = mine - lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), torch.tensor(sizes, dtype=w.dtype))


@wrong("ex01.2", "gradients at w", "every gradient is taken at w")
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


@wrong("ex01.2", "one client after another", "one after another: each must start from w")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    models, sizes = [], []
    new = w.clone()
    for (x, y), epochs in zip(clients, orders, strict=True):
        for order in epochs:
            for rows in order.split(batch):
                new = new - lr * gradient(new, x[rows], y[rows])
        models.append(new)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), torch.tensor(sizes, dtype=w.dtype))


@wrong("ex01.2", "plain mean of models", "plain mean of the clients' models")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    models = []
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w.clone()
        for order in epochs:
            for rows in order.split(batch):
                mine -= lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
    return sum(models) / len(models)


@wrong("ex01.2", "round in place", r"changed its argument w\b.*\.clone\(\)")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    models, sizes = [], []
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w
        for order in epochs:
            for rows in order.split(batch):
                mine -= lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), torch.tensor(sizes, dtype=w.dtype))


@right
class surprised:
    """Another prediction."""

    def predict_3():
        return "grows"

    def reading_3():
        return (
            "I was wrong: it fell by 0.83 [0.73, 0.92]! Why? Because the average moves further, "
            "at alpha = 100 too. One round cannot tell about the last one."
        )


include("experiments.py", "ex01.3")
