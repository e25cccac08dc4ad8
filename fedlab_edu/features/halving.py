"""The rules of halving over feature maps as plain functions, for any Python, a browser's too.

They are those of the code of Khodak et al., *Weight-Sharing Beyond NAS*, where growth is sqrt(2).
"""

from math import inf, isnan


def best_half(scores: list[float], alive: list[int]) -> list[int]:
    """Return the best ``ceil(n / 2)`` of the n maps alive, in rising order.

    Args:
        scores: of all maps, lower is better, of equal ones the first; NaN counts as +inf.
        alive: the places of the maps that are left.
    """
    order = sorted(alive, key=lambda i: (inf if isnan(scores[i]) else scores[i], i))
    return sorted(order[: (len(order) + 1) // 2])


def next_width(width: int, growth: float, most: int) -> int:
    """Return the number of features of the next round: growth times as many, at most ``most``."""
    return min(most, round(width * growth))
