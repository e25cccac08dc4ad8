# fails: ex07.1
# hint: exp of a large number is too large for a float: subtract
import math

import numpy as np


def credit(outputs, q, y):
    loss, d = 0.0, np.zeros(len(q))
    for m, label in enumerate(y):
        F = q @ outputs[:, m]
        p = [math.exp(x) for x in F]
        p = np.array([x / sum(p) for x in p])
        loss -= math.log(p[label])
        p[label] -= 1
        d += q * (outputs[:, m] @ p)
    return loss / len(y), d / len(y)


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
