"""Exercise 9: what it costs not to wait for slow clients, at equal time."""

import torch

from fedlab_edu import Federation, LocalHP, Model, Run, digits, linear, score, start
from fedlab_edu.rounds.communicate import train_clients
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.gather import Sums, Work
from fedlab_edu.rounds.objectives import average
from fedlab_edu.seeds import generator
from fedlab_edu.validate import positive

CLIENTS, SLOW, SLOWER, TOTAL = 10, 5, 3.0, 60.0  # the last 5 of 10 clients; seconds


def play_work(run: Run, work: Work, model: Model, fed: Federation) -> Run:
    """Return the run after a round in which the clients of this work have answered."""
    sums = Sums([run], [work], fed.sizes)
    train_clients([run], [work], model, fed.train, fed.val, sums.part, sums.add)
    return sums.finish()[0]


def slow_error(seconds: float, skewed: bool, seed: int) -> float:
    """Return the test error in percent on the slow clients' data, after a minute of training.

    All ten clients are asked in each round. A fast client needs from 0.5 to 1.5 seconds, one of the
    five slow ones three times as long. A round ends when all have answered, or after ``seconds``;
    later answers do not count. A round without an answer changes nothing.

    Args:
        seconds: that the server waits for answers.
        skewed: whether each client has its own mixture of classes, drawn from Dirichlet(0.1).
        seed: of the division of the data, the answers' times, and the training.
    """
    seconds = positive("seconds", seconds)
    by = {"by": "label", "alpha": 0.1} if skewed else {"by": "iid"}
    fed, model = digits(clients=CLIENTS, seed=seed, **by), linear(64, 10)
    run, gen, clock = start(model, fed, LocalHP(lr=0.05, batch=16), seed=seed), generator(seed), 0.0
    slower = torch.tensor([1.0] * (CLIENTS - SLOW) + [SLOWER] * SLOW)
    while True:
        took = slower * (0.5 + torch.rand(CLIENTS, generator=gen))
        clock += min(seconds, float(took.max()))
        if clock > TOTAL:
            test = fed.test[list(range(CLIENTS - SLOW, CLIENTS))]
            return 100 * average(score(model, run.w, test), test).error
        work = draw_work(run, fed.sizes, CLIENTS)
        if in_time := (took[work.client] <= seconds).nonzero()[:, 0].tolist():
            run = play_work(run, work.keep(in_time), model, fed)
