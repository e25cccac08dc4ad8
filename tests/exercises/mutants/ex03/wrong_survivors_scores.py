# fails: ex03.3
# hint: positions are asked for, not scores
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
    scores = [math.inf if math.isnan(s) else s for s in scores]
    return sorted(scores)[: max(1, len(scores) // eta)]


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
