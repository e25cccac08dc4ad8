"""Searches by noisy scores: the noise has the stated law, and without it nothing changes."""

from collections import Counter
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedlab_edu import digits, linear
from fedlab_edu.data import Federation
from fedlab_edu.papers.experiment import bundled
from fedlab_edu.papers.fedex import SETTINGS
from fedlab_edu.papers.fedpop import Member
from fedlab_edu.papers.noise import NOISE, SEARCHES, Noise, NoisyMember
from fedlab_edu.papers.searches import Setting
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.run import Run
from fedlab_edu.search.space import FEDEX
from fedlab_edu.search.tune import tune
from fedlab_edu.training.scores import Score


def played(error: Tensor, row: Tensor, size: Tensor | None = None) -> Round:
    n = len(error)
    size = torch.full((n,), 9) if size is None else size
    score = Score(3 * error, error)
    return Round(torch.arange(n), row, size, score, score, torch.zeros(n, dtype=torch.bool))


def gen(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_only_some_clients_evaluate_and_all_that_can_are_asked_equally_often():
    error, size = torch.linspace(0, 1, 6).double(), torch.tensor([5, 0, 7, 1, 0, 9])
    asked: Counter[int] = Counter()
    for seed in range(3000):
        seen = Noise(2).hide(played(error, torch.zeros(6, dtype=torch.long), size), gen(seed))
        who = seen.size.nonzero()[:, 0].tolist()
        assert len(who) == 2
        assert seen.after.error[who].tolist() == error[who].tolist()
        asked.update(who)
    assert set(asked) == {0, 2, 3, 5}
    assert stats.chisquare([*asked.values()]).pvalue > 0.01


def test_the_server_sees_mean_errors_with_noise_of_laplace_m_by_n_epsilon():
    rows, n, epsilon, looks = 4000, 5, 100.0, 3
    row, errors = torch.arange(rows).repeat(n), [0.1, 0.3, 0.5, 0.7, 0.9]
    error = torch.tensor(errors).double().repeat_interleave(rows)
    seen = Noise(rows * n, epsilon, looks).hide(played(error, row), gen())
    assert torch.equal(seen.after.error, seen.after.error[:rows].repeat(n))  # one score for a row
    assert torch.equal(seen.after.loss, seen.after.error)  # losses have no bound, and stay hidden
    assert not any(score.any() for score in seen.before)
    scale = looks / (n * epsilon)
    noise = (seen.after.error[:rows] - 0.5).numpy()
    assert stats.kstest(noise, stats.laplace(0, scale).cdf).pvalue > 0.01
    # the variance of a sample's variance is (kurtosis - 1) / rows: 5 / 4000
    assert noise.var() == pytest.approx(2 * scale**2, rel=4 * (5 / rows) ** 0.5)


def test_scores_stay_between_0_and_1_and_a_client_that_diverged_counts_as_1():
    error, row = torch.tensor([inf, 0.5, 0.0]).double(), torch.tensor([0, 1, 2])
    for epsilon in (1e-6, 1e12):
        seen = Noise(3, epsilon).hide(played(error, row), gen())
        assert ((seen.after.error >= 0) & (seen.after.error <= 1)).all()
    assert seen.after.error.tolist() == pytest.approx([1, 0.5, 0], abs=1e-9)


def wrong(outputs: Tensor, y: Tensor) -> Tensor:
    """Return a loss whose value is the error, and whose gradient is that of the cross-entropy."""
    smooth = cross_entropy(outputs, y, reduction="none")
    return smooth - smooth.detach() + (outputs.argmax(-1) != y).to(smooth)


def small(seed: int) -> Federation:
    """Give 8 validation examples to each client, so that weights by size round to nothing."""
    fed = digits(clients=14, seed=seed)
    return replace(fed, val=replace(fed.val, rows=tuple(rows[:8] for rows in fed.val.rows)))


SPACES = replace(FEDEX, client=FEDEX.client.without("dropout"))
SMALL = Setting(
    bundled(small), lambda: replace(linear(64, 10), loss=wrong), SPACES, 24, 8, 3, 1, clients=4, k=3
)


def finished(variant: Member, path: Path | None = None) -> tuple[Run, list[Tensor]]:
    """Return the winner, and what each arm's tuner has learnt."""
    model, fed = SMALL.model(), SMALL.load(3)
    search = tune(variant.search(SMALL, model, fed, 3), model, fed, SMALL.clients, path=path)
    learnt = [getattr(run.tuner, "theta", run.tuner.table.lr) for run in search.runs]
    return search.winner, learnt


@pytest.mark.parametrize("name", SEARCHES)
def test_without_noise_a_search_is_the_plain_one_bit_by_bit(name, tmp_path):
    wrapper, _, tuner = name.partition(" + ")
    of = name, wrapper, "personalised", tuner or "none"
    plain, learnt = finished(Member(*of))
    clear = NoisyMember(*of, noise=Noise(4))
    same, also = finished(clear, tmp_path / "search")
    assert torch.equal(plain.w, same.w)
    assert all(map(torch.equal, learnt, also))
    few = replace(clear, noise=Noise(1))
    if tuner:  # which learns from other clients
        assert not all(map(torch.equal, learnt, finished(few)[1]))


def test_noise_does_not_reach_training():
    clear = NoisyMember("RS", "RS", "personalised", "none", noise=Noise(4))
    model, fed = SMALL.model(), SMALL.load(3)
    one, other = (
        tune(v.search(SMALL, model, fed, 3), model, fed, SMALL.clients)
        for v in (clear, replace(clear, noise=Noise(1, 0.1)))
    )
    assert all(torch.equal(a.w, b.w) for a, b in zip(one.runs, other.runs, strict=True))
    assert one.scores != other.scores


def test_private_noise_grows_with_the_rounds_that_a_search_looks_at():
    setting = SETTINGS["book"]["digits"]
    model, fed = setting.model(), setting.load(0)
    found = {v.name: v.search(setting, model, fed, 0).noise.looks for v in NOISE.variants}
    # five arms at the end; 27, 9 and 3 at the eliminations; each round of all arms
    by_hand = {"RS": 5, "SHA": 27 + 9 + 3, "RS + FedEx": 200, "RS + FedPop": 200}
    for name, looks in found.items():
        assert looks == by_hand[name.partition(",")[0]]
