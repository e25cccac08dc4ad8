# %% [markdown]
# # Exercise 2: every method is Loc and Agg
#
# A round of any federated method has two parts. In `Loc` a client turns the model that it receives
# into something to send back; in `Agg` the server turns what it receives into its next model. The
# methods differ in surprisingly few lines of these two parts.
#
# - **Core**, 90 minutes, 17 points: you write these lines for three methods. SCAFFOLD (Karimireddy
#   et al., 2020) changes `Loc` (2.1) and `Agg` (2.2), and keeps control variates. FedDyn (Acar et
#   al., 2021) has an `Agg` (2.3) with a memory h. MAML (Finn et al., 2017) sends back a gradient in
#   place of a model (2.4).
# - **Experiment**, 60 minutes, 12 points (2.5): what SCAFFOLD gains as clients differ more.
#
# Models are vectors (d,) of float64. Nothing here is random, and no function may change its
# arguments: what a method keeps from round to round goes in as an argument, and its next value
# comes out.

# %%
from collections.abc import Callable

import torch
from torch import Tensor


# %% tags=["exercise", "q1"]
def scaffold_local(
    x: Tensor,
    control_i: Tensor,
    control: Tensor,
    lr: float,
    steps: int,
    gradient: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """Exercise 2.1: local training of SCAFFOLD, and the client's next control
    variate.

    The client's control variate c_i estimates its own gradient, the server's c
    that of all clients. Adding c - c_i to each gradient corrects the drift
    towards the client's own optimum.

    Args:
        x: (d,), the model that the client received.
        control_i: (d,), the client's control variate c_i.
        control: (d,), the server's control variate c.
        lr: the learning rate.
        steps: K, the number of local steps, at least 1.
        gradient: `gradient(y)`, the gradient (d,) of the client's loss at the
            model y.

    Returns: a pair (y, new_control_i).
        y: (d,), the client's model: it starts at x and takes K steps
            y <- y - lr * (gradient(y) - c_i + c).
        new_control_i: (d,), the client's next control variate
            c_i - c + (x - y) / (K lr), with the last y ("option II" in the
            paper, option 2 in the book).
        x, control_i and control are not changed.

    Roughly 5 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def scaffold_server(
    x: Tensor,
    control: Tensor,
    ys: Tensor,
    new_controls: Tensor,
    old_controls: Tensor,
    server_lr: float,
    clients: int,
) -> tuple[Tensor, Tensor]:
    """Exercise 2.2: the server's part of a round of SCAFFOLD, in which B of N
    clients took part.

    Args:
        x: (d,), the server's model, which the clients received.
        control: (d,), the server's control variate c.
        ys: (B, d), row i is the model y_i of the i-th client of the round.
        new_controls: (B, d), row i is its control variate c_i after local
            training.
        old_controls: (B, d), row i is its control variate c_i before.
        server_lr: the server's learning rate.
        clients: N, the number of all clients, B of which took part.

    Returns: a pair (x, control).
        x: (d,), the next model: x plus server_lr times the plain mean over the
            round of y_i - x.
        control: (d,), the next control variate: c plus the sum over the round
            of (new c_i - old c_i), divided by N. So c stays the mean of all
            clients' c_i if it was that before.
        The arguments are not changed.

    Roughly 3 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def feddyn_server(
    w: Tensor, W: Tensor, h: Tensor, alpha: float, clients: int
) -> tuple[Tensor, Tensor]:
    """Exercise 2.3: the server's part of a round of FedDyn, in which B of m
    clients took part.

    Args:
        w: (d,), the server's model, which the clients received.
        W: (B, d), row i is the model w_i of the i-th client of the round.
        h: (d,), what the server keeps from round to round.
        alpha: the strength of the clients' pull towards w, above 0.
        clients: m, the number of all clients (N in 2.2), B of which took part.

    Returns: a pair (w, h).
        w: (d,), the next model: the plain mean of the w_i, minus h/alpha with
            the *next* h.
        h: (d,), the next h: h - alpha/m times the sum over the round of
            w_i - w.
        The arguments are not changed.

    Roughly 3 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q4"]
def maml_gradient(
    w: Tensor,
    A_train: Tensor,
    mu_train: Tensor,
    A_val: Tensor,
    mu_val: Tensor,
    lr: float,
    steps: int,
) -> tuple[Tensor, Tensor]:
    """Exercise 2.4: a client's adapted model, and the gradient that it sends to
    the server of MAML.

    The client's training loss is the quadratic 1/2 (w - mu)' A (w - mu) with
    A_train and mu_train (' is the transpose; mu is where the loss is lowest,
    not FedProx's mu), whose gradient is A (w - mu); its validation loss is the
    one with A_val and mu_val.

    The client adapts w by K steps of gradient descent on its training loss.
    What it reports is how its validation loss *after* adaptation depends on w,
    the model *before*. A step takes w_k to w_k - lr A_train (w_k - mu_train),
    which has the Jacobian I - lr A_train. By the chain rule the gradient is a
    product of K such matrices, times the gradient of the validation loss at
    w_K.

    Args:
        w: (d,), the model that the client received.
        A_train, A_val: (d, d), symmetric matrices.
        mu_train, mu_val: (d,), where the training and the validation loss are
            lowest.
        lr: the learning rate of adaptation.
        steps: K, the number of steps of adaptation, at least 0.

    Returns: a pair (adapted, meta_gradient).
        adapted: (d,), the model w_K after K steps from w.
        meta_gradient: (d,), the gradient of the validation loss of w_K with
            respect to w.
        The arguments are not changed.

    Roughly 7 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% [markdown]
# ## Exercise 2.5: an experiment
#
# SCAFFOLD's steps have a correction that FedAvg's lack. When is it worth its memory?
# `fedlab_edu.experiments.skew.error(method, alpha, seed)` trains a network on ten clients for ten
# rounds, and returns how many per cent of the test images it gets wrong. The method is "scaffold",
# or "plain": the same without the correction, an average in which all clients count the same.
#
# 1. Predict, before you measure, what SCAFFOLD's gain does as the clients' labels become more
#    skewed (`alpha` from 100 down to 0.1).
# 2. Measure: write `table_5` and `interval_5`, and run, in the folder of this file,
#
#        from my_ex02 import interval_5, table_5  # the name of your file
#        from fedlab_edu.experiments.skew import error
#
#        conditions = [(m, alpha) for alpha in (100.0, 1.0, 0.1) for m in ("plain", "scaffold")]
#        table = table_5(error, conditions, range(6))
#        for i in (0, 2, 4):
#            print(conditions[i], interval_5(table[i], table[i + 1], 2.571))
#
#    This takes some seconds. The runs are *paired*: both methods see the same clients,
#    initial weights and minibatches of a seed, so its luck cancels in their difference. 2.571 is
#    the 97.5 % quantile of Student's distribution with 5 degrees of freedom.
# 3. Interpret in three sentences.


# %% tags=["exercise", "q5"]
def predict_5() -> str:
    """Exercise 2.5: your prediction; a wrong one costs nothing.

    Returns: what SCAFFOLD's gain does as the labels become more skewed, one of
        "grows", "stays" and "shrinks".
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def table_5(
    run: Callable[[str, float, int], float],
    conditions: list[tuple[str, float]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(method, alpha, seed)` returns one number, as `error`.
        conditions: pairs (method, alpha).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def interval_5(
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
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def reading_5() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        intervals; why it is so; what this experiment cannot tell.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
