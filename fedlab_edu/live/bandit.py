"""A bandit over step sizes on recorded losses of similar tasks, and its bound."""

from typing import Any

from fedlab_edu.live.draw import COLOURS, Chart
from fedlab_edu.live.draws import uniforms
from fedlab_edu.oco import rules


def replay(data: Any, times: float, baseline: float, seed: int) -> list[int]:
    """Return the arm of each task.

    Args:
        data: see `records.tasks`.
        times: a multiple of `bandit_eta`.
        baseline: is subtracted from all losses.
    """
    loss, u = data["loss"], uniforms(seed)
    eta = times * rules.bandit_eta(data["most"], 1, len(loss), len(loss[0]))
    fed_back = [[x - baseline for x in row] for row in loss]
    return rules.bandit_eg(fed_back, eta, [next(u) for _ in loss])


def learn(data: Any, times: float, baseline: float, seed: int) -> str:
    """Draw how often each step size was tried, and print the regret beside its bound."""
    loss, c, most = data["loss"], data["c"], data["most"]
    tau, k = len(loss), len(c)
    arms = replay(data, times, baseline, seed)
    sums = [sum([row[a] for row in loss]) for a in range(k)]
    best = sums.index(min(sums))
    window, chart = tau // 20, Chart((0, tau), (0, 1), "task", "share of tasks that try each arm")
    x = [window * (i + 1) for i in range(tau // window)]
    for a in range(k):
        tried = [arms[i - window : i].count(a) / window for i in x]
        width, dash, name = (2.5, "", "best: ") if a == best else (1.5, "5 3", "")
        chart.line(x, tried, COLOURS[a], width, dash, name=f"{name}c = {c[a]}")
    regret = sum([row[a] for row, a in zip(loss, arms, strict=True)]) - sums[best]
    eta = times * rules.bandit_eta(most, 1, tau, k)
    blind = sum(sums) / k - sums[best]
    print(f"regret against the best arm, per task: {regret / tau:.2f}; of a blind choice: "
          f"{blind / tau:.2f}")  # fmt: skip
    limit = rules.bandit_bound(most, tau, k, eta)
    print(f"its bound, for losses from 0 to {most:g}: {limit / tau:.2f}")
    return chart.svg(
        f"Shares of the four step sizes over {tau} tasks; the best is c = {c[best]}. The regret is "
        f"{regret / tau:.2f} a task, a blind choice has {blind / tau:.2f}."
    )
