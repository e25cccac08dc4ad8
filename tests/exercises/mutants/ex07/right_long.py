"""Plain loops over numbers, with helpers and prints of the student's own."""

import math

import numpy as np


def probabilities(row):
    largest = max(row)
    powers = [math.exp(x - largest) for x in row]
    total = sum(powers)
    return [x / total for x in powers]


def credit(outputs, q, y):
    N, M, C = outputs.shape
    loss = 0.0
    d = [0.0] * N
    for m in range(M):
        F = []
        for c in range(C):
            F.append(sum(q[i] * outputs[i, m, c] for i in range(N)))
        largest = max(F)
        loss += largest + math.log(sum(math.exp(x - largest) for x in F)) - F[y[m]]
        p = probabilities(F)
        for i in range(N):
            for c in range(C):
                slope = p[c] - 1 if c == y[m] else p[c]
                d[i] += slope * q[i] * outputs[i, m, c]
    print("loss", loss / M)
    return loss / M, np.array([x / M for x in d])


def score(logits, z):
    answer = []
    for i in range(len(z)):
        entries = []
        for h, p in enumerate(probabilities(logits[i])):
            if h == z[i]:
                entries.append(1 - p)
            else:
                entries.append(-p)
        answer.append(entries)
    return np.array(answer)


def update(logits, z, d, lr):
    new = logits.copy()
    direction = score(logits, z)
    for i in range(len(logits)):
        for h in range(len(logits[i])):
            new[i, h] -= lr * direction[i, h] * d[i]
    return new


def directions(outputs, y, logits):
    H = len(logits)
    p = probabilities(logits)
    paper, exact = np.zeros(H), np.zeros(H)
    for z in range(H):
        F = outputs[z]
        for h in range(H):
            entry = (1 if h == z else 0) - p[h]
            paper[h] += p[z] * entry * (F - y) * F
            exact[h] += p[z] * entry * 0.5 * (F - y) ** 2
    return paper, exact


if __name__ == "__main__":
    print("this is not run by the check")
