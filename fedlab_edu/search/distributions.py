"""Distributions of hyperparameters: draw a value, or move near a given one.

The coordinate of a value is its place on the distribution's scale: log10 of a learning rate, or the
place in a list. Random draws u in [0, 1) are arguments. Khodak et al. (2021), section 3 and
appendix D.2; Chen et al. (2023), section 3.4.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from fedlab_edu.search.neighbours import Support, stride, window
from fedlab_edu.tensors import as_float64
from fedlab_edu.validate import MOST, number, require, share, whole

Draws = Tensor | tuple[Tensor, Tensor, Tensor]  # (3, ...): coin, draw, move


@dataclass(frozen=True)
class Uniform:
    """Uniform on [low, high], finite numbers with low < high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        given = self.low, self.high
        for name, bound in zip(("low", "high"), given, strict=True):
            object.__setattr__(self, name, number(bound))
        a, b = self._ends
        require(0 < b - a < math.inf, "low, high", given, self._allowed)

    _allowed = "finite numbers, low below high"

    @cached_property
    def _ends(self) -> tuple[float, float]:  # the bounds as coordinates, a < b
        return self.low, self.high

    @cached_property
    def _range(self) -> list[float]:  # the least and the greatest value, rounded as draws are
        return sorted(self.points(2))

    def _coordinate(self, value: Tensor) -> Tensor:
        return value

    def _value(self, coordinate: Tensor) -> Tensor:
        return coordinate.clamp(*self._ends)  # a + (b - a) may miss b by a rounding error

    def from_unit(self, u: Tensor) -> Tensor:
        """Return the value at u in [0, 1]: the inverse of the cumulative distribution."""
        a, b = self._ends
        return self._value(a + (b - a) * as_float64(u))

    def perturb(self, value: Tensor, eps: float, u: Tensor, name: str = "value") -> Tensor:
        """Draw from the interval of half width ``(b - a) eps`` around a value at u, then clip.

        [a, b] is the range of the coordinate. With eps = 0 the value does not change. Errors name
        the value by ``name``.
        """
        share("eps", eps)
        value, u, (a, b) = self.check(value, name), as_float64(u), self._ends
        if eps == 0:
            return value.expand(torch.broadcast_shapes(value.shape, u.shape)).clone()
        return self._value((self._coordinate(value) + (b - a) * eps * (2 * u - 1)).clamp(a, b))

    def evo(self, value: Tensor, eps: float, p_re: float, u: Draws, name: str = "value") -> Tensor:
        """Resample with probability p_re, else `perturb`; u (3, ...) holds coin, draw, move.

        Source: Chen et al. (2023), eq. (3).
        """
        share("p_re", p_re)
        coin, draw, move = map(as_float64, u)
        near, fresh = self.perturb(value, eps, move, name), coin < p_re
        return torch.where(fresh, self.from_unit(draw), near) if fresh.any() else near

    def support(self, value: float, eps: float) -> Support:
        """Return the exact distribution of `perturb`."""
        share("eps", eps)
        a, b = self._ends
        c, delta = float(self._coordinate(self.check(value))), (b - a) * eps
        if delta == 0:
            return Support(float(value), float(value), 0.0, 0.0)
        over = a - c + delta, c + delta - b
        masses = [min(1.0, max(0.0, x) / (2 * delta)) for x in over]
        ends = [float(self._value(as_float64(x))) for x in (max(a, c - delta), min(b, c + delta))]
        (low, p_low), (high, p_high) = sorted(zip(ends, masses, strict=True))
        return Support(low, high, p_low, p_high)

    def points(self, count: int) -> list[float]:
        """Return ``count`` values for a grid, both ends included, evenly spaced in the scale."""
        a, b = self._ends
        count = whole("points", count, 1, MOST, f"from 1 to {MOST:,}")
        places = torch.linspace(a, b, count, dtype=torch.float64)
        return self._value(places if count > 1 else as_float64([(a + b) / 2])).tolist()

    def check(self, value: Any, name: str = "value") -> Tensor:
        """Return the value as a tensor; raise a ValueError with its name if it is out of range."""
        value = as_float64(value, name)
        low, high = self._range
        if not torch.equal(value, value.clamp(low, high)):  # NaN, too
            require(False, name, value, f"from {low:.12g} to {high:.12g}")
        return value


class LogUniform(Uniform):
    """Uniform in the logarithm, for 0 < low < high."""

    _allowed = "finite numbers above 0, low below high"

    @cached_property
    def _ends(self) -> tuple[float, float]:
        ok = 0 < self.low < self.high
        return (math.log10(self.low), math.log10(self.high)) if ok else (math.inf, math.inf)

    def _coordinate(self, value: Tensor) -> Tensor:
        return value.log10()

    def _value(self, coordinate: Tensor) -> Tensor:
        a, b = self._ends  # 10 ** log10(high) may miss high by a rounding error
        value = (10.0**coordinate).clamp(self.low, self.high)
        return value.masked_fill(coordinate <= a, self.low).masked_fill(coordinate >= b, self.high)


class OneMinusLogUniform(LogUniform):
    """1 - `LogUniform`: a decay near 1, at a distance from low to high below it."""

    def _coordinate(self, value: Tensor) -> Tensor:
        return super()._coordinate(1 - value)

    def _value(self, coordinate: Tensor) -> Tensor:
        return 1 - super()._value(coordinate)


@dataclass(frozen=True)
class Choice:
    """One of n equally likely options; the coordinate is the place in the list, 0 to n - 1.

    Args:
        options: finite numbers, none twice.
        as_printed: move as in the papers: `perturb` from ``floor((n-1) eps)`` places down to
            ``ceil((n-1) eps)`` up, and `evo` by ``round((n-1) eps)`` places, which may be 0.
    """

    options: tuple[float, ...]
    as_printed: bool = False

    def __post_init__(self) -> None:
        given = self.options
        try:
            options = tuple(map(number, given))
        except TypeError:  # not iterable
            options = ()
        ok = options and all(map(math.isfinite, options))
        ok = ok and len(set(map(float, options))) == len(options)
        allowed = "a tuple of finite numbers, at least one, none twice; for words see OneOf"
        require(ok, "options", given, allowed)
        object.__setattr__(self, "options", options)

    @cached_property
    def _values(self) -> Tensor:
        return as_float64(self.options)

    @cached_property
    def _places(self) -> dict[float, int]:
        return {option: place for place, option in enumerate(self._values.tolist())}

    def from_unit(self, u: Tensor) -> Tensor:
        """Return the option at u in [0, 1], cut into n parts of equal length."""
        return self._at((as_float64(u) * len(self.options)).long())

    def perturb(self, value: Tensor, eps: float, u: Tensor) -> Tensor:
        """Move a value by at most ``ceil((n-1) eps)`` places, each equally likely, and clip."""
        moves = window(len(self.options), eps, self.as_printed)
        return self._at(self.check(value) + moves[0] + (as_float64(u) * len(moves)).long())

    def evo(self, value: Tensor, eps: float, p_re: float, u: Draws, name: str = "value") -> Tensor:
        """Resample with probability p_re, else move by -s, 0 or s places, each equally likely.

        s is ``max(1, round((n-1) eps))``, and the place is clipped. For u see `Uniform.evo`.
        """
        share("p_re", p_re)
        (coin, draw, move), n = map(as_float64, u), len(self.options)
        moved = self.check(value, name) + stride(n, eps, self.as_printed) * ((move * 3).long() - 1)
        return self._at(torch.where(coin < p_re, (draw * n).long(), moved))

    def pmf(self, value: float, eps: float) -> dict[float, float]:
        """Return the exact distribution of `perturb`: option -> probability, where not 0."""
        return self._pmf(value, window(len(self.options), eps, self.as_printed))

    def evo_pmf(self, value: float, eps: float, p_re: float = 0.0) -> dict[float, float]:
        """Return the exact distribution of `evo`, as `pmf` does."""
        share("p_re", p_re)
        n = len(self.options)
        near = self._pmf(value, [step * stride(n, eps, self.as_printed) for step in (-1, 0, 1)])
        found = {o: (1 - p_re) * near.get(o, 0) + p_re / n for o in self.options}
        return {o: p for o, p in found.items() if p}

    def _pmf(self, value: float, moves: Sequence[int]) -> dict[float, float]:
        equally_likely = self._at(self.check(as_float64(value)) + torch.tensor(moves)).tolist()
        return {o: n / len(moves) for o, n in Counter(equally_likely).items()}

    def points(self, count: int) -> list[float]:
        """Return all options: a grid leaves out none."""
        return list(self.options)

    def check(self, value: Any, name: str = "value") -> Tensor:
        """Return the place of a value; raise a ValueError with its name if it is not an option."""
        numbers = as_float64(value, name)
        places = [self._places.get(option) for option in numbers.flatten().tolist()]
        if None in places:
            require(False, name, value, f"one of {list(self.options)}")
        return torch.tensor(places, dtype=torch.long).view(numbers.shape)

    def _at(self, place: Tensor) -> Tensor:
        return self._values.take(place.clamp(0, len(self.options) - 1))


def Integer(low: int, high: int, as_printed: bool = False) -> Choice:
    """Return a `Choice` of the whole numbers from low to high."""
    a, b = number(low), number(high)
    ok = isinstance(a, int) and isinstance(b, int) and a <= b < a + MOST
    allowed = f"whole numbers, low up to high, {MOST:,} of them at most"
    require(ok, "low, high", (low, high), allowed)
    return Choice(tuple(range(low, high + 1)), as_printed)


def PowerOfTwo(low: int, high: int, as_printed: bool = False) -> Choice:
    """Return a `Choice` of the powers of two from low to high, both powers of two."""
    powers = [2**e for e in range(64)]
    ok = number(low) in powers and number(high) in powers and low <= high
    require(ok, "low, high", (low, high), "powers of two below 2^64, low up to high")
    return Choice(tuple(p for p in powers if low <= p <= high), as_printed)


Distribution = Uniform | Choice


def check_distributions(given: Mapping[str, object], names: Sequence[str], what: str) -> None:
    """Raise a ValueError unless ``given`` maps some of the names, of ``what``, to distributions."""
    for name, d in given.items():
        require(name in names, what, name, f"one of {[*names]}")
        require(isinstance(d, Distribution), name, d, "a distribution, such as Uniform(0, 1)")
