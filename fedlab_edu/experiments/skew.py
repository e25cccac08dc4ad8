"""Exercise 2: what SCAFFOLD's correction gains as the clients' labels become more skewed."""

from functools import cache

from fedlab_edu import Federation, LocalHP, communicate, digits, evaluate, mlp, start
from fedlab_edu.methods import Method, Reptile, Scaffold
from fedlab_edu.validate import require

CLIENTS, TAKE_PART, ROUNDS = 10, 5, 10
METHODS: dict[str, Method] = {"plain": Reptile(), "scaffold": Scaffold()}


def error(method: str, alpha: float, seed: int) -> float:
    """Return how many per cent of the test images are wrong after ten rounds.

    Ten clients hold images of digits, skewed by Dirichlet(alpha). Five take part in each round, and
    train a network of 32 hidden units for five epochs. All clients weigh the same.

    Args:
        method: "scaffold"; or "plain", the same without control variates, which is Reptile.
        alpha: 0.1 is very skewed, 100 hardly.
        seed: of the partition, the initial weights, the clients of each round and the minibatches.
    """
    require(method in METHODS, "method", method, f"one of {[*METHODS]}")
    fed, model = _clients(alpha, seed), mlp(64, 32, 10)
    run = start(model, fed, LocalHP(lr=0.2, batch=16, epochs=5), None, seed, METHODS[method])
    for _ in range(ROUNDS):
        run = communicate(run, model, fed, TAKE_PART)
    return 100 * evaluate(run, model, fed).error


@cache
def _clients(alpha: float, seed: int) -> Federation:
    return digits(by="label", clients=CLIENTS, alpha=alpha, seed=seed)
