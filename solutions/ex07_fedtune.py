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
# to 1_i is the *credit* of client i.
#
# - **Core**, 90 minutes, 18 points: the loss of the ensemble and its derivatives (7.1), the step of
#   the logits (7.2), a baseline (7.3), and the smallest case in which the step, on average, goes
#   the wrong way (7.4).
# - **Experiment**, 60 minutes, 12 points (7.5): three kinds of credit in a model that all share.
#
# The arrays are those of NumPy, of float64 where nothing else is said. Nothing here is random: what
# is drawn goes in as an argument. No function may change its arguments, and no question needs the
# answer to another one. `softmax` is given; you may use it.

# %%
from collections.abc import Callable

import numpy as np


def softmax(a: np.ndarray) -> np.ndarray:
    """Return the softmax over the last axis. Logits may be as large as you
    like."""
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# %% tags=["exercise", "q1"]
def credit(
    outputs: np.ndarray, q: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Exercise 7.1: the loss of the ensemble, and its derivatives with respect
    to the dummy ones.

    The ensemble's outputs are F = sum_i q_i 1_i outputs[i], with all dummy ones
    1_i = 1. A row of F holds the logits of one point: its softmax, exp of the
    entries divided by their sum, has the probabilities of the C classes. The
    loss L is the mean over the points of -log softmax(F)[y], the cross-entropy.
    There is a single softmax for each point, after adding up, and not one for
    each client.

    Args:
        outputs: (N, M, C), what each of N clients' models says about M points:
            C logits for each.
        q: (N,), the clients' shares of the data. Their sum is 1.
        y: (M,), int64, the labels of the points, from 0 to C - 1.

    Returns: a pair (loss, d).
        loss: L, a float.
        d: (N,), d_i is the derivative of L with respect to 1_i. The credit of
            client i is -d_i.
        Neither may be inf or NaN, even where entries of outputs are beyond
        10,000 or below -10,000. The arguments are not changed.

    Roughly 7 lines. (The derivative of -log softmax(F)[y] with respect to F,
    for one point, is softmax(F) - onehot(y), with onehot(y) 1 at y and 0
    elsewhere. The one is multiplied by q_i outputs[i].)
    """
    # BEGIN SOLUTION
    F = np.tensordot(q, outputs, 1)
    F = F - F.max(1, keepdims=True)
    log_p = F - np.log(np.exp(F).sum(1, keepdims=True))
    onehot = y[:, None] == np.arange(F.shape[1])
    loss = -(onehot * log_p).sum() / len(y)
    d = q * ((np.exp(log_p) - onehot) * outputs).sum((1, 2)) / len(y)
    return loss, d
    # END SOLUTION


# %% tags=["exercise", "q2"]
def update(
    logits: np.ndarray, z: np.ndarray, d: np.ndarray, lr: float
) -> np.ndarray:
    """Exercise 7.2: the step of FedTune, for all clients at once.

    Client i's distribution is the softmax of row i of the logits, and z_i is
    what it has drawn. The *score* is the gradient of log
    softmax(logits[i])[z_i] with respect to logits[i], which is
    onehot(z_i) - softmax(logits[i]), with onehot(z_i) 1 at z_i and 0 elsewhere.
    Its entry z_i is not below 0, and the other entries are not above: to raise
    another logit lowers p of z_i.

    A client with d_i below 0 has a credit above 0: what it drew becomes
    likelier, and all its other candidates less likely. (The paper moves the
    probabilities themselves like this. They may then be below 0, and a
    probability below 0 has no logarithm. Logits may be any numbers.)

    Args:
        logits: (N, H), a row for each client, a column for each candidate.
        z: (N,), int64, the candidates that were drawn, from 0 to H - 1.
        d: (N,), from 7.1, one number for each client.
        lr: the step size, at least 0.

    Returns: (N, H), the next logits: row i is

            logits[i] - lr (onehot(z_i) - softmax(logits[i])) d_i

        The arguments are not changed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    onehot = np.eye(logits.shape[1])[z]
    return logits - lr * d[:, None] * (onehot - softmax(logits))
    # END SOLUTION


# %% tags=["exercise", "q3"]
def centred(past: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Exercise 7.3: the baseline that FedTune lacks, a running mean for each
    client.

    Where nearly all d_i are above 0, each draw pushes its candidate down, good
    or bad. Compared with the client's own mean so far, only what is worse than
    usual is pushed down. The first comparison needs an earlier round: without
    one, a client does not move.

    A client whose training has diverged has d_i = inf. Such an entry says
    nothing about what is usual, so it does not count in later means. In its own
    round it stays inf, because the step must still see it.

    Args:
        past: (T, N), the d of the T earlier rounds, T >= 0, a column for each
            client. Entries are finite or inf.
        d: (N,), the d of this round, finite or inf.

    Returns: (N,), for each client d_i minus the mean of the finite entries of
        column i of past; 0 if d_i is finite and the column has no finite entry;
        inf if d_i is inf. The arguments are not changed.

    Roughly 6 lines.
    """
    # BEGIN SOLUTION
    finite = np.isfinite(past)
    count = finite.sum(0)
    mean = np.where(finite, past, 0.0).sum(0) / np.maximum(count, 1)
    moved = np.where(count > 0, d - mean, 0.0)
    return np.where(np.isfinite(d), moved, np.inf)
    # END SOLUTION


# %% tags=["exercise", "q4"]
def directions(
    outputs: np.ndarray, y: float, logits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 7.4: where the step goes, and where it should go.

    There is one client with q = 1, one validation point, and one output. If the
    client draws z, its model says F = outputs[z], and the loss is L = 1/2
    (F - y)^2. Since the dummy one multiplies F, the derivative of L with
    respect to it is d = (F - y) F.

    FedTune is to lower E[L], the mean of L over the draws of z from
    softmax(logits). The gradient of E[L] with respect to the logits is E[score
    L], with the score onehot(z) - softmax(logits) of 7.2. This is REINFORCE.
    The step of 7.2 has d in place of L, so that on average it follows E[score
    d].

    A step subtracts lr times a direction. Try outputs [0.5, 1.0], y = 1 and
    logits [0, 0]. Only candidate 0 makes an error. Its entry of the exact
    gradient is above 0, and a step against the gradient makes it less likely.
    But its entry of the paper's direction is below 0: the printed rule makes
    the worse candidate likelier. For d tells what a slightly larger output
    would do to the loss, and not how large the loss is: candidate 0 gets
    credit, since more of it would help.

    Args:
        outputs: (H,), the output of the model that each candidate would give.
        y: the target, a number.
        logits: (H,).

    Returns: a pair (paper, exact).
        paper: (H,), E[score d].
        exact: (H,), E[score L].
        Both are sums over the H draws, each weighted by its probability. The
        arguments are not changed.

    Roughly 5 lines.
    """
    # BEGIN SOLUTION
    p = softmax(logits)
    scores = np.eye(len(p)) - p  # row z belongs to draw z
    L = (outputs - y) ** 2 / 2
    d = (outputs - y) * outputs
    return (p * d) @ scores, (p * L) @ scores
    # END SOLUTION


# %% [markdown]
# ## Exercise 7.5: an experiment
#
# The credit is a slope. What a client really contributes can be measured, too: the loss with its
# outputs minus the loss without them (*leave-one-out*). And REINFORCE gives all clients the loss
# itself. Which of the three finds better step sizes? The answer may depend on the *buffer*. As
# printed, each joint configuration has a model of its own (`"joint"`), so that nearly each round
# starts from the initial weights. With a `"shared"` buffer one model goes on from round to round.
#
# `fedlab_edu.experiments.credits.personal_error(credit, buffer, seed)` searches with FedTune, with
# the baseline of 7.3, trains a model with the step sizes that it finds, and returns the test error
# in percent.
#
# 1. Predict, before you measure: with the shared buffer, which credit ends with the lowest error?
# 2. Measure: write `table_5` and `interval_5`, and run, in the folder of this file,
#
#        from my_ex07 import interval_5, table_5  # the name of your file
#        from fedlab_edu.experiments.credits import personal_error
#
#        conditions = [("dummy_one", "joint"), ("dummy_one", "shared"),
#                      ("leave_one_out", "shared"), ("reinforce", "shared")]
#        table = table_5(personal_error, conditions, range(6))
#        for condition, row in zip(conditions, table):
#            print(condition, "mean", sum(row) / len(row))
#        print(interval_5(table[1], table[2], 2.571))
#
#    This takes one or two minutes, without a word before the end. The runs are *paired*: all
#    conditions see the same seeds, so the luck of a seed cancels in a difference. 2.571 is the
#    97.5 % quantile of Student's distribution with 5 degrees of freedom.
# 3. Interpret in three sentences.


# %% tags=["exercise", "q5"]
def predict_5() -> str:
    """Exercise 7.5: your prediction; a wrong one costs nothing.

    Returns: the credit with the lowest mean error, with the shared buffer: one
        of "dummy_one", "leave_one_out" and "reinforce".
    """
    # BEGIN SOLUTION
    return "dummy_one"
    # END SOLUTION


# %% tags=["exercise"]
def table_5(
    run: Callable[[str, str, int], float],
    conditions: list[tuple[str, str]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(credit, buffer, seed)` returns one number, as
            `personal_error`.
        conditions: pairs (credit, buffer).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    return [
        [run(credit, buffer, seed) for seed in seeds]
        for credit, buffer in conditions
    ]
    # END SOLUTION


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

    Roughly 5 lines.
    """
    # BEGIN SOLUTION
    differences = np.subtract(second, first)
    d = differences.mean()
    h = t * differences.std(ddof=1) / len(differences) ** 0.5
    return float(d - h), float(d + h)
    # END SOLUTION


# %% tags=["exercise"]
def reading_5() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        interval; why it is so, with the joint buffer and 7.4 in mind; what this
        experiment cannot tell.
    """
    # BEGIN SOLUTION
    return """I predicted that the credit as printed would do best with the
    shared buffer, but its mean error is 75.7 % and that of leave-one-out 38.8
    %: a difference of -36.9 points, with the 95 % interval from -63.9 to -9.9.
    With the joint buffer nearly each round starts from weights that know
    nothing, where all that a client makes is a small change; a shared model
    learns, and a client whose outputs are large and right gets no more credit
    than others, because a little more of them helps no further, as in 7.4. Ten
    clients, five step sizes and six seeds cannot tell whether leave-one-out is
    better than one step size for all, or how it is on other data."""
    # END SOLUTION
