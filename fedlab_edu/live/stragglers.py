"""Ten clients, half of them slow, and a server with a deadline, under a simulated clock."""

from fedlab_edu.live.draw import BLUE, GREY, ORANGE, Chart
from fedlab_edu.live.draws import uniforms

FAST, SLOW, TOTAL = 5, 5, 60.0  # clients of each kind; seconds
STEP = 0.2  # share of the way to its optimum that a client goes in a round


def weight(seconds: float, deadline: float, share: float) -> float:
    """Return the weight of a client's answer in the average; 0 if it does not count.

    Args:
        seconds: the time that the answer took.
        deadline: the time at which the round ends.
        share: the share of the rounds so far, with this one, in which the client was in time.
    """
    if seconds > deadline:
        return 0.0
    return 1.0


class Server:
    """The times of the rounds, the model after each, and how often each client was in time."""

    def __init__(self) -> None:
        self.seconds, self.models = [0.0], [0.0]
        self.in_time = [0] * (FAST + SLOW)


def simulate(deadline: float, slower: float, seed: int) -> Server:
    """Return the server after a minute.

    The fast clients want the model to be -1, the slow ones +1; best for all is 0. An answer takes
    0.5 to 1.5 seconds, of slow clients ``slower`` times as long. A round ends at the deadline, or
    when all have answered.
    """
    one, u = Server(), uniforms(seed)
    while True:
        w, number = one.models[-1], len(one.models)
        took = [0.5 + next(u) for _ in range(FAST)]
        took += [slower * (0.5 + next(u)) for _ in range(SLOW)]
        now = one.seconds[-1] + min(deadline, max(took))
        if now > TOTAL:
            return one
        top = bottom = 0.0
        for i in range(FAST + SLOW):
            one.in_time[i] += took[i] <= deadline
            wanted = -1.0 if i < FAST else 1.0
            p = weight(took[i], deadline, one.in_time[i] / number)
            top += p * (w + STEP * (wanted - w))
            bottom += p
        one.seconds.append(now)
        one.models.append(top / bottom if bottom else w)


def minute(deadline: float, slower: float, seed: int) -> str:
    """Draw the model over a minute, beside what fast clients, slow clients and all want."""
    one = simulate(deadline, slower, seed)
    chart = Chart((0, TOTAL), (-1.1, 1.1), "seconds", "the model", right=150)
    for level, text in ((-1.0, "fast clients want"), (0.0, "best for all"), (1.0, "slow want")):
        chart.line([0, TOTAL], [level, level], GREY, 1, "4 3", name=text)
    chart.line(one.seconds, one.models, BLUE)
    for at, w in zip(one.seconds, one.models, strict=True):
        chart.dot(at, w, BLUE, 2)
    half = one.models[len(one.models) // 2 :]
    mean = sum(half) / len(half)
    chart.line([TOTAL / 2, TOTAL], [mean, mean], ORANGE)
    chart.label(mean + 0.02, f"mean: {mean:+.2f}", ORANGE)
    rounds = len(one.models) - 1
    share = sum(one.in_time[FAST:]) / (SLOW * rounds) if rounds else 0.0
    print(f"{rounds} rounds; slow clients in time: {100 * share:.0f} %")
    print(f"mean of the model in the second half: {mean:+.2f}")
    return chart.svg(
        f"The model over {rounds} rounds. In the second half its mean is {mean:+.2f}; the fast "
        "clients want -1, the slow ones +1, and 0 is best for all."
    )
