"""FedPop under a simulated clock: against the search alone, sums by hand, and a queue of events."""

import heapq
from dataclasses import replace
from itertools import pairwise
from math import nan
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_edu import (
    Choice,
    Federation,
    LocalHP,
    LogUniform,
    SearchSpace,
    ServerHP,
    Spaces,
    communicate,
    digits,
    linear,
    tune,
)
from fedlab_edu.rounds.run import Run
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.tuners.fedpop import FedPop, fedpop
from fedlab_edu.tuners.fedpop.clock import Clocked, clocked
from tests.fuzz import fuzz

F64 = torch.float64
MODEL = linear(64, 10)
SPACES = Spaces(
    SearchSpace({"lr": LogUniform(1e-3, 1)}),
    SearchSpace({"lr": LogUniform(0.1, 2), "momentum": Choice((0, 0.9))}, ServerHP),
)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", F64)


def begun(fed: Federation, total: int = 32, cap: int = 8, **options: Any) -> FedPop:
    return fedpop(MODEL, fed, SPACES, total, cap, **{"T_g": 2, "seed": 4, **options})


def ended(search: Any, fed: Federation) -> list[Any]:
    seen = [search]
    while not seen[-1].done:
        seen.append(seen[-1].step(MODEL, fed, 3))
    return seen


def uneven(members: int, rounds: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 4, (members, rounds))


def check_same(one: FedPop, other: FedPop) -> None:
    assert one.traces == other.traces
    assert one.out == other.out
    assert str(one.births) == str(other.births)
    assert one.tried == other.tried
    for a, b in zip(one.runs, other.runs, strict=True):
        assert torch.equal(a.w, b.w)
        assert torch.equal(a.server.v, b.server.v)
        assert (a.seed, a.round) == (b.seed, b.round)


WAYS: list[dict[str, Any]] = [
    {},
    {"L": False},
    {"G": False},
    {"on_nan": "replace"},
    {"total": 16, "eliminations": 1},
]


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_members_that_wait_give_the_search_alone_whatever_the_clock(how, fed):
    search = begun(fed, **how)
    alone = ended(search, fed)[-1]
    timed = clocked(search, uneven(len(search.runs), 8), wait=True)
    check_same(ended(timed, fed)[-1], alone)


@pytest.mark.parametrize("how", WAYS[:4], ids=str)
def test_without_waiting_members_that_take_equally_long_give_the_search_alone(how, fed):
    search = begun(fed, **how)
    timed = ended(clocked(search, lambda i, r: 0.1 * r), fed)
    assert len(timed) == 9  # all rounds of a moment are one step
    check_same(timed[-1], ended(search, fed)[-1])


@pytest.mark.parametrize("on_nan", ["wait", "replace"])
def test_one_that_diverges_is_replaced_at_the_same_time_with_a_clock_and_without(on_nan, fed):
    search = begun(fed, L=False, on_nan=on_nan)
    wild = replace(search.runs[1], tuner=Fixed(LocalHP(lr=1e308, batch=8)))
    search = replace(search, runs=(search.runs[0], wild, *search.runs[2:]))
    alone = ended(search, fed)[-1]
    assert min(b.round for b in alone.births[4:]) == (1 if on_nan == "replace" else 2)
    check_same(ended(clocked(search, uneven(4, 8), wait=True), fed)[-1], alone)
    check_same(ended(clocked(search, lambda i, r: 1.0), fed)[-1], alone)


@fuzz(5)
@given(st.integers(0, 10**6))
def test_who_waits_has_the_time_of_the_slowest_between_two_times_that_members_meet(seed):
    fed = digits(clients=14)
    seconds = uneven(4, 8, seed)
    last = ended(clocked(begun(fed), seconds, wait=True), fed)[-1]
    slowest = seconds.reshape(4, 4, 2).sum(2).max(0)  # of four members, in each of four parts
    assert last.elapsed == pytest.approx(slowest.sum())
    assert last.busy == pytest.approx(seconds.sum(1))
    assert last.idle == pytest.approx(1 - seconds.sum() / (4 * slowest.sum()))


def test_with_eliminations_a_worker_is_given_back_when_its_member_goes(fed):
    search = begun(fed, 16, 8, T_g=8, eliminations=1)
    (stop, cap), n = search.brackets[0].stops, search.brackets[0].arms
    seconds = uneven(n, 8, 1)
    last = ended(clocked(search, seconds, wait=True), fed)[-1]
    (winner,) = last.alive
    at_stop = seconds[:, :stop].sum(1).max()
    elapsed = at_stop + seconds[winner, stop:cap].sum()
    busy = seconds[:, :stop].sum() + seconds[winner, stop:cap].sum()
    assert last.elapsed == pytest.approx(elapsed)
    assert last.idle == pytest.approx(1 - busy / ((n - 1) * at_stop + elapsed))


def test_two_members_by_hand():
    """One is slow at first, the other at last; in all both train for eight seconds."""
    fed, seconds = digits(clients=14), [[1, 1, 3, 3], [3, 3, 1, 1]]
    search = begun(fed, 8, 4)
    waiting, alone = (ended(clocked(search, seconds, wait=w), fed)[-1] for w in (True, False))
    assert (waiting.elapsed, waiting.idle) == (12.0, pytest.approx(1 / 3))
    assert (alone.elapsed, alone.idle) == (8.0, 0.0)
    early = clocked(search, [[1, 1, 1, 1], [4, 4, 4, 4]])
    seen = ended(early, fed)
    assert [s.elapsed for s in seen] == [0, 1, 2, 3, 4, 8, 12, 16]
    assert seen[0].idle == 0  # the clock stands at 0
    assert seen[-1].idle == pytest.approx(12 / 32)
    assert seen[2].idle == 0  # its round has not ended, but its worker is at work


def test_rounds_end_in_the_order_of_the_clock_and_are_as_many_as_announced(fed):
    seconds = uneven(4, 8, 3)
    seen = ended(clocked(begun(fed), seconds), fed)
    events = []
    for before, after in pairwise(seen):
        for i in range(4):
            if len(after.traces[i]) > len(before.traces[i]):
                events.append((after.now[i], i))
    wanted = sorted((float(t), i) for i in range(4) for t in seconds[i].cumsum())
    assert [i for _, i in events] == [i for _, i in wanted]
    assert [t for t, _ in events] == pytest.approx([t for t, _ in wanted])
    assert seen[-1].used == seen[-1].total == 32
    assert all(len(trace) == 8 for trace in seen[-1].traces)


def test_without_waiting_the_numbers_are_those_of_a_queue_of_events(fed):
    """One member after the other, each with what the others had when its round ended."""
    R, T_g, n, seed = 8, 2, 4, 4
    seconds = uneven(n, R, 5)
    search = begun(fed, n * R, R, L=False)
    run = search.runs[0]
    members: list[dict[str, Any]] = [
        {"c": x.tuner.final, "b": x.b, "server": run.server, "age": 0, "s": [], "played": 0}
        for x in search.runs
    ]
    keys = [seed_for(seed, i) for i in range(n)]
    queue = [(float(seconds[i, 0]), i) for i in range(n)]
    heapq.heapify(queue)
    births = []
    while queue:
        moment, i = heapq.heappop(queue)
        m = members[i]
        now = replace(run, server=m["server"], tuner=Fixed(m["c"]), b=m["b"], seed=keys[i],
                      round=m["age"])  # fmt: skip
        now = communicate(now, MODEL, fed, 3)
        score = now.history[-1].after
        loss = float(score.loss[now.history[-1].size > 0].mean())
        r = m["played"] + 1
        m.update(server=now.server, age=m["age"] + 1, s=[*m["s"], loss], played=r)
        if r < R:
            heapq.heappush(queue, (moment + float(seconds[i, r]), i))
        if r % T_g or r == R:
            continue
        score_of = {
            j: (o["s"][-1] + 0.9 * o["s"][-2]) / 1.9 if len(o["s"]) > 1 else o["s"][-1]
            for j, o in enumerate(members)
            if o["s"]
        }
        order = sorted(score_of, key=lambda j: (score_of[j], j))
        k = min(-(-len(order) // 3), len(order) // 2)
        if i not in order[len(order) - k :]:
            continue
        gen = generator(seed, i, r, 0)
        parent = order[int(float(torch.rand((), generator=gen, dtype=F64)) * k)]
        old, x = members[parent], 0.05 * (1 + np.cos(np.pi * r / R))
        births.append((r, i, parent))
        members[i] = {
            "server": old["server"],
            "c": SPACES.client.evo(old["c"], x, x, gen),
            "b": SPACES.server.evo(old["b"], x, x, gen),
            "age": 0,
            "s": [],
            "played": r,
        }
        keys[i] = seed_for(seed, i, r)
    last = ended(clocked(search, seconds), fed)[-1]
    assert [(b.round, b.member, b.parent) for b in last.births[n:]] == births
    assert births  # somebody has copied, and ...
    synchronous = ended(search, fed)[-1].births[n:]
    assert births != [(b.round, b.member, b.parent) for b in synchronous]  # ... not as in step
    for m, mine in zip(members, last.runs, strict=True):
        torch.testing.assert_close(mine.w, m["server"].w, rtol=1e-9, atol=1e-12)
        assert str(mine.b) == str(m["b"])


def test_moments_that_differ_by_rounding_alone_are_one(fed):
    """0.1 + 0.2 is not 0.3 in floating point, and 0.15 + 0.15 is."""
    assert 0.1 + 0.2 != 0.3
    timed = clocked(begun(fed, 4, 2), [[0.1, 0.2], [0.15, 0.15]])
    seen = ended(timed, fed)
    assert [s.used for s in seen] == [0, 1, 2, 4]
    apart = clocked(begun(fed, 4, 2), [[0.1, 0.2001], [0.15, 0.15]])
    assert [s.used for s in ended(apart, fed)] == [0, 1, 2, 3, 4]


def test_members_wait_for_one_another_where_one_that_has_diverged_is_replaced_at_once(fed):
    seconds = uneven(4, 8)
    for on_nan in ("wait", "replace"):
        search = begun(fed, L=False, on_nan=on_nan)
        wild = replace(search.runs[1], tuner=Fixed(LocalHP(lr=1e308, batch=8)))
        search = replace(search, runs=(search.runs[0], wild, *search.runs[2:]))
        now = clocked(search, seconds, wait=True).step(MODEL, fed, 3).now  # T_g is 2
        slowest = [seconds[:, 0].max()] * 4
        assert list(now) == pytest.approx(slowest if on_nan == "replace" else seconds[:, 0])


def test_all_members_move_to_another_device(fed, monkeypatch):
    monkeypatch.setattr(Run, "to", lambda self, device: replace(self, round=len(device)))
    search = begun(fed)
    moved = clocked(search, lambda i, r: 1.0).to("elsewhere")
    assert {run.round for run in moved.runs} == {len("elsewhere")}


def test_a_member_that_has_ended_no_round_yet_is_neither_copied_nor_in_the_way(fed):
    """Two have ended rounds and one has not: the worse of the two copies the better."""
    search = begun(fed, 24, 8)
    timed = clocked(search, lambda i, r: 100.0 if i == 0 else 1.0)
    for _ in range(2):
        timed = timed.step(MODEL, fed, 3)
    scores = timed.traces
    better = 1 if scores[1][1] + 0.9 * scores[1][0] < scores[2][1] + 0.9 * scores[2][0] else 2
    ((member, parent),) = ((b.member, b.parent) for b in timed.births[3:])
    assert (member, parent) == (3 - better, better)
    assert scores[0] == ()
    while timed.elapsed < 8:
        timed = timed.step(MODEL, fed, 3)
    assert all(b.parent != 0 and b.member != 0 for b in timed.births[3:])
    assert torch.equal(timed.runs[0].w, search.runs[0].w)


def test_a_search_under_a_clock_goes_on_from_its_file_with_the_same_numbers(
    fed, tmp_path, monkeypatch
):
    timed, step = clocked(begun(fed), uneven(4, 8)), Clocked.step
    whole = tune(timed, MODEL, fed, 3)

    def stopping(self: Clocked, *args: Any) -> Clocked:
        if self.used == 13:
            raise KeyboardInterrupt
        return step(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Clocked, "step", stopping)
        with pytest.raises(KeyboardInterrupt):
            tune(timed, MODEL, fed, 3, path=tmp_path / "search")
    other = clocked(begun(fed), uneven(4, 8, 1))
    with pytest.raises(ValueError, match="the file of this search"):
        tune(other, MODEL, fed, 3, path=tmp_path / "search")
    last = tune(timed, MODEL, fed, 3, path=tmp_path / "search")
    check_same(last, whole)
    assert (last.now, last.idle) == (whole.now, whole.idle)
    with pytest.raises(ValueError, match="search is 'over'"):
        last.step(MODEL, fed, 3)


@pytest.mark.parametrize(
    ("seconds", "options", "message"),
    [
        (np.ones((4, 7)), {}, r"shape of seconds is \(4, 7\); allowed: \(4, 8\)"),
        (np.zeros((4, 8)), {}, "seconds is .*allowed: finite numbers above 0"),
        (lambda i, r: nan, {}, "seconds is .*allowed: finite numbers above 0"),
        ([[1.0], [1.0, 2.0]], {}, r"seconds is .*allowed: an array \(4, 8\), or a function"),
        (lambda i, r: 1.0, {"total": 16, "eliminations": 1}, "wait is False; allowed: True"),
    ],
)
def test_bad_input_is_refused(seconds, options, message, fed):
    with pytest.raises(ValueError, match=message):
        clocked(begun(fed, **options), seconds)


@pytest.mark.usefixtures("unchecked")
def test_a_word_for_waiting_is_refused(fed):
    with pytest.raises(ValueError, match="wait is 'no'; allowed: True, False"):
        clocked(begun(fed), np.ones((4, 8)), wait="no")


def test_a_clock_of_more_than_a_million_rounds_is_refused(fed):
    search = begun(fed, 10**6, 5 * 10**5, eliminations=1)
    with pytest.raises(ValueError, match=r"rounds is '3 \* 500000'; allowed: at most 1,000,000"):
        clocked(search, lambda i, r: 1.0, wait=True)


def test_a_search_that_has_begun_is_refused(fed):
    with pytest.raises(ValueError, match="rounds of the search is 4; allowed: 0"):
        clocked(begun(fed).step(MODEL, fed, 3), lambda i, r: 1.0)
