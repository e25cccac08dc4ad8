# fails: ex05.3
# hint: W is that of the fit without b: take X and t minus
import numpy as np


def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


def mixed(features, assignment):
    return features[assignment, np.arange(len(assignment))]


def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0) - X.mean(0) @ W


def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)
