"""Successive halving on recorded learning curves."""

from typing import Any

from fedlab_edu.live.draw import BLUE, GREEN, GREY, ORANGE, Chart
from fedlab_edu.live.draws import measured, uniforms
from fedlab_edu.search import schedules

ELIMINATIONS = {2: 6, 3: 4, 4: 3, 9: 2}  # that start with 64 or 81 arms


def judge(errors: list[float]) -> float:
    """Return the score of an arm at an elimination: the lower, the better."""
    return errors[-1]


def replay(
    data: Any, total: int, eta: int, images: float, seed: int
) -> tuple[schedules.Schedule, list[schedules.Elimination]]:
    """Return the schedule, and the eliminations on the recorded errors.

    Args:
        data: see `records.curves`.
        images: the error of each round is measured on so many images, and scatters accordingly.
    """
    n, cap = data["size"], len(data["wrong"][0])
    plan = schedules.schedule(total, cap, eta, ELIMINATIONS[eta])
    u, scores = uniforms(seed), []
    for wrong in data["wrong"][: plan.arms]:
        errors = [count / n for count in wrong]
        seen = [measured(p, images, u) for p in errors]
        for stop in plan.stops:
            errors[stop - 1] = judge(seen[:stop])
        scores.append(errors)
    return plan, schedules.halving(scores, plan.stops, eta)


def race(data: Any, total: int, eta: int, images: float, seed: int) -> str:
    """Draw each arm's recorded error up to the round at which it is eliminated."""
    n, cap = data["size"], len(data["wrong"][0])
    plan, eliminations = replay(data, total, eta, images, seed)
    alive, last = list(range(plan.arms)), [cap] * plan.arms
    chart = Chart((0, cap), (0, 1), "round", "error of each arm, until it is eliminated")
    for one in eliminations:
        for a in alive:
            last[a] = cap if a in one.survivors else one.stop
        alive = one.survivors
        chart.line((one.stop, one.stop), (0, 1), GREY, 1, "3 4", 0.7)
    errors = [[count / n for count in wrong] for wrong in data["wrong"][: plan.arms]]
    final, rounds = [curve[-1] for curve in errors], range(1, cap + 1)
    winner, best = min(alive, key=lambda a: final[a]), final.index(min(final))
    for a in range(plan.arms):
        chart.line(rounds[: last[a]], errors[a][: last[a]], GREY, 0.8, "", 0.6)
    chart.line(rounds, errors[best], GREEN, name=f"best: {final[best]:.3f}")
    if winner != best:
        chart.line(rounds, errors[winner], BLUE, name=f"winner: {final[winner]:.3f}")
        if last[best] < cap:
            chart.dot(last[best], errors[best][last[best] - 1], ORANGE)
    rank = 1 + sum([e < final[winner] for e in final])
    print(f"eliminations after rounds {plan.stops[:-1]}")
    print(f"{plan.used} rounds spent; all {plan.arms} arms to the end would take {plan.arms * cap}")
    print(f"the winner is number {rank} of {plan.arms}")
    return chart.svg(
        f"{plan.arms} arms, {len(eliminations)} eliminations. The winner ends with an error of "
        f"{final[winner]:.3f}, the best arm with {final[best]:.3f}."
    )
