"""The views, records and checks of the live cells, in CPython; tests/book has them in a browser."""

import inspect
import json
import re
import sys
from itertools import pairwise
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from fedlab_edu import FedEx, LocalHP, weighted_average
from fedlab_edu.live import (
    averaging,
    bandit,
    checks,
    credits,
    draw,
    draws,
    fedex,
    halving,
    hero,
    maps,
    population,
    records,
    scaffold,
    stragglers,
    tables,
    valleys,
    warmup,
)
from fedlab_edu.oco.rules import bandit_bound, bandit_eta
from fedlab_edu.rounds.result import Round
from fedlab_edu.training.scores import Score
from fedlab_edu.tuners.fedex import rules
from fedlab_edu.tuners.fedpop.rules import anneal

BOOK = Path(__file__).parents[1] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
from live import controls, shortened  # noqa: E402

FOLDER = BOOK / "records"


def record(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


# What an editor shows.


def test_an_editor_shows_the_summary_and_the_arguments_and_the_code_of_a_function():
    shown = shortened("fedlab_edu.tuners.fedex.rules.step_size")
    assert shown.startswith(
        "def step_size(rule, norms, k, eta0=None):\n"
        '    """Return the step size eta_t; 0 where a rule divides by 0.\n\n    Args:\n'
    )
    assert "Source" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    defined = {"RULES": rules.RULES, "sqrt": rules.sqrt, "log": log}
    exec(shown, defined)
    assert defined["step_size"]("aggressive", [3.0, 0.5], 4) == rules.step_size(
        "aggressive", [3.0, 0.5], 4
    )


def test_an_editor_in_which_readers_write_a_function_shows_the_types():
    assert shortened("fedlab_edu.live.warmup.eg_step", typed=True).splitlines() == [
        "def eg_step(theta: list[float], g: list[float], eta: float) -> list[float]:",
        '    """Multiply each theta_j by exp(-eta g_j), and divide by the sum."""',
        '    raise NotImplementedError("write the function here")',
    ]


def test_a_slider_without_a_first_value_is_refused():
    assert [*controls("a: {options: [x, y]}\nb: {min: 0, max: 1, value: 0}")] == ["a", "b"]
    with pytest.raises(ValueError, match=r"control lr has \['min', 'max'\]; allowed: options, or"):
        controls("lr: {min: 0, max: 1}")


# Charts.


def test_a_chart_is_xml_whose_points_are_whole_tenths_of_a_pixel():
    chart = draw.Chart((0, 10), (0, 1), "x", 'a < b & "c"')
    chart.line([0, 5, 10], [0, 0.5, 1], draw.BLUE)
    chart.dot(5, 0.5, draw.ORANGE)
    chart.label(1, "end", draw.BLUE)
    root = ElementTree.fromstring(chart.svg('it says "a < b"'))
    assert root.get("aria-label") == 'it says "a < b"'
    numbers = [
        v for e in root.iter() for k, v in e.items() if k in ("x", "y", "points", "cx", "cy")
    ]
    assert [one for one in numbers if not re.fullmatch(r"-?\d+([ ,]-?\d+)*", one)] == []


def test_values_outside_a_chart_are_clipped_and_nan_is_at_the_top():
    assert draw.share(5, 0, 10, False) == 0.5
    assert draw.share(-5, 0, 10, False) == 0
    assert draw.share(50, 0, 10, False) == draw.share(float("nan"), 0, 10, False) == 1
    assert draw.share(0, 0.01, 1, True) == 0
    assert draw.share(0.1, 0.01, 1, True) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 60, [0, 20, 40, 60]), (-3, 2, [-3, -2, -1, 0, 1, 2])],
)
def test_ticks_are_round_numbers_within_the_axis(low, high, wanted):
    assert draw.ticks(low, high, False) == wanted


def test_ticks_of_a_logarithmic_axis_are_powers_of_ten():
    assert draw.ticks(0.002, 30, True) == [0.01, 0.1, 1, 10]


def test_labels_at_one_height_are_put_below_one_another():
    chart = draw.Chart((0, 1), (0, 1), "x", "y")
    for name in ("first", "second", "third"):
        chart.label(0.5, name, draw.BLUE)
    texts = ElementTree.fromstring(chart.svg("labels")).iter("text")
    heights = [int(e.get("y", 0)) for e in texts if e.text in ("first", "second", "third")]
    assert all(b - a >= 150 for a, b in pairwise(heights))


def test_the_draws_are_uniform_and_normal():
    u = draws.uniforms(1)
    some = [next(u) for _ in range(20_000)]
    assert 0 < min(some) < max(some) < 1
    assert sum(some) / len(some) == pytest.approx(0.5, abs=0.01)
    x = torch.tensor([draws.normal(u) for _ in range(20_000)])
    assert float(x.mean()) == pytest.approx(0, abs=0.03)
    assert float(x.std()) == pytest.approx(1, abs=0.03)


# Records.


@pytest.mark.parametrize("name", records.RECORDS)
def test_a_record_is_small(name):
    assert (FOLDER / f"{name}.json").stat().st_size < 150_000


def close(made: list[Any], kept: list[Any]) -> None:
    """Compare counts; processors round differently, and an example may change sides."""
    a, b = (torch.tensor(one, dtype=torch.float64).flatten() for one in (made, kept))
    assert a.shape == b.shape
    assert float((a - b).abs().mean()) < 0.05


def test_the_record_of_fedex_is_made_again_by_its_maker():
    made, kept = records.fedex(rounds=2), record("live-fedex")
    assert made["rows"] == kept["rows"]
    assert made["size"] == kept["size"][:2]
    close(made["wrong"], kept["wrong"][:2])


def test_records_are_written_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RECORDS", {"one": lambda: {"a": [1, 2]}})
    records.main(str(tmp_path))
    assert (tmp_path / "one.json").read_text() == '{"a":[1,2]}\n'


# FedEx.


@pytest.mark.parametrize("rule", rules.RULES)
def test_the_replay_of_fedex_is_the_tuner_on_the_same_scores(rule):
    data = record("live-fedex")
    path, _ = fedex.replay(data, rule, 1.0, 0.9, 3)
    tuner: Any = FedEx(LocalHP(lr=[0.1] * 27), step=rule, gamma=0.9, cutoff=0)
    u = draws.uniforms(3)
    for t, (wrong, size) in enumerate(zip(data["wrong"], data["size"], strict=True)):
        assert path[t] == pytest.approx(tuner.theta.tolist(), rel=1e-9)
        row = [rules.draw_row(path[t], next(u)) for _ in size]
        error = [w[j] / n for w, j, n in zip(wrong, row, size, strict=True)]
        tuner = tell(tuner, row, error, size)
    assert path[-1] == pytest.approx(tuner.theta.tolist(), rel=1e-9)


def tell(tuner: Any, row: list[int], error: list[float], size: list[int]) -> Any:
    score = Score(
        torch.tensor(error, dtype=torch.float64), torch.tensor(error, dtype=torch.float64)
    )
    every, n = torch.arange(len(row)), torch.tensor(size, dtype=torch.float64)
    return tuner.tell(Round(every, torch.tensor(row), n, score, score, every < 0))


def test_without_the_division_theta_commits_itself_to_no_row(monkeypatch):
    def undivided(
        theta: list[float], row: list[int], score: list[float], size: list[float], baseline: float
    ) -> list[float]:
        g = [0.0] * len(theta)
        for j, s, n in zip(row, score, size, strict=True):
            g[j] += n * (s - baseline) / sum(size)
        return g

    def likeliest() -> float:
        data = record("live-fedex")
        return sum(max(fedex.replay(data, "constant", 1, 0.9, s)[0][-1]) for s in range(20)) / 20

    divided = likeliest()
    monkeypatch.setattr(rules, "gradient", undivided)
    assert likeliest() < 0.25 < 0.5 < divided


@pytest.mark.parametrize("baseline", [0.0, 0.4])
def test_the_expected_gradient_multiplies_theta_by_the_exponential_of_the_errors(baseline):
    eta, steps = 0.3, fedex.STEPS
    unnormalised = [exp(-eta * steps * error) for error in fedex.ERRORS]
    wanted = [x / sum(unnormalised) for x in unnormalised]
    assert fedex.expected_path(baseline, eta)[-1] == pytest.approx(wanted, rel=1e-9)


def test_the_term_of_a_report_is_that_of_the_package():
    theta, size = [0.5, 0.3, 0.2], [1.0]
    for j, error, baseline in ((0, 0.3, 0.0), (2, 0.9, 0.4)):
        g = rules.gradient(theta, [j], [error], size, baseline)
        assert fedex.weighted(error, baseline, theta[j]) == pytest.approx(g[j], rel=1e-12)


def test_the_picture_of_the_expected_gradient_names_the_three_errors():
    svg = fedex.expected(0.0, 1.0)
    assert len(list(ElementTree.fromstring(svg).iter("polyline"))) >= 3
    assert len(re.findall(r">error 0\.[345]: [\d.]+<", svg)) == 3


def test_shuffling_deals_the_same_scores_to_other_clients():
    data = {"rows": ["a", "b", "c"], "size": [[4] * 6], "wrong": [[[i] * 3 for i in range(6)]]}
    (real, means), (shuffled, others) = (
        fedex.replay(data, "constant", 1.0, 0.0, 5, scores) for scores in ("real", "shuffled")
    )
    assert means == pytest.approx(others)
    assert real[-1] != pytest.approx(shuffled[-1])


def test_the_picture_of_fedex_names_its_three_likeliest_rows(capsys):
    svg = fedex.race(record("live-fedex"), "adaptive", 1.0, 0.9, 1)
    assert len(list(ElementTree.fromstring(svg).iter("polyline"))) > 27
    assert len(re.findall(r"[\d.]+ · \d: 0\.\d\d<", svg)) == 3
    assert f"{log(27):.2f} at first" in capsys.readouterr().out


# The views of the chapters, against closed forms and the package.


def test_the_average_is_that_of_the_package():
    W, n = torch.randn(3, 5, dtype=torch.float64), torch.tensor([3, 1, 7])
    ours = averaging.average(W.tolist(), [float(x) for x in n])
    assert ours == pytest.approx(weighted_average(W, n).tolist(), rel=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_averages_of_single_steps_reach_the_point_that_is_best_for_both(share):
    n = [share, 1 - share]
    servers, _ = averaging.replay(0.5, 1, 500, n)
    total = [sum(n[i] * valleys.slope(i, servers[-1])[j] for i in (0, 1)) for j in (0, 1)]
    assert total == pytest.approx([0, 0], abs=1e-9)
    assert servers[-1] == pytest.approx(valleys.best(n), abs=1e-9)


def rest(lr: float, steps: int) -> list[float]:
    """Solve ``sum_i Q_i (w - z_i) = 0`` with ``Q_i = 1 - (1 - lr A_i)^steps``."""
    Q = [[1 - (1 - lr * a) ** steps for a in shape] for shape in valleys.SHAPES]
    return [
        sum(Q[i][j] * valleys.BOTTOMS[i][j] for i in (0, 1)) / sum(Q[i][j] for i in (0, 1))
        for j in (0, 1)
    ]


def test_averages_of_many_steps_rest_where_the_parts_of_the_ways_cancel():
    servers, _ = averaging.replay(0.3, 10, 300, [0.5, 0.5])
    assert servers[-1] == pytest.approx(rest(0.3, 10), abs=1e-9)
    assert valleys.apart(servers[-1], valleys.best([0.5, 0.5])) > 0.3


def test_scaffold_reaches_the_best_point_and_without_correction_it_is_fedavg():
    corrected, _ = scaffold.replay(0.2, 10, 300, True)
    assert corrected[-1] == pytest.approx(valleys.best([0.5, 0.5]), abs=1e-9)
    plain, _ = scaffold.replay(0.2, 10, 300, False)
    assert plain[-1] == pytest.approx(rest(0.2, 10), abs=1e-9)


@pytest.mark.parametrize("eta", halving.ELIMINATIONS)
def test_halving_with_exact_errors_keeps_the_lowest_at_each_stop(eta):
    data = record("live-curves")
    plan, eliminations = halving.replay(data, 500, eta, 1e18, 1)
    assert plan.arms == eta ** halving.ELIMINATIONS[eta] <= len(data["wrong"])
    alive = list(range(plan.arms))
    for one in eliminations:
        at = sorted(alive, key=lambda a: (data["wrong"][a][one.stop - 1], a))
        cut = data["wrong"][at[len(alive) // eta - 1]][one.stop - 1]
        assert len(one.survivors) == len(alive) // eta
        assert all(data["wrong"][a][one.stop - 1] <= cut for a in one.survivors)
        alive = one.survivors


def test_an_arm_is_judged_by_the_errors_up_to_the_stop(monkeypatch):
    data, seen = record("live-curves"), []

    def judge(errors: list[float]) -> float:
        seen.append(len(errors))
        return -errors[-1]  # the worst go on

    monkeypatch.setattr(halving, "judge", judge)
    plan, eliminations = halving.replay(data, 400, 3, 1e18, 1)
    assert seen == [*plan.stops] * plan.arms
    first = eliminations[0]
    at = [wrong[first.stop - 1] for wrong in data["wrong"]]
    assert min(at[a] for a in first.survivors) >= sorted(at)[-len(first.survivors)]


def test_halving_of_maps_with_exact_errors_picks_the_best_of_each_half():
    data = record("live-features")
    alive, places = maps.replay(data, 10, 2, 1e18, 1)
    assert [len(one) for one in alive] == [64, 32, 16, 8, 4, 2, 1]
    assert [data["widths"][at] for at in places] == [10, 20, 40, 80, 160, 320]
    for at, (before, after) in zip(places, pairwise(alive), strict=True):
        wrong = data["wrong"][at]
        lost = set(before) - set(after)
        assert max(wrong[i] for i in after) <= min(wrong[i] for i in lost)


@pytest.mark.parametrize(
    ("growth", "widths"),
    [(1, [40] * 6), (1.42, [40, 57, 80, 113, 160, 226]), (4, [40, 160, 320, 320, 320, 320])],
)
def test_a_round_of_maps_uses_the_largest_recorded_width_below_its_own(growth, widths):
    data = record("live-features")
    assert [data["widths"][at] for at in maps.replay(data, 40, growth, 100, 1)[1]] == widths


def leaked(snapshots: int, paired: bool) -> tuple[float, float, float]:
    """Return the mean reported and true error over seeds, where two clients choose of 9 rows."""
    data = record("live-fedex")
    several = [tables.study(data, 9, snapshots, paired, seed) for seed in range(1, 13)]
    table, truth, _ = zip(*several, strict=True)
    return mean(one[1] for one in table), mean(one[1] for one in truth), several[0][2]


def test_a_table_reports_too_little_and_less_with_snapshots_or_other_clients_for_each_row():
    plain, true, best = leaked(1, True)
    assert plain < best <= true
    for snapshots, paired in ((5, True), (1, False)):
        reported, chosen, _ = leaked(snapshots, paired)
        assert reported < plain - 0.02
        assert abs(chosen - true) < 0.01


def test_a_number_that_did_not_choose_is_right_on_average(monkeypatch):
    monkeypatch.setattr(tables, "reported", lambda chosen, choosing, other: other[chosen])
    for paired in (True, False):
        reported, true, _ = leaked(1, paired)
        assert reported == pytest.approx(true, abs=0.006)


def test_paired_rows_meet_the_same_clients_and_others_do_not():
    clients = [[float(i)] * 3 for i in range(30)]  # each has the same error with all rows
    for paired in (True, False):
        errors = tables.measure(clients, 3, paired, iter([0.5, 0.1] * 16))
        assert len(errors) == len(tables.NUMBERS)
        assert errors[1] == ([9, 9, 9] if paired else [9, 19, 14])


def test_the_bandits_mean_regret_is_below_the_bound_and_a_baseline_lowers_it():
    data = record("live-tasks")
    loss = torch.tensor(data["loss"])
    tau, k = loss.shape
    best = float(loss.sum(0).min())

    def regret(baseline: float) -> float:
        seen = [bandit.replay(data, 16, baseline, s) for s in range(20)]
        return sum(float(loss[range(tau), arms].sum()) for arms in seen) / len(seen) - best

    limit = bandit_bound(data["most"], tau, k, 16 * bandit_eta(data["most"], 1, tau, k))
    assert 0 < regret(20) < regret(0) < limit


def test_credits_of_one_sign_decide_by_luck_and_their_mean_does_not():
    """With equal credits for all rows the mean step is 0 only where the mean is subtracted."""
    data = {"lr": [1, 2, 3], "credit": [[[50.0] * 3]] * 60}
    for s in range(5):
        assert max(credits.replay(data, 1, 100.0, 0.0, False, s)[-1]) > 0.9
        assert credits.replay(data, 1, 100.0, 0.0, True, s)[-1] == pytest.approx([1 / 3] * 3)


def test_the_corners_of_the_triangle_are_the_certain_distributions():
    for j, corner in enumerate(credits.CORNERS):
        assert credits.place([float(h == j) for h in range(3)]) == pytest.approx(corner)


def test_a_round_takes_a_model_to_the_next_error_of_the_curve():
    curve = [0.8, 0.5, 0.6, 0.3]
    assert population.advance(curve, 1.0) == 0.8
    assert population.advance(curve, 0.8) == 0.5
    assert population.advance(curve, 0.5) == 0.3
    assert population.advance(curve, 0.4) == 0.3
    assert population.advance(curve, 0.2) == 0.2  # better than the curve ever was


def test_without_copies_each_member_keeps_its_step_size():
    data = record("live-rates")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population.rules, "pair_parents", lambda scores, rho, u: [])
        members = population.replay(data, 0.1, 0.1, 3, 1)
    assert all(len(set(one.steps)) == 1 and len(one.births) == 1 for one in members)


def test_without_copies_the_best_member_is_as_good_as_its_step_sizes_alone(monkeypatch, capsys):
    monkeypatch.setattr(population.rules, "pair_parents", lambda scores, rho, u: [])
    population.evolve(record("live-rates"), 0.1, 0.1, 3, 1)
    member, alone = re.findall(r"0\.\d+", capsys.readouterr().out)
    assert member == alone


def test_a_population_copies_as_its_rules_say_and_moves_less_and_less():
    data = record("live-rates")
    members = population.replay(data, 0.2, 0.0, 3, 2)
    total, copies = len(data["wrong"][0]), 0
    for one in members:
        for t, parent in one.births[1:]:
            near = anneal(0.2, t, total) * (population.HIGH - population.LOW)
            assert abs(one.steps[t + 1] - members[parent].steps[t]) <= near + 1e-9
            copies += 1
    assert copies == 4 * (total // population.EVERY - 1)  # a third of 12, at each comparison
    for place in range(population.MEMBERS):
        line = population.lineage(members, place)
        assert (line[0][2], line[-1][1]) == (total, 0)
        assert all(later[1] == earlier[2] for later, earlier in pairwise(line))


def test_a_server_that_does_not_wait_learns_what_fast_clients_want():
    waits, hurries = (stragglers.simulate(deadline, 3.0, 1) for deadline in (4.5, 1.5))
    assert len(hurries.models) > 2.5 * len(waits.models)
    assert hurries.models[-1] < -0.99  # fast clients want -1, and all together 0
    assert abs(waits.models[-1]) < 0.01
    assert waits.in_time == [len(waits.models) - 1] * 10


def test_weights_by_how_often_a_client_is_heard_help_the_slow_ones():
    def late(weight: Any) -> float:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stragglers, "weight", weight)
            half = stragglers.simulate(2.5, 3.0, 1).models[12:]
            return abs(sum(half) / len(half))

    plain = late(lambda seconds, deadline, share: float(seconds <= deadline))
    shared = late(lambda seconds, deadline, share: 1 / share if seconds <= deadline else 0.0)
    assert shared < 0.7 * plain


REMADE: dict[str, tuple[dict[str, Any], Any]] = {
    "curves": ({"rounds": 1, "arms": 5}, lambda kept: [row[:1] for row in kept["wrong"][:5]]),
    "features": ({"widths": (10,)}, lambda kept: kept["wrong"][:1]),
}


@pytest.mark.parametrize("name", REMADE)
def test_a_small_part_of_a_record_is_made_again(name):
    part, of = REMADE[name]
    kept = record(f"live-{name}")
    close(records.RECORDS[f"live-{name}"](**part)["wrong"], of(kept))


def test_the_first_round_of_the_step_sizes_is_made_again():
    made, kept = records.rates(rounds=1), record("live-rates")
    assert made["lr"] == kept["lr"]
    close(made["wrong"], [row[:1] for row in kept["wrong"]])


def test_the_first_tasks_are_made_again():
    made, kept = records.tasks(number=1000), record("live-tasks")
    assert made["c"] == kept["c"]
    assert torch.tensor(made["loss"]) == pytest.approx(torch.tensor(kept["loss"]), abs=0.011)


def test_the_first_credits_are_made_again():
    made, kept = records.credits(rounds=1), record("live-credits")
    a, b = torch.tensor(made["credit"]), torch.tensor(kept["credit"][:1])
    assert float((a - b).abs().mean()) < 0.05


def test_in_the_animation_the_step_size_that_trains_best_becomes_likeliest():
    states = hero.replay(hero.ROUNDS)
    left = [abs(hero.local(1.0, 0.0, lr)) for lr in hero.STEPS]
    assert max(states[-1].theta) == states[-1].theta[left.index(min(left))] > 0.9
    assert states[-1].error < 0.05 < states[0].error
    assert all(sum(one.theta) == pytest.approx(1) for one in states)


@pytest.mark.parametrize("t", range(4 * hero.ROUNDS))
def test_each_frame_of_the_animation_is_a_picture_with_words(t):
    root = ElementTree.fromstring(hero.frame(t))
    assert root.get("aria-label", "").startswith(f"Round {t // 4 + 1} of 8. {hero.PHASES[t % 4]}")


# Warm-up questions.

SOLUTIONS: dict[str, str] = {
    "weighted_average": """
def weighted_average(models, n):
    return [sum(n_i * w[j] for n_i, w in zip(n, models)) / sum(n) for j in range(len(models[0]))]
""",
    "proximal": """
def proximal(g, u, w, mu):
    return g + mu * (u - w)
""",
    "rounds_used": """
def rounds_used(stops, arms, eta):
    used = before = 0
    for stop in stops:
        used += arms * (stop - before)
        arms, before = max(1, arms // eta), stop
    return used
""",
    "eg_step": """
def eg_step(theta, g, eta):
    new = [p * exp(-eta * x) for p, x in zip(theta, g)]
    return [p / sum(new) for p in new]
""",
    "best_half": """
def best_half(scores, alive):
    order = sorted(alive, key=lambda i: (scores[i] != scores[i], scores[i], i))
    return sorted(order[: -(-len(alive) // 2)])
""",
    "ogd_step": """
def ogd_step(w, g, c, radius):
    return min(max(w - c * g, -radius), radius)
""",
    "score": """
def score(pi, z):
    return [(h == z) - p for h, p in enumerate(pi)]
""",
    "child": """
def child(h, a, b, eps, u):
    return min(max(h + (2 * u - 1) * eps * (b - a), a), b)
""",
    "answered": """
def answered(seconds, deadline):
    order = sorted(range(len(seconds)), key=lambda i: seconds[i])
    return [i for i in order if seconds[i] <= deadline]
""",
    "bonferroni": """
def bonferroni(p):
    return [min(1, len(p) * x) for x in p]
""",
}
MISTAKES = [  # what a wrong answer has in place of the right one, and the first sentence that fails
    ("weighted_average", "n_i * w[j]", "w[j]", "Equal numbers"),
    ("weighted_average", "/ sum(n)", "/ len(n)", "Equal numbers"),
    ("proximal", "g + mu", "g - mu", "Where u is above w"),
    ("proximal", "g + mu * (u - w)", "g", "Where u is above w"),
    ("proximal", "g + mu * (u - w)", "mu * (u - w)", "Where u = w"),
    ("proximal", "mu * (u - w)", "mu * u", "Where u = w"),
    ("proximal", "mu * (u - w)", "(u - w)", "With mu = 0"),
    ("proximal", "mu * (u - w)", "mu / 2 * (u - w)", "It is the slope"),
    ("proximal", "mu * (u - w)", "2 * mu * (u - w)", "It is the slope"),
    ("proximal", "mu * (u - w)", "mu / 2 * (u - w) ** 2", "Equally far"),
    ("rounds_used", "stop - before", "stop", "9 arms run 3 rounds"),
    ("rounds_used", "max(1, arms // eta)", "arms // eta", "At least one"),
    ("rounds_used", "max(1, arms // eta)", "round(arms / eta)", "Of 11"),
    ("rounds_used", "max(1, arms // eta)", "arms", "9 arms run 3 rounds"),
    ("eg_step", "-eta * x", "eta * x", "A row with a low g"),
    ("eg_step", "p / sum(new)", "p", "The probabilities"),
    ("eg_step", "p * exp(-eta * x)", "exp(-eta * x)", "With eta = 0"),
    ("eg_step", "p * exp(-eta * x)", "p * max(0, 1 - eta * x)", "With eta g"),
    ("eg_step", "p * exp(-eta * x)", "p * exp(-x)", "With eta = 0"),
    ("eg_step", "p / sum(new)", "exp(p) / sum(map(exp, new))", "With eta = 0"),
    ("best_half", "-(-len(alive) // 2)", "len(alive) // 2", "Of three"),
    ("best_half", "sorted(alive", "sorted(range(len(scores))", "Of three"),
    ("ogd_step", "w - c * g", "w + c * g", "It goes against"),
    (
        "ogd_step",
        "min(max(w - c * g, -radius), radius)",
        "w - c * g",
        "A step too far to the right",
    ),
    ("score", "(h == z) - p", "float(h == z)", "Its entries"),
    ("score", "(h == z) - p", "(h == z) / p - 1", "Its entries"),
    ("child", "2 * u - 1", "u", "With u = 1/2"),
    ("child", "2 * u - 1", "u - 0.5", "With u = 1 it moves up"),
    ("child", "eps * (b - a)", "eps", "With u = 1 it moves up"),
    (
        "child",
        "h + (2 * u - 1) * eps * (b - a), a), b)",
        "h, a), b) + (2 * u - 1) * eps * (b - a)",
        "What would leave",
    ),
    ("answered", "key=lambda i: seconds[i]", "key=lambda i: i", "If all are in time"),
    ("answered", " if seconds[i] <= deadline", "", "What came after"),
    ("answered", "<= deadline", "< deadline", "An answer at"),
    ("bonferroni", "len(p) * x", "x", "Of three"),
    ("bonferroni", "len(p) * x", "x / len(p)", "Of three"),
    ("bonferroni", "min(1, len(p) * x)", "len(p) * x", "None is above 1"),
    (
        "bonferroni",
        "return [min(1, len(p) * x) for x in p]",
        "q = list(p); p.clear(); return [min(1, len(q) * x) for x in q]",
        "The list",
    ),
]


def failed(name: str, text: str) -> list[str]:
    space = dict(vars(warmup))  # as in the page, which puts the text in the module
    exec(text, space)
    return [sentence for ok, sentence in getattr(checks, name)(space[name]) if not ok]


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_right_answer_to_a_warm_up_passes_all_its_checks(name):
    assert failed(name, SOLUTIONS[name]) == []


@pytest.mark.parametrize(("name", "right", "wrong", "sentence"), MISTAKES)
def test_a_wrong_answer_to_a_warm_up_is_told_what_does_not_hold(name, right, wrong, sentence):
    assert right in SOLUTIONS[name]
    found = failed(name, SOLUTIONS[name].replace(right, wrong))
    assert found[0].startswith(sentence)


def test_each_warm_up_has_checks_and_says_that_it_is_to_be_written():
    names = [name for name, one in inspect.getmembers(warmup, inspect.isfunction)]
    assert sorted(names) == sorted(SOLUTIONS)
    for name in names:
        with pytest.raises(NotImplementedError, match="write the function here"):
            list(getattr(checks, name)(getattr(warmup, name)))
