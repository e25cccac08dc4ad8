"""FedPop on recorded learning curves: who copies whom, and how step sizes move."""

from typing import Any

from fedlab_edu.live.draw import BLUE, GREY, ORANGE, Chart
from fedlab_edu.live.draws import measured, uniforms
from fedlab_edu.search import neighbours
from fedlab_edu.tuners.fedpop import rules

MEMBERS, EVERY = 12, 6  # rounds between two copies
LOW, HIGH = -3.0, 0.0  # log10 of the step sizes
IMAGES = 100  # behind each score


class Member:
    """A member of the population: its error, and log10 of its step size, round by round."""

    def __init__(self, x: float) -> None:
        self.x, self.error = x, 1.0
        self.steps, self.births = [x], [(0, -1)]


def nearest(x: float, curves: int) -> int:
    """Return the place of the recorded step size that is nearest to x, a log10."""
    return int((x - LOW) / (HIGH - LOW) * (curves - 1) + 0.5)


def advance(curve: list[float], error: float) -> float:
    """Return the error after one more round with the step size of a recorded curve.

    It is the first error of the curve that is lower. A model that is better than the curve ever
    was stays as it is.
    """
    for after in curve:
        if after < error:
            return after
    return error


def replay(data: Any, eps: float, p_re: float, rho: float, seed: int) -> list[Member]:
    """Return the members after the recorded number of rounds.

    Args:
        data: see `records.rates`.
        eps, p_re: the initial largest move and the initial probability of a new draw; both are
            annealed to 0.
    """
    n, total, u = data["size"], len(data["wrong"][0]), uniforms(seed)
    curves = [[count / n for count in wrong] for wrong in data["wrong"]]
    members = [Member(LOW + (HIGH - LOW) * next(u)) for _ in range(MEMBERS)]
    for t in range(1, total + 1):
        for one in members:
            one.error = advance(curves[nearest(one.x, len(curves))], one.error)
            one.steps.append(one.x)
        if t % EVERY == 0 and t < total:
            scores = [measured(one.error, IMAGES, u) for one in members]
            near, new = rules.anneal(eps, t, total), rules.anneal(p_re, t, total)
            before = [(one.x, one.error) for one in members]
            for place, parent in rules.pair_parents(scores, rho, [next(u) for _ in members]):
                x, members[place].error = before[parent]
                draws = next(u), next(u), next(u)
                members[place].x = neighbours.evo(x, LOW, HIGH, near, new, draws)
                members[place].births.append((t, parent))
    return members


def lineage(members: list[Member], place: int) -> list[tuple[int, int, int]]:
    """Return (place, first round, last round) of a member's ancestors, the latest first."""
    end, found = len(members[0].steps) - 1, []
    while True:
        begin, parent = [birth for birth in members[place].births if birth[0] < max(end, 1)][-1]
        found.append((place, begin, end))
        if parent < 0:
            return found
        place, end = parent, begin


def evolve(data: Any, eps: float, p_re: float, rho: float, seed: int) -> str:
    """Draw the step size of each member over the rounds, and the ancestors of the best."""
    members, total = replay(data, eps, p_re, rho, seed), len(data["wrong"][0])
    chart = Chart((0, total), (10**LOW, 10**HIGH), "round", "step size of each member", log="y")
    copies = 0
    for one in members:
        begins = [t for t, _ in one.births]
        ends = begins[1:]
        ends.append(total)
        for begin, end in zip(begins, ends, strict=True):
            step = 10 ** one.steps[min(begin + 1, total)]
            chart.line([begin, end], [step, step], GREY, 1)
            copies += begin > 0
        for t, parent in one.births[1:]:
            jump = [10 ** members[parent].steps[t], 10 ** one.steps[t + 1]]
            chart.line([t, t], jump, ORANGE, 1, "", 0.7)
    best = min(range(MEMBERS), key=lambda i: members[i].error)
    for place, begin, end in lineage(members, best):
        step = 10 ** members[place].steps[min(begin + 1, total)]
        chart.line([begin, end], [step, step], BLUE, 3)
    chart.label(10 ** members[best].x, f"best: {10 ** members[best].x:.3f}", BLUE)
    chart.label(0.002, "a copy", ORANGE)
    firsts = [data["wrong"][nearest(one.steps[0], len(data["wrong"]))] for one in members]
    alone = min([min(curve) for curve in firsts]) / data["size"]
    print(f"{copies} copies; error of the best member {members[best].error:.3f}")
    print(f"the best of the same 12 first step sizes, alone: {alone:.3f}")
    return chart.svg(
        f"Step sizes of {MEMBERS} members over {total} rounds with {copies} copies. The best ends "
        f"at {10 ** members[best].x:.3f} with an error of {members[best].error:.3f}."
    )
