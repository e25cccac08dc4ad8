"""Exercise 3: how many validation clients it takes until the winner repeats."""

from functools import lru_cache

import numpy as np

from fedlab_edu import FedProx, communicate_all, digits, linear, score, start
from fedlab_edu.search.baselines import draw_arms
from fedlab_edu.search.space import FEDEX, Spaces

ARMS, ROUNDS, ELECTIONS = 9, 3, 500


def winner_repeats(clients: int, same: bool, seed: int) -> float:
    """Return how often two elections name the same one of nine arms.

    The arms are random configurations of FedProx that have trained softmax regression on digits
    for three rounds. An election draws clients and names the arm with the lowest error on their
    validation images; 500 pairs of elections are held.

    Args:
        clients: how many of 42 clients an election asks about each arm.
        same: whether it asks the same clients about all arms.
        seed: of the arms, their training and the elections.
    """
    wrong, images = _wrong(seed)
    rng, N = np.random.default_rng([seed, clients, same]), len(images)
    who = rng.random((2, ELECTIONS, 1 if same else ARMS, N)).argsort(-1)[..., :clients]
    who = np.broadcast_to(who, (2, ELECTIONS, ARMS, clients))
    counts = wrong[np.arange(ARMS)[:, None], who].sum(-1)
    first, second = (counts / images[who].sum(-1)).argmin(-1)
    return float((first == second).mean())


@lru_cache(maxsize=16)
def _wrong(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many validation images of each client (N,) each arm has wrong: (arms, N)."""
    fed, model = digits(), linear(64, 10)
    spaces = Spaces(FEDEX.client.without("dropout"), FEDEX.server)
    arms = draw_arms(spaces, ARMS, seed)
    runs = [start(model, fed, arm.tuner, arm.b, seed, FedProx()) for arm in arms]
    for _ in range(ROUNDS):
        runs = communicate_all(runs, model, fed)
    images = fed.val.n.numpy()
    errors = [score(model, run.w, fed.val).rates.numpy() for run in runs]
    return np.array(errors) * images, images
