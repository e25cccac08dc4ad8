# fails: ex07.4
# hint: this is the plain mean over the draws
import numpy as np


def credit(outputs, q, y):
    F = np.einsum("i,imc->mc", q, outputs)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (q[:, None, None] * outputs * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


def score(logits, z):
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    return np.eye(p.shape[1])[z] - p


def update(logits, z, d, lr):
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    return logits - lr * d[:, None] * (np.eye(p.shape[1])[z] - p)


def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    paper, exact = [], []
    for z in range(len(p)):
        one = np.eye(len(p))[z] - p
        paper.append(one * (outputs[z] - y) * outputs[z])
        exact.append(one * (outputs[z] - y) ** 2 / 2)
    return np.mean(paper, axis=0), np.mean(exact, axis=0)
