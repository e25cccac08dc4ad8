# Projects by a division that warns at 0, before it plays; a table of all tasks and step sizes.
import numpy as np


def ogd(z, w, c, radius):
    m, d = z.shape
    points = np.empty((m + 1, d))
    points[0] = w
    losses = np.empty(m)
    for i in range(m):
        points[i] *= np.minimum(1, radius / np.sqrt(points[i] @ points[i]))
        away = points[i] - z[i]
        losses[i] = 0.5 * away @ away
        points[i + 1] = points[i] - c * away
    return points[:m], losses.sum()


def bandit_step(z, arm, loss, eta):
    gradient = np.zeros_like(z)
    gradient[arm] = loss / np.exp(z)[arm]
    z = z - eta * gradient
    shift = z.max()
    return z - (shift + np.log(np.sum(np.exp(z - shift))))


def constants(D, G, b, m, tau):
    k = np.ceil(np.exp(2 / 3 * np.log(D * G / b * np.sqrt(tau / (2 * m))))).astype(int)
    j = np.arange(1, k + 1)
    return k, D / (G * j * m**0.5), np.sqrt(np.log(k) / (k * tau)) / (m * b)


def best_step(distances, c, G, m):
    table = 0.5 * (np.square(distances)[:, np.newaxis] / c + c * m * G * G)
    means = np.mean(table, axis=0)
    return np.min(means), np.argmin(means)
