"""FedPop's schedule of how far configurations evolve.

Chen, Krompass, Gu, Tresp (2023), *FedPop: Federated population-based hyperparameter tuning*.
"""

import math

from fedlab_edu.check import require


def anneal(x0: float, r: int, R: int) -> float:
    """``x0/2 (1 + cos(pi r / R))``: from x0 in round r = 0 down to 0 in round R.

    Raises:
        ValueError: r outside 0 to R.

    Source: Chen et al. (2023), eq. (4).
    """
    require(0 <= r <= R and R > 0, "r", r, f"a round from 0 to R = {R}, R above 0")
    return x0 / 2 * (1 + math.cos(math.pi * r / R))
