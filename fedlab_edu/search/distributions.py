"""Laws of hyperparameters: how to draw from one, and how to move near a value that it gave.

A law is searched along one coordinate: the logarithm of a learning rate, the exponent of a batch
size, the place in a list. Random draws are arguments, numbers u in [0, 1): the same u, the same
value. Khodak et al. (2021), section 3 (local perturbation) and appendix D.2; Chen et al. (2023),
section 3.4 (Evo).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedlab_edu.registry import storable
from fedlab_edu.validate import MOST, as_float64, check_shares, number, require

_TOL = 1e-9  # (b - a) eps may miss the whole number that it is on paper by a rounding error


class Support(NamedTuple):
    """The law of a perturbed value: uniform, in its scale, on [low, high], but for two atoms.

    Clipping puts the probabilities ``p_low`` and ``p_high`` on the ends.
    """

    low: float
    high: float
    p_low: float
    p_high: float


@storable
@dataclass(frozen=True)
class Uniform:
    """Uniform on [low, high].

    Raises:
        ValueError: low is not below high, or a bound or their distance is not finite.
    """

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
    def _ends(self) -> tuple[float, float]:
        """The bounds as coordinates, a < b."""
        return self.low, self.high

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The least and the greatest value, as they come out of a tensor."""
        low, high = sorted(self.points(2))
        return low, high

    def _coordinate(self, value: Tensor) -> Tensor:
        return value

    def _value(self, coordinate: Tensor) -> Tensor:
        return coordinate.clamp(*self._ends)  # a + (b - a) may miss b by a rounding error

    def from_unit(self, u: Tensor) -> Tensor:
        """The value at u in [0, 1]: the inverse of the cumulative distribution, in its scale."""
        return self._value(self._at(as_float64(u)))

    def perturb(self, value: Tensor, eps: float, u: Tensor) -> Tensor:
        """A draw from the interval of half width ``(b - a) eps`` around a value, then clipped.

        [a, b] is the range of the coordinate. With eps = 0 the value stays as it is.

        Raises:
            ValueError: a value outside [low, high], or eps outside [0, 1].

        Source: Khodak et al. (2021), section 3, *Local perturbation*.
        """
        check_shares(eps=eps)
        value, u = self.check(value), as_float64(u)
        if eps == 0:
            return value.expand(torch.broadcast_shapes(value.shape, u.shape)).clone()
        return self._value(self._near(value, eps, u))

    def evo(self, value: Tensor, eps: float, p_re: float, u: Tensor) -> Tensor:
        """With probability p_re a fresh draw, else `perturb`; u (3, ...) holds coin, draw, move.

        Source: Chen et al. (2023), section 3.4, eq. (3).
        """
        check_shares(eps=eps, p_re=p_re)
        return self.evolved(self.check(value), eps, p_re, as_float64(u))

    def evolved(self, value: Tensor, eps: float, p_re: float, u: Tensor) -> Tensor:
        """`evo` of a value that the law has given, and of shares: nothing is checked again."""
        coin, draw, move = u
        if eps == 0:
            return torch.where(coin < p_re, self.from_unit(draw), value)
        fresh, near = self._at(draw), self._near(value, eps, move)
        return self._value(torch.where(coin < p_re, fresh, near))

    def _at(self, u: Tensor) -> Tensor:
        """The coordinate at u in [0, 1]."""
        a, b = self._ends
        return a + (b - a) * u

    def _near(self, value: Tensor, eps: float, u: Tensor) -> Tensor:
        """A coordinate at most ``(b - a) eps`` from a value's, clipped."""
        a, b = self._ends
        return (self._coordinate(value) + (b - a) * eps * (2 * u - 1)).clamp(a, b)

    def support(self, value: float, eps: float) -> Support:
        """The exact law of `perturb`."""
        check_shares(eps=eps)
        a, b = self._ends
        c, delta = float(self._coordinate(self.check(value))), (b - a) * eps
        if delta == 0:
            return Support(float(value), float(value), 0.0, 0.0)
        masses = [max(0.0, over) / (2 * delta) for over in (a - c + delta, c + delta - b)]
        ends = [float(self._value(as_float64(x))) for x in (max(a, c - delta), min(b, c + delta))]
        (low, p_low), (high, p_high) = sorted(zip(ends, masses, strict=True))
        return Support(low, high, p_low, p_high)

    def points(self, count: int) -> list[float]:
        """So many values for a grid, evenly spaced in the scale, both ends among them."""
        a, b = self._ends
        require(number(count) in range(1, MOST + 1), "points", count, f"from 1 to {MOST:,}")
        places = torch.linspace(a, b, int(count), dtype=torch.float64)
        return self._value(places if count > 1 else as_float64([(a + b) / 2])).tolist()

    def check(self, value: Any, name: str = "value") -> Tensor:
        """The value as a tensor; refused, by its name, if the law does not give it."""
        value = as_float64(value)
        low, high = self._range
        ok = ((low <= value) & (value <= high)).all()
        require(ok, name, value, f"from {low:.12g} to {high:.12g}")
        return value


@storable
class LogUniform(Uniform):
    """The logarithm is uniform: from low > 0 to high.

    Raises:
        ValueError: not 0 < low < high.
    """

    _allowed = "finite numbers above 0, low below high"

    @cached_property
    def _ends(self) -> tuple[float, float]:
        ok = 0 < self.low < self.high
        return (math.log10(self.low), math.log10(self.high)) if ok else (math.inf, math.inf)

    def _coordinate(self, value: Tensor) -> Tensor:
        return value.log10()

    def _value(self, coordinate: Tensor) -> Tensor:
        # 10 to the power log10(high) may miss high by a rounding error
        a, b = self._ends
        value = (10.0**coordinate).clamp(self.low, self.high)
        return value.masked_fill(coordinate <= a, self.low).masked_fill(coordinate >= b, self.high)


@storable
class OneMinusLogUniform(LogUniform):
    """1 less a `LogUniform`: a decay near 1, of which the distance from 1, low to high, matters."""

    def _coordinate(self, value: Tensor) -> Tensor:
        return super()._coordinate(1 - value)

    def _value(self, coordinate: Tensor) -> Tensor:
        return 1 - super()._value(coordinate)


@storable
@dataclass(frozen=True)
class Choice:
    """One of n options in a fixed order, each as likely; its coordinate is the place, 0 to n - 1.

    Args:
        as_printed: move as the papers print it, not as they mean it. `perturb` is then lopsided,
            from ``floor((n-1) eps)`` places down to ``ceil((n-1) eps)`` up, and `evo` moves by
            ``round((n-1) eps)`` places, which may be none.

    Raises:
        ValueError: no options, one twice, or one that is not finite.
    """

    options: tuple[float, ...]
    as_printed: bool = False

    def __post_init__(self) -> None:
        given = self.options
        try:
            options = tuple(number(option) for option in given)
        except TypeError:  # not several
            options = ()
        ok = options and all(map(math.isfinite, options)) and len(set(options)) == len(options)
        require(ok, "options", given, "finite numbers, at least one, none twice")
        object.__setattr__(self, "options", options)

    def from_unit(self, u: Tensor) -> Tensor:
        """The option at u in [0, 1]: each has a part of that interval, of equal length."""
        n = len(self.options)
        return self._at((as_float64(u) * n).long().clamp(0, n - 1))

    def perturb(self, value: Tensor, eps: float, u: Tensor) -> Tensor:
        """One of the places up to ``ceil((n-1) eps)`` away, each as likely, then clipped.

        Source: Khodak et al. (2021), section 3, *Local perturbation*.
        """
        down, up = self._window(eps)
        return self._at(self._place(value) - down + (as_float64(u) * (down + up + 1)).long())

    def evo(self, value: Tensor, eps: float, p_re: float, u: Tensor) -> Tensor:
        """With probability p_re a fresh draw, else s places down, none or s up, each as likely.

        s is ``max(1, round((n-1) eps))``, and the place is clipped; u (3, ...) holds coin, draw and
        move.

        Source: Chen et al. (2023), section 3.4, eq. (3).
        """
        check_shares(eps=eps, p_re=p_re)
        self.check(value)
        return self.evolved(as_float64(value), eps, p_re, as_float64(u))

    def evolved(self, value: Tensor, eps: float, p_re: float, u: Tensor) -> Tensor:
        """`evo` of a value that the law has given, and of shares: nothing is checked again."""
        coin, draw, move = u
        n, options = len(self.options), as_float64(self.options)
        place = (value[..., None] == options).long().argmax(-1)
        moved = place + self._stride(eps) * ((move * 3).long() - 1)
        return options[torch.where(coin < p_re, (draw * n).long(), moved).clamp(0, n - 1)]

    def pmf(self, value: float, eps: float) -> dict[float, float]:
        """The exact law of `perturb`: option -> its probability, where that is not 0."""
        down, up = self._window(eps)
        return self._law(value, range(-down, up + 1))

    def evo_pmf(self, value: float, eps: float, p_re: float = 0.0) -> dict[float, float]:
        """The exact law of `evo`."""
        check_shares(p_re=p_re)
        s, n = self._stride(eps), len(self.options)
        near = self._law(value, (-s, 0, s))
        law = {o: (1 - p_re) * near.get(o, 0) + p_re / n for o in self.options}
        return {o: p for o, p in law.items() if p}

    def points(self, count: int) -> list[float]:
        """All options: a grid leaves out none."""
        return list(self.options)

    def _window(self, eps: float) -> tuple[int, int]:
        check_shares(eps=eps)
        delta = (len(self.options) - 1) * eps
        up = math.ceil(delta - _TOL)
        return (math.floor(delta + _TOL) if self.as_printed else up), up

    def _stride(self, eps: float) -> int:
        check_shares(eps=eps)
        s = math.floor((len(self.options) - 1) * eps + 0.5 + _TOL)
        return s if self.as_printed else max(1, s)

    def _law(self, value: float, moves: Sequence[int]) -> dict[float, float]:
        law: dict[float, float] = {}
        for option in self._at(self._place(as_float64(value)) + torch.tensor(moves)).tolist():
            law[option] = law.get(option, 0) + 1 / len(moves)
        return law

    def check(self, value: Any, name: str = "value") -> None:
        """Refused, by its name, if the law does not give it."""
        self._place(value, name)

    def _place(self, value: Any, name: str = "value") -> Tensor:
        same = as_float64(value)[..., None] == as_float64(self.options)
        require(same.any(-1).all(), name, value, f"one of {list(self.options)}")
        return same.long().argmax(-1)

    def _at(self, place: Tensor) -> Tensor:
        return as_float64(self.options)[place.clamp(0, len(self.options) - 1)]


def Integer(low: int, high: int, as_printed: bool = False) -> Choice:
    """The whole numbers from low to high."""
    a, b = number(low), number(high)
    ok = isinstance(a, int) and isinstance(b, int) and a <= b < a + MOST
    allowed = f"whole numbers, low up to high, {MOST:,} of them at most"
    require(ok, "low, high", (low, high), allowed)
    return Choice(tuple(range(low, high + 1)), as_printed)


def PowerOfTwo(low: int, high: int, as_printed: bool = False) -> Choice:
    """The powers of two from low to high, both of them powers of two."""
    powers = [2**e for e in range(64)]
    ok = number(low) in powers and number(high) in powers and low <= high
    require(ok, "low, high", (low, high), "powers of two below 2^64, low up to high")
    return Choice(tuple(p for p in powers if low <= p <= high), as_printed)


Distribution = Uniform | Choice
