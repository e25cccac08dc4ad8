# fails: ex05.3
# hint: there is no intercept, b = 0
import numpy as np


def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


def mixed(features, assignment):
    return features[assignment, np.arange(len(assignment))]


def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, np.zeros(classes)


def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)
