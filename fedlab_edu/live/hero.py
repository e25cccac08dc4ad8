"""The animation of the landing page: phones train, a server averages, and step sizes are tuned."""

from math import cos, exp, log, pi, sin
from typing import NamedTuple

from fedlab_edu.live import averaging
from fedlab_edu.live.draw import BLUE, GREEN, GREY, INK, ORANGE, Drawing
from fedlab_edu.live.draws import uniforms
from fedlab_edu.tuners.fedex import rules

STEPS, NAMES, COLOURS = (0.02, 0.25, 1.95), ("small", "medium", "large"), (BLUE, GREEN, ORANGE)
PHONES, ROUNDS, LOCAL = 8, 8, 5
PHASES = (
    "The server sends its model to the phones.",
    "Each trains it on its own data, with a step size of its own.",
    "The phones send back their models, and how good they are.",
    "The server averages the models, and good step sizes get likelier.",
)


class State(NamedTuple):
    """Theta and the error of the model before a round, and the rows that the phones then draw."""

    theta: list[float]
    error: float
    row: list[int]


def replay(rounds: int) -> list[State]:
    """Return the state of each round, and that after the last.

    Phone i wants the model to be z_i; its loss is ``(w - z_i)^2 / 2``. FedEx tunes the step size of
    its local training.
    """
    u, k = uniforms(5), len(STEPS)
    wanted = [0.2 * cos(2 * pi * i / PHONES) for i in range(PHONES)]
    z, norms, w, baseline = [-log(k)] * k, [], 1.0, 0.5
    states = []
    for _ in range(rounds + 1):
        theta = [exp(x) for x in z]
        row = [rules.draw_row(theta, next(u)) for _ in wanted]
        states.append(State(theta, abs(w), row))
        models = [local(w, x, STEPS[j]) for x, j in zip(wanted, row, strict=True)]
        scores = [abs(model - x) for model, x in zip(models, wanted, strict=True)]
        sizes = [1.0] * PHONES
        w = averaging.average([[x] for x in models], sizes)[0]
        g = rules.gradient(theta, row, scores, sizes, baseline)
        norms.append(max([abs(x) for x in g]))
        z = rules.exponentiate(z, g, 0.5 * rules.step_size("aggressive", norms, k))
        baseline = sum(scores) / PHONES
    return states


def local(w: float, wanted: float, lr: float) -> float:
    """Return the model after the phone's steps of gradient descent."""
    for _ in range(LOCAL):
        w -= lr * (w - wanted)
    return w


def frame(t: int) -> str:
    """Draw step t of the animation: four for each round."""
    number, phase = t // 4, t % 4
    states = replay(ROUNDS)
    now, after = states[number], states[number + 1]
    drawing = Drawing(560, 270)
    drawing.text(8, 18, f"Round {number + 1} of {ROUNDS}: {PHASES[phase]}")
    _network(drawing, now, phase)
    theta = after.theta if phase == 3 else now.theta
    _bars(drawing, theta)
    _errors(drawing, [one.error for one in states[: number + 1 + (phase == 3)]])
    said = ", ".join([f"{name} {p:.2f}" for name, p in zip(NAMES, theta, strict=True)])
    return drawing.svg(f"Round {number + 1} of {ROUNDS}. {PHASES[phase]} Probabilities: {said}.")


def _network(drawing: Drawing, now: State, phase: int) -> None:
    """Draw the server in the middle, phones around it, and the models on their way."""
    x0, y0 = 140.0, 150.0
    for i in range(PHONES):
        turn = 2 * pi * i / PHONES - pi / 2
        x, y = x0 + 108 * cos(turn), y0 + 92 * sin(turn)
        colour = COLOURS[now.row[i]] if phase in (1, 2) else GREY
        drawing.path([(x0, y0), (x, y)], GREY, 0.8, "", 0.4)
        if phase in (0, 2):
            drawing.disc(x0 + 0.55 * (x - x0), y0 + 0.55 * (y - y0), colour if phase else INK, 5)
        drawing.box(x - 9, y - 15, 18, 30, colour)
    if phase == 3:
        drawing.box(x0 - 35, y0 - 21, 70, 42, GREEN)
    drawing.box(x0 - 30, y0 - 16, 60, 32, GREY)
    drawing.text(x0, y0 + 5, "server", "middle", "#fefefe")


def _bars(drawing: Drawing, theta: list[float]) -> None:
    drawing.text(300, 52, "step size of the phones")
    for j, p in enumerate(theta):
        y = 62 + 26 * j
        drawing.text(300, y + 14, NAMES[j])
        drawing.box(364, y, max(1, 140 * p), 18, COLOURS[j])
        drawing.text(370 + 140 * p, y + 14, f"{p:.2f}")


def _errors(drawing: Drawing, errors: list[float]) -> None:
    drawing.text(300, 166, "error of the server's model")
    points = [(306 + 26 * r, 250 - 74 * min(e, 1.0)) for r, e in enumerate(errors)]
    drawing.path(points, INK)
    drawing.disc(points[-1][0], points[-1][1], INK, 4)
    drawing.path([(300, 250), (520, 250)], GREY, 0.8)
