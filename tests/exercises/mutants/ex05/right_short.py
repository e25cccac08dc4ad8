# Each question in a few expressions, with names of the student's own.
import numpy as np


def fourier(x, w, b, g):
    return (2 / b.size) ** 0.5 * np.cos(x @ w * (2 * g) ** 0.5 + b)


def mixed(maps, a):
    return maps[a, range(len(a))]


def shared_fit(x, labels, classes, penalty):
    t = np.where(np.equal.outer(labels, range(classes)), 1, -1)
    z = x - x.mean(0)
    w = np.linalg.solve(z.T @ z + np.diag([penalty] * x.shape[1]), z.T @ t)
    return [w, (t - x @ w).mean(axis=0)]


def halve(s, alive):
    order = np.lexsort((np.nan_to_num(s, nan=np.inf, posinf=np.inf, neginf=-np.inf), ~alive))
    places = (alive.sum() + 1) // 2
    return (order.argsort() < places) / places
