"""Schedules and elimination: against vectors, brute force and counting."""

import json
import math
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.schedules import (
    bracket,
    brackets,
    discounted_mean,
    halving,
    schedule,
    survivors,
)
from tests.fuzz import fuzz
from tests.vectors import case

CASES = json.loads((Path(__file__).parent / "data" / "sha.A.json").read_text())["cases"]
NAN, INF = math.nan, math.inf


def of(function: str) -> list[str]:
    return [c["id"] for c in CASES if c["function"].startswith(function)]


@pytest.mark.parametrize("name", of("get_schedule"))
def test_the_schedule_uses_the_budget(name):
    given, expected = case("sha", name)
    arguments = given["total"], given["cap"], given["eta"], given["R"]
    if "raises" in expected:
        with pytest.raises(
            ValueError,
            match=r"cap is 50; allowed: at least 80, the round of the last elimination",
        ):
            schedule(*arguments)
    else:
        stops, arms, used, _ = schedule(*arguments)
        assert (list(stops), arms, used) == tuple(
            expected[key] for key in ("stops", "arms", "used")
        )


@pytest.mark.parametrize("name", of("eliminate"))
def test_who_survives(name):
    given, expected = case("sha", name)
    scores = [NAN if s is None else s for s in given["scores"]]
    assert survivors(scores, given["eta"]) == expected["survivors"]
    if "literal_quantile_rule_would_keep" in expected:
        printed = survivors(scores, given["eta"], rule="quantile")
        assert printed == expected["literal_quantile_rule_would_keep"]


@pytest.mark.parametrize("name", of("scores table"))
def test_halving_over_recorded_scores(name):
    given, expected = case("sha", name)
    got = halving(given["traces"], given["stops"], given["eta"], given["gamma"])
    for one, other in zip(got, expected, strict=True):
        assert (one.stop, one.survivors) == (other["stop"], other["survivors"])
        scores = {int(a): s for a, s in other["scores"].items()}
        assert one.scores == pytest.approx(scores, rel=1e-9)


def spent(stops: tuple[int, ...], arms: int, eta: int) -> int:
    """The rounds of a bracket, counted one by one."""
    rounds, alive = 0, arms
    for t in range(1, stops[-1] + 1):
        rounds += alive
        for _ in range(stops[:-1].count(t)):
            alive = max(1, alive // eta)
    return rounds


@given(
    cap=st.integers(1, 60),
    total=st.integers(1, 100),
    eta=st.integers(2, 4),
    eliminations=st.integers(1, 3),
)
@fuzz(60)
def test_no_schedule_is_better_than_the_one_found(cap, total, eta, eliminations):
    R, n = eliminations, eta**eliminations
    least = math.floor((total - cap) / ((eta ** (R + 1) - 1) / (eta - 1) - R - 1))
    most = [(total - cap) // (eta ** (R - r) - 1) for r in range(R)]
    options = []  # (rounds used, increments), by trying all
    for increments in product(*(range(max(least, 1), m + 1) for m in most)):
        stops = *accumulate(increments), cap
        used = cap + sum((eta ** (R - r) - 1) * d for r, d in enumerate(increments))
        if least >= 1 and used <= total:
            options.append((used, increments, stops))
    if not options or max(options)[2][-2] > cap:
        with pytest.raises(ValueError, match="allowed: at least"):
            schedule(total, cap, eta, R)
    else:
        used, _, stops = max(options)
        assert schedule(total, cap, eta, R) == (stops, n, used, eta)
        assert used == spent(stops, n, eta)


def test_random_search_is_a_schedule_without_eliminations():
    assert schedule(4000, 800, eliminations=0)[:3] == ((800,), 5, 4000)
    assert schedule(2000, 200, eliminations=0)[:3] == ((200,), 10, 2000)
    assert schedule(2199, 200, eliminations=0)[:3] == ((200,), 10, 2000)


@pytest.mark.parametrize(("cap", "eta"), [(81, 3), (40, 3), (16, 2), (1, 3), (100, 4)])
def test_hyperbands_brackets_are_those_of_the_formulas(cap, eta):
    # Li et al. (2018), Algorithm 1, with exact fractions
    S = max(s for s in range(10) if eta**s <= cap)
    all_brackets = brackets(10**4, cap, eta)[: S + 1]
    for s, one in zip(range(S, -1, -1), all_brackets, strict=True):
        assert one.arms == math.ceil(Fraction(S + 1, s + 1) * eta**s)
        assert list(one.stops) == [int(cap * Fraction(eta) ** (i - s)) for i in range(s + 1)]
        assert one.used == spent(one.stops, one.arms, eta)


def test_hyperband_repeats_its_brackets_as_long_as_one_fits():
    once = brackets(sum(b.used for b in brackets(10**5, 9)[:3]), 9)
    assert [b.arms for b in once] == [9, 5, 3]
    costs = [b.used for b in once]
    for total in range(min(costs), 3 * sum(costs)):
        chosen = [b.used for b in brackets(total, 9)]
        left, expected = total, []
        while left >= min(costs):
            for cost in costs:
                if cost <= left:
                    expected.append(cost)
                    left -= cost
        assert chosen == expected
    with pytest.raises(ValueError, match=f"total is 3; allowed: at least {min(costs)}"):
        brackets(3, 9)


@fuzz(100)
@given(
    scores=st.lists(st.sampled_from([0.1, 0.2, 0.3, INF, NAN]), min_size=1, max_size=12),
    eta=st.integers(2, 5),
)
def test_those_who_go_are_no_better_than_those_who_stay(scores, eta):
    stay = survivors(scores, eta)
    assert len(stay) == max(1, len(scores) // eta)
    assert stay == sorted(set(stay))
    worth = [INF if math.isnan(s) else s for s in scores]
    for one in stay:
        for other in set(range(len(scores))) - set(stay):
            assert worth[one] < worth[other] or (worth[one] == worth[other] and one < other)


def test_stops_at_the_same_round_eliminate_by_the_same_scores():
    once, twice = halving([[4, 1], [3, 2], [2, 3], [1, 4]], (2, 2, 5), eta=2)
    assert (once.survivors, twice.survivors) == ([0, 1], [0])


def test_a_large_score_is_lower_than_an_infinite_one():
    for large in (1e300, 1e308, 1.7e308):
        assert survivors([INF, large, NAN], 3) == [1]
        assert survivors([INF, large, NAN], 3, rule="quantile") == [1]
    assert survivors([1e308, 9e307, INF], 2, rule="quantile") == [0, 1]
    assert survivors([-INF, -1e308, 0.0], 3) == [0]


@fuzz(100)
@given(scores=st.lists(st.integers(0, 9), min_size=1, max_size=60), eta=st.integers(2, 60))
def test_by_the_printed_rule_those_stay_who_are_not_above_the_quantile(scores, eta):
    ordered, at = sorted(scores), Fraction(len(scores) - 1, eta)
    low = math.floor(at)
    rise = (at - low) * (ordered[min(low + 1, len(scores) - 1)] - ordered[low])
    expected = [a for a, score in enumerate(scores) if score <= ordered[low] + rise]
    assert survivors([float(s) for s in scores], eta, rule="quantile") == expected


def test_numpys_whole_numbers_are_those_of_pythons():
    n = np.int64
    pairs = [
        (schedule(n(450), n(100), n(3), n(2)), schedule(450, 100, 3, 2)),
        (schedule(n(450), n(100), n(3), n(0)), schedule(450, 100, 3, 0)),
        (brackets(n(50), n(9), n(3))[0], brackets(50, 9, 3)[0]),
        (bracket.__wrapped__(np.array([1, 3]), n(9), n(3)), bracket((1, 3), 9, 3)),
    ]
    for one, other in pairs:
        assert one == other
        assert {type(number) for number in (*one.stops, *one[1:])} == {int}


def test_a_round_that_is_nan_counts_in_halving_and_not_in_a_race():
    traces = [[NAN, 0.1], [0.5, 0.7]]
    (stop,) = halving(traces, (2, 3), eta=2, gamma=1.0)
    assert stop.survivors == [1]
    known = [Estimate(gamma=1.0).of_trace(trace, 0) for trace in traces]
    assert known == pytest.approx([0.1, 0.6])


def test_by_the_printed_rule_equal_scores_all_stay():
    assert survivors([0.3] * 9, 3, rule="quantile") == list(range(9))
    assert survivors([NAN, INF, INF], 3, rule="quantile") == [0, 1, 2]
    assert survivors([0.1, 0.2, INF], 2, rule="quantile") == [0, 1]


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_discounted_mean_is_a_weighted_mean_newest_first(gamma):
    trace = [0.9, 0.4, 0.7]
    weights = [gamma**2, gamma, 1.0]
    expected = sum(w * x for w, x in zip(weights, trace, strict=True)) / sum(weights)
    assert discounted_mean(trace, gamma) == pytest.approx(expected, rel=1e-12)


def test_a_forgotten_infinity_does_not_count():
    assert discounted_mean([INF, 0.5], 0.0) == 0.5
    assert discounted_mean([INF, 0.5], 0.1) == INF
    assert discounted_mean([INF] + [0.5] * 1200, 0.5) == 0.5  # 2^-1200 is 0 in float64


def test_each_stage_forgets_the_rounds_before_it():
    # arm 1 is better in rounds 1 and 2, arm 0 afterwards; both survive the first stop
    traces = [[0.9, 0.9, 0.1, 0.1], [0.2, 0.2, 0.3, 0.3], [1, 1], [1, 1]]
    stops = halving(traces, (2, 4, 9), eta=2, gamma=1.0)
    assert [e.survivors for e in stops] == [[0, 1], [0]]
    assert stops[1].scores == pytest.approx({0: 0.1, 1: 0.3})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: schedule(0, 5), "total is 0; allowed: a whole number of at least 1"),
        (
            lambda: schedule.__wrapped__(100.5, 5),
            "total is 100.5; allowed: a whole number of at least 1",
        ),
        (lambda: schedule(100, 0), "cap is 0; allowed: a whole number of at least 1"),
        (
            lambda: schedule.__wrapped__(100, "50"),
            "cap is '50'; allowed: a whole number of at least 1",
        ),
        (lambda: schedule(100, 50, 1), "eta is 1; allowed: a whole number of at least 2"),
        (lambda: schedule(100, 50, 3, -1), "eliminations is -1; allowed: a whole number of at lea"),
        (lambda: schedule(100, 50, 3, 21), "eliminations is 21; allowed: .* at least 0, 20 at mo"),
        (lambda: schedule(10**7, 1, 3, 0), "arms is 10000000; allowed: .* 1, 1,000,000 at most"),
        (lambda: brackets(10**8, 1), "total is 100000000; allowed: at most 1,000,000, for"),
        (
            lambda: brackets.__wrapped__(40, 9.5),
            "cap is 9.5; allowed: a whole number of at least 1",
        ),
        (
            lambda: bracket.__wrapped__((3, 4.5), 9, 3),
            "stop is 4.5; allowed: a whole number of at least 1",
        ),
        (lambda: bracket((3,), 9, 1), "eta is 1; allowed: a whole number of at least 2"),
        (lambda: schedule(80, 50, 3, 3), "total is 80; allowed: at least 86, with a cap of 50"),
        (lambda: schedule(40, 50), "total is 40; allowed: at least"),
        (lambda: schedule(40, 50, eliminations=0), "total is 40; allowed: at least 50"),
        (lambda: brackets(40, 9, 1), "eta is 1; allowed: a whole number of at least 2"),
        (lambda: bracket((3, 2), 9, 3), r"stops is \[3, 2\]; allowed: rounds from 1 on"),
        (lambda: bracket((), 9, 3), r"stops is \[\]; allowed"),
        (lambda: bracket((3,), 0, 3), "arms is 0; allowed: a whole number of at least 1"),
        (lambda: survivors([], 3), r"scores is \[\]; allowed: at least one"),
        (lambda: survivors([0.1], 1), "eta is 1; allowed: a whole number of at least 2"),
        (lambda: discounted_mean([], 0.5), r"trace is \[\]; allowed: at least one score"),
        (lambda: discounted_mean([1.0], 1.5), "gamma is 1.5; allowed: a number from 0 to 1"),
        (
            lambda: halving([[1.0]], (2, 3)),
            "rounds of an arm that is alive is 1; allowed: at least 2",
        ),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
