# More rows in place of the penalty; the sum of angles in place of the offset.
import numpy as np
from numpy.linalg import lstsq


def fourier(x, omega, offset, gamma):
    angles = np.sqrt(2 * gamma) * (omega.T @ x.T).T
    waves = np.cos(angles) * np.cos(offset) - np.sin(angles) * np.sin(offset)
    return waves / np.sqrt(len(offset) / 2)


def mixed(features, assignment):
    return np.take_along_axis(features, assignment[None, :, None], axis=0)[0]


def shared_fit(X, y, classes, lam):
    targets = np.array([[1.0 if label == c else -1.0 for c in range(classes)] for label in y])
    n = X.shape[1]
    rows = np.block([[X, np.ones((len(X), 1))], [np.sqrt(lam) * np.eye(n), np.zeros((n, 1))]])
    solved, *_ = lstsq(rows, np.vstack([targets, np.zeros((n, classes))]))
    return solved[:n], solved[n]


def halve(scores, alive):
    scores = scores.copy()
    scores[np.isnan(scores)] = np.inf
    better = (scores < scores[:, None]) & alive
    equal = (scores == scores[:, None]) & alive
    before = better.sum(1) + np.tril(equal, -1).sum(1)
    n = np.count_nonzero(alive)
    return np.where(alive & (before < n / 2), 1 / np.ceil(n / 2), 0)
