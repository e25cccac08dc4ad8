"""The rules of halving over feature maps as plain functions, for any Python, a browser's too.

Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1, and their code, where growth is sqrt(2).
"""

from math import ceil, inf, isnan

from fedlab_edu.validate import number, require, whole


def best_half(scores: list[float], alive: list[int]) -> list[int]:
    """Return the best ``ceil(n / 2)`` of the n maps alive, in rising order.

    Args:
        scores: of all maps, lower is better, of equal ones the first; NaN counts as +inf.
        alive: the places of the maps that are left.
    """
    order = sorted(alive, key=lambda i: (inf if isnan(scores[i]) else scores[i], i))
    return sorted(order[: (len(order) + 1) // 2])


def rounds_needed(k: int) -> int:
    """Return ``ceil(log2 k)``, the number of halvings that leave one of k maps."""
    return (whole("k", k, 1) - 1).bit_length()


def next_width(width: int, growth: float, most: int) -> int:
    """Return the number of features of the next round: growth times as many, at most ``most``."""
    return min(most, round(width * growth))


def growing_widths(n: int, rounds: int, growth: float) -> list[int]:
    """Return the number of features of each round: n in the last, growth times fewer before."""
    whole("n", n, 1)
    require(1 <= number(growth) < inf, "growth", growth, "a finite number from 1 on")
    rounds = whole("rounds", rounds, 1)
    return [ceil(n / growth ** (rounds - 1 - t)) for t in range(rounds)]
