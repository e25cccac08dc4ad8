"""A search on other processes: the same arms, scores and winner, and workers that end."""

import os
import pickle
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from fedlab_edu import (
    Estimate,
    FedProx,
    LocalHP,
    Scaffold,
    around,
    bayesian_search,
    digits,
    fedpop,
    fedtune,
    from_module,
    hyperband,
    linear,
    random_search,
    successive_halving,
    tune,
)
from fedlab_edu.search import workers
from fedlab_edu.search.race import Race
from fedlab_edu.search.space import FEDEX, FEDPOP
from fedlab_edu.training.threads import inside_tile
from fedlab_edu.tuners.fedpop.clock import clocked

MODEL = linear(64, 10)
NO_DROPOUT = replace(FEDEX, client=FEDEX.client.without("dropout"))
SEARCHES = {
    "halving": lambda fed, **how: successive_halving(
        MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), **how
    ),
    "hyperband": lambda fed: hyperband(MODEL, fed, NO_DROPOUT, 60, 9, method=FedProx()),
    "scaffold": lambda fed: random_search(
        MODEL, fed, replace(NO_DROPOUT, client=NO_DROPOUT.client.without("mu")), 12, 4,
        method=Scaffold(),
    ),
    "fedex": lambda fed: successive_halving(
        MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), tuner=around(FEDEX.client, 3)
    ),
    "best seen": lambda fed: successive_halving(
        MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), select="best_seen"
    ),
    "averaged": lambda fed: successive_halving(
        MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), estimate=Estimate("averaged")
    ),
    "discounted": lambda fed: successive_halving(
        MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), estimate=Estimate("global", "loss", 0.9)
    ),
    "fedpop": lambda fed: fedpop(MODEL, fed, FEDPOP, 32, 8, T_g=2, method=FedProx()),
    "clocked": lambda fed: clocked(
        fedpop(MODEL, fed, FEDPOP, 32, 8, T_g=2, method=FedProx()), torch.ones(4, 8), wait=True
    ),
    "bayes": lambda fed: bayesian_search(
        MODEL, fed, NO_DROPOUT, 18, 3, first=4, method=FedProx()
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", torch.float64)


class Apart(Executor):
    """An executor of a number of workers in this process: whatever passes is pickled."""

    def __init__(self, number: int = 3) -> None:
        self._max_workers, self.calls = number, 0
        self.kept: list[dict] = [{}] * number
        self.sizes: list[int] = []

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future:
        worker = self.calls % self._max_workers
        self.calls += 1
        sent = pickle.dumps((function, arguments, options))
        self.sizes.append(len(sent))
        function, arguments, options = pickle.loads(sent)
        here, workers._KEPT = workers._KEPT, dict(self.kept[worker])
        future: Future = Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*arguments, **options))))
        finally:
            self.kept[worker], workers._KEPT = workers._KEPT, here
        return future


def assert_same(one: Any, other: Any) -> None:
    """Two searches have the same arms, eliminations and winner; numbers up to rounding."""
    assert (one.out, one.best) == (other.out, other.best)
    for ours, theirs in zip(one.traces, other.traces, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9, nan_ok=True)
    for a, b in zip(one.runs, other.runs, strict=True):
        assert (a.round, a.seed, len(a.history)) == (b.round, b.seed, len(b.history))
        torch.testing.assert_close(a.server, b.server, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(a.states, b.states, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(a.tuner.final.columns, b.tuner.final.columns)
        for x, y in zip(a.history, b.history, strict=True):
            torch.testing.assert_close(vars(x), vars(y), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_in_workers_is_the_search_of_one_process(name, fed):
    search, apart = SEARCHES[name](fed), Apart()
    assert_same(tune(search, MODEL, fed, 4, executor=apart), tune(search, MODEL, fed, 4))
    assert apart.calls


def test_arms_travel_only_between_eliminations_and_model_and_data_once(fed):
    # 4 arms until round 3, 2 until round 8, and 1, which stays here, until round 10
    search, apart, seen = SEARCHES["halving"](fed), Apart(2), list[Race]()
    data = len(pickle.dumps((MODEL, fed, 4)))
    tune(search, MODEL, fed, 4, executor=apart, callback=seen.append)
    assert [s.used for s in seen] == [12, 22, 24]
    assert [size > data for size in apart.sizes] == [True, True, False, False]


def test_a_step_ends_where_the_file_is_due(fed, tmp_path):
    search, seen = random_search(MODEL, fed, NO_DROPOUT, 24, 8, method=FedProx()), list[int]()
    how: dict[str, Any] = {"executor": Apart(), "path": tmp_path / "s", "every": 6}
    tune(search, MODEL, fed, 4, callback=lambda s: seen.append(s.used), **how)
    assert seen == [6, 12, 18, 24]


def test_histories_do_not_travel(fed, monkeypatch):
    given, play = list[int](), workers.play_here

    def noting(runs: Any, *more: Any) -> Any:
        given.extend(len(run.history) for run in runs)
        return play(runs, *more)

    monkeypatch.setattr(workers, "play_here", noting)
    tune(SEARCHES["halving"](fed), MODEL, fed, 4, executor=Apart())
    # the last arm, which stays here, has its history of 8 rounds
    assert given == [0, 0, 0, 0, 0, 0, 8]


def test_a_worker_uses_one_thread(fed, monkeypatch):
    alone, play = list[bool](), workers.play_here

    def noting(*given: Any) -> Any:
        alone.append(inside_tile() and torch.get_num_threads() == 1)
        return play(*given)

    monkeypatch.setattr(workers, "play_here", noting)
    with ThreadPoolExecutor(2) as pool:
        tune(SEARCHES["fedpop"](fed), MODEL, fed, 4, executor=pool)
    assert alone
    assert all(alone)


def test_what_cannot_train_in_workers_is_refused_by_name(fed):
    halving, pool = SEARCHES["halving"](fed), Apart()
    alone = fedtune(MODEL, fed, LocalHP(lr=[0.1, 1.0]), 2)
    with pytest.raises(ValueError, match=r"executor is .*allowed: None: a FedTune search trains"):
        tune(alone, MODEL, fed, executor=pool)
    with pytest.raises(ValueError, match="workers is 2; allowed: None without an executor"):
        tune(halving, MODEL, fed, workers=2)
    with pytest.raises(ValueError, match="workers is 0"):
        tune(halving, MODEL, fed, executor=pool, workers=0)
    del pool._max_workers
    with pytest.raises(ValueError, match="workers is None; allowed: a number, because Apart"):
        tune(halving, MODEL, fed, executor=pool)
    local = replace(MODEL, loss=lambda outputs, y: outputs.sum(1))
    parametrized = from_module(weight_norm(nn.Linear(64, 10)))
    for model in (local, parametrized):
        with pytest.raises(ValueError, match=r"model and fed is .*; allowed: what pickle takes"):
            tune(halving, model, fed, executor=pool, workers=2)


def test_a_class_of_a_notebook_that_a_worker_does_not_know_is_named():
    for needs in (b"c__main__\nNoSuchNet\n.", b"cno_such_module\nNet\n."):
        with pytest.raises(
            ValueError, match=r"^a part of the search is .*[nN]o.?[sS]uch.*; allowed:"
        ):
            workers._play("token", needs, (b"", 1))


def test_a_worker_that_starts_late_is_given_model_and_data(fed):
    apart = Apart(2)

    def restart(search: Race) -> None:
        apart.kept[1] = {}

    done = tune(SEARCHES["halving"](fed), MODEL, fed, 4, executor=apart, callback=restart)
    assert_same(done, tune(SEARCHES["halving"](fed), MODEL, fed, 4))
    assert apart.calls == 2 + 2 + 1


def test_results_are_values_that_need_no_worker_any_more(fed):
    class Pool(Apart):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future:
            future = super().submit(function, *arguments, **options)
            # as a process sends it, where a tensor is a file of the worker's
            assert b"rebuild_storage" not in bytes(ForkingPickler.dumps(future.result()))
            return future

    tune(SEARCHES["halving"](fed), MODEL, fed, 4, executor=(pool := Pool()))
    assert pool.calls


@pytest.mark.nightly
@pytest.mark.processes
def test_processes_may_end_after_each_task(fed):
    search, new = SEARCHES["halving"](fed), get_context("spawn")
    with ProcessPoolExecutor(2, new, max_tasks_per_child=1) as pool:
        assert_same(tune(search, MODEL, fed, 4, executor=pool), tune(search, MODEL, fed, 4))


@pytest.mark.processes
@pytest.mark.long
def test_a_killed_process_is_named_and_the_search_resumes_with_the_same_numbers(fed, tmp_path):
    search, path = SEARCHES["halving"](fed), tmp_path / "search"

    def kill(search: Race) -> None:
        os.kill(next(iter(pool._processes)), signal.SIGKILL)

    with (
        ProcessPoolExecutor(2, get_context("spawn")) as pool,
        pytest.raises(RuntimeError, match="a worker has ended before its rounds; repeat the call"),
    ):
        tune(search, MODEL, fed, 4, executor=pool, path=path, every=8, callback=kill)
    assert [p.name for p in tmp_path.iterdir()] == ["search"]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        done = tune(search, MODEL, fed, 4, executor=pool, path=path)
    assert_same(done, tune(search, MODEL, fed, 4))


@pytest.mark.processes
@pytest.mark.nightly
def test_a_search_on_a_dask_cluster_survives_the_death_of_a_worker(fed):
    distributed = pytest.importorskip("distributed")
    search, killed = SEARCHES["halving"](fed), list[int]()

    def kill(search: Race) -> None:
        if not killed:
            killed.append(sorted(client.run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        done = tune(search, MODEL, fed, 4, executor=executor, workers=2, callback=kill)
    assert killed
    assert_same(done, tune(search, MODEL, fed, 4))
