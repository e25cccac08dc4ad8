# fails: ex05.3
# hint: b is penalised, as a weight of a feature that is 1
import numpy as np


def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


def mixed(features, assignment):
    return features[assignment, np.arange(len(assignment))]


def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    A = np.column_stack([X, np.ones(len(X))])
    solved = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ targets)
    return solved[:-1], solved[-1]


def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)
