# fails: ex05.2
# hint: the answer is transposed
import numpy as np


def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


def mixed(features, assignment):
    return np.diagonal(features[assignment])


def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)
