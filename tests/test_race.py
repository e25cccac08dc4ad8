"""Races of arms: against arms played one by one, and a federation that counts what it is asked."""

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import pytest
import torch

from fedlab_edu import (
    Clients,
    Federation,
    FedProx,
    LocalHP,
    Scaffold,
    ServerHP,
    communicate,
    digits,
    evaluate,
    fedpop,
    fedtune,
    linear,
    personalise,
    start,
    tune,
)
from fedlab_edu.data import Sizes
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.run import Round, Run
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.baselines import (
    Arm,
    draw_arms,
    fixed_tuner,
    hyperband,
    make_arms,
    race,
    random_search,
    successive_halving,
)
from fedlab_edu.search.distributions import Choice, LogUniform, Uniform
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import bracket, halving, schedule
from fedlab_edu.search.space import FEDEX, FEDTUNE, SearchSpace, Spaces
from fedlab_edu.seeds import seed_for
from fedlab_edu.training.scores import Score
from fedlab_edu.tuners.fedex import around
from fedlab_edu.tuners.fedpop.evolution import Evolution
from fedlab_edu.tuners.fedtune.search import FedTune

MODEL = linear(64, 10)
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", torch.float64)


def finished(search: Race, fed: Federation, clients: int = 3) -> Race:
    while not search.done:
        search = search.step(MODEL, fed, clients)
    return search


def judged(played: Round, target: str, score: str) -> float:
    """The mean over a round's clients, by a plain loop."""
    scores = getattr(played.before if target == "global" else played.after, score)
    total = sum(int(n) for n in played.size)
    return sum(float(s) * int(n) for s, n in zip(scores, played.size, strict=True)) / total


@pytest.mark.parametrize("target", ["global", "personalised"])
@pytest.mark.parametrize(("score", "gamma"), [("error", 0.0), ("loss", 0.5)])
def test_a_race_gives_the_numbers_of_a_loop_over_its_arms(target, score, gamma, fed):
    got = finished(
        successive_halving(
            MODEL, fed, FEDEX, 24, 10, 2, 2, seed=5, method=FedProx(),
            estimate=Estimate(target, score, gamma),
        ),
        fed,
    )  # fmt: skip
    # Algorithm 1, one arm after the other
    (first, second, cap), *_ = schedule(24, 10, 2, 2)
    runs = [
        start(MODEL, fed, tuner, b, seed_for(5, a), FedProx())
        for a, (tuner, b, *_) in enumerate(draw_arms(FEDEX, 4, 5))
    ]
    alive, since, out = [0, 1, 2, 3], 0, [None] * 4
    for stop in (first, second, cap):
        estimates = {}
        for a in alive:
            while runs[a].round < stop:
                runs[a] = communicate(runs[a], MODEL, fed, 3)
            weights = [gamma ** (stop - 1 - t) for t in range(since, stop)]
            rounds = [judged(played, target, score) for played in runs[a].history[since:]]
            estimates[a] = sum(w * x for w, x in zip(weights, rounds, strict=True)) / sum(weights)
            assert got.traces[a][since:stop] == pytest.approx(rounds, rel=1e-9)
        best = sorted(alive, key=lambda a: (estimates[a], a))
        if stop < cap:
            for a in best[len(best) // 2 :]:
                out[a] = stop
            alive = sorted(best[: len(best) // 2])
        since = stop
    assert got.alive == alive
    assert list(got.out) == out
    assert got.best == alive[0]
    torch.testing.assert_close(got.winner.w, runs[alive[0]].w, rtol=0, atol=1e-12)
    assert got.best_score == pytest.approx(estimates[alive[0]], rel=1e-9)
    assert [run.round for run in got.runs] == [o or cap for o in out]


@dataclass(frozen=True, eq=False, repr=False)
class Counting(Federation):
    """Counts the rounds for which clients are drawn, and lets nobody see its test data."""

    asked: Any = None

    @property
    def sizes(self) -> Sizes:
        sizes = super().sizes
        return CountingSizes(sizes.train, sizes.val, sizes.classes, sizes.dtype, self.asked)


@dataclass(frozen=True, eq=False)
class CountingSizes(Sizes):
    asked: Any = None

    def sample(self, clients: int, gen: torch.Generator, replacement: bool = False) -> torch.Tensor:
        self.asked.append(clients)
        return super().sample(clients, gen, replacement)


class Secret(Clients):
    """Data that raise when they are touched."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"test data: {name} was read")


def counting(fed: Federation) -> Counting:
    watched = Counting(fed.train, fed.val, fed.test, fed.names, fed.classes, asked=[])
    object.__setattr__(watched, "test", Secret())
    return watched


@pytest.mark.parametrize(
    ("begin", "rounds"),
    [
        (lambda fed: random_search(MODEL, fed, FEDEX, 23, 5, method=FedProx()), 20),
        (lambda fed: successive_halving(MODEL, fed, FEDEX, 60, 10, 3, 2, method=FedProx()), 60),
        (lambda fed: successive_halving(MODEL, fed, FEDEX, 44, 9, 3, 2, method=FedProx()), 43),
        (lambda fed: hyperband(MODEL, fed, FEDEX, 70, 9, method=FedProx()), None),
        (
            lambda fed: race(MODEL, fed, make_arms(LocalHP(lr=[0.1, 0.2])), [bracket((3,), 2, 2)]),
            6,
        ),
    ],
)
def test_the_rounds_spent_are_those_announced_and_no_test_data_are_touched(begin, rounds, fed):
    watched = counting(fed)
    search = begin(watched)
    total = search.total
    assert rounds is None or total == rounds
    used = 0
    while not search.done:
        search = search.step(MODEL, watched, 3)
        assert search.used == len(watched.asked) > used
        used = search.used
    assert len(watched.asked) == total
    assert search.best in search.alive
    with pytest.raises(ValueError, match="search is 'over'; allowed: one with rounds left"):
        search.step(MODEL, watched, 3)
    with pytest.raises(AssertionError, match="was read"):
        evaluate(search.winner, MODEL, watched)


def test_brackets_that_train_together_are_as_each_alone(fed):
    together = hyperband(MODEL, fed, FEDEX, 70, 9, seed=2, method=FedProx())
    got, first = finished(together, fed), 0
    assert [b.arms for b in got.brackets] == [9, 5, 3]
    for one in got.brackets:
        own = range(first, first + one.arms)
        part = {f: getattr(together, f)[own.start : own.stop] for f in ("runs", "traces", "out")}
        alone = finished(replace(together, brackets=(one,), **part), fed)
        assert alone.out == got.out[own.start : own.stop]
        for a, run in zip(own, alone.runs, strict=True):
            torch.testing.assert_close(run.w, got.runs[a].w, rtol=0, atol=1e-12)
        first += one.arms


def test_an_arm_is_the_same_whatever_the_number_of_arms(fed):
    few, many = (finished(random_search(MODEL, fed, FEDEX, 4 * n, 4, method=FedProx()), fed)
                 for n in (2, 5))  # fmt: skip
    for one, other in zip(few.runs, many.runs, strict=False):
        torch.testing.assert_close(one.w, other.w, rtol=0, atol=1e-12)
    for one, other in zip(few.traces, many.traces, strict=False):
        assert one == pytest.approx(other)


def test_an_arm_that_is_out_keeps_its_history_and_no_vectors(fed):
    search = successive_halving(MODEL, fed, FEDEX, 24, 10, 2, 2,
                                method=FedProx())  # fmt: skip
    search = finished(search, fed)
    for run, out in zip(search.runs, search.out, strict=True):
        assert len(run.history) == run.round == (out or 10)
        sizes = [v.untyped_storage().nbytes() for v in run.server]
        assert sizes == [650 * 8 if out is None else 0] * 3


def test_what_clients_keep_goes_with_the_arm_that_is_out(fed):
    arms = make_arms(LocalHP(lr=[0.05, 0.1, 0.2, 0.3]))
    search = finished(race(MODEL, fed, arms, [schedule(24, 10, 2, 2)], method=Scaffold()), fed)
    assert [bool(run.states) for run in search.runs] == [out is None for out in search.out]


def played(size: list[int], before: list[float], after: list[float]) -> Round:
    F = torch.float64
    number, none = torch.arange(len(size)), torch.zeros(len(size), dtype=torch.bool)
    scores = [
        Score(torch.tensor(s, dtype=F) * 10, torch.tensor(s, dtype=F)) for s in (before, after)
    ]
    return Round(number, torch.zeros_like(number), torch.tensor(size), *scores, none)


def test_clients_count_by_their_validation_examples():
    one = played([1, 3, 0], [0.4, 0.8, INF], [0.2, 0.6, INF])
    assert Estimate("global").of_round(one) == pytest.approx(0.7)
    assert Estimate("personalised").of_round(one) == pytest.approx(0.5)
    assert Estimate("personalised", "loss").of_round(one) == pytest.approx(5)
    diverged = played([1, 3], [0.1, 0.1], [0.2, INF])
    assert Estimate().of_round(diverged) == pytest.approx(0.8)  # wrong about everything
    assert Estimate(score="loss").of_round(diverged) == INF
    assert torch.tensor(Estimate().of_round(played([0, 0], [0.1, 0.1], [0.1, 0.1]))).isnan()


def with_traces(search: Race, traces: list[list[float]]) -> Race:
    return replace(search, traces=tuple(tuple(t) for t in traces))


def test_the_best_arm_has_the_lowest_score_then_the_lowest_number(fed):
    begun = random_search(MODEL, fed, FEDEX, 12, 3, method=FedProx())
    assert begun.best == 0  # nothing is known yet
    assert with_traces(begun, [[0.3], [0.2], [NAN], [0.2]]).best == 1
    assert with_traces(begun, [[NAN], [INF], [0.9], [INF]]).best == 2
    assert with_traces(begun, [[NAN], [INF], [INF], [NAN]]).best == 0


def test_a_stage_looks_back_no_further_than_the_last_stop(fed):
    begun = successive_halving(MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(),
                               estimate=Estimate(gamma=1.0))  # fmt: skip
    first, second, _ = begun.brackets[0].stops
    for rounds, expected in ((first, 1.0), (first + 1, 0.0), (second, 0.0), (second + 2, 0.5)):
        trace = [1.0] * first + [0.0] * (second - first) + [0.5] * 9
        assert with_traces(begun, [trace[:rounds]] * 4).scores == [expected] * 4


def test_where_all_arms_diverge_some_go_on(fed):
    arms = make_arms(LocalHP(lr=[1e200] * 4, weight_decay=1e200))
    search = finished(race(MODEL, fed, arms, [schedule(24, 10, 2, 2)]), fed)
    assert set(search.scores) == {INF}
    assert search.alive == [0]
    assert search.winner.w.isfinite().all()


def test_rounds_in_which_nobody_can_validate_count_nowhere(fed):
    begun = successive_halving(
        MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), estimate=Estimate(gamma=0.5)
    )
    first, *_ = begun.brackets[0].stops
    assert first == 3
    for trace, expected in (
        ([NAN], NAN),
        ([NAN, 0.4], 0.4),
        ([0.8, NAN, 0.2], (0.2 + 0.5 * 0.8) / 1.5),
        ([0.8, 0.2, NAN, NAN, NAN], 0.2),  # none since the stop: the last that is known
        ([0.8, 0.2, 0.1, NAN, 0.6], 0.6),
    ):
        got = with_traces(begun, [trace] * 4).scores
        assert got == pytest.approx([expected] * 4, nan_ok=True)
    empty = replace(fed.val, rows=(fed.val.rows[0], *[torch.tensor([], dtype=torch.long)] * 13))
    few = replace(fed, val=empty)
    search = finished(random_search(MODEL, few, FEDEX, 24, 12, method=FedProx()), few, clients=2)
    for run, trace in zip(search.runs, search.traces, strict=True):
        for one, score in zip(run.history, trace, strict=True):
            assert (score == score) == bool(one.size.any())


def test_stops_at_the_same_round_eliminate_twice(fed):
    arms = draw_arms(FEDEX, 4, 3)
    search = finished(race(MODEL, fed, arms, [bracket((2, 2, 4), 4, 2)], method=FedProx()), fed)
    (once, twice) = halving(search.traces, (2, 2, 4), 2)
    assert (len(once.survivors), search.alive) == (2, twice.survivors)
    assert sorted(search.out, key=str) == [2, 2, 2, None]


def test_each_bracket_has_a_cap_of_its_own(fed):
    two = [bracket((2,), 1, 2), bracket((4,), 1, 2)]
    search = finished(race(MODEL, fed, make_arms(LocalHP(lr=[0.1, 0.2])), two), fed)
    assert [run.round for run in search.runs] == [2, 4]


def test_a_client_that_has_a_configuration_of_its_own_always_trains_with_it(fed):
    spaces = Spaces(FEDTUNE.client, clients=14)
    arms = draw_arms(spaces, 3, seed=1)
    search = finished(race(MODEL, fed, arms, [bracket((4,), 3, 2)]), fed, clients=14)
    for arm, run in zip(arms, search.runs, strict=True):
        assert len({*zip(*(c.tolist() for c in arm.tuner.table.columns.values()), strict=True)}) > 5
        for one in run.history:
            assert one.row.tolist() == one.client.tolist()  # row i is client i's
    assert torch.equal(arms[0].tuner.table.lr, draw_arms(spaces, 1, seed=1)[0].tuner.table.lr)
    own = personalise(search.runs[0], MODEL, fed)
    assert own == personalise(search.runs[0], MODEL, fed, arms[0].tuner.table)
    assert own != personalise(search.runs[0], MODEL, fed, arms[0].tuner.table[0])


def test_the_grids_hold_each_configuration_once():
    table = LocalHP(lr=[0.1, 0.2, 0.3])
    assert [float(arm.tuner.final.lr) for arm in make_arms(table)] == pytest.approx([0.1, 0.2, 0.3])


def test_configurations_of_single_clients_are_independent_draws_of_the_space():
    arms = draw_arms(Spaces(SearchSpace({"lr": Choice((0.1, 0.2, 0.3))}), clients=50), 60)
    lr = torch.stack([arm.tuner.final.lr for arm in arms])
    assert lr.shape == (60, 50)
    for value in (0.1, 0.2, 0.3):  # a share of a third, of all and of neighbours that are the same
        assert abs(int((lr - value).abs().lt(1e-6).sum()) - 1000) < 4 * (3000 * 2 / 9) ** 0.5
    alike = int((lr[:, 1:] == lr[:, :-1]).sum())
    assert abs(alike - 60 * 49 / 3) < 4 * (60 * 49 * 2 / 9) ** 0.5


def test_a_point_for_each_client_has_its_laws_in_the_order_of_the_clients():
    server = SearchSpace({"lr": Uniform(0, 2)}, ServerHP)
    spaces = Spaces(SearchSpace({"lr": Uniform(0, 1), "batch": Choice((8, 16))}), server, 3)
    assert len(spaces.distributions) == 3 * 2 + 1
    c, b = spaces.at(torch.tensor([0.1, 0.0, 0.2, 0.9, 0.3, 0.0, 0.75], dtype=torch.float64))
    assert c.lr.tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert c.batch.tolist() == [8, 16, 8]
    assert float(b.lr) == pytest.approx(1.5)


def test_the_averaged_model_is_judged_on_all_validation_data_put_together(fed):
    arms = make_arms(LocalHP(lr=[0.05, 0.5]))
    for kind in ("loss", "error"):
        how = Estimate("averaged", kind)
        done = finished(race(MODEL, fed, arms, [bracket((2,), 2, 2)], estimate=how), fed)
        rows = torch.cat(fed.val.rows)
        for run, trace in zip(done.runs, done.traces, strict=True):
            outputs = MODEL(run.w, fed.val.x[rows])
            loss = torch.nn.functional.cross_entropy(outputs, fed.val.y[rows])
            error = (outputs.argmax(1) != fed.val.y[rows]).double().mean()
            assert len(trace) == 2
            assert trace[-1] == pytest.approx(float(loss if kind == "loss" else error), rel=1e-5)


def test_an_arms_tuner_is_made_of_its_configuration(fed):
    def two(c: LocalHP, gen: torch.Generator) -> Fixed:
        return Fixed(LocalHP.concat([c, c]), torch.arange(14) % 2)

    search = random_search(MODEL, fed, FEDEX, 6, 3, tuner=two, method=FedProx())
    for arm, run in zip(draw_arms(FEDEX, 2), search.runs, strict=True):
        assert run.tuner.table.lr.tolist() == [float(arm.tuner.final.lr)] * 2


def blind(fed: Federation) -> Federation:
    """Without any validation data."""
    nothing = Clients(fed.val.x, fed.val.y, (torch.arange(0),) * len(fed))
    return replace(fed, val=nothing)


def test_one_arm_is_chosen_from_needs_no_validation_data(fed):
    alone = finished(random_search(MODEL, blind(fed), FEDEX, 3, 3, method=FedProx()), fed)
    assert alone.winner.round == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda fed: race(MODEL, fed, make_arms(LocalHP()), [bracket((3,), 2, 2)]),
         "arms is 1; allowed: 2, as many as the brackets need"),
        *((lambda fed, arms=arms: race.__wrapped__(MODEL, fed, arms, [bracket((3,), 2, 2)]),
           f"arms is '{type(arms).__name__}'; allowed: a list of arms: make_arms")
          for arms in (iter(()), LocalHP(lr=[0.1, 0.2]), [LocalHP(), LocalHP()])),
        (lambda fed: race.__wrapped__(MODEL, fed, [], bracket((3,), 2, 2)),
         r"brackets is Schedule.*; allowed: a list of schedules: \[bracket"),
        (lambda fed: Estimate(gamma=2.0), "gamma is 2.0; allowed: a number from 0 to 1"),
        (lambda fed: Fixed(LocalHP(lr=[0.1, 0.2])), "table is '2 rows'; allowed: one conf"),
        (lambda fed: Fixed(LocalHP(), torch.tensor([0, 1])), r"row is \[0, 1\]; allowed: whole"),
        (lambda fed: random_search(MODEL, fed, FEDEX, 3, 4), "total is 3; allowed: at least 4"),
        (lambda fed: race.__wrapped__(MODEL, fed, [], [], estimate="global"),
         "estimate is 'global'; allowed: an Estimate"),
        (lambda fed: draw_arms(Spaces(FEDEX.client, SearchSpace({"lr": LogUniform(0.1, 1)})), 2),
         "server is SearchSpace.*allowed: a SearchSpace of ServerHP: "),
        (lambda fed: draw_arms.__wrapped__(FEDEX.client, 2),
         "spaces is 'SearchSpace'; allowed: a Spaces: "),
        *((lambda fed, f=f: f(MODEL, fed, FEDEX, 90, 9, seed=-1),
           "^seed is -1; allowed: a whole number of at least 0")
          for f in (random_search, successive_halving, hyperband)),
        (lambda fed: draw_arms.__wrapped__(FEDEX, 1, seed=1.5), "seed is 1.5; allowed: a whole"),
        (lambda fed: draw_arms.__wrapped__(FEDEX, 1.5), "arms is 1.5; allowed: a whole number"),
        (lambda fed: draw_arms(FEDEX, 1, seed=-1), "seed is -1; allowed: a whole number of at"),
        (lambda fed: random_search(MODEL, fed, Spaces(FEDTUNE.client, clients=10), 3, 3),
         "of the tuner is '10 rows'; allowed: one setting, or 14 rows"),
        (lambda fed: draw_arms(Spaces(FEDTUNE.client, clients=0), 1), "clients is 0; allowed: "),
        *((lambda fed, k=k: random_search(MODEL, fed, Spaces(FEDTUNE.client, clients=14), 3, 3,
                                          tuner=around(FEDTUNE.client, k)),
           "configurations of an arm is 14; allowed: 1") for k in (1, 3)),
        (lambda fed: random_search(MODEL, blind(fed), FEDEX, 6, 3), "validation examples is 0"),
        (lambda fed: random_search(MODEL, blind(fed), FEDEX, 3, 3, estimate=Estimate("averaged")),
         "validation examples is 0; allowed: at least 1, to choose an arm by"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_named(make, message, fed):
    with pytest.raises(ValueError, match=message):
        make(fed)


def test_an_arm_has_the_server_that_it_was_given(fed):
    still = Arm(Fixed(LocalHP(lr=0.1)), ServerHP(lr=0.0))
    search = finished(race(MODEL, fed, [still], [bracket((2,), 1, 2)]), fed)
    begun: Run = race(MODEL, fed, [still], [bracket((2,), 1, 2)]).runs[0]
    assert torch.equal(search.winner.w, begun.w)


ROWS = around(SearchSpace({"lr": LogUniform(1e-2, 1)}), 5, cutoff=0.0)


def test_best_seen_is_the_run_after_the_round_with_the_lowest_score_of_all(fed):
    arms = draw_arms(Spaces(SearchSpace({"lr": LogUniform(1e-2, 1)})), 4, 3)
    how = {"seed": 2, "estimate": Estimate("global")}
    begun = race(MODEL, fed, arms, [schedule(16, 8, 2, 2)], select="best_seen", **how)
    survivor = race(MODEL, fed, arms, [schedule(16, 8, 2, 2)], **how)
    seen = []
    while not begun.done:
        before = begun
        begun, survivor = (one.step(MODEL, fed, 5) for one in (begun, survivor))
        played = [a for a, run in enumerate(begun.runs) if run.round > before.runs[a].round]
        alone = [communicate(before.runs[a], MODEL, fed, 5) for a in played]
        seen += [(begun.traces[a][-1], run.w) for a, run in zip(played, alone, strict=True)]
    best_score, w = min(seen, key=lambda pair: pair[0])
    assert begun.seen is not None
    assert begun.seen[0] == best_score
    torch.testing.assert_close(begun.winner.w, w, rtol=0, atol=1e-12)
    assert torch.equal(survivor.winner.w, survivor.runs[survivor.best].w)
    assert begun.out == survivor.out  # the eliminations are the same


def test_clients_drawn_with_replacement_come_twice_with_other_minibatches(fed):
    c = LocalHP(lr=0.5, batch=4)
    run = start(MODEL, fed, c, seed=0, replacement=True)
    after = communicate(run, MODEL, fed, 40)  # more than the 14 that there are
    played = after.history[0]
    clients = played.client.tolist()
    assert len(clients) == 40
    twice = next(i for i in set(clients) if clients.count(i) > 1)
    losses = played.after.loss[played.client == twice]
    assert len(set(losses.tolist())) == len(losses)
    without = communicate(start(MODEL, fed, c, seed=0), MODEL, fed, 14)
    assert sorted(without.history[0].client.tolist()) == list(range(14))
    counts = torch.zeros(14)
    gen = torch.Generator().manual_seed(0)
    for _ in range(2000):
        counts += torch.bincount(fed.sample(7, gen, replacement=True), minlength=14)
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 34.5  # 0.999 of chi-square with 13


def test_replacement_is_refused_where_clients_keep_vectors(fed):
    with pytest.raises(ValueError, match="replacement is True; allowed: False, for clients of"):
        start(MODEL, fed, tuner=LocalHP(), method=Scaffold(), replacement=True)


def test_no_two_draws_of_a_client_are_alike_within_a_round_or_with_an_evaluation(fed):
    run = start(MODEL, fed, LocalHP(), seed=3, replacement=True)
    seeds = draw_work(run, fed.sizes, 60).seeds  # of 14 clients
    evaluated = {seed_for(run.seed, run.round, i, 1) for i in range(14)}  # see `personalise`
    assert len(set(seeds)) == 60
    assert not evaluated & set(seeds)


def test_a_search_for_the_best_seen_goes_on_from_its_file_with_what_it_has_seen(
    fed, tmp_path, monkeypatch
):
    arms = make_arms(LocalHP(lr=[0.5, 0.1], batch=8))
    begun = race(MODEL, fed, arms, [bracket((6,), 2, 2)], select="best_seen")
    whole = tune(begun, MODEL, fed, 4)
    played, step = [], Race.step

    def four_times(self: Race, *given: Any) -> Race:
        played.append(self)
        if len(played) > 4:
            raise KeyboardInterrupt
        return step(self, *given)

    monkeypatch.setattr(Race, "step", four_times)
    with pytest.raises(KeyboardInterrupt):
        tune(begun, MODEL, fed, 4, path=tmp_path / "search")
    monkeypatch.undo()
    resumed = tune(begun, MODEL, fed, 4, path=tmp_path / "search")
    assert resumed.seen[0] == whole.seen[0]
    assert torch.equal(resumed.to("cpu").winner.w, whole.winner.w)


def test_an_eliminated_arm_that_is_trained_again_is_refused_with_the_reason(fed):
    how = {"method": FedProx()}
    search = finished(successive_halving(MODEL, fed, FEDEX, 12, 8, 2, 1, **how), fed)
    lost = next(run for run, out in zip(search.runs, search.out, strict=True) if out)
    with pytest.raises(ValueError, match=r"w is 0; allowed: 650, .*; an arm that was eliminated"):
        communicate(lost, MODEL, fed, 3)


def test_arms_with_shared_initial_weights_are_runs_from_them_with_their_own_draws(fed):
    w0 = start(MODEL, fed, seed=3).w
    arms = draw_arms(FEDEX, 2)
    how = {"seed": 5, "method": FedProx()}
    search = race(MODEL, fed, arms, [bracket((2,), 2, 2)], **how, w=w0)
    assert all(torch.equal(run.w, w0) for run in search.runs)
    done = finished(search, fed)
    for a, arm in enumerate(arms):
        alone = start(MODEL, fed, arm.tuner, arm.b, seed_for(5, a), FedProx(), w=w0)
        for _ in range(2):
            alone = communicate(alone, MODEL, fed, 3)
        assert torch.allclose(done.runs[a].w, alone.w)
    for begin, sizes in ((random_search, (4, 2)), (successive_halving, (12, 8, 2, 1)),
                         (hyperband, (20, 4, 2))):  # fmt: skip
        runs = begin(MODEL, fed, FEDEX, *sizes, method=FedProx(), w=w0).runs
        assert all(torch.equal(run.w, w0) for run in runs)
    with pytest.raises(ValueError, match="shape of w is"):
        race(MODEL, fed, arms, [bracket((2,), 2, 2)], **how, w=w0[1:])


def test_options_of_a_race_are_checked(fed, unchecked):
    arms, three = draw_arms(FEDEX, 1), [bracket((3,), 1, 2)]
    with pytest.raises(ValueError, match="select is 'no'; allowed: 'survivor', 'best_seen'"):
        race(MODEL, fed, arms, three, select="no", method=FedProx())


def test_an_option_that_a_search_does_not_have_is_refused_by_name(fed):
    with pytest.raises(TypeError, match="unexpected keyword argument 'etas'"):
        hyperband(MODEL, fed, FEDEX, 30, 3, etas=2)


def test_a_search_is_shown_in_one_short_line(fed):
    begun = successive_halving(MODEL, fed, FEDEX, 30, 10, 2, 2, method=FedProx())
    assert repr(begun) == "Race(4 of 4 arms alive, 0 of 30 rounds, no score yet)"
    done = tune(begun, MODEL, fed, 3)
    best = f"best score {done.best_score:.4g}"
    assert repr(done) == f"Race(1 of 4 arms alive, 30 of 30 rounds, {best})"
    credits = fedtune(MODEL, fed, LocalHP(lr=[0.1, 0.3]), 2)
    assert repr(credits) == "FedTune(0 of 2 rounds, no score yet)"


def test_searches_spell_out_their_options_with_the_defaults_of_what_they_pass_them_to():
    def defaults(made: Any) -> dict[str, Any]:
        parameters = signature(made).parameters.items()
        return {name: one.default for name, one in parameters if one.default is not one.empty}

    of_race = defaults(race) | {"tuner": fixed_tuner}
    for search in (random_search, successive_halving, hyperband):
        given = defaults(search)
        assert {name: given[name] for name in of_race} == of_race, search.__name__
    for search, fields in ((fedtune, FedTune), (fedpop, Evolution)):
        shared = defaults(search).keys() & defaults(fields).keys() - {"method"}
        assert len(shared) >= 5
        for name in shared:
            assert defaults(search)[name] == defaults(fields)[name], name
