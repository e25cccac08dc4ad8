"""Random spaces: values, moves, laws and grids are those of exact fractions and logarithms."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_edu import Choice, Integer, LocalHP, LogUniform, PowerOfTwo, SearchSpace, Uniform
from fedlab_edu.search.distributions import Distribution, OneMinusLogUniform
from tests.fuzz import fuzz
from tests.vectors import F64

shares = st.integers(0, 20).map(lambda n: Fraction(n, 20))
units = st.floats(0, 1, exclude_max=True)


def intervals(low: float, high: float) -> st.SearchStrategy[list[float]]:
    """Two numbers that are not nearly equal."""
    pair = st.lists(st.floats(low, high), min_size=2, max_size=2).map(sorted)
    return pair.filter(lambda ends: ends[1] - ends[0] > 1e-6 * high)


# Laws are made in the test: checks of types draw random numbers, which a strategy may not.
Make = Callable[[], Distribution]


def args(kind: Any, pair: st.SearchStrategy[Any]) -> st.SearchStrategy[Make]:
    return pair.map(lambda ends: partial(kind, *ends))


def choices(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Make]:
    options = st.lists(values, min_size=1, max_size=7, unique=True).map(tuple)
    return st.builds(lambda o, printed: partial(Choice, o, printed), options, st.booleans())


whole = st.lists(st.integers(1, 30), min_size=2, max_size=2).map(sorted)
powers = st.lists(st.integers(0, 9), min_size=2, max_size=2).map(
    lambda e: [2**n for n in sorted(e)]
)
LAWS: dict[str, st.SearchStrategy[Make]] = {
    "lr": args(LogUniform, intervals(1e-6, 10)) | choices(st.floats(0, 10)),
    "momentum": args(Uniform, intervals(0, 1)) | args(OneMinusLogUniform, intervals(1e-5, 0.9)),
    "mu": args(Uniform, intervals(0, 100)),
    "epochs": args(Integer, whole) | choices(st.integers(1, 99)),
    "batch": args(PowerOfTwo, powers),
}
spaces = st.lists(st.sampled_from([*LAWS]), unique=True, max_size=5).flatmap(
    lambda names: st.fixed_dictionaries({name: LAWS[name] for name in names})
)


def to_scale(law: Distribution, value: float) -> float:
    if isinstance(law, OneMinusLogUniform):
        return math.log(1 - value)
    return math.log(value) if isinstance(law, LogUniform) else value


def from_scale(law: Distribution, place: float) -> float:
    if isinstance(law, OneMinusLogUniform):
        return 1 - math.exp(place)
    return math.exp(place) if isinstance(law, LogUniform) else place


def ends(law: Any) -> tuple[float, float]:
    logs = isinstance(law, LogUniform)
    return (math.log(law.low), math.log(law.high)) if logs else (law.low, law.high)


def plain_value(law: Distribution, u: float) -> float:
    if isinstance(law, Choice):
        return law.options[math.floor(Fraction(u) * len(law.options))]
    a, b = ends(law)
    return from_scale(law, a + (b - a) * u)


def plain_move(law: Distribution, value: float, eps: Fraction, u: float) -> float:
    if isinstance(law, Choice):
        n = len(law.options)
        up, down = math.ceil((n - 1) * eps), math.floor((n - 1) * eps)
        moves = range(-(down if law.as_printed else up), up + 1)
        place = law.options.index(value) + moves[math.floor(Fraction(u) * len(moves))]
        return law.options[min(max(place, 0), n - 1)]
    a, b = ends(law)
    place = to_scale(law, value) + (b - a) * float(eps) * (2 * u - 1)
    return from_scale(law, min(max(place, a), b))


def plain_evo(law: Distribution, value: float, eps: Fraction, p_re: float, u: list[float]) -> float:
    coin, draw, move = u
    if coin < p_re:
        return plain_value(law, draw)
    if isinstance(law, Choice):
        n = len(law.options)
        by = math.floor((n - 1) * eps + Fraction(1, 2))
        by = by if law.as_printed else max(1, by)
        place = law.options.index(value) + by * (math.floor(3 * Fraction(move)) - 1)
        return law.options[min(max(place, 0), n - 1)]
    return plain_move(law, value, eps, move)


def near(plain: Any) -> Any:
    return pytest.approx(plain, rel=1e-9, abs=1e-12)


def drawn(seed: int, *shape: int) -> list[Any]:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64).tolist()


@fuzz(60)
@given(spaces, st.integers(0, 2**60), shares, shares, st.integers(1, 4))
def test_a_space_draws_moves_evolves_and_counts_as_plain_loops_do(made, seed, eps, p_re, k):
    laws = {name: make() for name, make in made.items()}
    space, h, default = SearchSpace(laws), len(laws), LocalHP()
    gen = torch.Generator().manual_seed(seed)
    row, u = space.sample(1, gen)[0], drawn(seed, 1, h)[0]
    for (name, law), x in zip(laws.items(), u, strict=True):
        assert float(getattr(row, name)) == near(plain_value(law, x))
    for name in set(default.columns) - set(laws):
        assert getattr(row, name) == getattr(default, name)
    values = [float(getattr(row, name)) for name in laws]
    moved = space.perturb(row, float(eps), k, torch.Generator().manual_seed(seed))
    for i, u in enumerate(drawn(seed, k, h)):
        plain = [plain_move(law, v, eps, x)
                 for law, v, x in zip(laws.values(), values, u, strict=True)]  # fmt: skip
        assert [float(getattr(moved[i], name)) for name in laws] == near(plain)
    evolved = space.evo(row, float(eps), float(p_re), torch.Generator().manual_seed(seed))
    draws = zip(*drawn(seed, 3, h), strict=True)
    for (name, law), v, three in zip(laws.items(), values, draws, strict=True):
        plain = plain_evo(law, v, eps, float(p_re), [*three])
        assert float(getattr(evolved, name)) == near(plain)
    check_grid(space, k)


def check_grid(space: SearchSpace[Any], k: int) -> None:
    axes = []
    for law in space.distributions.values():
        if isinstance(law, Choice):
            axes.append([*law.options])
        else:
            a, b = ends(law)
            at = [a + (b - a) * Fraction(i, k - 1) for i in range(k)] if k > 1 else [(a + b) / 2]
            axes.append([from_scale(law, float(place)) for place in at])
    rows = [*itertools.product(*axes)]
    table = space.grid(k)
    assert space.sizes(k) == tuple(map(len, axes))
    assert len(table) == len(rows)
    for j, name in enumerate(space.distributions):
        seen = getattr(table, name).reshape(-1).tolist()
        assert seen == near([row[j] for row in rows])


@fuzz(200)
@given(st.one_of(*LAWS.values()), units, shares, shares)
def test_the_exact_law_of_a_move_is_that_of_evenly_spaced_draws(make, x, eps, p_re):
    law = make()
    value = law.from_unit(torch.tensor(x, dtype=F64))
    u = (torch.arange(2520, dtype=F64) + 0.5) / 2520
    moved, value = law.perturb(value, float(eps), u), float(value)
    for i in range(0, 2520, 126):
        assert float(moved[i]) == near(plain_move(law, value, eps, float(u[i])))
    if isinstance(law, Choice):
        spread = dict(zip(*(t.tolist() for t in moved.unique(return_counts=True)), strict=True))
        count = len({*law.pmf(value, float(eps))})
        assert {o: p * 2520 for o, p in law.pmf(value, float(eps)).items()} == near_counts(spread)
        assert count == len(spread)
        fresh, n = float(p_re), len(law.options)
        near_law = law.evo_pmf(value, float(eps))
        mixed = law.evo_pmf(value, float(eps), fresh)
        for option in law.options:
            plain = (1 - fresh) * near_law.get(option, 0) + fresh / n
            assert mixed.get(option, 0) == pytest.approx(plain, abs=1e-12)
        return
    found = law.support(value, float(eps))
    assert float(moved.min()) >= found.low - 1e-9 * abs(found.low) - 1e-12
    assert float(moved.max()) <= found.high * (1 + 1e-9) + 1e-12
    if eps:
        for end, p in ((found.low, found.p_low), (found.high, found.p_high)):
            hits = float(
                torch.isclose(moved, torch.tensor(end, dtype=F64), 1e-9, 0).double().mean()
            )
            assert hits == pytest.approx(p, abs=2e-3)
    else:
        assert moved.tolist() == [value] * 2520


def near_counts(spread: dict[float, int]) -> Any:
    """Draws at equal distances hit each part of the unit interval to within one."""
    return pytest.approx(spread, abs=15)
