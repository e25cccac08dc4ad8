"""Exercise 10: what a table prints if test data choose the configuration."""

from functools import lru_cache
from typing import Literal

from fedlab_edu import digits, linear, random_search, score
from fedlab_edu.rounds.objectives import Average, average
from fedlab_edu.search.space import FEDEX, Spaces
from fedlab_edu.validate import one_of, whole

ARMS, ROUNDS, LAST = 9, 20, 5
_SPACES = Spaces(FEDEX.client.without("mu", "dropout"), FEDEX.server)


def printed_error(by: Literal["validation", "test"], rounds: int, seed: int) -> float:
    """Return the test error, in percent, of the model with the lowest error on a part of the data.

    Nine random configurations of FedAvg train softmax regression on digits for twenty rounds. The
    models to choose from are those after the last rounds of each. An error is that on all clients'
    images of the part together.

    Args:
        by: the part that chooses.
        rounds: how many of the last rounds count, from 1 to 5.
        seed: of the division of the images into parts, the configurations and their training.
    """
    by, rounds = one_of(("validation", "test"))("by", by), whole("rounds", rounds, 1, LAST)
    models = [model for arm in _errors(seed) for model in arm[-rounds:]]
    return 100 * min(models, key=lambda model: model[by].error)["test"].error


@lru_cache(maxsize=16)
def _errors(seed: int) -> list[tuple[dict[str, Average], ...]]:
    """Return the errors on both parts of each configuration after the last rounds."""
    fed, model = digits(seed=seed), linear(64, 10)
    search = random_search(model, fed, _SPACES, ARMS * ROUNDS, ROUNDS, seed=seed)
    parts, rounds = (("validation", fed.val), ("test", fed.test)), list[list[dict[str, Average]]]()
    while not search.done:
        search = search.step(model, fed)
        if search.used > ARMS * (ROUNDS - LAST):
            w = [run.w for run in search.runs]
            rounds.append([{k: average(score(model, w_a, p), p) for k, p in parts} for w_a in w])
    return [*zip(*rounds, strict=True)]
