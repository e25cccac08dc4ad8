"""Successive halving on recorded learning curves."""

from math import sqrt
from typing import Any

from fedlab_edu.live.draw import BLUE, GREEN, GREY, ORANGE, Chart
from fedlab_edu.live.draws import normal, uniforms
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
        seen = [p + normal(u) * sqrt(p * (1 - p) / images) for p in errors]
        for stop in plan.stops:
            errors[stop - 1] = judge(seen[:stop])
        scores.append(errors)
    return plan, schedules.halving(scores, plan.stops, eta)


def race(data: Any, total: int, eta: int, images: float, seed: int) -> str:
    """Draw each arm's recorded error up to the round at which it is eliminated."""
    n, cap = data["size"], len(data["wrong"][0])
    plan, eliminations = replay(data, total, eta, images, seed)
    alive, last = list(range(plan.arms)), [0] * plan.arms
    chart = Chart((0, cap), (0, 1), "round", "error of each arm, until it is eliminated")
    for one in eliminations:
        for a in alive:
            last[a] = one.stop
        alive = list(one.survivors)
        x = chart.x(one.stop)
        ends = [(x, chart.y(0)), (x, chart.y(1))]
        chart.path(ends, GREY, 1, "3 4", 0.7)
    for a in alive:
        last[a] = cap
    errors = [[count / n for count in wrong] for wrong in data["wrong"][: plan.arms]]
    winner = min(alive, key=lambda a: errors[a][-1])
    best = min(range(plan.arms), key=lambda a: errors[a][-1])
    for a in range(plan.arms):
        chart.line(range(1, last[a] + 1), errors[a][: last[a]], GREY, 0.8, "", 0.6)
    chart.line(range(1, cap + 1), errors[best], GREEN)
    chart.line(range(1, cap + 1), errors[winner], BLUE if winner != best else GREEN)
    chart.label(errors[best][-1], f"best: {errors[best][-1]:.3f}", GREEN)
    if winner != best:
        chart.label(errors[winner][-1], f"winner: {errors[winner][-1]:.3f}", BLUE)
        if last[best] < cap:
            chart.dot(last[best], errors[best][last[best] - 1], ORANGE)
    rank = 1 + sum([errors[a][-1] < errors[winner][-1] for a in range(plan.arms)])
    print(f"eliminations after rounds {plan.stops[:-1]}")
    print(f"{plan.used} rounds spent; all {plan.arms} arms to the end would take {plan.arms * cap}")
    print(f"the winner is number {rank} of {plan.arms}")
    return chart.svg(
        f"{plan.arms} arms, {len(eliminations)} eliminations. The winner ends with an error of "
        f"{errors[winner][-1]:.3f}, the best arm with {errors[best][-1]:.3f}."
    )
