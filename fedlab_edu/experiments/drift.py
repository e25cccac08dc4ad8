"""Exercise 1: how far clients drift apart in a round."""

from fedlab_edu import LocalHP, digits, linear, local_sgd, weighted_average

CLIENTS = 10


def relative_drift(alpha: float, epochs: int, seed: int) -> float:
    """Return how far the clients of a round end from one another, for each step forward.

    Ten clients hold images of digits, skewed by Dirichlet(alpha), and train softmax regression
    from the same weights w. With the average m of their weights w_i, weighted by their numbers of
    examples, it is the average of |w_i - m|, divided by |m - w|.

    Args:
        alpha: 0.1 is very skewed, 100 hardly.
        epochs: of local training.
        seed: of the partition, the initial weights and the minibatches.
    """
    train = digits(by="label", clients=CLIENTS, alpha=alpha, seed=seed).train
    model = linear(64, 10)
    w = model.init(seed)
    c = LocalHP(lr=0.1, batch=16, epochs=epochs)
    W = local_sgd(model, w, train, c, seeds=[CLIENTS * seed + i for i in range(CLIENTS)])
    m = weighted_average(W, train.n)
    apart = (W - m).norm(dim=1, keepdim=True)
    return (weighted_average(apart, train.n) / (m - w).norm()).item()
