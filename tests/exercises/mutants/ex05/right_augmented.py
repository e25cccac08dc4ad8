# The intercept belongs to a column of ones, and features are picked by multiplication.
import numpy as np


def fourier(x, omega, offset, gamma):
    x = np.hstack([np.sqrt(2 * gamma) * x, np.ones((len(x), 1))])
    return np.cos(x @ np.vstack([omega, offset])) * np.sqrt(2 / omega.shape[1])


def mixed(features, assignment):
    chosen = (np.arange(len(features)) == assignment[:, None]).astype(float)
    return np.einsum("ij,jia->ia", chosen, features)


def shared_fit(X, y, classes, lam):
    T = -np.ones((len(y), classes))
    T[np.arange(len(y)), y] = 1
    A = np.hstack([X, np.ones((len(X), 1))])
    penalty = lam * np.eye(A.shape[1])
    penalty[-1, -1] = 0
    solved = np.linalg.solve(A.T @ A + penalty, A.T @ T)
    return solved[:-1], solved[-1]


def halve(scores, alive):
    ranked = sorted((np.isnan(s) or s == np.inf, s, i) for i, s in enumerate(scores) if alive[i])
    ranked = [(1, 0, i) if bad else (0, s, i) for bad, s, i in ranked]
    ranked.sort()
    best = [i for _, _, i in ranked[: (len(ranked) + 1) // 2]]
    p = 0 * alive.astype(float)
    p[best] = 1
    return p / p.sum()
