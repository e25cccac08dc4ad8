"""Laws and search spaces: against vectors of independent origin, closed forms and drawn counts."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from fedlab_edu import LocalHP, ServerHP, server_sgd
from fedlab_edu.search import neighbours
from fedlab_edu.search import space as space_module
from fedlab_edu.search.distributions import (
    Choice,
    Integer,
    LogUniform,
    OneMinusLogUniform,
    PowerOfTwo,
    Uniform,
)
from fedlab_edu.search.space import (
    FEDEX,
    FEDEX_SHAKESPEARE,
    FEDEX_WORKSHOP,
    FEDPOP,
    FEDPOP_CROSS_SILO,
    FEDTUNE,
    SearchSpace,
)
from fedlab_edu.tuners.fedpop import anneal
from tests.vectors import F64, case

CASES = json.loads((Path(__file__).parent / "data" / "search_space.A.json").read_text())["cases"]
BY_SPEC = {
    "server_lr": FEDEX.server.distributions["lr"],
    "server_momentum_paper": Uniform(0, 0.9),
    "server_momentum_code": FEDEX.server.distributions["momentum"],
    "server_gamma": FEDEX.server.distributions["decay"],
    **FEDEX.client.distributions,
}
LAWS = [
    Uniform(0, 0.5),
    LogUniform(1e-4, 1),
    OneMinusLogUniform(1e-4, 1e-2),
    Choice((0, 0.9)),
    Integer(1, 5),
    PowerOfTwo(8, 128),
]


def made(kind: type, **fields: object) -> Any:
    """Make a value as outside the tests, without other checks of types."""
    new = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(new, name, value)
    new.__post_init__()
    return new


def of(function: str) -> list[str]:
    return [c["id"] for c in CASES if c["function"] == function]


def gen(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", of("server learning rate"))
def test_the_server_rate_of_round_t(name):
    given, expected = case("search_space", name)
    b = ServerHP(lr=given["lr"], decay=given["gamma"])
    w, zero = torch.ones(1, dtype=F64), torch.zeros(1, dtype=F64)
    moved, _ = server_sgd(w, zero, zero, b, given["t"])  # by rate (w - average) = rate
    assert float(1 - moved) == pytest.approx(expected["value"], abs=1e-9)


@pytest.mark.parametrize("name", of("cosine annealing"))
def test_annealing_follows_a_cosine(name):
    given, expected = case("search_space", name)
    assert anneal(given["x0"], given["r"], given["R"]) == pytest.approx(
        expected["value"], abs=1e-12
    )


@pytest.mark.parametrize("name", of("from_unit"))
def test_from_unit_is_the_inverse_of_the_stated_distribution(name):
    given, expected = case("search_space", name)
    law = BY_SPEC[name.removeprefix("sample-")]
    got = law.from_unit(torch.tensor(given["u"], dtype=F64))
    assert got.tolist() == pytest.approx(expected["values"], rel=1e-12)


@pytest.mark.parametrize("name", of("local perturbation, continuous"))
def test_support_of_a_perturbed_real_value(name):
    given, expected = case("search_space", name)
    low, high, p_low, p_high = Uniform(given["a"], given["b"]).support(given["c"], given["eps"])
    assert [low, high] == pytest.approx(expected["support"], abs=1e-9)
    assert [p_low, p_high] == pytest.approx([expected["p_low"], expected["p_high"]], abs=1e-9)


@pytest.mark.parametrize("name", of("local perturbation, discrete"))
def test_law_of_a_perturbed_whole_number(name):
    given, expected = case("search_space", name)
    law = Integer(given["a"], given["b"], as_printed=given["rule"] == "paper")
    assert law.pmf(given["c"], given["eps"]) == pytest.approx(
        {int(v): p for v, p in expected.items()}, abs=1e-9
    )


@pytest.mark.parametrize("name", of("Evo, discrete (index space)"))
def test_law_of_an_option_that_evolves(name):
    given, expected = case("search_space", name)
    for as_printed, p_re, key in (
        (False, 0, "pmf"),
        (True, 0, "pmf_literal_paper"),
        (False, 0.1, "pmf_with_resampling"),
    ):
        law = Integer(0, given["n_options"] - 1, as_printed)
        assert law.evo_pmf(given["i"], given["eps"], p_re) == pytest.approx(
            {int(v): p for v, p in expected[key].items()}, abs=1e-9
        )


def test_a_logarithm_is_perturbed_in_its_scale():
    low, high, *masses = LogUniform(1e-4, 1).support(1e-2, 0.1)
    assert [low, high] == pytest.approx([10**-2.4, 10**-1.6])
    assert masses == [0, 0]


def test_a_decay_near_its_upper_end_is_clipped_there():
    # the coordinate log10(1 - decay) = -3.9 is 0.1 from its lower end -4, of 0.4 to either side
    low, high, p_low, p_high = OneMinusLogUniform(1e-4, 1e-2).support(1 - 10**-3.9, 0.2)
    assert [low, high] == pytest.approx([1 - 10**-3.5, 1 - 1e-4])
    assert [p_low, p_high] == pytest.approx([0, 0.375])


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0])
def test_moves_stay_in_range_and_none_of_eps_0(law, eps):
    u = torch.rand(4, 500, generator=gen(), dtype=F64)
    value = law.from_unit(u[3])
    low, high = min(law.points(2)), max(law.points(2))
    for moved in (law.perturb(value, eps, u[0]), law.evo(value, eps, 0.2, u[:3])):
        assert low <= moved.min()
        assert moved.max() <= high
    if eps == 0:
        assert torch.equal(law.perturb(value, eps, u[0]), value)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_no_values_are_allowed_and_move_to_no_values(law):
    none = torch.zeros(0, dtype=F64)
    assert law.check(none).shape == (0,)
    assert law.perturb(none, 0.1, none).shape == (0,)
    assert law.evo(none, 0.1, 0.2, torch.zeros(3, 0, dtype=F64)).shape == (0,)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_one_value_out_of_range_among_others_is_named(law, bad):
    values = torch.tensor([*law.points(2), bad], dtype=F64)
    with pytest.raises(ValueError, match=r"^lr is \[.*\]; allowed: (from|one of) "):
        law.check(values, "lr")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_draws_in_float32_count_as_float64(law):
    value = law.from_unit(torch.tensor([0.4], dtype=F64))
    u = torch.tensor([0.7, 0.9, 0.2]).view(3, 1)  # in float32, 0.7 is less than 0.7
    wanted = law.evo(value, 0.3, 0.7, u.double())
    assert torch.equal(law.evo(value, 0.3, 0.7, u), wanted)


@pytest.mark.parametrize(
    ("row", "eps", "p_re", "name"),
    [
        (LocalHP(lr=50.0), 0.1, 0.1, "lr"),
        (LocalHP(), 2.0, 0.1, "eps"),
        (LocalHP(lr=[0.1, 0.2]), 0.1, 0.1, "row"),
        (LocalHP(), 0.1, 2.0, "p_re"),
    ],
)
def test_a_refused_argument_leaves_the_generator_as_it_was(row, eps, p_re, name):
    space, draws = SearchSpace({"lr": LogUniform(1e-3, 1.0)}), gen()
    before = draws.get_state()
    if name != "p_re":
        with pytest.raises(ValueError, match=f"^{name} is"):
            space.perturb(row, eps, 3, draws)
    if name != "row":
        with pytest.raises(ValueError, match=f"^{name} is"):
            space.evo(row, eps, p_re, draws)
    assert torch.equal(draws.get_state(), before)


def compared(law: Uniform, value: float, eps: float, moved: torch.Tensor) -> None:
    """Drawn values against `support`: the atoms by a binomial test, the rest by Kolmogorov's."""
    low, high, *masses = law.support(value, eps)
    scale = {Uniform: float, LogUniform: math.log, OneMinusLogUniform: lambda h: math.log(1 - h)}
    inner = []
    counts = [0, 0]
    for h in moved.tolist():
        at = [math.isclose(h, end, rel_tol=1e-12) for end in (low, high)]
        if any(at):
            counts[at.index(True)] += 1
        else:
            inner.append(scale[type(law)](h))
    for count, mass in zip(counts, masses, strict=True):
        assert stats.binomtest(count, len(moved), mass).pvalue > 1e-3
    ends = sorted(scale[type(law)](end) for end in (low, high))
    assert stats.kstest(inner, "uniform", args=(ends[0], ends[1] - ends[0])).pvalue > 1e-3


@pytest.mark.parametrize(
    ("law", "value"),
    [
        (Uniform(0, 0.5), 0.48),
        (Uniform(0, 1), 0.3),
        (LogUniform(1e-4, 1), 3e-4),
        (OneMinusLogUniform(1e-4, 1e-2), 0.9999 - 3e-5),
    ],
)
def test_draws_of_real_values_follow_the_stated_law(law, value):
    u = torch.rand(4, 4000, generator=gen(1), dtype=F64)
    start = torch.tensor(value, dtype=F64)
    compared(law, value, 0.1, law.perturb(start, 0.1, u[0]))
    compared(law, value, 0.1, law.evo(start, 0.1, 0.0, u[1:]))


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("value", [8, 16, 128])
@pytest.mark.parametrize("eps", [0.1, 0.3, 1.0])
def test_draws_of_options_follow_the_stated_law(as_printed, value, eps):
    law = PowerOfTwo(8, 128, as_printed)
    # the inverse of a distribution: an even grid of u gives each option its share of them
    u = (torch.arange(2520, dtype=F64) + 0.5) / 2520  # 2520 is a multiple of 1 to 9
    start = torch.tensor(float(value), dtype=F64)
    shares = Counter(law.perturb(start, eps, u).tolist())
    assert {o: n / len(u) for o, n in shares.items()} == pytest.approx(law.pmf(value, eps))
    coin, draw = torch.rand(2, 20_000, generator=gen(2), dtype=F64)
    moved = law.evo(start, eps, 0.3, torch.stack([coin, draw, torch.rand_like(coin)]))
    expected = law.evo_pmf(value, eps, 0.3)
    counts = Counter(moved.tolist())
    assert counts.keys() == expected.keys()
    observed = [counts[o] for o in expected]
    assert stats.chisquare(observed, np.array(list(expected.values())) * len(moved)).pvalue > 1e-3


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_coin_below_p_re_draws_afresh_and_any_other_moves(law):
    value = law.from_unit(torch.tensor([0.5, 0.5], dtype=F64))
    u = torch.tensor([[0.09, 0.11], [0.95, 0.95], [0.01, 0.01]], dtype=F64)
    got = law.evo(value, 0.3, 0.1, u)
    assert got[0] == law.from_unit(torch.tensor(0.95, dtype=F64))
    assert got[1] != got[0]


@pytest.mark.parametrize("high", [0.3, 0.9, 0.5419521627022189])
def test_the_ends_of_a_range_are_met_exactly(high):
    for law in (Uniform(0.1, high), LogUniform(0.1, high)):
        assert law.points(2) == [0.1, high]
        assert law.from_unit(torch.tensor([0.0, 1.0], dtype=F64)).tolist() == [0.1, high]
        assert law.support(high, 0.5).high == high
        assert law.support(0.2, 0) == (0.2, 0.2, 0, 0)


def test_a_window_that_is_whole_on_paper_is_not_widened_by_rounding():
    assert 100 * 0.07 > 7
    assert list(Integer(0, 100).pmf(50, 0.07)) == list(range(43, 58))


@pytest.mark.parametrize("as_printed", [False, True])
def test_a_law_sums_to_one(as_printed):
    law = Integer(1, 5, as_printed)
    for value in range(1, 6):
        for eps in (0, 0.1, 0.25, 0.5, 1):
            assert sum(law.pmf(value, eps).values()) == pytest.approx(1)
            assert sum(law.evo_pmf(value, eps, 0.1).values()) == pytest.approx(1)


def test_a_space_draws_each_hyperparameter_by_its_law():
    table = FEDEX.client.sample(4000, gen(3))
    assert isinstance(table, LocalHP)
    assert len(table) == 4000
    for name, law in FEDEX.client.distributions.items():
        column = getattr(table, name).double()
        if isinstance(law, Choice):
            counts = [int((column == option).sum()) for option in law.options]
            assert sum(counts) == 4000
            assert stats.chisquare(counts).pvalue > 1e-3
        else:
            low, high = law.low, law.high
            drawn = column.log() if isinstance(law, LogUniform) else column
            ends = (math.log(low), math.log(high)) if isinstance(law, LogUniform) else (low, high)
            ends = ends[0], ends[1] - ends[0]
            assert stats.kstest(drawn.numpy(), "uniform", args=ends).pvalue > 1e-3


def test_columns_of_a_sample_are_independent():
    table = FEDEX.client.sample(4000, gen(4))
    columns = np.stack(
        [getattr(table, name).double().numpy() for name in FEDEX.client.distributions]
    )
    correlation, _ = stats.spearmanr(columns.T)
    assert np.abs(correlation - np.eye(len(columns))).max() < 4 / math.sqrt(4000)


def test_perturbing_keeps_what_has_no_law_and_eps_0_keeps_all():
    row = LocalHP(lr=0.02, momentum=0.3, mu=0.7, batch=16, epochs=2)
    space = SearchSpace({"lr": LogUniform(1e-4, 1), "batch": PowerOfTwo(8, 128)})
    same, near = (space.perturb(row, eps, 50, gen(5)) for eps in (0.0, 0.25))
    for name, column in row.columns.items():
        assert getattr(same, name).tolist() == [column.item()] * 50
        if name not in space.distributions:
            assert getattr(near, name).tolist() == [column.item()] * 50
    assert set(near.batch.tolist()) == {8, 16, 32}
    assert 0.002 <= near.lr.min() < near.lr.max() <= 0.2
    assert len(set(near.lr.tolist())) == 50


def test_a_configuration_that_evolves_is_one_configuration():
    row = FEDEX.server.sample(1, gen(6))[0]
    new = FEDEX.server.evo(row, 0.0, 0.0, gen(7))
    assert isinstance(new, ServerHP)
    assert new.lr.dim() == 0
    assert (new.lr, new.decay) == (row.lr, row.decay)  # eps = 0 moves no real value
    fresh = FEDEX.client.evo(FEDEX.client.sample(1, gen(6))[0], 0.0, 1.0, gen(8))
    assert fresh.lr != FEDEX.client.sample(1, gen(6))[0].lr


def test_a_grid_is_all_combinations_the_last_hyperparameter_innermost():
    space = SearchSpace({"lr": LogUniform(1e-4, 1), "epochs": Integer(1, 2)})
    table = space.grid(3)
    assert table.lr.tolist() == pytest.approx([1e-4, 1e-4, 1e-2, 1e-2, 1, 1])
    assert table.epochs.tolist() == [1, 2] * 3
    assert space.grid(1).lr.tolist() == pytest.approx([1e-2, 1e-2])


def test_a_grid_has_as_many_rows_as_are_allowed_and_no_more(monkeypatch):
    monkeypatch.setattr(space_module, "MOST", 6)
    space = SearchSpace({"lr": LogUniform(1e-4, 1), "epochs": Integer(1, 2)})
    assert len(space.grid(3)) == 6
    with pytest.raises(ValueError, match="rows of the grid is 8; allowed: at most 6"):
        space.grid(4)


def test_the_spaces_of_the_papers_have_the_ranges_of_the_papers():
    # Khodak et al. (2021), D.2, and the 30 candidates of FedTune
    u = torch.tensor([[0.0] * 7, [0.9999999999] * 7], dtype=F64)
    ends = FEDEX.client.from_unit(u)
    assert ends.lr.log10().tolist() == pytest.approx([-4, 0], abs=1e-8)
    assert ends.weight_decay.log10().tolist() == pytest.approx([-5, -1])
    assert ends.mu.log10().tolist() == pytest.approx([-5, 0], abs=1e-8)
    assert ends.momentum.tolist() == pytest.approx([0, 1])
    assert ends.dropout.tolist() == pytest.approx([0, 0.5])
    assert (ends.epochs.tolist(), ends.batch.tolist()) == ([1, 5], [8, 128])
    server = FEDEX.server.from_unit(u[:, :3])
    assert server.lr.log10().tolist() == pytest.approx([-1, 1])
    assert server.momentum.tolist() == pytest.approx([0, 0.9])
    assert server.decay.tolist() == pytest.approx([1 - 1e-4, 1 - 1e-2])
    assert FEDEX_SHAKESPEARE.client.sample(50, gen()).epochs.unique().tolist() == [1]
    few = FEDPOP_CROSS_SILO.client.sample(99, gen())
    assert few.batch.unique().tolist() == [8, 16, 32, 64]
    assert few.epochs.unique().tolist() == [1]
    assert FEDPOP.client.distributions == FEDEX.client.distributions
    workshop = FEDEX_WORKSHOP.client.sample(99, gen())
    assert workshop.momentum.unique().tolist() == [0, 0.9]
    assert workshop.dropout.unique().tolist() == [0, 0.5]
    assert FEDEX_WORKSHOP.server.sample(99, gen()).lr.unique().tolist() == [1]
    ends = FEDEX_WORKSHOP.server.sample(99, gen()).decay.unique()
    assert ends.tolist() == pytest.approx([1 - 1e-2, 1 - 1e-4])
    rates, decays = FEDTUNE.client.grid().columns["lr"], FEDTUNE.client.grid().weight_decay
    assert [*zip(rates.tolist(), decays.tolist(), strict=True)] == [
        (lr, wd)
        for lr in (1e-1, 5e-2, 1e-2, 5e-3, 1e-3)
        for wd in (0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # in the printed order
    ]


def test_a_point_of_all_laws_is_one_of_the_client_and_one_of_the_server():
    point = torch.rand(10, generator=gen(9), dtype=F64)
    c, b = FEDEX.at(point)
    one = FEDEX.client.from_unit(point[None, :7])
    assert c.columns == {name: column[0] for name, column in one.columns.items()}
    assert b.lr == FEDEX.server.from_unit(point[None, 7:]).lr[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(1, 1), r"low, high is \(1, 1\); allowed: finite numbers, low below high"),
        (lambda: Uniform(0, math.inf), r"low, high is \(0, inf\)"),
        (lambda: LogUniform(0, 1), r"low, high is \(0, 1\); allowed: finite numbers above 0"),
        (lambda: LogUniform(math.nan, 1), r"low, high is \(nan, 1\)"),
        (lambda: Choice(()), r"options is \(\); allowed: a tuple of finite numbers, at least one"),
        (lambda: Choice((1, 1.0)), r"options is \(1, 1.0\)"),
        (lambda: Choice((math.nan,)), r"options is \(nan,\)"),
        (lambda: Uniform(-1e308, 1e308), r"low, high is \(-1e\+308, 1e\+308\)"),
        (
            lambda: made(Uniform, low="a", high=1),
            r"low, high is \('a', 1\); allowed: finite numbers, low below",
        ),
        (
            lambda: made(LogUniform, low="0.1", high=1),
            r"low, high is \('0.1', 1\); allowed: finite numbers",
        ),
        (lambda: made(Uniform, low=None, high=[1]), r"low, high is \(None, \[1\]\)"),
        (lambda: Uniform(0, 10**400), r"low, high is \(0, 10{400}\)"),
        (
            lambda: made(Choice, options="ab"),
            "options is 'ab'; allowed: a tuple of finite numbers, at least one",
        ),
        (
            lambda: made(Choice, options=3),
            "options is 3; allowed: a tuple of finite numbers, at least one",
        ),
        (
            lambda: made(Choice, options=(0.1, None)),
            r"options is \(0.1, None\); allowed: a tuple of finite numbers",
        ),
        (lambda: Integer(3, 2), r"low, high is \(3, 2\); allowed: whole numbers, low up to high"),
        (lambda: Integer.__wrapped__(1.5, 2), r"low, high is \(1.5, 2\); allowed: whole numbers"),
        (lambda: Integer(1, 10**9), r"1000000000\); allowed: .*, 1,000,000 of them at most"),
        (
            lambda: PowerOfTwo.__wrapped__("a", 8),
            r"low, high is \('a', 8\); allowed: powers of two",
        ),
        (lambda: PowerOfTwo(8, 100), r"low, high is \(8, 100\); allowed: powers of two"),
        (lambda: SearchSpace({"rate": Uniform(0, 1)}), "hyperparameter is 'rate'; allowed: one of"),
        (lambda: FEDEX.client.without("rate"), "hyperparameter is 'rate'; allowed: one of"),
        (lambda: FEDEX.client.sample(0, gen()), "k is 0; allowed: a whole number of at least 1"),
        (lambda: FEDEX.client.perturb(LocalHP(), 1.5, 2, gen()), "eps is 1.5; allowed: a number"),
        (lambda: FEDEX.client.perturb(LocalHP(lr=[1, 2]), 0.1, 2, gen()), "row is '2 rows'"),
        (lambda: FEDEX.client.evo(LocalHP(), 0.1, -1, gen()), "p_re is -1; allowed: a number"),
        (lambda: PowerOfTwo(8, 128).pmf(9, 0.1), "value is 9.0; allowed: one of"),
        (lambda: FEDEX.client.grid(0), "points is 0; allowed: from 1 to 1,000,000"),
        (
            lambda: Uniform.points.__wrapped__(Uniform(0, 1), 1.5),
            "points is 1.5; allowed: from 1 to 1,000,000",
        ),
        (lambda: FEDEX.client.grid(10**9), "points is 1000000000; allowed: from 1 to 1,000,000"),
        (lambda: FEDEX.client.grid(9), f"grid is {9**5 * 5 * 5}; allowed: at most 1,000,000"),
        (lambda: Uniform(0, 1).support(2, 0.1), "value is 2.0; allowed: from 0 to 1"),
        (
            lambda: FEDEX.client.perturb(LocalHP(lr=3), 0.1, 2, gen()),
            "lr is 3.0; allowed: from 0.0001 to 1",
        ),
        (
            lambda: SearchSpace({"epochs": Integer(1, 5)}).evo(LocalHP(epochs=9), 0.1, 0.1, gen()),
            r"epochs is 9; allowed: one of \[1, 2, 3, 4, 5\]",
        ),
        (
            lambda: SearchSpace({"dropout": Uniform(0, 1)}),
            "dropout is .*; allowed: numbers from 0 to",
        ),
        (lambda: SearchSpace({"epochs": Uniform(1, 5)}), "epochs is .*; allowed: whole numbers"),
        # whole in all four places of a grid, and nowhere between
        (lambda: SearchSpace({"batch": Uniform(8, 128)}), "batch is Uni.*; allowed: whole numbers"),
        (lambda: SearchSpace({"epochs": LogUniform(1, 1000)}), "epochs is .*; allowed: whole numb"),
        (lambda: anneal(0.1, -1, 5), "r is -1; allowed: a round from 0 to R = 5"),
        (lambda: anneal(0.1, 6, 5), "r is 6; allowed: a round from 0 to R = 5"),
    ],
)
def test_what_is_not_allowed_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_law_refuses_shares_that_are_none(law, bad):
    value, u = law.from_unit(torch.tensor(0.5, dtype=F64)), torch.rand(3, generator=gen())
    exact = law.pmf if isinstance(law, Choice) else law.support
    calls = [
        ("eps", lambda: law.perturb(value, bad, u)),
        ("eps", lambda: law.evo(value, bad, 0.1, u)),
        ("p_re", lambda: law.evo(value, 0.1, bad, u)),
        ("eps", lambda: exact(float(value), bad)),
    ]
    if isinstance(law, Choice):
        calls.append(("eps", lambda: law.evo_pmf(float(value), bad, 0.1)))
        calls.append(("p_re", lambda: law.evo_pmf(float(value), 0.1, bad)))
    for name, call in calls:
        with pytest.raises(ValueError, match=f"{name} is {bad!r}; allowed: a number from 0 to 1"):
            call()


def test_a_uniform_value_never_exceeds_its_upper_end_by_rounding():
    ends = [(a / 100, b / 100) for a in range(100) for b in range(a + 1, 101)]
    assert any(a + (b - a) > b for a, b in ends)  # so it would, with the plain formula
    one = torch.tensor(1.0, dtype=F64)
    for a, b in ends:
        law = Uniform(a, b)
        assert law.from_unit(one) <= b
        assert law.perturb(law.from_unit(one), 0.1, one) <= b


def test_laws_of_numpys_numbers_are_those_of_pythons():
    pairs = [
        (made(Uniform, low=np.float64(0.25), high=np.int64(1)), Uniform(0.25, 1)),
        (made(LogUniform, low=np.float32(0.25), high=torch.tensor(1.0)), LogUniform(0.25, 1)),
        (made(Choice, options=np.array([0.1, 1.0])), Choice((0.1, 1.0))),
        (made(Choice, options=torch.arange(2)), Choice((0, 1))),
        (Integer.__wrapped__(np.int64(1), np.int32(3)), Choice((1, 2, 3))),
        (PowerOfTwo.__wrapped__(np.int64(2), np.int64(8)), Choice((2, 4, 8))),
    ]
    for one, other in pairs:
        assert one == other
        held = one.options if isinstance(one, Choice) else (one.low, one.high)
        assert {type(number) for number in held} <= {int, float}


def test_a_space_without_some_hyperparameters_leaves_them_at_their_defaults():
    table = FEDEX.client.without("mu", "dropout").sample(20, gen())
    assert not table.mu.any()
    assert not table.dropout.any()
    assert len(table.lr.unique()) == 20


def test_a_number_that_was_drawn_may_be_changed_without_changing_the_options():
    law, half = Choice((1.0, 2.0, 3.0)), torch.tensor(0.5, dtype=torch.float64)
    for draw in (
        lambda: law.from_unit(half),
        lambda: law.perturb(torch.tensor(2.0), 0.0, half),
        lambda: law.evo(torch.tensor(2.0), 0.0, 1.0, half.expand(3)),
    ):
        assert draw().add_(100).item() == 102
        assert [float(law.from_unit(u)) for u in torch.tensor([0.0, 0.5, 0.9])] == [1, 2, 3]


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.7])
def test_perturb_and_evo_of_one_number_are_those_of_tensors(eps):
    gen = torch.Generator().manual_seed(0)
    distribution = Uniform(-2.0, 3.0)
    for u in torch.rand(200, 4, generator=gen, dtype=torch.float64):
        x, (coin, draw, move) = -2 + 5 * float(u[3]), u[:3].tolist()
        near = distribution.perturb(torch.tensor(x, dtype=torch.float64), eps, u[2])
        assert neighbours.perturb(x, -2.0, 3.0, eps, move) == pytest.approx(float(near), abs=1e-12)
        other = distribution.evo(torch.tensor([x], dtype=torch.float64), eps, 0.3, u[:3, None])
        one = neighbours.evo(x, -2.0, 3.0, eps, 0.3, (coin, draw, move))
        assert one == pytest.approx(float(other), abs=1e-12)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("eps", [0.0, 0.2, 0.6])
def test_perturb_and_evo_of_one_place_are_those_of_tensors(eps, as_printed):
    gen = torch.Generator().manual_seed(0)
    options = (8.0, 16.0, 32.0, 64.0, 128.0)
    distribution = Choice(options, as_printed)
    for u in torch.rand(200, 4, generator=gen, dtype=torch.float64):
        place, (coin, draw, move) = int(5 * u[3]), u[:3].tolist()
        value = torch.tensor([options[place]], dtype=torch.float64)
        moves = neighbours.window(5, eps, as_printed)
        near = min(max(place + moves[int(move * len(moves))], 0), 4)
        assert distribution.perturb(value, eps, u[2:3]).tolist() == [options[near]]
        s = neighbours.stride(5, eps, as_printed)
        other = int(5 * draw) if coin < 0.3 else min(max(place + s * (int(3 * move) - 1), 0), 4)
        assert distribution.evo(value, eps, 0.3, u[:3, None]).tolist() == [options[other]]
