# %% [markdown]
# # Exercise 1: federated averaging
#
# Some clients have examples that must not leave them. In one round of federated averaging
# (FedAvg) the server sends its model, a vector `w`, to the clients. Each client makes a copy of
# `w` and improves the copy by some epochs of stochastic gradient descent on its own examples. The
# server receives the clients' models, not their examples, and replaces `w` by the average of
# these models, in which a client with more examples weighs more.
#
# - **Core**, 50 minutes, 10 points: the average (1.1) and the round (1.2) as plain functions.
#   Nothing in them is random: the orders in which the clients visit their examples are arguments,
#   so the same arguments always give the same answer.
# - **Experiment**, 60 minutes, 12 points (1.3): what long local training does to skewed clients.

# %%
from collections.abc import Callable

import torch
from torch import Tensor


# %% tags=["exercise", "q1"]
def weighted_average(W: Tensor, n: Tensor) -> Tensor:
    """Exercise 1.1: the average of the clients' models, weighted by their
    numbers of examples.

    Args:
        W: (B, d), row i is the model w_i of client i.
        n: (B,), n_i is the number of examples of client i, in the dtype of W.

    Returns: (d,), sum_i n_i w_i / sum_i n_i. W and n are not changed.

    Roughly 4 lines.
    """
    # BEGIN SOLUTION
    total = torch.zeros_like(W[0])
    for w_i, n_i in zip(W, n, strict=True):
        total = total + n_i * w_i
    return total / n.sum()
    # END SOLUTION


# %% tags=["exercise", "q2"]
def fedavg_round(
    w: Tensor,
    clients: list[tuple[Tensor, Tensor]],
    orders: list[list[Tensor]],
    lr: float,
    batch: int,
    gradient: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Tensor:
    """Exercise 1.2: one round of federated averaging in which all the given
    clients take part.

    Args:
        w: (d,), the server's model.
        clients: for each client its inputs x (n_i, ...) and targets y (n_i,).
        orders: for each client a list with one order per epoch: a tensor (n_i,)
            of the positions 0, ..., n_i - 1 of its examples, in the order in
            which this epoch visits them.
        lr: the learning rate; a step of local training is w_i <-
            w_i - lr * gradient.
        batch: the size of the minibatches: the first `batch` entries of an
            order, then the next `batch`, and so on. The last minibatch of an
            epoch may be shorter, and is never empty.
        gradient: `gradient(w, x, y)`, the gradient (d,) of the mean loss of the
            model w on the examples x, y of one minibatch.

    Returns: (d,), the server's new model: the average of the clients' models,
        weighted by their numbers of examples. Each client starts from w. The
        arguments are not changed.

    Roughly 12 lines; you may use your function from above.
    """
    # BEGIN SOLUTION
    models, sizes = [], []
    for (x, y), epochs in zip(clients, orders, strict=True):
        w_i = w.clone()
        for order in epochs:
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                w_i = w_i - lr * gradient(w_i, x[rows], y[rows])
        models.append(w_i)
        sizes.append(len(x))
    return weighted_average(torch.stack(models), w.new_tensor(sizes))
    # END SOLUTION


# %% [markdown]
# ## Exercise 1.3: an experiment
#
# Clients that train longer move further apart. But their average moves further, too. Which of the
# two grows faster? `fedlab_edu.experiments.drift.relative_drift(alpha, epochs, seed)` plays one
# round and returns how far the clients end from their average, divided by how far the average has
# moved. Below 1 the clients agree more than they differ. `alpha` says how alike the clients are:
# with 100 all have the ten digits in nearly equal shares; with 0.1 two digits make up about four
# fifths of a typical client's images (its labels are *skewed*).
#
# 1. Predict, before you measure, what happens for very skewed clients (`alpha = 0.1`) when they
#    train for 8 epochs in place of 1.
# 2. Measure: write `table_3` and `interval_3`, and run, in the folder of this file,
#
#        from my_ex01 import interval_3, table_3  # the name of your file
#        from fedlab_edu.experiments.drift import relative_drift
#
#        conditions = [(100.0, 1), (100.0, 8), (0.1, 1), (0.1, 8)]  # alpha, epochs
#        table = table_3(relative_drift, conditions, range(6))
#        for condition, row in zip(conditions, table):
#            print(condition, "mean", sum(row) / len(row))
#        print(interval_3(table[2], table[3], 2.571))
#
#    The runs are *paired*: all conditions see the same seeds, so the luck of a seed cancels in a
#    difference. 2.571 is the 97.5 % quantile of Student's distribution with 5 degrees of freedom.
# 3. Interpret in three sentences.


# %% tags=["exercise", "q3"]
def predict_3() -> str:
    """Exercise 1.3: your prediction; a wrong one costs nothing.

    Returns: what the relative drift of very skewed clients does from 1 epoch to
        8, one of "grows", "stays" and "shrinks".
    """
    # BEGIN SOLUTION
    return "shrinks"
    # END SOLUTION


# %% tags=["exercise"]
def table_3(
    run: Callable[[float, int, int], float],
    conditions: list[tuple[float, int]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(alpha, epochs, seed)` returns one number, as `relative_drift`.
        conditions: pairs (alpha, epochs).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    return [
        [run(alpha, epochs, seed) for seed in seeds]
        for alpha, epochs in conditions
    ]
    # END SOLUTION


# %% tags=["exercise"]
def interval_3(
    first: list[float], second: list[float], t: float
) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference second - first of paired
    runs.

    Args:
        first: numbers x_s of one condition, one for each of n >= 2 seeds s.
        second: numbers y_s of the other condition with the same seeds.
        t: the 97.5 % quantile of Student's distribution with n - 1 degrees of
            freedom.

    Returns: the ends (d - h, d + h), where d is the mean of the n differences
        y_s - x_s and h = t * sd / sqrt(n), with their standard deviation sd
        (divided by n - 1 under the root).

    Roughly 6 lines.
    """
    # BEGIN SOLUTION
    differences = [y - x for x, y in zip(first, second, strict=True)]
    n = len(differences)
    d = sum(differences) / n
    sd = (sum((x - d) ** 2 for x in differences) / (n - 1)) ** 0.5
    h = t * sd / n**0.5
    return d - h, d + h
    # END SOLUTION


# %% tags=["exercise"]
def reading_3() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        interval; why it is so, with the numbers at alpha = 100 in mind; what
        this experiment cannot tell.
    """
    # BEGIN SOLUTION
    return """I predicted that the relative drift of skewed clients shrinks, and
    from 1 epoch to 8 it did: by 0.83, with the 95 % interval from 0.73 to 0.92.
    It divides how far the clients end apart by how far their average moves;
    both grow with the epochs, the second one faster, and at alpha = 100 this is
    so as well (from 0.51 to 0.37), so skew sets the level and not the
    direction. This is one round of one model from random weights: whether
    longer training helps the rounds that follow it cannot tell, because drift
    itself still grows."""
    # END SOLUTION
