"""Typical answers to exercise 3, right and wrong."""

import itertools
import math
from itertools import pairwise, product  # noqa: F401 - pairwise is used in an edit
from math import ceil, inf, isnan
from operator import mul

import numpy as np
import torch

from fedlab_grade.mutants import edits, include, right, wrong


@right
class long:
    """Plain loops, with helpers and prints of the student's own."""

    def unspent(total, cap, eta, eliminations):
        left = total - cap
        for r in range(eliminations):
            cost = eta ** (eliminations - r) - 1
            left = left - cost  # one round each
        for r in range(eliminations):
            cost = eta ** (eliminations - r) - 1
            print("cost", cost)
            left = left - cost * (left // cost)
        return left

    def spread(values):
        mean = 0.0
        for v in values:
            mean += v / len(values)
        total = 0.0
        for v in values:
            total += (v - mean) * (v - mean)
        return total / (len(values) - 1)

    def difference_variance(first, second, clients, same):
        N = len(first)
        if same:
            differences = []
            for i in range(N):
                differences.append(first[i] - second[i])
            s2 = spread(differences)
        else:
            s2 = spread(first) + spread(second)
        return s2 * (N - clients) / (N * clients)

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

    def unspent(total, cap, eta, eliminations):
        return np.mod(total - cap, eta - 1)

    def difference_variance(first, second, clients, same):
        C = np.cov(np.array([first, second]))
        one, other = C[0, 0], C[1, 1]
        both = one + other - 2 * C[0, 1] if same else one + other
        return both * (1 / clients - 1 / len(first))

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

    def perturb(c, a, b, eps, u, whole):
        h = ceil((b - a) * eps - 1e-9) if whole else (b - a) * eps
        return sorted((a, c - h + (int(u * (2 * h + 1)) if whole else 2 * h * u), b))[1]


@right
class torch:
    """Tensors of torch, through and out."""

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

    def perturb(c, low, high, eps, u, whole):
        width = torch.tensor((high - low) * eps, dtype=torch.float64)
        if whole:
            h = (width - 1e-9).ceil().long()
            return (c - h + (u * (2 * h + 1)).long()).clamp(low, high)
        return torch.lerp(c - width, c + width, u).clamp(low, high)


@edits("ex03.2", {
    "schedule at least one": (r"expected a ValueError[\s\S]*9 / 10, is below 1",
        'if least < 1:\n        raise ValueError("total is too small")', "least = max(1, least)"),
    "schedule counted twice": ("the rounds of the last arm are counted twice",
        "stops =",
        "costs = [cost + 1 for cost in costs]\n    left -= eliminations * least\n    stops ="),
    "schedule from one": ("the increments can be as small as 1 here",
        "stops =", "least, left = 1, total - cap - sum(costs)\n    stops ="),
    "schedule from zero": ("the stops begin with a 0", "[1:]", ""),
    "schedule increments": ("these are the increments: add them up",
        "*stops[1:],", "b - a for a, b in pairwise(stops)] + ["),
    "schedule last arm not counted": ("rounds of the last arm, up to cap, are not counted",
        "stops =", "left += cap\n    stops ="),
    "schedule no last stop": ("the last stop is missing: it is cap",
        "[*stops[1:], cap]", "stops[1:]"),
    "schedule no least check": (r"expected a ValueError[\s\S]*9 / 10, is below 1",
        '\n    if least < 1:\n        raise ValueError("total is too small")', ""),
    "schedule of total": ("the equal increment is that of total", "- cap,", ","),
    "schedule one too few": ("one elimination too few",
        "eliminations,", "max(1, eliminations - 1),"),
    "schedule one too many": ("one elimination too many", ", 0, -", "+ 1, 0, -"),
    "schedule only first": ("only D_1 is made larger", "%= cost", "= 0"),
    "schedule other error": (r"raised AssertionError[\s\S]*raise a ValueError here",
        'if least < 1:\n        raise ValueError("total is too small")',
        'assert least >= 1, "total is too small"'),
    "schedule returns none": ("returned None, expected a ValueError",
        'raise ValueError("total is too small")', "return None"),
})  # fmt: skip
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


@edits("ex03.3", {
    "survivors eta go on": ("eta arms go on", "max(1, len(scores) // eta)", "eta"),
    "survivors from one": ("counted from 1: count from 0", "(ranked", "(i + 1 for i in ranked"),
    "survivors higher positions": ("equal scores those at higher positions",
        "scores[i]", "(scores[i], -i)"),
    "survivors highest": ("the highest scores are kept: lower is better", ": scores", ": -scores"),
    "survivors nan as zero": ("NaN counts as 0 here", "math.inf", "0.0"),
    "survivors nan lowest": ("NaN counts as lowest here", "math.inf", "-math.inf"),
    "survivors nan sorted": ("NaN confuses sorted",
        "scores = [math.inf if math.isnan(s) else s for s in scores]", ""),
    "survivors nobody left": ("nobody is left: at least 1 goes on",
        "max(1, len(scores) // eta)", "len(scores) // eta"),
    "survivors order of score": ("in the order of their scores",
        "sorted(ranked[: max(1, len(scores) // eta)])", "ranked[: max(1, len(scores) // eta)]"),
    "survivors rounded": ("rounded to the nearest",
        "len(scores) // eta", "round(len(scores) / eta)"),
    "survivors rounded up": ("n / eta is rounded up here",
        "max(1, len(scores) //", "math.ceil(len(scores) /"),
    "survivors some end": ("arms end: that many go on",
        "max(1, len(scores) // eta)", "len(scores) - len(scores) // eta"),
    "survivors that end": ("these are the arms that end",
        ": max(1, len(scores) // eta)", "max(1, len(scores) // eta) :"),
})  # fmt: skip
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: scores[i])
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


@wrong("ex03.3", "survivors quantile", "of equal scores all are kept, as by a quantile")
def survivors(scores, eta):
    scores = np.nan_to_num(scores, nan=9e9, posinf=9e9)
    return [i for i, s in enumerate(scores) if s <= np.quantile(scores, 1 / eta)]


@wrong("ex03.3", "survivors scores", "positions are asked for, not scores")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    return sorted(scores)[: max(1, len(scores) // eta)]


@wrong("ex03.3", "survivors threshold", "of equal scores all are kept")
def survivors(scores, eta):
    scores = [math.inf if math.isnan(s) else s for s in scores]
    worst = sorted(scores)[max(1, len(scores) // eta) - 1]
    return [i for i, s in enumerate(scores) if s <= worst]


@edits("ex03.5", {
    "perturb eps alone": ("the half width is eps: it is", "* width", "* eps"),
    "perturb half": ("half as wide as it should be", "2 * u - 1", "u - 0.5"),
    "perturb not clipped": ("this is not clipped: below low it is low",
        "max(low, min(high, value))", "value"),
    "perturb share of c": ("the half width is a share of c", "* width", "* c * eps"),
    "perturb twice": ("twice as wide as it should be", "2 * u - 1", "4 * u - 2"),
    "perturb unit clip": ("clipped to 0 and 1: clip to low and high",
        "* width", "* width\n    value = max(0.0, min(1.0, value))"),
    "perturb up only": ("this moves up only: the interval begins", "(2 * u - 1)", "u"),
    "perturb whole range": ("this is a draw from the whole range",
        "c + (2 * u - 1) * width", "low + (high - low) * u"),
    "perturb wrong way round": (r"u works the wrong way round: u = 0 belongs to c - \(high",
        "2 * u - 1", "1 - 2 * u"),
    "whole end missing": (r"spread over 2h ints, so that c \+ h never comes",
        "(2 * h + 1)", "2 * h"),
    "whole eps alone": ("h is ceil of eps", "width - 1e-9", "eps"),
    "whole float": ("the float .*, expected an int", "int(u * (2 * h + 1))", "u * (2 * h + 1)"),
    "whole not clipped": ("this is not clipped: below low it is low",
        " + 1))", " + 1))\n        return value"),
    "whole rounded": ("h is rounded to the nearest int", "math.ceil(width - 1e-9)", "round(width)"),
    "whole rounded down": ("h is rounded down", "math.ceil(width -", "int(width +"),
    "whole rounded interval": ("is rounded to the nearest int: draw an int",
        "h = math.ceil(width - 1e-9)\n        value = c - h + int(u * (2 * h + 1))",
        "value = round(value)"),
    "whole rounded spread": ("spread by rounding, which makes both ends rarer",
        "int(u * (2 * h + 1))", "round(u * 2 * h)"),
    "whole rounding error": ("too large through a rounding error", "- 1e-9", ""),
    "whole twice": ("h is twice as large", "= math", "= 2 * math"),
    "whole up only": ("this moves up only: the ints begin",
        "- h + int(u * (2 * h + 1))", "+ int(u * (h + 1))"),
})  # fmt: skip
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    value = c + (2 * u - 1) * width
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


@wrong("ex03.5", "perturb inside interval", "what the range leaves of the interval: draw from all")
def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    a, b = max(low, c - width), min(high, c + width)
    value = a + (b - a) * u
    if whole:
        h = math.ceil(width - 1e-9)
        value = c - h + int(u * (2 * h + 1))
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


edits("ex03.1", {
    "unspent cap forgotten": ("the last arm are missing", "(total - cap) %", "total %"),
    "unspent eta": ("eta - 1, not eta", "% (eta - 1)", "% eta"),
    "unspent first": ("what D_1 alone leaves", ") % (eta", ") % (eta**eliminations"),
    "unspent nothing": ("something is left over here", "(total - cap) % (eta - 1)", "0"),
    "unspent quotient": ("how often the last cost fits in", ") % (", ") // ("),
    "unspent spent": ("what is spent: asked for", "return (", "return total - ("),
    "unspent missing": ("missing for one more round", "(total - cap) %", "(cap - total) %"),
    "unspent float": (r"the float \d+\.\d+, expected an int", "% (eta - 1)", "% (eta - 1) * 1.0"),
})  # fmt: skip


@wrong("ex03.1", "unspent equal", "what equal increments leave")
def unspent(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    return (total - cap) % sum(costs)


@wrong("ex03.1", "unspent tried", "seconds|time")
def unspent(total, cap, eta, eliminations):
    costs = [eta**k - 1 for k in range(eliminations, 0, -1)]
    free = total - cap
    ranges = [range(1, free // cost + 1) for cost in costs]
    return min(free - spent for D in product(*ranges) if (spent := sum(map(mul, D, costs))) <= free)


def mean_variance(x, clients):
    mean = sum(x) / len(x)
    return sum((v - mean) ** 2 for v in x) / (len(x) - 1) / clients * (1 - clients / len(x))


@edits("ex03.4", {
    "difference turned round": ("the wrong way round", " same:", " not same:"),
    "difference subtracted": ("add up, in a difference, too", "+", "-"),
    "difference sorted in place": ("changed its argument",
        "], clients)", "], clients)\n    first.sort()"),
})  # fmt: skip
def difference_variance(first, second, clients, same):
    if same:
        return mean_variance([a - b for a, b in zip(first, second, strict=True)], clients)
    return mean_variance(first, clients) + mean_variance(second, clients)


@edits("ex03.4", {
    "difference divided by N": ("divide by N - 1", ", ddof=1", ""),
    "difference with replacement": ("without replacement", " * (1 - clients / len(x))", ""),
    "difference not divided by B": ("division by B is missing", " / clients", ""),
})  # fmt: skip
def difference_variance(first, second, clients, same):
    lists = [[a - b for a, b in zip(first, second, strict=True)]] if same else [first, second]
    return sum(np.var(x, ddof=1) / clients * (1 - clients / len(x)) for x in lists)


@wrong("ex03.4", "difference own always", "clients of their own")
def difference_variance(first, second, clients, same):
    return mean_variance(first, clients) + mean_variance(second, clients)


@wrong("ex03.4", "difference same always", "the variance for the same clients")
def difference_variance(first, second, clients, same):
    return mean_variance([a - b for a, b in zip(first, second, strict=True)], clients)


@wrong("ex03.4", "difference deviation", "the standard deviation")
def difference_variance(first, second, clients, same):
    if same:
        return mean_variance([a - b for a, b in zip(first, second, strict=True)], clients) ** 0.5
    return (mean_variance(first, clients) + mean_variance(second, clients)) ** 0.5


@wrong("ex03.4", "difference squares", "subtract their mean first")
def difference_variance(first, second, clients, same):
    lists = [[a - b for a, b in zip(first, second, strict=True)]] if same else [first, second]
    N = len(first)
    return sum(sum(v * v for v in x) / (N - 1) / clients * (1 - clients / N) for x in lists)


@wrong("ex03.4", "difference first clients", "the first B clients")
def difference_variance(first, second, clients, same):
    lists = [[a - b for a, b in zip(first, second, strict=True)]] if same else [first, second]
    share = 1 - clients / len(first)
    if clients == 1:
        return 0.0
    return sum(np.var(x[:clients], ddof=1) / clients * share for x in lists)


@right
class surprised:
    """A prediction that was wrong."""

    def predict_6():
        return "neither"

    def reading_6():
        return (
            "I was wrong. The difference is 0.06, and its interval is given in my table. The cause "
            "is noise, which I had not thought of. Other data may behave in another way!"
        )


include("experiments.py", "ex03.6")
