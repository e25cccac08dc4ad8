# fails: ex07.1
# hint: the softmax is taken of each client, and then averaged, and d
import numpy as np


def log_softmax(a):
    return a - np.logaddexp.reduce(a, axis=-1)[..., None]


def credit(outputs, q, y):
    each = np.exp(log_softmax(outputs))
    p = np.tensordot(q, each, 1)
    rows = np.arange(len(y))
    d = -q * (each[:, rows, y] / p[rows, y]).mean(1)
    return -np.log(p[rows, y]).mean(), d


def score(logits, z):
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    return np.eye(p.shape[1])[z] - p


def update(logits, z, d, lr):
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    return logits - lr * d[:, None] * (np.eye(p.shape[1])[z] - p)


def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    scores = np.eye(len(p)) - p
    error = outputs - y
    return (p * error * outputs) @ scores, (p * error**2 / 2) @ scores
