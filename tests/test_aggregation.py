"""Methods whose Agg sees the round: against plain loops over clients, and closed forms."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fedlab_edu import (
    Clients,
    Federation,
    FedEx,
    LocalHP,
    LogUniform,
    Run,
    SearchSpace,
    ServerHP,
    Spaces,
    communicate,
    communicate_all,
    digits,
    linear,
    load_run,
    save_run,
    start,
    successive_halving,
    train,
    tune,
)
from fedlab_edu.methods import (
    DPFedAvg,
    FedAdagrad,
    FedAdam,
    FedAvg,
    FedNova,
    FedYogi,
    Krum,
    Median,
    Method,
    QFedAvg,
    Reptile,
    TrimmedMean,
)
from fedlab_edu.methods.private import privacy
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.seeds import seed_for
from fedlab_edu.training.scores import score
from tests.reference import plain_loop

MODEL, F64 = linear(4, 3), torch.float64
NEW = (
    FedNova(), FedAdam(), FedYogi(), FedAdagrad(), Median(), TrimmedMean(0.2), Krum(1),
    QFedAvg(2.0), DPFedAvg(0.5, 0.1),
)  # fmt: skip


def federation(N: int = 7) -> Federation:
    """Drawn clients with 3 to 3 + N - 1 examples each."""
    gen = torch.Generator().manual_seed(1)
    n = [3 + i for i in range(N)]
    x = torch.randn(sum(n), 4, generator=gen, dtype=F64)
    y = torch.randint(3, (sum(n),), generator=gen)
    parts = Clients(x, y, torch.arange(sum(n)).split(n))
    return Federation(parts, parts, parts, tuple(map(str, range(N))), 3)


FED = federation()
C = LocalHP(lr=0.3, batch=2, epochs=2)
EVERYONE = len(FED)


def after(method: Method, b: ServerHP | None = None, rounds: int = 1, c: LocalHP = C) -> Run:
    return train(start(MODEL, FED, c, b, method=method), MODEL, FED, rounds, clients=EVERYONE)


def trained(run: Run, c: LocalHP = C) -> Tensor:
    """W (N, d): where a plain loop takes each client of the federation in the next round."""
    seeds = [seed_for(run.seed, run.round, i) for i in range(EVERYONE)]
    return plain_loop(MODEL, run.w, FED.train, c, seeds)


def diverging(clients: int) -> LocalHP:
    """C for each client of the federation, but steps of the first ones that overflow."""
    far, near = [1e200] * clients, EVERYONE - clients
    return LocalHP(lr=far + [0.3] * near, weight_decay=far + [0.0] * near, batch=2, epochs=2)


def begun(method: Method) -> Run:
    return start(MODEL, FED, C, method=method)


def test_fednova_moves_by_the_mean_step_times_the_mean_number_of_steps():
    run, W = begun(FedNova()), trained(begun(FedNova()))
    n = FED.train.n.tolist()
    tau = [2 * math.ceil(n_i / 2) for n_i in n]
    p = [n_i / sum(n) for n_i in n]
    mean_step = sum(p_i * (W_i - run.w) / t for p_i, W_i, t in zip(p, W, tau, strict=True))
    expected = run.w + sum(p_i * t for p_i, t in zip(p, tau, strict=True)) * mean_step
    torch.testing.assert_close(after(FedNova()).w, expected, rtol=1e-10, atol=1e-12)


def test_fednova_is_fedavg_where_all_clients_take_equally_many_steps():
    c = LocalHP(lr=0.3, batch=100, epochs=2, momentum=0.5)
    torch.testing.assert_close(after(FedNova(), c=c).w, after(FedAvg(), c=c).w)


def test_fednova_reaches_the_minimum_of_the_mean_loss_where_fedavg_stays_beside_it():
    """Two clients with the losses (w - 0)^2 / 2 and (w - 1)^2 / 2, of which one takes 9 steps."""
    steps, lr, w = (1, 9), 0.01, {"nova": 0.0, "avg": 0.0}
    for _ in range(2000):
        ends = {k: [m + (1 - lr) ** t * (v - m) for m, t in zip((0, 1), steps, strict=True)]
                for k, v in w.items()}  # fmt: skip
        w["avg"] = sum(ends["avg"]) / 2
        change = [(e - w["nova"]) / t for e, t in zip(ends["nova"], steps, strict=True)]
        w["nova"] += sum(steps) / 2 * sum(change) / 2
    assert w["avg"] == pytest.approx(0.9, abs=0.02)
    assert w["nova"] == pytest.approx(0.5, abs=0.02)


def adam(h: float, D: float) -> float:
    return 0.99 * h + 0.01 * D * D


def yogi(h: float, D: float) -> float:
    return h - 0.01 * D * D * math.copysign(1, h - D * D) if h != D * D else h


def adagrad(h: float, D: float) -> float:
    return h + D * D


@pytest.mark.parametrize(
    ("method", "rule"), [(FedAdam(), adam), (FedYogi(), yogi), (FedAdagrad(), adagrad)]
)
def test_fedopt_takes_the_steps_of_algorithm_2_number_by_number(method, rule):
    b, tau, n = ServerHP(lr=0.1, momentum=0.9, decay=0.5), 1e-3, FED.train.n.double()
    run = start(MODEL, FED, C, b, method=method)
    w, m, h = run.w.tolist(), [0.0] * MODEL.d, [tau**2] * MODEL.d
    for t in range(3):
        mean = ((n / n.sum()) @ trained(run)).tolist()
        run = communicate(run, MODEL, FED, EVERYONE)
        for j in range(MODEL.d):
            D = mean[j] - w[j]
            m[j] = 0.9 * m[j] + 0.1 * D
            h[j] = rule(h[j], D)
            w[j] += 0.1 * 0.5**t * m[j] / (math.sqrt(h[j]) + tau)
        assert run.w.tolist() == pytest.approx(w, abs=1e-9)


def test_the_median_is_that_of_each_coordinate():
    W = trained(begun(Median()))
    expected = [sorted(column)[3] for column in W.T.tolist()]
    assert after(Median()).w.tolist() == pytest.approx(expected, abs=1e-12)
    even = Median().combine(torch.tensor([[1.0], [9.0], [2.0], [4.0]]))
    assert even.tolist() == [3.0]


def test_the_trimmed_mean_leaves_out_the_smallest_and_the_largest_values():
    W = trained(begun(Median()))
    expected = [sum(sorted(column)[1:-1]) / 5 for column in W.T.tolist()]
    assert after(TrimmedMean(0.2)).w.tolist() == pytest.approx(expected, abs=1e-12)
    ten = torch.arange(10.0)[:, None] ** 2
    assert TrimmedMean(0.3).combine(ten).item() == pytest.approx((9 + 16 + 25 + 36) / 4)


def test_krum_takes_the_model_nearest_to_its_neighbours():
    W = trained(begun(Krum()))
    sums = []
    for i, own in enumerate(W):
        away = sorted(float((own - W[j]).square().sum()) for j in range(EVERYONE) if j != i)
        sums.append(sum(away[: EVERYONE - 1 - 2]))
    torch.testing.assert_close(after(Krum(1)).w, W[sums.index(min(sums))])


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_krum_takes_models_of_half_precision(kind):
    W = torch.tensor([[0.0], [9.0], [4.0], [3.0], [5.0]], dtype=kind)
    assert Krum(1).combine(W).tolist() == [4.0]


def test_krum_refuses_a_round_with_too_few_clients():
    with pytest.raises(ValueError, match="have not diverged is 7; allowed: at least 9"):
        after(Krum(3))


@pytest.mark.parametrize("method", [Median(), TrimmedMean(0.3), Krum(2)])
def test_two_hostile_clients_do_not_move_a_robust_average_out_of_the_honest_ones(method):
    honest = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
    hostile = torch.tensor([[1e6, -1e6, 1e6], [1e6, -1e6, 1e6]])
    found = method.combine(torch.cat([honest[:2], hostile, honest[2:]]))
    assert (found >= honest.amin(0)).all()
    assert (found <= honest.amax(0)).all()


def test_q_ffl_takes_the_step_of_its_algorithm_2():
    q, L = 2.0, 1 / 0.3
    run = begun(QFedAvg(q))
    W, F = trained(run), score(MODEL, run.w, FED.train).loss.tolist()
    D, h = torch.zeros_like(run.w), 0.0
    for F_i, W_i in zip(F, W, strict=True):
        d = L * (run.w - W_i)
        D += F_i**q * d
        h += q * F_i ** (q - 1) * float(d @ d) + L * F_i**q
    torch.testing.assert_close(after(QFedAvg(q)).w, run.w - D / h, rtol=1e-9, atol=1e-12)


def test_q_ffl_with_q_0_is_the_plain_mean():
    torch.testing.assert_close(after(QFedAvg(0.0)).w, after(Reptile()).w)


@pytest.mark.parametrize(("bias", "q"), [(0.0, 2000.0), (5.0, 40.0)])
def test_weights_of_q_ffl_beyond_float32_cancel_where_all_losses_are_equal(bias, q):
    """F is ln 3, or 0.013 and small, for all clients: F^q is 1e81, or 1e-75."""
    fed, w = FED.to("cpu", torch.float32), torch.zeros(MODEL.d)
    parts, w[12] = Clients(fed.train.x, torch.zeros_like(fed.train.y), fed.train.rows), bias
    fed = Federation(parts, parts, parts, fed.names, 3)
    run, L = start(MODEL, fed, C, method=QFedAvg(q), w=w), 1 / 0.3
    seeds = [seed_for(run.seed, 0, i) for i in range(EVERYONE)]
    d = L * (w - plain_loop(MODEL, w, parts, C, seeds)).double()
    F = math.log1p(2 * math.exp(-bias))
    step = d.sum(0) / sum(L + q / F * float(d_i @ d_i) for d_i in d)
    found = communicate(run, MODEL, fed, EVERYONE).w.double()
    torch.testing.assert_close(found, w.double() - step, rtol=1e-6, atol=1e-6)


def test_q_ffl_refuses_a_learning_rate_of_0():
    with pytest.raises(ValueError, match=r"lr is \[?0.0.*allowed: above 0"):
        after(QFedAvg(), c=LocalHP(lr=0.0))


def test_dp_fedavg_without_noise_is_the_mean_of_clipped_changes():
    run, S = begun(DPFedAvg()), 0.05
    expected = torch.zeros_like(run.w)
    for W_i in trained(run):
        change = W_i - run.w
        length = math.sqrt(sum(x * x for x in change.tolist()))
        assert length > S
        expected += change * S / length / EVERYONE
    found = after(DPFedAvg(clip=S, noise=0.0)).w
    torch.testing.assert_close(found, run.w + expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(after(DPFedAvg(1e9, 0.0)).w, after(Reptile()).w)


def test_the_noise_of_dp_fedavg_has_the_deviation_that_it_promises():
    """Over 40 rounds of 15 numbers a mean square is off by 6 % in one of three cases."""
    quiet = begun(DPFedAvg(0.5, 0.0))
    squares = []
    for seed in range(40):
        a, b = (
            communicate(start(MODEL, FED, C, seed=seed, method=DPFedAvg(0.5, z)), MODEL, FED, 7)
            for z in (0.0, 2.0)
        )
        squares.append(float((a.w - b.w).square().mean()))
    assert math.sqrt(sum(squares) / 40) == pytest.approx(2.0 * 0.5 / 7, rel=0.2)
    assert quiet.round == 0


@pytest.mark.parametrize("broken", [1, 6])
def test_the_noise_does_not_grow_where_clients_have_diverged(broken):
    """They count as changes of 0: the others' clipped changes are divided by all 7."""
    c = diverging(broken)
    run = start(MODEL, FED, Fixed(c, torch.arange(7)), method=DPFedAvg(0.05, 0.0))
    moved = communicate(run, MODEL, FED, 7)
    assert int(moved.history[0].diverged.sum()) == broken
    assert float((moved.w - run.w).norm()) <= 0.05 * (7 - broken) / 7 + 1e-12


def test_dp_fedavg_adds_noise_where_all_clients_have_diverged():
    broken = replace(FED, train=replace(FED.train, x=FED.train.x * math.nan))
    run = start(MODEL, FED, C, method=DPFedAvg(1.0, 0.3))
    after = communicate(run, MODEL, broken, clients=4)
    assert after.history[0].diverged.all()
    noise = after.w - run.w
    assert noise.abs().min() > 0
    assert 0.5 < float(noise.std()) / (0.3 / 4) < 2
    still = communicate(replace(run, method=FedNova()), MODEL, broken, clients=4)
    assert torch.equal(still.w, run.w)


def test_epsilon_grows_with_rounds_and_falls_with_noise_and_is_that_of_one_gaussian_release():
    """All clients in one round: for the Gaussian mechanism with sensitivity 2 the least epsilon of
    Rényi's bound alpha / (2 s^2) + log(1 / delta) / (alpha - 1) is known to be enough."""
    delta, z = 1e-5, 8.0
    s = z / 2
    bound = 1 / (2 * s * s) + math.sqrt(2 * math.log(1 / delta)) / s
    one = privacy(z, 10, 10, 1, delta)
    assert 0.5 * bound < one <= bound * 1.001
    assert privacy(z, 10, 10, 20, delta) > one
    assert privacy(2 * z, 10, 10, 1, delta) < one
    assert privacy(z, 10, 1000, 1, delta) < one


@pytest.mark.parametrize("method", NEW, ids=lambda m: type(m).__name__)
def test_runs_of_a_new_method_train_together_as_alone_and_go_into_files(method, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.pt"
    runs = [start(MODEL, FED, C, seed=seed, method=method) for seed in (1, 2)]
    alone = [train(run, MODEL, FED, 2, clients=5) for run in runs]
    together = runs
    for _ in range(2):
        together = communicate_all(together, MODEL, FED, 5)
    for a, b in zip(alone, together, strict=True):
        torch.testing.assert_close(a.w, b.w, rtol=1e-9, atol=1e-11)
    save_run(together[0], path)
    assert torch.equal(load_run(path).w, together[0].w)


@pytest.mark.parametrize("method", NEW, ids=lambda m: type(m).__name__)
def test_a_new_method_goes_with_fedex_and_with_a_search(method):
    table = LocalHP(lr=[0.05, 0.1], batch=4)
    run = train(start(MODEL, FED, FedEx(table), method=method), MODEL, FED, 2, clients=5)
    assert run.w.isfinite().all()
    assert run.tuner.theta.tolist() != [0.5, 0.5]
    spaces = Spaces(SearchSpace({"lr": LogUniform(0.01, 0.1)}))
    search = successive_halving(MODEL, FED, spaces, 6, 3, eta=2, eliminations=1, method=method)
    search = tune(search, MODEL, FED, 5)
    assert search.done
    assert search.winner.w.isfinite().all()


@pytest.mark.parametrize("method", NEW, ids=lambda m: type(m).__name__)
def test_a_client_that_has_diverged_does_not_spoil_a_new_method(method):
    c = diverging(1)
    run = start(MODEL, FED, Fixed(c, torch.arange(7)), method=method)
    moved = communicate(run, MODEL, FED, 7)
    assert moved.history[0].diverged.tolist() == [True] + [False] * 6
    assert moved.w.isfinite().all()
    assert not torch.equal(moved.w, run.w)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: FedAdam(beta2=1.5), "beta2 is 1.5; allowed: a number from 0 to 1"),
        (lambda: FedYogi(tau=0.0), "tau is 0.0; allowed: from 1e-18 to 1e18"),
        (lambda: FedAdam(tau=1e20), "tau is 1e.20; allowed: from 1e-18 to 1e18"),  # its square
        (lambda: TrimmedMean(0.5), "beta is 0.5; allowed: from 0 to below 0.5"),
        (lambda: TrimmedMean(0.1, optimizer="sdg"), "optimizer is 'sdg'; allowed: 'sgd', 'adam'"),
        (lambda: Krum(-1), "f is -1; allowed: a whole number of at least 0"),
        (lambda: QFedAvg(-1.0), "q is -1.0; allowed: a finite number of at least 0"),
        (lambda: DPFedAvg(clip=0.0), "clip is 0.0; allowed: a finite number above 0"),
        (lambda: DPFedAvg(noise=-1.0), "noise is -1.0; allowed: a finite number of at least 0"),
        (lambda: privacy(0.0, 1, 2, 1, 0.1), "noise is 0.0; allowed: from 1e-6 to 1e6"),
        (lambda: privacy(1e-160, 1, 2, 1, 0.1), "noise is 1e-160; allowed: from 1e-6 to 1e6"),
        (lambda: privacy(math.inf, 1, 2, 1, 0.1), "noise is inf; allowed: from 1e-6 to 1e6"),
        (lambda: privacy(1.0, 3, 2, 1, 0.1), "clients is 3; allowed: .* 2 at most"),
        (lambda: privacy(1.0, 1, 2, 1, 0.0), "delta is 0.0; allowed: above 0 and below 1"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_adaptive_servers_learn_the_digits():
    fed, model = digits(), linear(64, 10)
    b = ServerHP(lr=0.03, momentum=0.9)
    for method in (FedAdam(), FedYogi()):
        run = train(start(model, fed, LocalHP(lr=0.1), b, method=method), model, fed, 40)
        first, last = (float(run.history[t].before.error.mean()) for t in (0, -1))
        assert last < first / 2
