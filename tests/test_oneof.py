"""Conditional search spaces: a choice between methods, each with hyperparameters of its own."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from fedlab_edu import (
    Choice,
    FedAvg,
    FedPA,
    FedProx,
    Integer,
    LogUniform,
    OneOf,
    Option,
    SearchSpace,
    ServerHP,
    Spaces,
    Uniform,
    bayesian_search,
    communicate,
    digits,
    fedpop,
    hyperband,
    linear,
    random_search,
    start,
    successive_halving,
    tune,
)
from fedlab_edu.methods import FedAdam
from fedlab_edu.search.baselines import draw_arms
from fedlab_edu.search.race import Race
from fedlab_edu.search.results import arms_table
from fedlab_edu.seeds import seed_for

MODEL = linear(64, 10)
SGD = {"lr": LogUniform(1e-2, 1)}
PLAIN = Spaces(SearchSpace(SGD))
PROX = Spaces(SearchSpace({**SGD, "mu": LogUniform(1e-3, 1)}))
ADAM = Spaces(SearchSpace(SGD), SearchSpace({"momentum": Uniform(0.5, 0.9)}, ServerHP))
TAU = {"tau": LogUniform(1e-5, 1e-1)}
EITHER = OneOf((Option(FedAvg(), PLAIN), Option(FedProx(), PROX), Option(FedAdam(), ADAM, TAU)))


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", torch.float64)


def test_each_option_is_as_likely():
    drawn = Counter(type(arm.method).__name__ for arm in draw_arms(EITHER, 900))
    assert sum(drawn.values()) == 900
    for name in ("FedAvg", "FedProx", "FedAdam"):
        assert abs(drawn[name] - 300) < 5 * math.sqrt(900 * 1 / 3 * 2 / 3)


def test_a_hyperparameter_is_drawn_where_its_method_reads_it_and_keeps_its_default_elsewhere():
    for tuner, b, method, _ in draw_arms(EITHER, 200):
        mu, momentum = float(tuner.final.mu), float(b.momentum)
        assert 1e-2 <= float(tuner.final.lr) <= 1
        assert (1e-3 <= mu <= 1) if isinstance(method, FedProx) else mu == 0
        assert (0.5 <= momentum <= 0.9) if isinstance(method, FedAdam) else momentum == 0
        if isinstance(method, FedAdam):
            assert 1e-5 <= method.tau <= 1e-1
            assert method.beta2 == FedAdam().beta2


def test_a_field_of_a_method_has_its_distribution():
    """A tenth of tau is to be expected below each power of ten: from 1e-5 to 1e-1 a quarter."""
    only = OneOf((Option(FedAdam(), ADAM, TAU),))
    tau = [arm.method.tau for arm in draw_arms(only, 800) if isinstance(arm.method, FedAdam)]
    found = Counter(math.floor(math.log10(t)) for t in tau)
    for power in (-5, -4, -3, -2):
        assert abs(found[power] - 200) < 5 * math.sqrt(800 / 4 * 3 / 4)


def test_whole_numbers_of_a_method_stay_whole():
    only = OneOf((Option(FedPA(), PLAIN, {"burn_in": Integer(0, 3)}),))
    drawn = [arm.method.burn_in for arm in draw_arms(only, 60) if isinstance(arm.method, FedPA)]
    assert {type(x) for x in drawn} == {int}
    assert set(drawn) == {0, 1, 2, 3}


def test_two_options_of_one_method_make_another_condition():
    """Momentum is tuned where lr is low."""
    low = SearchSpace({"lr": LogUniform(1e-3, 1e-1), "momentum": Uniform(0.1, 0.9)})
    high = SearchSpace({"lr": LogUniform(1e-1, 1)})
    either = OneOf((Option(FedAvg(), Spaces(low)), Option(FedAvg(), Spaces(high))))
    for tuner, *_ in draw_arms(either, 50):
        assert (float(tuner.final.momentum) > 0) == (float(tuner.final.lr) < 0.1)


def test_an_arm_does_not_depend_on_the_number_of_arms():
    few, many = draw_arms(EITHER, 3, seed=4), draw_arms(EITHER, 9, seed=4)
    for one, other in zip(few, many, strict=False):
        assert one.method == other.method
        assert repr(one.tuner.final) == repr(other.tuner.final)
        assert repr(one.b) == repr(other.b)


def test_arms_of_several_methods_have_the_numbers_of_each_trained_alone(fed):
    search = tune(successive_halving(MODEL, fed, EITHER, 24, 10, 2, 2, seed=5), MODEL, fed, 3)
    assert len({type(run.method) for run in search.runs}) > 1
    for a, (tuner, b, method, _) in enumerate(draw_arms(EITHER, 4, 5)):
        alone = start(MODEL, fed, tuner, b, seed_for(5, a), method)
        for t in range(search.runs[a].round):
            alone = communicate(alone, MODEL, fed, 3)
            ours, theirs = search.runs[a].history[t], alone.history[t]
            torch.testing.assert_close(ours.after.loss, theirs.after.loss, rtol=1e-9, atol=0)
    methods = [arm.method for arm in draw_arms(EITHER, 4, 5)]
    assert search.winner.method == methods[search.best]
    assert arms_table(search).method.tolist() == [repr(method) for method in methods]


def test_a_search_over_methods_resumes_from_its_file(fed, tmp_path, monkeypatch):
    class Crash(Exception):
        pass

    def crash(search: Race, *args: Any) -> Race:
        if search.used >= 10:
            raise Crash
        return step(search, *args)

    begun, step = hyperband(MODEL, fed, EITHER, 21, 9, seed=2), Race.step
    whole = tune(begun, MODEL, fed, 3)
    monkeypatch.setattr(Race, "step", crash)
    with pytest.raises(Crash):
        tune(begun, MODEL, fed, 3, path=tmp_path / "search")
    monkeypatch.undo()
    done = tune(begun, MODEL, fed, 3, path=tmp_path / "search")
    assert done.traces == whole.traces
    assert [run.method for run in done.runs] == [run.method for run in whole.runs]


def test_each_client_has_its_own_configuration_in_an_option_for_that(fed):
    either = OneOf((Option(FedProx(), Spaces(PROX.client, clients=14)),))
    search = random_search(MODEL, fed, either, 2, 1).step(MODEL, fed, 3)
    assert len(search.runs[0].tuner.final) == 14
    assert search.runs[0].method == FedProx()


@dataclass(frozen=True)
class Own(FedAvg):
    """A method of a user, which checks its field."""

    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share}; allowed: above 0, up to 1")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OneOf(()), "options is (); allowed: options, as OneOf"),
        (lambda: OneOf((PLAIN,)), "allowed: options, as OneOf((Option(FedAvg(), spaces), ...))"),
        (lambda: Option(FedAvg, PLAIN), "method is <class"),
        (lambda: Option("FedAvg", PLAIN), "method is 'FedAvg'; allowed: a method, such as"),
        (lambda: Option(FedAvg(), PLAIN.client), "allowed: a Spaces: Spaces(SearchSpace({...}))"),
        (lambda: Option(FedAvg(), PROX), "allowed: 0: FedAvg has no pull"),
        (lambda: Option(FedAdam(), PLAIN, {"rho": Uniform(0, 1)}),
         "field of FedAdam is 'rho'; allowed: one of ['beta2', 'tau']"),
        (lambda: Option(FedAdam(), PLAIN, {"tau": 0.1}), "tau is 0.1; allowed: a distribution"),
        (lambda: Option(FedAdam(), PLAIN, {"tau": Uniform(0, 1)}), "tau is 0.0; allowed: "),
        (lambda: Option(Own(), PLAIN, {"share": Uniform(0.5, 2)}), "allowed: above 0, up to 1"),
        (lambda: Option(FedPA(), PLAIN, {"burn_in": Choice((1, 1.5))}),
         "burn_in is 1.5; allowed: whole numbers, as Integer(1, 5)"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_option_is_named(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (lambda fed: random_search(MODEL, fed, EITHER, 4, 1, method=FedAvg()),
         "allowed: None, where the search space names the methods"),
        (lambda fed: bayesian_search(MODEL, fed, EITHER, 12, 2), "spaces is 'OneOf'"),
        (lambda fed: fedpop(MODEL, fed, EITHER, 12, 2), "spaces is OneOf"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_a_search_that_needs_one_method_says_so(search, message, fed):
    with pytest.raises(ValueError, match=re.escape(message)):
        search(fed)
