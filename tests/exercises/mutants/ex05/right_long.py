"""Plain loops over numbers, with helpers and prints of the student's own."""

import math

import numpy as np


def fourier(x, omega, offset, gamma):
    rows = []
    for example in x:
        row = []
        for j in range(len(offset)):
            product = 0.0
            for a in range(len(example)):
                product += example[a] * omega[a][j]
            angle = math.sqrt(2 * gamma) * product + offset[j]
            row.append(math.sqrt(2) / math.sqrt(len(offset)) * math.cos(angle))
        rows.append(row)
    print(len(rows), "rows")
    return np.array(rows)


def mixed(features, assignment):
    X = np.zeros((features.shape[1], features.shape[2]))
    for i in range(len(assignment)):
        X[i] = features[assignment[i]][i]
    return X


def gauss(A, right):
    A, right = A.copy(), right.copy()
    for i in range(len(A)):
        pivot = i + np.argmax(abs(A[i:, i]))
        A[[i, pivot]], right[[i, pivot]] = A[[pivot, i]], right[[pivot, i]]
        for j in range(len(A)):
            if j != i:
                factor = A[j, i] / A[i, i]
                A[j] -= factor * A[i]
                right[j] -= factor * right[i]
    return right / np.diag(A)[:, None]


def shared_fit(X, y, classes, lam):
    N, n = X.shape
    targets = np.full((N, classes), -1.0)
    for i in range(N):
        targets[i, y[i]] = 1.0
    means = [sum(X[:, a]) / N for a in range(n)]
    target_means = [sum(targets[:, c]) / N for c in range(classes)]
    A, right = np.zeros((n, n)), np.zeros((n, classes))
    for i in range(N):
        for a in range(n):
            for other in range(n):
                A[a, other] += (X[i, a] - means[a]) * (X[i, other] - means[other])
            for c in range(classes):
                right[a, c] += (X[i, a] - means[a]) * (targets[i, c] - target_means[c])
    for a in range(n):
        A[a, a] += lam
    W = gauss(A, right)
    b = [target_means[c] - sum(means[a] * W[a, c] for a in range(n)) for c in range(classes)]
    return W, np.array(b)


def value(score):
    return math.inf if math.isnan(score) else score


def halve(scores, alive):
    living = [i for i in range(len(scores)) if alive[i]]
    stays = []
    for _ in range(math.ceil(len(living) / 2)):
        best = None
        for i in living:
            if i not in stays and (best is None or value(scores[i]) < value(scores[best])):
                best = i
        stays.append(best)
    p = np.zeros(len(scores))
    for i in stays:
        p[i] = 1 / len(stays)
    return p


if __name__ == "__main__":
    print("this is not run by the check")
