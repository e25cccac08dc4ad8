"""Results as tables and as plots: against loops over histories, and traces written by hand."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from fedlab_edu import (
    Federation,
    FedProx,
    FedTune,
    LocalHP,
    ServerHP,
    bayesian_search,
    clocked,
    digits,
    fedpop,
    fedtune,
    hyperband,
    linear,
    successive_halving,
    tune,
)
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.baselines import Arm, draw_arms, make_arms, race
from fedlab_edu.search.distributions import Choice
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race
from fedlab_edu.search.results import arms_table, online
from fedlab_edu.search.schedules import Schedule, bracket
from fedlab_edu.search.space import FEDEX, SearchSpace, Spaces
from fedlab_edu.widgets.picture import BLUE, COLOURS, GREY, ORANGE, svg
from fedlab_edu.widgets.plots import plot_chosen, plot_online, plot_race

MODEL = linear(64, 10)
NAN, INF = float("nan"), float("inf")
THREE = bracket((2, 4, 6), 4, 2)  # 4 arms up to round 2, 2 up to round 4, 1 up to round 6
TRACES = [[0.9, 0.8], [0.5, 0.3, 0.6, 0.5], [0.6, 0.4, 0.2, 0.4, 0.3, 0.1], [0.2, 0.7]]
OUT = [2, 4, None, 2]


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


@pytest.fixture(scope="module")
def halving(fed):
    """A race before its first round and after each."""
    how = {"method": FedProx(), "estimate": Estimate(gamma=0.5)}
    return followed(successive_halving(MODEL, fed, FEDEX, 24, 10, 2, 2, **how), fed)


@pytest.fixture(scope="module")
def brackets(fed):
    """Hyperband with three brackets, before its first round and after each."""
    return followed(hyperband(MODEL, fed, FEDEX, 70, 9, seed=1, method=FedProx()), fed)


def followed(search: Race, fed: Federation) -> list[Race]:
    states = [search]
    while not search.done:
        search = search.step(MODEL, fed, 3)
        states.append(search)
    return states


def by_hand(
    fed: Federation,
    traces: Sequence[Sequence[float]] = TRACES,
    out: Sequence[int | None] = OUT,
    schedules: Sequence[Schedule] = (THREE,),
    arms: Sequence[Arm] = (),
    **estimate,
) -> Race:
    """A race with these traces; its runs have played as many rounds, and have no history."""
    arms = arms or make_arms(LocalHP(lr=[0.1 * (a + 1) for a in range(len(traces))]))
    begun = race(MODEL, fed, arms, schedules, estimate=Estimate(**estimate), method=FedProx())
    runs = tuple(replace(r, round=len(t)) for r, t in zip(begun.runs, traces, strict=True))
    return replace(begun, runs=runs, traces=tuple(map(tuple, traces)), out=tuple(out))


def rows(table: pandas.DataFrame) -> list[tuple]:
    return list(table.itertuples(index=False, name=None))


def test_tables_of_a_race_that_has_not_begun_have_the_same_columns(halving):
    begun, over = halving[0], halving[-1]
    assert len(online(begun)) == 0 < len(online(over))
    assert online(begun).dtypes.to_dict() == online(over).dtypes.to_dict()
    assert arms_table(begun).dtypes.to_dict() == arms_table(over).dtypes.to_dict()
    assert arms_table(begun)["rounds"].tolist() == [0] * 4
    assert arms_table(begun).score.isna().all()
    assert arms_table(begun).out.isna().all()


# arms


def test_the_table_of_arms_has_each_arms_configuration_and_fate(fed):
    client = [LocalHP(lr=0.1, batch=8), LocalHP(lr=0.2), LocalHP(mu=0.5), LocalHP(epochs=3)]
    server = [ServerHP(lr=2), ServerHP(), ServerHP(momentum=0.9), ServerHP(decay=0.99)]
    arms = [Arm(Fixed(c), b) for c, b in zip(client, server, strict=True)]
    table = arms_table(by_hand(fed, arms=arms))
    expected = {
        "arm": [0, 1, 2, 3],
        "bracket": [0, 0, 0, 0],
        "method": ["FedProx(optimizer='sgd')"] * 4,
        "client_lr": [0.1, 0.2, 0.1, 0.1],
        "client_momentum": [0, 0, 0, 0],
        "client_weight_decay": [0, 0, 0, 0],
        "client_mu": [0, 0, 0.5, 0],
        "client_dropout": [0, 0, 0, 0],
        "client_batch": [8, 32, 32, 32],
        "client_epochs": [1, 1, 1, 3],
        "server_lr": [2, 1, 1, 1],
        "server_momentum": [0, 0, 0.9, 0],
        "server_decay": [1, 1, 1, 0.99],
        "server_control_lr": [1, 1, 1, 1],
        "server_control_decay": [1, 1, 1, 1],
        "rounds": [2, 4, 6, 2],
        "score": [0.8, 0.5, 0.1, 0.7],
        "chosen": [False, False, True, False],
    }
    assert table.drop(columns="out").to_dict("list") == expected
    assert table.out.dtype == "Int64"
    assert table.out.isna().tolist() == [False, False, True, False]
    assert table.out.dropna().tolist() == [2, 4, 2]


def test_a_configuration_for_each_client_has_no_single_value(fed):
    server = SearchSpace({"lr": Choice((0.5,))}, ServerHP)
    own = draw_arms(Spaces(SearchSpace({"lr": Choice((0.1, 0.2))}), server, 14), 1)
    one = [Arm(Fixed(LocalHP(lr=[0.3])), ServerHP())]  # a table of one row, a column of length 1
    table = arms_table(race(MODEL, fed, own + one, [bracket((3,), 2, 2)]))
    for name in LocalHP().columns:
        assert table[f"client_{name}"].isna().tolist() == [True, False]
    assert table.client_lr[1] == 0.3
    assert table.server_lr.tolist() == [0.5, 1]


def test_arms_are_numbered_through_all_brackets(fed):
    two = [bracket((1, 2), 2, 2), bracket((2,), 3, 2)]
    traces = [[0.4], [0.2, 0.6], [0.5, 0.5], [0.5, 0.4], [0.3, 0.7]]
    table = arms_table(by_hand(fed, traces, [1, None, None, None, None], two))
    assert table.arm.tolist() == [0, 1, 2, 3, 4]
    assert table.bracket.tolist() == [0, 0, 1, 1, 1]
    assert table.chosen.tolist() == [False, False, False, True, False]
    assert table.score.tolist() == [0.4, 0.6, 0.5, 0.4, 0.7]


def test_the_score_is_a_mean_since_the_last_stop(fed):
    # the stops are 2 and 4: of the arms' traces the last 2 rounds count, whichever arm it is
    table = arms_table(by_hand(fed, gamma=1.0))
    assert table.score.tolist() == pytest.approx([0.85, 0.55, 0.2, 0.45])


# the online curve


def test_the_online_curve_is_the_best_living_arm_at_each_step(fed):
    # 4 arms take 2 steps, 2 take 2, 1 takes 2. At the first stop arms 0 and 3 leave.
    assert rows(online(by_hand(fed))) == [
        (4, 3, 0.2), (8, 1, 0.3), (10, 2, 0.2), (12, 2, 0.4), (13, 2, 0.3), (14, 2, 0.1),
    ]  # fmt: skip


def test_its_scores_are_means_since_the_last_stop(fed):
    found = online(by_hand(fed, gamma=1.0))
    assert found.arm.tolist() == [3, 1, 2, 2, 2, 2]
    assert found.score.tolist() == pytest.approx([0.2, 0.4, 0.2, 0.3, 0.3, 0.2])


def test_an_arm_that_has_just_been_eliminated_is_not_chosen(fed):
    traces = [[0.1, 0.1], [0.2, 0.2, 0.2]]  # as if the worse of the two had been kept
    found = online(by_hand(fed, traces, [2, None], [bracket((2, 3), 2, 2)]))
    assert rows(found) == [(2, 0, 0.1), (4, 1, 0.2), (5, 1, 0.2)]


def test_the_best_of_a_bracket_stays_until_a_later_one_beats_it(fed):
    three = [bracket((1, 2), 2, 2), bracket((2,), 2, 2), bracket((1,), 1, 2)]
    traces = [[0.4, 0.3], [0.9], [0.8, 0.3], [0.2, 0.5], [0.3]]
    found = online(by_hand(fed, traces, [None, 1, None, None, None], three))
    assert rows(found) == [
        (2, 0, 0.4), (3, 0, 0.3),  # arms 0 and 1
        (5, 3, 0.2), (7, 0, 0.3),  # arms 2 and 3: a lucky round, then a tie
        (8, 0, 0.3),
    ]  # fmt: skip


def test_scores_that_are_not_finite_are_chosen_last(fed):
    traces = [[NAN, INF, INF], [INF, 0.9, NAN], [NAN, NAN, 0.8]]
    found = online(by_hand(fed, traces, [None] * 3, [bracket((3,), 3, 2)]))
    assert found.arm.tolist() == [0, 1, 2]  # none is finite in the first round
    assert found.score.tolist() == pytest.approx([NAN, 0.9, 0.8], nan_ok=True)


def test_the_online_curve_is_what_was_best_while_the_race_went_on(halving):
    seen = [(search.used, search.best, search.best_score) for search in halving[1:]]
    assert rows(online(halving[-1])) == seen


def test_the_online_curve_of_brackets_is_that_of_playing_one_after_another(brackets, fed):
    whole, expected, spent = brackets[-1], [], 0
    found = [(INF, -1)]  # the best of the brackets before
    first = 0
    for one in whole.brackets:
        own = range(first, first + one.arms)
        for t in range(1, one.stops[-1] + 1):
            spent += sum(whole.runs[a].round >= t for a in own)
            alive = [a for a in own if whole.out[a] is None or whole.out[a] > t]
            now = [(whole.traces[a][t - 1], a) for a in alive]
            score, best = min(found + now)
            expected.append((spent, best, score))
        found, first = [min(found + now)], own.stop
    assert rows(online(whole)) == expected
    assert expected[-1] == (whole.total, whole.best, whole.best_score)


def test_the_online_curve_keeps_its_rows_when_the_race_goes_on(brackets):
    whole, lengths = rows(online(brackets[-1])), []
    for search in brackets:
        part = rows(online(search))
        assert part == whole[: len(part)]
        lengths.append(len(part))
    assert lengths == [*range(9), 27]  # all brackets, of 9 rounds each, end with the same step


def test_one_arm_is_chosen_throughout(fed):
    alone = by_hand(fed, [[0.4, 0.5]], [None], [bracket((2,), 1, 2)])
    assert rows(online(alone)) == [(1, 0, 0.4), (2, 0, 0.5)]
    assert arms_table(alone).chosen.tolist() == [True]


def test_the_online_table_of_a_population_is_its_best_member_after_each_round(fed):
    spaces, seen = Spaces(SearchSpace({"lr": Choice((0.001, 0.01, 0.1, 1.0))})), []
    begun = fedpop(MODEL, fed, spaces, 60, 12, T_g=2, seed=2)
    done = tune(
        begun, MODEL, fed, 5, callback=lambda s: seen.append((s.used, s.best, s.best_score))
    )
    assert {birth.parent for birth in done.births} != {None}  # some have copied others
    assert rows(online(done)) == seen


def test_without_pandas_the_tables_say_how_to_get_it(fed, monkeypatch):
    search = by_hand(fed)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for make in (arms_table, online, plot_chosen):
        with pytest.raises(ModuleNotFoundError, match=re.escape("pip install 'fedlab_edu[tune]'")):
            make(search)


# plots


def lines(ax: Axes) -> dict[tuple[float, ...], str]:
    """The heights of each line and its colour; upright lines are left out."""
    return {tuple(line.get_ydata()): to_hex(line.get_color()) for line in ax.lines
            if line.get_linestyle() != ":" and line.get_marker() != "x"}  # fmt: skip


def crosses(ax: Axes) -> list[tuple[float, float]]:
    return sorted(tuple(xy) for line in ax.lines if line.get_marker() == "x"
                  for xy in line.get_xydata())  # fmt: skip


def upright(ax: Axes) -> list[float]:
    return [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]


def legend(fig: Figure) -> list[str]:
    return [text.get_text() for draw_arms in fig.legends for text in draw_arms.get_texts()]


def test_the_picture_of_a_race_shows_every_trace_and_who_left_when(fed):
    fig = plot_race(by_hand(fed))
    (ax,) = fig.axes
    assert list(lines(ax).items()) == [
        (tuple(trace), ORANGE if a == 2 else GREY) for a, trace in enumerate(TRACES)
    ]
    for line in ax.lines:
        if line.get_linestyle() == "-":
            assert list(line.get_xdata()) == list(range(1, len(line.get_ydata()) + 1))
    assert crosses(ax) == [(2, 0.7), (2, 0.8), (4, 0.5)]
    assert upright(ax) == [2, 4]
    assert legend(fig) == ["arm 2, chosen", "eliminated"]
    assert ax.get_xlabel() == "round of the arm"
    assert ax.get_ylabel() == "validation error, personalised"


def test_the_picture_of_a_race_that_goes_on_names_the_best_so_far(fed):
    fig = plot_race(by_hand(fed, [[0.9], [0.5], [0.6], [0.5]], [None] * 4))
    assert legend(fig) == ["not eliminated", "arm 1, best so far"]
    (ax,) = fig.axes
    assert [to_hex(line.get_color()) for line in ax.lines[2:]] == [BLUE, ORANGE, BLUE, BLUE]
    assert {line.get_marker() for line in ax.lines[2:]} == {"."}  # one round makes no line


def test_before_the_first_round_no_arm_is_named(fed):
    begun = by_hand(fed, [[]] * 4, [None] * 4)
    for fig in (plot_race(begun), plot_chosen(begun)):
        assert not any("arm" in label for label in legend(fig))
    assert upright(plot_race(begun).axes[0]) == [2, 4]
    (line,) = plot_online({"none yet": begun}).axes[0].lines
    assert len(line.get_xdata()) == 0


def test_arms_that_left_without_a_finite_score_are_marked_at_the_edge(fed):
    traces = [[0.9, INF], TRACES[1], TRACES[2], [0.2, NAN]]
    fig = plot_race(by_hand(fed, traces, OUT))
    (ax,) = fig.axes
    assert crosses(ax) == [(2, 1), (2, 1), (4, 0.5)]
    (edge,) = [line for line in ax.lines if line.get_label() == "eliminated, score not finite"]
    fig.draw_without_rendering()  # sets the limits of the axes
    top = ax.transAxes.transform((0, 1))[1]
    assert edge.get_transform().transform((2, 1))[1] == pytest.approx(top)


def test_only_losses_far_apart_get_a_logarithmic_axis(fed):
    far = [[5.0, 0.01], [0.5, 0.4, 0.3, 0.2], [0.5] * 6, [0.5, INF]]
    near = [[0.5, 0.01], *far[1:]]  # a factor of 50
    zero = [[5.0, 0.0], *far[1:]]
    for traces, score, scale in ((far, "loss", "log"), (near, "loss", "linear"),
                                 (zero, "loss", "linear"), (far, "error", "linear")):  # fmt: skip
        (ax,) = plot_race(by_hand(fed, traces, score=score, target="global")).axes
        assert ax.get_yscale() == scale
        assert ax.get_ylabel() == f"validation {score}, global"


def test_the_picture_of_the_online_curve_has_a_step_line_for_each_search(fed):
    names = [f"search {i}" for i in range(7)]
    fig = plot_online({name: by_hand(fed) for name in names})
    (ax,) = fig.axes
    for line in ax.lines:
        assert list(line.get_xdata()) == [4, 8, 10, 12, 13, 14]
        assert list(line.get_ydata()) == [0.2, 0.3, 0.2, 0.4, 0.3, 0.1]
        assert line.get_drawstyle() == "steps-post"
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 7
    assert legend(fig) == names
    assert ax.get_xlabel() == "communication rounds spent, all arms"
    assert ax.get_ylabel() == "validation error, personalised"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("races", "message"), [([1], "races is 'list'"), ({"a": 1}, r"races\['a'\] is 'int'")]
)
def test_curves_of_what_are_no_races_by_name_are_refused(races, message):
    with pytest.raises(ValueError, match=message):
        plot_online(races)


def test_curves_of_different_scores_are_not_drawn_together(fed):
    one, other = by_hand(fed), by_hand(fed, target="global")
    with pytest.raises(ValueError, match="allowed: the same target and score"):
        plot_online({"one": one, "other": other})
    with pytest.raises(ValueError, match=r"races is \{\}; allowed: at least one"):
        plot_online({})
    plot_online({"one": one, "other": by_hand(fed, gamma=0.5)})


def points(ax: Axes) -> dict[str, list[tuple[float, float]]]:
    return {draw_arms.get_label(): [tuple(xy) for xy in draw_arms.get_offsets().tolist()]
            for draw_arms in ax.collections}  # fmt: skip


def test_each_hyperparameter_that_differs_has_a_strip_with_every_arm(fed):
    c = LocalHP(lr=[0.001, 0.01, 0.1, 1], mu=[0, 1, 2, 1000], dropout=[0.1, 0.2, 0.3, 0.4])
    momentum = [0.9, 0, 0.9, 0]
    arms = [Arm(Fixed(c[a]), ServerHP(momentum=m)) for a, m in enumerate(momentum)]
    fig = plot_chosen(by_hand(fed, arms=arms))
    assert [ax.get_ylabel() for ax in fig.axes] == [
        "client lr", "client mu", "client dropout", "server momentum",
    ]  # fmt: skip
    assert [ax.get_xscale() for ax in fig.axes] == ["log", "linear", "linear", "linear"]
    assert legend(fig) == ["eliminated", "arm 2, chosen"]
    # arm 2 won, arm 1 was the last to leave, and arm 3 left with a lower score than arm 0
    height = [0, 2, 3, 1]
    columns = (c.lr.tolist(), c.mu.tolist(), c.dropout.tolist(), momentum)
    for ax, values in zip(fig.axes, columns, strict=True):
        every = list(zip(values, height, strict=True))
        assert points(ax) == {
            "eliminated": [every[a] for a in (0, 1, 3)],
            "arm 2, chosen": [every[2]],
        }


@pytest.mark.parametrize("unknown", [INF, NAN])
def test_strips_tell_apart_the_chosen_arm_those_left_and_those_out(unknown, fed):
    traces = [[0.4] * 2, [unknown] * 2, [0.5] * 2, [0.3] * 2, [0.1]]
    schedules = [bracket((2,), 3, 2), bracket((1, 2), 2, 2)]
    (ax,) = plot_chosen(by_hand(fed, traces, [None] * 4 + [1], schedules)).axes
    found = points(ax)
    assert [x for x, _ in found["not eliminated"]] == pytest.approx([0.1, 0.2, 0.3])
    assert [y for _, y in found["not eliminated"]] == [3, 1, 2]  # the diverged one is the last
    assert found["arm 3, chosen"] == [(pytest.approx(0.4), 4)]
    assert found["eliminated"] == [(pytest.approx(0.5), 0)]
    colours = {c.get_label(): to_hex(c.get_facecolor()[0]) for c in ax.collections}
    assert colours == {"not eliminated": BLUE, "arm 3, chosen": ORANGE, "eliminated": GREY}


def test_arms_that_do_not_differ_make_no_strips(fed):
    alone = by_hand(fed, [[0.4]], [None], [bracket((1,), 1, 2)])
    message = r"hyperparameters that differ is \[\]; allowed: arms that differ in at least one"
    with pytest.raises(ValueError, match=message):
        plot_chosen(alone)
    own = draw_arms(Spaces(SearchSpace({"lr": Choice((0.1, 0.2))}), clients=14), 4)
    with pytest.raises(ValueError, match=message):
        plot_chosen(by_hand(fed, arms=own))


def test_plots_of_real_races_are_drawn_in_the_pages_colours_and_leave_pyplot_alone(
    halving, brackets
):
    for search in (halving[1], brackets[-1]):
        for fig in (plot_race(search), plot_online({"a": search}), plot_chosen(search)):
            draw_arms = svg(fig, "a plot")
            assert "currentColor" in draw_arms
            assert set(re.findall(r"#[0-9a-f]{6}\b", draw_arms)) <= set(COLOURS)
            assert plt.get_fignums() == []


def test_every_search_has_a_table_and_a_plot_of_its_arms(fed):
    spaces = Spaces(SearchSpace({"lr": Choice((0.05, 0.1, 0.2))}))
    grid = spaces.client.grid()
    for begun in (
        bayesian_search(MODEL, fed, spaces, 4, 1, first=2),
        fedpop(MODEL, fed, spaces, 8, 2, T_g=1),
        clocked(fedpop(MODEL, fed, spaces, 8, 2, T_g=1), lambda i, r: 1.0 + i),
        fedtune(MODEL, fed, grid, 2),
    ):
        assert len(repr(begun)) < 100
        assert arms_table(begun)["score"].isna().all()
        assert not plot_race(begun).axes[0].get_lines()[0].get_xdata().size
        done = tune(begun, MODEL, fed, 14)
        table = arms_table(done)
        lines = [line for line in plot_race(done).axes[0].get_lines() if len(line.get_xdata())]
        assert table["rounds"].sum() == done.used == sum(len(one.get_xdata()) for one in lines)
        assert table["chosen"].sum() == 1
        (chosen,) = table["score"][table["chosen"]]
        if isinstance(done, FedTune):
            losses = [one.loss for one in done.history]
            assert lines[0].get_ydata().tolist() == losses
            assert (chosen, min(losses)) == (losses[-1], done.best_score)
        else:
            assert chosen == done.best_score
            runs = getattr(done, "race", done).runs
            assert table["client_lr"].tolist() == [run.tuner.final.lr for run in runs]
    with pytest.raises(ValueError, match="search is 'int'; allowed: one with arms, as a Race"):
        arms_table(3)
