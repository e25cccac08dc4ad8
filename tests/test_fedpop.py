"""FedPop: against vectors, NumPy's quantiles, exact laws, and Algorithm 1 as a plain loop."""

from dataclasses import replace
from itertools import pairwise
from math import inf, isinf, nan
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from fedlab_edu import (
    Choice,
    Clients,
    FedAvg,
    Federation,
    FedProx,
    LocalHP,
    LogUniform,
    PowerOfTwo,
    Scaffold,
    SearchSpace,
    ServerHP,
    Spaces,
    Uniform,
    communicate,
    digits,
    linear,
    load_run,
    random_search,
    save_run,
    train,
    tune,
)
from fedlab_edu.rounds.run import Run
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.distributions import OneMinusLogUniform
from fedlab_edu.search.space import FEDPOP, FEDPOP_SCAFFOLD
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.tuners.fedpop import (
    Evolution,
    FedPop,
    FedPopL,
    Local,
    anneal,
    box_corners,
    clip_to_box,
    discounted_score,
    fedpop,
    pair_parents,
    ranked,
)
from fedlab_edu.tuners.fedpop.population import fedpop_g
from fedlab_edu.validate import updated
from tests.fuzz import fuzz
from tests.rounds import result
from tests.test_race import counting
from tests.vectors import case

F64 = torch.float64
MODEL = linear(64, 10)
SPACES = Spaces(
    SearchSpace(
        {"lr": LogUniform(1e-3, 1), "batch": PowerOfTwo(8, 64), "dropout": Uniform(0, 0.5)}
    ),
    SearchSpace({"lr": LogUniform(0.1, 2), "momentum": Choice((0, 0.9))}, ServerHP),
)
RANKINGS = ("L-K10", "G-5", "G-27", "K1", "K2", "K3-ties", "nan")
scores_of = st.lists(
    st.sampled_from([0.1, 0.2, 0.5, 1.0, 3.0, inf, nan]) | st.floats(0, 9), min_size=1, max_size=30
)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", F64)


@pytest.mark.parametrize("name", RANKINGS)
def test_top_and_bottom_are_those_of_the_vectors(name):
    seen, wanted = case("fedpop", name)
    scores = [nan if s is None else s for s in seen["scores"]]
    assert ranked(scores, seen["rho"]) == (wanted["top"], wanted["bottom"])
    if "literal_quantile_sets" in wanted:
        literal = wanted["literal_quantile_sets"]
        printed = ranked(scores, seen["rho"], "quantile")
        assert printed == (literal["top"], literal["bottom"])


@pytest.mark.parametrize("name", ["eq5", "eq5-g0", "eq5-g1"])
def test_the_discounted_score_is_that_of_the_vectors(name):
    seen, wanted = case("fedpop", name)
    score = discounted_score(seen["trace"], seen["gamma"])
    assert score == pytest.approx(wanted["score"], rel=1e-12)


@fuzz(100)
@given(scores_of, st.floats(1, 12))
def test_top_and_bottom_are_as_many_never_overlap_and_hold_the_best_and_the_worst(scores, rho):
    top, bottom = ranked(scores, rho)
    K, known = len(scores), [inf if np.isnan(s) else s for s in scores]
    exact = int(np.ceil(round(K / rho, 6)))
    assert len(top) == len(bottom) == min(exact, K // 2)
    assert not set(top) & set(bottom)
    rest = set(range(K)) - set(top)
    assert all(known[t] <= known[k] for t in top for k in rest)
    assert all(known[b] >= known[k] for b in bottom for k in range(K) if k not in bottom)
    assert K == 1 or top[0] == int(np.argmin(known))


def test_where_k_by_rho_is_whole_on_paper_its_rounding_adds_no_place():
    assert 57 / 2.28 > 25  # 5700 / 228 is 25
    top, bottom = ranked([float(k) for k in range(57)], 2.28)
    assert (top, bottom) == ([*range(25)], [*range(32, 57)])


@fuzz(100)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(2, 6))
def test_the_sets_as_printed_are_those_of_numpys_quantiles(scores, rho):
    v = np.array(scores, float)
    low, high = np.quantile(v, 1 / rho), np.quantile(v, (rho - 1) / rho)
    # a quantile is a score or at least 1/6 away from it, but for rounding
    wanted = np.flatnonzero(v <= low + 1e-9), np.flatnonzero(v >= high - 1e-9)
    assert ranked(v.tolist(), rho, "quantile") == tuple(each.tolist() for each in wanted)


def test_thirty_per_cent_of_ten_are_three_and_a_third_are_four():
    scores = [float(k) for k in range(10)]
    assert ranked(scores, 1 / 0.3) == ([0, 1, 2], [7, 8, 9])
    assert ranked(scores, 3) == ([0, 1, 2, 3], [6, 7, 8, 9])


def test_as_printed_even_the_best_of_equal_members_is_replaced_by_rank_it_is_not():
    assert 0 in ranked([0.5] * 4, 3, "quantile")[1]
    assert 0 not in ranked([0.5] * 4, 3)[1]


@fuzz(100)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=12), st.floats(0, 1))
def test_the_discounted_score_is_a_mean_of_the_trace(trace, gamma):
    T = len(trace)
    total = weight = 0.0
    for r in range(1, T + 1):
        power = 1.0 if r == T else gamma ** (T - r)
        total, weight = total + power * trace[r - 1], weight + power
    assert discounted_score(trace, gamma) == pytest.approx(total / weight, rel=1e-9, abs=1e-12)


def test_an_unknown_loss_counts_as_infinite():
    assert isinf(discounted_score([nan, 1.0], 0.9))
    assert discounted_score([nan, 1.0], 0) == 1.0


@fuzz(100)
@given(scores_of, st.floats(1, 12), st.integers(0, 99))
@example([inf, 1.0, nan, inf], 3.0, 0)
@example([nan, inf], 3.0, 0)
@example([nan], 3.0, 0)
def test_the_best_is_never_replaced_and_what_diverged_is_never_copied(scores, rho, seed):
    for u in (np.random.default_rng(seed).random(len(scores)), [1 - 2**-53] * len(scores)):
        check_heirs(scores, pair_parents(scores, rho, list(u)))


def check_heirs(scores: list[float], pairs: list[tuple[int, int]]) -> None:
    finite = [k for k, s in enumerate(scores) if np.isfinite(s)]
    replaced, copied = {b for b, _ in pairs}, {t for _, t in pairs}
    assert len(replaced) == len(pairs)
    assert copied <= set(finite)
    assert not replaced & copied
    if len(scores) > 1 and finite:
        assert min(finite, key=lambda k: scores[k]) not in replaced
        assert set(range(len(scores))) - set(finite) <= replaced
    else:
        assert not pairs


def test_each_of_the_top_is_copied_as_often():
    scores, counts = [3.0, 0.1, 2.0, 0.2, 1.0, 0.3], dict.fromkeys((1, 3), 0)
    for place in range(1000):
        (pair, _) = pair_parents(scores, 3, [place / 1000] * 6)
        counts[pair[1]] += 1
    assert counts == {1: 500, 3: 500}


def rows(space: SearchSpace[Any], n: int, seed: int = 1) -> Any:
    return space.sample(n, generator(seed))


@pytest.mark.parametrize("space", [FEDPOP.client, FEDPOP.server, SPACES.client, SPACES.server])
def test_evolution_of_given_draws_is_evo_of_the_generator_that_gives_them(space):
    row = rows(space, 1)[0]
    u = torch.rand(3, len(space.distributions), generator=generator(4), dtype=F64)
    for p_re in (0.0, 0.5, 1.0):
        new = space.evo(row, 0.2, p_re, u[:, None])
        wanted = space.evo(row, 0.2, p_re, generator(4))
        assert str(new) == str(wanted)


def boxed(space: SearchSpace[Any], table: Any, corners: Any) -> Any:
    """The rows, each value clipped as vectors are that evolve."""
    new = {
        name: clip_to_box(law, getattr(table, name).reshape(-1), getattr(corners, name))
        for name, law in space.distributions.items()
    }
    return space.kind(**{**{n: c.reshape(-1) for n, c in table.columns.items()}, **new})


def test_rows_evolve_as_each_would_alone():
    space, table = FEDPOP.client, rows(FEDPOP.client, 5)
    u = torch.rand(3, 5, 7, generator=generator(2), dtype=F64)
    whole = space.evo(table, 0.1, 0.3, u)
    for i in range(5):
        assert str(whole[i]) == str(space.evo(table[i], 0.1, 0.3, u[:, i : i + 1]))


def test_one_coin_redraws_all_values_or_none_one_coin_each_redraws_some():
    space = SearchSpace({"lr": LogUniform(1e-3, 1), "dropout": Uniform(0, 0.5)})
    table = LocalHP(lr=[0.1, 0.1], dropout=[0.2, 0.2])
    u = torch.tensor([[[0.1, 0.9], [0.9, 0.1]], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2], dtype=F64)
    drawn = [10**-1.5, 0.25]  # at u = 1/2, the middle; a move of 1/2 is none
    for coin, wanted in (
        ("vector", [drawn, [0.1, 0.2]]),
        ("each", [[drawn[0], 0.2], [0.1, drawn[1]]]),
    ):
        new = space.evo(table, 0.1, 0.5, u, coin)
        assert torch.stack([new.lr, new.dropout], 1).numpy() == pytest.approx(np.array(wanted))


@fuzz(40)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_a_box_is_what_perturbation_can_reach_in_the_scale_of_each_law(seed, eps):
    distributions = {
        "lr": LogUniform(1e-4, 1),
        "momentum": Uniform(0, 1),
        "epochs": Choice((3, 1, 2, 5, 4)),
    }
    space = SearchSpace({**distributions, "batch": PowerOfTwo(8, 128)})
    table = space.sample(6, generator(seed))
    centre, other = table[0], table[1:]
    new = boxed(space, other, box_corners(space, centre, eps))
    for k in range(5):
        for name, law in space.distributions.items():
            v, old, mid = (float(getattr(c, name)) for c in (new[k], other[k], centre))
            if isinstance(law, Choice):
                o, reach = law.options, int(np.ceil(round((len(law.options) - 1) * eps, 9)))
                place = min(max(o.index(old), o.index(mid) - reach), o.index(mid) + reach)
                assert v == o[place]
            else:
                s = np.log10 if isinstance(law, LogUniform) else float
                width = (s(law.high) - s(law.low)) * eps
                wanted = min(max(s(old), s(mid) - width), s(mid) + width)
                assert s(v) == pytest.approx(min(max(wanted, s(law.low)), s(law.high)), abs=1e-9)


def test_a_box_of_a_falling_law_has_its_ends_in_order():
    space = SearchSpace({"decay": OneMinusLogUniform(1e-4, 1e-2)}, ServerHP)
    new = boxed(
        space, ServerHP(decay=[0.99, 0.9999]), box_corners(space, ServerHP(decay=0.999), 0.25)
    )
    wanted = [1 - 10**-2.5, 1 - 10**-3.5]  # a quarter of two decades to either side
    assert new.decay.numpy() == pytest.approx(np.array(wanted), rel=1e-12)


HOW = Evolution(20, eps=0.1, p_re=0.1)


def population(K: int = 10, how: Evolution = HOW, **local: Any) -> FedPopL:
    base = FEDPOP.client.sample(1, generator(3))[0]
    return FedPopL.near(FEDPOP.client, base, K, how, Local(**local), seed=5)


def tell(tuner: FedPopL, after: list[float], before: Any = None, size: Any = None) -> FedPopL:
    K = len(after)
    before = torch.ones(K, dtype=F64) if before is None else torch.tensor(before, dtype=F64)
    size = torch.full((K,), 4) if size is None else torch.tensor(size)
    return tuner.tell(result(torch.arange(K), before, torch.tensor(after, dtype=F64), size))


def same(a: Any, b: Any) -> bool:
    return str(a) == str(b)


def changed(old: FedPopL, new: FedPopL) -> list[int]:
    return [k for k in range(len(old.table)) if not same(old.table[k], new.table[k])]


def test_fedpop_l_is_a_tuner_that_gives_the_kth_client_the_kth_vector():
    tuner = population()
    assert isinstance(tuner, Tuner)
    arm = tuner.ask(torch.arange(4, 14), generator(0))
    assert arm.tolist() == list(range(10))
    assert same(tuner.final, tuner.base)
    with pytest.raises(ValueError, match="clients of a round is 9; allowed: 10"):
        tuner.ask(torch.arange(9), generator(0))


def test_the_four_worst_of_ten_vectors_are_replaced_and_the_others_are_as_they_were():
    tuner = population()
    after = tell(tuner, case("fedpop", "L-K10")[0]["scores"])
    assert set(changed(tuner, after)) == {0, 6, 7, 9}
    assert after.fresh == 4
    assert after.best == 1


def test_vectors_stay_in_the_box_however_long_they_evolve():
    tuner = population(how=Evolution(100, eps=0.1, p_re=0.5))
    box = box_corners(tuner.space, tuner.base, 0.1)
    gen = generator(8)
    for _ in range(60):
        tuner = tell(tuner, torch.rand(10, generator=gen, dtype=F64).tolist())
        assert same(boxed(tuner.space, tuner.table, box), tuner.table)


def test_one_exploit_of_the_vectors_is_that_of_a_plain_loop():
    """Each law by its own scale, one vector after the other."""
    tuner = replace(population(6, Evolution(20, eps=0.2, p_re=0.3)), first=7)
    after = tell(tuner, [0.3, 0.9, 0.1, 0.8, 0.5, 0.2])  # two of six: top 2, 5; bottom 3, 1
    gen = generator(5, 8)
    partner = torch.rand(6, generator=gen, dtype=F64).tolist()
    coins, fresh, moves = torch.rand(3, 2, 7, generator=gen, dtype=F64).tolist()
    factor = (1 + np.cos(np.pi * 8 / 20)) / 2
    for i, k in enumerate((1, 3)):
        parent, base = tuner.table[(2, 5)[int(partner[k] * 2)]], tuner.base
        for h, (name, law) in enumerate(FEDPOP.client.distributions.items()):
            value, centre = float(getattr(parent, name)), float(getattr(base, name))
            redrawn = coins[i][h] < 0.3 * factor
            if isinstance(law, Choice):
                o, n = law.options, len(law.options)
                place = int(fresh[i][h] * n)
                if not redrawn:
                    stride = max(1, round((n - 1) * 0.2 * factor))
                    place = o.index(value) + stride * (int(moves[i][h] * 3) - 1)
                reach = int(np.ceil((n - 1) * 0.2 - 1e-9))
                low, high = (min(max(o.index(centre) + x, 0), n - 1) for x in (-reach, reach))
                assert float(getattr(after.table[k], name)) == o[min(max(place, low), high)]
                continue
            s = np.log10 if isinstance(law, LogUniform) else float
            low, high = float(s(law.low)), float(s(law.high))
            width = (high - low) * 0.2
            x = float(s(value)) + width * factor * (2 * moves[i][h] - 1)
            x = low + (high - low) * fresh[i][h] if redrawn else x
            x = min(max(x, s(centre) - width, low), s(centre) + width, high)
            assert s(float(getattr(after.table[k], name))) == pytest.approx(x, abs=1e-9)


def test_a_client_without_validation_examples_neither_copies_nor_is_copied():
    tuner = population(5)
    after = tell(tuner, [0.0, 3.0, 2.0, 1.0, 0.5], size=[0, 4, 4, 4, 4])
    assert changed(tuner, after) == [1, 2]  # of four known ones the worst two, by 3/ceil(4/3)
    assert after.best == 4
    nobody = tell(tuner, [0.0] * 5, size=[0] * 5)
    assert not changed(tuner, nobody)
    assert nobody.best is None


def test_diverged_vectors_are_all_replaced_and_never_copied():
    tuner = population(5)
    after = tell(tuner, [inf, 1.0, inf, inf, inf])
    assert changed(tuner, after) == [0, 2, 3, 4]
    lost = tell(tuner, [inf] * 5)
    assert not changed(tuner, lost)
    assert lost.best is None


def test_every_five_rounds_vectors_are_judged_by_the_discounted_mean_of_five_scores():
    tuner = population(2, T_l=5)
    told = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 3.0]]
    now = tuner
    for scores in told[:4]:
        now = tell(now, scores)
        assert not changed(tuner, now)
    weights = [0.9**age for age in (4, 3, 2, 1, 0)]
    means = [sum(w * s[k] for w, s in zip(weights, told, strict=True)) for k in (0, 1)]
    assert means[1] < means[0]  # though its last score is the higher one
    assert changed(tuner, tell(now, told[4])) == [0]
    assert changed(tuner, tell(replace(now, evolution=replace(HOW, gamma=0)), told[4])) == [1]


def test_the_difference_judges_what_training_has_changed_not_the_client():
    before, after = [5.0, 1.0], [3.0, 0.9]  # a hard client that gained much, an easy one little
    for score, worse in (("after", 0), ("difference", 1)):
        tuner = population(2, score=score)
        assert changed(tuner, tell(tuner, after, before)) == [worse]
    tuner = population(2, score="difference")
    assert changed(tuner, tell(tuner, [1.0, 2.0], [inf, 1.0])) == [0]


def test_after_the_local_phase_all_clients_train_with_the_best_vector():
    tuner = population(4, rounds=2, freeze_on="best")
    tuner = tell(tell(tuner, [2.0, 1.0, 3.0, 4.0]), [2.0, 3.0, 0.5, 4.0])
    assert tuner.ask(torch.arange(4), generator(0)).tolist() == [2] * 4
    assert same(tuner.final, tuner.table[2])
    assert not changed(tuner, tell(tuner, [9.0, 1.0, 9.0, 9.0]))


def test_nothing_is_replaced_in_the_last_round_or_after_it():
    tuner = replace(population(4), first=19)
    after = tell(tuner, [1.0, 2.0, 3.0, 4.0])
    assert not changed(tuner, after)
    assert not changed(tuner, tell(after, [1.0, 2.0, 3.0, 4.0]))


def begun(fed: Federation, total: int = 40, cap: int = 10, **options: Any) -> FedPop:
    return fedpop(MODEL, fed, SPACES, total, cap, **{"T_g": 3, "seed": 2, **options})


def test_replacements_read_the_old_population_in_any_order(fed, monkeypatch):
    old = updated(begun(fed, 50, eps=0.0, p_re=0.0).step(MODEL, fed, 4), T_g=1)
    seen, wanted = case("fedpop", "replace")
    given = [(bottom, top) for bottom, top in seen["pairs"]]
    source = [member["alpha"] for member in wanted["members"]]
    for pairs, parents in ((given, source), ([(1, 0), (2, 1)], [0, 0, 1, 3, 4])):
        for order in (pairs, pairs[::-1]):
            name = "fedlab_edu.tuners.fedpop.population.pair_parents"
            monkeypatch.setattr(name, lambda *_, order=order: order)
            new = fedpop_g(old, range(5))
            for i, j in enumerate(parents):
                assert torch.equal(new.runs[i].w, old.runs[j].w)
                assert new.latest[i].c.lr == old.latest[j].c.lr
                assert new.latest[i].b.lr == old.latest[j].b.lr
                assert isinstance(new.runs[i].tuner, FedPopL) == (i not in dict(pairs))


def steps(search: FedPop, fed: Federation, clients: int = 4) -> list[FedPop]:
    seen = [search]
    while not seen[-1].done:
        seen.append(seen[-1].step(MODEL, fed, clients))
    return seen


@pytest.fixture(scope="module")
def both(fed):
    return steps(begun(fed, 50), fed)


def test_all_members_begin_with_the_same_weights_and_random_searchs_configurations(fed):
    search, other = begun(fed), random_search(MODEL, fed, SPACES, 40, 10, seed=2)
    assert all(torch.equal(run.w, search.runs[0].w) for run in search.runs)
    for mine, theirs in zip(search.runs, other.runs, strict=True):
        assert same(mine.tuner.final, theirs.tuner.final)
        assert same(mine.b, theirs.b)


@pytest.mark.parametrize(("total", "cap", "members"), [(40, 10, 4), (29, 7, 4), (7, 7, 1)])
def test_the_rounds_spent_are_those_announced_and_no_test_data_are_touched(
    total, cap, members, fed
):
    watched = counting(fed)
    search = fedpop(MODEL, watched, SPACES, total, cap, seed=1)
    seen = steps(search, watched, 3)
    assert [s.used for s in seen] == [members * r for r in range(cap + 1)]
    assert seen[-1].used == search.total == members * cap
    assert len(watched.asked) == members * cap
    with pytest.raises(ValueError, match="search is 'over'"):
        seen[-1].step(MODEL, watched, 3)


def test_members_copy_one_another_every_t_g_rounds_but_not_in_the_last(both):
    births = both[-1].births
    assert sorted({birth.round for birth in births}) == [0, 3, 6, 9]
    assert all(sum(b.round == r for b in births) == 2 for r in (3, 6, 9))  # 2 of 5


def test_by_default_t_g_is_a_tenth_and_at_least_one(fed):
    assert fedpop(MODEL, fed, SPACES, 800, 200).T_g == 20
    assert fedpop(MODEL, fed, SPACES, 10, 5).T_g == 1
    assert fedpop(MODEL, fed, SPACES, 29, 29).T_g == 2  # rounded down
    last = steps(fedpop(MODEL, fed, SPACES, 10, 5), fed, 3)[-1]
    assert {birth.round for birth in last.births} == {0, 1, 2, 3, 4}


def test_the_best_member_is_never_altered(both, fed):
    for before in both[:-1]:
        r = before.round + 1
        if r % 3 or r == 10:
            continue
        held = replace(before, G=False).step(MODEL, fed, 4)  # the same round, nobody copies
        held, after = replace(held, G=True), before.step(MODEL, fed, 4)
        best = held.best
        a, b = held.runs[best], after.runs[best]
        assert torch.equal(a.w, b.w)
        assert torch.equal(a.server.v, b.server.v)
        assert same(a.tuner.table, b.tuner.table)
        assert (a.seed, a.round) == (b.seed, b.round)
        born = [birth for birth in after.births if birth.round == r]
        for birth in born:
            assert birth.parent is not None
            parent, run = held.runs[birth.parent], after.runs[birth.member]
            assert held.scores[birth.parent] <= held.scores[birth.member]
            for mine, theirs in zip(run.server, parent.server, strict=True):
                assert torch.equal(mine, theirs)  # weights and momentum
            assert run.round == 0
            assert run.history == ()  # what its parent has done is not its own
            assert same(run.tuner.final, birth.c)
            assert isinstance(run.tuner, Fixed)  # its vectors are drawn anew


def test_members_that_never_copy_are_judged_over_as_many_rounds_as_those_that_do(fed):
    for options, window in (({}, 3), ({"T_g": 5}, 5)):
        search = fedpop(MODEL, fed, SPACES, 60, 30, G=False, **options)
        trace = [float(s) for s in np.random.default_rng(0).random(12)]
        held = replace(search, traces=(tuple(trace), tuple(trace[::-1])))
        powers = [0.9**age for age in range(window)]
        wanted = [
            sum(w * s for w, s in zip(powers, part, strict=False)) / sum(powers)
            for part in (trace[::-1], trace)
        ]
        assert held.scores == pytest.approx(wanted)


def test_all_members_move_to_another_device(fed, monkeypatch):
    monkeypatch.setattr(Run, "to", lambda self, device: replace(self, round=len(device)))
    search = begun(fed)
    moved = search.to("elsewhere")
    assert {run.round for run in moved.runs} == {len("elsewhere")}


def test_neither_g_nor_l_is_each_configuration_alone(fed):
    last = steps(begun(fed, 20, G=False, L=False), fed)[-1]
    for i, run in enumerate(begun(fed, 20).runs):
        alone = train(run, MODEL, fed, 10, 4)
        torch.testing.assert_close(last.runs[i].w, alone.w, rtol=1e-10, atol=1e-12)
        wanted = [float(played.after.loss[played.size > 0].mean()) for played in alone.history]
        assert last.traces[i] == pytest.approx(wanted, rel=1e-10)


def test_the_winner_has_the_lowest_discounted_loss_of_the_last_t_g_rounds(both):
    last = both[-1]
    wanted = []
    for i, trace in enumerate(last.traces):
        lived = 10 - max(birth.round for birth in last.births if birth.member == i)
        part = trace[-min(3, lived) :]
        weights = [0.9**age for age in range(len(part))][::-1]
        wanted.append(sum(map(np.multiply, weights, part)) / sum(weights))
    assert last.scores == pytest.approx(wanted)
    assert last.best == int(np.argmin(wanted))
    assert last.winner is last.runs[last.best]


@pytest.mark.parametrize(("G", "L"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_configurations_tried_are_those_with_which_a_client_has_trained(G, L, fed):
    used: set[tuple[Any, ...]] = set()
    seen = steps(begun(fed, G=G, L=L), fed)
    for before, after in pairwise(seen):
        for i in range(4):
            run = before.prepare(MODEL, fed, 4).runs[i]
            lived = max(b.round for b in before.births if b.member == i)
            table = run.tuner.table
            used |= {(i, lived, k, str(table[k] if L else table)) for k in range(4 if L else 1)}
        assert after.tried == len(used)
    if not G:  # two of four vectors are new in each round but the first
        assert seen[-1].tried == (4 * (4 + 9 * 2) if L else 4)
    elif not L:
        assert seen[-1].tried == len(seen[-1].births)


def test_the_vectors_of_a_copy_are_drawn_around_its_own_base(fed):
    search = begun(fed)
    for _ in range(3):
        search = search.step(MODEL, fed, 4)
    birth = search.births[4]  # the first that is a copy
    tuner = search.prepare(MODEL, fed, 4).runs[birth.member].tuner
    assert isinstance(tuner, FedPopL)
    assert same(tuner.base, birth.c)
    box = box_corners(SPACES.client, birth.c, 0.1)
    assert same(boxed(SPACES.client, tuner.table, box), tuner.table)
    assert tuner.first == 3
    other = search.prepare(MODEL, fed, 4).runs[search.best].tuner
    assert isinstance(other, FedPopL)
    assert (other.first, other.played) == (0, 3)


def test_without_laws_of_the_server_copies_have_its_defaults(fed):
    spaces = Spaces(SPACES.client)
    last = steps(fedpop(MODEL, fed, spaces, 8, 4, T_g=2, seed=1), fed, 3)[-1]
    assert len(last.births) == 3
    assert same(last.births[2].b, ServerHP())


def test_a_member_that_has_diverged_can_be_replaced_at_once(fed):
    search = begun(fed, 20, 10, L=False, on_nan="replace")
    runs = (search.runs[0], replace(search.runs[1], tuner=Fixed(LocalHP(lr=1e308, batch=8))))
    search = replace(search, runs=runs).step(MODEL, fed, 4)
    ((member, parent),) = ((b.member, b.parent) for b in search.births[2:])
    u = float(torch.rand((), generator=generator(2, 1, 1, 0), dtype=F64))
    assert (member, parent) == (1, int(u * 2))  # any of the two, itself among them
    sound = begun(fed, 20, 10, L=False, on_nan="replace").step(MODEL, fed, 4)
    assert len(sound.births) == 2


@fuzz(2, 500)
@given(
    st.integers(1, 5), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**40),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.sampled_from([1.0, 2.0, 3.0]),
    st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([0.0, 0.1, 1.0]), st.integers(1, 4),
)  # fmt: skip
def test_a_search_by_a_plain_loop_over_members_gives_the_same_numbers(
    K, R, T_g, seed, gamma, rho, eps, p_re, B
):
    """Algorithm 1 for G alone, with eq. (5), written out; members train one after the other."""
    fed = digits(clients=14).to("cpu", F64)
    search = fedpop(MODEL, fed, SPACES, K * R, R, T_g=T_g, L=False, seed=seed, gamma=gamma,
                    rho=rho, eps=eps, p_re=p_re)  # fmt: skip
    w0 = search.runs[0].server
    members = [{"c": x.tuner.final, "b": x.b, "server": w0, "age": 0, "s": []} for x in search.runs]
    keys = [seed_for(seed, i) for i in range(K)]
    powers = [1.0 if age == 0 else gamma**age for age in range(T_g)]
    for r in range(1, R + 1):
        for i, m in enumerate(members):
            run = replace(search.runs[0], server=m["server"], tuner=Fixed(m["c"]), b=m["b"],
                          seed=keys[i], round=m["age"])  # fmt: skip
            run = communicate(run, MODEL, fed, B)
            loss = run.history[-1].after.loss[run.history[-1].size > 0].mean()
            m.update(server=run.server, age=m["age"] + 1, s=[*m["s"], float(loss)])
        if r % T_g or r == R:
            continue
        scores = [sum(w * s for w, s in zip(powers, m["s"][::-1], strict=False)) for m in members]
        order = sorted(range(K), key=lambda i: (scores[i], i))
        n, old = min(int(np.ceil(K / rho)), K // 2), list(members)
        lost = [i for i in range(K) if not np.isfinite(scores[i])]
        top = [i for i in order[:n] if i not in lost]
        for worst in sorted({*order[K - n :], *lost}) if top else []:
            gen = generator(seed, worst, r, 0)
            best = old[top[int(float(torch.rand((), generator=gen, dtype=F64)) * len(top))]]
            x, p = (v / 2 * (1 + np.cos(np.pi * r / R)) for v in (eps, p_re))
            c = SPACES.client.evo(best["c"], x, p, gen)
            b = SPACES.server.evo(best["b"], x, p, gen)
            members[worst] = {**best, "c": c, "b": b, "age": 0, "s": []}
            keys[worst] = seed_for(seed, worst, r)
    last = steps(search, fed, B)[-1]
    for m, run in zip(members, last.runs, strict=True):
        torch.testing.assert_close(run.w, m["server"].w, rtol=1e-9, atol=1e-12)
        assert same(run.b, m["b"])
        assert same(run.tuner.final, m["c"])


def test_a_diverged_member_is_replaced_and_never_copied(fed):
    search = begun(fed, 20, 10, L=False)
    runs = (search.runs[0], replace(search.runs[1], tuner=Fixed(LocalHP(lr=1e308, batch=8))))
    search = replace(search, runs=runs)
    for _ in range(3):
        search = search.step(MODEL, fed, 4)
    assert all(isinf(s) for s in search.traces[1])
    assert [(b.member, b.parent) for b in search.births[2:]] == [(1, 0)]
    assert torch.equal(search.runs[0].w, search.runs[1].w)


def test_when_all_have_diverged_nobody_copies(fed):
    search = begun(fed, 20, 10, L=False)
    wild = Fixed(LocalHP(lr=1e308, batch=8))
    search = replace(search, runs=tuple(replace(run, tuner=wild) for run in search.runs))
    last = steps(search, fed)[-1]
    assert len(last.births) == 2
    assert last.done
    assert isinf(last.best_score)


def test_the_servers_rate_of_a_copy_decays_from_the_start(fed):
    search = begun(fed)
    for _ in range(3):
        search = search.step(MODEL, fed, 4)
    assert {search.runs[b.member].round for b in search.births if b.round} == {0}


def test_weighted_scores_are_those_of_all_validation_examples_together(fed):
    search = begun(fed, weighted=True).step(MODEL, fed, 4)
    for run, trace in zip(search.runs, search.traces, strict=True):
        played = run.history[-1]
        pairs = list(zip(played.size.tolist(), played.after.loss.tolist(), strict=True))
        wanted = sum(n * s for n, s in pairs) / sum(n for n, _ in pairs)
        assert trace[-1] == pytest.approx(wanted)


def test_one_member_trains_to_the_end_and_copies_nobody(fed):
    last = steps(begun(fed, 10), fed)[-1]
    assert (len(last.runs), last.used, last.best) == (1, 10, 0)
    assert [birth.round for birth in last.births] == [0]


def test_with_successive_halving_the_worst_stop_and_the_rest_copy_one_another(fed):
    seen = steps(begun(fed, 60, 10, T_g=2, eliminations=2), fed, 3)
    last = seen[-1]
    assert last.used == last.total == 60
    assert len(last.runs) == 9
    stops = last.brackets[0].stops
    assert [len(s.alive) for s in seen if s.round in stops[:-1]] == [3, 1]
    for before, after in pairwise(seen):
        r = after.round
        if r not in stops[:-1]:
            continue
        born = {b.member: b.round for b in before.births}  # the latest of each member
        score = {}
        for i in before.alive:
            earlier, latest = after.traces[i][-2:]
            both = (0.9 * earlier + latest) / 1.9  # eq. (5) with T_g = 2
            score[i] = both if r - born[i] > 1 else latest
        order = sorted(before.alive, key=lambda i: (score[i], i))
        third = len(order) // 3
        assert after.alive == sorted(order[:third])
        assert {after.out[i] for i in order[third:]} == {r}
        for i in order[third:]:
            assert not len(after.runs[i].w)
    for birth in last.births[9:]:
        out = last.out[birth.member]
        assert out is None or birth.round < out
        assert birth.round < stops[1]  # the last one has nobody to copy


@pytest.mark.parametrize("method", [FedAvg(), FedProx(), Scaffold()])
def test_it_goes_with_other_methods_whose_clients_keep_what_the_parents_did(method, fed):
    spaces = SPACES if not isinstance(method, FedProx) else FEDPOP
    search = fedpop(MODEL, fed, spaces, 8, 4, T_g=2, method=method, seed=1)
    search = search.step(MODEL, fed, 3).step(MODEL, fed, 3)
    (birth,) = (b for b in search.births if b.round)
    assert birth.parent is not None
    child, parent = (search.runs[i] for i in (birth.member, birth.parent))
    assert child.states is not None
    assert parent.states is not None
    assert set(child.states) == set(parent.states)
    assert bool(child.states) == isinstance(method, Scaffold)
    assert torch.equal(child.server.h, parent.server.h)
    assert steps(search, fed, 3)[-1].done


def test_each_vector_of_fedprox_pulls_its_own_client_by_its_own_mu(fed):
    """Two steps of full-batch SGD, written out: the second is pulled back to the start."""
    whole = {"batch": Choice((128,)), "epochs": Choice((2,))}
    spaces = Spaces(SearchSpace({"mu": LogUniform(0.1, 8), **whole}))
    search = fedpop(MODEL, fed, spaces, 2, 2, eps=1.0, method=FedProx(), seed=1)
    run = search.prepare(MODEL, fed, 3).runs[0]
    who = fed.sample(3, generator(run.seed, 0))
    mus = run.tuner.table.mu.tolist()
    assert len(set(mus)) == 3
    total = weights = 0.0
    for i, mu in zip(who.tolist(), mus, strict=True):
        x, y = fed.train.examples(i)
        W, b, start_W, start_b = (v.clone() for v in 2 * [*run_parts(run.w)])
        for _ in range(2):
            p = (x.flatten(1) @ W + b).softmax(1) - torch.nn.functional.one_hot(y, 10)
            grad_W, grad_b = x.flatten(1).T @ p / len(y), p.mean(0)
            W, b = W - 0.1 * (grad_W + mu * (W - start_W)), b - 0.1 * (grad_b + mu * (b - start_b))
        total = total + len(y) * torch.cat([W.flatten(), b])
        weights += len(y)
    after = search.step(MODEL, fed, 3).runs[0].w
    torch.testing.assert_close(after, total / weights, rtol=1e-9, atol=1e-12)


def run_parts(w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight (64, 10) and the bias (10,) of the linear model."""
    return w[:640].view(64, 10), w[640:]


def test_a_mu_that_holds_clients_back_dies_out_and_one_that_lets_them_go_is_copied(fed):
    spaces = Spaces(SearchSpace({"mu": LogUniform(1e-3, 1e3)}))
    search = fedpop(MODEL, fed, spaces, 60, 10, T_g=2, p_re=0.0, method=FedProx(), seed=3)
    begun = [float(birth.c.mu) for birth in search.births]
    assert max(begun) > 10  # lr mu near 1 and above: hardly a step, or ever longer ones
    last = steps(search, fed)[-1]
    ended = [float(birth.c.mu) for birth in last.latest]
    assert max(ended) < 5
    assert float(last.latest[last.best].c.mu) < 5
    assert any(mu not in begun for mu in ended)  # copies have changed what they copied
    tuner = last.winner.tuner
    assert isinstance(tuner, FedPopL)
    assert len(set(tuner.table.mu.tolist())) == len(tuner.table)


def test_the_server_rate_of_scaffold_is_the_servers_lr_and_slow_ones_die_out(fed):
    """``x <- x + eta_g mean_i (y_i - x)``: twice the rate, twice the step, and the same c."""
    server = SearchSpace({"lr": LogUniform(1e-3, 1)}, ServerHP)
    spaces = Spaces(SearchSpace({}), server)
    search = fedpop(MODEL, fed, spaces, 60, 10, T_g=2, p_re=0.0, method=Scaffold(), seed=3)
    w0 = search.runs[0].w
    once, twice = (
        communicate(replace(search.runs[0], b=ServerHP(lr=rate)), MODEL, fed, 4)
        for rate in (0.25, 0.5)
    )
    torch.testing.assert_close(2 * (once.w - w0), twice.w - w0, rtol=1e-9, atol=1e-12)
    assert torch.equal(once.server.h, twice.server.h)
    begun = [float(birth.b.lr) for birth in search.births]
    last = steps(search, fed, 14)[-1]  # with all clients, none is lucky in those it draws
    ended = [float(birth.b.lr) for birth in last.latest]
    assert min(begun) < 0.02
    assert min(ended) > 0.1
    assert any(rate not in begun for rate in ended)
    for run, birth in zip(last.runs, last.latest, strict=True):
        assert same(run.b, birth.b)


def test_as_printed_no_copy_ever_has_other_epochs_or_batches_than_its_parent(fed):
    """round(4 * 0.1) is 0; by default both move."""
    changes = {}
    for as_printed in (True, False):
        distributions = {"lr": LogUniform(1e-3, 1), "epochs": Choice((1, 2, 3, 4, 5), as_printed)}
        spaces = Spaces(SearchSpace(distributions))
        last = steps(begun_with(spaces, fed), fed)[-1]
        now, moved = {}, 0
        for r in sorted({b.round for b in last.births}):
            old = dict(now)
            for b in (b for b in last.births if b.round == r):
                now[b.member] = int(b.c.epochs)
                moved += b.parent is not None and now[b.member] != old[b.parent]
        changes[as_printed] = moved
    assert changes[True] == 0 < changes[False]


def begun_with(spaces: Spaces, fed: Federation) -> FedPop:
    return fedpop(MODEL, fed, spaces, 50, 10, T_g=1, L=False, p_re=0.0, seed=2)


def test_the_winner_is_kept_in_a_file_like_any_run_and_goes_on_with_its_vectors(
    fed, both, tmp_path
):
    winner = both[-1].winner
    save_run(winner, tmp_path / "winner")
    again = load_run(tmp_path / "winner")
    assert isinstance(again.tuner, FedPopL)
    one, other = (train(run, MODEL, fed, 2, 4) for run in (winner, again))
    assert torch.equal(one.w, other.w)
    assert same(one.tuner.table, other.tuner.table)


def test_a_search_that_was_stopped_and_read_again_gives_the_same_numbers(
    fed, tmp_path, both, monkeypatch
):
    search, step = begun(fed, 50), FedPop.step

    def stopping(self: FedPop, *args: Any) -> FedPop:
        if self.round == 4:
            raise KeyboardInterrupt
        return step(self, *args)

    path = tmp_path / "search"
    with monkeypatch.context() as patch:
        patch.setattr(FedPop, "step", stopping)
        with pytest.raises(KeyboardInterrupt):
            tune(search, MODEL, fed, 4, path=path, every=1)
    last = tune(search, MODEL, fed, 4, path=path)
    assert last.traces == both[-1].traces
    for one, other in zip(last.runs, both[-1].runs, strict=True):
        assert torch.equal(one.w, other.w)


def test_the_winner_can_go_on_when_the_search_is_over(fed, both):
    winner = both[-1].winner
    on = train(winner, MODEL, fed, 2, 4)
    assert on.round == winner.round + 2
    assert isinstance(on.tuner, FedPopL)
    assert same(on.tuner.table, winner.tuner.table)


def unchecked(kind: Any, *values: Any, **options: Any) -> None:
    """Past the type checker, which only the tests have."""
    kind.__init__.__wrapped__(object.__new__(kind), *values, **options)


def test_in_a_search_of_one_round_the_perturbation_is_full_before_it_and_none_after():
    assert (anneal(0.1, 0, 1), anneal(0.1, 1, 1)) == (0.1, 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: fedpop(MODEL, digits(), replace(FEDPOP_SCAFFOLD, client=SPACES.client), 4, 2),
            "control_lr is .*; allowed: 1: FedAvg has no control variate",
        ),
        (
            lambda: fedpop(MODEL, digits(), replace(SPACES, clients=42), 4, 2),
            "spaces is .*; allowed: .* one configuration for all",
        ),
        (lambda: ranked([]), r"scores is \[\]; allowed: at least one"),
        (lambda: ranked([1.0], 0.5), "rho is 0.5; allowed: a finite number of at least 1"),
        (lambda: Evolution(5, eps=2), "eps is 2; allowed: a number from 0 to 1"),
        (lambda: Evolution(0), "R is 0; allowed: a whole number of at least 1"),
        (lambda: unchecked(Evolution, 5, coin="no"), "coin is 'no'; allowed: 'each', 'vector'"),
        (lambda: Local(T_l=0), "T_l is 0; allowed: a whole number of at least 1"),
        (lambda: unchecked(Local, score="no"), "score is 'no'; allowed: "),
        (lambda: unchecked(Local, freeze_on="no"), "freeze_on is 'no'; allowed: "),
        (lambda: Local(rounds=-1), "rounds is -1; allowed: a whole number of at least 0"),
        (lambda: ranked.__wrapped__([1.0], 3, "no"), "rule is 'no'; allowed: 'rank', 'quantile'"),
        (lambda: population(0), "K is 0; allowed: a whole number of at least 1"),
        (lambda: anneal(nan, 1, 5), "x0 is nan; allowed: a finite number"),
        (lambda: anneal(0.1, 6, 5), "r is 6; allowed: a round from 0 to R = 5"),
        (lambda: pair_parents([1.0, 2.0], 3, [0.5]), "length of u is 1; allowed: 2"),
        (lambda: pair_parents([1.0, 2.0], 3, [0.5, 1.0]), r"u is \[0.5, 1.0\]; allowed: draws"),
        (lambda: pair_parents([1.0, 2.0], 3, [0.5, nan]), r"u is \[0.5, nan\]; allowed: draws"),
        (
            lambda: SPACES.client.evo(LocalHP(), 0.1, 0.1, torch.zeros(3, 2, 3)),
            r"shape of the draws is \(3, 2, 3\); allowed: \(3, 1, 3\)",
        ),
    ],
)
def test_bad_input_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_without_validation_data_there_is_nothing_to_judge_members_by(fed):
    nothing = Clients(fed.val.x, fed.val.y, (torch.arange(0),) * len(fed))
    with pytest.raises(ValueError, match="validation examples is 0; allowed: at least 1"):
        begun(replace(fed, val=nothing))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"total": 5, "cap": 10}, "total is 5; allowed: at least 10"),
        ({"T_g": 0}, "T_g is 0; allowed: a whole number of at least 1"),
        ({"T_g": 0, "G": False}, "T_g is 0; allowed: a whole number of at least 1"),
        ({"G": 1}, "G is 1; allowed: True, False"),
        ({"L": None}, "L is None; allowed: True, False"),
        ({"total": 10**6 + 1}, "total is 1000001; allowed: .*1,000,000 at most"),
        ({"local": 5}, "local is 5; allowed: a Local"),
        ({"on_nan": "stop"}, "on_nan is 'stop'; allowed: 'wait', 'replace'"),
        ({"gamma": -1}, "gamma is -1; allowed: a number from 0 to 1"),
        ({"seed": -1}, "seed is -1; allowed: a whole number of at least 0"),
        ({"spaces": SPACES.client}, r"spaces is .*; allowed: Spaces\("),
    ],
)
def test_a_search_refuses_bad_input(options, message, fed, unchecked):
    with pytest.raises(ValueError, match=message):
        fedpop.__wrapped__(MODEL, fed, **{"spaces": SPACES, "total": 40, "cap": 10, **options})
