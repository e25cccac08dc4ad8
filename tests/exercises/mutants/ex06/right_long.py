"""Plain loops over numbers, with helpers and prints of the student's own."""

import math

import numpy as np


def length(v):
    return math.sqrt(sum(x * x for x in v))


def ogd(z, w, c, radius):
    w = list(w)
    points = []
    losses = []
    for i in range(len(z)):
        points.append(list(w))
        losses.append(sum((w[a] - z[i][a]) ** 2 for a in range(len(w))) / 2)
        for a in range(len(w)):
            w[a] = w[a] - c * (w[a] - z[i][a])
        norm = length(w)
        if norm >= radius:
            for a in range(len(w)):
                w[a] = w[a] / norm * radius
    print(len(points), "points")
    return np.array(points), sum(losses)


def bandit_step(z, arm, loss, eta):
    new = []
    for j in range(len(z)):
        if j == arm:
            new.append(z[j] - eta * loss / math.exp(z[j]))
        else:
            new.append(z[j])
    largest = max(new)
    total = 0.0
    for value in new:
        total += math.exp(value - largest)
    return np.array([value - largest - math.log(total) for value in new])


def constants(D, G, b, m, tau):
    x = (D * G / b) * math.sqrt(tau / (2 * m))
    k = 1
    while k**1.5 < x:
        k += 1
    steps = np.zeros(k)
    for j in range(k):
        steps[j] = D / (G * (j + 1) * math.sqrt(m))
    if k == 1:
        return k, steps, 0
    return k, steps, math.sqrt(math.log(k) / (k * tau)) / (m * b)


def best_step(distances, c, G, m):
    best, position = math.inf, None
    for j in range(len(c)):
        total = 0.0
        for distance in distances:
            total += distance**2 / (2 * c[j]) + c[j] * m * G**2 / 2
        if total / len(distances) < best:
            best, position = total / len(distances), j
    return best, position


if __name__ == "__main__":
    print("this is not run by the check")
