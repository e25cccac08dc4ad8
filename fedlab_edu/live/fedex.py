"""FedEx with its expected gradient, and on a recorded table of scores."""

from math import exp, log
from typing import Any

from fedlab_edu.live.draw import BLUE, GREEN, GREY, ORANGE, Chart
from fedlab_edu.live.draws import uniforms
from fedlab_edu.tuners.fedex import rules

STEPS, ERRORS = 40, (0.3, 0.4, 0.5)


def weighted(error: float, baseline: float, theta_j: float) -> float:
    """Return the term that a report adds to g_j, from a client that has drawn row j."""
    return (error - baseline) / theta_j


def expected_path(baseline: float, eta: float) -> list[list[float]]:
    """Return theta before each step and after the last, each step with the expected gradient.

    One client draws one of three rows, whose errors are the same for every client.
    """
    k = len(ERRORS)
    z = [-log(k)] * k
    path = [[exp(z_j) for z_j in z]]
    for _ in range(STEPS):
        theta = path[-1]  # the client draws row j with probability theta[j]
        mean = [theta[j] * weighted(ERRORS[j], baseline, theta[j]) for j in range(k)]
        z = rules.exponentiate(z, mean, eta)
        path.append([exp(z_j) for z_j in z])
    return path


def expected(baseline: float, eta: float) -> str:
    """Draw theta over steps with the expected gradient."""
    path = expected_path(baseline, eta)
    last = path[-1]
    chart = Chart((0, STEPS), (0, 1), "step", "probability of each row")
    for j, colour in enumerate((BLUE, ORANGE, GREEN)):
        name = f"error {ERRORS[j]:g}: {last[j]:.2f}"
        chart.line(range(len(path)), [theta[j] for theta in path], colour, name=name)
    shown = ", ".join([f"{p:.2f}" for p in last])
    print(f"theta after {STEPS} steps, with baseline {baseline:g}: {shown}")
    ends = ", ".join([f"{p:.2f} for error {e:g}" for p, e in zip(last, ERRORS, strict=True)])
    return chart.svg(f"Three lines over {STEPS} steps. Their ends: {ends}.")


def replay(
    data: Any, rule: str, eta0: float, gamma: float, seed: int, scores: str = "real"
) -> tuple[list[list[float]], list[float]]:
    """Return theta before each round and after the last, and the mean score of each round.

    Args:
        data: "wrong" (rounds, B, k) validation examples of "size" (rounds, B), see `records`.
        eta0: a multiple of the default ``sqrt(2 ln k)``.
        gamma: the discount of the baseline.
        scores: "shuffled" deals each round's scores out among its clients at random.
    """
    k, u = len(data["rows"]), uniforms(seed)
    z, norms, means, total, weight = [-log(k)] * k, [], [], 0.0, 0.0
    path = [[exp(z_j) for z_j in z]]
    for wrong, size in zip(data["wrong"], data["size"], strict=True):
        theta = path[-1]
        row = [rules.draw_row(theta, next(u)) for _ in size]
        score = [counts[j] / n for counts, j, n in zip(wrong, row, size, strict=True)]
        if scores == "shuffled":
            score = [score[i] for _, i in sorted([(next(u), i) for i in range(len(size))])]
        baseline = total / weight if weight else 0.0
        g = rules.gradient(theta, row, score, size, baseline)
        norms.append(max([abs(g_j) for g_j in g]))
        eta = rules.step_size(rule, norms, k, eta0 * (2 * log(k)) ** 0.5)
        z = rules.exponentiate(z, g, eta)
        path.append([exp(z_j) for z_j in z])
        means.append(sum([s * n for s, n in zip(score, size, strict=True)]) / sum(size))
        total, weight = gamma * total + means[-1], gamma * weight + 1
    return path, means


def race(
    data: Any, rule: str, eta0: float = 1.0, gamma: float = 0.0, seed: int = 1,
    scores: str = "real",
) -> str:  # fmt: skip
    """Draw theta over the rounds of the record; the three likeliest rows have colours."""
    path, means = replay(data, rule, eta0, gamma, seed, scores)
    k, last = len(path[0]), path[-1]
    order = sorted(range(k), key=lambda j: -last[j])
    top = max([max(theta) for theta in path])
    high = min([edge for edge in (0.1, 0.2, 0.5, 1.0) if edge >= min(top, 1.0)])
    title = "probability of each row (step size · epochs)"
    chart = Chart((0, len(means)), (0, high), "round", title)
    for j in order[3:]:
        chart.line(range(len(path)), [theta[j] for theta in path], GREY, 0.8, "", 0.6)
    for j, colour in zip(order[:3], (BLUE, ORANGE, GREEN), strict=True):
        name = f"{data['rows'][j]}: {last[j]:.2f}"
        chart.line(range(len(path)), [theta[j] for theta in path], colour, name=name)
    entropy = -sum([p * log(p) for p in last if p > 0])
    print(f"entropy of theta: {entropy:.2f} nats, {log(k):.2f} at first")
    few = max(1, len(means) // 6)
    print(f"mean error of the first {few} rounds {sum(means[:few]) / few:.3f}, "
          f"of the last {sum(means[-few:]) / few:.3f}")  # fmt: skip
    return chart.svg(
        f"theta over {len(means)} rounds: {data['rows'][order[0]]} ends at "
        f"{last[order[0]]:.2f}, the next ones at {last[order[1]]:.2f} and {last[order[2]]:.2f}."
    )
