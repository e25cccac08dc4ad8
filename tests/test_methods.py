"""The eight methods on quadratics, where a round has a closed form, and the laws that they obey."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlab_edu import (
    MAML,
    Clients,
    Ditto,
    FedAvg,
    FedDyn,
    Federation,
    FedPA,
    FedProx,
    LocalHP,
    Model,
    Reptile,
    Run,
    Scaffold,
    ServerHP,
    communicate,
    communicate_all,
    digits,
    evaluate,
    linear,
    local_sgd,
    mlp,
    start,
    train,
    weighted_average,
)
from fedlab_edu.methods import (
    ClientInput,
    ClientUpdate,
    FedAdam,
    FedNova,
    Method,
    QFedAvg,
    RoundUpdate,
    Server,
)
from fedlab_edu.methods.fedpa import delta
from fedlab_edu.methods.maml import halves, meta_gradient
from fedlab_edu.methods.scaffold import effective_steps
from fedlab_edu.rounds.communicate import train_clients
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.gather import Part, Sums, Tile, Work, is_finite
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.training import local as engine
from fedlab_edu.training import memory as memory_module
from fedlab_edu.training.plan import shuffles
from fedlab_edu.training.scores import Score, score
from tests.reference import plain_loop
from tests.vectors import F64, case, quadratic

METHODS = {
    "fedavg": (FedAvg(), {}),
    "fedprox": (FedProx(), {"mu": 0.3}),
    "reptile": (Reptile(), {}),
    "scaffold-1": (Scaffold(option=1), {}),
    "scaffold-2": (Scaffold(option=2), {}),
    "feddyn": (FedDyn(), {"mu": 0.3}),
    "ditto": (Ditto(), {"mu": 0.3}),
    "fedpa": (FedPA(burn_in=1, rho=0.1), {}),
    "maml": (MAML(), {}),
    "fomaml": (MAML(first_order=True), {}),
}
every_method = pytest.mark.parametrize("name", METHODS)


def real(values: object) -> Tensor:
    return torch.tensor(values, dtype=F64)


def averaged(average: Tensor, change: object = (0.0, 0.0), c: LocalHP | None = None) -> RoundUpdate:
    """Return the update of a first round from clients of which only the average matters."""
    c = LocalHP() if c is None else c
    B = len(c)
    p, n = torch.full((B,), 1 / B, dtype=F64), torch.ones(B, dtype=torch.long)
    return RoundUpdate(average, real(change), p, n, c, round=1, drawn=B, seed=0)


def near(seen: Tensor | Sequence[Tensor], expected: object) -> None:
    seen = torch.stack(list(seen)) if not isinstance(seen, Tensor) else seen
    torch.testing.assert_close(seen, real(expected), rtol=1e-9, atol=1e-9)


class Quadratics:
    """A federation of quadratics, and one round on it of the clients that a vector names.

    Client i has ``sizes[i]`` copies of its quadratic: how many only matters in the average.
    """

    def __init__(self, given: dict[str, Any], N: int | None = None) -> None:
        self.model, one = quadratic(given["A"], given["mu"])
        self.B = B = len(given["mu"])
        sizes = given.get("sizes", [1] * B)
        rows = [torch.full((n,), i) for i, n in enumerate(sizes)]
        rows += [torch.tensor([0])] * ((N or B) - B)  # further clients, who sit out
        self.clients = replace(one, rows=tuple(rows))
        names = tuple(map(str, range(len(rows))))
        self.fed = Federation(self.clients, self.clients, self.clients, names, classes=1)
        self.steps = {"lr": given.get("lr", 0.1), "epochs": given.get("K", 1), "batch": 1000}

    def run(self, method: Method, w: object, h: object = 0.0, **b: float) -> Run:
        run = start(self.model, self.fed, b=ServerHP(**b), method=method)
        w = real(w)
        return replace(run, server=Server(w, torch.zeros_like(w), torch.zeros_like(w) + real(h)))

    def round(self, run: Run, **c: object) -> tuple[Run, Any]:
        """The run after a round of the first B clients, and the update of all of them."""
        i = torch.arange(self.B)
        work = Work(
            i, torch.zeros_like(i), LocalHP(**{**self.steps, **c})[[0] * self.B], [0] * self.B
        )
        sums, updates = Sums([run], [work], self.fed.sizes), {}

        def part(tile: Tile) -> Part:
            vectors = [v for v in tile.update if v is not None]
            updates.update(zip(tile.place.tolist(), zip(*vectors, strict=True), strict=True))
            given.append([v is not None for v in tile.update])
            return sums.part(tile)

        given = []
        train_clients([run], [work], self.model, self.fed.train, self.fed.val, part, sums.add)
        vectors = iter(zip(*(updates[place] for place in range(self.B)), strict=True))
        update = ClientUpdate(*(torch.stack(next(vectors)) if has else None for has in given[0]))
        return sums.finish()[0], update


# --- the vectors ----------------------------------------------------------------------------------


def test_fedavg_ends_where_its_closed_form_does():
    given, expected = case("fedopt", "fedavg")
    world = Quadratics(given)
    run, update = world.round(world.run(FedAvg(), given["w"], lr=given["server_lr"]))
    near(update.personal, expected["client_models"])
    near(run.w, expected["w"])


def test_fedprox_ends_where_its_closed_form_does():
    given, expected = case("fedopt", "fedprox")
    world = Quadratics(given)
    start_at = world.run(FedProx(), given["w"])
    run, update = world.round(start_at, mu=given["rho"])
    near(update.personal, expected["client_models"])
    near(run.w, expected["w"])
    _, update = world.round(start_at, mu=given["rho"], epochs=400)
    near(update.personal, expected["exact_local_minimisers"])


def test_reptile_steps_towards_the_plain_mean():
    given, expected = case("fedopt", "reptile")
    world = Quadratics({**given, "sizes": [10, 20, 70]})
    run, _ = world.round(world.run(Reptile(), given["w"], lr=given["eps"]))
    near(run.w, expected["w"])


@pytest.mark.parametrize("option", [1, 2])
def test_scaffold_ends_where_its_closed_form_does(option):
    given, expected = case("fedopt", f"scaffold-option-{option}")
    world = Quadratics({**given, "sizes": [10, 20, 70]}, N=given["N"])
    run = world.run(Scaffold(option), given["w"], given["c"], lr=given["server_lr"])
    run = replace(run, states=dict(enumerate(real(given["cs"]))))
    run, update = world.round(run)
    near(update.personal, expected["client_models"])
    near([run.states[i] for i in range(3)], expected["new_client_controls"])
    near(run.w, expected["w"])
    near(run.server.h, expected["c"])


def test_scaffolds_control_variate_moves_at_a_rate_and_a_schedule_of_its_own():
    given, _ = case("fedopt", "scaffold-option-2")
    world = Quadratics(given, N=given["N"])
    run = world.run(Scaffold(), given["w"], given["c"], control_lr=0.5, control_decay=0.25)
    c = real(given["c"])
    for rate in (0.5, 0.125, 0.03125):
        before = run.server.w
        run, update = world.round(run)
        near(run.w, (before + (update.model - before).mean(0)).tolist())  # at its own rate, 1
        c = c + rate * update.state_delta.sum(0) / given["N"]
        near(run.server.h, c.tolist())


@pytest.mark.parametrize("name", ["control_lr", "control_decay"])
@pytest.mark.parametrize("method", [FedAvg(), FedProx(), FedDyn()])
def test_a_method_without_control_variates_refuses_a_rate_for_them(name, method):
    allowed = f"1: {type(method).__name__} has no control variate, as SCAFFOLD has"
    with pytest.raises(ValueError, match=f"{name} is 0.5; allowed: {allowed}"):
        Quadratics(THREE).run(method, W0, **{name: 0.5})


def test_feddyn_ends_where_its_closed_form_does():
    given, expected = case("fedopt", "feddyn")
    world = Quadratics({**given, "sizes": [10, 20, 70]}, N=given["m_total"])
    run = world.run(FedDyn(), given["theta"], given["h"])
    run = replace(run, states=dict(enumerate(real(given["grads"]))))
    run, update = world.round(run, mu=given["alpha"], epochs=300)  # enough for the exact minimum
    near(update.personal, expected["client_models"])
    near([run.states[i] for i in range(3)], expected["new_grads"])
    near(run.server.h, expected["h"])
    near(run.w, expected["theta"])


def test_dittos_personal_step_ends_where_its_closed_form_does():
    given, expected = case("fedopt", "ditto")
    world = Quadratics(given)
    run = replace(world.run(Ditto(), given["w"]), states=dict.fromkeys(range(3), real(given["v"])))
    for lam, models in ((given["lam"], "personal_models"), (0, "lam_0")):
        after, update = world.round(run, mu=lam)
        near(update.personal, expected[models])
        near([after.states[i] for i in range(3)], expected[models])


def test_mamls_meta_gradient_is_that_of_its_closed_form():
    given, expected = case("fedopt", "maml")
    model, both = quadratic(
        [given["A_train"], given["A_val"]], [given["mu_train"], given["mu_val"]]
    )
    c = LocalHP(lr=given["inner_lr"], epochs=given["inner_steps"])
    for first_order, name in ((False, "meta_gradient"), (True, "first_order")):
        adapted, g = meta_gradient(
            model, real(given["w"]), both[[0]], both[[1]], c, [0], first_order
        )
        near(adapted[0], expected["adapted"])
        near(g[0], expected[name])


def test_fedpas_delta_is_that_of_a_direct_solution():
    given, expected = case("fedopt", "fedpa-delta")
    w, samples = real(given["w"]), real(given["samples"])
    near(delta(w, samples, given["rho"]), expected["delta"])
    near(delta(w, samples, 0.0), expected["delta_rho_0"])


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_fedpas_delta_of_half_precision_is_that_of_the_same_numbers_in_float64(kind):
    given, _ = case("fedopt", "fedpa-delta")
    w, samples = real(given["w"]).to(kind), real(given["samples"]).to(kind)
    found = delta(w, samples, 0.5)
    torch.testing.assert_close(found, delta(w.double(), samples.double(), 0.5).to(kind))


def test_fedpa_steps_along_the_weighted_deltas():
    given, expected = case("fedopt", "fedpa-exact")
    w, b = real(given["w"]), ServerHP(lr=given["server_lr"])
    p = real(given["sizes"]) / sum(given["sizes"])
    sent = w - p @ real(expected["deltas"])
    after = FedPA().agg(Server.initial(w), averaged(sent), b)
    near(after.w, expected["w"])


def test_samples_with_a_clients_exact_posterior_give_its_gradient():
    given, expected = case("fedopt", "fedpa-exact")
    w = real(given["w"])
    for A, mu, exact in zip(real(given["A"]), real(given["mu"]), expected["deltas"], strict=True):
        root = torch.linalg.cholesky(A.inverse()).T  # samples mu +- its rows: covariance 2/3 A^-1
        samples = mu + (1.5**0.5) * torch.cat([root, -root])
        torch.testing.assert_close(delta(w, samples, 1e7).tolist(), exact, rtol=1e-4, atol=1e-4)


def test_fedpas_samples_are_means_of_parts_of_its_way():
    given, expected = case("fedopt", "fedpa-iasg")
    model, clients = quadratic([given["A"]], [given["mu"]])
    method = FedPA(burn_in=given["burnin"], per_sample=given["steps"])
    epochs = given["burnin"] + given["steps"] * given["n"]
    c = LocalHP(lr=given["lr"], epochs=epochs + 1)  # one more, which is no whole sample
    _, samples = method.samples(model, real(given["w"]), clients, c, [0])
    near(samples[0], expected["samples"])


# --- laws -----------------------------------------------------------------------------------------

A = [[[1.4, -0.4], [-0.4, 1.6]], [[1.3, 0.2], [0.2, 1.1]], [[0.8, 0.3], [0.3, 1.0]]]
MU = [[0.8, -0.2], [-1.2, -1.0], [0.3, 0.1]]
W0 = [0.5, -1.0]
THREE = {"A": A, "mu": MU, "lr": 0.1, "K": 5}
MODEL = mlp(64, 12, 10)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", F64)


def a_run(name: str, fed: Federation, seed: int = 1, **c: object) -> Run:
    method, own = METHODS[name]
    setting = LocalHP(**{"lr": 0.05, "batch": 16, "epochs": 3, **own, **c})
    return start(MODEL, fed, setting, ServerHP(momentum=0.3, decay=0.9), seed, method)


@pytest.mark.parametrize("method", [FedProx(), FedDyn()], ids=repr)
def test_an_infinite_pull_returns_the_model_received(method):
    world = Quadratics(THREE)
    run, update = world.round(world.run(method, W0), mu=1e10, lr=1e-10)
    torch.testing.assert_close(update.personal, real([W0] * 3), rtol=0, atol=1e-8)
    torch.testing.assert_close(run.w, real(W0), rtol=0, atol=1e-8)


@pytest.mark.parametrize("option", [1, 2])
def test_scaffold_without_controls_takes_fedavgs_first_step(option):
    world = Quadratics(THREE)
    ours, _ = world.round(world.run(Scaffold(option), W0), epochs=1)
    theirs, _ = world.round(world.run(FedAvg(), W0), epochs=1)
    torch.testing.assert_close(ours.w, theirs.w, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("method", "mu"), [(FedAvg, 0.0), (FedProx, 0.3), (FedAdam, 0.0)])
def test_a_round_with_adam_on_the_clients_averages_what_torchs_adam_trains(method, mu, fed):
    c = LocalHP(lr=[0.01, 0.003, 0.001], momentum=0.9, batch=16, epochs=2, mu=mu)
    some, b = fed[[0, 5, 9]], ServerHP(lr=0.1 if method is FedAdam else 1.0)
    run = start(MODEL, some, Fixed(c, torch.arange(3)), b, 1, method(optimizer="adam"))
    work = draw_work(run, some.sizes, 3)
    W = plain_loop(MODEL, run.w, some.train[work.client], work.c, work.seeds, adam=True)
    update = averaged(weighted_average(W, some.train.n[work.client]), [0.0] * MODEL.d, c)
    expected = method().agg(run.server, update, b).w
    torch.testing.assert_close(communicate(run, MODEL, some, 3).w, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", [Scaffold, FedNova, FedPA, MAML, QFedAvg])
def test_methods_whose_formulas_hold_for_sgd_only_refuse_adam(method):
    with pytest.raises(ValueError, match=r"^optimizer is 'adam'; allowed: 'sgd'$"):
        method(optimizer="adam")


def test_reptile_with_step_1_is_the_plain_mean_of_what_fedavg_averages():
    world = Quadratics({**THREE, "sizes": [10, 20, 70]})
    run, update = world.round(world.run(Reptile(), W0))
    _, same = world.round(world.run(FedAvg(), W0))
    near(run.w, same.personal.mean(0).tolist())
    assert torch.equal(update.personal, same.personal)


def test_dittos_personal_models_ignore_w_where_lambda_is_0():
    world = Quadratics(THREE)
    states = dict.fromkeys(range(3), real([1.0, 1.0]))
    for lam, same in ((0.0, True), (0.5, False)):
        models = [
            world.round(replace(world.run(Ditto(), w), states=states), mu=lam)[1].personal
            for w in (W0, [5.0, 5.0])
        ]
        assert torch.equal(*models) == same


def test_fedpa_with_rho_0_is_fedavg_of_the_sample_means():
    world = Quadratics({**THREE, "sizes": [10, 20, 70]})
    method = FedPA(burn_in=1, per_sample=2, rho=0.0)
    run, _ = world.round(world.run(method, W0))
    c, w = LocalHP(**world.steps), real(W0)
    _, samples = method.samples(world.model, w, world.clients, c, [0] * 3)
    near(run.w, (real([0.1, 0.2, 0.7]) @ samples.mean(1)).tolist())


def test_fedpas_plain_rounds_are_fedavgs():
    world = Quadratics(THREE)
    run, _ = world.round(world.run(FedPA(rho=1.0, plain_rounds=1), W0))
    again, _ = world.round(run)
    plain, _ = world.round(world.run(FedAvg(), W0))
    assert torch.equal(run.w, plain.w)
    assert (again.w - world.round(plain)[0].w).norm() > 1e-3


def distance_from_the_minimum(name: str, rounds: int) -> float:
    """How far a run ends from the minimum of the clients' mean loss."""
    world, (method, own) = Quadratics({**THREE, "lr": 0.2}), METHODS[name]
    best = torch.linalg.solve(real(A).sum(0), torch.einsum("iab,ib->a", real(A), real(MU)))
    run = world.run(method, W0)
    for _ in range(rounds):
        run, _ = world.round(run, **own)
    return (run.w - best).norm().item()


@pytest.mark.parametrize(
    ("name", "rounds", "near"), [("scaffold-1", 40, 1e-12), ("scaffold-2", 40, 1e-12),
                                 ("feddyn", 70, 1e-5)],
)  # fmt: skip
def test_the_minimum_of_all_clients_is_where_drift_free_methods_come_to_rest(name, rounds, near):
    assert distance_from_the_minimum(name, rounds) < near


def test_fedavg_comes_to_rest_elsewhere():
    here, later = (distance_from_the_minimum("fedavg", rounds) for rounds in (20, 30))
    assert here == pytest.approx(later, rel=1e-3)
    assert later > 0.01


@pytest.mark.parametrize("name", ["scaffold-1", "scaffold-2", "feddyn"])
def test_the_servers_vector_is_the_average_of_all_client_states(name, fed):
    run = train(a_run(name, fed), MODEL, fed, 4, clients=5)
    states = torch.stack([*run.states.values()])
    assert 5 < len(states) <= 14
    torch.testing.assert_close(run.server.h, states.sum(0) / 14, rtol=1e-12, atol=1e-12)


@every_method
def test_the_order_of_the_clients_changes_nothing(name):
    method, own = METHODS[name]
    there, back = [2, 0, 1], [1, 2, 0]
    given = {**THREE, "sizes": [1, 3, 6]}
    turned = {**given, **{key: [given[key][i] for i in there] for key in ("A", "mu", "sizes")}}
    runs = []
    for world in (Quadratics(given), Quadratics(turned)):
        run = world.run(method, W0)
        for _ in range(3):
            run, _ = world.round(run, **own)
        runs.append(run)
    one, other = runs
    torch.testing.assert_close(one.server, other.server, rtol=1e-12, atol=1e-12)
    for i, vector in one.states.items():
        torch.testing.assert_close(vector, other.states[back[i]], rtol=1e-12, atol=1e-12)


@every_method
def test_runs_of_a_method_that_play_together_get_the_numbers_of_each_alone(name, fed, monkeypatch):
    runs = [a_run(name, fed, seed, lr=0.02 * (seed + 1), epochs=2 + seed) for seed in range(3)]
    alone = [train(run, MODEL, fed, 2, clients=4) for run in runs]
    monkeypatch.setattr(engine, "CPU_TILE_BYTES", 4 * 5 * 8 * MODEL.d)  # tiles of 5 clients
    for _ in range(2):
        runs = communicate_all(runs, MODEL, fed, clients=4)
    for one, other in zip(alone, runs, strict=True):
        torch.testing.assert_close(one.server, other.server, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(dict(one.states), dict(other.states), rtol=1e-12, atol=1e-12)
        for a, b in zip(one.history, other.history, strict=True):
            torch.testing.assert_close(a.after, b.after, rtol=1e-9, atol=1e-9)


def after_work(run: Run, work: Work, fed: Federation) -> Run:
    sums = Sums([run], [work], fed.sizes)
    train_clients([run], [work], MODEL, fed.train, fed.val, sums.part, sums.add)
    return sums.finish()[0]


@every_method
def test_clients_that_diverge_are_left_out_and_the_run_says_so(name, fed):
    run = a_run(name, fed)
    clients = torch.tensor([3, 7, 9, 12])
    lr = [0.05, 1e200, 0.05, 1e200]
    c = replace(run.tuner.table[[0] * 4], lr=lr)
    work = Work(clients, torch.zeros_like(clients), c, [1, 2, 3, 4])
    without = Work(clients[[0, 2]], work.row[[0, 2]], c[[0, 2]], [1, 3])
    after = []
    for one in (work, without):
        after.append(after_work(run, one, fed))
    both, fine = after
    torch.testing.assert_close(both.server, fine.server, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(dict(both.states), dict(fine.states), rtol=1e-12, atol=1e-12)
    assert both.history[0].diverged.tolist() == [False, True, False, True]
    assert both.history[0].after.error[[1, 3]].tolist() == [math.inf] * 2
    assert both.history[0].after.loss[[0, 2]].isfinite().all()
    received = score(MODEL, run.w, fed.val[clients])
    torch.testing.assert_close(both.history[0].before, received)  # which has not diverged


@every_method
def test_a_round_in_which_all_diverge_leaves_the_model_as_it_was(name, fed):
    run = train(a_run(name, fed), MODEL, fed, 2, clients=3)  # by now v, and h, are not 0
    hot = replace(run, tuner=Fixed(replace(run.tuner.table, lr=1e200)))
    after = communicate(hot, MODEL, fed, clients=3)
    torch.testing.assert_close(after.server, run.server, rtol=0, atol=0)
    assert after.history[-1].diverged.all()
    assert after.states == run.states
    assert after.round == 3


@every_method
def test_every_method_learns_digits(name):
    fed = digits()
    run = replace(a_run(name, fed, batch=8), b=ServerHP())
    assert evaluate(run, MODEL, fed).error > 0.8
    assert evaluate(train(run, MODEL, fed, 30), MODEL, fed).error < 0.4


def test_dittos_global_model_is_fedavgs_whatever_lambda_is():
    world = Quadratics({**THREE, "sizes": [10, 20, 70]})
    ditto, fedavg = world.run(Ditto(), W0), world.run(FedAvg(), W0)
    for _ in range(3):
        (ditto, _), (fedavg, _) = world.round(ditto, mu=0.7), world.round(fedavg)
    torch.testing.assert_close(ditto.server, fedavg.server, rtol=1e-12, atol=1e-12)


def test_a_client_that_ditto_meets_for_the_first_time_starts_from_w():
    world = Quadratics(THREE)
    _, update = world.round(world.run(Ditto(), W0), mu=0.7, epochs=1)
    w, slopes = real(W0), [real(a) @ (real(W0) - real(m)) for a, m in zip(A, MU, strict=True)]
    near(
        update.personal, torch.stack([w - 0.1 * g for g in slopes]).tolist()
    )  # no pull from w to w


def test_feddyn_divides_by_the_mean_alpha_of_the_rounds_clients():
    c, mean = LocalHP(mu=[1.0, 2.0, 6.0]), real([0.3, 0.1])
    before = Server(real([0.0, 0.0]), real([0.0, 0.0]), real([0.5, -0.5]))
    after = FedDyn().agg(before, averaged(mean, [0.1, 0.2], c), ServerHP())
    near(after.h, [0.6, -0.3])
    near(after.w, [0.3 - 0.6 / 3, 0.1 + 0.3 / 3])


def test_weight_decay_is_a_part_of_the_gradient_that_scaffold_keeps():
    world = Quadratics(THREE)
    for option in (1, 2):
        _, update = world.round(world.run(Scaffold(option), W0), weight_decay=0.3, epochs=1)
        slopes = [
            real(a) @ (real(W0) - real(m)) + 0.3 * real(W0) for a, m in zip(A, MU, strict=True)
        ]
        near(update.state, torch.stack(slopes).tolist())


def test_mamls_server_steps_along_the_plain_mean_of_the_meta_gradients():
    world = Quadratics({**THREE, "sizes": [1, 1, 30]})  # both halves are copies of one example
    run, update = world.round(world.run(MAML(), W0, lr=0.5), epochs=2)
    expected = []
    for a, m in zip(real(A), real(MU), strict=True):
        J = torch.eye(2, dtype=F64) - 0.1 * a
        expected.append(J @ J @ a @ (J @ J @ (real(W0) - m)))
    near(real(W0) - update.model, torch.stack(expected).tolist())
    near(run.w, (real(W0) - 0.5 * torch.stack(expected).mean(0)).tolist())


@pytest.mark.parametrize("method", [MAML(), FedPA(burn_in=1, rho=0.3)], ids=repr)
def test_the_clients_own_model_is_where_sgd_on_all_its_examples_ends(method, fed):
    clients, c = fed.train[[0, 5, 9]], LocalHP(lr=[0.1, 0.2, 0.3], batch=8, epochs=[2, 4, 3])
    w = MODEL.init(0).double()
    first = torch.tensor([0, 0, 0])
    inputs = ClientInput(MODEL, clients, c, [1, 2, 3], w, torch.zeros_like(w), None, first)
    update = method.loc(inputs)
    expected = plain_loop(MODEL, w, clients, c, [1, 2, 3])
    torch.testing.assert_close(update.personal, expected, rtol=0, atol=1e-12)


def test_clients_of_one_piece_may_draw_different_numbers_of_samples(fed):
    method, w = FedPA(burn_in=1, per_sample=2, rho=0.3), MODEL.init(0).double()
    clients, c = fed.train[[0, 5, 9]], LocalHP(lr=0.1, batch=8, epochs=[3, 10, 6])
    first = torch.tensor([0, 0, 0])
    inputs = ClientInput(MODEL, clients, c, [1, 2, 3], w, torch.zeros_like(w), None, first)
    sent = method.loc(inputs).model
    for i in range(3):
        ways: list[Tensor] = []
        local_sgd(
            MODEL,
            w,
            clients[[i]],
            c[[i]],
            [i + 1],
            watch=lambda _, t, W: ways.append(W[0].clone()),  # noqa: B023
        )
        per_epoch = len(ways) // int(c.epochs[i])
        later = torch.stack(ways[per_epoch:]).split(2 * per_epoch)
        samples = torch.stack([part.mean(0) for part in later if len(part) == 2 * per_epoch])
        assert len(samples) == [1, 4, 2][i]
        S = samples.T.cov() if len(samples) > 1 else torch.zeros(MODEL.d, MODEL.d, dtype=F64)
        r = 1 / (1 + (len(samples) - 1) * 0.3)
        sigma = r * torch.eye(MODEL.d, dtype=F64) + (1 - r) * S
        expected = w - torch.linalg.solve(sigma, w - samples.mean(0))
        torch.testing.assert_close(sent[i], expected, rtol=1e-9, atol=1e-9)


def test_samples_too_far_apart_to_be_solved_for_give_nan_and_no_error():
    samples = torch.tensor([[1e6, 0.0], [0.0, 1e6]])  # next to 1e12, float32 does not see r
    assert delta(torch.zeros(2), samples, 0.1).isnan().all()


def test_an_average_of_large_finite_models_is_finite():
    rows = torch.arange(5000).split(1000)
    clients = Clients(torch.randn(5000, 4), torch.zeros(5000, dtype=torch.long), rows)
    fed = Federation(clients, clients, clients, tuple("abcde"), classes=2)
    run = start(linear(4, 2), fed, LocalHP(lr=3e35, batch=1000))
    run = communicate(run, linear(4, 2), fed, clients=5)
    assert not run.history[0].diverged.any()
    assert run.w.isfinite().all()


@pytest.mark.parametrize("name", ["feddyn", "scaffold-2"])
def test_a_client_that_has_diverged_counts_nowhere(name, fed):
    run = train(a_run(name, fed), MODEL, fed, 2, clients=4)
    mu = [0.3, 3.0] if name == "feddyn" else 0.0
    c = LocalHP(lr=[0.05, 1e200], mu=mu, batch=16, epochs=2)
    pair = Work(torch.tensor([3, 7]), torch.tensor([0, 0]), c, [1, 2])
    alone = Work(torch.tensor([3]), torch.tensor([0]), c[[0]], [1])
    after = []
    for work in (pair, alone):
        after.append(after_work(run, work, fed))
    torch.testing.assert_close(after[0].server, after[1].server, rtol=1e-12, atol=1e-12)


NAN = torch.tensor([[1.0, math.nan], [1.0, 2.0]])
FINE = torch.ones(2, 2)


@pytest.mark.parametrize(
    ("update", "loss"),
    [
        (ClientUpdate(NAN, FINE), [0.0, 1.0]),  # a client without validation examples scores 0
        (ClientUpdate(FINE, NAN), [0.0, 1.0]),
        (ClientUpdate(FINE, FINE, NAN, FINE), [0.0, 1.0]),
        (ClientUpdate(FINE, FINE, FINE, NAN), [0.0, 1.0]),
        (ClientUpdate(FINE, FINE, weight=torch.tensor([math.inf, 1.0])), [0.0, 1.0]),
        (ClientUpdate(FINE, FINE), [math.inf, 1.0]),  # finite weights, but far out
    ],
)
def test_a_client_has_diverged_if_any_of_its_vectors_or_its_loss_is_not_finite(update, loss):
    losses = real(loss)
    assert is_finite(update, Score(losses, losses)).tolist() == [False, True]


# --- MAML's derivative ----------------------------------------------------------------------------


def ragged(fed: Federation) -> tuple[Clients, Clients, LocalHP, Tensor]:
    clients = fed.train[[0, 5, 9]]
    support = replace(
        clients, rows=tuple(r[:n] for r, n in zip(clients.rows, (7, 3, 12), strict=True))
    )
    query = replace(clients, rows=tuple(r[12:20] for r in clients.rows))
    c = LocalHP(lr=[0.3, 0.2, 0.1], batch=[4, 8, 4], epochs=[1, 3, 2], weight_decay=[0, 0.1, 0.2])
    return support, query, c, MODEL.init(4).double()


def test_the_meta_gradient_is_what_autograd_makes_of_the_unrolled_steps(fed):
    support, query, c, w = ragged(fed)
    _, g = meta_gradient(MODEL, w, support, query, c, [5, 6, 7])
    for i, seed in enumerate((5, 6, 7)):
        leaf = w.clone().requires_grad_()
        u, (x, y), own = leaf, support.examples(i), c[i]
        gen = torch.Generator().manual_seed(seed)
        for _ in range(int(own.epochs)):
            for batch in torch.randperm(len(y), generator=gen).split(int(own.batch)):
                loss = MODEL.loss(MODEL(u, x[batch]), y[batch]).mean()
                (step,) = torch.autograd.grad(loss, u, create_graph=True)
                u = u - float(own.lr) * (step + float(own.weight_decay) * u)
        x, y = query.examples(i)
        (expected,) = torch.autograd.grad(MODEL.loss(MODEL(u, x), y).mean(), leaf)
        torch.testing.assert_close(g[i], expected, rtol=0, atol=1e-12)


def test_mamls_pieces_change_nothing(fed, monkeypatch):
    whole = meta_gradient(MODEL, ragged(fed)[3], *ragged(fed)[:3], [5, 6, 7])
    monkeypatch.setattr(memory_module, "CHUNK_BYTES", 1)
    pieces = meta_gradient(MODEL, ragged(fed)[3], *ragged(fed)[:3], [5, 6, 7])
    torch.testing.assert_close(whole, pieces, rtol=0, atol=1e-12)


def test_the_two_halves_of_a_clients_examples_share_none_unless_it_has_only_one():
    rows = (torch.arange(7), torch.tensor([7]), torch.tensor([8, 9]))
    clients = Clients(torch.zeros(10, 1), torch.zeros(10, dtype=torch.long), rows)
    support, query = halves(clients, [3, 2, 3])
    assert support.n.tolist() == [4, 1, 1]
    assert query.n.tolist() == [3, 1, 1]
    for i in (0, 2):
        assert sorted([*support.rows[i].tolist(), *query.rows[i].tolist()]) == rows[i].tolist()
    in_training = shuffles(7, 1, 3)[0]
    assert support.rows[0].tolist() != in_training[:4].tolist()
    other = halves(clients, [4, 2, 3])[0]
    assert support.rows[0].tolist() != other.rows[0].tolist()


# --- momentum in SCAFFOLD -------------------------------------------------------------------------


@pytest.mark.parametrize("momentum", [0.0, 0.5, 1.0])
def test_k_steps_with_momentum_go_as_far_as_so_many_plain_ones(momentum):
    for K in (1, 4, 9):
        w = torch.zeros(1, dtype=F64, requires_grad=True)
        sgd = torch.optim.SGD([w], lr=0.1, momentum=momentum)
        for _ in range(K):
            w.grad = torch.ones(1, dtype=F64)
            sgd.step()
        steps = effective_steps(torch.tensor([K]), torch.tensor(momentum, dtype=F64))
        assert w.item() == pytest.approx(-0.1 * steps.item())


def test_the_control_of_a_constant_gradient_is_that_gradient_with_momentum_too():
    slope = real([[0.3, -0.7], [0.1, 0.4]])
    model = Model(
        net=lambda: torch.nn.ParameterList([torch.zeros(2)]),
        forward=lambda p, x: (p[0][:, None] * x).sum(-1, keepdim=True),
        shapes=((2,),),
        flipped=(False,),
        loss=lambda outputs, y: outputs[:, 0],
    )
    clients = Clients(slope, torch.zeros(2, dtype=torch.long), torch.arange(2).split(1))
    state, h = real([[0.2, 0.1], [0.0, -0.3]]), real([0.05, -0.02])
    c, first = LocalHP(lr=0.1, momentum=[0.9, 0.5], epochs=[7, 2]), torch.tensor([0, 0])
    inputs = ClientInput(model, clients, c, [0, 0], real([1.0, 2.0]), h, state, first)
    update = Scaffold().loc(inputs)
    torch.testing.assert_close(update.state, slope, rtol=1e-12, atol=1e-12)


# --- methods of one's own -------------------------------------------------------------------------


class Forgetful(FedAvg):
    """Inherits FedAvg's ==, which knows nothing of its field."""

    def __init__(self, update: object = None) -> None:
        object.__setattr__(self, "update", update)

    def loc(self, inputs: ClientInput) -> Any:
        return self.update


def test_runs_whose_methods_differ_in_a_field_that_equality_ignores_do_not_train_together(fed):
    class Sends(Forgetful):
        def loc(self, inputs: ClientInput) -> Any:
            shape = len(inputs.clients), inputs.model.d
            return ClientUpdate(*[inputs.w.new_full(shape, self.update)] * 2)

    one, other = Sends(1.0), Sends(2.0)
    assert one == other
    runs = [start(MODEL, fed, method=method) for method in (one, other)]
    after = communicate_all(runs, MODEL, fed, clients=2)
    assert [run.w.unique().tolist() for run in after] == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (torch.zeros(2, MODEL.d), "Forgetful.loc is 'Tensor'; allowed: a ClientUpdate"),
        (
            ClientUpdate(torch.zeros(2, 3), torch.zeros(2, MODEL.d)),
            r"Forgetful.loc: shape of model is \(2, 3\); allowed: \(2, 910\)",
        ),
        (
            ClientUpdate(*(torch.zeros(2, MODEL.d),) * 3),
            "Forgetful.loc: state is 'a vector'; allowed: None where `init_state` returns None",
        ),
    ],
)
def test_what_a_method_of_ones_own_forgets_is_named(update, message, fed):
    with pytest.raises(ValueError, match=message):
        communicate(start(MODEL, fed, method=Forgetful(update)), MODEL, fed, clients=2)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("fedavg", {"mu": 0.5}, "mu is 0.5; allowed: 0: FedAvg has no pull"),
        ("reptile", {"mu": 0.5}, "mu is 0.5; allowed: 0: Reptile has no pull"),
        ("scaffold-1", {"mu": 0.5}, "mu is 0.5; allowed: 0: Scaffold has no pull"),
        (
            "scaffold-2",
            {"lr": 0},
            r"lr is \[0.0\]; allowed: above 0 in torch\.float64 for SCAFFOLD's option 2",
        ),
        (
            "feddyn",
            {"mu": 0},
            r"mu is \[0.0\]; allowed: above 0 in torch\.float64: it is FedDyn's alpha",
        ),
        ("fedpa", {"epochs": 1}, r"epochs is \[1\]; allowed: at least 2: one sample"),
        ("fedpa", {"mu": 0.5}, "allowed: 0: FedPA has no pull"),
        ("maml", {"momentum": 0.5}, r"momentum is \[0.5\]; allowed: 0: MAML's derivative"),
        ("maml", {"dropout": 0.5}, r"dropout is \[0.5\]; allowed: 0: MAML's derivative"),
    ],
)
def test_a_setting_that_a_method_would_not_heed_is_refused(name, change, message, fed):
    with pytest.raises(ValueError, match=message):
        communicate(a_run(name, fed, **change), MODEL, fed, clients=1)


@pytest.mark.parametrize(("name", "column"), [("scaffold-2", "lr"), ("feddyn", "mu")])
def test_a_divisor_that_is_0_in_the_precision_of_the_run_is_refused(name, column, fed):
    fed = fed.to("cpu", torch.float32)
    with pytest.raises(ValueError, match=r"above 0 in torch\.float32"):
        communicate(a_run(name, fed, **{column: 1e-300}), MODEL, fed, clients=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scaffold(option=3), "option is 3; allowed: 1, 2"),
        (lambda: FedPA(burn_in=-1), "burn_in is -1; allowed: a whole number of at least 0"),
        (lambda: FedPA(per_sample=0), "per_sample is 0; allowed: a whole number of at least 1"),
        (lambda: FedPA(rho=-0.1), "rho is -0.1; allowed: a finite number of at least 0"),
        (
            lambda: FedPA(plain_rounds=-1),
            "plain_rounds is -1; allowed: a whole number of at least 0",
        ),
    ],
)
def test_impossible_methods_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_runs_of_several_methods_are_after_a_round_what_each_is_alone(fed):
    runs = [a_run(name, fed) for name in ("fedavg", "scaffold-2", "fedavg", "reptile")]
    after = communicate_all(runs, MODEL, fed, clients=2)
    for run, found in zip(runs, after, strict=True):
        alone = communicate(run, MODEL, fed, clients=2)
        assert found.method is run.method
        torch.testing.assert_close(found.server, alone.server, rtol=1e-12, atol=1e-12)


def test_no_run_is_refused(fed):
    with pytest.raises(ValueError, match=r"runs is \[\]; allowed: at least one"):
        communicate_all([], MODEL, fed, clients=2)
