# %% [markdown]
# # Exercise 5: sharing weights by hand
#
# Which of k *feature maps* suits a linear classifier best? To fit a classifier for each of them
# takes k fits. **Weight-sharing** (Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1) takes
# only ceil(log2 k): in each round every training example draws one of the maps that are left, and
# one classifier is fitted to all examples, each seen through its own map. A map is scored by how
# wrong this classifier is on the validation examples, all of them seen through this map. Then the
# worse half of the maps goes. You write
#
# - a feature map: random Fourier features, with a parameter gamma that differs from map to map,
# - the matrix in which each example has the features of its own map,
# - the fit, which is a ridge regression,
# - and the halving, since the rule that the paper prints does not do what it is meant to do.
#
# The arrays are those of NumPy, of float64 where nothing else is said. Nothing here is random: what
# is drawn goes in as an argument. No function may change its arguments.

# %%
import numpy as np


# %% tags=["exercise", "q1"]
def fourier(x: np.ndarray, omega: np.ndarray, offset: np.ndarray, gamma: float) -> np.ndarray:
    """Exercise 5.1: random Fourier features of the Gaussian kernel.

    The kernel exp(-gamma |x - x'|^2) says how much alike two examples are. With many features, the
    features of x times those of x', added up, are close to it. So a linear classifier on the
    features is close to one that uses the kernel, but it costs far less.

    Args:
        x: (N, d), a row for each example.
        omega: (d, n), drawn from the standard normal distribution; a column for each feature.
        offset: (n,), drawn from the uniform distribution on [0, 2 pi); an entry for each feature.
        gamma: above 0. Maps with other values of gamma may have the same omega and offset.

    Returns: (N, n), in row i and column j
        sqrt(2 / n) cos(sqrt(2 gamma) <x_i, omega_j> + offset_j),
        where <x_i, omega_j> is the product of row i of x and column j of omega. The arguments are
        not changed.

    Roughly 2 lines.
    """
    # BEGIN SOLUTION
    angles = np.sqrt(2 * gamma) * (x @ omega) + offset
    return np.sqrt(2 / len(offset)) * np.cos(angles)
    # END SOLUTION


# %% tags=["exercise", "q2"]
def mixed(features: np.ndarray, assignment: np.ndarray) -> np.ndarray:
    """Exercise 5.2: the matrix in which each example has the features of its own map.

    Args:
        features: (k, N, n), features[j, i] holds the n features of example i in map j.
        assignment: (N,), int64, the map that each example has drawn, from 0 to k - 1. Several
            examples may have the same map, and some maps may have no example.

    Returns: (N, n), row i holds the features of example i in map assignment[i]. The arguments are
        not changed.

    Roughly 1 line.
    """
    # BEGIN SOLUTION
    return np.array([features[j, i] for i, j in enumerate(assignment)])
    # END SOLUTION


# %% tags=["exercise", "q3"]
def shared_fit(
    X: np.ndarray, y: np.ndarray, classes: int, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 5.3: the fit of one linear classifier, by ridge regression.

    Each class c has a target t_ic for each example i: +1 if example i is of class c, else -1. What
    x_i W + b predicts is to be near these targets, and W is to be small.

    Args:
        X: (N, n), the features. There may be more features than examples.
        y: (N,), int64, the class of each example, from 0 to classes - 1.
        classes: how many classes there are; some may have no example.
        lam: above 0.

    Returns: a pair (W, b) of (n, classes) and (classes,), for which

            lam (sum of the squares of all entries of W) + sum (t_ic - (x_i W)_c - b_c)^2

        is as small as possible. The second sum is over all i and c. b is not in the first sum. The
        arguments are not changed.

    Roughly 6 lines. (At the minimum all derivatives are 0. The one with respect to b_c says that
    the errors t_ic - (x_i W)_c - b_c have the mean 0 over the examples, which gives b once W is
    known; put into the sum, it leaves a ridge regression without b, on X and t minus their means.)
    """
    # BEGIN SOLUTION
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    x_mean, t_mean = X.mean(0), targets.mean(0)
    Xc, Tc = X - x_mean, targets - t_mean
    W = np.linalg.solve(Xc.T @ Xc + lam * np.eye(X.shape[1]), Xc.T @ Tc)
    return W, t_mean - x_mean @ W
    # END SOLUTION


# %% tags=["exercise", "q4"]
def halve(scores: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Exercise 5.4: the probabilities with which the examples of the next round draw their maps.

    The better half of the n living maps stays, in full ceil(n / 2). The paper prints another rule:
    p_i becomes 2 p_i if s_i is at most the median of all k scores, and else 0. Then the maps that
    have gone still count in the median. With the same scores in each round:

        scores           1    2    3    4      their median is always 2.5
        p after round 1  1/2  1/2  0    0
        p after round 2  1    1    0    0      nobody has gone, and the sum is 2

    Args:
        scores: (k,), lower is better, and NaN counts as inf. Those of maps that have gone play no
            part; they may even be lower than all others, or NaN.
        alive: (k,), bool, which maps are living, at least one.

    Returns: (k,), the same probability for each of the ceil(n / 2) living maps with the lowest
        scores, so that the sum is 1, and 0 for all other maps. Of equal scores those at lower
        positions stay. scores and alive are not changed.

    Roughly 5 lines. (np.argsort leaves equal scores in their order only with kind="stable".)
    """
    # BEGIN SOLUTION
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")][: (len(living) + 1) // 2]
    p = np.zeros(len(scores))
    p[best] = 1 / len(best)
    return p
    # END SOLUTION
