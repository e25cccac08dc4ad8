"""Bayesian optimisation through Optuna: what it is told, what it answers, what it costs."""

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
import torch

from fedlab_edu import (
    Federation,
    FedProx,
    Run,
    SearchSpace,
    ServerHP,
    Spaces,
    bayesian_search,
    digits,
    linear,
    random_search,
    start,
    tune,
)
from fedlab_edu.data.clients import Clients
from fedlab_edu.search.bayes import Bayes, _axis, propose
from fedlab_edu.search.distributions import Choice, Integer, LogUniform, Uniform
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.space import FEDEX
from fedlab_edu.seeds import seed_for

MODEL = linear(64, 10)
# The sampler takes seconds for the ten axes of FEDEX, and tenths of a second for these three.
SPACES = Spaces(
    SearchSpace({"lr": LogUniform(1e-4, 1), "epochs": Integer(1, 5)}),
    SearchSpace({"lr": LogUniform(0.1, 10)}, ServerHP),
)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


def begun(fed: Federation, total: int = 20, **how) -> Bayes:
    """20 rounds are six arms of three, and two rounds that are left over."""
    return bayesian_search(MODEL, fed, SPACES, total, 3, first=4, method=FedProx(), **how)


@pytest.fixture(scope="module")
def whole(fed):
    return tune(begun(fed), MODEL, fed, 3)


def first_arms_done(search: Bayes, fed: Federation) -> Bayes:
    """The search after the last round of its random arms."""
    while search.used < 12:
        search = search.step(MODEL, fed, 3)
    return search


def test_all_rounds_are_spent_on_arms_that_reach_the_cap(fed, whole):
    assert [run.round for run in whole.runs] == [3] * 6
    assert whole.used == 18
    assert len(set(whole.points)) == 6
    assert whole.best_score == min(trace[-1] for trace in whole.traces)
    with pytest.raises(ValueError, match="search is 'over'; allowed: one with rounds left"):
        whole.step(MODEL, fed)


def test_the_first_arms_are_those_of_random_search(fed):
    mine = first_arms_done(begun(fed, seed=4), fed)
    theirs = random_search(MODEL, fed, SPACES, 12, 3, seed=4, method=FedProx())
    theirs = tune(theirs, MODEL, fed, 3)
    assert mine.traces == theirs.traces
    for one, other in zip(mine.runs, theirs.runs, strict=True):
        assert torch.equal(one.w, other.w)


def test_each_arm_has_draws_of_its_own_and_is_judged_as_all_are(fed):
    judge = Estimate("global", "loss", 0.5)
    done = tune(begun(fed, total=15, seed=7, estimate=judge), MODEL, fed, 3)
    assert [run.seed for run in done.runs] == [seed_for(7, a) for a in range(5)]
    assert {run.method for run in done.runs} == {FedProx()}
    assert done.estimate == judge


def test_arms_that_join_later_start_from_the_shared_weights_too(fed, monkeypatch):
    w0, begun_from = start(MODEL, fed, seed=9).w, []

    def noted(*given: Any, **how: Any) -> Run:
        begun_from.append(how["w"])
        return start(*given, **how)

    monkeypatch.setattr("fedlab_edu.search.bayes.start", noted)
    search = begun(fed, w=w0)
    assert all(torch.equal(run.w, w0) for run in search.runs)
    search = first_arms_done(search, fed).to("cpu").step(MODEL, fed, 3)
    assert len(search.runs) == 5
    assert len(begun_from) == 1
    assert torch.equal(begun_from[0], w0)


def test_the_arms_are_at_their_points(whole):
    for point, run in zip(whole.points, whole.runs, strict=True):
        u = dict(zip([*SPACES.client.distributions, "server"], point, strict=True))
        assert float(run.tuner.final.lr) == pytest.approx(10 ** (-4 + 4 * u["lr"]), rel=1e-9)
        assert int(run.tuner.final.epochs) == 1 + min(4, int(5 * u["epochs"]))
        assert float(run.b.lr) == pytest.approx(10 ** (-1 + 2 * u["server"]), rel=1e-9)


def test_it_is_the_same_again_and_after_an_interruption(fed, whole, tmp_path):
    part = begun(fed)
    for _ in range(8):
        part = part.step(MODEL, fed, 3)
    assert not part.done
    for _ in range(2):  # played to its end, then read from its file
        again = tune(part, MODEL, fed, 3, path=tmp_path / "a")
        assert again.points == whole.points
        assert again.traces == whole.traces
    assert begun(fed, seed=1).points != whole.points[:4]


def test_each_seed_and_each_arm_asks_the_sampler_by_a_seed_of_its_own(fed, monkeypatch):
    seeds: list[int] = []

    def noted(distributions: Any, points: Any, scores: Any, seed: int) -> tuple[float, ...]:
        seeds.append(seed)
        return tuple(np.random.default_rng(seed % 2**32).random(len(distributions)))

    monkeypatch.setattr("fedlab_edu.search.bayes.propose", noted)
    part = first_arms_done(begun(fed), fed)
    one, other = (replace(part, seed=seed).prepare(MODEL, fed, 3) for seed in (0, 1))
    assert one.points[:4] == other.points[:4]
    assert one.scores[:4] == other.scores[:4]
    assert one.points[4] != other.points[4]
    tune(part, MODEL, fed, 3)
    assert len(seeds) == 4  # those two, and of two arms
    assert len(set(seeds)) == 3  # the first of which is asked for again


LAWS = [Uniform(0, 1), LogUniform(1e-4, 1), Integer(1, 5), Choice((0.9, 0.1, 0.5))]


def loss(point: tuple[float, ...]) -> float:
    """Lowest at 0.3, 0.7, the second of five options and the third of three."""
    a, b, c, d = point
    return (a - 0.3) ** 2 + (b - 0.7) ** 2 + 0.1 * abs(int(5 * c) - 1) + 0.2 * (int(3 * d) != 2)


def test_it_finds_the_lowest_point_of_a_simple_function():
    gen = torch.Generator().manual_seed(0)
    points = [tuple(torch.rand(4, generator=gen).tolist()) for _ in range(5)]
    for seed in range(12):
        points.append(propose(LAWS, points, [loss(p) for p in points], seed))
    best = min(points[5:], key=loss)
    assert loss(best) < 0.02
    assert (int(5 * best[2]), int(3 * best[3])) == (1, 2)


def test_the_answer_depends_on_the_scores_and_on_the_seed_and_on_nothing_else():
    points = [(0.2, 0.2, 0.1, 0.1), (0.8, 0.8, 0.9, 0.9)]
    answer = propose(LAWS, points, [0.1, 0.9], 3)
    assert propose(LAWS, points, [0.1, 0.9], 3) == answer
    assert propose(LAWS, points, [0.9, 0.1], 3) != answer
    assert propose(LAWS, points, [0.1, 0.9], 4) != answer


def test_options_in_order_are_near_each_other_and_others_are_not():
    kinds = [type(_axis(law)).__name__ for law in (*LAWS, Choice((5, 3, 1)))]
    assert kinds == [
        "FloatDistribution", "FloatDistribution", "IntDistribution", "CategoricalDistribution",
        "IntDistribution",
    ]  # fmt: skip


def test_scores_that_are_not_finite_count_as_the_highest():
    points = [(0.2, 0.2, 0.5, 0.5), (0.8, 0.8, 0.5, 0.5), (0.5, 0.1, 0.1, 0.1)]
    answers = {propose(LAWS, points, [0.1, 0.7, bad], 3) for bad in (0.7, math.inf, math.nan)}
    assert len(answers) == 1
    assert propose(LAWS, points, [math.nan] * 3, 3)


@pytest.mark.parametrize("huge", [1e200, 1.7e308])
def test_a_huge_score_is_avoided_without_a_warning(huge):
    points = [(0.2, 0.2, 0.5, 0.5), (0.8, 0.8, 0.5, 0.5), (0.5, 0.1, 0.1, 0.1)]
    asked = propose(LAWS, points, [huge, 0.1, 0.2], 3)
    assert math.dist(asked[:2], points[0][:2]) > 0.2
    assert propose(LAWS, points, [-huge, 0.1, 0.2], 3)


def test_numpys_whole_numbers_are_those_of_pythons(fed):
    n = np.int64
    one = bayesian_search(MODEL, fed, FEDEX, n(21), n(3), first=n(4), seed=n(2), method=FedProx())
    other = bayesian_search(MODEL, fed, FEDEX, 21, 3, first=4, seed=2, method=FedProx())
    assert (one.total, one.points, one.brackets) == (21, other.points, other.brackets)
    assert {type(number) for number in (one.total, one.seed, *one.brackets[0][1:])} == {int}


def test_optunas_own_settings_stay_as_they_were():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    propose(LAWS, [(0.2, 0.2, 0.5, 0.5)], [0.1], 0)
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR


def test_without_optuna_it_says_how_to_get_it(fed, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"Optuna is missing: pip install 'fedlab_edu\[tune\]'"
    ):
        begun(fed)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"total": 14}, "total is 14; allowed: at least 15, for 4 random arms and one more"),
        ({"seed": -1}, "seed is -1; allowed: a whole number of at least 0"),
    ],
)
def test_what_is_not_allowed_is_named(how, message, fed):
    with pytest.raises(ValueError, match=message):
        begun(fed, **how)


@pytest.mark.parametrize("first", [1, 4])
def test_without_validation_data_nothing_can_be_proposed(first, fed):
    nothing = Clients(fed.val.x, fed.val.y, (torch.arange(0),) * len(fed))
    with pytest.raises(ValueError, match="validation examples is 0; allowed: at least 1, to choos"):
        bayesian_search(MODEL, replace(fed, val=nothing), SPACES, 20, 3, first=first)


@pytest.mark.parametrize("name", ["total", "cap", "first", "seed"])
def test_a_number_that_is_not_whole_is_named(name, fed):
    how = {"total": 21, "cap": 3, "first": 4, "seed": 0, name: 2.5}
    with pytest.raises(ValueError, match=f"{name} is 2.5; allowed: a whole number of at least"):
        bayesian_search.__wrapped__(MODEL, fed, FEDEX, **how)
