# Each question in a few expressions, with names of the student's own.
import numpy as np
from scipy.special import log_softmax, softmax


def credit(f, share, label):
    weighted = share[:, None, None] * f
    log_p = log_softmax(weighted.sum(axis=0), axis=1)
    rows = range(len(label))
    G = np.exp(log_p)
    G[rows, label] -= 1
    return -log_p[rows, label].mean(), np.tensordot(weighted, G, 2) / len(label)


def score(a, z):
    return np.eye(a.shape[1])[z] - softmax(a, axis=1)


def update(a, z, d, lr):
    return a - lr * np.einsum("i,ih->ih", d, score(a, z))


def directions(F, y, a):
    p = softmax(a)
    d, L = (F - y) * F, (F - y) ** 2 / 2
    return p * (d - p @ d), p * (L - p @ L)
