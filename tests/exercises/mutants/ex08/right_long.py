"""Plain loops over numbers, with helpers and prints of the student's own."""

import math

import numpy as np


def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    new = []
    for k in range(len(h)):
        if coin[k] < p_re:
            new.append(a + fresh[k] * (b - a))
        else:
            x = h[k] + (2 * u[k] - 1) * (b - a) * eps
            if x < a:
                x = a
            if x > b:
                x = b
            new.append(x)
    return np.array(new)


def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = round((n - 1) * eps)
    if s == 0:
        s = 1
    new = np.zeros(len(i), dtype=np.int64)
    for k in range(len(i)):
        if coin[k] < p_re:
            new[k] = math.floor(fresh[k] * n)
            continue
        new[k] = i[k]
        if u[k] < 1 / 3:
            new[k] = max(0, i[k] - s)
        elif u[k] >= 2 / 3:
            new[k] = min(n - 1, i[k] + s)
    return new


def ranking(scores):
    rest = list(range(len(scores)))
    order = []
    while rest:
        best = rest[0]
        for k in rest:
            if scores[k] < scores[best] or (
                math.isnan(scores[best]) and not math.isnan(scores[k]) and scores[k] < math.inf
            ):
                best = k
        order.append(best)
        rest.remove(best)
    print("ranking", order)
    return order


def top_and_bottom(scores, rho):
    order = ranking(scores)
    n = min(math.ceil(len(order) / rho), len(order) // 2)
    return order[:n], order[len(order) - n :]


def exploit(hp, weights, top, bottom, u, evolve):
    # What is read is never written: the lists of rows are new ones.
    new_hp = [list(row) for row in hp]
    new_weights = [list(row) for row in weights]
    for b in sorted(bottom, reverse=True):
        if len(top) == 0:
            break
        a = top[math.floor(u[b] * len(top))]
        new_weights[b] = list(weights[a])
        new_hp[b] = list(evolve(hp[a], b))
    return np.array(new_hp), np.array(new_weights)


if __name__ == "__main__":
    print("this is not run by the check")
