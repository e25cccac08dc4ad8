"""Random searches: a race is each arm alone, round by round, and eliminations by a plain sort."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from fedlab_edu import (
    Choice,
    Clients,
    Estimate,
    FedAvg,
    Federation,
    LogUniform,
    Run,
    Scaffold,
    SearchSpace,
    ServerHP,
    Spaces,
    Uniform,
    around,
    communicate,
    hyperband,
    linear,
    random_search,
    start,
    successive_halving,
    tune,
)
from fedlab_edu.methods import FedAdam
from fedlab_edu.search.baselines import draw_arms, fixed_tuner
from fedlab_edu.seeds import seed_for
from tests.fuzz import fuzz
from tests.vectors import F64

MODEL = linear(3, 3)
METHODS = {"fedavg": FedAvg(), "scaffold": Scaffold(), "fedadam": FedAdam()}
SPACES = Spaces(
    SearchSpace(
        {"lr": LogUniform(1e-3, 1e3), "momentum": Uniform(0, 0.9), "batch": Choice((2, 8))}
    ),
    SearchSpace({"lr": Choice((0.5, 1.0))}, ServerHP),
)
SEARCHES = {"random": random_search, "halving": successive_halving, "hyperband": hyperband}


def federation(sizes: list[int], seed: int) -> Federation:
    """Clients with 4 training examples each, and some validation examples, at least one in all."""
    gen, N = torch.Generator().manual_seed(seed), len(sizes)
    x = torch.randn(4 * N + sum(sizes) + 1, 3, generator=gen, dtype=F64)
    y = (x @ torch.randn(3, 3, generator=gen, dtype=F64)).argmax(1)
    train, val = torch.arange(len(x)).split([4 * N, sum(sizes) + 1])
    parts = [
        Clients(x, y, rows) for rows in (train.split(4), val.split([sizes[0] + 1, *sizes[1:]]))
    ]
    return Federation(parts[0], parts[1], parts[1], tuple("abcdef"[:N]), 3)


def plain_score(run: Run, fed: Federation, how: Estimate) -> float:
    """The score of the last round; NaN if no client could validate."""
    if how.target == "averaged":
        x, y = fed.val.x[torch.cat(fed.val.rows)], fed.val.y[torch.cat(fed.val.rows)]
        outputs = x @ run.w[:9].view(3, 3) + run.w[9:]
        losses = F.cross_entropy(outputs, y, reduction="none")
        return float((losses if how.score == "loss" else (outputs.argmax(1) != y).double()).mean())
    last = run.history[-1]
    found = last.before if how.target == "global" else last.after
    total = weight = 0.0
    for loss, error, n in zip(found.loss, found.error, last.size, strict=True):
        if n:
            value = float(loss) if how.score == "loss" else min(1.0, float(error))
            total, weight = total + float(n) * value, weight + float(n)
    return total / weight if weight else math.nan


def plain_estimate(trace: list[float], since: int, gamma: float) -> float:
    known = [s for s in trace[since:] if not math.isnan(s)]
    known = known or [s for s in trace if not math.isnan(s)][-1:]
    if not known:
        return math.nan
    weights = [gamma ** (len(known) - 1 - i) if gamma or i == len(known) - 1 else 0.0
               for i in range(len(known))]  # fmt: skip
    pairs = [(w, s) for w, s in zip(weights, known, strict=True) if w]
    return sum(w * s for w, s in pairs) / sum(weights)


def plain_race(search: Any, runs: list[Run], fed: Federation, B: int, best_seen: bool) -> Any:
    """Traces, the rounds at which arms were eliminated, and scores; and the lowest score seen."""
    how, traces, out = search.estimate, [[] for _ in runs], [None] * len(runs)
    since, seen = [0] * len(runs), []
    for bracket, arms in zip(search.brackets, search.arms, strict=True):
        alive = [*arms]
        for t in range(1, bracket.stops[-1] + 1):
            for a in alive:
                runs[a] = communicate(runs[a], MODEL, fed, B)
                traces[a].append(plain_score(runs[a], fed, how))
            now = {a: plain_estimate(traces[a], since[a], how.gamma) for a in alive}
            seen += [(t, score) for score in now.values()]
            for _ in range(bracket.stops[:-1].count(t)):
                rank = sorted(alive, key=lambda a: (math.inf if math.isnan(now[a]) else now[a], a))
                stay = sorted(rank[: max(1, len(alive) // bracket.eta)])
                for a in set(alive) - set(stay):
                    out[a] = t
                alive = stay
            if t in bracket.stops[:-1]:
                for a in alive:
                    since[a] = t
    return traces, out, seen


@fuzz(8, 500)
@given(
    st.sampled_from([*SEARCHES]), st.sampled_from([*METHODS]), st.integers(1, 4),
    st.integers(0, 12), st.integers(2, 3), st.lists(st.integers(0, 3), min_size=2, max_size=5),
    st.sampled_from(["global", "personalised", "averaged"]), st.sampled_from(["error", "loss"]),
    st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from(["survivor", "best_seen"]), st.booleans(),
    st.integers(0, 2**40), st.data(),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")  # a rate of 1000 diverges, and tune says so
def test_a_race_is_a_plain_loop_over_its_arms(
    kind: str, method: str, cap: int, more: int, eta: int, sizes: list[int], target: Any,
    score: Any, gamma: float, select: Any, fedex: bool, seed: int, data: st.DataObject,
) -> None:  # fmt: skip
    fed, B = federation(sizes, seed % 97), data.draw(st.integers(1, len(sizes)))
    least = {"random": cap, "halving": cap + eta - 1, "hyperband": 3 * eta * cap}[kind]
    extra = {"random": (), "halving": (eta, 1), "hyperband": (eta,)}[kind]
    tuner = around(SPACES.client, 3) if fedex else fixed_tuner
    rounds = least + more if kind != "halving" else least + min(more, (cap - 1) * (eta - 1))
    search = SEARCHES[kind](
        MODEL, fed, SPACES, rounds, cap, *extra, seed=seed, tuner=tuner, select=select,
        method=METHODS[method], estimate=Estimate(target, score, gamma),
    )  # fmt: skip
    arms = draw_arms(SPACES, len(search.runs), seed, tuner)
    runs = [start(MODEL, fed, arm.tuner, arm.b, seed_for(seed, a), METHODS[method])
            for a, arm in enumerate(arms)]  # fmt: skip
    traces, out, seen = plain_race(search, runs, fed, B, select == "best_seen")
    done = tune(search, MODEL, fed, B)
    assert [*done.out] == out
    for one, plain in zip(done.traces, traces, strict=True):
        assert one == pytest.approx(plain, rel=1e-7, nan_ok=True)
    finite = [score for _, score in seen if score < math.inf]
    if select == "best_seen" and finite:
        assert done.seen[0] == pytest.approx(min(finite), rel=1e-7)
    for a in done.alive:
        torch.testing.assert_close(done.runs[a].w, runs[a].w, rtol=1e-7, atol=1e-9)
