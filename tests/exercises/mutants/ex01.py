"""Typical answers to exercise 1, right and wrong."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from fedlab_grade.mutants import right, wrong


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


@wrong("ex01.2", "batch many minibatches", "size of a minibatch, not their number")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    return play(lambda order: order.chunk(batch), w, clients, orders, lr, gradient)


@wrong("ex01.2", "empty minibatch", "given an empty minibatch")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    def split(order):
        return [order[k * batch : (k + 1) * batch] for k in range(len(order) // batch + 1)]

    return play(split, w, clients, orders, lr, gradient)


@wrong("ex01.2", "minibatches without order", "visited as they lie: use the given orders")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    return play(
        lambda order: torch.arange(len(order)).split(batch), w, clients, orders, lr, gradient
    )


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


@wrong("ex01.2", "one minibatch an epoch", "its first minibatch only")
def fedavg_round(w, clients, orders, lr, batch, gradient):
    return play(lambda order: [order[:batch]], w, clients, orders, lr, gradient)


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
class by_numpy:
    """The experiment with NumPy, and another prediction."""

    def predict_3():
        return "grows"

    def table_3(run, conditions, seeds):
        table = np.empty((len(conditions), len(seeds)))
        for i, (alpha, epochs) in enumerate(conditions):
            for j, seed in enumerate(seeds):
                table[i, j] = run(alpha, epochs, seed)
        return table

    def interval_3(first, second, t):
        d = np.array(second) - np.array(first)
        half = t * d.std(ddof=1) / np.sqrt(len(d))
        return np.array([d.mean() - half, d.mean() + half])

    def reading_3():
        return (
            "I was wrong: it fell by 0.83 [0.73, 0.92]! Why? Because the average moves further, "
            "at alpha = 100 too. One round cannot tell about the last one."
        )


@wrong("ex01.3", "a prediction of one's own", "'it grows a lot', expected one of 'grows', 'stays'")
def predict_3():
    return "it grows a lot"


@wrong("ex01.3", "no prediction", "predict_3 returned None, expected one of")
def predict_3():
    "grows"


@wrong("ex01.3", "table transposed", "a row is a condition and a column a seed")
def table_3(run, conditions, seeds):
    return [[run(*condition, seed) for condition in conditions] for seed in seeds]


@wrong("ex01.3", "table of means", "do not average over the seeds")
def table_3(run, conditions, seeds):
    return [sum(run(*condition, s) for s in seeds) / len(seeds) for condition in conditions]


@wrong("ex01.3", "one seed", "run it with each of the seeds")
def table_3(run, conditions, seeds):
    return [[run(*condition, seeds[0])] for condition in conditions]


@wrong("ex01.3", "numbers of the instructor's machine", "A row for each condition")
def table_3(run, conditions, seeds):
    return [[0.5 for _ in seeds] for _ in conditions]


@wrong("ex01.3", "unpaired", "two separate samples: take the differences of the pairs")
def interval_3(first, second, t):
    x, y = torch.tensor(first, dtype=torch.float64), torch.tensor(second, dtype=torch.float64)
    half = t * ((x.var() + y.var()) / len(x)).sqrt()
    d = y.mean() - x.mean()
    return (d - half).item(), (d + half).item()


@wrong("ex01.3", "first minus second", "it is second - first")
def interval_3(first, second, t):
    d = np.array(first) - np.array(second)
    half = t * d.std(ddof=1) / np.sqrt(len(d))
    return d.mean() - half, d.mean() + half


@wrong("ex01.3", "sd by n", "divides by n here: it divides by n - 1")
def interval_3(first, second, t):
    d = np.array(second) - np.array(first)
    half = t * d.std() / np.sqrt(len(d))
    return d.mean() - half, d.mean() + half


@wrong("ex01.3", "no root of n", r"not yet divided by sqrt\(n\)")
def interval_3(first, second, t):
    d = np.array(second) - np.array(first)
    return d.mean() - t * d.std(ddof=1), d.mean() + t * d.std(ddof=1)


@wrong("ex01.3", "mean and half-width", "return the two ends")
def interval_3(first, second, t):
    d = np.array(second) - np.array(first)
    return d.mean(), t * d.std(ddof=1) / np.sqrt(len(d))


@wrong("ex01.3", "one sentence", "returned 1 sentences of")
def reading_3():
    return "It grows because clients drift."


@wrong("ex01.3", "no number", "names no number of your table")
def reading_3():
    return (
        "As predicted, relative drift grows with more epochs for all clients. It is because "
        "clients that train longer drift apart. This is only one data set, and one model."
    )
