# %% [markdown]
# # Exercise 7: credit by hand
#
# Clients differ, so each may need its own hyperparameters. With H candidates and N clients there
# are H^N ways to choose, far too many to try. **FedTune** (anonymous, under review, section 3)
# gives each client its own distribution over the candidates: the softmax of H *logits*. In a round
# each client draws a candidate and trains with it. The server has validation points of its own. It
# adds up what the clients' models say about them, each times the client's share q_i of the data: an
# *ensemble*, with one loss. How much of it is due to which client? Client i's outputs are also
# multiplied by a *dummy one*, 1_i = 1. With the other sign, the derivative of the loss with respect
# to 1_i is the *credit* of client i. You write
#
# - the loss of the ensemble, and its derivatives with respect to the dummy ones,
# - the gradient of the logarithm of the probability of what was drawn,
# - the step that moves the logits,
# - and the smallest case in which this step, on average, goes the wrong way.
#
# The arrays are those of NumPy, of float64 where nothing else is said. Nothing here is random: what
# is drawn goes in as an argument. No function may change its arguments, and no question needs the
# answer to another one.

# %%
import numpy as np


# %% tags=["exercise", "q1"]
def credit(outputs: np.ndarray, q: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Exercise 7.1: the loss of the ensemble, and its derivatives with respect to the dummy ones.

    The ensemble's outputs are F = sum_i q_i 1_i outputs[i], with all dummy ones 1_i = 1. They are
    logits: the softmax of a row of F, exp of its entries divided by their sum, holds the
    probabilities of the C classes for this point. The loss L is the mean over the points of
    -log softmax(F)[y], the cross-entropy. There is a single softmax for each point, after adding
    up, and not one for each client.

    Args:
        outputs: (N, M, C), what each of N clients' models says about M points: C logits for each.
        q: (N,), the clients' shares of the data. Their sum is 1.
        y: (M,), int64, the labels of the points, from 0 to C - 1.

    Returns: a pair (loss, d).
        loss: L, a float.
        d: (N,), d_i is the derivative of L with respect to 1_i. The credit of client i is -d_i.
        Neither may be inf or NaN, even where entries of outputs are beyond 10,000 or below -10,000.
        The arguments are not changed.

    Roughly 7 lines. (The derivative of -log softmax(F)[y] with respect to F, for one point, is
    softmax(F) - onehot(y), with onehot(y) 1 at y and 0 elsewhere. The one is multiplied by q_i
    outputs[i].)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def score(logits: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Exercise 7.2: the gradient of log p of what was drawn, for each client.

    Client i's distribution is the softmax of row i of the logits, and z_i is what it has drawn. How
    does log softmax(logits[i])[z_i] change with the logits of client i? Entry z_i of the gradient
    is not below 0, and the other entries are not above: to raise another logit lowers p of z_i.

    Args:
        logits: (N, H), a row for each client, a column for each candidate.
        z: (N,), int64, the candidates that were drawn, from 0 to H - 1.

    Returns: (N, H), row i is the gradient of log softmax(logits[i])[z_i] with respect to
        logits[i], which is onehot(z_i) - softmax(logits[i]). No entry may be inf or NaN, even where
        logits are beyond 1000 or below -1000. The arguments are not changed.

    Roughly 4 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def update(logits: np.ndarray, z: np.ndarray, d: np.ndarray, lr: float) -> np.ndarray:
    """Exercise 7.3: the step of FedTune, for all clients at once.

    A client with d_i below 0 has a credit above 0: what it drew becomes likelier, and all its other
    candidates less likely. (The paper moves the probabilities themselves like this. They may then
    be below 0, and a probability below 0 has no logarithm. Logits may be any numbers.)

    Args:
        logits: (N, H), a row for each client, a column for each candidate.
        z: (N,), int64, the candidates that were drawn, from 0 to H - 1.
        d: (N,), from 7.1, one number for each client.
        lr: the step size, at least 0.

    Returns: (N, H), the next logits: row i is

            logits[i] - lr (onehot(z_i) - softmax(logits[i])) d_i

        where onehot(z_i) is 1 at z_i and 0 elsewhere. No entry may be inf or NaN, even where logits
        are beyond 1000 or below -1000. The arguments are not changed.

    Roughly 4 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q4"]
def directions(outputs: np.ndarray, y: float, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 7.4: where the step goes, and where it should go.

    There is one client with q = 1, one validation point, and one output. If the client draws z, its
    model says F = outputs[z], and the loss is L = 1/2 (F - y)^2. Since the dummy one multiplies F,
    the derivative of L with respect to it is d = (F - y) F.

    FedTune is to lower E[L], the mean of L over the draws of z from softmax(logits). The gradient
    of E[L] with respect to the logits is E[score L], with the score onehot(z) - softmax(logits) of
    7.2. The step of 7.3 has d in place of L, so that on average it follows E[score d].

    A step subtracts lr times a direction. Try outputs [0.5, 1.0], y = 1 and logits [0, 0]. Only
    candidate 0 makes an error. Its entry of the exact gradient is above 0, and a step against the
    gradient makes it less likely. But its entry of the paper's direction is below 0: the printed
    rule makes the worse candidate likelier. For d tells what a slightly larger output would do to
    the loss, and not how large the loss is: candidate 0 gets credit, since more of it would help.

    Args:
        outputs: (H,), the output of the model that each candidate would give.
        y: the target, a number.
        logits: (H,).

    Returns: a pair (paper, exact).
        paper: (H,), E[score d].
        exact: (H,), E[score L].
        Both are sums over the H draws, each weighted by its probability. No entry may be inf or
        NaN, even where logits are beyond 1000 or below -1000. The arguments are not changed.

    Roughly 6 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
