"""Rounds and runs: FedAvg against plain loops, resumption, evaluation, and that it learns."""

import math
import re
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fedlab_edu import (
    FedAvg,
    FedEx,
    LocalHP,
    Reptile,
    Run,
    Scaffold,
    ServerHP,
    communicate,
    communicate_all,
    digits,
    evaluate,
    mlp,
    personalise,
    shakespeare,
    start,
    train,
)  # fmt: skip
from fedlab_edu.methods import ClientUpdate
from fedlab_edu.models.networks import char_lstm
from fedlab_edu.rounds.communicate import StopTraining
from fedlab_edu.rounds.result import Round, divergence
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.seeds import generator, seed_for, seeds_for
from fedlab_edu.training.scores import Score
from tests.reference import plain_loop

MODEL = mlp(64, 16, 10)
C = LocalHP(lr=0.1, batch=8, epochs=2, momentum=0.5)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", torch.float64)


def test_a_round_is_fedavg_as_a_plain_loop_over_clients(fed):
    run = start(MODEL, fed, C, seed=3)
    after = communicate(run, MODEL, fed, clients=5)
    (played,) = after.history
    chosen = played.client.tolist()
    assert len(set(chosen)) == 5
    seeds = [seed_for(3, 0, i) for i in chosen]
    W = plain_loop(MODEL, run.w, fed.train[chosen], C, seeds)
    n = [len(fed.train.rows[i]) for i in chosen]
    expected = sum(n_i * w_i for n_i, w_i in zip(n, W, strict=True)) / sum(n)
    torch.testing.assert_close(after.w, expected, rtol=0, atol=1e-12)


def test_a_round_records_each_clients_scores_before_and_after_it_trained(fed):
    run = start(MODEL, fed, C, seed=3)
    (played,) = communicate(run, MODEL, fed, clients=4).history
    chosen = played.client.tolist()
    W = plain_loop(MODEL, run.w, fed.train[chosen], C, [seed_for(3, 0, i) for i in chosen])
    for j, i in enumerate(chosen):
        x, y = fed.val.examples(i)
        for w, seen in ((run.w, played.before), (W[j], played.after)):
            outputs = MODEL.unflatten(w)(x)
            assert seen.loss[j].item() == pytest.approx(F.cross_entropy(outputs, y).item())
            assert seen.error[j].item() == (outputs.argmax(1) != y).double().mean().item()
    assert played.size.tolist() == [len(fed.val.rows[i]) for i in chosen]
    assert played.row.tolist() == [0] * 4


def test_the_servers_rate_decays_and_its_momentum_carries_over(fed):
    b = ServerHP(lr=0.5, momentum=0.9, decay=0.7)
    run = start(MODEL, fed, C, b, seed=1)
    v = torch.zeros_like(run.w)
    for t in (1, 2, 3):
        after = communicate(run, MODEL, fed, clients=3)
        chosen = after.history[-1].client.tolist()
        seeds = [seed_for(1, t - 1, i) for i in chosen]
        W = plain_loop(MODEL, run.w, fed.train[chosen], C, seeds)
        n = fed.train[chosen].n.double()
        v = 0.9 * v + (run.w - (n[:, None] * W).sum(0) / n.sum())
        expected = run.w - 0.5 * 0.7 ** (t - 1) * v
        torch.testing.assert_close(after.w, expected, rtol=0, atol=1e-12)
        run = after


def test_going_on_from_a_run_gives_the_numbers_of_never_having_stopped(fed):
    run = start(MODEL, fed, C, ServerHP(momentum=0.5), seed=2)
    whole = train(run, MODEL, fed, 6, clients=4)
    halves = train(train(run, MODEL, fed, 2, clients=4), MODEL, fed, 4, clients=4)
    assert torch.equal(whole.w, halves.w)
    assert run.round == 0
    assert whole.round == 6


def test_runs_that_play_together_get_the_numbers_of_each_alone(fed):
    runs = [
        start(MODEL, fed, LocalHP(lr=lr, epochs=epochs, batch=7), b, seed=seed)
        for seed, (lr, epochs, b) in enumerate(
            [(0.1, 1, ServerHP()), (0.5, 3, ServerHP(momentum=0.9)), (1e200, 1, ServerHP())]
        )
    ]
    with pytest.warns(UserWarning, match="round 1: all clients of a round have diverged"):
        alone = [train(run, MODEL, fed, 2, clients=4) for run in runs]
    for _ in range(2):
        runs = communicate_all(runs, MODEL, fed, clients=4)
    for one, other in zip(alone, runs, strict=True):
        torch.testing.assert_close(one.w, other.w, rtol=0, atol=1e-12, equal_nan=True)
        for a, b in zip(one.history, other.history, strict=True):
            assert a.client.tolist() == b.client.tolist()
            for s, t in zip((*a.before, *a.after), (*b.before, *b.after), strict=True):
                assert s.tolist() == pytest.approx(t.tolist(), abs=1e-9)


@dataclass(frozen=True)
class Towards(FedAvg):
    """FedAvg with a field that has no truth value."""

    prior: object = None


@pytest.mark.parametrize("make", [torch.ones, np.ones, lambda _: math.nan])
def test_methods_with_fields_that_cannot_be_compared_play_as_each_alone(make, fed):
    runs = [start(MODEL, fed, seed=a, method=Towards(prior=make(2))) for a in range(2)]
    together = communicate_all([*runs, runs[0]], MODEL, fed, 4)
    for run, after in zip([*runs, runs[0]], together, strict=True):
        torch.testing.assert_close(after.w, communicate(run, MODEL, fed, 4).w, rtol=0, atol=1e-12)


@dataclass(frozen=True)
class Noting:
    """A tuner of two rows that hands them out in turn, and stores the results of its rounds."""

    table: LocalHP = field(default_factory=lambda: LocalHP(lr=[0.1, 0.0], batch=8))
    told: tuple[Round, ...] = ()

    @property
    def final(self) -> LocalHP:
        return self.table[0]

    def ask(self, who: torch.Tensor, gen: torch.Generator) -> torch.Tensor:
        return torch.arange(len(who)) % 2

    def tell(self, result: Round) -> "Noting":
        return replace(self, told=(*self.told, result))


def test_each_client_trains_with_the_row_it_was_handed_and_the_tuner_is_told(fed):
    run = train(start(MODEL, fed, Noting(), seed=6), MODEL, fed, 2, clients=4)
    for played, told in zip(run.history, run.tuner.told, strict=True):
        assert told.row.tolist() == [0, 1, 0, 1]
        assert told.client.tolist() == played.client.tolist()
        assert told.size.tolist() == [len(fed.val.rows[i]) for i in played.client.tolist()]
        for a, b in zip((*told.before, *told.after), (*played.before, *played.after), strict=True):
            assert torch.equal(a, b)
        assert not told.diverged.any()
        still = (played.after.loss - played.before.loss).abs()  # a step size of 0 changes nothing
        assert still[[1, 3]].max() < 1e-12 < still[[0, 2]].min()


def scored(loss: list[float], error: list[float]) -> Score:
    return Score(torch.tensor(loss), torch.tensor(error))


def told(after: Score, before: Score | None = None, size: list[int] | None = None) -> Round:
    """Return the round result for these scores."""
    B = len(after.loss)
    sizes = torch.tensor([3] * B if size is None else size)
    before = scored([1.0] * B, [0.5] * B) if before is None else before
    lost = ~after.loss.isfinite()
    return Round(torch.arange(B) + 7, torch.arange(B), sizes, before, after, lost).result()


def test_a_tuner_is_told_of_clients_with_validation_examples_only():
    # the client that has none scores 0, or +inf once it has diverged
    for nothing in (0.0, math.inf):
        after = scored([0.5, nothing, 0.75], [0.25, nothing, 0.5])
        result = told(after, size=[4, 0, 2])
        assert result.client.tolist() == [7, 9]
        assert result.row.tolist() == [0, 2]
        assert result.size.tolist() == [4, 2]
        assert result.after.loss.tolist() == [0.5, 0.75]
        assert result.after.error.tolist() == [0.25, 0.5]
        assert result.diverged.tolist() == [False, False]
    assert len(told(after, size=[0, 0, 0]).client) == 0


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan, 1e200])
def test_diverged_scores_are_told_as_1_or_as_twice_the_largest_other_one(bad):
    loss, error = torch.tensor([[2.5, bad, 4.0], [0.25, bad, 0.75]], dtype=torch.float64)
    result = told(Score(loss, error))
    assert result.after.loss.tolist() == [2.5, 8.0, 4.0]
    assert result.after.error.tolist() == [0.25, 1.0, 0.75]
    assert result.diverged.tolist() == [False, True, False]
    # losses of at most 1: nothing to double
    assert told(Score(loss / 4, error)).after.loss.tolist() == [0.625, 1.0, 1.0]
    # scores before training count as other ones
    high = scored([9.0, 1.0, 1.0], [0.5, 0.5, 0.5])
    assert told(Score(loss, error), high).after.loss.tolist() == [2.5, 18.0, 4.0]
    # and may have diverged themselves: the model received has
    lost = Score(*torch.full((2, 3), bad, dtype=torch.float64))
    result = told(lost, lost)
    for column in (*result.before, *result.after):
        assert column.tolist() == [1.0, 1.0, 1.0]
    assert result.diverged.all()


def test_what_a_tuner_is_told_is_finite_and_in_float64():
    for far in (math.nan, math.inf, 3e38):
        result = told(scored([far, 3e38, 0.5], [1.0, 0.0, 0.5]))
        for column in (result.size, *result.before, *result.after):
            assert column.dtype == torch.float64
            assert column.isfinite().all()


def test_each_round_draws_clients_anew(fed):
    run = train(start(MODEL, fed, C), MODEL, fed, 6, clients=4)
    assert len({tuple(played.client.tolist()) for played in run.history}) == 6


def test_a_run_whose_history_is_cut_goes_on_as_before(fed):
    run = train(start(MODEL, fed, C, ServerHP(decay=0.5)), MODEL, fed, 2, clients=3)
    cut = replace(run, history=())
    assert torch.equal(communicate(run, MODEL, fed, 3).w, communicate(cut, MODEL, fed, 3).w)


def test_a_watcher_sees_the_run_at_the_start_and_after_each_round(fed):
    seen: list[int] = []
    train(start(MODEL, fed, C), MODEL, fed, 3, clients=2, watch=lambda run: seen.append(run.round))
    assert seen == [0, 1, 2, 3]


def test_runs_with_different_seeds_draw_different_clients_and_weights(fed):
    one, other = (train(start(MODEL, fed, C, seed=s), MODEL, fed, 3) for s in (0, 1))
    assert not torch.equal(start(MODEL, fed, seed=0).w, start(MODEL, fed, seed=1).w)
    assert not torch.equal(one.w, other.w)
    assert [r.client.tolist() for r in one.history] != [r.client.tolist() for r in other.history]


def test_the_seeds_of_all_clients_are_numpys_for_each_alone():
    seeds = [0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**128 - 1, 2**128, 2**200 + 17]
    rng = np.random.default_rng(0)
    rounds, clients = rng.integers(2**32, size=len(seeds)), rng.integers(2**32, size=(8, 5))

    def one(seed: int, *key: int) -> int:
        return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0] >> 1)

    assert seeds_for(seeds).tolist() == [one(s) for s in seeds]
    assert seeds_for(seeds, rounds).tolist() == [
        one(s, r) for s, r in zip(seeds, rounds, strict=True)
    ]
    assert seeds_for(seeds, rounds, clients).tolist() == [
        [one(s, r, i) for i in row] for s, r, row in zip(seeds, rounds, clients, strict=True)
    ]


def test_streams_of_different_keys_differ_even_where_one_continues_the_other():
    keys = [(0,), (0, 0), (0, 0, 0), (0, 1), (1,), (1, 0), (0, 0, 1), (2**40,), (0, 2**20)]
    assert len({seed_for(*key) for key in keys}) == len(keys)
    assert torch.equal(
        torch.randperm(9, generator=generator(4, 2)), torch.randperm(9, generator=generator(4, 2))
    )


def test_the_global_objective_weighs_clients_by_their_test_examples(fed):
    run = start(MODEL, fed, C)
    rows = torch.cat(fed.test.rows)
    outputs = MODEL.unflatten(run.w)(fed.test.x[rows])
    found = evaluate(run, MODEL, fed)
    assert found.loss == pytest.approx(F.cross_entropy(outputs, fed.test.y[rows]).item())
    wrong = (outputs.argmax(1) != fed.test.y[rows]).double().mean().item()
    assert found.error == pytest.approx(wrong)


def test_the_personalised_objective_tests_each_client_on_its_own_model(fed):
    run = start(MODEL, fed, C, seed=5)
    W = plain_loop(MODEL, run.w, fed.train, C, [seed_for(5, 0, i, 1) for i in range(len(fed))])
    wrong = 0
    for i in range(len(fed)):
        x, y = fed.test.examples(i)
        wrong += int((MODEL.unflatten(W[i])(x).argmax(1) != y).sum())
    expected = wrong / int(fed.test.n.sum())
    assert personalise(run, MODEL, fed).error == pytest.approx(expected)
    assert personalise(run, MODEL, fed, LocalHP(lr=0)).error == evaluate(run, MODEL, fed).error


def test_fedavg_learns_digits_written_by_others():
    fed, model = digits(), mlp(64, 32, 10)
    run = start(model, fed, LocalHP(lr=0.1, batch=8, epochs=2))
    assert evaluate(run, model, fed).error > 0.7
    assert evaluate(train(run, model, fed, 60), model, fed).error < 0.12


def test_fedavg_learns_which_characters_follow():
    fed, model = shakespeare(roles_used=8, length=10, step=10), char_lstm(width=8, hidden=16)
    run = start(model, fed, LocalHP(lr=1.0, batch=16))
    before = evaluate(run, model, fed)
    after = evaluate(train(run, model, fed, 5, clients=4), model, fed)
    assert before.loss == pytest.approx(torch.log(torch.tensor(101.0)).item(), abs=0.1)
    assert after.loss < 3.5


def test_where_all_clients_diverge_they_score_infinity_and_the_run_goes_on(fed):
    first = start(MODEL, fed, LocalHP(lr=1e200, batch=4))
    with pytest.warns(UserWarning, match="round 1: all clients of a round have diverged") as said:
        run = train(first, MODEL, fed, 2, clients=3)
    assert len(said) == 1
    assert personalise(run, MODEL, fed) == (float("inf"), float("inf"))
    assert run.history[-1].after.error.tolist() == [float("inf")] * 3
    assert run.history[-1].diverged.all()
    assert torch.equal(run.w, first.w)


def test_a_loss_that_explodes_is_said_once_and_one_that_falls_is_not(fed):
    with pytest.warns(
        UserWarning, match="mean loss has grown from 2.* to .*e.*; try a lower"
    ) as said:
        run = train(start(MODEL, fed, LocalHP(lr=1e6, batch=16)), MODEL, fed, 3, clients=3)
    assert len(said) == 1
    assert run.w.isfinite().all()
    train(start(MODEL, fed, LocalHP(lr=0.1)), MODEL, fed, 3, clients=3)  # warnings are errors


@pytest.mark.usefixtures("unchecked")
def test_a_watch_that_is_no_function_is_refused_before_the_first_round(fed):
    with pytest.raises(ValueError, match="watch is 3; allowed: a function of a run, or None"):
        train(start(MODEL, fed, C), MODEL, fed, 1, clients=2, watch=3)


def test_a_watch_that_stops_training_gets_the_run_so_far_back(fed):
    def stop(run: Run) -> None:
        if run.round == 2:
            raise StopTraining

    begun = start(MODEL, fed, C)
    run = train(begun, MODEL, fed, 9, clients=3, watch=stop)
    assert run.round == 2
    assert torch.equal(run.w, train(begun, MODEL, fed, 2, clients=3).w)
    assert train(run, MODEL, fed, 9, clients=3, watch=stop) is run


def test_growth_is_measured_on_clients_with_validation_data_that_have_not_diverged():
    def played(loss: list[float], size: list[int], diverged: list[bool]) -> Round:
        score = Score(torch.tensor(loss), torch.tensor(loss))
        B = torch.arange(len(loss))
        return Round(B, B, torch.tensor(size), score, score, torch.tensor(diverged))

    first = played([2.0, 2.0, 0.0], [1, 3, 0], [False] * 3)
    for loss, size, lost, found in (
        ([19.0, 19.0, 0.0], [1, 3, 0], [False] * 3, False),
        ([21.0, 21.0, 0.0], [1, 3, 0], [False] * 3, True),
        ([61.0, 11.0, 0.0], [1, 3, 0], [False] * 3, True),  # (61 + 3 * 11) / 4 = 23.5
        ([61.0, 1.0, 0.0], [1, 3, 0], [False] * 3, False),  # 16
        ([math.inf, 11.0, 0.0], [1, 3, 0], [True, False, False], False),
        ([math.inf, math.inf, math.inf], [1, 3, 0], [True] * 3, True),
        ([99.0, 99.0, 99.0], [0, 0, 0], [False] * 3, False),
    ):
        assert bool(divergence(first, played(loss, size, lost))) == found
    small = played([1e-6], [1], [False])  # below 10 nothing has exploded
    assert divergence(small, played([9.0], [1], [False])) is None


def test_a_global_model_that_is_not_finite_evaluates_to_infinity(fed):
    run = start(MODEL, fed)
    run = replace(run, server=run.server._replace(w=torch.full_like(run.w, torch.nan)))
    assert evaluate(run, MODEL, fed) == (float("inf"), float("inf"))


def test_more_clients_than_the_federation_has_are_refused(fed):
    with pytest.raises(ValueError, match="clients is 15; allowed: a whole number from 1 to 14"):
        communicate(start(MODEL, fed, C), MODEL, fed, clients=15)


def test_a_federation_without_test_data_cannot_be_evaluated(fed):
    empty = fed.test[[0] * 14]
    empty = replace(fed, test=replace(empty, rows=(torch.tensor([], dtype=torch.long),) * 14))
    with pytest.raises(ValueError, match="examples of all clients is 0; allowed: at least 1"):
        evaluate(start(MODEL, fed, C), MODEL, empty)


def test_fewer_than_no_rounds_are_refused(fed):
    with pytest.raises(ValueError, match="rounds is -1; allowed: a whole number of at least 0"):
        train(start(MODEL, fed, C), MODEL, fed, -1)


def test_personalising_takes_what_the_tuner_settles_on_or_what_it_is_given(fed):
    run = start(MODEL, fed, Noting())
    assert personalise(run, MODEL, fed) == personalise(run, MODEL, fed, run.tuner.table[0])
    still = personalise(run, MODEL, fed, run.tuner.table[1])  # lr = 0
    assert still == pytest.approx(evaluate(run, MODEL, fed))
    with pytest.raises(ValueError, match="c is '2 rows'; allowed: one setting, or 14 rows"):
        personalise(run, MODEL, fed, run.tuner.table)


def test_what_is_no_model_and_no_tuner_is_refused_by_name(fed):
    with pytest.raises(
        ValueError, match=r"model is 'Linear'; allowed: a Model: from_module\(net\)"
    ):
        start.__wrapped__(torch.nn.Linear(64, 10), fed)
    with pytest.raises(ValueError, match=r"tuner is 0.1; allowed: a LocalHP, or a tuner"):
        start.__wrapped__(MODEL, fed, 0.1)


def test_a_seed_below_0_is_refused(fed):
    with pytest.raises(ValueError, match="seed is -1; allowed: a whole number of at least 0"):
        start(MODEL, fed, seed=-1)


def test_a_class_is_no_method(fed):
    with pytest.raises(ValueError, match=r"method is <class .*Reptile'>; allowed: a method, such"):
        start(MODEL, fed, method=Reptile)


def test_a_table_of_several_rows_needs_a_tuner(fed):
    with pytest.raises(ValueError, match="table is '2 rows'; allowed: one configuration; a tuner"):
        start(MODEL, fed, LocalHP(lr=[0.1, 0.2]))
    with pytest.raises(ValueError, match="b is '3 rows'; allowed: one setting of the server"):
        start(MODEL, fed, b=ServerHP(lr=[0.1, 0.2, 1.0]))
    assert isinstance(Fixed(), Tuner)


def test_a_run_is_a_value_that_a_round_does_not_change(fed):
    run = start(MODEL, fed, C)
    w = run.w.clone()
    communicate(run, MODEL, fed, clients=2)
    assert torch.equal(run.w, w)
    assert run.history == ()
    assert isinstance(run, Run)


@dataclass(frozen=True)
class Asked:
    """A tuner with answers that are handed to it."""

    answer: object
    told: object = "itself"
    table: LocalHP = field(default_factory=lambda: LocalHP(lr=[0.1, 0.2]))

    @property
    def final(self) -> LocalHP:
        return self.table[0]

    def ask(self, who, gen):
        return self.answer

    def tell(self, result):
        return self if self.told == "itself" else self.told


@pytest.mark.parametrize(
    "answer",
    [[0, 1, 0], torch.zeros(3), torch.zeros(2).long(), torch.tensor([0, 2, 0]), None],
    ids=["list", "floats", "two", "row 2", "None"],
)
def test_rows_that_are_none_are_refused_with_the_tuners_name(answer, fed):
    told = r"Asked.ask is .*; allowed: a tensor of 3 whole numbers from 0 to 1"
    with pytest.raises(ValueError, match=told):
        communicate(start(MODEL, fed, Asked(answer)), MODEL, fed, 3)


def test_a_round_without_a_next_tuner_or_server_is_refused(fed):
    rows = torch.zeros(3).long()
    with pytest.raises(ValueError, match=r"Asked\.tell is None; allowed: the next tuner"):
        communicate(start(MODEL, fed, Asked(rows, None)), MODEL, fed, 3)

    class Pair(Reptile):
        def agg(self, server, update, b):
            return update.average, server.v

    with pytest.raises(ValueError, match=r"Pair\.agg is 'tuple'; allowed: a Server"):
        communicate(start(MODEL, fed, method=Pair()), MODEL, fed, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda w: w.expand(3, -1),
            r"shape of w is 'torch.Size\(\[3, \d+\]\)'; allowed: .*, as before",
        ),
        (torch.Tensor.half, "dtype of w is 'torch.float16'; allowed: torch.float64, as before"),
        (torch.Tensor.numpy, "w is 'ndarray'; allowed: a tensor"),
        (lambda w: None, "w is 'NoneType'; allowed: a tensor"),
    ],
)
def test_a_server_with_another_kind_of_model_is_refused_in_its_round(fed, change, message):
    class Own(Reptile):
        def agg(self, server, update, b):
            return server._replace(w=change(update.average))

    with pytest.raises(ValueError, match=rf"^Own\.agg: {message}"):
        communicate(start(MODEL, fed, method=Own()), MODEL, fed, 3)


@pytest.mark.parametrize("kind", [torch.Tensor.float, torch.clone, torch.Tensor.numpy, list])
def test_weights_of_any_kind_of_number_give_the_same_average(kind, fed):
    class Mine(Reptile):
        weights = staticmethod(kind)

    one, other = (
        communicate(start(MODEL, fed, C, method=m), MODEL, fed, 3) for m in (Mine(), None)
    )
    torch.testing.assert_close(one.w, other.w)

    class Below(Reptile):
        weights = staticmethod(lambda n: -n.double())

    with pytest.raises(ValueError, match=r"weights of Below is .*; allowed: at least 0"):
        communicate(start(MODEL, fed, C, method=Below()), MODEL, fed, 3)


def test_a_tuner_that_is_none_is_told_what_it_lacks(fed):
    class Half:
        table = final = LocalHP()

    with pytest.raises(ValueError, match="a tuner; this one lacks ask, tell"):
        start.__wrapped__(MODEL, fed, Half())


def test_a_method_and_a_tuner_in_each_others_place_are_told_their_own(fed):
    with pytest.raises(ValueError, match="a method goes to method="):
        start.__wrapped__(MODEL, fed, Reptile())
    with pytest.raises(ValueError, match="a tuner goes to tuner="):
        start.__wrapped__(MODEL, fed, method=FedEx(C))


def test_no_graph_of_a_method_of_ones_own_is_kept_from_round_to_round(fed):
    class Own(Scaffold):
        def loc(self, inputs):
            scale = torch.ones((), requires_grad=True)
            vectors = (v if v is None else scale * v for v in super().loc(inputs))
            return ClientUpdate(*vectors)

    run = communicate(start(MODEL, fed, C, method=Own()), MODEL, fed, 3)
    expected = communicate(start(MODEL, fed, C, method=Scaffold()), MODEL, fed, 3)
    torch.testing.assert_close(run.w, expected.w)
    assert not any(v.requires_grad for v in (*run.server, *run.states.values()))


OTHER = {
    "model": (lambda u: u._replace(model=u.model.double()),
              "Own.loc: dtype of model is 'torch.float64'; allowed: torch.float32, that of w"),
    "personal": (lambda u: u._replace(personal=u.personal.tolist()),
                 "Own.loc: personal is 'list'; allowed: a tensor"),
    "weight": (lambda u: u._replace(weight=u.model[:2, 0]), "Own.loc: shape of weight is (2,); "),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.usefixtures("unchecked")
def test_vectors_of_another_kind_from_a_method_of_ones_own_are_refused_by_name(name):
    change, message = OTHER[name]

    class Own(FedAvg):
        def loc(self, inputs):
            return change(super().loc(inputs))

    fed = digits(clients=14)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        communicate(start(MODEL, fed, method=Own()), MODEL, fed, 14)


@pytest.mark.usefixtures("unchecked")
def test_weights_of_a_method_of_ones_own_are_as_many_as_clients():
    class Own(FedAvg):
        weights = staticmethod(lambda n: n[:1])

    fed = digits(clients=14)
    with pytest.raises(
        ValueError, match=r"^lengths of the weights of Own is \[1\]; allowed: \[3\]"
    ):
        communicate(start(MODEL, fed, method=Own()), MODEL, fed, 3)


def _halve_w(inputs):
    inputs.w.mul_(0.5)


def _shift_x(inputs):
    inputs.clients.x.add_(1)


@pytest.mark.parametrize("write", [_halve_w, _shift_x])
def test_a_method_of_ones_own_that_writes_into_what_loc_is_given_is_refused_by_name(write):
    class Own(FedAvg):
        def loc(self, inputs):
            write(inputs)
            return super().loc(inputs)

    fed, name = digits(clients=14), write.__name__[-1]
    with pytest.raises(ValueError, match=rf"^{name} after Own.loc is 'changed'; .*{name}.clone"):
        communicate(start(MODEL, fed, method=Own()), MODEL, fed, 3)


def test_a_method_of_ones_own_whose_agg_writes_into_w_is_refused(fed):
    class Own(FedAvg):
        def agg(self, server, update, b):
            return server._replace(w=server.w.copy_(update.average))

    with pytest.raises(ValueError, match=r"^w after Own.agg is 'changed'"):
        communicate(start(MODEL, fed, method=Own()), MODEL, fed, 3)


def test_a_method_of_ones_own_may_write_into_copies_and_what_a_round_makes(fed):
    class Own(FedAvg):
        needs_models = True

        def loc(self, inputs):
            inputs.w.clone().zero_()
            return super().loc(inputs)

        def agg(self, server, update, b):
            update.models.zero_()
            return super().agg(server, update._replace(average=update.average.mul_(1.0)), b)

    run = communicate(start(MODEL, fed, C, method=Own()), MODEL, fed, 3)
    torch.testing.assert_close(run.w, communicate(start(MODEL, fed, C), MODEL, fed, 3).w)


def test_a_tuner_of_ones_own_may_write_into_what_it_is_given(fed):
    class Own(Fixed):
        def ask(self, who, gen):
            return who.zero_()

        def tell(self, result):
            for tensor in (result.client, result.row, *result.before, *result.after):
                tensor.fill_(7)
            return self

    run = communicate(start(MODEL, fed, Own(C)), MODEL, fed, 3)
    other = communicate(start(MODEL, fed, C), MODEL, fed, 3)
    assert torch.equal(run.w, other.w)
    for name in ("client", "row", "before", "after"):
        torch.testing.assert_close(getattr(run.history[0], name), getattr(other.history[0], name))
