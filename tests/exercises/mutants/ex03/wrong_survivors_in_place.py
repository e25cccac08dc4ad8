# fails: ex03.3
# hint: changed its argument scores\.[\s\S]*make a copy
import math


def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = max(1, arms // eta), stop
    return used


def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


def survivors(scores, eta):
    out = []
    for _ in range(max(1, len(scores) // eta)):
        for i, s in enumerate(scores):
            if math.isnan(s):
                scores[i] = math.inf
        i = min((i for i in range(len(scores)) if i not in out), key=lambda i: scores[i])
        out.append(i)
        scores[i] = math.inf
    return sorted(out)


def discounted_mean(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total / sum(weights)


def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))
