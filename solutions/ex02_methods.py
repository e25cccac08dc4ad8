# %% [markdown]
# # Exercise 2: every method is Loc and Agg
#
# A round of any federated method has two parts. In `Loc` a client turns the model that it receives
# into something to send back; in `Agg` the server turns what it receives into its next model. The
# methods differ in surprisingly few lines of these two parts, and you write those lines for four:
#
# - **FedProx** (Li et al., 2020) changes the gradient in `Loc`,
# - **SCAFFOLD** (Karimireddy et al., 2020) changes `Loc` and `Agg`, and keeps control variates,
# - **FedDyn** (Acar et al., 2021) changes both; you write its `Agg`, which keeps a vector `h`,
# - **MAML** (Finn et al., 2017) sends back a gradient in place of a model.
#
# Models are vectors (d,) of float64. Nothing here is random, and no function may change its
# arguments: what a method keeps from round to round goes in as an argument, and its next value
# comes out.

# %%
from collections.abc import Callable

import torch
from torch import Tensor


# %% tags=["exercise", "q1"]
def fedprox_gradient(g: Tensor, w_i: Tensor, w: Tensor, mu: float) -> Tensor:
    """Exercise 2.1: the gradient of FedProx's local objective at a client's model.

    A client of FedProx does not minimise its loss F_i(w_i) alone but F_i(w_i) + mu/2 |w_i - w|^2:
    its model is pulled back to the one that it received.

    Args:
        g: (d,), the gradient of F_i at w_i.
        w_i: (d,), the client's model.
        w: (d,), the model that the client received; it is the same in all local steps.
        mu: how strong the pull is, at least 0.

    Returns: (d,), the gradient of F_i(w_i) + mu/2 |w_i - w|^2 with respect to w_i. g, w_i and w are
        not changed.

    Roughly 1 line.
    """
    # BEGIN SOLUTION
    return g + mu * (w_i - w)
    # END SOLUTION


# %% tags=["exercise", "q2"]
def scaffold_local(
    x: Tensor,
    control_i: Tensor,
    control: Tensor,
    lr: float,
    steps: int,
    gradient: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """Exercise 2.2: local training of SCAFFOLD, and the client's next control variate.

    The client's control variate c_i estimates its own gradient, the server's c that of all clients.
    Adding c - c_i to each gradient corrects the drift towards the client's own optimum.

    Args:
        x: (d,), the model that the client received.
        control_i: (d,), the client's control variate c_i.
        control: (d,), the server's control variate c.
        lr: the learning rate.
        steps: K, the number of local steps, at least 1.
        gradient: `gradient(y)`, the gradient (d,) of the client's loss at the model y.

    Returns: a pair (y, new_control_i).
        y: (d,), the client's model: it starts at x and takes K steps
            y <- y - lr * (gradient(y) - c_i + c).
        new_control_i: (d,), the client's next control variate c_i - c + (x - y) / (K lr), with the
            last y ("option II" in the paper, option 2 in the book).
        x, control_i and control are not changed.

    Roughly 5 lines.
    """
    # BEGIN SOLUTION
    y = x
    for _ in range(steps):
        y = y - lr * (gradient(y) - control_i + control)
    new_control_i = control_i - control + (x - y) / (steps * lr)
    return y, new_control_i
    # END SOLUTION


# %% tags=["exercise", "q3"]
def scaffold_server(
    x: Tensor,
    control: Tensor,
    ys: Tensor,
    new_controls: Tensor,
    old_controls: Tensor,
    server_lr: float,
    clients: int,
) -> tuple[Tensor, Tensor]:
    """Exercise 2.3: the server's part of a round of SCAFFOLD, in which B of N clients took part.

    Args:
        x: (d,), the server's model, which the clients received.
        control: (d,), the server's control variate c.
        ys: (B, d), row i is the model y_i of the i-th client of the round.
        new_controls: (B, d), row i is its control variate c_i after local training.
        old_controls: (B, d), row i is its control variate c_i before.
        server_lr: the server's learning rate.
        clients: N, the number of all clients, B of which took part.

    Returns: a pair (x, control).
        x: (d,), the next model: x plus server_lr times the plain mean over the round of y_i - x.
        control: (d,), the next control variate: c plus the sum over the round of (new c_i - old
            c_i), divided by N. So c stays the mean of all clients' c_i if it was that before.
        The arguments are not changed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    new_x = x + server_lr * (ys - x).mean(0)
    new_control = control + (new_controls - old_controls).sum(0) / clients
    return new_x, new_control
    # END SOLUTION


# %% tags=["exercise", "q4"]
def feddyn_server(
    w: Tensor, W: Tensor, h: Tensor, alpha: float, clients: int
) -> tuple[Tensor, Tensor]:
    """Exercise 2.4: the server's part of a round of FedDyn, in which B of m clients took part.

    Args:
        w: (d,), the server's model, which the clients received.
        W: (B, d), row i is the model w_i of the i-th client of the round.
        h: (d,), what the server keeps from round to round.
        alpha: the strength of the clients' pull towards w, above 0.
        clients: m, the number of all clients (N in 2.3), B of which took part.

    Returns: a pair (w, h).
        w: (d,), the next model: the plain mean of the w_i, minus h/alpha with the *next* h.
        h: (d,), the next h: h - alpha/m times the sum over the round of w_i - w.
        The arguments are not changed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    new_h = h - alpha / clients * (W - w).sum(0)
    new_w = W.mean(0) - new_h / alpha
    return new_w, new_h
    # END SOLUTION


# %% tags=["exercise", "q5"]
def maml_gradient(
    w: Tensor,
    A_train: Tensor,
    mu_train: Tensor,
    A_val: Tensor,
    mu_val: Tensor,
    lr: float,
    steps: int,
) -> tuple[Tensor, Tensor]:
    """Exercise 2.5: a client's adapted model, and the gradient that it sends to the server of MAML.

    The client's training loss is the quadratic 1/2 (w - mu)' A (w - mu) with A_train and mu_train
    (' is the transpose; mu is where the loss is lowest, not FedProx's mu),
    whose gradient is A (w - mu); its validation loss is the one with A_val and mu_val.

    The client adapts w by K steps of gradient descent on its training loss. What it reports is how
    its validation loss *after* adaptation depends on w, the model *before*. A step takes w_k to
    w_k - lr A_train (w_k - mu_train), which has the Jacobian I - lr A_train. By the chain rule the
    gradient is a product of K such matrices, times the gradient of the validation loss at w_K.

    Args:
        w: (d,), the model that the client received.
        A_train, A_val: (d, d), symmetric matrices.
        mu_train, mu_val: (d,), where the training and the validation loss are lowest.
        lr: the learning rate of adaptation.
        steps: K, the number of steps of adaptation, at least 0.

    Returns: a pair (adapted, meta_gradient).
        adapted: (d,), the model w_K after K steps from w.
        meta_gradient: (d,), the gradient of the validation loss of w_K with respect to w.
        The arguments are not changed.

    Roughly 7 lines.
    """
    # BEGIN SOLUTION
    adapted = w
    for _ in range(steps):
        adapted = adapted - lr * A_train @ (adapted - mu_train)
    jacobian = torch.eye(len(w), dtype=w.dtype) - lr * A_train
    meta_gradient = A_val @ (adapted - mu_val)
    for _ in range(steps):
        meta_gradient = jacobian @ meta_gradient
    return adapted, meta_gradient
    # END SOLUTION
