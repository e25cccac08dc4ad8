# fails: ex07.1
# hint: a softmax is taken twice
import numpy as np


def log_softmax(a):
    return a - np.logaddexp.reduce(a, axis=-1)[..., None]


def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    each = np.exp(log_softmax(outputs))
    p = np.tensordot(q, each, 1)
    log_p = log_softmax(p)
    d = q * ((np.exp(log_p) - right) * each).sum((1, 2)) / len(y)
    return -(right * log_p).sum(1).mean(), d


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
