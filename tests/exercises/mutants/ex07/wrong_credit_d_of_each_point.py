# fails: ex07.1
# hint: d is that of each point
import numpy as np


def credit(outputs, q, y):
    F = np.einsum("i,imc->mc", q, outputs)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (q[:, None, None] * outputs * slope).sum(2)
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
