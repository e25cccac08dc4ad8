# %% [markdown]
# # Exercise 1: federated averaging
#
# Some clients have examples that must not leave them. In one round of federated averaging
# (FedAvg) the server sends its model, a vector `w`, to the clients. Each client makes a copy of
# `w` and improves the copy by some epochs of stochastic gradient descent on its own examples. The
# server receives the clients' models, not their examples, and replaces `w` by the average of
# these models, in which a client with more examples weighs more.
#
# You write the three parts of such a round as plain functions: the average, the minibatches of
# one epoch, and the round itself. Nothing in them is random: the orders in which the clients
# visit their examples are arguments, so the same arguments always give the same answer.

# %%
from collections.abc import Callable

import torch
from torch import Tensor


# %% tags=["exercise", "q1"]
def weighted_average(W: Tensor, n: Tensor) -> Tensor:
    """Exercise 1.1: the average of the clients' models, weighted by their numbers of examples.

    Args:
        W: (B, d), row i is the model w_i of client i.
        n: (B,), n_i is the number of examples of client i, in the dtype of W.

    Returns: (d,), sum_i n_i w_i / sum_i n_i. W and n are not changed.

    Roughly 4 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def minibatches(order: Tensor, batch: int) -> list[Tensor]:
    """Exercise 1.2: the minibatches of one epoch of one client.

    Args:
        order: (n,), the positions 0, ..., n - 1 of the client's examples, in the order in which
            this epoch visits them.
        batch: how many examples a minibatch has, at least 1.

    Returns: a list of tensors of positions: the first `batch` entries of `order`, then the next
        `batch`, and so on. The last minibatch holds what is left: it may be shorter, and it is
        never empty. A client with fewer than `batch` examples has one minibatch.

    Roughly 4 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def fedavg_round(
    w: Tensor,
    clients: list[tuple[Tensor, Tensor]],
    orders: list[list[Tensor]],
    lr: float,
    batch: int,
    gradient: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Tensor:
    """Exercise 1.3: one round of federated averaging in which all the given clients take part.

    Args:
        w: (d,), the server's model.
        clients: for each client its inputs x (n_i, ...) and targets y (n_i,).
        orders: for each client a list with one order (n_i,) of its examples per epoch, as in 1.2.
        lr: the learning rate; a step of local training is w_i <- w_i - lr * gradient.
        batch: the size of the minibatches, as in 1.2.
        gradient: `gradient(w, x, y)`, the gradient (d,) of the mean loss of the model w on the
            examples x, y of one minibatch.

    Returns: (d,), the server's new model: the average of the clients' models, weighted by their
        numbers of examples. Each client starts from w. The arguments are not changed.

    Roughly 10 lines; you may use your two functions from above.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
