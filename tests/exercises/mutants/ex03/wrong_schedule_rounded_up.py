# fails: ex03.2
# hint: rounded up, which spends more than the total
import math


def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = max(1, arms // eta), stop
    return used


def schedule(total, cap, eta, eliminations):
    equal = (total - cap) / ((eta ** (eliminations + 1) - 1) / (eta - 1) - eliminations - 1)
    if equal < 1:
        raise ValueError("total is too small")
    stops = [math.ceil(equal) * r for r in range(1, eliminations + 1)]
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops, cap]


def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: max(1, len(scores) // eta)])


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
