"""Plain loops, with helpers and prints of the student's own."""

import math


def living(arms, eta, times):
    for _ in range(times):
        arms = arms // eta
        if arms == 0:
            arms = 1
    return arms


def rounds_used(stops, arms, eta):
    total = 0
    stage = 0
    for t in range(1, stops[-1] + 1):
        while t > stops[stage]:
            stage += 1
        total += living(arms, eta, stage)
    print("rounds", total)
    return total


def schedule(total, cap, eta, eliminations):
    divisor = (eta ** (eliminations + 1) - 1) // (eta - 1) - eliminations - 1
    least = (total - cap) // divisor
    if least < 1:
        raise ValueError

    def search(r, before):
        """All stops from the r-th on."""
        if r == eliminations:
            yield (cap,)
            return
        for d in range(least, least + divisor // (eta ** (eliminations - r) - 1) + 1):
            for rest in search(r + 1, before + d):
                yield (before + d, *rest)

    best, best_used = None, 0
    for stops in search(0, 0):
        used, before, arms = 0, 0, eta**eliminations
        for stop in stops:
            used += arms * (stop - before)
            before, arms = stop, arms // eta
        if used <= total and used >= best_used:
            best, best_used = stops, used
    if best[-2] > cap:
        raise ValueError("the last elimination comes after " + str(cap))
    return list(best)


def survivors(scores, eta):
    left = len(scores) // eta
    if left == 0:
        left = 1
    chosen = []
    while len(chosen) < left:
        lowest, lowest_score = None, None
        for i in range(len(scores)):
            if i in chosen:
                continue
            score = scores[i]
            if math.isnan(score):
                score = float("inf")
            if lowest is None or score < lowest_score:
                lowest, lowest_score = i, score
        chosen.append(lowest)
    chosen.sort()
    return tuple(chosen)


def discounted_mean(trace, gamma):
    newest_first = trace[::-1]
    weight, weights, total = 1, 0, 0
    for x in newest_first:
        total += weight * x
        weights += weight
        weight *= gamma
    return total / weights


def perturb(c, low, high, eps, u, whole):
    print(c, low, high)
    if whole:
        h = 0
        while h < (high - low) * eps - 1e-9:
            h += 1
        choices = []
        for value in range(c - h, c + h + 1):
            choices.append(value)
        new = choices[math.floor(u * len(choices))]
    else:
        start = c - (high - low) * eps
        end = c + (high - low) * eps
        new = start + u * (end - start)
    if new < low:
        return low
    elif new > high:
        return high
    else:
        return new


if __name__ == "__main__":
    print("this is not run by the check")
