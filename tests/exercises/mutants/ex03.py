"""Typical answers to exercise 3, right and wrong."""

import itertools
import math
from itertools import pairwise, product
from math import ceil, inf, isnan
from operator import mul

import numpy as np
import torch

from fedlab_grade.mutants import right, wrong


@right
class long:
    """Plain loops, with helpers and prints of the student's own."""

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


@right
class numpy:
    """Arrays of NumPy in, through and out."""

    def rounds_used(stops, arms, eta):
        living = [arms]
        while len(living) < len(stops):
            living.append(np.maximum(1, living[-1] // eta))
        return np.diff(stops, prepend=0) @ np.array(living)

    def schedule(total, cap, eta, eliminations):
        R = eliminations
        equal = (total - cap) / ((eta ** (R + 1) - 1) / (eta - 1) - R - 1)
        least = int(np.floor(equal))
        if least < 1:
            raise ValueError("no round for each arm")
        costs = eta ** np.arange(R, 0, -1) - 1
        grid = np.array(list(itertools.product(range(least, least + eta**R + R), repeat=R)))
        used = cap + grid @ costs
        used[used > total] = -1
        D = max(grid[used == used.max()].tolist())
        stops = np.cumsum(D)
        if stops[-1] > cap:
            raise ValueError("the cap is too low")
        return np.append(stops, cap)

    def survivors(scores, eta):
        scores = np.array(scores)
        scores[np.isnan(scores)] = np.inf
        order = np.argsort(scores, kind="stable")
        return np.sort(order[: max(1, len(scores) // eta)])

    def discounted_mean(trace, gamma):
        return np.average(trace, weights=np.power(gamma, np.arange(len(trace))[::-1]))

    def perturb(c, low, high, eps, u, whole):
        width = (high - low) * eps
        if whole:
            h = np.ceil(width - 1e-9).astype(int)
            return np.clip(np.arange(c - h, c + h + 1)[int(u * (2 * h + 1))], low, high)
        return np.clip(np.interp(u, [0, 1], [c - width, c + width]), low, high)


@right
class short:
    """Each question in one or two expressions; the schedule without a search."""

    from itertools import accumulate, pairwise

    def rounds_used(stops, arms, eta):
        pairs = enumerate(pairwise([0, *stops]))
        return sum(max(1, arms // eta**r) * (b - a) for r, (a, b) in pairs)

    def schedule(total, cap, eta, R):
        cost = [eta ** (R - r) - 1 for r in range(R)]
        least, left = divmod(total - cap, sum(cost))
        D = [least + (left, left := left % c)[0] // c for c in cost]  # from the dearest on
        stops = list(accumulate(D))
        if least <= 0 or stops[-1] > cap:
            raise ValueError(f"no schedule for {total = } and {cap = }")
        return [*stops, cap]

    def survivors(s, eta):
        order = sorted((inf if isnan(x) else x, i) for i, x in enumerate(s))
        return sorted(i for _, i in order[: len(s) // eta or 1])

    def discounted_mean(trace, gamma):
        weights = [gamma**age for age in reversed(range(len(trace)))]
        return sum(map(mul, weights, trace)) / sum(weights)

    def perturb(c, a, b, eps, u, whole):
        h = ceil((b - a) * eps - 1e-9) if whole else (b - a) * eps
        return sorted((a, c - h + (int(u * (2 * h + 1)) if whole else 2 * h * u), b))[1]


@right
class torch:
    """Tensors of torch, through and out."""

    def rounds_used(stops, arms, eta):
        stops = torch.tensor(stops)
        living = torch.tensor([arms // eta**r for r in range(len(stops))]).clamp(min=1)
        return (living * stops.diff(prepend=torch.zeros(1, dtype=torch.int64))).sum()

    def schedule(total, cap, eta, eliminations):
        costs = eta ** torch.arange(eliminations, 0, -1) - 1
        least = torch.div(total - cap, costs.sum(), rounding_mode="floor")
        if least < 1:
            raise ValueError("total")
        left, more = total - cap - least * costs.sum(), []
        for cost in costs:
            more.append(left // cost)
            left = left % cost
        stops = (least + torch.stack(more)).cumsum(0)
        if stops[-1] > cap:
            raise ValueError("cap")
        return torch.cat([stops, torch.tensor([cap])])

    def survivors(scores, eta):
        scores = torch.tensor(scores).nan_to_num(nan=torch.inf, posinf=torch.inf)
        order = scores.argsort(stable=True)
        return order[: max(1, len(scores) // eta)].sort().values

    def discounted_mean(trace, gamma):
        trace = torch.tensor(trace, dtype=torch.float64)
        weights = gamma ** torch.arange(len(trace)).flip(0)
        return (weights * trace).sum() / weights.sum()

    def perturb(c, low, high, eps, u, whole):
        width = torch.tensor((high - low) * eps, dtype=torch.float64)
        if whole:
            h = (width - 1e-9).ceil().long()
            return (c - h + (u * (2 * h + 1)).long()).clamp(low, high)
        return torch.lerp(c - width, c + width, u).clamp(low, high)


@wrong("ex03.1", "rounds divided first", "arms end before the first stop")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        arms = max(1, arms // eta)
        used += arms * (stop - before)
        before = stop
    return used


@wrong(
    "ex03.1", "rounds float", r"the float 83\.\d+, expected an int.*\n?.*division without remainder"
)
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = max(1, arms / eta), stop
    return used


@wrong("ex03.1", "rounds from zero", "each stage is counted from round 0")
def rounds_used(stops, arms, eta):
    used = 0
    for stop in stops:
        used += arms * stop
        arms = max(1, arms // eta)
    return used


@wrong("ex03.1", "rounds in place", r"changed its argument stops\.[\s\S]*make a copy")
def rounds_used(stops, arms, eta):
    used = before = 0
    while stops:
        stop = stops.pop(0)
        used += arms * (stop - before)
        arms, before = max(1, arms // eta), stop
    return used


@wrong("ex03.1", "rounds last stage missing", "the last stage is missing")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops[:-1]:
        used += arms * (stop - before)
        arms, before = max(1, arms // eta), stop
    return used


@wrong("ex03.1", "rounds no arm left", "at least 1 goes on")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = arms // eta, stop
    return used


@wrong("ex03.1", "rounds nobody ends", "no arm ever ends here")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        before = stop
    return used


@wrong("ex03.1", "rounds one third ends", "that many go on, and all others end")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = arms - arms // eta, stop
    return used


@wrong("ex03.1", "rounds printed", "there is no `return`")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = max(1, arms // eta), stop
    print(used)


@wrong("ex03.1", "rounds rounded", "rounded to the nearest")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = max(1, round(arms / eta)), stop
    return used


@wrong("ex03.1", "rounds rounded up", "n / eta is rounded up")
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = math.ceil(arms / eta), stop
    return used


@wrong("ex03.2", "schedule at least one", r"expected a ValueError[\s\S]*9 / 10, is below 1")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    least = max(1, least)
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong(
    "ex03.2",
    "schedule clipped to cap",
    r"returned \[11, 20, 20\], expected a ValueError[\s\S]*round 22, after cap",
)
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    return [min(stop, cap) for stop in stops[1:]] + [cap]


@wrong("ex03.2", "schedule counted twice", "the rounds of the last arm are counted twice")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    costs = [cost + 1 for cost in costs]
    left -= eliminations * least
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule equal", "all increments are equal: make")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least = (total - cap) // sum(costs)
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for _ in costs:
        stops.append(stops[-1] + least)
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule floats", r"a list with the float 5\.75 in it")
def schedule(total, cap, eta, eliminations):
    equal = (total - cap) / ((eta ** (eliminations + 1) - 1) / (eta - 1) - eliminations - 1)
    if equal < 1:
        raise ValueError("total is too small")
    stops = [equal * r for r in range(1, eliminations + 1)]
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops, cap]


@wrong("ex03.2", "schedule from one", "the increments can be as small as 1 here")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    least, left = 1, total - cap - sum(costs)
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule from zero", "the stops begin with a 0")
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
    return [*stops, cap]


@wrong("ex03.2", "schedule increments", "these are the increments: add them up")
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
    return [b - a for a, b in pairwise(stops)] + [cap]


@wrong(
    "ex03.2", "schedule last arm not counted", "rounds of the last arm, up to cap, are not counted"
)
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    left += cap
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong(
    "ex03.2",
    "schedule no cap check",
    r"returned \[11, 22, 20\], expected a ValueError[\s\S]*round 22, after cap",
)
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule no last stop", "the last stop is missing: it is cap")
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
    return stops[1:]


@wrong("ex03.2", "schedule no least check", r"expected a ValueError[\s\S]*9 / 10, is below 1")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule of total", "the equal increment is that of total")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule one too few", "one elimination too few")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(max(1, eliminations - 1), 0, -1)]
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


@wrong("ex03.2", "schedule one too many", "one elimination too many")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations + 1, 0, -1)]
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


@wrong("ex03.2", "schedule only first", "only D_1 is made larger")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left = 0
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule other error", r"raised AssertionError[\s\S]*raise a ValueError here")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    assert least >= 1, "total is too small"
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong(
    "ex03.2",
    "schedule refuses the last possible",
    "there is a schedule for total = 120, cap = 20, eta = 3, eliminations = 2",
)
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] >= cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule returns none", "returned None, expected a ValueError")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        return None
    stops = [0]
    for cost in costs:
        stops.append(stops[-1] + least + left // cost)
        left %= cost
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.2", "schedule rounded stops", "rounded after they are added up")
def schedule(total, cap, eta, eliminations):
    equal = (total - cap) / ((eta ** (eliminations + 1) - 1) / (eta - 1) - eliminations - 1)
    if equal < 1:
        raise ValueError("total is too small")
    stops = [math.floor(equal * r) for r in range(1, eliminations + 1)]
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops, cap]


@wrong("ex03.2", "schedule rounded up", "rounded up, which spends more than the total")
def schedule(total, cap, eta, eliminations):
    equal = (total - cap) / ((eta ** (eliminations + 1) - 1) / (eta - 1) - eliminations - 1)
    if equal < 1:
        raise ValueError("total is too small")
    stops = [math.ceil(equal) * r for r in range(1, eliminations + 1)]
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops, cap]


@wrong("ex03.2", "schedule smallest", "these have the smallest D_1")
def schedule(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    least, left = divmod(total - cap, sum(costs))
    if least < 1:
        raise ValueError("total is too small")
    best = None
    for more in product(*(range(left // cost + 1) for cost in costs)):
        used = sum(cost * m for cost, m in zip(costs, more, strict=True))
        if used <= left and (best is None or used > best[0]):
            best = used, more
    stops = [0]
    for m in best[1]:
        stops.append(stops[-1] + least + m)
    if stops[-1] > cap:
        raise ValueError("cap is too small")
    return [*stops[1:], cap]


@wrong("ex03.3", "survivors eta go on", "eta arms go on")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[:eta])


@wrong("ex03.3", "survivors from one", "counted from 1: count from 0")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(i + 1 for i in ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors higher positions", "equal scores those at higher positions")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: (scores[i], -i))
    return sorted(ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors highest", "the highest scores are kept: lower is better")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: -scores[i])
    return sorted(ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors in place", r"changed its argument scores\.[\s\S]*make a copy")
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


@wrong("ex03.3", "survivors index of equal", "the position of the first of them")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    return sorted(scores.index(s) for s in sorted(scores)[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors nan after inf", "NaN comes after inf here")
def survivors(scores, eta):
    ranked = np.argsort(scores, kind="stable")
    return sorted(ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors nan as zero", "NaN counts as 0 here")
def survivors(scores, eta):
    scores = [0.0 if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors nan lowest", "NaN counts as lowest here")
def survivors(scores, eta):
    scores = [-math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors nan not counted", "NaN is not one of the n scores here")
def survivors(scores, eta):
    known = [i for i, s in enumerate(scores) if not math.isnan(s)]
    others = [i for i, s in enumerate(scores) if math.isnan(s)]
    ranked = sorted(known, key=lambda i: scores[i])
    if len(ranked) == 0 or math.isinf(scores[ranked[0]]):
        return [0]
    if math.isinf(scores[ranked[-1]]):
        ranked = sorted(range(len(scores)), key=lambda i: min(math.inf, scores[i]))
    return sorted([*ranked, *others][: max(1, len(known) // eta)])


@wrong("ex03.3", "survivors nan pairs", "NaN confuses sorted")
def survivors(scores, eta):
    ranked = sorted((s, i) for i, s in enumerate(scores))
    return sorted(i for _, i in ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors nan sorted", "NaN confuses sorted")
def survivors(scores, eta):
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: max(1, len(scores) // eta)])


@wrong("ex03.3", "survivors nobody left", "nobody is left: at least 1 goes on")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: len(scores) // eta])


@wrong("ex03.3", "survivors order of score", "in the order of their scores")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return ranked[: max(1, len(scores) // eta)]


@wrong("ex03.3", "survivors quantile", "of equal scores all are kept, as by a quantile")
def survivors(scores, eta):
    scores = np.nan_to_num(scores, nan=9e9, posinf=9e9)
    return [i for i, s in enumerate(scores) if s <= np.quantile(scores, 1 / eta)]


@wrong("ex03.3", "survivors rounded", "rounded to the nearest")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: max(1, round(len(scores) / eta))])


@wrong("ex03.3", "survivors rounded up", "n / eta is rounded up here")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: math.ceil(len(scores) / eta)])


@wrong("ex03.3", "survivors scores", "positions are asked for, not scores")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    return sorted(scores)[: max(1, len(scores) // eta)]


@wrong("ex03.3", "survivors some end", "arms end: that many go on")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[: len(scores) - len(scores) // eta])


@wrong("ex03.3", "survivors that end", "these are the arms that end")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
    return sorted(ranked[max(1, len(scores) // eta) :])


@wrong("ex03.3", "survivors threshold", "of equal scores all are kept")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    worst = sorted(scores)[max(1, len(scores) // eta) - 1]
    return [i for i, s in enumerate(scores) if s <= worst]


@wrong(
    "ex03.4",
    "mean ages from one",
    r"raised ZeroDivisionError[\s\S]*counts gamma\^0 = 1, and the others 0",
)
def discounted_mean(trace, gamma):
    weights = [gamma ** (age + 1) for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total / sum(weights)


@wrong("ex03.4", "mean all earlier gamma", "all earlier entries count gamma")
def discounted_mean(trace, gamma):
    weights = [1] + [gamma] * (len(trace) - 1)
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total / sum(weights)


@wrong("ex03.4", "mean by number", "divided by the number of entries: divide it by the sum")
def discounted_mean(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total / len(trace)


@wrong("ex03.4", "mean from the oldest", "the ages are counted from the oldest")
def discounted_mean(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(trace))
    return total / sum(weights)


@wrong("ex03.4", "mean geometric sum", r"raised ZeroDivisionError[\s\S]*do not divide by 1 - gamma")
def discounted_mean(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total * (1 - gamma) / (1 - gamma ** len(trace))


@wrong("ex03.4", "mean in place", r"changed its argument trace\.[\s\S]*make a copy")
def discounted_mean(trace, gamma):
    trace.reverse()
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(trace))
    return total / sum(weights)


@wrong("ex03.4", "mean last", "this is the last entry")
def discounted_mean(trace, gamma):
    return trace[-1]


@wrong("ex03.4", "mean moving", "a moving average that begins with the first")
def discounted_mean(trace, gamma):
    mean = trace[0]
    for x in trace[1:]:
        mean = gamma * mean + (1 - gamma) * x
    return mean


@wrong("ex03.4", "mean not divided", "this is the weighted sum: divide")
def discounted_mean(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total


@wrong("ex03.4", "mean plain", "this is the plain mean: an entry counts")
def discounted_mean(trace, gamma):
    return sum(trace) / len(trace)


@wrong("ex03.4", "mean times one minus gamma", "multiplied by 1 - gamma")
def discounted_mean(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total * (1 - gamma)


@wrong("ex03.4", "mean zero for zero", "with gamma = 0 nothing counts here")
def discounted_mean(trace, gamma):
    if gamma == 0:
        return 0.0
    weights = [gamma**age for age in range(len(trace))]
    total = sum(weights[age] * x for age, x in enumerate(reversed(trace)))
    return total / sum(weights)


@wrong("ex03.5", "perturb eps alone", "the half width is eps: it is")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * eps
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb folded", "is folded back: clip it")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    value = 2 * low - value if value < low else value
    value = 2 * high - value if value > high else value
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb half", "half as wide as it should be")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (u - 0.5) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb inside interval", "what the range leaves of the interval: draw from all")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    a, b = max(low, c - width), min(high, c + width)
    value = a + (b - a) * u
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb not clipped", "this is not clipped: below low it is low")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return value


@wrong("ex03.5", "perturb share of c", "the half width is a share of c")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * c * eps
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb twice", "twice as wide as it should be")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (4 * u - 2) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb unit clip", "clipped to 0 and 1: clip to low and high")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    value = max(0.0, min(1.0, value))
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb up only", "this moves up only: the interval begins")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + u * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "perturb whole range", "this is a draw from the whole range")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = low + (high - low) * u
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong(
    "ex03.5", "perturb wrong way round", r"u works the wrong way round: u = 0 belongs to c - \(high"
)
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (1 - 2 * u) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole end missing", r"spread over 2h ints, so that c \+ h never comes")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * 2 * h)
    return max(low, min(high, value))


@wrong("ex03.5", "whole eps alone", "h is ceil of eps")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(eps)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole float", "the float .*, expected an int")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + u * (2 * h + 1)
    return max(low, min(high, value))


@wrong("ex03.5", "whole inside", "ints of the window that are in the range: draw from all")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        ints = range(max(low, c - h), min(high, c + h) + 1)
        value = ints[int(u * len(ints))]
    return max(low, min(high, value))


@wrong("ex03.5", "whole lopsided", "the window is lopsided")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        down, up = math.floor(width + 1e-9), math.ceil(width - 1e-9)
        value = c - down + int(u * (down + up + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole not clipped", "this is not clipped: below low it is low")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
        return value
    return max(low, min(high, value))


@wrong("ex03.5", "whole rounded", "h is rounded to the nearest int")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = round(width)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole rounded down", "h is rounded down")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = int(width + 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole rounded interval", "is rounded to the nearest int: draw an int")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        value = round(value)
    return max(low, min(high, value))


@wrong("ex03.5", "whole rounded spread", "spread by rounding, which makes both ends rarer")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + round(u * 2 * h)
    return max(low, min(high, value))


@wrong("ex03.5", "whole rounding error", "too large through a rounding error")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole twice", "h is twice as large")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = 2 * math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
    return max(low, min(high, value))


@wrong("ex03.5", "whole up only", "this moves up only: the ints begin")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
    if whole:
        h = math.ceil(width - 1e-9)
        value = c + int(u * (h + 1))
    return max(low, min(high, value))
