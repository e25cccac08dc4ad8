"""FedTune: against vectors, autograd, enumeration, and Algorithm 1 as a plain loop."""

import pickle
from dataclasses import dataclass, replace
from math import exp, inf, isnan, log, log1p, nan
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from benchmarks.searches import fedtune_search, ten_clients
from fedlab_edu import (
    Clients,
    FedAvg,
    Federation,
    LocalHP,
    Model,
    Reptile,
    Scaffold,
    digits,
    lenet5,
    linear,
    mlp,
    start,
    train,
    tune,
)
from fedlab_edu.methods import ClientInput, ClientUpdate
from fedlab_edu.models.model import cross_entropy
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.space import FEDTUNE
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.tuners.fedtune import FedTune, FedTuneRound, fedtune
from fedlab_edu.tuners.fedtune.credit import credit, leave_one_out, score_function, update
from fedlab_edu.tuners.fedtune.rules import project, step_raw
from fedlab_edu.tuners.fedtune.theory import concrete, concrete_jacobian, expected
from tests.fuzz import fuzz
from tests.reference import plain_loop
from tests.test_race import counting
from tests.vectors import case

F64 = torch.float64
ROUNDS = ("sq-2clients", "ce-3clients", "lin-2clients", "wrong-way-sq")
MODEL = linear(64, 10)
TWO = LocalHP(lr=[0.5, 0.02], batch=16)


@pytest.fixture(scope="module")
def fed():
    """Three clients, so that with two candidates joint configurations come again."""
    whole = digits(clients=14).to("cpu", F64)
    parts = (part[[0, 1, 2]] for part in (whole.train, whole.val, whole.test))
    return Federation(*parts, ("a", "b", "c"), 10)


def real(values: Any) -> Tensor:
    return torch.tensor(values, dtype=F64)


def told(name: str) -> tuple[dict[str, Any], dict[str, Any], Tensor, Tensor]:
    """A case of the vectors, the outputs of the models of the rows drawn, and the shares."""
    seen, wanted = case("fedtune", name)
    drawn = real([rows[z] for rows, z in zip(seen["outputs"], seen["Z"], strict=True)])
    return seen, wanted, drawn, real(seen["D"]) / sum(seen["D"])


def near(wanted: Any) -> Any:
    wanted = wanted if isinstance(wanted, float) else np.array(wanted)
    return pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_of_the_vectors_gives_loss_credit_and_both_updates(name):
    seen, wanted, drawn, q = told(name)
    assert q.numpy() == near(wanted["q"])
    loss, d = credit(drawn, q, seen["y"], seen["kind"])
    assert loss == near(wanted["loss"])
    assert d.numpy() == near(wanted["d_one"])
    a, z = seen["logits"], seen["Z"]
    assert score_function(a, z).numpy() == near(wanted["score"])
    assert update(a, z, d, seen["lr"]).numpy() == near(wanted["new_logits"])
    uniform = torch.full_like(real(a), 1 / len(a[0]))
    raw = update(uniform, z, d, seen["lr"], step_raw)
    assert raw.numpy() == near(wanted["raw_pi_update_from_uniform"])


@pytest.mark.parametrize("name", ROUNDS)
def test_over_all_draws_of_the_vectors_both_directions_are_those_expected(name):
    seen, wanted, _, q = told(name)
    means = expected(seen["logits"], seen["outputs"], q, seen["y"], seen["kind"])
    assert means.loss == near(wanted["E_loss"])
    assert means.paper.numpy() == near(wanted["paper_direction"])
    assert means.exact.numpy() == near(wanted["exact_gradient"])


@pytest.mark.parametrize("name", ["concrete", "concrete-hot"])
def test_relaxed_draws_and_their_jacobians_are_those_of_the_vectors_and_of_autograd(name):
    seen, wanted = case("fedtune", name)
    pi, gumbel, temperature = real(seen["pi"]), real(seen["gumbel"]), seen["lam"]
    Z, J = concrete(pi, gumbel, temperature), concrete_jacobian(pi, gumbel, temperature)
    assert Z.numpy() == near(wanted["Z"])
    assert J.numpy() == near(wanted["jacobian"])
    assert int(Z.argmax()) == wanted["argmax"]

    def softmax(p: Tensor) -> Tensor:
        heights = ((p.log() + gumbel) / temperature).exp()
        return heights / heights.sum()

    by_autograd = torch.autograd.functional.jacobian(softmax, pi)
    torch.testing.assert_close(J, by_autograd, rtol=1e-6, atol=1e-9)


def test_cold_relaxed_draws_are_draws_from_pi():
    pi, gen, counts = real([0.2, 0.5, 0.3]), generator(0), torch.zeros(3)
    for _ in range(2000):
        gumbel = -(-torch.rand(3, generator=gen, dtype=F64).log()).log()
        Z = concrete(pi, gumbel, 1e-3)
        counts += Z > 0.5
    assert counts.sum() > 1990  # at any temperature above 0 some draws are between two rows
    assert float(((counts - 2000 * pi) ** 2 / (2000 * pi)).sum()) < 13.8  # 0.999 of chi-square


def ensemble_loss(outputs: Tensor, q: Tensor, y: Tensor, ones: Tensor, loss: str) -> Tensor:
    """Return the loss of Algorithm 1, line 15, for autograd and for finite differences."""
    voted = sum(q[i] * outputs[i] * ones[i] for i in range(len(q)))
    if loss == "cross_entropy":
        return F.cross_entropy(voted, y)
    target = y.reshape(voted.shape)
    if loss == "linear":
        return (voted * target).sum(1).mean()
    return 0.5 * ((voted - target) ** 2).sum(1).mean()


def drawn_outputs(model: Model, *shape: int) -> Tensor:
    """Return the outputs of three plain networks for the same points."""
    x = torch.randn(20, *shape, generator=generator(1), dtype=F64)
    with torch.no_grad():
        said = [model.unflatten(3 * model.init(seed).double())(x) for seed in range(3)]
    return torch.stack(said)


@pytest.mark.parametrize(
    ("model", "shape"), [(mlp(12, 8, 4), (12,)), (lenet5(28, 1, 4), (1, 28, 28))]
)
@pytest.mark.parametrize("loss", ["cross_entropy", "half_squared", "linear"])
def test_the_closed_form_is_autograds_and_finite_differences_of_the_dummy_ones(model, shape, loss):
    outputs, q = drawn_outputs(model, *shape), real([0.5, 0.2, 0.3])
    y: Tensor = torch.arange(20) % 4
    if loss != "cross_entropy":
        y = torch.randn(20, 4, generator=generator(2), dtype=F64)
    seen, d = credit(outputs, q, y, loss)
    ones = torch.ones(3, dtype=F64, requires_grad=True)
    value = ensemble_loss(outputs, q, y, ones, loss)
    (by_autograd,) = torch.autograd.grad(value, ones)
    assert seen == pytest.approx(float(value.detach()), rel=1e-12)
    torch.testing.assert_close(d, by_autograd, rtol=1e-10, atol=1e-12)
    for i in range(3):
        step = 1e-5 * torch.eye(3, dtype=F64)[i]
        up, down = (ensemble_loss(outputs, q, y, 1 + s, loss) for s in (step, -step))
        assert float(d[i]) == pytest.approx(float(up - down) / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("loss", ["cross_entropy", "half_squared", "linear"])
def test_a_loss_that_is_a_function_gives_what_its_name_gives(loss):
    outputs, q = drawn_outputs(mlp(12, 8, 4), 12), real([0.5, 0.2, 0.3])
    y: Tensor = torch.arange(20) % 4
    functions = {
        "cross_entropy": cross_entropy,
        "half_squared": lambda F, y: ((F - y) ** 2).sum(1) / 2,
        "linear": lambda F, y: (F * y).sum(1),
    }
    if loss != "cross_entropy":
        y = torch.randn(20, 4, generator=generator(2), dtype=F64)
    named, own = (credit(outputs, q, y, one) for one in (loss, functions[loss]))
    assert named[0] == pytest.approx(own[0], rel=1e-12)
    torch.testing.assert_close(named[1], own[1], rtol=1e-10, atol=1e-12)


def test_leaving_a_client_out_costs_what_the_loss_without_its_outputs_says():
    outputs, q = drawn_outputs(mlp(12, 8, 4), 12), torch.tensor([0.5, 0.3, 0.2], dtype=F64)
    y = torch.arange(20) % 4
    d = leave_one_out(outputs, q, y, "cross_entropy")
    whole = float(ensemble_loss(outputs, q, y, torch.ones(3), "cross_entropy"))
    for i in range(3):
        ones = torch.ones(3, dtype=F64)
        ones[i] = 0
        wanted = whole - float(ensemble_loss(outputs, q, y, ones, "cross_entropy"))
        assert float(d[i]) == pytest.approx(wanted)
    small = leave_one_out(1e-4 * outputs, q, y, "cross_entropy")
    slopes = credit(1e-4 * outputs, q, y, "cross_entropy")[1]
    assert torch.allclose(small, slopes, rtol=1e-2)  # a small change: the credit is its slope
    outputs[1] = nan
    assert leave_one_out(outputs, q, y, "cross_entropy").isinf().tolist() == [False, True, False]


def test_the_credit_prefers_the_worse_of_two_models_and_leads_there():
    """y = 1, outputs 0.5 and 1: losses 1/8 and 0, but (F - y) F is -1/4 and 0."""
    outputs, y = real([[[[0.5]], [[1.0]]]]), real([[1.0]])
    losses, ds = zip(*(credit(outputs[:, h], [1], y, "half_squared") for h in (0, 1)), strict=True)
    assert losses == (0.125, 0.0)
    assert [float(d) for d in ds] == [-0.25, 0.0]
    first = expected([[0.0, 0.0]], outputs, [1], y, "half_squared")
    assert first.paper.tolist() == [[-0.0625, 0.0625]]
    assert first.exact.tolist() == [[0.03125, -0.03125]]
    ends = []
    for way in ("paper", "exact"):
        a = torch.zeros(1, 2, dtype=F64)
        for _ in range(300):
            a = a - getattr(expected(a, outputs, [1], y, "half_squared"), way)
        ends.append(int(a.argmax()))
    assert ends == [0, 1]  # the worse, the better


def test_a_confident_model_has_less_credit_than_one_that_hesitates():
    """Margins 5 and 1.28 between two classes: z / (1 + e^z) of the loss ln(1 + e^-z)."""
    losses, credits = [], []
    for z in (5.0, 1.28):
        loss, d = credit(real([[[z, 0.0]]]), [1], [0], "cross_entropy")
        assert loss == pytest.approx(log1p(exp(-z)), rel=1e-12)
        assert float(d) == pytest.approx(-z / (1 + exp(z)), rel=1e-12)
        losses.append(loss)
        credits.append(-float(d))
    assert losses[0] < 0.03 * losses[1]
    assert credits[0] < 0.13 * credits[1]


@pytest.mark.parametrize("loss", ["cross_entropy", "half_squared", "linear"])
def test_the_exact_direction_is_the_gradient_and_the_papers_is_it_for_linear_losses_alone(loss):
    gen = generator(4)
    outputs = torch.randn(3, 2, 5, 4, generator=gen, dtype=F64)  # 3 clients, 2 rows, 5 points
    a, q = torch.randn(3, 2, generator=gen, dtype=F64), real([0.2, 0.3, 0.5])
    y: Tensor = torch.arange(5) % 4
    if loss != "cross_entropy":
        y = torch.randn(5, 4, generator=gen, dtype=F64)

    def mean_loss(a: Tensor) -> Tensor:
        pi, ones, total = a.softmax(1), torch.ones(3), torch.zeros((), dtype=F64)
        for i in (0, 1):
            for j in (0, 1):
                for k in (0, 1):
                    said = torch.stack([outputs[0, i], outputs[1, j], outputs[2, k]])
                    p = pi[0, i] * pi[1, j] * pi[2, k]
                    total = total + p * ensemble_loss(said, q, y, ones, loss)
        return total

    means = expected(a, outputs, q, y, loss)
    assert means.loss == pytest.approx(float(mean_loss(a)), rel=1e-12)
    gradient = torch.autograd.functional.jacobian(mean_loss, a)
    torch.testing.assert_close(means.exact, gradient, rtol=1e-9, atol=1e-12)
    apart = float((means.paper - gradient).abs().max())
    assert (apart < 1e-12) == (loss == "linear")


def test_the_raw_step_is_that_of_autograd_may_leave_the_simplex_and_is_projected():
    pi = real([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]).requires_grad_()
    z, d, lr = [1, 0], real([0.4, -0.9]), 0.5
    logs = sum((pi[i, k] / pi[i].sum()).log() * d[i] for i, k in enumerate(z))
    (g,) = torch.autograd.grad(logs, pi)
    moved = update(pi.detach(), z, d, lr, step_raw)
    torch.testing.assert_close(moved, pi.detach() - lr * g, rtol=1e-12, atol=1e-12)
    assert (moved < 0).any()
    clipped = [[max(p, 1e-6) for p in row] for row in moved.tolist()]
    wanted = [[p / sum(row) for p in row] for row in clipped]
    assert np.array([project(row) for row in moved.tolist()]) == near(wanted)


def a_plain_loop(
    fed: Federation, table: LocalHP, rounds: int, *, lr: float, seed: int, room: int,
    credit: str, credit_baseline: str | None, buffer: str, param: str, equal: bool,
) -> dict[str, Any]:  # fmt: skip
    """Algorithm 1 with plain networks, one client after the other; the derivative is autograd's."""
    N, H, raw = len(fed), len(table), param == "raw"
    a = np.full((N, H), 1 / H) if raw else np.zeros((N, H))
    w0 = MODEL.init(seed_for(seed)).double()
    models: list[tuple[tuple[int, ...], Tensor]] = []  # the latest last
    n = np.ones(N) if equal else fed.train.n.numpy()
    q, history, past = n / n.sum(), [], [[] for _ in range(N)]
    pairs = [fed.val.examples(i) for i in range(N)]
    x, y = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    for t in range(rounds):
        pi = a if raw else np.exp(a) / np.exp(a).sum(1, keepdims=True)
        u = torch.rand(N, generator=generator(seed, t), dtype=F64).tolist()
        z = [int(np.searchsorted(np.cumsum(pi[i]), u[i], side="right")) for i in range(N)]
        key = tuple(z) if buffer == "joint" else ()
        w = next((model for h, model in models if h == key), w0)
        W = plain_loop(MODEL, w, fed.train, table[z], [seed_for(seed, t, i) for i in range(N)])
        models = [(h, model) for h, model in models if h != key]
        models = [*models, (key, sum(q[i] * W[i] for i in range(N)))][-room:]
        ones = torch.ones(N, dtype=F64, requires_grad=True)
        voted = sum(float(q[i]) * ones[i] * MODEL.unflatten(W[i])(x) for i in range(N))
        loss = F.cross_entropy(voted, y)
        (g,) = torch.autograd.grad(loss, ones)
        d = [float(loss.detach())] * N if credit == "reinforce" else g.tolist()
        if credit == "leave_one_out":
            logits = [float(q[i]) * MODEL.unflatten(W[i])(x).detach() for i in range(N)]
            whole = sum(logits)
            d = [float(loss.detach() - F.cross_entropy(whole - one, y)) for one in logits]
        history.append((tuple(z), float(loss.detach()), [-one for one in d]))
        for i in range(N):
            step = d[i]
            if credit_baseline or credit == "reinforce":
                step = d[i] - sum(past[i]) / len(past[i]) if past[i] else 0.0
            past[i].append(d[i])
            for h in range(H):
                hit = float(h == z[i])
                a[i, h] -= lr * step * (hit / pi[i, h] - 1 if raw else hit - pi[i, h])
            if raw:
                a[i] = np.maximum(a[i], 1e-6) / np.maximum(a[i], 1e-6).sum()
    pi = a if raw else np.exp(a) / np.exp(a).sum(1, keepdims=True)
    return {"pi": pi, "history": history, "models": models}


PLAIN = {
    "credit": "dummy_one", "credit_baseline": None, "buffer": "joint", "param": "logits"
}  # fmt: skip


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"credit": "reinforce"},
        {"credit": "leave_one_out", "buffer": "shared"},
        {"credit_baseline": "running_mean"},
        {"buffer": "shared"},
        {"param": "raw", "lr": 0.2},
        {"room": 2},
        {"method": Reptile()},
        {"credit": "reinforce", "param": "raw", "buffer": "shared", "lr": 0.2},
    ],
    ids=str,
)
def test_a_search_gives_the_numbers_of_algorithm_1_as_a_plain_loop(how, fed):
    how = {"lr": 2.0, "room": 99, "method": FedAvg(), **PLAIN, **how}
    search = compared(fed, TWO, 8, 3, **how)
    assert (search.pi - 0.5).abs().max() > 0.02  # it has moved
    if how["buffer"] == "joint":  # or the buffer would not have been tried
        assert len({played.z for played in search.history}) < 8


@fuzz(3, 500)
@given(
    st.integers(0, 2**40), st.lists(st.floats(0.01, 0.3), min_size=1, max_size=4),
    st.integers(2, 4), st.integers(1, 5), st.floats(0, 5), st.sampled_from([1, 2, 99]),
    st.sampled_from(["dummy_one", "leave_one_out", "reinforce"]),
    st.sampled_from([None, "running_mean"]), st.sampled_from(["joint", "shared"]),
    st.sampled_from(["logits", "raw"]), st.sampled_from([FedAvg(), Reptile()]),
)  # fmt: skip
def test_any_search_gives_the_numbers_of_algorithm_1_as_a_plain_loop(
    seed: int, rates: list[float], clients: int, rounds: int, lr: float, room: int, credit: Any,
    credit_baseline: Any, buffer: Any, param: Any, method: Any,
) -> None:  # fmt: skip
    fed = digits(clients=42).to("cpu", F64)[torch.arange(clients) * 3]
    compared(
        fed, LocalHP(lr=rates, batch=16), rounds, seed, lr=lr / 10 if param == "raw" else lr,
        room=room, credit=credit, credit_baseline=credit_baseline, buffer=buffer, param=param,
        method=method,
    )  # fmt: skip


def compared(
    fed: Federation, table: LocalHP, rounds: int, seed: int, *, room: int, method: Any, **how: Any
) -> FedTune:
    """Return a search that was found to be equal to the plain loop."""
    cap = room * MODEL.d * 8 + 7
    search = fedtune(MODEL, fed, table, rounds, seed=seed, method=method, cap=cap, **how)
    while not search.done:
        search = search.step(MODEL, fed)
    wanted = a_plain_loop(
        fed, table, rounds, seed=seed, room=room, equal=method == Reptile(), **how
    )
    for played, (z, loss, credits) in zip(search.history, wanted["history"], strict=True):
        assert played.z == z
        assert played.loss == pytest.approx(loss, rel=1e-9)
        assert played.credit == pytest.approx(credits, rel=1e-7, abs=1e-10)
    assert search.pi.numpy() == pytest.approx(wanted["pi"], abs=1e-8)
    assert [*search.models] == [key for key, _ in wanted["models"]]
    for (_, model), seen in zip(wanted["models"], search.models.values(), strict=True):
        torch.testing.assert_close(seen, model, rtol=0, atol=1e-10)
    return search


def test_with_one_configuration_it_is_federated_averaging_and_nothing_else_moves(fed):
    c = LocalHP(lr=0.3, batch=16)
    plain = train(start(MODEL, fed, c, seed=5), MODEL, fed, 4, clients=3)
    for how in ({}, {"param": "raw"}, {"credit": "reinforce"}, {"credit_baseline": "running_mean"}):
        done = tune(fedtune(MODEL, fed, c, 4, seed=5, **how), MODEL, fed)
        assert done.pi.tolist() == [[1.0]] * 3
        assert done.entropy.tolist() == [0.0] * 3
        ((h, w),) = done.models.items()
        assert h == (0, 0, 0)
        torch.testing.assert_close(w, plain.w, rtol=0, atol=1e-12)


def test_the_buffer_is_never_above_its_cap_and_one_model_is_enough(fed):
    one = MODEL.d * 8
    for cap, most in ((one, 1), (3 * one - 1, 2)):
        search, sizes = fedtune(MODEL, fed, TWO, 6, cap=cap), []
        while not search.done:
            search = search.step(MODEL, fed)
            sizes.append(sum(w.nbytes for w in search.models.values()))
            assert [*search.models][-1] == search.history[-1].z
        assert max(sizes) == most * one <= cap
    with pytest.raises(ValueError, match=f"cap is {one - 1}; allowed: .* of at least {one}"):
        fedtune(MODEL, fed, TWO, 6, cap=one - 1)


def same(one: FedTune, other: FedTune) -> None:
    assert one.history == other.history
    assert torch.equal(one.logits, other.logits)
    assert [*one.models] == [*other.models]
    assert all(torch.equal(w, other.models[h]) for h, w in one.models.items())


@pytest.mark.parametrize("how", [{}, {"credit": "reinforce", "buffer": "shared", "param": "raw"}])
def test_a_search_that_was_pickled_half_way_ends_as_one_that_was_not(how, fed):
    search = fedtune(MODEL, fed, TWO, 6, seed=1, **how)
    whole = tune(search, MODEL, fed)
    for _ in range(3):
        search = search.step(MODEL, fed)
    same(tune(pickle.loads(pickle.dumps(search)), MODEL, fed), whole)
    other = tune(fedtune(MODEL, fed, TWO, 6, seed=2, **how), MODEL, fed)
    assert other.history != whole.history


def test_a_search_that_was_stopped_goes_on_from_its_file(fed, tmp_path, monkeypatch):
    begun = fedtune(MODEL, fed, TWO, 6, cap=2 * MODEL.d * 8)
    whole = tune(begun, MODEL, fed)
    played, step = [], FedTune.step

    def three_times(self: FedTune, *given: Any) -> FedTune:
        played.append(self.used)
        if len(played) > 3:
            raise KeyboardInterrupt
        return step(self, *given)

    monkeypatch.setattr(FedTune, "step", three_times)
    with pytest.raises(KeyboardInterrupt):
        tune(begun, MODEL, fed, path=tmp_path / "search")
    monkeypatch.setattr(FedTune, "step", lambda self, *given: played.append(self.used) or step(
        self, *given))  # fmt: skip
    same(tune(begun, MODEL, fed, path=tmp_path / "search"), whole)
    assert played == [0, 1, 2, 3, 3, 4, 5]
    with pytest.raises(ValueError, match="the file of this search; that search has another lr"):
        tune(replace(begun, lr=9.0), MODEL, fed, path=tmp_path / "search")


def test_the_rounds_spent_are_those_announced_and_no_test_data_are_touched(fed):
    watched = counting(fed)
    search = fedtune(MODEL, watched, TWO, 3)
    assert isnan(search.best_score)
    for used in (1, 2, 3):
        search = search.step(MODEL, watched)
        assert search.used == used
    assert watched.asked == [3, 3, 3]  # all clients, each time
    assert search.done
    assert search.best_score == min(played.loss for played in search.history)
    with pytest.raises(ValueError, match="search is 'over'; allowed: one with rounds left"):
        search.step(MODEL, watched)


def test_the_final_run_trains_from_the_first_model_with_each_clients_likeliest_row(fed):
    search = tune(fedtune(MODEL, fed, TWO, 3, seed=7), MODEL, fed)
    search = replace(search, logits=real([[0.0, 1.0], [2.0, 2.0], [-1.0, -3.0]]))
    assert search.final.tolist() == [1, 0, 0]  # of equal ones the first
    run = search.final_run()
    assert torch.equal(run.w, MODEL.init(seed_for(7)).double())
    alone = start(MODEL, fed, Fixed(TWO, torch.tensor([1, 0, 0])), seed=7)
    seen, wanted = (train(one, MODEL, fed, 3, clients=3) for one in (run, alone))
    assert torch.equal(seen.w, wanted.w)
    rates = seen.tuner.final.lr
    assert rates.tolist() == [0.02, 0.5, 0.5]


def test_distributions_begin_uniform_and_entropy_is_that_of_the_definition(fed):
    table = FEDTUNE.client.grid()
    search = fedtune(MODEL, fed, table, 3)
    assert search.pi.numpy() == pytest.approx(np.full((3, 30), 1 / 30))
    assert search.entropy.tolist() == pytest.approx([log(30)] * 3)
    moved = replace(search, table=TWO, logits=real([[log(3), 0.0], [0.0, -inf], [0.0, 0.0]]))
    quarter = -0.75 * log(0.75) - 0.25 * log(0.25)
    assert moved.entropy.tolist() == pytest.approx([quarter, 0.0, log(2)])


def test_rows_that_one_client_draws_follow_its_distribution(fed):
    table = LocalHP(lr=[0.0, 0.0, 0.0], batch=512)
    search = fedtune(MODEL, fed, table, 120, lr=0.0)
    pi = real([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.0, 0.0, 1.0]])
    search = tune(replace(search, logits=pi.log()), MODEL, fed)
    drawn = torch.tensor([played.z for played in search.history])
    for i in (0, 1):
        counts = torch.bincount(drawn[:, i], minlength=3)
        assert float(((counts - 120 * pi[i]) ** 2 / (120 * pi[i])).sum()) < 13.8  # 0.999, 2 degrees
    assert (drawn[:, 2] == 2).all()
    both = torch.bincount(2 * (drawn[:, 0] == 1) + (drawn[:, 1] == 0), minlength=4)
    independent = 120 * real([0.5 * 0.4, 0.5 * 0.6, 0.5 * 0.4, 0.5 * 0.6])
    assert float(((both - independent) ** 2 / independent).sum()) < 16.3  # 0.999, 3 degrees


BAD = [inf, -inf, nan, 1e200]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("loss", ["cross_entropy", "half_squared"])
def test_a_client_that_has_diverged_is_left_out_of_the_ensemble(bad, loss):
    outputs, q = drawn_outputs(mlp(12, 8, 4), 12), real([0.5, 0.2, 0.3])
    y: Tensor = torch.arange(20) % 4
    if loss != "cross_entropy":
        y = torch.randn(20, 4, generator=generator(2), dtype=F64)
    broken = outputs.clone()
    broken[1, 7, 2] = bad
    seen, d = credit(broken, q, y, loss)
    without = credit(outputs[[0, 2]], [0.625, 0.375], y, loss)
    assert seen == pytest.approx(without[0], rel=1e-12)
    assert d[1] == inf
    assert d[[0, 2]].numpy() == near(without[1].tolist())
    all_lost = credit(torch.full_like(outputs, bad), q, y, loss)
    assert all_lost[0] == inf
    assert all_lost[1].tolist() == [inf] * 3


@fuzz(60)
@given(
    seed=st.integers(0, 10**6),
    bad=st.sampled_from(BAD),
    param=st.sampled_from(["logits", "raw"]),
    rows=st.integers(1, 4),
)
def test_what_has_diverged_never_gains_and_distributions_stay_distributions(seed, bad, param, rows):
    gen = generator(seed)
    a = 5 * torch.randn(2, rows, generator=gen, dtype=F64)
    for _ in range(6):
        pi = a.softmax(1)
        z = pi.multinomial(1, generator=gen)[:, 0]
        outputs = torch.randn(2, 3, 2, generator=gen, dtype=F64)
        outputs[0, 1, 0] = bad
        _, d = credit(outputs, [0.5, 0.5], [0, 1, 1], "cross_entropy")
        before = pi[0, z[0]].clone()
        if param == "logits":
            a = update(a, z, d, 10.0)
        else:
            a = update(pi, z, d, 10.0, lambda *one: project(step_raw(*one))).log()
        pi = a.softmax(1)
        assert not pi.isnan().any()
        assert pi.sum(1).tolist() == pytest.approx([1, 1])
        assert pi[0, z[0]] <= before * (1 + 1e-12)


OPTIONS = [
    {}, {"credit": "reinforce"}, {"credit_baseline": "running_mean"}, {"buffer": "shared"},
    {"param": "raw", "lr": 0.1},
]  # fmt: skip


@pytest.mark.parametrize("how", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_row_that_diverges_is_found_out_and_no_client_ends_with_it(how, dtype, fed):
    table, mine = LocalHP(lr=[1e300, 0.1, 0.05], batch=64), fed.to("cpu", dtype)
    search = fedtune(MODEL, mine, table, 12, seed=1, **how)
    first = torch.full((3,), 1 / 3, dtype=F64)
    while not search.done:
        before, search = search, search.step(MODEL, mine)
        played = search.history[-1]
        assert all(
            (c == -inf) == (row == 0) for c, row in zip(played.credit, played.z, strict=True)
        )
        bad = torch.tensor(played.z) == 0
        assert (search.pi[bad, 0] < before.pi[bad, 0]).all()
        if how.get("param") != "raw":
            assert (search.pi[bad, 0] == 0).all()
        assert torch.isfinite(search.pi).all()
        assert all(w.isfinite().all() for w in search.models.values())
    assert 0 in search.history[0].z  # before there was any baseline
    assert (search.pi[:, 0] < first).all()
    assert (search.final > 0).all()
    assert search.best_score < inf


@pytest.mark.parametrize("how", OPTIONS, ids=str)
def test_where_everything_diverges_the_first_model_stays_and_nothing_crashes(how, fed):
    search = fedtune(MODEL, fed, LocalHP(lr=[1e300, 1e301]), 6, **how)
    with pytest.warns(UserWarning, match="no arm has a finite score"):
        search = tune(search, MODEL, fed)
    assert all(torch.equal(w, search.w0) for w in search.models.values())
    assert {played.loss for played in search.history} == {inf}
    assert search.pi.sum(1).tolist() == pytest.approx([1.0] * 3)
    assert (search.pi >= 0).all()


@dataclass(frozen=True)
class Garbled(FedAvg):
    """A method whose first client of a round sends NaN, though its personal model is finite."""

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        update = super().loc(inputs)
        model = update.model.clone()
        model[0, 0] = nan
        return update._replace(model=model)


def test_a_client_that_is_no_part_of_the_average_is_none_of_the_ensemble(fed):
    search = fedtune(MODEL, fed, TWO, 1, method=Garbled()).step(MODEL, fed)
    (played,) = search.history
    (lost,) = (i for i, c in enumerate(played.credit) if c == -inf)
    sound = [i for i in range(3) if i != lost]
    seeds = [seed_for(0, 0, i) for i in range(3)]
    W = plain_loop(MODEL, search.w0, fed.train, TWO[list(played.z)], seeds)[sound]
    p = fed.train.n[sound] / fed.train.n[sound].sum()
    torch.testing.assert_close(search.models[played.z], p.double() @ W, rtol=1e-6, atol=1e-8)
    pairs = [fed.val.examples(i) for i in range(3)]
    x, y = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    with torch.no_grad():
        voted = sum(float(p[i]) * MODEL.unflatten(W[i])(x) for i in range(2))
    assert played.loss == pytest.approx(float(F.cross_entropy(voted, y)), rel=1e-5)
    assert search.pi[lost, played.z[lost]] == 0


def test_a_round_in_which_it_diverged_is_no_part_of_a_clients_baseline(fed):
    search = fedtune(MODEL, fed, TWO, 9)
    assert search.baseline.isnan().all()
    rounds = (
        FedTuneRound((0, 0, 0), 1.0, (0.5, -inf, -inf)),
        FedTuneRound((0, 1, 0), 1.0, (0.1, 0.4, -inf)),
    )
    baseline = replace(search, history=rounds).baseline
    assert baseline[:2].tolist() == pytest.approx([-0.3, -0.4])
    assert isnan(baseline[2])


def test_a_model_with_a_loss_of_its_own_is_searched_with_that_loss(fed):
    """Twice the cross entropy at half the rates is the same training, with twice the credit."""
    own = replace(MODEL, loss=lambda outputs, y: 2 * cross_entropy(outputs, y))
    usual = tune(fedtune(MODEL, fed, TWO, 4, lr=2.0), MODEL, fed)
    twice = tune(fedtune(own, fed, replace(TWO, lr=TWO.lr / 2), 4, lr=1.0), own, fed)
    for one, other in zip(usual.history, twice.history, strict=True):
        assert other.z == one.z
        assert other.loss == pytest.approx(2 * one.loss, rel=1e-9)
        assert np.array(other.credit) / 2 == pytest.approx(np.array(one.credit), rel=1e-9)
    torch.testing.assert_close(twice.logits, usual.logits, rtol=1e-9, atol=1e-12)


def test_clients_without_validation_examples_are_tried_on_those_of_the_others(fed):
    val = fed.val
    alone = replace(fed, val=Clients(val.x, val.y, (val.rows[0], *2 * [val.rows[0][:0]])))
    search = fedtune(MODEL, alone, TWO, 1, seed=3).step(MODEL, alone)
    (played,) = search.history
    seeds = [seed_for(3, 0, i) for i in range(3)]
    W = plain_loop(MODEL, search.w0, fed.train, TWO[list(played.z)], seeds)
    x, y = val.examples(0)
    q = fed.train.n / fed.train.n.sum()
    with torch.no_grad():
        voted = sum(float(q[i]) * MODEL.unflatten(W[i])(x) for i in range(3))
    assert played.loss == pytest.approx(float(F.cross_entropy(voted, y)), rel=1e-5)
    assert all(c != 0 for c in played.credit)


def made(**options: Any) -> None:
    """Past the type checker, which only the tests have."""
    given = TWO, torch.zeros(5), torch.zeros(3, 2), 9
    FedTune.__init__.__wrapped__(object.__new__(FedTune), *given, **options)


def spoilt(fed: Federation) -> Federation:
    """One number of the second client's validation data is none."""
    x = fed.val.x.clone()
    x[fed.val.rows[1][0]].flatten()[3] = nan
    return replace(fed, val=Clients(x, fed.val.y, fed.val.rows))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda fed: fedtune(MODEL, fed, TWO, 0), "total is 0; allowed: a whole number of at"),
        (lambda fed: fedtune(MODEL, fed, TWO, 9, lr=-1), "lr is -1; allowed: a finite number"),
        (lambda fed: made(credit="loss"), "credit is 'loss'; allowed: "),
        (lambda fed: made(credit_baseline="mean"), "baseline is 'mean'"),
        (lambda fed: made(buffer="none"), "buffer is 'none'; allowed: "),
        (lambda fed: made(param="theta"), "param is 'theta'; allowed: "),
        (lambda fed: fedtune(MODEL, fed, TWO, 9, method=Scaffold()), "Scaffold.*stateless clients"),
        (lambda fed: fedtune.__wrapped__(MODEL, fed, [0.1], 9), r"table is \[0.1\]; allowed"),
        (lambda fed: replace(fedtune(MODEL, fed, TWO, 9), logits=torch.zeros(3, 3, dtype=F64)),
         r"shape of logits is \(3, 3\); allowed: \(N, 2\)"),
        (lambda fed: fedtune(MODEL, fed, TWO, 9).step(MODEL, digits(clients=14)),
         "clients of the federation is 14; allowed: 3, those of the search"),
        (lambda fed: fedtune(MODEL, fed, TWO, 9).step(MODEL, replace(fed, val=Clients(
            fed.val.x, fed.val.y, (torch.arange(0),) * 3))), "validation examples is 0"),
        (lambda fed: credit(torch.zeros(2, 3), [1], [0], "linear"), r"outputs is \(2, 3\)"),
        (lambda fed: credit(torch.zeros(2, 0, 3), [1, 0], [], "linear"), "none of them 0"),
        (lambda fed: credit(torch.zeros(2, 3, 1), [1], [0, 0, 0], "linear"), "length of q is 1"),
        (lambda fed: credit(torch.zeros(1, 3, 1), [1], [0], "linear"), "length of y is 1"),
        (lambda fed: credit.__wrapped__(torch.zeros(1, 1, 1), [1], [0], "hinge"), "loss is "),
        (lambda fed: expected(torch.zeros(9, 3), torch.zeros(9, 3, 1, 1), [1] * 9, [0], "linear"),
         r"H\^N is '3\^9'; allowed: at most 10,000 draws"),
        (lambda fed: expected([[0.0]], [[[[inf]]]], [1], [0], "linear"), "outputs is 'not finite'"),
        (lambda fed: concrete([0.0, 1.0], [0, 0], 1.0), r"pi is \[0.0, 1.0\]; allowed: numbers"),
        (lambda fed: concrete([inf, 1.0], [0, 0], 1.0), r"pi is \[inf, 1.0\]; allowed: numbers"),
        (lambda fed: concrete([0.5, 0.5], [inf, 0], 1.0), "gumbel is .*; allowed: finite numbers"),
        (lambda fed: credit(torch.ones(1, 1, 1), [1], [nan], "linear"), "y is .*; allowed: finite"),
        (lambda fed: credit(torch.ones(1, 1, 1), [1], [1j], "linear"), "y is .*; allowed: real"),
        (lambda fed: credit(torch.ones(1, 1, 1), [1], [1.0], lambda F, y: y), "loss is 'constant'"),
        (lambda fed: update([[-inf, -inf]], [0], [1.0], 1.0), "in each row one above -inf"),
        (lambda fed: concrete([0.5, 0.5], [0, 0], 0.0), "temperature is 0.0; allowed: a finite"),
        (lambda fed: concrete([0.5, 0.5], [0.0], 1.0), r"shape of gumbel is \(1,\); allowed: \(2,"),
        *((lambda fed, q=q: credit(torch.zeros(2, 1, 1), q, [0.0], "linear"),
           "q is .*; allowed: finite numbers of at least 0, not all of them 0")
          for q in ([0.5, nan], [0.5, inf], [1.5, -0.5], [0.0, 0.0])),
        *((lambda fed, y=y: credit(torch.zeros(1, 2, 3), [1], y, "cross_entropy"),
           "y is .*; allowed: 2 classes, whole numbers from 0 to 2")
          for y in ([0, 3], [-1, 0], [0, 0.5], [0, nan], [[0], [1]])),
        (lambda fed: credit(torch.zeros(1, 2, 3), [1], [0.0, 1.0], "linear"),
         r"shape of y is \(2,\); allowed: \(2, 3\)"),
        (lambda fed: credit(torch.zeros(1, 2, 3), [1], 0.0, "linear"), "length of y is 1"),
        *((lambda fed, z=z: update([[0.0, 0.0]], z, [1.0], 1.0), "z is .*; allowed: whole numbers")
          for z in ([2], [-1], [0.5])),
        (lambda fed: update([[0.0, 0.0]], [0, 1], [1.0], 1.0), r"shape of z is \(2,\)"),
        (lambda fed: update([[0.0, 0.0]], [0], [1.0, 1.0], 1.0), r"shape of d is \(2,\)"),
        (lambda fed: update([[0.0, nan]], [0], [1.0], 1.0), "rows is .*; allowed: numbers below"),
        (lambda fed: update([[0.0, 0.0]], [0], [1.0], nan), "lr is nan; allowed: a finite number"),
        *((lambda fed, pi=pi: update([pi], [0], [1.0], 1.0, step_raw),
           "pi is .*; allowed: above 0 for the row that was drawn")
          for pi in ([0.0, 1.0], [1.0, -1.0])),
        (lambda fed: expected([[0.0, 0.0]], torch.zeros(2, 1, 1, 1), [1], [0.0], "linear"),
         r"shape of outputs is \(2, 1, 1, 1\); allowed: \(1, 2, M, C\)"),
        (lambda fed: expected([0.0], torch.zeros(1, 1, 1, 1), [1], [0.0], "linear"),
         r"shape of logits is \(1,\); allowed: \(N, H\)"),
        (lambda fed: fedtune(MODEL, spoilt(fed), TWO, 9),
         r"validation data of client 1 \(b\) is 'not finite'; allowed: finite numbers"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_named(make, message, fed):
    with pytest.raises(ValueError, match=message):
        make(fed)


def test_the_benchmark_trains_6000_images_and_keeps_a_model_for_each_round():
    sizes = ten_clients().train.n
    assert len(sizes) == 10
    assert abs(int(sizes.sum()) - 6000) <= 10
    measured = fedtune_search(1, torch.device("cpu"))
    assert measured["buffer (MiB)"] == mlp(784, 128, 10).d * 4 / 2**20
    assert min(measured["FedAvg (s)"], measured["search (s)"]) > 0
