"""Exercise 8: what FedPop-L finds if it judges by the loss, or by the difference of two losses."""

from typing import Literal

from fedlab_edu import LocalHP, digits, linear, start, train
from fedlab_edu.search.space import FEDPOP
from fedlab_edu.tuners.fedpop import Evolution, FedPopL, Local

ROUNDS, VECTORS = 10, 10
SPACE = FEDPOP.client.without("mu", "dropout")  # softmax regression has neither


def doublings(score: Literal["after", "difference"], lr: float, seed: int) -> float:
    """Return by how many doublings FedPop-L has raised the step sizes of its vectors.

    Ten clients a round train softmax regression on digits by writer, each with a vector from the
    box around a base; after each of ten rounds the worst vectors copy the best. A base of 0.01 is
    too small, so the step size should rise. 1 means that the ten step sizes are twice the base, as
    a geometric mean, and 0 that they are where they began; the box ends at 1.33.

    Args:
        score: what judges a vector, the loss of its client "after" training, or its "difference" to
            the loss before.
        lr: the base's step size.
        seed: of the initial weights, the clients drawn, the vectors and the minibatches.
    """
    fed, model = digits(), linear(64, 10)
    base = LocalHP(lr=lr, momentum=0.5, weight_decay=1e-4, batch=16)
    judge, how = Local(score=score), Evolution(ROUNDS)
    tuner = FedPopL.near(SPACE, base, VECTORS, how, judge, seed=seed)
    run = train(start(model, fed, tuner, seed=seed), model, fed, ROUNDS)
    return float((run.tuner.table.lr / lr).log2().mean())
