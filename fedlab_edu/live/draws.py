"""Random numbers that are the same in every Python."""

from collections.abc import Iterator
from math import cos, log, pi, sqrt


def uniforms(seed: int) -> Iterator[float]:
    """Yield numbers in (0, 1).

    Source: Park and Miller (1988), *Random number generators: good ones are hard to find*.
    """
    state = (seed * 7919 + 12345) % 2147483647
    while True:
        state = state * 16807 % 2147483647
        yield state / 2147483647


def measured(p: float, images: float, u: Iterator[float]) -> float:
    """Return an error p as measured on a number of images: p plus normal noise."""
    return p + normal(u) * sqrt(p * (1 - p) / images)


def normal(u: Iterator[float]) -> float:
    """Return a standard normal number, from two uniform ones."""
    return sqrt(-2 * log(next(u))) * cos(2 * pi * next(u))
